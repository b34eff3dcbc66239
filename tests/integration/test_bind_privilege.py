"""Ports 53, 853 and 443 without root: skydns with the file capability of its image, in a network namespace of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from bed import BIN_DIR
from certificates import Authority
from programs import Program, wait_until

_USER = 65532

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="capabilities and network namespaces need root")


@pytest.fixture
def skydns():
    """A copy with the capability of docker/Dockerfile, which any user may run."""
    with tempfile.TemporaryDirectory(prefix="bind-") as folder:
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip(f"{folder} is mounted nosuid, which disables file capabilities")
        os.chmod(folder, 0o755)
        copy = Path(folder) / "skydns"
        shutil.copyfile(BIN_DIR / "skydns", copy)
        copy.chmod(0o755)
        dockerfile = (Path(__file__).resolve().parents[2] / "docker/Dockerfile").read_text()
        assert "setcap cap_net_bind_service=p /out/skydns" in dockerfile
        done = subprocess.run(["setcap", "cap_net_bind_service=p", str(copy)], capture_output=True, text=True)
        if "not supported" in done.stderr:
            pytest.skip(f"no file capabilities in {folder}: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        yield copy


class Namespace:
    """skydns on port 53 in a network namespace, as an unprivileged user. A program with a file capability gets no
    signal when its parent dies, and would outlive this process. So its shell is PID 1 of a PID namespace, whose
    end kills everything in it.
    """

    def __init__(self, skydns: Path, limits: tuple[str, ...] = (), setup: str = "true"):
        authority = Authority(skydns.parent, "ca")
        self.ca = authority.certificate
        certificate, key = authority.sign("tls")
        os.chmod(key, 0o644)
        drop = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", *limits, "env", "LSAN_OPTIONS="]
        flags = ["-machines=http://127.0.0.1:9", "-domain=cluster.local.", "-no-rec"]
        flags += ["-addr=0.0.0.0:53,tls://0.0.0.0,https://0.0.0.0", f"-cert={certificate}", f"-key={key}"]
        script = f'ip link set lo up && {setup} && "$@"; exit $?'
        self.program = Program(
            "skydns",
            ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]
            + [*drop, str(skydns), *flags],
        )

    def __enter__(self) -> Program:
        return self.program.start()

    def __exit__(self, *exc) -> None:
        self.program.kill()


def _descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [each for child in children for each in _descendants(int(child))]


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _asked(program: Program, *command: str) -> subprocess.CompletedProcess:
    """The command in the namespace."""
    inside = ["nsenter", f"--net=/proc/{program.pid}/ns/net", *command]
    return subprocess.run(inside, capture_output=True, text=True, timeout=60)


def _is_asked(program: Program, ca: str) -> bool:
    """Whether the three ports in the namespace answer."""
    kdig = ["kdig", "@127.0.0.1", "cluster.local", "SOA", f"+tls-ca={ca}", "+tls-hostname=127.0.0.1"]
    return (
        _asked(program, str(BIN_DIR / "skydns"), "-healthcheck=udp://127.0.0.1:53").returncode == 0
        and "status: " in _asked(program, *kdig, "+tls").stdout
        and "status: " in _asked(program, *kdig, "+https").stdout
    )


def _running(program: Program) -> dict[str, str]:
    """/proc/PID/status of skydns itself."""
    mine = [_status(pid) for pid in _descendants(program.pid)]
    return next(status for status in mine if status["Name"] == "skydns")


def test_the_ports(skydns):
    namespace = Namespace(skydns)
    with namespace as program:
        program.wait_line("skydns started")
        wait_until(lambda: _is_asked(program, namespace.ca), "the ports answer")
        status = _running(program)
        assert status["Uid"].split() == [str(_USER)] * 4
        # Dropped once the ports are open.
        for held in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            assert int(status[held], 16) == 0, held


@pytest.mark.parametrize("limit", ["--no-new-privs", "--bounding-set=-net_bind_service"])
def test_capability_denied(skydns, limit):
    """As in a container without new privileges or capabilities: the program starts, fails to bind and logs why."""
    with Namespace(skydns, limits=(limit,)) as program:
        assert program.wait() == 1
        line = next(text for text in program.lines if text.startswith("skydns: "))
        assert "0.0.0.0:53: Permission denied; ports below 1024 need" in line


def test_unprivileged_ports(skydns):
    """With the sysctl that a pod may set, it needs no capability, under every restriction."""
    setup = "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start"
    namespace = Namespace(skydns, ("--no-new-privs", "--bounding-set=-all"), setup)
    with namespace as program:
        program.wait_line("skydns started")
        wait_until(lambda: _is_asked(program, namespace.ca), "the ports answer")

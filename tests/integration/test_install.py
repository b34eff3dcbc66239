"""`make install`: what it installs and where. The systemd units and settings name installed files, systemd finds
no fault with them, and the programs run with them unchanged.
"""

import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import dns.message
import dns.query
import pytest
from bed import BIN_DIR
from programs import Program, http_get, reserve_port, wait_until
from records import value

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("kube2sky", "skydns", "exechealthz")
UNITS = ("kube2sky.service", "skydns.service", "skydns.socket", "exechealthz.service")
NAME = "a.cluster.local"
# Largest score of `systemd-analyze security`, in tenths: most of it is network access, which DNS needs.
EXPOSURE_MAX = 12


def make(target: str, *variables: str) -> str:
    """The variant under test, already built; nothing is built here, whatever its flags were."""
    build = BIN_DIR.parent
    command = ["make", "--no-print-directory", "-C", str(ROOT), "-o", "all", target]
    command += [f"BUILD={build.parent}", f"VARIANT={build.name}", *variables]
    env = {name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in folder.rglob("*")
        if not path.is_dir()
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    make("install", f"DESTDIR={folder}", "PREFIX=/usr")
    return folder


def settings(text: str) -> list[tuple[str, str]]:
    """The settings of a unit, in order; a later one does not replace an earlier one."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    return [tuple(line.split("=", 1)) for line in lines]


def setting(text: str, name: str) -> str:
    (found,) = [given for key, given in settings(text) if key == name]
    return found


def test_files_and_modes(installed):
    guide = [f"docs/operator/{path.name}" for path in (ROOT / "docs/operator").glob("*.md")]
    documents = ("README.md", "COMPATIBILITY.md", "CHANGELOG.md", "LICENSE", *guide)
    want = {f"usr/share/doc/kube2sky-skydns/{name}": 0o644 for name in documents}
    for program in PROGRAMS:
        want[f"usr/bin/{program}"] = 0o755
        want[f"usr/share/man/man8/{program}.8"] = 0o644
        want[f"usr/share/bash-completion/completions/{program}"] = 0o644
        want[f"etc/default/{program}"] = 0o644
    want.update({f"usr/lib/systemd/system/{unit}": 0o644 for unit in UNITS})
    want["usr/bin/corefile-to-skydns"] = 0o755
    pages = ("man5/skydns.conf.5", "man7/skydns-http.7", "man7/skydns-metrics.7", "man8/corefile-to-skydns.8")
    want.update({f"usr/share/man/{page}": 0o644 for page in pages})
    assert modes(installed) == want
    for program in (*PROGRAMS, "corefile-to-skydns"):
        shown = subprocess.run([installed / "usr/bin" / program, "-version"], capture_output=True, text=True)
        assert shown.stdout.split()[-1] == (ROOT / "VERSION").read_text().strip()


@pytest.mark.parametrize(
    ("variables", "units", "binaries", "defaults"),
    [
        (["PREFIX=/usr"], "usr/lib/systemd/system", "/usr/bin/", "/etc/default/"),
        ([], "usr/local/lib/systemd/system", "/usr/local/bin/", "/etc/default/"),
        (
            ["PREFIX=/opt/dns", "SYSCONFDIR=/opt/dns/etc", "UNITDIR=/etc/systemd/system"],
            "etc/systemd/system",
            "/opt/dns/bin/",
            "/opt/dns/etc/default/",
        ),
    ],
)
def test_units_name_what_was_installed(tmp_path, variables, units, binaries, defaults):
    make("install", f"DESTDIR={tmp_path}", *variables)
    for program in PROGRAMS:
        text = (tmp_path / units / f"{program}.service").read_text()
        command = setting(text, "ExecStart").split()
        assert command[0] == binaries + program and (tmp_path / command[0][1:]).is_file()
        environment = setting(text, "EnvironmentFile")
        assert environment == f"-{defaults}{program}" and (tmp_path / environment[2:]).is_file()
    assert sorted(UNITS) == sorted(path.name for path in (tmp_path / units).iterdir())


def test_settings_of_the_user_stay(tmp_path):
    destination = f"DESTDIR={tmp_path}"
    make("install", destination, "PREFIX=/usr")
    changed = tmp_path / "etc/default/skydns"
    changed.write_text("SKYDNS_DOMAIN=example.org\n")
    make("install", destination, "PREFIX=/usr")
    assert changed.read_text() == "SKYDNS_DOMAIN=example.org\n"
    said = make("uninstall", destination, "PREFIX=/usr")
    assert "etc/default/skydns was changed and is kept" in said
    assert list(modes(tmp_path)) == ["etc/default/skydns"]


# ---- systemd's own checks ----


@pytest.fixture(scope="module")
def in_place(tmp_path_factory):
    """Installed at the units' paths, where systemd-analyze looks."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze (Debian package systemd)")
    folder = tmp_path_factory.mktemp("place")
    make("install", f"PREFIX={folder}/usr", f"SYSCONFDIR={folder}/etc")
    return folder


def analyze(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "MANPATH": f"{folder}/usr/share/man:", "SYSTEMD_COLORS": "0"}
    return subprocess.run(
        ["systemd-analyze", *arguments], env=env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("unit", UNITS)
def test_verify(in_place, unit):
    has_man = "yes" if shutil.which("man") else "no"
    result = analyze(in_place, "verify", f"--man={has_man}", str(in_place / "usr/lib/systemd/system" / unit))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.endswith(".service")])
def test_security(in_place, unit):
    path = str(in_place / "usr/lib/systemd/system" / unit)
    result = analyze(in_place, "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", "--no-pager", path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"Overall exposure level for \S+: [01]\.\d OK", result.stdout)


# ---- Run as in the units ----


def unit_command(installed: Path, program: str) -> tuple[list[str], dict[str, str]]:
    """The command line and environment that systemd would make from the unit and its settings (systemd.exec(5))."""
    unit = (installed / f"usr/lib/systemd/system/{program}.service").read_text()
    variables = {}
    for line in (installed / setting(unit, "EnvironmentFile")[2:]).read_text().splitlines():
        if line and not line.startswith("#"):
            name, text = line.split("=", 1)
            variables[name] = " ".join(shlex.split(text))
    argv = []
    for word in setting(unit, "ExecStart").split():
        argv += shlex.split(variables[word[1:]]) if word.startswith("$") else [word]
    state = setting(unit, "StateDirectory") if "StateDirectory=" in unit else program
    folder = installed / f"var/lib/{state}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rest = [word.replace(f"/var/lib/{state}/", f"{folder}/") for word in argv[1:]]
    return [str(installed / argv[0][1:]), *rest], variables


class Systemd:
    """Receives a program's messages to the service manager."""

    def __init__(self, folder: Path):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(20)

    def hear(self) -> list[str]:
        return self.socket.recv(4096).decode().splitlines()

    def hear_until(self, line: str) -> None:
        while line not in self.hear():
            pass


@pytest.fixture
def systemd(tmp_path):
    systemd = Systemd(tmp_path)
    yield systemd
    systemd.socket.close()


def listening(text: str, port: int) -> list[socket.socket]:
    """The sockets of a .socket unit, in order, on another port, as systemd makes them: connections to an earlier
    listener there, which the kernel still remembers, are in nobody's way.
    """
    made = []
    for key, address in settings(text):
        if key in ("ListenDatagram", "ListenStream"):
            host = address.rpartition(":")[0]
            kind = socket.SOCK_DGRAM if key == "ListenDatagram" else socket.SOCK_STREAM
            made.append(socket.socket(socket.AF_INET, kind))
            made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(kind == socket.SOCK_STREAM))
            made[-1].bind((host, port))
            if kind == socket.SOCK_STREAM:
                made[-1].listen(int(setting(text, "Backlog")))
    return made


def answers(port: int, tcp: bool) -> list[str]:
    ask = dns.query.tcp if tcp else dns.query.udp
    reply = ask(dns.message.make_query(NAME, "A"), "127.0.0.1", timeout=20, port=port)
    return [rr.to_text() for rrset in reply.answer for rr in rrset]


def test_skydns_by_its_units(installed, bare_bed, systemd):
    """Both sockets are passed; ready before etcd starts; the status is updated; SIGTERM ends it."""
    bed = bare_bed
    port, http_port = reserve_port(), reserve_port()
    argv, variables = unit_command(installed, "skydns")
    assert "-systemd" in argv and variables["SKYDNS_DOMAIN"] == "cluster.local"
    sockets = listening((installed / "usr/lib/systemd/system/skydns.socket").read_text(), port)
    assert sorted(s.type for s in sockets) == [socket.SOCK_STREAM, socket.SOCK_DGRAM]
    passed = " ".join(f"{3 + i}<&{s.fileno()}" for i, s in enumerate(sockets))
    script = f'exec {passed}; LISTEN_PID=$$ LISTEN_FDS={len(sockets)} exec "$@"'
    argv = [*argv, f"-http-addr=127.0.0.1:{http_port}"]
    skydns = Program(
        "skydns",
        ["bash", "-c", script, "bash", *argv],
        env={**variables, "ETCD_MACHINES": bed.etcd_urls[0], "NOTIFY_SOCKET": str(systemd.path)},
        pass_fds=tuple(s.fileno() for s in sockets),
    )
    bed.programs.append(skydns)
    skydns.start()
    assert systemd.hear() == ["READY=1", "STATUS=answering, waiting for etcd's records"]
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/a", value("10.0.0.1"))
    systemd.hear_until("STATUS=ready for queries")
    for tcp in (False, True):
        wait_until(lambda tcp=tcp: answers(port, tcp) == ["10.0.0.1"], "the answer")
    assert http_get(f"http://127.0.0.1:{http_port}/readiness") == (200, "ok")
    skydns.stop()
    systemd.hear_until("STOPPING=1")
    check_restart_without_etcd(bed, skydns, systemd, port)
    for s in sockets:
        s.close()


def check_restart_without_etcd(bed, skydns: Program, systemd: Systemd, port: int) -> None:
    """A query that comes meanwhile waits in the socket, and is answered from the snapshot."""
    bed.etcd_program.kill()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        query = dns.message.make_query(NAME, "A")
        client.sendto(query.to_wire(), ("127.0.0.1", port))
        skydns.start()
        client.settimeout(20)
        reply = dns.message.from_wire(client.recv(4096))
    assert query.is_response(reply) and [rr.to_text() for rr in reply.answer[0]] == ["10.0.0.1"]
    assert systemd.hear() == ["READY=1", "STATUS=answering from a snapshot"]
    bed.start_etcd()
    systemd.hear_until("STATUS=ready for queries")
    skydns.stop()
    systemd.hear_until("STOPPING=1")


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_skydns_by_systemd_socket_activate(installed, bare_bed, tcp):
    """systemd's own tool opens the socket and starts the program at the first query."""
    tool = shutil.which("systemd-socket-activate")
    if not tool:
        pytest.skip("no systemd-socket-activate (Debian package systemd)")
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/a", value("10.0.0.1"))
    port = reserve_port()
    argv, variables = unit_command(installed, "skydns")
    argv = [*argv, f"-http-addr=127.0.0.1:{reserve_port()}"]
    command = [tool, f"--listen=127.0.0.1:{port}", *([] if tcp else ["--datagram"]), *argv]
    passed_on = {**variables, "ETCD_MACHINES": bed.etcd_urls[0]}
    for name in passed_on:  # the tool passes only the variables named here
        command.insert(1, f"--setenv={name}")
    skydns = Program("skydns", command, env=passed_on)
    bed.programs.append(skydns)
    skydns.start()
    skydns.wait_line("[Ll]istening on")
    assert not any("started" in line for line in skydns.lines)
    wait_until(lambda: answers(port, tcp) == ["10.0.0.1"], "the answer")
    skydns.stop()


def test_exechealthz_by_its_unit(installed, bare_bed, systemd):
    argv, variables = unit_command(installed, "exechealthz")
    port = reserve_port()
    exechealthz = Program(
        "exechealthz", [*argv, f"-port={port}"], env={**variables, "NOTIFY_SOCKET": str(systemd.path)}
    )
    bare_bed.programs.append(exechealthz)
    exechealthz.start()
    assert systemd.hear() == ["READY=1", "STATUS=probing"]
    assert http_get(f"http://127.0.0.1:{port}/healthcheck/kubernetes")[0] == 503
    exechealthz.stop()
    systemd.hear_until("STOPPING=1")


def test_kube2sky_by_its_unit(installed, bed, systemd, tmp_path):
    """The kubeconfig is at the settings' path for systemd credentials, in another folder."""
    argv, variables = unit_command(installed, "kube2sky")
    (at,) = [i for i, word in enumerate(argv) if word.startswith("--kubecfg-file=")]
    assert argv[at] == "--kubecfg-file=/run/credentials/kube2sky.service/kubeconfig"
    argv[at] = f"--kubecfg-file={tmp_path}/kubeconfig"
    server = bed.kube_flags[0].split("=", 1)[1]
    (tmp_path / "kubeconfig").write_text(
        "clusters: [{name: a, cluster: {server: '%s'}}]\n" % server
        + "contexts: [{name: c, context: {cluster: a}}]\ncurrent-context: c\n"
    )
    argv += [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={bed.readiness_port}"]
    env = {**variables, "NOTIFY_SOCKET": str(systemd.path), "WATCHDOG_USEC": "100000"}
    kube2sky = Program("kube2sky", argv, env=env)
    bed.programs.append(kube2sky)
    kube2sky.start()
    systemd.hear_until("STATUS=following the cluster")
    systemd.hear_until("WATCHDOG=1")
    kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    kube2sky.stop()
    systemd.hear_until("STOPPING=1")

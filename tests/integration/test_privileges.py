"""Started as root, skydns and kube2sky keep no capability, and on request not the user either."""

import os
from pathlib import Path

import pytest
from bed import BIN_DIR, make_certificate
from programs import Program, reserve_port, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="has no privilege to lose")

USER, GROUP = 65532, 65533
OTHER = 65531
DAC_READ_SEARCH = 1 << 2
SKYDNS_THREADS = {"skydns", "worker-0", "worker-1", "resolver", "signer", "walker", "log"}
SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")


def _threads(program: Program) -> list[dict[str, str]]:
    """/proc/PID/status of each thread, but for the one that the thread sanitizer has started before main()."""
    found = []
    for task in Path(f"/proc/{program.pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        is_another = status["Name"] == program.name and task.name != str(program.pid)
        if not ("tsan" in BIN_DIR.parts and is_another):
            found.append(status)
    return found


def _named_threads(program: Program, names: set[str]) -> list[dict[str, str]]:
    """The same once all these run: the log tells of the start before, and a thread gives up what it holds before it
    names itself."""
    wait_until(lambda: names <= {status["Name"] for status in _threads(program)}, f"threads {names}")
    return _threads(program)


def _check_nothing_left(program: Program, names: set[str]) -> None:
    threads = _named_threads(program, names)
    for status in threads:
        assert [int(status[held], 16) for held in SETS] == [0] * 4, status
        assert status["NoNewPrivs"] == "1", status


def _skydns(bed, *flags: str) -> Program:
    program = bed.command(
        "skydns", f"-addr=127.0.0.1:{bed.dns.port}", "-domain=cluster.local.", "-no-rec", "-workers=2", *flags
    )
    program.env = {"LSAN_OPTIONS": "detect_leaks=0"}  # its tracer needs what is dropped
    program.start()
    program.wait_line("skydns started")
    return program


def test_skydns(bare_bed):
    program = _skydns(bare_bed, "-machines=http://127.0.0.1:9")
    if not any("does not restrict system calls" in line for line in program.lines):
        assert {status["Seccomp"] for status in _threads(program)} == {"2"}  # a filter
    _check_nothing_left(program, SKYDNS_THREADS)
    assert {status["Uid"] for status in _threads(program)} == {"0\t0\t0\t0"}
    program.stop()


def test_another_user(bare_bed):
    program = _skydns(bare_bed, "-machines=http://127.0.0.1:9", f"-user={USER}:{GROUP}")
    _check_nothing_left(program, SKYDNS_THREADS)
    for status in _threads(program):
        assert status["Uid"].split() == [str(USER)] * 4
        assert status["Gid"].split() == [str(GROUP)] * 4
        assert status["Groups"].split() == [str(GROUP)]
    assert bare_bed.dns.query("x.cluster.local").rcode() == 2  # SERVFAIL: it answers
    program.stop()


@pytest.mark.parametrize("flag", ["nobody-here", "root:no-such-group", ":root", "4294967295", "65530"])
def test_unusable_user(bare_bed, flag):
    program = bare_bed.command("skydns", "-machines=http://127.0.0.1:9", f"-user={flag}").start()
    assert program.wait() == 2
    assert program.lines[-1].startswith("skydns: flag -user: ")


def test_a_user_that_cannot_be_become(bare_bed, tmp_path):
    """Without the capabilities for it, the start fails and says why."""
    argv = ["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-all", str(BIN_DIR / "skydns")]
    argv += [f"-addr=127.0.0.1:{bare_bed.dns.port}", "-machines=http://127.0.0.1:9", f"-user={USER}:{GROUP}"]
    program = Program("skydns", argv).start()
    bare_bed.programs.append(program)
    assert program.wait() == 1
    assert program.lines[-1] == f"skydns: become user {USER}:{GROUP}: Operation not permitted"


def test_a_key_of_another_user(bare_bed):
    """Whoever could read it only with a capability keeps that one, in the thread that reads files."""
    certificate, key = make_certificate(bare_bed.folder)
    os.chown(key, OTHER, OTHER)
    os.chmod(key, 0o600)
    flags = (f"-machines=https://127.0.0.1:{reserve_port()}", f"-tls-pem={certificate}", f"-tls-key={key}")
    program = _skydns(bare_bed, *flags)
    program.wait_line(f"keeping one capability, .* file={key} capability=CAP_DAC_READ_SEARCH")
    for status in _named_threads(program, SKYDNS_THREADS):
        kept = DAC_READ_SEARCH if status["Name"] == "skydns" else 0
        assert [int(status[held], 16) for held in SETS] == [0, kept, kept, 0], status
    program.stop()
    program = _skydns(bare_bed, *flags, f"-user={USER}:{GROUP}")
    program.wait_line(f"cannot read a file any more, .* file={certificate}")  # in a folder of root's
    _check_nothing_left(program, {"skydns", "log"})
    program.stop()


def test_kube2sky(bed):
    bed.start_kube2sky()
    _check_nothing_left(bed.kube2sky, {"kube2sky", "log"})

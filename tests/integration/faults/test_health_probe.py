"""exechealthz over thousands of runs, as PID 1 of a namespace, as in a container: it leaks no process, descriptor
or byte, and its memory stays small under any load.
"""

import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from programs import Program, http_get, reserve_port, wait_until
from prometheus import parse

RUNS = 10_000
WARM_UP_RUNS = 500  # every buffer has its final size by then
RUNS_TIMEOUT_S = 900.0  # only ends a hang
PRIVATE_MAX_KIB = 2 * 1024  # private memory allowed
# For the allocator's own pages; a leak of one byte per run would be 300 KiB, since malloc's minimum is 32 bytes.
GROWTH_MAX_KIB = 64
CONTAINER_LIMIT_KIB = 20 * 1024  # from the published manifest
CONNECTIONS = 64  # the maximum accepted
CONNECTIONS_OF_ONE = 16  # of one client address
ENDLESS_RUNS = 20

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare program (Debian package util-linux)"),
]


class Container:
    """exechealthz as PID 1."""

    def __init__(self, bed, *flags: str, launcher: list[str] | None = None):
        self.url = f"http://127.0.0.1:{bed.healthz_port}"
        program = bed.command("exechealthz", f"--port={bed.healthz_port}", "--quiet", *flags)
        unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        program.argv = [*(launcher or []), *unshare, *program.argv]
        self.program = program.start()
        program.wait_ready(lambda: http_get(self.url + "/metrics")[0] == 200, "answers")
        self.pid = self._children(program.pid)[0]
        assert "\nNSpid:\t%d\t1\n" % self.pid in Path(f"/proc/{self.pid}/status").read_text()

    @staticmethod
    def _children(pid: int) -> list[int]:
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def processes(self) -> int:
        """The number of processes in the namespace, including zombies."""
        namespace = os.readlink(f"/proc/{self.pid}/ns/pid")
        count = 0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                count += os.readlink(folder / "ns/pid") == namespace
            except OSError:  # it has just ended
                pass
        return count

    def zombies(self) -> int:
        count = 0
        for child in self._children(self.pid):
            try:
                count += "\nState:\tZ" in Path(f"/proc/{child}/status").read_text()
            except OSError:
                pass
        return count

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory_kib(self, kind: str) -> int:
        rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return int(re.search(rf"^{kind}: +(\d+) kB$", rollup, re.MULTILINE)[1])

    def written_kib(self) -> int:
        """Memory that the kernel cannot reclaim."""
        return self.memory_kib("Private_Dirty")

    def private_kib(self) -> int:
        """Includes unchanged pages of files that no other process has mapped."""
        return self.written_kib() + self.memory_kib("Private_Clean")

    def highest_kib(self) -> int:
        """Peak resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1])

    def count(self, name: str) -> float:
        page = parse(http_get(self.url + "/metrics")[1], old_counters=("kubedns_probe_x_errors",))
        return sum(page[name].samples.values())

    def await_count(self, name: str, count: int) -> None:
        def is_there():
            return self.count(name) >= count

        self.program.wait_ready(is_there, f"{name} {count}", RUNS_TIMEOUT_S)

    def stop(self) -> None:
        """Stops it as a container runtime does; unshare exits with its child's status."""
        os.kill(self.pid, signal.SIGTERM)
        assert self.program.wait() == 0


def test_nothing_is_left_of_10000_runs(bare_bed, record_property):
    """Each run leaves a live and a dead orphan in its group, and output; each DNS probe fails."""
    never = bare_bed.folder / "never"
    os.mkfifo(never)  # a shell that opens it waits, and loads no other program
    container = Container(
        bare_bed,
        f"--cmd=: <{never} & (: &); echo some output; false",
        "--period=1ms",
        f"--dns=x=a.b,127.0.0.1:{reserve_port()}",
        "--url=/healthz",
    )
    container.await_count("exechealthz_runs_total", WARM_UP_RUNS)
    descriptors, written_kib = container.descriptors(), container.written_kib()
    container.await_count("exechealthz_runs_total", RUNS)
    assert container.count("kubedns_probe_x_errors") >= RUNS / 100
    # One run may be in progress: its pipe, its shell and the shell's children. Runs continue while the test
    # counts; a leak would stay forever.
    wait_until(lambda: container.descriptors() <= descriptors, "a moment with no more descriptors than before")
    wait_until(lambda: container.processes() <= 1 + 4, "a moment with one run's processes")
    wait_until(lambda: container.zombies() == 0, "a moment without a zombie")
    private_kib = container.private_kib()
    figure = (
        f"exechealthz: written {written_kib} KiB after {WARM_UP_RUNS} runs, {container.written_kib()} after {RUNS}; "
        f"private {private_kib}, resident {container.memory_kib('Rss')}"
    )
    record_property("figure", figure)
    assert container.written_kib() <= written_kib + GROWTH_MAX_KIB, figure
    assert private_kib <= PRIVATE_MAX_KIB, figure
    container.stop()


def test_every_connection_taken_and_not_read(bare_bed, record_property):
    """64 clients request the longest output, and none reads it: memory stays far below the container's limit."""
    container = Container(bare_bed, "--cmd=head -c 1000000 /dev/zero", "--output", "--period=20ms")
    container.await_count("exechealthz_runs_total", 3)
    at_rest = container.written_kib()
    askers = []
    for i in range(CONNECTIONS):
        address = f"127.0.0.{2 + i // CONNECTIONS_OF_ONE}"
        asker = socket.create_connection(
            ("127.0.0.1", int(container.url.rsplit(":", 1)[1])), source_address=(address, 0)
        )
        asker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        asker.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        askers.append(asker)
    for asker in askers:
        assert asker.recv(1) == b"H"
    peak = container.written_kib()
    assert http_get(container.url + "/metrics")[0] == 200
    for asker in askers:
        asker.close()
    figure = f"exechealthz: written {at_rest} KiB at rest, {peak} with {CONNECTIONS} replies of 64 KiB unread"
    record_property("figure", figure)
    assert at_rest <= PRIVATE_MAX_KIB
    assert peak <= CONTAINER_LIMIT_KIB / 2
    container.stop()


def test_a_command_that_prints_without_end_under_cpu_pressure(bare_bed, record_property):
    """Every CPU is busy, and this program has the lowest priority, much like the manifest's limit of a hundredth of a
    CPU. Output that it has no time to read waits in the pipe.
    """
    hogs = [Program("hog", ["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    bare_bed.programs += hogs
    for hog in hogs:
        hog.start()
    flags = ("--cmd=yes", "--output", "--period=10ms", "--timeout=100ms")
    container = Container(bare_bed, *flags, launcher=["nice", "-n", "19"])
    container.await_count("exechealthz_run_timeouts_total", ENDLESS_RUNS)
    highest_kib = container.highest_kib()
    record_property("figure", f"exechealthz: at most {highest_kib} KiB resident while its command prints endlessly")
    assert highest_kib <= CONTAINER_LIMIT_KIB / 2
    container.stop()
    for hog in hogs:
        hog.kill()

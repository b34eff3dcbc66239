#!/usr/bin/python3
"""skydns' start from a snapshot (`make bench-start`): etcd stopped, time from exec to right answers; etcd running,
reads of etcd, and its CPU time beside that of a full read.

In each round skydns reads everything from etcd and writes its snapshot on SIGTERM; starts from it with etcd running;
and, etcd stopped, starts from it once more, asked by `start/bench_start` from the exec on: first for the last name of
all, then for names from all over, then for every one. If all of those are right at once, `every_s` is the end of the
second step: a snapshot is published in one step, and the rest is the asker's speed. If not, it is when the last one was.

etcd's CPU time is that of its process until skydns has caught up, and SETTLE_S longer; what it uses idle in that time
is left out.
"""

import argparse
import contextlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "support"), str(ROOT / "integration")]

from answers import data  # noqa: E402
from answers.bed import Bed  # noqa: E402
from measuring import Figure, go_before_all_others, run_benchmark  # noqa: E402
from programs import Program, http_get, is_etcd_healthy, reserve_port  # noqa: E402
from prometheus import Page  # noqa: E402
from records import DOMAIN  # noqa: E402

SETTLE_S = 0.5
IDLE_S = 2.0
# Only ends a hang.
PATIENCE_S = 180.0
LARGE = 100_000
GOALS = {"first_s": 0.15, "every_s": 0.2, "not_right": 0, "reads": 0}
SHARE_MOST = 2.0  # with LARGE; of fewer keys a full read costs etcd next to nothing


def figures(services: int) -> list[Figure]:
    names = {
        "first_s": "s from exec to the first right answer, etcd stopped",
        "every_s": "s from exec until every name is right",
        "pass_s": "s from exec until every name has been asked",
        "not_right": "answers after the first one missing or not right",
        "reads": "skydns_etcd_reads_total after a restart, etcd running",
        "caught_up_s": "s from that restart until caught up with etcd",
        "full_read_s": "s from exec without a snapshot until caught up",
        "etcd_restart_ms": "ms of etcd's CPU time for a restart",
        "etcd_full_read_ms": "ms of etcd's CPU time for a full read",
        "etcd_percent": "% that restart is of the full read",
        "file_mib": "MiB, the snapshot",
    }
    goals = GOALS | ({"etcd_percent": SHARE_MOST} if services >= LARGE else {})
    return [Figure(f"{name}.{services}", f"{text}, {services:,} Services", goals.get(name)) for name, text in names.items()]


class Etcd:
    """The CPU time of a running etcd, which it uses idle, too."""

    def __init__(self, pid: int):
        self._clock = ~pid << 3 | 2  # clock_getcpuclockid(3): of all its threads
        started_s = self._used_s()
        time.sleep(IDLE_S)
        self._idle = (self._used_s() - started_s) / IDLE_S

    def _used_s(self) -> float:
        return time.clock_gettime(self._clock)

    @contextlib.contextmanager
    def used_ms(self):
        """Yields a list that has the CPU time in ms at the end."""
        used, used_s, started_s = [], self._used_s(), time.monotonic()
        yield used
        time.sleep(SETTLE_S)
        idle_s = self._idle * (time.monotonic() - started_s)
        used.append(max(0.0, self._used_s() - used_s - idle_s) * 1000)


class Skydns:
    def __init__(self, bed: Bed):
        self.port, self._http_port = reserve_port(), reserve_port()
        self.snapshot = bed.folder / "snapshot"
        self.argv = [str(bed.bin_dir / "skydns"), f"-machines={bed.etcd_url}", f"-domain={DOMAIN}.", "-no-rec"]
        self.argv += [f"-addr=127.0.0.1:{self.port}", f"-http-addr=127.0.0.1:{self._http_port}"]
        self.argv.append(f"-snapshot={self.snapshot}")
        self.program = Program("skydns", self.argv)

    def caught_up_s(self) -> float:
        """Starts it; the time until it has caught up with etcd."""
        started_s = time.monotonic()
        self.program.start()
        self.program.wait_ready(self._is_caught_up, "caught up with etcd", PATIENCE_S)
        return time.monotonic() - started_s

    def _is_caught_up(self) -> bool:
        try:
            return http_get(f"http://127.0.0.1:{self._http_port}/readiness?strict")[0] == 200
        except OSError:
            return False

    def reads(self) -> float:
        _, page = http_get(f"http://127.0.0.1:{self._http_port}/metrics")
        return Page(page, "skydns_").total("etcd_reads_total")


def with_etcd(bed: Bed, skydns: Skydns) -> dict[str, float]:
    """A full read, which leaves a snapshot, and a start from that."""
    skydns.snapshot.unlink(missing_ok=True)
    etcd = Etcd(bed.etcd.pid)
    with etcd.used_ms() as full_read_ms:
        full_read_s = skydns.caught_up_s()
    skydns.program.stop()
    size = skydns.snapshot.stat().st_size
    with etcd.used_ms() as restart_ms:
        caught_up_s = skydns.caught_up_s()
    reads = skydns.reads()
    skydns.program.stop()
    return {
        "reads": reads,
        "caught_up_s": caught_up_s,
        "full_read_s": full_read_s,
        "etcd_restart_ms": restart_ms[0],
        "etcd_full_read_ms": full_read_ms[0],
        "etcd_percent": 100 * restart_ms[0] / full_read_ms[0],
        "file_mib": size / (1 << 20),
    }


def without_etcd(bed: Bed, skydns: Skydns, asker: Path) -> dict[str, float]:
    bed.etcd.stop(expected=(0, -15))
    try:
        command = [asker, str(skydns.port), bed.folder / "names", *skydns.argv]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    finally:
        bed.etcd.start().wait_ready(lambda: is_etcd_healthy(bed.etcd_port), "healthy", PATIENCE_S)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    told = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    # Records are published at once, or some name was not right: then only the pass shows when all were.
    told["every_s"] = told["pass_s"] if told["not_right"] else told["spread_s"]
    return {name: told[name] for name in ("first_s", "every_s", "pass_s", "not_right")}


def run_round(beds: list[Bed], asker: Path) -> dict[str, float]:
    values = {}
    for bed in beds:
        skydns = Skydns(bed)
        try:
            of_bed = with_etcd(bed, skydns) | without_etcd(bed, skydns, asker)
        finally:
            skydns.program.kill()
        values |= {f"{name}.{bed.services}": value for name, value in of_bed.items()}
    return values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help="the built variant's folder, build/release")
    parser.add_argument("--services", type=int, nargs="+", default=[10_000, LARGE])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--first",
        action="store_true",
        help="run at a priority above all others (needs root), on a busy machine",
    )
    arguments = parser.parse_args()
    if not all(0 < services <= data.SERVICES_MAX for services in arguments.services):
        parser.error(f"--services: from 1 to {data.SERVICES_MAX}")
    if arguments.first:
        go_before_all_others()
    with contextlib.ExitStack() as stack:
        beds = [stack.enter_context(Bed(arguments.build, services)) for services in arguments.services]
        for bed in beds:
            lines = (f"{data.name(number)} {data.ip(number)}\n" for number in range(bed.services))
            (bed.folder / "names").write_text("".join(lines))
        asker = arguments.build / "tests/bench/start/bench_start"
        told = [figure for services in arguments.services for figure in figures(services)]
        return run_benchmark("bench-start", told, arguments.rounds, lambda: run_round(beds, asker))


if __name__ == "__main__":
    sys.exit(main())

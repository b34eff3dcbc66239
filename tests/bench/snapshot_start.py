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

import contextlib
import sys
import time
from pathlib import Path

from measuring import Figure, cpu_s, options_parser, parse_options, run_benchmark, run_tool

from answers import data
from answers.bed import Bed
from beds import Skydns

SETTLE_S = 0.5
IDLE_S = 2.0
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


class EtcdTime:
    """The CPU time of a running etcd, which it uses idle, too."""

    def __init__(self, pid: int):
        self._pid, started_s = pid, cpu_s(pid)
        time.sleep(IDLE_S)
        self._idle = (cpu_s(pid) - started_s) / IDLE_S

    @contextlib.contextmanager
    def used_ms(self):
        """Yields a list that has the CPU time in ms at the end."""
        used, used_s, started_s = [], cpu_s(self._pid), time.monotonic()
        yield used
        time.sleep(SETTLE_S)
        idle_s = self._idle * (time.monotonic() - started_s)
        used.append(max(0.0, cpu_s(self._pid) - used_s - idle_s) * 1000)


def with_etcd(bed: Bed, skydns: Skydns, snapshot: Path) -> dict[str, float]:
    """A full read, which leaves a snapshot, and a start from that."""
    snapshot.unlink(missing_ok=True)
    etcd = EtcdTime(bed.etcd.pid)
    with etcd.used_ms() as full_read_ms:
        full_read_s = skydns.caught_up_s()
    skydns.stop()
    size = snapshot.stat().st_size
    with etcd.used_ms() as restart_ms:
        caught_up_s = skydns.caught_up_s()
    reads = skydns.metric("etcd_reads_total")
    skydns.stop()
    return {
        "reads": reads,
        "caught_up_s": caught_up_s,
        "full_read_s": full_read_s,
        "etcd_restart_ms": restart_ms[0],
        "etcd_full_read_ms": full_read_ms[0],
        "etcd_percent": 100 * restart_ms[0] / full_read_ms[0],
        "file_mib": size / (1 << 20),
    }


def without_etcd(bed: Bed, skydns: Skydns) -> dict[str, float]:
    bed.etcd.stop(expected=(0, -15))
    try:
        told = run_tool(bed.tool("start/bench_start"), skydns.port, bed.folder / "names", *skydns.argv)
    finally:
        bed.etcd.start()
    # Records are published at once, or some name was not right: then only the pass shows when all were.
    told["every_s"] = told["pass_s"] if told["not_right"] else told["spread_s"]
    return {name: told[name] for name in ("first_s", "every_s", "pass_s", "not_right")}


def run_round(beds: list[Bed]) -> dict[str, float]:
    values = {}
    for bed in beds:
        snapshot = bed.folder / "snapshot"
        skydns = bed.new_skydns(f"-snapshot={snapshot}")
        of_bed = with_etcd(bed, skydns, snapshot) | without_etcd(bed, skydns)
        values |= {f"{name}.{bed.services}": value for name, value in of_bed.items()}
    return values


def main() -> int:
    parser = options_parser(__doc__, 3)
    parser.add_argument("--services", type=int, nargs="+", default=[10_000, LARGE])
    arguments = parse_options(parser)
    if not all(0 < services <= data.SERVICES_MAX for services in arguments.services):
        parser.error(f"--services: from 1 to {data.SERVICES_MAX}")
    with contextlib.ExitStack() as stack:
        beds = [stack.enter_context(Bed(arguments.build, services)) for services in arguments.services]
        for bed in beds:
            lines = (f"{data.name(number)} {data.ip(number)}\n" for number in range(bed.services))
            (bed.folder / "names").write_text("".join(lines))
        told = [figure for services in arguments.services for figure in figures(services)]
        return run_benchmark("bench-start", told, arguments.rounds, lambda: run_round(beds))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Cost of updates to skydns, and to its clients meanwhile (`make bench-updates`).

A program linked with skydns's own code (tests/bench/updates) fills a store with 1,000, 10,000 and 100,000 Services of
three records each. A change gives one of them another address: six keys, one version published. At the two larger
sizes a UDP worker answers queries over loopback, alternately alone and while the program's writer makes 10,000
changes a second. A batch's time is the worker's own, from the return of recvmmsg to the call of sendmmsg, in wall
time and in the thread's CPU time, which excludes other work on the same processor. Afterwards all of that again, half
of the time with snapshots of the store being written, back to back unless --interval says so.

Prints the machine, and the median, smallest and largest of the rounds next to the goals. Exit status 0: all goals
met; 1: a goal missed; 2: something could not be measured.
"""

import os
import sys
import tempfile

from measuring import Figure, options_parser, run_benchmark, run_tool

COST_ONLY = 1_000
LOADED = (10_000, 100_000)
# With a hundred times as many Services the tree may be a level deeper and the caches colder, no more.
GROWTH_MAX = 2.0
PHASES = ("idle", "writing", "updates", "both")
# Snapshots cost the answering threads nothing that is beyond the noise.
WRITING_MAX = 1.05


def loaded_figures(services: int) -> list[Figure]:
    at = f"at {services:,}"
    table = [
        ("changes_per_s", f"changes/s {at} Services, each a version", None),
        ("feed_cpu_percent", "% of a processor they took, from text to published", None),
        ("packets_idle", "queries in a batch, idle", None),
        ("packets_updates", "the same, under updates", None),
        ("idle_batch_p50_us", f"us a worker's own time per batch {at}, idle, p50", None),
        ("idle_batch_p99_us", "us the same, p99", None),
        ("updates_batch_p50_us", "us under updates, p50", None),
        ("updates_batch_p99_us", "us under updates, p99", None),
        ("batch_p99_ratio", "of the p99, updates to idle", 2.0),
        ("batch_cpu_p99_ratio", "the same of its CPU time", 2.0),
        ("query_cpu_ratio", "of its CPU time per query, updates to idle", None),
        ("writing_batch_p99_us", "us while snapshots are written, p99", None),
        ("both_batch_p99_us", "us under updates while they are, p99", None),
        ("writing_p99_ratio", "of the p99, with snapshots to without, idle", WRITING_MAX),
        ("both_p99_ratio", "the same under updates", WRITING_MAX),
        ("writing_cpu_p99_ratio", "of the CPU time's p99, idle", None),
        ("both_cpu_p99_ratio", "the same under updates", None),
        ("idle_latency_p50_us", f"us from end to end {at}, idle, p50", None),
        ("idle_latency_p99_us", "us the same, p99", None),
        ("updates_latency_p50_us", "us under updates, p50", None),
        ("updates_latency_p99_us", "us under updates, p99", None),
        ("wrong", "queries answered wrong or not at all", 0),
        ("old_answers_p99_us", "us after a publication that answers of the version before still left, p99", 1000),
        ("old_answers_max_us", "us the longest", None),
        ("probe_asleep_p50_us", "us from before a publication to its answer from a worker asleep, p50", None),
        ("probe_asleep_p99_us", "us the same, p99", 1000),
        ("stale_probes", "answers of an older version to queries sent after a publication", 0),
        ("writer_sleeps", "times that the writer blocked", 0),
        ("change_wall_p99_us", "us a change took, p99", None),
        ("version_kept_p99_us", "us a replaced version was kept for a reader, p99", None),
        ("versions_waiting_max", "replaced versions kept at once, at most", None),
        ("resident_mib", f"MiB resident {at}, before the changes", None),
        ("resident_growth_percent", "% more after them", 5),
        ("snapshot_resident_percent", "% more at most, while snapshots were written", 10),
        ("snapshot_writes", f"snapshots written {at}", None),
        ("snapshot_writes_per_s", "the same for each second", None),
        ("snapshot_ms", "ms for each, on disk", None),
        ("snapshot_mib", "MiB for each", None),
        ("snapshot_disk_ratio", "of their size written to disk", 1.05),
    ]  # fmt: skip
    return [Figure(f"{services} {name}", unit, goal) for name, unit, goal in table]


FIGURES = [
    *(Figure(f"{n} change_us", f"us CPU for one change of {n:,} Services") for n in (COST_ONLY, *LOADED)),
    *(Figure(f"{n} parse_us", f"us of that to write and parse its text, at {n:,}") for n in (COST_ONLY, *LOADED)),
    *(Figure(f"{n} change_bytes", f"bytes copied or made for it, at {n:,}") for n in (COST_ONLY, *LOADED)),
    Figure("cost_ratio", f"of the CPU, {LOADED[-1]:,} to {COST_ONLY:,}", GROWTH_MAX),
    Figure("bytes_ratio", f"of the bytes, {LOADED[-1]:,} to {COST_ONLY:,}", GROWTH_MAX),
    *(figure for n in LOADED for figure in loaded_figures(n)),
]


def go_before_all_others() -> None:
    """Leaves 1 to the thread that writes snapshots (updates/snapshots.c)."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))


def run(arguments, services: int, seconds: int) -> dict[str, float]:
    numbers = [services, seconds, arguments.changes, arguments.queries]
    bench = arguments.build / "tests/bench/updates/bench_updates"
    with tempfile.TemporaryDirectory(dir=bench.parent) as folder:  # on a disk
        command = [bench, *numbers, f"{folder}/snapshot", arguments.interval]
        priority = go_before_all_others if arguments.first else None
        return run_tool(*command, timeout_s=60 + 6 * seconds, preexec_fn=priority)


def derive(f: dict[str, float]) -> dict[str, float]:
    """The ratios of one run."""
    return f | {
        "batch_p99_ratio": f["updates_batch_p99_us"] / f["idle_batch_p99_us"],
        "batch_cpu_p99_ratio": f["updates_batch_cpu_p99_us"] / f["idle_batch_cpu_p99_us"],
        "writing_p99_ratio": f["writing_batch_p99_us"] / f["idle_batch_p99_us"],
        "both_p99_ratio": f["both_batch_p99_us"] / f["updates_batch_p99_us"],
        "writing_cpu_p99_ratio": f["writing_batch_cpu_p99_us"] / f["idle_batch_cpu_p99_us"],
        "both_cpu_p99_ratio": f["both_batch_cpu_p99_us"] / f["updates_batch_cpu_p99_us"],
        "query_cpu_ratio": f["updates_cpu_us_per_query"] / f["idle_cpu_us_per_query"],
        "packets_idle": f["idle_packets_per_batch"],
        "packets_updates": f["updates_packets_per_batch"],
        "wrong": sum(f[f"{phase}_{what}"] for phase in PHASES for what in ("wrong", "lost")),
    }


def run_round(arguments) -> dict[str, float]:
    figures: dict[str, float] = {}
    for services in (COST_ONLY, *LOADED):
        seconds = 1 if services == COST_ONLY else arguments.seconds
        got = derive(run(arguments, services, seconds))
        figures |= {f"{services} {name}": value for name, value in got.items()}
    for name, of in (("cost_ratio", "change_us"), ("bytes_ratio", "change_bytes")):
        figures[name] = figures[f"{LOADED[-1]} {of}"] / figures[f"{COST_ONLY} {of}"]
    return figures


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--seconds", type=int, default=60, help="of changes; half as long without [60]")
    parser.add_argument("--changes", type=int, default=10_000, help="per second")
    parser.add_argument("--queries", type=int, default=20_000, help="per second")
    parser.add_argument("--interval", type=int, default=0, help="ms from a snapshot to the next; 0: back to back [0]")
    arguments = parser.parse_args()
    told = f" of {arguments.seconds} s{', before all others' * arguments.first}"
    return run_benchmark("bench-updates", FIGURES, arguments.rounds, lambda: run_round(arguments), told)


if __name__ == "__main__":
    sys.exit(main())

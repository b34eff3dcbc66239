#!/usr/bin/python3
"""A million Services, and a tenth of them (`make bench-scale`): what grows faster than their number.

Half `records`: the keys of N Services, three each, in an etcd; skydns reads them, answers, takes changes, writes its
snapshot and starts from it, shows its pages, and gives the zone to a secondary. Half `objects`: N Services from the
tests' API server through kube2sky into an empty etcd; its pages, single changes, a restart.

`growth` is a figure at the larger size over the same at the smaller one, for each Service: 1 is linear. What should not
depend on the number of Services is compared as it is. CPU time counts, since the machine is shared; what is in seconds
includes etcd, the API server and whatever else runs. A stall is the longest that a program's loop left a health probe
waiting meanwhile.

A whole run takes 6 minutes on a quiet machine of two cores, and wants 8 GiB of memory. Goals are for 100,000 and
1,000,000 Services; other sizes are only shown. Exit status 0: all goals met; 1: one missed; 2: something could not
be measured.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from measuring import Figure, options_parser, run_benchmark

from answers import data
from scaling import objects, records

FULL = (100_000, 1_000_000)
# Of CPU time: caches hold less of a larger table. Of memory: tables double.
CPU_GROWTH_MAX, MEMORY_GROWTH_MAX = 1.3, 1.15
# Of what looks at one Service, or at a bounded number: the same at any size, but for colder caches.
STEADY_MAX = 2.0
# A health probe has a second; a change should not notice.
STALL_MAX_MS = 100.0


@dataclass
class Measure:
    name: str
    text: str
    goal: float | None = None  # at a million
    growth: float | None = None  # for each Service; inf: shown without a goal
    steady: float | None = None  # as it is


def pages(who: str, program: str, names: dict[str, str]) -> list[Measure]:
    found = []
    for name, text in names.items():
        found.append(Measure(f"{who}_{name}_ms", f"ms, {program}: {text}"))
        found.append(Measure(f"{who}_{name}_stall_ms", "ms stall meanwhile", STALL_MAX_MS))
    return found


RECORDS = [
    Measure("store_s", "s for all keys in plain transactions of 128"),
    Measure("store_keys", "keys"),
    Measure("store_db_mib", "MiB etcd's database in use"),
    Measure("store_service_bytes", "bytes of it for a Service", growth=MEMORY_GROWTH_MAX),
    Measure("store_fit_millions", "million Services within 8 GiB, without history"),
    Measure("store_mib", "MiB etcd resident", growth=MEMORY_GROWTH_MAX),
    Measure("start_s", "s until skydns has read all of it"),
    Measure("start_cpu_s", "s CPU of skydns for that", 10.0, growth=CPU_GROWTH_MAX),
    Measure("start_etcd_cpu_s", "s CPU of etcd for that", growth=1.5),
    Measure("plain_etcd_cpu_s", "s CPU of etcd for the same keys in pages whose ends are known", growth=math.inf),
    Measure("reader_mib", "MiB skydns resident", 700, growth=MEMORY_GROWTH_MAX),
    Measure("reader_peak_mib", "MiB at most while it read", growth=MEMORY_GROWTH_MAX),
    Measure("reader_service_bytes", "bytes of a Service"),
    Measure("reader_watches", "watches in etcd, of a skydns"),
    Measure("snapshot_mib", "MiB its snapshot"),
    Measure("snapshot_peak_mib", "MiB at most while it wrote that", growth=MEMORY_GROWTH_MAX),
    Measure("end_s", "s from SIGTERM to its end, a snapshot of changes included", 20.0),
    Measure("snapshot_first_s", "s from exec to the first right answer from a snapshot"),
    Measure("snapshot_not_right", "answers after that missing or not right", 0),
    *pages("reader", "skydns", {
        "page": "its page", "live": "its first event", "metrics": "/metrics", "cache": "/cache, all records",
        "explain": "/explain", "suggest": "/explain of a name that is not there", "command": "skydns -explain",
        "search": "/search, one found", "search_all": "/search, all match",
    }),
    Measure("answer_p50_ms", "ms from etcd's acknowledgement of a new Service to its answer, p50", 1.0),
    Measure("answer_p99_ms", "ms the same, p99"),
    Measure("change_cpu_us", "us CPU of skydns for a changed record", steady=STEADY_MAX),
    Measure("change_growth_percent", "% more memory after 20,000 of them", 5.0),
    Measure("transfer_s", "s for a transfer of the whole zone"),
    Measure("transfer_cpu_s", "s CPU of its thread", 20.0, growth=CPU_GROWTH_MAX),
    Measure("transfer_mib", "MiB of messages"),
    Measure("transfer_peak_mib", "MiB skydns resident at most, transfers allowed", growth=MEMORY_GROWTH_MAX),
    Measure("ratio_a", "of the bare responder's CPU, A", steady=1.25),
    Measure("ratio_kubernetes", "of the bare responder's CPU, Kubernetes mix", steady=1.25),
    Measure("records_took_s", "s for this half of a round"),
]  # fmt: skip
OBJECTS = [
    Measure("list_s", "s to list all Services from the API server"),
    Measure("fill_s", "s from kube2sky's start until all keys are in an empty etcd"),
    Measure("fill_ratio", "of that to the list and all keys in plain transactions"),
    Measure("fill_cpu_s", "s CPU of kube2sky for it", growth=CPU_GROWTH_MAX),
    Measure("fill_stall_ms", "ms stall meanwhile", 1000.0),
    Measure("writer_mib", "MiB kube2sky resident", growth=MEMORY_GROWTH_MAX),
    Measure("writer_peak_mib", "MiB at most", growth=MEMORY_GROWTH_MAX),
    Measure("writer_service_bytes", "bytes of a Service", 1536),
    *pages("writer", "kube2sky", {
        "page": "its page", "live": "its first event", "metrics": "/metrics", "plan": "/plan, nothing to do",
        "explain": "/explain", "suggest": "/explain of a Service that is not there",
        "command": "kube2sky --explain",
    }),
    Measure("event_p50_ms", "ms from a change's event to etcd's, 1,000 a second, p50"),
    Measure("event_p99_ms", "ms the same, p99"),
    Measure("event_cpu_us", "us CPU of kube2sky for it", steady=STEADY_MAX),
    Measure("event_growth_percent", "% more memory after 5,000 of them", 5.0),
    Measure("event_etcd_bytes", "bytes of etcd's database for it, until it compacts", steady=1.25),
    Measure("restart_s", "s until ready after a restart with nothing changed"),
    Measure("restart_writes", "writes of it", 1),  # the base of serials
    Measure("restart_cpu_s", "s CPU of kube2sky for it", growth=CPU_GROWTH_MAX),
    Measure("restart_peak_mib", "MiB at most", growth=MEMORY_GROWTH_MAX),
    Measure("writer_watches", "watches in etcd, of kube2sky and those before"),
    Measure("objects_took_s", "s for this half of a round"),
]  # fmt: skip
HALVES: dict[str, tuple[list[Measure], Callable]] = {
    "records": (RECORDS, lambda services, arguments: records.measure(services, arguments.build, arguments.first)),
    "objects": (OBJECTS, lambda services, arguments: objects.measure(services, arguments.build)),
}


def figures(measures: list[Measure], sizes: list[int]) -> list[Figure]:
    """Of each measure, its figure at each size and, of two sizes, how it grows."""
    is_full, found = tuple(sizes) == FULL, []
    for one in measures:
        for services in sizes:
            goal = one.goal if services == FULL[-1] else None
            found.append(Figure(f"{one.name}.{services}", f"{one.text}, {services:,} Services", goal))
        if len(sizes) == 2 and (one.growth or one.steady):
            unit = "growth of that for each Service" if one.growth else "growth of that"
            goal = one.growth or one.steady
            found.append(Figure(f"{one.name}.growth", unit, goal if is_full and math.isfinite(goal) else None))
    return found


def with_growth(measures: list[Measure], sizes: list[int], values: dict[str, float]) -> dict[str, float]:
    grown = {}
    for one in measures if len(sizes) == 2 else ():
        small, large = (values[f"{one.name}.{services}"] for services in sizes)
        if one.growth or one.steady:
            is_figure_of_all = one.growth and not one.name.endswith("_service_bytes")
            grown[f"{one.name}.growth"] = large / small / (sizes[1] / sizes[0] if is_figure_of_all else 1)
    return values | grown


def run_round(halves: list[str], measures: list[Measure], sizes: list[int], arguments) -> dict[str, float]:
    values: dict[str, float] = {}
    for services in sizes:
        found: dict[str, float] = {}
        for half in halves:
            found |= HALVES[half][1](services, arguments)
        if len(halves) == 2:
            found["fill_ratio"] = found["fill_s"] / (found["list_s"] + found["store_s"])
        values |= {f"{name}.{services}": value for name, value in found.items()}
    return with_growth(measures, sizes, values)


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--services", type=int, nargs="+", default=list(FULL), help="one size, or two")
    parser.add_argument("--only", choices=sorted(HALVES), help="half of it")
    arguments = parser.parse_args()
    sizes = sorted(arguments.services)
    if not (1 <= len(sizes) <= 2 and all(100 <= services <= data.SERVICES_MAX for services in sizes)):
        parser.error(f"--services: one or two numbers from 100 to {data.SERVICES_MAX}")
    halves = [arguments.only] if arguments.only else list(HALVES)
    measures = [one for half in halves for one in HALVES[half][0] if len(halves) == 2 or one.name != "fill_ratio"]
    return run_benchmark(
        "bench-scale",
        figures(measures, sizes),
        arguments.rounds,
        lambda: run_round(halves, measures, sizes, arguments),
    )


if __name__ == "__main__":
    sys.exit(main())

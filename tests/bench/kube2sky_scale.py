#!/usr/bin/python3
"""kube2sky with as many objects as in a large cluster (`make bench-kube2sky`), created by the tests' API server; each
round has a fresh etcd (ETCD may name another program than `etcd`).

Prints the machine, and the median, smallest and largest of the rounds next to the goals. API server, etcd, kube2sky
and this program share the machine: compare the figures with the plain transaction loop and the paced plain
transactions, which bench_store sends to the same etcd. Exit status 0: all goals met; 1: a goal missed; 2: something
could not be measured.
"""

import sys
import threading

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, percentile, run_benchmark

from beds import IN_FLIGHT
from cluster_bed import PAGE, PATIENCE_S, Bed, Follower, bulk_keys, list_all
from programs import ETCD
from records import SVC
from scaling.probes import wait_settled

SERVICES = 100_000
BURST = 10_000
PACED, PACED_PER_S = 5_000, 1_000
# For a changed address of a Service with one named port: three keys deleted, three added.
OPS_PER_CHANGE = 6
HELD_SERVICES = HELD_PODS = 10_000
HELD_HEADLESS, ENDPOINTS_EACH = 1_000, 20
IDLE_S = 10

FIGURES = [
    Figure("list_s", f"s to list {SERVICES:,} Services in pages of {PAGE}"),
    Figure("loop_s", f"s for the same keys in plain transactions of 128, {IN_FLIGHT} in flight"),
    Figure("loop_1_s", "s for the same, one at a time"),
    Figure("keys", "keys"),
    Figure("fill_s", "s from kube2sky's start until all of them are in an empty etcd"),
    Figure("fill_ratio", "ratio of that to list + plain loop", 1.5),
    Figure("restart_writes", "writes after a restart with nothing changed", 1),  # the base of serials
    Figure("restart_s", "s until ready after that restart", 2.0),
    Figure("restart_cpu_s", "s CPU of kube2sky for it", 1.1),
    Figure("restart_etcd_cpu_s", "s CPU of etcd"),
    Figure("restart_api_cpu_s", "s CPU of the API server"),
    Figure("burst_s", f"s from the last of {BURST:,} changes until all are in etcd", 1.0),
    Figure("burst_feed_s", "s that the API server took to deliver them"),
    Figure("commit_p50_ms", f"ms, etcd's own commit at {PACED_PER_S:,} transactions/s, p50"),
    Figure("commit_p99_ms", "ms, the same, p99"),
    Figure("event_p50_ms", f"ms from event to commit at {PACED_PER_S:,} changes/s, p50"),
    Figure("event_p99_ms", "ms, the same, p99"),
    Figure("beyond_p50_ms", "ms beyond etcd's own commit, p50", 1.0),
    Figure("beyond_p99_ms", "ms beyond etcd's own commit, p99", 5.0),
    Figure("held_mib", f"MiB resident at {HELD_SERVICES:,} Services, {HELD_PODS:,} Pods, "
           f"{HELD_HEADLESS * ENDPOINTS_EACH:,} endpoints", 40),
    Figure("restarted_mib", "MiB resident with the same, restarted"),
    Figure("bytes_per_object", "bytes per further object", 1536),
    Figure("idle_percent", f"% CPU over {IDLE_S} idle s", 0.1),
]  # fmt: skip


def measure_filling(bed: Bed, figures: dict) -> None:
    bed.kube.control("bulk", count=SERVICES)
    list_all(bed.kube, "services")  # encodes them, which must not be measured
    figures["list_s"] = list_all(bed.kube, "services")
    filled = bed.start_etcd()
    figures["fill_s"] = bed.start_kube2sky()
    lines = bed.store("dump", "/skydns/")
    figures["keys"] = lines.count(b"\n")
    if figures["keys"] < 2 * SERVICES:
        raise SystemExit(f"kube2sky was ready with {figures['keys']} keys")
    for name, in_flight in (("loop_s", IN_FLIGHT), ("loop_1_s", 1)):
        bed.start_etcd()
        figures[name] = bed.put(lines, in_flight)
    bed.etcd = filled
    figures["fill_ratio"] = figures["fill_s"] / (figures["list_s"] + figures["loop_s"])


def measure_restart(bed: Bed, figures: dict) -> None:
    etcd, api = bed.etcd, bed.apiserver
    bed.kube2sky.stop()
    revision, etcd_s, api_s = etcd.client.revision(), cpu_s(etcd.pid), cpu_s(api.pid)
    figures["restart_s"] = bed.start_kube2sky()
    figures["restart_cpu_s"] = cpu_s(bed.kube2sky.pid)
    figures["restart_etcd_cpu_s"] = cpu_s(etcd.pid) - etcd_s
    figures["restart_api_cpu_s"] = cpu_s(api.pid) - api_s
    figures["restart_writes"] = etcd.client.revision() - revision


def measure_changes(bed: Bed, figures: dict) -> None:
    with Follower(bed) as follower:
        salt = 1 << 20
        wanted = bulk_keys(BURST, salt)
        made = bed.kube.control("bulk", verb="replace", count=BURST, salt=salt)
        figures["burst_feed_s"] = (made["last_ns"] - made["first_ns"]) / 1e9
        figures["burst_s"] = (max(follower.wait_times_ns(wanted)) - made["last_ns"]) / 1e9
    commits, events = [], []
    for salt in (1 << 21, 1 << 22):
        commits.append(paced_commits_ms(bed))
        events.append(paced_events_ms(bed, salt))
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        # The disk's speed varies: the better run of two counts.
        commit, event = (min(percentile(run, part) for run in runs) for runs in (commits, events))
        figures |= {f"commit_{name}_ms": commit, f"event_{name}_ms": event}
        figures[f"beyond_{name}_ms"] = event - commit


def paced_commits_ms(bed: Bed) -> list[float]:
    lines = bed.store("pace", str(PACED_PER_S), str(PACED), str(OPS_PER_CHANGE)).split()
    return [int(line) / 1e3 for line in lines]


def paced_events_ms(bed: Bed, salt: int) -> list[float]:
    with Follower(bed) as follower:
        wanted = bulk_keys(PACED, salt)
        made = bed.kube.control(
            "bulk", verb="replace", count=PACED, salt=salt, rate=PACED_PER_S, stamps=True
        )
        seen = follower.wait_times_ns(wanted)
    return [(there - sent) / 1e6 for there, sent in zip(seen, made["stamps_ns"])]


def measure_memory(bed: Bed, figures: dict) -> None:
    kube = bed.kube
    with_ip = HELD_SERVICES - HELD_HEADLESS
    kube.control("bulk", count=with_ip)
    kube.control("bulk", count=HELD_HEADLESS, prefix="db-", headless=True)
    slices = {"resource": "endpointslices", "prefix": "db-", "endpoints": ENDPOINTS_EACH}
    kube.control("bulk", count=HELD_HEADLESS, net=10, **slices)
    kube.control("bulk", resource="pods", count=HELD_PODS, net=11)
    etcd = bed.start_etcd()
    bed.start_kube2sky()
    figures["held_mib"] = memory_mib(bed.kube2sky.pid)[0]
    for resource, net in (("services", 173), ("pods", 12)):
        kube.control("bulk", resource=resource, count=HELD_SERVICES, namespace="more", net=net)
    last = f"{SVC}/more/bulk-{HELD_SERVICES - 1}/"
    bed.kube2sky.wait_ready(lambda: etcd.client.values(last), "the last key", PATIENCE_S)
    wait_settled(bed.kube2sky, "no writes", etcd.client.revision)
    added_mib = memory_mib(bed.kube2sky.pid)[0] - figures["held_mib"]
    figures["bytes_per_object"] = added_mib * 2**20 / (2 * HELD_SERVICES)
    before_s = cpu_s(bed.kube2sky.pid)
    threading.Event().wait(IDLE_S)
    figures["idle_percent"] = (cpu_s(bed.kube2sky.pid) - before_s) / IDLE_S * 100
    for resource in ("services", "pods"):
        kube.control("bulk", resource=resource, verb="delete", count=HELD_SERVICES, namespace="more")
    wait_settled(bed.kube2sky, "no writes", etcd.client.revision)
    bed.kube2sky.stop()
    bed.start_kube2sky()
    figures["restarted_mib"] = memory_mib(bed.kube2sky.pid)[0]


def run_round(arguments) -> dict[str, float]:
    figures: dict[str, float] = {}
    with Bed(arguments.build) as bed:
        measure_filling(bed, figures)
        measure_restart(bed, figures)
        measure_changes(bed, figures)
    with Bed(arguments.build) as bed:
        measure_memory(bed, figures)
    return figures


def main() -> int:
    arguments = parse_options(options_parser(__doc__, 3))
    return run_benchmark("bench-kube2sky", FIGURES, arguments.rounds, lambda: run_round(arguments), f" on {ETCD}")


if __name__ == "__main__":
    sys.exit(main())

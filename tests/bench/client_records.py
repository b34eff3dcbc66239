#!/usr/bin/python3
"""What client records cost (`make bench-clients`, after clients.py): kube2sky and skydns with 100,000 pods, without and
with --client-records; and a rollout that replaces 5,000 of them, in which Services change all the time.

Each round has a fresh etcd and API server, for each way. They share the machine with everything else.
"""

import re
import sys
import threading
import time
from pathlib import Path

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, percentile, run_benchmark

from cluster_bed import PATIENCE_S, Bed, Follower, bulk_keys
from kube import Kube, node
from programs import http_get, wait_until
from scaling.probes import wait_settled

NODES = 100  # as the API server's bulk control names them
ROLLOUT = 5_000
PACED, PACED_PER_S = 500, 100
RECORDS = "/kube2sky/cluster.local/client/"
WAYS = {"without": (), "with": ("--client-records",)}


def put_nodes(bed: Bed) -> None:
    for number in range(NODES):
        value = node(f"node-{number}", f"192.0.2.{number}")
        value["metadata"]["labels"] = {"topology.kubernetes.io/zone": f"eu-1{'abc'[number % 3]}"}
        bed.kube.create("nodes", value)


def metric(bed: Bed, name: str) -> float:
    page = http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1]
    return float(re.search(rf"^kube2sky_{name} (\S+)", page, re.M)[1])


def change_services(url: str, told: dict) -> None:
    told |= Kube(url).control("bulk", count=PACED, rate=PACED_PER_S, stamps=True)


def measure_rollout(bed: Bed, pods: int) -> dict[str, float]:
    """New pods first, then the old ones go, while Services are created."""
    names = ("transactions_total", "keys_written_total", "keys_deleted_total")
    before, used_s, made = {name: metric(bed, name) for name in names}, cpu_s(bed.kube2sky.pid), {}
    with Follower(bed) as follower:
        url = bed.kube.url
        changing = threading.Thread(target=change_services, args=(url, made))
        changing.start()
        started_s = time.monotonic()
        bed.kube.control("bulk", resource="pods", start=pods, count=ROLLOUT, net=10)
        bed.kube.control("bulk", resource="pods", verb="delete", count=ROLLOUT)
        changing.join()
        seen = follower.wait_times_ns(bulk_keys(PACED, 0))
        wait_settled(bed.kube2sky, "no writes", bed.etcd.client.revision)
    delays_ms = [(there - sent) / 1e6 for there, sent in zip(seen, made["stamps_ns"])]
    return {
        **{name.removesuffix("_total"): metric(bed, name) - before[name] for name in names},
        "rollout_s": time.monotonic() - started_s,
        "rollout_cpu_s": cpu_s(bed.kube2sky.pid) - used_s,
        "service_p50_ms": percentile(delays_ms, 0.5),
        "service_p99_ms": percentile(delays_ms, 0.99),
    }


def measure_way(build: Path, pods: int, flags: tuple[str, ...]) -> dict[str, float]:
    with Bed(build) as bed:
        put_nodes(bed)
        for start in range(0, pods, 20_000):
            bed.kube.control("bulk", resource="pods", start=start, count=min(20_000, pods - start), net=10)
        bed.start_etcd()
        values = {"ready_s": bed.start_kube2sky("--etcd-space=8192", *flags)}
        values["kube2sky_mib"] = memory_mib(bed.kube2sky.pid)[0]
        values["records"] = len(bed.store("dump", RECORDS).splitlines())
        skydns = bed.new_skydns("-autopath")
        skydns.caught_up_s()
        known = bed.etcd.client.revision()
        wait_until(lambda: skydns.metric("etcd_revision") >= known, "all of etcd", PATIENCE_S)
        values["skydns_mib"] = memory_mib(skydns.pid)[0]
        return values | measure_rollout(bed, pods)


FIGURES = [
    Figure(f"{what}_{way}", f"{unit} {way} records")
    for what, unit in (
        ("ready_s", "s until kube2sky has written everything"),
        ("kube2sky_mib", "MiB of kube2sky"),
        ("skydns_mib", "MiB of skydns, with -autopath"),
        ("transactions", f"transactions for a rollout of {ROLLOUT:,} pods and {PACED} Services"),
        ("keys_written", "keys written for it"),
        ("keys_deleted", "keys deleted for it"),
        ("rollout_s", "s for it"),
        ("rollout_cpu_s", "s CPU of kube2sky for it"),
        ("service_p50_ms", "ms from a Service's change to etcd meanwhile, p50"),
        ("service_p99_ms", "ms the same, p99"),
    )
    for way in WAYS
] + [
    Figure("records", "client records"),
    Figure("kube2sky_bytes", "bytes of kube2sky for each record", 600),
    Figure("skydns_bytes", "bytes of skydns for each record", 200),
]


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--pods", type=int, default=100_000)
    options = parse_options(parser)

    def run_round() -> dict[str, float]:
        ways = {way: measure_way(options.build, options.pods, flags) for way, flags in WAYS.items()}
        values = {f"{name}_{way}": value for way, found in ways.items() for name, value in found.items()}
        values["records"] = records = values["records_with"]
        for program in ("kube2sky", "skydns"):
            more = values[f"{program}_mib_with"] - values[f"{program}_mib_without"]
            values[f"{program}_bytes"] = more * (1 << 20) / records
        return values

    return run_benchmark("bench-client-records", FIGURES, options.rounds, run_round, f", {options.pods:,} pods")


if __name__ == "__main__":
    sys.exit(main())

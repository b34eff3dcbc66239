#!/usr/bin/python3
"""From a change in the Kubernetes API to the right DNS answer, through kube2sky, etcd and skydns
(`make bench-pipeline`); each round has a fresh etcd (ETCD may name another program than `etcd`).

One Service at a time, bursts, everything into an empty etcd, and the load of DNS queries on etcd. The API server is
the tests' own, which is written in Python and shares the machine with everything else: its part is reported
separately (time from when it sent its event, time from etcd's own event). With KUBE_APISERVER (CONTRIBUTING.md) the
Services are also created in a real one.

Prints the machine, and the median, smallest and largest of the rounds next to the goals. Exit status 0: all goals
met; 1: a goal missed; 2: something could not be measured.
"""

import os
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from measuring import Figure, etcd_looks, options_parser, parse_options, run_benchmark, spread

from beds import IN_FLIGHT
from cluster_bed import Bed, Follower, Times, bulk_keys, list_all
from hops import Hops, hop_figures
from kube import Kube, port, service
from programs import ETCD
from real_apiserver import RealApiserver
from records import SVC, label

OWN, REAL = "own", "real"
SINGLE, SINGLE_PER_S = 400, 100
# Of a Service with one named port: its address, its port and the reverse name.
KEYS_EACH = 3
BURST = 10_000
FILLS = (10_000, 100_000)
QUERIES = 1_000_000
# Concurrent creates sent to a real API server.
CLIENTS = 8
REQUESTS = "grpc_server_started_total"
# Query interval for a single name; for many names, WINDOW at a time; and while everything is filled, which takes so
# long that the queries would take a core's time away from it.
IMPATIENT_US, PATIENT_US, WINDOW, FILL_US = 100, 2_000, 64, 20_000


# Until the first right answer, p50. Our server is written in Python and takes its time.
ACK_P50_MS = {OWN: 1.0, REAL: 0.9}


def single_figures(server: str) -> list[Figure]:
    return [
        Figure(f"{server} post_p50_ms", f"ms for a POST to the {server} API server to be acknowledged, p50"),
        Figure(f"{server} ack_p50_ms", "ms from that to the first right answer, p50", ACK_P50_MS[server]),
        Figure(f"{server} ack_p99_ms", "ms the same, p99", 3.0),
        Figure(f"{server} ack_etcd_p50_ms", "ms of that until etcd's event at a separate watcher, p50"),
        Figure(f"{server} etcd_p50_ms", "ms from etcd's event to the answer, p50"),
        Figure(f"{server} etcd_p99_ms", "ms the same, p99"),
        Figure(f"{server} ack_mean_ms", "ms from the acknowledgement to the first right answer, mean"),
        *hop_figures(server),
        Figure(f"{server} commit_p50_ms", "ms for a plain transaction of as many keys to the same etcd, p50"),
        Figure(f"{server} commit_p99_ms", "ms the same, p99"),
    ]


def burst_figures(server: str) -> list[Figure]:
    return [
        Figure(f"{server} burst_feed_s", f"s in which {BURST:,} Services were changed at the {server} API server"),
        Figure(f"{server} burst_etcd_s", "s from the last change until all were in etcd"),
        Figure(f"{server} burst_s", "s from the last change until all were answered", 1.0),
    ]


def fill_figures(count: int) -> list[Figure]:
    return [
        Figure(f"{count} list_s", f"s to list {count:,} Services"),
        Figure(f"{count} loop_s", f"s for their keys in plain transactions of 128, {IN_FLIGHT} in flight"),
        Figure(f"{count} filled_s", "s from kube2sky's start until all were in etcd"),
        Figure(f"{count} answered_s", "s until all were answered"),
        Figure(f"{count} fill_ratio", "ratio of that to list + plain transactions", 1.5),
        Figure(f"{count} start_s", "s from skydns's start until it was ready with all records"),
    ]


FIGURES = [
    *single_figures(OWN),
    Figure("event_p50_ms", f"ms from an event sent to kube2sky to the answer, {SINGLE_PER_S}/s, p50", 1.0),
    Figure("event_p99_ms", "ms the same, p99", 3.0),
    *burst_figures(OWN),
    *(figure for count in FILLS for figure in fill_figures(count)),
    Figure("queries_per_s", "queries/s to skydns meanwhile"),
    Figure("etcd_requests", f"requests to etcd by {QUERIES:,} DNS queries, beyond the looks that time alone causes", 0),
]
REAL_FIGURES = [*single_figures(REAL), *burst_figures(REAL)]


class Asker:
    """Queries skydns for names until the answer is right, and notes the time."""

    def __init__(self, bed: Bed, window: int, retry_us: int):
        command = [bed.tool("pipeline/bench_ask"), str(bed.skydns.port), str(window), str(retry_us)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._times = Times()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *exc) -> None:
        self._process.stdin.close()
        if exc[0]:
            self._process.kill()
        self._reader.join()
        if self._process.wait() != 0 and not exc[0]:
            raise SystemExit("bench_ask has failed")

    def _read(self) -> None:
        for line in self._process.stdout:
            name, time_ns = line.decode().split()
            self._times.note(name, int(time_ns))

    def ask(self, wanted: dict[str, str]) -> None:
        """Starts to query these names, with these right addresses."""
        self._process.stdin.write("".join(f"{n} {a}\n" for n, a in wanted.items()).encode())
        self._process.stdin.flush()

    def wait_times_ns(self, names: list[str]) -> list[int]:
        """Waits until all of these are answered right; returns the times."""
        return self._times.wait_ns(names, "names answered right")


def dns_name(name: str) -> str:
    return f"{name}.default.svc.cluster.local"


def bulk_addresses(count: int, salt: int) -> dict[str, str]:
    """The names and addresses of the Services of bulk_keys."""
    hosts = ((n, n + salt) for n in range(count))
    return {dns_name(f"bulk-{n}"): f"172.{h >> 16}.{h >> 8 & 255}.{h & 255}" for n, h in hosts}


# ---- One at a time ----


def cluster_ip(number: int) -> str:
    """An address in the range of both API servers."""
    return f"10.100.{number >> 8}.{number & 255}"


def measure_single(bed: Bed, server: str, figures: dict) -> None:
    """Creates Services one after another; queries for each start before its creation."""
    posts, acks, acks_to_etcd, answers = [], [], [], []
    hops = Hops(bed)
    with Follower(bed) as follower, Asker(bed, 1, IMPATIENT_US) as asker:
        for number in range(SINGLE):
            name, ip = f"one-{number}", cluster_ip(number + 20)
            asker.ask({dns_name(name): ip})
            start_ns = time.monotonic_ns()
            bed.kube.create("services", service(name, port(80, "http"), clusterIP=ip))
            ack_ns = time.monotonic_ns()
            [answer_ns] = asker.wait_times_ns([dns_name(name)])
            [etcd_ns] = follower.wait_times_ns([f"{SVC}/default/{name}/{label(ip)}"])
            posts.append((ack_ns - start_ns) / 1e6)
            acks.append((answer_ns - ack_ns) / 1e6)
            acks_to_etcd.append((etcd_ns - ack_ns) / 1e6)
            answers.append((answer_ns - etcd_ns) / 1e6)
    for name, times_ms in (("post", posts), ("ack", acks), ("ack_etcd", acks_to_etcd), ("etcd", answers)):
        figures |= spread(f"{server} {name}", times_ms)
    figures[f"{server} ack_mean_ms"] = statistics.mean(acks)
    hops.note(figures, server, acks_to_etcd, answers)
    lines = bed.store("pace", str(SINGLE_PER_S), str(SINGLE), str(KEYS_EACH)).split()
    figures |= spread(f"{server} commit", [int(line) / 1e3 for line in lines])


def measure_events(bed: Bed, figures: dict) -> None:
    """The same, from when the API server sends its event: without its own work for the client."""
    salt = 1 << 19
    bed.kube.control("bulk", count=SINGLE)
    wanted = bulk_addresses(SINGLE, salt)
    with Asker(bed, 1, IMPATIENT_US) as asker:
        asker.ask(bulk_addresses(SINGLE, 0))
        asker.wait_times_ns(list(wanted))
    with Asker(bed, 1, IMPATIENT_US) as asker:
        asker.ask(wanted)
        made = bed.kube.control(
            "bulk", verb="replace", count=SINGLE, salt=salt, rate=SINGLE_PER_S, stamps=True
        )
        times = asker.wait_times_ns(list(wanted))
    figures |= spread("event", [(there - sent) / 1e6 for there, sent in zip(times, made["stamps_ns"])])


# ---- Bursts ----


def measure_burst(bed: Bed, figures: dict) -> None:
    salt = 1 << 20
    bed.kube.control("bulk", count=BURST)
    with Asker(bed, WINDOW, PATIENT_US) as asker:
        asker.ask(bulk_addresses(BURST, 0))
        asker.wait_times_ns(list(bulk_addresses(BURST, 0)))
    wanted = bulk_addresses(BURST, salt)
    with Follower(bed) as follower, Asker(bed, WINDOW, PATIENT_US) as asker:
        asker.ask(wanted)
        made = bed.kube.control("bulk", verb="replace", count=BURST, salt=salt)
        answered_ns = max(asker.wait_times_ns(list(wanted)))
        in_etcd_ns = max(follower.wait_times_ns(bulk_keys(BURST, salt)))
    note_burst(figures, OWN, made["first_ns"], made["last_ns"], in_etcd_ns, answered_ns)


def measure_real_burst(bed: Bed, kubes: list[Kube], figures: dict) -> None:
    """New Services instead of changed ones, by one concurrent client per connection."""

    def name(number: int) -> str:
        return f"burst-{number}"

    def create(client: int) -> int:
        for number in range(client, BURST, len(kubes)):
            ip = cluster_ip(number + 1024)
            kubes[client].create("services", service(name(number), port(80, "http"), clusterIP=ip))
        return time.monotonic_ns()

    wanted = {dns_name(name(n)): cluster_ip(n + 1024) for n in range(BURST)}
    keys = [f"{SVC}/default/{name(n)}/{label(cluster_ip(n + 1024))}" for n in range(BURST)]
    with Follower(bed) as follower, Asker(bed, WINDOW, PATIENT_US) as asker:
        asker.ask(wanted)
        start_ns = time.monotonic_ns()
        with ThreadPoolExecutor(len(kubes)) as pool:
            last_ns = max(pool.map(create, range(len(kubes))))
        answered_ns = max(asker.wait_times_ns(list(wanted)))
        note_burst(figures, REAL, start_ns, last_ns, max(follower.wait_times_ns(keys)), answered_ns)


def note_burst(figures: dict, server: str, first_ns: int, last_ns: int, etcd_ns: int, answered_ns: int) -> None:
    figures[f"{server} burst_feed_s"] = (last_ns - first_ns) / 1e9
    figures[f"{server} burst_etcd_s"] = (etcd_ns - last_ns) / 1e9
    figures[f"{server} burst_s"] = (answered_ns - last_ns) / 1e9


# ---- Everything ----


def measure_filling(bed: Bed, count: int, figures: dict) -> None:
    """Into an empty etcd that skydns already follows."""
    bed.kube.control("bulk", count=count)
    list_all(bed.kube, "services")  # encodes them, which must not be measured
    figures[f"{count} list_s"] = list_all(bed.kube, "services")
    filled = bed.start_etcd()
    bed.new_skydns().start_s()
    wanted = bulk_addresses(count, 0)
    with Asker(bed, WINDOW, FILL_US) as asker:
        asker.ask(wanted)
        start_ns = time.monotonic_ns()
        figures[f"{count} filled_s"] = bed.start_kube2sky()
        figures[f"{count} answered_s"] = (max(asker.wait_times_ns(list(wanted))) - start_ns) / 1e9
    bed.skydns.stop()
    figures[f"{count} start_s"] = bed.skydns.start_s()
    lines = bed.store("dump", "/skydns/")
    key_count = lines.count(b"\n")
    if key_count < 3 * count:
        raise SystemExit(f"{key_count} keys of {count} Services")
    bed.start_etcd()
    loop_s = figures[f"{count} loop_s"] = bed.put(lines)
    bed.etcd = filled
    figures[f"{count} fill_ratio"] = figures[f"{count} answered_s"] / (figures[f"{count} list_s"] + loop_s)


def measure_queries(bed: Bed, count: int, figures: dict) -> None:
    """Repeats queries for existing names."""
    wanted = bulk_addresses(count, 0)
    before, start_s = bed.etcd.figure(REQUESTS), time.monotonic()
    for _ in range(QUERIES // count):
        with Asker(bed, WINDOW, PATIENT_US) as asker:
            asker.ask(wanted)
            asker.wait_times_ns(list(wanted))
    took_s = time.monotonic() - start_s
    figures["queries_per_s"] = QUERIES / took_s
    figures["etcd_requests"] = max(0, bed.etcd.figure(REQUESTS) - before - etcd_looks(2, took_s))


# ---- Rounds ----


def run_own(arguments, figures: dict) -> None:
    with Bed(arguments.build) as bed:
        bed.start_etcd()
        bed.new_skydns().start_s()
        bed.start_kube2sky()
        measure_single(bed, OWN, figures)
        measure_events(bed, figures)
        measure_burst(bed, figures)
    for count in FILLS:
        with Bed(arguments.build) as bed:
            measure_filling(bed, count, figures)
            if count == FILLS[-1]:
                measure_queries(bed, count, figures)


def run_real(arguments, figures: dict) -> None:
    with Bed(arguments.build, has_apiserver=False) as bed:
        server = RealApiserver(bed.folder / "kube")
        server.start()
        try:
            kube = bed.use_kube(server.kube, server.flags)
            bed.start_etcd()
            bed.new_skydns().start_s()
            bed.start_kube2sky()
            measure_single(bed, REAL, figures)
            kubes = [Kube(kube.url, kube.token, kube.ca_file) for _ in range(CLIENTS)]
            measure_real_burst(bed, kubes, figures)
        finally:
            server.stop()


def run_round(arguments) -> dict[str, float]:
    figures: dict[str, float] = {}
    if arguments.only != REAL:
        run_own(arguments, figures)
    if arguments.has_real:
        run_real(arguments, figures)
    return figures


def main() -> int:
    parser = options_parser(__doc__, 3)
    parser.add_argument("--only", choices=[OWN, REAL], help="only with the tests' own API server, or only a real one")
    arguments = parse_options(parser)
    arguments.has_real = bool(os.environ.get("KUBE_APISERVER")) and arguments.only != OWN
    told = f" on {ETCD}" + ("" if arguments.has_real else "; a real API server (KUBE_APISERVER) was not measured")
    figures = (FIGURES if arguments.only != REAL else []) + (REAL_FIGURES if arguments.has_real else [])
    return run_benchmark("bench-pipeline", figures, arguments.rounds, lambda: run_round(arguments), told)


if __name__ == "__main__":
    sys.exit(main())

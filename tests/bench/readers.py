#!/usr/bin/python3
"""What a reader costs etcd, and what etcd's grpc-proxy saves (`make bench-readers`).

Each round, without and with the proxy, has 10, 100 and 300 readers at a fresh etcd with 100 records: light ones, all in
one process (tests/bench/readers), each with the connection and the two watches of skydns's mirror of the records. Another
process makes changes of one key each, 250 a second, directly at etcd. CPU is what the kernel counts for the process
during the changes, with what the idle time before cost taken off; memory is what the readers' start added to it. A
change's latency is from the put's request to each reader, by one clock.

The model is a straight line by least squares through the numbers of readers, for each round:

    CPU per event = a + b * readers        memory = c + d * readers        idle CPU per second = e * readers

1,000 readers are extrapolated by it. `etcd` is etcd's process alone, `both` the two together, `proxy` the proxy's. Real
readers have one to four further mirrors each (a few keys that hardly ever change): that adds to d and e, not to b. All
of it shares two cores, so latencies include waiting for the readers' own process.

Prints the median, smallest and largest of the rounds next to the goals. Exit status 0: all goals met; 1: a goal missed;
2: something could not be measured.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, read_figures, run_benchmark

from beds import Bed
from grpc_proxy import GrpcProxy
from programs import Program

READERS = (10, 100, 300)
LARGE = 1000
EVENTS, PER_S = 500, 250
IDLE_S = 5.0

# With the proxy, etcd's CPU per event must not grow with readers, nor may its watches: the records', the store key's, and
# the proxy's own. Some more are a proxy that is about to merge them.
SLOPE_MAX = 0.05
WATCHES_MAX = 8
WATCHES = "etcd_debugging_mvcc_watcher_total"

FIGURES = [
    Figure("direct_base_us", "us CPU of etcd per event, without readers (a)"),
    Figure("direct_slope_us", "us CPU of etcd per event and reader, without the proxy (b)"),
    Figure("proxy_slope_us", "us CPU of etcd per event and reader, with it"),
    Figure("proxy_watches", f"watches at etcd, {READERS[-1]} readers, with it", WATCHES_MAX),
    Figure("slope_ratio", "of these, with to without", SLOPE_MAX),
    Figure("both_slope_us", "us CPU of etcd and proxy per event and reader"),
    Figure("both_ratio", "of the CPU, both to etcd without it"),
    Figure("direct_large_us", f"us CPU of etcd per event, {LARGE:,} readers, without (extrapolated)"),
    Figure("proxy_large_us", "us the same, with"),
    Figure("both_large_us", "us of etcd and proxy"),
    Figure("direct_reader_kib", "KiB of etcd per reader, without (d)"),
    Figure("proxy_reader_kib", "KiB of etcd per reader, with"),
    Figure("proxy_own_reader_kib", "KiB of the proxy per reader"),
    Figure("direct_idle_us", "us CPU of etcd per reader and idle second, without (e)"),
    Figure("proxy_idle_us", "us the same, with"),
    *(
        Figure(f"{way}_{count}_{part}_ms", f"ms from put to reader, {count} readers, {text}, {part}")
        for count in READERS
        for way, text in (("direct", "without"), ("proxy", "with"))
        for part in ("p50", "p99")
    ),
]  # fmt: skip


def cpu_us(program: Program) -> float:
    return cpu_s(program.pid) * 1e6


def memory_kib(program: Program) -> float:
    return memory_mib(program.pid)[0] * 1024


def line_through(points: dict[int, float]) -> tuple[float, float]:
    """(at 0, slope)"""
    slope, base = statistics.linear_regression(list(points), list(points.values()))
    return base, slope


class Run:
    """One number of readers at a fresh etcd, with or without the proxy."""

    def __init__(self, bed: Bed, readers: int, has_proxy: bool):
        self._bench, self._readers = bed.tool("readers/bench_readers"), readers
        self._etcd = bed.start_etcd()
        self._proxy = GrpcProxy(bed.folder, f"127.0.0.1:{self._etcd.port}") if has_proxy else None
        if self._proxy:
            bed.add(self._proxy.program)
            self._proxy.start()
        self.cpu_us: dict[str, float] = {}  # per event
        self.idle_us: dict[str, float] = {}  # per second
        self.kib: dict[str, float] = {}
        self.watches = 0.0
        self.latencies: dict[str, float] = {}

    def _programs(self) -> dict[str, Program]:
        return {"etcd": self._etcd} | ({"proxy": self._proxy.program} if self._proxy else {})

    def _used(self, count: Callable[[Program], float]) -> dict[str, float]:
        return {name: count(program) for name, program in self._programs().items()}

    def _write(self, events: int) -> None:
        command = [self._bench, self._etcd.url, "write", str(events), str(PER_S)]
        subprocess.run(command, check=True, timeout=60)

    def measure(self) -> "Run":
        self._write(100)  # the records
        before_kib = self._used(memory_kib)
        url = self._proxy.url if self._proxy else self._etcd.url
        command = [self._bench, url, "follow", str(self._readers), str(EVENTS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as readers:
            if readers.stdout.readline().strip() != "ready":
                raise SystemExit("the readers have failed")
            self.kib = {name: kib - before_kib[name] for name, kib in self._used(memory_kib).items()}
            idle_us = self._used(cpu_us)
            time.sleep(IDLE_S)
            self.watches = self._etcd.figure(WATCHES)
            start_us, start_s = self._used(cpu_us), time.monotonic()
            self._write(EVENTS)
            output = readers.communicate(timeout=60)[0]
            end_us, took_s = self._used(cpu_us), time.monotonic() - start_s
        for name, us in start_us.items():
            self.idle_us[name] = (us - idle_us[name]) / IDLE_S
            self.cpu_us[name] = (end_us[name] - us - self.idle_us[name] * took_s) / EVENTS
        self.latencies = read_figures(output)
        return self


def model(runs: dict[str, dict[int, Run]]) -> dict[str, float]:
    def fit(way: str, value: Callable[[Run], float]) -> tuple[float, float]:
        return line_through({count: value(run) for count, run in runs[way].items()})

    direct_base, direct = fit("direct", lambda run: run.cpu_us["etcd"])
    proxy_base, proxy = fit("proxy", lambda run: run.cpu_us["etcd"])
    both_base, both = fit("proxy", lambda run: sum(run.cpu_us.values()))
    figures = {
        "direct_base_us": direct_base,
        "direct_slope_us": direct,
        "proxy_slope_us": proxy,
        "proxy_watches": runs["proxy"][READERS[-1]].watches,
        "slope_ratio": proxy / direct,
        "both_slope_us": both,
        "both_ratio": both / direct,
        "direct_large_us": direct_base + LARGE * direct,
        "proxy_large_us": proxy_base + LARGE * proxy,
        "both_large_us": both_base + LARGE * both,
        "direct_reader_kib": fit("direct", lambda run: run.kib["etcd"])[1],
        "proxy_reader_kib": fit("proxy", lambda run: run.kib["etcd"])[1],
        "proxy_own_reader_kib": fit("proxy", lambda run: run.kib["proxy"])[1],
        "direct_idle_us": fit("direct", lambda run: run.idle_us["etcd"])[1],
        "proxy_idle_us": fit("proxy", lambda run: run.idle_us["etcd"])[1],
    }
    for way, of_way in runs.items():
        for count, run in of_way.items():
            figures |= {f"{way}_{count}_{name}": value for name, value in run.latencies.items()}
    return figures


def run_round(build: Path) -> dict[str, float]:
    runs: dict[str, dict[int, Run]] = {"direct": {}, "proxy": {}}
    for count in READERS:
        for way in runs:
            with Bed(build) as bed:
                runs[way][count] = Run(bed, count, way == "proxy").measure()
    return model(runs)


def main() -> int:
    arguments = parse_options(options_parser(__doc__, 2))
    return run_benchmark("bench-readers", FIGURES, arguments.rounds, lambda: run_round(arguments.build))


if __name__ == "__main__":
    sys.exit(main())

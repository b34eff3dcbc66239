#!/usr/bin/python3
"""A thousand nodes' skydns behind etcd's grpc-proxies (`make bench-node-readers`): three proxies, as grpc-proxy.yaml has,
and for each a process with its share of the readers (tests/bench/nodes): skydns' own etcd client, record store and
documents, without the threads that answer. ETCD=/path/to/etcd measures another etcd and its proxy.

1. cold: some readers, all at once, without a snapshot: each reads all keys.
2. idle: CPU and memory, all readers having started from a snapshot, as the manifest's do from the second time on.
3. puts: single keys, spread over the seconds; from when a put is sent until the last reader publishes it.
4. rollout: the addresses of 5,000 pods are replaced, ten pods in a transaction.
5. power cut: everything is killed at once and started at once, the readers from a snapshot: until the last one has caught
   up with etcd. Pods are answered from the beginning.

CPU seconds are the kernel's counts of each process, so they hold on a busy machine; seconds and milliseconds do not: a
thousand readers share this machine's processors, where nodes have their own. Exit status 2: something could not be measured.
"""

import subprocess
import sys
import time
from pathlib import Path

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, percentile, run_benchmark

from answers import data
from beds import PATIENCE_S, Bed
from grpc_proxy import GrpcProxy
from programs import ETCD, Program
from records import DOMAIN, SVC, value

IDLE_S = 10.0
PUTS, PUTS_PER_S = 100, 5
BATCH, PODS_OF_SERVICE = 10, 100
STORE_KEY = f"/kube2sky/{DOMAIN}/store"
PARTS = ("etcd", "proxy", "reader")  # CPU of one proxy, and of one reader


def figures(options) -> list[Figure]:
    readers = f"{options.readers:,} readers"
    found = [Figure("keys", "keys that each reader has"), Figure("watches", f"watches at etcd, {readers}")]
    for phase, text in (
        ("cold", f"start of {options.cold:,} readers without a snapshot"),
        ("roll", f"rollout of {options.pods:,} pods"),
        ("cut", "power cut"),
    ):
        found.append(Figure(f"{phase}_s", f"s, {text}: until the last reader has everything"))
        found += [Figure(f"{phase}_{part}_cpu_s", f"CPU s of {_one(part)}, {text}") for part in PARTS]
    found += [Figure(f"idle_{part}_cpu_ms", f"CPU ms each second of {_one(part)}, idle") for part in PARTS]
    found += [Figure(f"put_{part}_cpu_us", f"CPU us of {_one(part)} for a put") for part in PARTS]
    found += [Figure(f"idle_{part}_mib", f"MiB RSS of {_one(part)}, {readers}") for part in PARTS]
    found += [Figure(f"cold_{part}_mib", f"MiB RSS of {_one(part)}, at most, {options.cold:,} reading") for part in PARTS[:2]]
    found += [Figure(f"cut_{part}_mib", f"MiB RSS of {_one(part)}, at most, after the power cut") for part in PARTS[:2]]
    for phase, text in (("put", "a put"), ("roll", "a transaction of the rollout")):
        found += [Figure(f"{phase}_{part}_ms", f"ms from {text} to the last reader, {part}") for part in ("p50", "p99")]
    return found


def _one(part: str) -> str:
    return part if part == "etcd" else f"one {part}"


class Readers:
    """Those of one proxy."""

    def __init__(self, tool: str, url: str, count: int, snapshot: Path | None, log: Path):
        self.count, self._log = count, log
        with log.open("a") as errors:
            command = [tool, url, "follow", str(count), *([str(snapshot)] if snapshot else [])]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.pid = self._process.pid

    def wait(self, line: str) -> None:
        told = self._process.stdout.readline().strip()
        if told != line:
            raise ValueError(f"readers: {told!r} instead of {line!r}: {self._log.read_text()[-500:]}")

    def ask_for(self, revision: int) -> None:
        self._process.stdin.write(f"{revision}\n")
        self._process.stdin.flush()

    def end(self) -> tuple[int, dict[int, int]]:
        """The fewest keys that one of them has, and when the last of them published each revision, in us."""
        output = self._process.communicate(timeout=PATIENCE_S)[0].splitlines()
        keys = int(output[0].removeprefix("keys "))
        return keys, {int(revision): int(us) for revision, us in map(str.split, output[1:])}

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Cluster:
    """The running programs."""

    def __init__(self, bed: Bed, options):
        self._bed, self._tool = bed, bed.tool("nodes/bench_nodes")
        self._snapshot: Path | None = None
        self.etcd = bed.start_etcd()
        bed.put(data.key_lines(options.services) + pods(options.pods) + f"{STORE_KEY}\t1\n".encode())
        self.proxies = [GrpcProxy(bed.folder / f"proxy-{i}", f"127.0.0.1:{self.etcd.port}") for i in range(options.proxies)]
        for proxy in self.proxies:
            bed.add(proxy.program)
            proxy.start()
        self.readers: list[Readers] = []

    def take_snapshot(self) -> None:
        """By a skydns; readers start from it."""
        self._snapshot = self._bed.folder / "snapshot"
        skydns = self._bed.new_skydns(f"-snapshot={self._snapshot}", "-schema=kubernetes", "-require-store-key")
        skydns.start_s()
        skydns.wait_ready(lambda: skydns.metric("snapshot_writes_total") >= 1, "snapshot", PATIENCE_S)
        skydns.kill()

    def start_readers(self, count: int) -> None:
        """Their shares of the proxies."""
        for i, proxy in enumerate(self.proxies):
            share = len(range(i, count, len(self.proxies)))
            self.readers.append(Readers(self._tool, proxy.url, share, self._snapshot, self._bed.folder / "readers.log"))

    def end_readers(self) -> list[tuple[int, dict[int, int]]]:
        ended, self.readers = [one.end() for one in self.readers], []
        return ended

    def wait(self, line: str) -> None:
        for one in self.readers:
            one.wait(line)

    def serve(self, revision: int) -> None:
        """Until all readers serve it."""
        for one in self.readers:
            one.ask_for(revision)
        self.wait("seen")

    def revision(self) -> int:
        return int(self.etcd.figure("etcd_debugging_mvcc_current_revision"))

    def cpu_s(self) -> dict[str, float]:
        readers = sum(cpu_s(one.pid) for one in self.readers)
        proxies = [cpu_s(one.program.pid) for one in self.proxies]
        count = sum(one.count for one in self.readers) or 1
        return {"etcd": cpu_s(self.etcd.pid), "proxy": sum(proxies) / len(proxies), "reader": readers / count}

    def mib(self, at_most: bool = False) -> dict[str, float]:
        proxies = [memory_mib(one.program.pid)[at_most] for one in self.proxies]
        readers = sum(memory_mib(one.pid)[at_most] for one in self.readers)
        etcd = memory_mib(self.etcd.pid)[at_most]
        count = sum(one.count for one in self.readers)
        return {"etcd": etcd, "proxy": sum(proxies) / len(proxies), "reader": readers / count}

    def write(self, *arguments: object) -> dict[int, int]:
        """When each revision was sent, in us."""
        command = [self._tool, self.etcd.url, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S, text=True)
        return {int(revision): int(us) for revision, us in map(str.split, done.stdout.splitlines())}

    def cut_power(self) -> None:
        for one in [self.etcd, *(proxy.program for proxy in self.proxies), *self.readers]:
            one.kill()
        self.readers = []

    def restart(self, count: int) -> None:
        """All at once: none waits for another."""
        Program.start(self.etcd)
        for proxy in self.proxies:
            proxy.program.start()
        self.start_readers(count)


def pods(count: int) -> bytes:
    """The addresses that the rollout replaces."""
    lines = []
    for pod in range(count):
        text = value(f"10.{50 + pod // 40000}.{pod // 200 % 200}.{pod % 200 + 1}")
        lines.append(f"{SVC}/default/roll-{pod // PODS_OF_SERVICE}/p{pod}-old\t{text}\n")
    return "".join(lines).encode()


def differences(name: str, before: dict[str, float], after: dict[str, float], times: float = 1.0) -> dict[str, float]:
    return {f"{name.format(part)}": (after[part] - before[part]) * times for part in PARTS}


def run_round(options) -> dict[str, float]:
    found: dict[str, float] = {}
    with Bed(options.build) as bed:
        cluster = Cluster(bed, options)
        try:
            measure(cluster, options, found)
        finally:
            for one in cluster.readers:
                one.kill()
    return found


def timed(cluster: Cluster, found: dict[str, float], phase: str, act) -> object:
    before, began = cluster.cpu_s(), time.monotonic()
    result = act()
    found[f"{phase}_s"] = time.monotonic() - began
    found.update(differences(f"{phase}_{{}}_cpu_s", before, cluster.cpu_s()))
    return result


def latencies(name: str, sent: dict[int, int], last: dict[int, int]) -> dict[str, float]:
    late_ms = [(last[revision] - us) / 1000 for revision, us in sent.items()]
    return {f"{name}_{part}_ms": percentile(late_ms, at) for part, at in (("p50", 0.5), ("p99", 0.99))}


def measure(cluster: Cluster, options, found: dict[str, float]) -> None:
    def start(count: int) -> None:
        cluster.start_readers(count)
        cluster.wait("ready")

    def write(*arguments: object) -> dict[int, int]:
        sent = cluster.write(*arguments)
        cluster.serve(max(sent))
        return sent

    def note(phase: str, **more) -> None:
        found.update({f"{phase}_{part}_mib": mib for part, mib in cluster.mib(**more).items()})

    timed(cluster, found, "cold", lambda: start(options.cold))
    note("cold", at_most=True)
    cluster.end_readers()
    cluster.take_snapshot()
    start(options.readers)
    cluster.serve(cluster.revision())
    before = cluster.cpu_s()
    time.sleep(IDLE_S)
    idle = differences("{}", before, cluster.cpu_s(), 1 / IDLE_S)
    found |= {f"idle_{part}_cpu_ms": each_s * 1000 for part, each_s in idle.items()}
    note("idle")
    found["watches"] = cluster.etcd.figure("etcd_debugging_mvcc_watcher_total")
    puts = timed(cluster, found, "put", lambda: write("put", PUTS, PUTS_PER_S))
    for part in PARTS:
        used_s = found[f"put_{part}_cpu_s"] - idle[part] * found["put_s"]
        found[f"put_{part}_cpu_us"] = used_s / PUTS * 1e6
    rolled = timed(cluster, found, "roll", lambda: write("roll", options.pods, options.pods_per_s, BATCH))
    cluster.take_snapshot()
    ended = cluster.end_readers()
    found["keys"] = min(keys for keys, _ in ended)
    last = {revision: max(times[revision] for _, times in ended) for revision in ended[0][1]}
    found |= latencies("put", puts, last) | latencies("roll", rolled, last)
    cluster.cut_power()
    began = time.monotonic()
    cluster.restart(options.readers)
    cluster.wait("ready")
    found["cut_s"] = time.monotonic() - began
    found |= {f"cut_{part}_cpu_s": used_s for part, used_s in cluster.cpu_s().items()}
    note("cut", at_most=True)


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--cold", type=int, default=100, help="readers that start without a snapshot")
    parser.add_argument("--proxies", type=int, default=3)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--pods-per-s", type=int, default=50)
    options = parse_options(parser)
    version = subprocess.run([ETCD, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(f"{version}; {options.proxies} proxies, {options.services:,} Services, {options.pods_per_s} pods/s")
    return run_benchmark("bench-node-readers", figures(options), options.rounds, lambda: run_round(options))


if __name__ == "__main__":
    sys.exit(main())

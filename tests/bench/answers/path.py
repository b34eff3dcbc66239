"""Measured once for skydns: time from a change in etcd to the answer, time from its start until it is ready, two
workers, idle connections, and the number of etcd reads.
"""

import re
import resource
import select
import shutil
import socket
import statistics
import subprocess
import time
from pathlib import Path

from answers import data, rounds, servers
from measuring import percentile
from programs import Program, http_get

CHANGES = 1000
STARTS = 3
CONNECTIONS = 10_000
_AT_ONCE = 250  # fits a listener's backlog
# skydns reserves some for other uses, and half of the rest for nameservers.
DESCRIPTORS_OTHERS = 640
_DESCRIPTORS = 3 * CONNECTIONS + 2 * DESCRIPTORS_OTHERS
BOTH_CORES = f"{servers.SERVER_CORE},{servers.GENERATOR_CORE}"
# Enough sockets that the kernel's hash gives each worker about half.
_SPREAD_FLAGS = ("-sockets=64", "-window=8", "-batch=8")
_PATIENCE_S = 120.0


def start_seconds(skydns_argv: list[str]) -> float:
    """From the start until it logs that it is ready."""
    ready_s: list[float] = []

    def on_line(line: str) -> None:
        if "ready for queries" in line and not ready_s:
            ready_s.append(time.monotonic())

    taken = []
    for _ in range(STARTS):
        ready_s.clear()
        program = Program("skydns", skydns_argv, on_line=on_line)
        start_s = time.monotonic()
        program.start()
        program.wait_ready(lambda: ready_s, "ready", _PATIENCE_S)
        taken.append(ready_s[0] - start_s)
        program.stop()
    return statistics.median(taken)


def read_seconds(bed) -> float:
    """etcd's own time to read all keys."""
    start_s = time.monotonic()
    bed.store("dump", "/skydns/")
    return time.monotonic() - start_s


def propagation(tools: Path, etcd_url: str, skydns: servers.Server) -> dict[str, float]:
    """In ms; 0 if a change is answered before etcd's acknowledgement arrives."""
    command = [tools / "propagation", etcd_url, f"127.0.0.1:{skydns.port}", str(CHANGES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S)
    if done.returncode != 0:
        skydns.program.fail(f"could not be measured: {done.stderr}")
    changes = [tuple(int(us) for us in line.split()) for line in done.stdout.splitlines()]
    series = {
        "propagation": [max(0, right - acknowledged) / 1e3 for acknowledged, right in changes],
        "put_to_answer": [right / 1e3 for _, right in changes],
        "put": [acknowledged / 1e3 for acknowledged, _ in changes],
    }
    parts = (("p50", 0.5), ("p99", 0.99))
    return {f"{name}_{part}_ms": percentile(ms, at) for name, ms in series.items() for part, at in parts}


def two_workers(generator: rounds.Generator, pair: tuple[servers.Server, servers.Server]) -> float:
    """Answers of two workers relative to one, per CPU time available: 2 is perfect. Workers and generator share the
    cores, so only CPU time is meaningful.
    """
    pattern = rounds.Pattern("spread", "A", "a", _SPREAD_FLAGS)
    cost_us: list[list[float]] = [[], []]
    for _ in range(3):
        for one, costs in zip(pair, cost_us):
            costs.append(generator.run(pattern, one)["figures"]["server_us"])
    return 2 * statistics.median(cost_us[0]) / statistics.median(cost_us[1])


def dnsperf(skydns: servers.Server, questions: Path, seconds: float) -> dict[str, float]:
    """Figures of dnsperf, a generator that users have. At skydns' best it needs more than a core, and sends small
    batches, so that its figures are not comparable with the others here. Empty if not installed.
    """
    if not shutil.which("dnsperf"):
        return {}
    command = ["taskset", "-c", str(servers.GENERATOR_CORE), "dnsperf", "-s", "127.0.0.1", "-p", str(skydns.port)]
    command += ["-d", str(questions), "-l", str(max(1, round(seconds))), "-c", "8", "-q", "200", "-T", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60 + seconds)
    return dnsperf_figures(done.stdout)


def dnsperf_figures(output: str) -> dict[str, float]:
    lines = {"dnsperf_qps": r"Queries per second: +(\S+)", "dnsperf_lost": r"Queries lost: +(\d+)"}
    found = {name: re.search(line, output) for name, line in lines.items()}
    return {name: float(match[1]) for name, match in found.items() if match}


def raise_descriptor_limit() -> None:
    """Raises the limit of this process and its children; beyond the hard limit only as root."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, _DESCRIPTORS), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return
        except (ValueError, OSError):
            continue


def idle_connections(skydns: servers.Server) -> float | None:
    """Extra MiB with CONNECTIONS connections, after one query on each; extrapolated from fewer if the descriptor
    limit is too low. None if skydns closed some as idle before all were open.
    """
    allowed = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - DESCRIPTORS_OTHERS) // 2
    count = min(CONNECTIONS, allowed) // _AT_ONCE * _AT_ONCE
    before_mib, opened = skydns.resident_mib(), []
    try:
        for _ in range(0, count, _AT_ONCE):
            opened += _ask_once(skydns.port, _AT_ONCE)
        after_mib = skydns.resident_mib()
        is_complete = not _has_input(opened)
    finally:
        for connection in opened:
            connection.close()
    return (after_mib - before_mib) * CONNECTIONS / count if is_complete else None


def _ask_once(port: int, count: int) -> list[socket.socket]:
    """So many new connections, with one answered query on each."""
    query, opened = dns_query(data.name(0), 0), []
    for _ in range(count):
        opened.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        opened[-1].sendall(len(query).to_bytes(2, "big") + query)
    for connection in opened:
        connection.recv(512)
    return opened


def dns_query(name: str, number: int) -> bytes:
    """A query for a name's address, with this ID."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    header = number.to_bytes(2, "big") + bytes.fromhex("01000001000000000000")
    return header + labels + bytes.fromhex("0000010001")


def _has_input(connections: list[socket.socket]) -> bool:
    """Whether any was closed: the end of a connection is input, too."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def etcd_reads(etcd_port: int) -> float:
    """The number of range requests since etcd started."""
    _, page = http_get(f"http://127.0.0.1:{etcd_port}/metrics")
    method = re.compile(r'^grpc_server_started_total\{grpc_method="Range",.*\} (\S+)$', re.MULTILINE)
    return sum(float(value) for value in method.findall(page))

"""What is measured once for skydns: from a change in etcd to the answer, from its start until it is ready, two
workers, idle connections, and how often it reads etcd.
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
_AT_ONCE = 250  # within the backlog of a listener
# skydns keeps some for other things than connections, and half of the rest for asking nameservers.
_DESCRIPTORS_OTHERS = 512
_DESCRIPTORS = 2 * CONNECTIONS + 2 * _DESCRIPTORS_OTHERS
BOTH_CORES = f"{servers.SERVER_CORE},{servers.GENERATOR_CORE}"
# So many sockets that a hash over them gives each worker about half.
_SPREAD_FLAGS = ("-sockets=64", "-window=8", "-batch=8")
_PATIENCE_S = 120.0


def start_seconds(skydns_argv: list[str]) -> float:
    """From the start until it says that it is ready."""
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


def read_seconds(store: Path, etcd_url: str) -> float:
    """What etcd itself needs for all keys."""
    start_s = time.monotonic()
    command = [store, etcd_url, "dump", "/skydns/"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_PATIENCE_S)
    return time.monotonic() - start_s


def propagation(tools: Path, etcd_url: str, skydns: servers.Server) -> dict[str, float]:
    """In ms; a change may be answered before etcd's acknowledgement has come in, which is 0 then."""
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
    """How many times what one worker answers two do per CPU time they have: 2 is perfect. Workers and
    generator share the cores, so that only CPU time tells.
    """
    pattern = rounds.Pattern("spread", "A", "a", _SPREAD_FLAGS)
    cost_us: list[list[float]] = [[], []]
    for _ in range(3):
        for one, costs in zip(pair, cost_us):
            costs.append(generator.run(pattern, one)["figures"]["server_us"])
    return 2 * statistics.median(cost_us[0]) / statistics.median(cost_us[1])


def dnsperf(skydns: servers.Server, questions: Path, seconds: float) -> dict[str, float]:
    """What another generator, which users have, sees. It takes more than a core at skydns' best, and makes small
    batches of its questions, so that its figures compare with nothing else here. Nothing where it is not installed.
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
    """For this process and those it starts; beyond what it was given only as root."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, _DESCRIPTORS), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return
        except (ValueError, OSError):
            continue


def idle_connections(skydns: servers.Server) -> float | None:
    """MiB more that it holds with CONNECTIONS of them, each of which has asked once; where fewer descriptors are
    allowed it takes fewer, and the rest is reckoned. None when it closed some before all were open, since that
    took longer than it waits for an idle one.
    """
    allowed = (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _DESCRIPTORS_OTHERS) // 2
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
    """So many new connections, on each of which a question was answered."""
    query, opened = dns_query(data.name(0), 0), []
    for _ in range(count):
        opened.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        opened[-1].sendall(len(query).to_bytes(2, "big") + query)
    for connection in opened:
        connection.recv(512)
    return opened


def dns_query(name: str, number: int) -> bytes:
    """For the address of a name, with this ID."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    header = number.to_bytes(2, "big") + bytes.fromhex("01000001000000000000")
    return header + labels + bytes.fromhex("0000010001")


def _has_input(connections: list[socket.socket]) -> bool:
    """The end of a connection is input, too."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def etcd_reads(etcd_port: int) -> float:
    """How many keys' ranges it has been asked for since it started."""
    _, page = http_get(f"http://127.0.0.1:{etcd_port}/metrics")
    method = re.compile(r'^grpc_server_started_total\{grpc_method="Range",.*\} (\S+)$', re.MULTILINE)
    return sum(float(value) for value in method.findall(page))

"""Bursts: 50,000 queries at once, and how many of them each server loses; alone on its core, and beside a process that
never sleeps. The kernel drops what does not fit the server's receive buffer, so that what counts is the buffer and
how fast the server empties it.
"""

import statistics
import subprocess

from answers import rounds, servers
from answers.bed import Bed

SIZE = 50_000
_TIMEOUT_S = 60
# Name of the value, and whether the server's core is busy.
WAYS = {"burst_lost": False, "burst_busy_lost": True}


def lost(output: str) -> float:
    """Of the output of burst_udp."""
    figures = rounds.parse_figures(output)
    return figures["sent"] - figures["answers"]


def _burst(bed: Bed, server: servers.Server) -> float:
    command = ["taskset", "-c", str(servers.GENERATOR_CORE), str(bed.tools / "burst_udp"), f"-size={SIZE}"]
    command += [f"-server=127.0.0.1:{server.port}", f"-questions={bed.questions['a']}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode != 0 or not server.program.is_running():
        server.program.fail(f"could not be measured: {done.stderr}")
    return lost(done.stdout)


def _spin() -> subprocess.Popen:
    """At the servers' core, with their priority."""
    return subprocess.Popen(["taskset", "-c", str(servers.SERVER_CORE), "sh", "-c", "while :; do :; done"])


def measure(bed: Bed, count: int, kinds: list[servers.Kind], values: dict) -> None:
    """The median of so many rounds, for each server that answers over UDP."""
    left_out = (servers.BARE_TCP, servers.SKYDNS_OWN, servers.GDNSD_ANY)
    started = [bed.start(kind) for kind in kinds if kind.name not in left_out]
    losses: dict[str, list[float]] = {}
    for _ in range(count):
        for way, is_busy in WAYS.items():
            spinning = _spin() if is_busy else None
            try:
                for one in started:
                    losses.setdefault(f"{way}.{one.name}", []).append(_burst(bed, one))
            finally:
                if spinning:
                    spinning.kill()
                    spinning.wait()
    values |= {name: statistics.median(counts) for name, counts in losses.items()}
    for one in started:
        one.program.kill()

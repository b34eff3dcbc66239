"""Rounds: every server under the same load, one after the other, each compared with the bare responder.

A pattern is one way of sending queries. Within a round the bare responder runs before and after the others, whose
order rotates by one from round to round: each figure is compared with the bare responder's of the same round, since
the machine itself may be faster or slower half an hour later.
"""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from answers import data
from answers.servers import (
    BARE_TCP,
    BARE_TLS,
    BARE_SIGNED,
    BARE_UDP,
    GDNSD_ANY,
    GENERATOR_CORE,
    SKYDNS,
    SKYDNS_ANY,
    SKYDNS_OWN,
    SKYDNS_SEARCH,
    WITHOUT_NXDOMAIN,
    WITHOUT_SERVICES,
    Server,
    is_bare,
)

WARM_UP_MS = 300
# The generator spins: with less CPU time than this share, neither it nor the load was running.
GENERATOR_USED_LEAST = 0.85
# Allowed deviation from the shares of a mix: a run may end anywhere within it.
MIX_TOLERANCE = 0.03
LATENCY_RATE = 20_000
STARVED = "generator starved"

_GENERATORS = {"udp": "load_udp", "tcp": "load_tcp", "tls": "load_tls", "https": "load_tls"}
# HTTPS is compared with what TLS alone costs.
_BARE = {"udp": BARE_UDP, "tcp": BARE_TCP, "tls": BARE_TLS, "https": BARE_TLS}


@dataclass(frozen=True)
class Pattern:
    name: str
    title: str
    mix: str
    flags: tuple[str, ...]
    transport: str = "udp"
    is_latency: bool = False  # its cost is meaningless
    resumed: bool | None = None  # whether connections must resume a session; None: not looked at
    is_signed: bool = False  # clients want signatures

    @property
    def bare(self) -> str:
        return BARE_SIGNED if self.is_signed else _BARE[self.transport]

    @property
    def generator(self) -> str:
        return _GENERATORS[self.transport]

    def transport_to(self, server: str) -> str:
        return "tls" if server == BARE_TLS else self.transport

    def flags_to(self, server: str) -> tuple[str, ...]:
        return (*self.flags, "-protocol=doh") if self.transport_to(server) == "https" else self.flags


_UDP_FLAGS = ("-sockets=4", "-window=48", "-batch=32")
_TCP_FLAGS = ("-connections=16", "-in-flight=20")
UDP_PATTERNS = [Pattern(mix.name, f"UDP, {mix.title}", mix.name, _UDP_FLAGS) for mix in data.MIXES]
TCP_PATTERNS = [
    Pattern("tcp-many", "TCP, 20 in flight on 16 connections", "a", _TCP_FLAGS, "tcp"),
    Pattern("tcp-one", "TCP, one at a time on 64 connections", "a", ("-connections=64",), "tcp"),
    Pattern("tcp-each", "TCP, one per connection", "a", ("-connections=32", "-per-connection=1"), "tcp"),
]
LATENCY_PATTERN = Pattern(
    "latency",
    f"UDP, A, {LATENCY_RATE:,} a second",
    "a",
    ("-sockets=4", "-window=1000", "-batch=16", f"-rate={LATENCY_RATE}"),
    is_latency=True,
)
# Of other domains' names, which the servers keep.
KEPT_PATTERNS = [
    *(Pattern(mix.name, f"UDP, {mix.title}", mix.name, _UDP_FLAGS) for mix in data.FOREIGN_MIXES),
    Pattern("search", f"UDP, {data.SEARCH_MIX.title}", "search", _UDP_FLAGS),
    Pattern("kept-tcp", "TCP, foreign names, 20 in flight on 16 connections", "kept", _TCP_FLAGS, "tcp"),
]
_EACH_FLAGS = ("-connections=32", "-per-connection=1")
TLS_PATTERNS = [
    Pattern("tls-many", "TLS, 20 in flight on 64 connections", "a", ("-connections=64", "-in-flight=20"), "tls"),
    Pattern("tls-one", "TLS, one at a time on 64 connections", "a", ("-connections=64",), "tls"),
    Pattern("https-many", "HTTPS, 20 in flight on 64 connections", "a", ("-connections=64", "-in-flight=20"), "https"),
    Pattern("https-one", "HTTPS, one at a time on 64 connections", "a", ("-connections=64",), "https"),
    Pattern("tls-full", "TLS, one per connection", "a", _EACH_FLAGS, "tls", resumed=False),
    Pattern("tls-resumed", "TLS, one per resumed connection", "a", (*_EACH_FLAGS, "-resume"), "tls", resumed=True),
    Pattern("https-full", "HTTPS, one per connection", "a", _EACH_FLAGS, "https", resumed=False),
]
# To servers with a key. In the first, clients do not want signatures.
UNSIGNED_PATTERN = Pattern("unsigned", "UDP, A without DO", "a", _UDP_FLAGS)
SIGNED_PATTERNS = [
    UNSIGNED_PATTERN,
    Pattern("signed", "UDP, A with DO", "a", (*_UDP_FLAGS, "-dnssec"), is_signed=True),
    Pattern("signed-nxdomain", "UDP, NXDOMAIN with DO", "nxdomain", (*_UDP_FLAGS, "-dnssec"), is_signed=True),
]
# Of names with so many addresses: their A, of which as many as fit are in a reply, and AAAA, of which there are none.
LARGE_PATTERNS = [
    Pattern(mix.name, f"UDP, {mix.title}", mix.name, (*_UDP_FLAGS, "-edns")) for mix in data.LARGE_MIXES
]
PATTERNS = {
    one.name: one
    for one in [*UDP_PATTERNS, *TCP_PATTERNS, LATENCY_PATTERN, *KEPT_PATTERNS, *TLS_PATTERNS, *SIGNED_PATTERNS, *LARGE_PATTERNS]
}


def parse_figures(output: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


def faults(figures: dict[str, float], mix: data.Mix | None, resumed: bool | None = None) -> list[str]:
    """Why this run must be ignored, empty if valid. mix: the expected answers; None for the bare responder. resumed:
    Pattern's.
    """
    found = []
    if figures["generator_used"] < GENERATOR_USED_LEAST:
        found.append(STARVED)
    found += [name for name in ("lost", "errors") if figures[name]]
    for name in ("records", "nodata", "nxdomain", "others") if mix else ():
        part = figures[name] / max(figures["answers"], 1)
        if abs(part - getattr(mix, name, 0.0)) > MIX_TOLERANCE:
            found.append("wrong answers")
            break
    if resumed is not None:
        part = figures["resumed"] / max(figures["connections"], 1)
        if abs(part - resumed) > MIX_TOLERANCE:
            found.append("resumed" if part else "not resumed")
    return found


def expected(pattern: Pattern, server: Server) -> data.Mix | None:
    """The answers of this server; None: any."""
    mix = data.mix(pattern.mix)
    if server.name == pattern.bare:
        return None
    if pattern.is_signed and server.name in WITHOUT_NXDOMAIN:
        return replace(mix, nodata=mix.nodata + mix.nxdomain, nxdomain=0.0)
    return mix


@dataclass(frozen=True)
class Generator:
    """How to run the load generator."""

    tools: Path  # the folder of the generators
    questions: dict[str, Path]  # by mix
    seconds: float
    cores: str = str(GENERATOR_CORE)

    def run(self, pattern: Pattern, server: Server) -> dict:
        """The figures, and their faults. Retried once if the machine was busy elsewhere."""
        mix = expected(pattern, server)
        for _ in range(2):
            figures = self._figures(pattern, server)
            found = faults(figures, mix, pattern.resumed)
            if STARVED not in found:
                break
        return {"pattern": pattern.name, "server": server.name, "figures": figures, "faults": found}

    def _figures(self, pattern: Pattern, server: Server) -> dict[str, float]:
        program, port = str(self.tools / pattern.generator), server.port_of(pattern.transport_to(server.name))
        command = ["taskset", "-c", self.cores, program, f"-server=127.0.0.1:{port}"]
        command += [f"-questions={self.questions[pattern.mix]}", f"-pids={','.join(map(str, server.pids()))}"]
        command += [f"-run={round(self.seconds * 1000)}ms", f"-warm-up={WARM_UP_MS}ms"]
        command += pattern.flags_to(server.name)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 + self.seconds)
        if done.returncode != 0 or not server.program.is_running():
            server.program.fail(f"could not be measured: {done.stderr}")
        return parse_figures(done.stdout)


def names(patterns: list[Pattern]) -> list[str]:
    return [pattern.name for pattern in patterns]


def order(servers: list[Server], pattern: Pattern, number: int) -> list[Server]:
    """The order in a round: the bare responder, the others, rotated by the round's number, the bare responder again."""
    bare = [one for one in servers if one.name == pattern.bare]
    others = [one for one in servers if not is_bare(one.name) and one.port_of(pattern.transport)]
    others = [one for one in others if (one.name == SKYDNS_SEARCH) == (pattern.mix == "search")]
    if pattern.mix == "kept-kubernetes":
        others = [one for one in others if one.name not in WITHOUT_SERVICES]
    if pattern.is_signed:
        others = [one for one in others if one.name != SKYDNS]  # it has no key
    if pattern.transport != "udp":  # for a connection the address makes no difference, nor do 20 ns
        others = [one for one in others if one.name not in (SKYDNS_ANY, SKYDNS_OWN, GDNSD_ANY)]
    turn = number % len(others) if others else 0
    return bare + others[turn:] + others[:turn] + bare


def run_rounds(
    one_run: Callable[[Pattern, Server], dict],
    servers: list[Server],
    patterns: list[Pattern],
    rounds: int,
    services: int,
) -> list[dict]:
    """All runs, each with its number of Services and round."""
    runs = []
    for number in range(rounds):
        for pattern in patterns:
            for server in order(servers, pattern, number):
                runs.append({"services": services, "round": number, **one_run(pattern, server)})
    return runs

"""From runs to figures: medians over the rounds, ratios to the bare responder, which figures to trust, and the
goals. Pure.
"""

import statistics
from collections import Counter
from dataclasses import dataclass

from answers import bursts, data
from answers.rounds import KEPT_PATTERNS, PATTERNS, SIGNED_PATTERNS, TCP_PATTERNS, TLS_PATTERNS, UDP_PATTERNS, Pattern
from answers.servers import BARE_HTTPS, GDNSD_ANY, SKYDNS, SKYDNS_ANY, SKYDNS_OWN, SKYDNS_SEARCH, SKYDNS_SIGNING, TITLES
from measuring import BUSY_MAX, Figure

# The bare responder does the same in every round: allowed spread from its fastest to its slowest round.
BARE_SPREAD_MAX = 0.15
# With fewer usable rounds than this share, a figure is not judged.
USABLE_LEAST = 2 / 3


@dataclass(frozen=True)
class Cell:
    """One server under one pattern."""

    us: float  # CPU time per answer
    ratio: float  # relative to the bare responder's of the same round
    ratio_min: float
    ratio_max: float
    qps: float
    lost: float
    p50_us: float
    p99_us: float
    rounds: int
    left_out: int  # rounds with a fault

    @property
    def is_trusted(self) -> bool:
        return self.rounds - self.left_out >= USABLE_LEAST * self.rounds


@dataclass(frozen=True)
class Summary:
    cells: dict[tuple[int, str, str], Cell]  # by number of Services, pattern, server
    noise: list[str]  # why the machine is not to be trusted
    noisy: frozenset[tuple[int, str]]  # where: number of Services, pattern; all of them on a busy machine
    values: dict[str, float]  # what was measured once, by name
    is_busy: bool  # then nothing is to be trusted, the values neither

    def cell(self, services: int, pattern: str, server: str) -> Cell | None:
        return self.cells.get((services, pattern, server))

    def quiet_cell(self, services: int, pattern: str, server: str) -> Cell | None:
        """None, too, if the machine was not quiet enough for it, or for the bare responder that it is compared with."""
        cell, bare = (self.cell(services, pattern, name) for name in (server, PATTERNS[pattern].bare))
        if cell is None or (services, pattern) in self.noisy:
            return None
        return cell if cell.is_trusted and bare.is_trusted else None

    def counts(self) -> list[int]:
        return sorted({services for services, _, _ in self.cells})

    def servers(self, services: int, patterns: list[str]) -> list[str]:
        """In the order of TITLES."""
        seen = {server for count, pattern, server in self.cells if count == services and pattern in patterns}
        return [name for name in TITLES if name in seen]


def _usable(runs: list[dict]) -> list[dict]:
    """Runs without a fault, or all if none is: a doubtful figure is better than none."""
    return [run for run in runs if not run["faults"]] or runs


def _cell(runs: list[dict], bare_us: dict[int, float]) -> Cell:
    """bare_us: the bare responder's figure of each round."""
    used = _usable(runs)

    def median(name: str) -> float:
        return statistics.median(run["figures"][name] for run in used)

    ratios = [run["figures"]["server_us"] / bare_us[run["round"]] for run in used]
    left_out = {run["round"] for run in runs if run["faults"]}
    return Cell(
        us=median("server_us"),
        ratio=statistics.median(ratios),
        ratio_min=min(ratios),
        ratio_max=max(ratios),
        qps=median("qps"),
        lost=sum(run["figures"]["lost"] for run in runs),
        p50_us=median("p50_us"),
        p99_us=median("p99_us"),
        rounds=len({run["round"] for run in runs}),
        left_out=len(left_out),
    )


def summarise(runs: list[dict], values: dict[str, float], busy: float) -> Summary:
    """busy: the share of the machine that others used."""
    groups: dict[tuple[int, str], dict[str, list[dict]]] = {}
    for run in runs:
        servers = groups.setdefault((run["services"], run["pattern"]), {})
        servers.setdefault(run["server"], []).append(run)
    cells, noise, noisy = {}, [], set()
    is_busy = busy > BUSY_MAX
    if is_busy:
        noise.append(f"others used {busy:.0%} of the machine")
        noisy.update(groups)
    for (services, name), servers in groups.items():
        bare_us = _bare_by_round(servers[PATTERNS[name].bare])
        for server, of_server in servers.items():
            cells[services, name, server] = _cell(of_server, bare_us)
        reasons = _noise(PATTERNS[name], [run for of_server in servers.values() for run in of_server], bare_us)
        noise += [f"{PATTERNS[name].title}, {services:,} Services: {reason}" for reason in reasons]
        if reasons:
            noisy.add((services, name))
    return Summary(cells, noise, frozenset(noisy), values, is_busy)


def _noise(pattern: Pattern, runs: list[dict], bare_us: dict[int, float]) -> list[str]:
    """Why the rounds of one pattern cannot be trusted."""
    reasons = []
    spread = (max(bare_us.values()) - min(bare_us.values())) / statistics.median(bare_us.values())
    if spread > BARE_SPREAD_MAX and not pattern.is_latency:
        reasons.append(f"the bare responder differed by {spread:.0%} between rounds")
    faulty = [run for run in runs if run["faults"]]
    if len(faulty) > (1 - USABLE_LEAST) * len(runs):
        kinds = Counter(fault for run in faulty for fault in run["faults"])
        told = ", ".join(f"{kind} in {count}" for kind, count in kinds.most_common())
        reasons.append(f"of {len(runs)} runs {len(faulty)} are left out: {told}")
    return reasons


def _bare_by_round(runs: list[dict]) -> dict[int, float]:
    """The mean of its figures before and after the others."""
    rounds: dict[int, list[dict]] = {}
    for run in runs:
        rounds.setdefault(run["round"], []).append(run)
    return {
        number: statistics.mean(run["figures"]["server_us"] for run in _usable(of_round))
        for number, of_round in rounds.items()
    }


# ---- Goals ----


@dataclass(frozen=True)
class Goal:
    """The upper limit of a figure of skydns."""

    text: str
    most: float
    services: int = 0  # 0: any number
    pattern: str = ""  # whose ratio to the bare responder is limited
    value: str = ""  # a value's name instead of a pattern
    against: str = ""  # the ratio of this one to that of skydns instead
    of: str = ""  # skydns' ratio to that of this one instead
    of_pattern: str = ""  # the ratio to the same server's under this pattern instead
    server: str = SKYDNS
    digits: int = 2


_RATIOS = {"a": 1.15, "kubernetes": 1.12, "nxdomain": 1.10, "srv": 1.20}
_RATIO_100K = 1.25
_OWN_RATIO = 1.05
_SEARCH_RATIO = 1.4
# The first set as 0.4 µs, on a machine on which the bare responder takes 0.18; µs drift with the machine.
_TCP_RATIOS = {"tcp-many": 0.4 / 0.18, "tcp-one": 1.15}
_KEPT_RATIOS = {10_000: 1.25, 100_000: 1.35}
_TLS_RATIO = 1.3
_IDLE_KIB = 25
_SIGNED_RATIO = 1.5
_LARGE_RATIO = 2.0  # of names with fewest addresses of all large ones
_UNSIGNED_RATIO = 1.01  # of skydns with a key to that without, where nobody asks for signatures


def _least(mix: data.Mix) -> str:
    """The mix of the same type of names with fewest addresses."""
    return data.LARGE_MIXES[0 if mix.records else len(data.LARGE_SIZES)].name


RIVALS = ("gdnsd", "nsd", "knot")
BURST_RIVALS = ("gdnsd", "nsd", "knot", "unbound")
KEPT_RIVALS = ("unbound", "dnsmasq", "dnsdist", "coredns")
SIGNING_RIVALS = ("knot-signing", "coredns-signing")
TLS_RIVALS = ("nsd", "unbound", "bind", "dnsdist", "coredns")

GOALS = [
    *(Goal(f"{PATTERNS[name].title}, of the bare responder", most, 10_000, name) for name, most in _RATIOS.items()),
    *(Goal(f"{PATTERNS[name].title}, of the bare responder", _RATIO_100K, 100_000, name) for name in _RATIOS),
    *(Goal(f"{PATTERNS[name].title}, of the bare responder", most, 10_000, name) for name, most in _TCP_RATIOS.items()),
    *(
        Goal(f"{PATTERNS[name].title} with -visibility=own, of that without", _OWN_RATIO, 10_000, name, against=SKYDNS_OWN)
        for name in _RATIOS
    ),
    Goal("MiB resident", 20, 10_000, value="resident_mib.10000", digits=1),
    Goal("MiB resident", 120, 100_000, value="resident_mib.100000", digits=1),
    Goal("s from start until ready", 1.0, 100_000, value="start_s.100000"),
    Goal("ms from etcd's acknowledgement to the first right answer, p50", 1.0, value="propagation_p50_ms"),
    Goal("ms from etcd's acknowledgement to the first right answer, p99", 3.0, value="propagation_p99_ms"),
    Goal("MiB for 10,000 idle TCP connections", 32, value="idle_mib", digits=1),
    Goal("reads of etcd that all those questions caused", 0, value="etcd_reads", digits=0),
    *(Goal(f"{PATTERNS['kept'].title}, of the bare responder", _KEPT_RATIOS[n], n, "kept") for n in _KEPT_RATIOS),
    Goal(f"{PATTERNS['search'].title}, of the bare responder", _SEARCH_RATIO, 10_000, "search", server=SKYDNS_SEARCH),
    *(Goal(f"{one.title}, of the bare TLS responder", _TLS_RATIO, 10_000, one.name) for one in TLS_PATTERNS),
    # How much of that is HTTP/2's: where many answers share a record, it takes several times as much as TLS.
    *(
        Goal(f"{one.title}, of the bare HTTPS responder", _TLS_RATIO, 10_000, one.name, of=BARE_HTTPS)
        for one in TLS_PATTERNS
        if one.transport == "https"
    ),
    Goal("KiB for each of 10,000 idle TLS connections", _IDLE_KIB, value="idle_tls_kib", digits=1),
    Goal("KiB for each of 10,000 idle HTTPS connections", _IDLE_KIB, value="idle_https_kib", digits=1),
    Goal("ms more over UDP during 500 handshakes/s, p99", 0.2, value="handshakes_p99_more_ms"),
    Goal(
        "UDP, A without DO, with a key, of that without",
        _UNSIGNED_RATIO,
        10_000,
        "unsigned",
        against=SKYDNS_SIGNING,
        digits=3,
    ),
    Goal("UDP, A with DO, of the bare responder", _SIGNED_RATIO, 10_000, "signed", server=SKYDNS_SIGNING),
    Goal("µs for a kept signature", 1.0, value="kept_signature_us"),
    Goal("µs for making a signature, algorithm 13", 40, value="signing_us.13", digits=1),
    Goal("ms more for signed existing names during 5,000 random ones/s, p99", 1.0, value="random_p99_more_ms"),
    Goal("MiB more after those", 8, value="random_mib_more", digits=1),
    *(
        Goal(f"UDP, {mix.title}, of that of {data.LARGE_SIZES[0]}", _LARGE_RATIO, pattern=mix.name, of_pattern=_least(mix))
        for mix in data.LARGE_MIXES
        if mix.name != _least(mix)
    ),
    Goal("questions to the nameserver about names that are kept", 0, value="kept_asked", digits=0),
    Goal("MiB that the cache adds, at the default, with the largest replies", 16, value="kept_memory_mib", digits=1),
]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    text: str
    figure: Figure  # its goal
    value: float
    digits: int
    is_trusted: bool

    @property
    def is_missed(self) -> bool:
        return self.figure.is_missed(self.value)


def _measured(goal: Goal, summary: Summary) -> tuple[float, bool] | None:
    if goal.value:
        value = summary.values.get(goal.value)
        return None if value is None else (value, True)
    services = goal.services or min(summary.counts(), default=0)
    cell = summary.cell(services, goal.pattern, goal.server)
    name = goal.against or goal.of or (goal.server if goal.of_pattern else "")
    other = summary.cell(services, goal.of_pattern or goal.pattern, name) if name else None
    if cell is None or (name and other is None):
        return None
    if other is None:
        return cell.ratio, cell.is_trusted
    ratio = cell.ratio / other.ratio if goal.of or goal.of_pattern else other.ratio / cell.ratio
    return ratio, cell.is_trusted and other.is_trusted


def judge(summary: Summary) -> list[Verdict]:
    """A verdict for every goal that has a figure."""
    verdicts = []
    for goal in GOALS:
        measured = _measured(goal, summary)
        if measured is not None:
            text = goal.text + (f", {goal.services:,} Services" if goal.services else "")
            verdicts.append(Verdict(text, Figure(text, "", goal.most), measured[0], goal.digits, measured[1]))
    return verdicts + _against_rivals(summary) + _bursts(summary)


def _bursts(summary: Summary) -> list[Verdict]:
    """skydns must not lose more queries of a burst than the server that loses fewest."""
    verdicts = []
    for way, is_busy in bursts.WAYS.items():
        ours = summary.values.get(f"{way}.{SKYDNS}")
        theirs = {name: summary.values[f"{way}.{name}"] for name in BURST_RIVALS if f"{way}.{name}" in summary.values}
        if ours is not None and theirs:
            best = min(theirs, key=theirs.get)
            text = f"queries lost of a burst of {bursts.SIZE:,}{', core busy' * is_busy}, no more than {TITLES[best]}"
            verdicts.append(Verdict(text, Figure(text, "", theirs[best]), ours, 0, True))
    return verdicts


def _against_rivals(summary: Summary) -> list[Verdict]:
    """skydns must be below the best other server in every column over UDP and TLS, and of foreign names; with one
    connection per question not above gdnsd, and no more with wildcard sockets of both.
    """
    verdicts = []
    for services in summary.counts():
        columns = [(pattern, SKYDNS, RIVALS) for pattern in UDP_PATTERNS]
        columns += [(pattern, SKYDNS_ANY, (GDNSD_ANY,)) for pattern in UDP_PATTERNS]
        columns += [(pattern, SKYDNS, ("gdnsd",)) for pattern in TCP_PATTERNS if pattern.name == "tcp-each"]
        columns += [(pattern, SKYDNS, KEPT_RIVALS) for pattern in KEPT_PATTERNS]
        columns += [(pattern, SKYDNS, TLS_RIVALS) for pattern in TLS_PATTERNS]
        columns += [(pattern, SKYDNS_SIGNING, SIGNING_RIVALS) for pattern in SIGNED_PATTERNS]
        for pattern, our_name, names in columns:
            ours = summary.cell(services, pattern.name, our_name)
            rivals = {name: summary.cell(services, pattern.name, name) for name in names}
            theirs = {name: cell for name, cell in rivals.items() if cell}
            if ours and theirs:
                best = min(theirs, key=lambda name: theirs[name].ratio)
                whose = "" if our_name != SKYDNS_ANY else ", on 0.0.0.0"
                text = f"{pattern.title}{whose}, {services:,} Services, no more than {TITLES[best]}, of the bare responder"
                is_trusted = ours.is_trusted and theirs[best].is_trusted
                verdicts.append(Verdict(text, Figure(text, "", theirs[best].ratio), ours.ratio, 2, is_trusted))
    return verdicts

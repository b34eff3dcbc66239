"""What was measured, for people: the report on the terminal, the tables of the documents, the plot. Pure."""

from answers import plot
from answers.rounds import KEPT_PATTERNS, LATENCY_PATTERN, PATTERNS, SIGNED_PATTERNS, TCP_PATTERNS, TLS_PATTERNS, UDP_PATTERNS
from answers.servers import BARE_UDP, SKYDNS, SKYDNS_ANY, SKYDNS_OWN, SKYDNS_SEARCH, TITLES, is_bare
from answers.summary import Cell, Summary, Verdict

_UDP = [pattern.name for pattern in UDP_PATTERNS]
_TCP = [pattern.name for pattern in TCP_PATTERNS]
_TLS = [pattern.name for pattern in TLS_PATTERNS]
_SIGNED = [pattern.name for pattern in SIGNED_PATTERNS]
_KEPT = [pattern.name for pattern in KEPT_PATTERNS]
_COLORS = {SKYDNS: "#1b6ac9", SKYDNS_ANY: "#7fb0ea", SKYDNS_OWN: "#7fb0ea", SKYDNS_SEARCH: "#7fb0ea"}
_OTHER_COLOR = "#a9a9a9"
# Longer bars are cut, so that the short ones remain distinguishable.
_PLOT_MOST = 3.0


# ---- On the terminal ----


def _pattern_lines(summary: Summary, services: int, pattern: str) -> list[str]:
    title = PATTERNS[pattern].title
    lines = ["", f"{title}, {services:,} Services"]
    lines.append(f"  {'':20} {'µs/query':>9} {'ratio':>6} {'min':>6} {'max':>6} {'queries/s':>10} {'lost':>6} {'rounds':>7}")
    for server in summary.servers(services, [pattern]):
        cell = summary.cell(services, pattern, server)
        rounds = f"{cell.rounds - cell.left_out}/{cell.rounds}"
        lines.append(
            f"  {TITLES[server]:20} {cell.us:9.3f} {cell.ratio:6.2f} {cell.ratio_min:6.2f} {cell.ratio_max:6.2f} "
            f"{cell.qps:10,.0f} {cell.lost:6.0f} {rounds:>7}{'' if cell.is_trusted else ' ?'}"
        )
    return lines


def _latency_lines(summary: Summary, services: int) -> list[str]:
    servers = summary.servers(services, [LATENCY_PATTERN.name])
    lines = ["", f"{LATENCY_PATTERN.title}: latency, {services:,} Services"] if servers else []
    for server in servers:
        cell = summary.cell(services, LATENCY_PATTERN.name, server)
        lines.append(f"  {TITLES[server]:20} p50 {cell.p50_us:7.1f} µs, p99 {cell.p99_us:8.1f} µs, lost {cell.lost:.0f}")
    return lines


def _verdict_line(verdict: Verdict) -> str:
    judged = "MISSED" if verdict.is_missed else "met"
    doubt = "" if verdict.is_trusted else " ?"
    goal = f"{verdict.figure.goal:.{verdict.digits}f}"
    return f"  {verdict.value:9.{verdict.digits}f} {'<= ' + goal:>9}  {judged:6}  {verdict.text}{doubt}"


def text(summary: Summary, verdicts: list[Verdict], head: str) -> str:
    lines = [head]
    for services in summary.counts():
        for pattern in [*_UDP, *_TCP, *_TLS, *_KEPT, *_SIGNED]:
            if summary.servers(services, [pattern]):
                lines += _pattern_lines(summary, services, pattern)
        lines += _latency_lines(summary, services)
    lines += ["", "Measured once"]
    told = [(name, value) for name, value in sorted(summary.values.items()) if not is_bare(name.rpartition(".")[2])]
    lines += [f"  {value:12.3f}  {name}" for name, value in told]
    lines += ["", "Goals"] + [_verdict_line(verdict) for verdict in verdicts]
    lines += [f"{sum(verdict.is_missed for verdict in verdicts)} of {len(verdicts)} goals missed", ""]
    if summary.noise:
        lines += ["TOO NOISY to trust (?: too few usable rounds):"] + [f"  {reason}" for reason in summary.noise]
    else:
        lines += ["The machine was quiet."]
    return "\n".join(lines) + "\n"


# ---- For the documents: `?` marks a noisy column, or a figure with too few usable rounds ----


def _markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _bold(cells: list[str], is_bold: bool) -> list[str]:
    return [f"**{cell}**" if is_bold and cell != "–" else cell for cell in cells]


def _column(pattern: str) -> str:
    """Its title without the protocol, which is in the table's header."""
    return PATTERNS[pattern].title.partition(", ")[2]


def _head(summary: Summary, counts: list[int], pattern: str) -> str:
    return _column(pattern) + " ?" * any((services, pattern) in summary.noisy for services in counts)


def _ratio_text(cell: Cell | None, server: str) -> str:
    if cell is None:
        return "–"
    doubt = "" if cell.is_trusted else "?"
    return f"{cell.us:.2f} µs" if is_bare(server) else f"{cell.ratio:.2f}{doubt}"


def _memory_mib(summary: Summary, services: int, server: str, value: str = "resident_mib") -> str:
    resident = summary.values.get(f"{value}.{services}.{server}")
    return "–" if resident is None or is_bare(server) else f"{resident:.0f}"


def _udp_table(summary: Summary, services: int) -> list[str]:
    rows = []
    for server in summary.servers(services, _UDP):
        cells = [_ratio_text(summary.cell(services, pattern, server), server) for pattern in _UDP]
        cells.append(_memory_mib(summary, services, server))
        rows.append(_bold([TITLES[server], *cells], server == SKYDNS))
    heads = [_head(summary, [services], pattern) for pattern in _UDP]
    head = [f"UDP, {services:,} Services", *heads, "memory, MiB"]
    return ["", *_markdown_table(head, rows)] if rows else []


def _ratio_table(summary: Summary, services: int, title: str, patterns: list[str], memory: str) -> list[str]:
    """Of patterns over several transports. memory: the name of the value."""
    rows = []
    for server in summary.servers(services, patterns):
        cells = [_ratio_text(summary.cell(services, pattern, server), server) for pattern in patterns]
        cells.append(_memory_mib(summary, services, server, memory))
        rows.append(_bold([TITLES[server], *cells], server == SKYDNS))
    heads = [PATTERNS[pattern].title + " ?" * ((services, pattern) in summary.noisy) for pattern in patterns]
    return ["", *_markdown_table([title, *heads, "memory, MiB"], rows)] if rows else []


def _tcp_table(summary: Summary, services: int) -> list[str]:
    rows = []
    for server in summary.servers(services, _TCP):
        cells = []
        for pattern in _TCP:
            cell = summary.cell(services, pattern, server)
            cells.append("–" if cell is None else f"{cell.us:.2f} µs{'' if cell.is_trusted else '?'}")
        rows.append(_bold([TITLES[server], *cells], server == SKYDNS))
    head = ["TCP", *(_head(summary, [services], pattern) for pattern in _TCP)]
    return ["", *_markdown_table(head, rows)] if rows else []


# Name of a value: its row, and how it is printed.
_VALUES = {
    "start_s.100000": ("skydns start with 100,000 Services in etcd, until ready", "{:.2f} s"),
    "read_s.100000": ("reading the same 300,000 keys from etcd alone", "{:.2f} s"),
    "propagation_p50_ms": ("etcd acknowledges a change → first right answer, p50", "{:.2f} ms"),
    "propagation_p99_ms": ("the same, p99", "{:.2f} ms"),
    "idle_mib": ("10,000 idle TCP connections", "{:.1f} MiB"),
    "idle_tls_kib": ("each of 10,000 idle TLS connections", "{:.1f} KiB"),
    "idle_https_kib": ("each of 10,000 idle HTTPS connections", "{:.1f} KiB"),
    "handshakes_p99_idle_ms": ("UDP latency, p99", "{:.2f} ms"),
    "handshakes_p99_ms": ("the same during 500 TLS handshakes a second", "{:.2f} ms"),
    "kept_signature_us": ("a kept signature, beyond what the longer reply costs the bare responder", "{:.2f} µs"),
    "signing_us.13": ("making a signature, algorithm 13 (ECDSA P-256)", "{:.1f} µs"),
    "signing_per_s.13": ("such signatures per second of a core", "{:,.0f}"),
    "openssl_per_s.13": ("the same by `openssl speed`", "{:,.0f}"),
    "signing_per_s.15": ("algorithm 15 (Ed25519)", "{:,.0f}"),
    "openssl_per_s.15": ("the same by `openssl speed`", "{:,.0f}"),
    "signing_per_s.8": ("algorithm 8 (RSA, 2048 bits)", "{:,.0f}"),
    "openssl_per_s.8": ("the same by `openssl speed`", "{:,.0f}"),
    "random_p99_idle_ms": ("UDP latency of signed existing names, p99", "{:.2f} ms"),
    "random_p99_ms": ("the same during 5,000 random names a second", "{:.2f} ms"),
    "random_mib_more": ("memory that those names add", "{:.1f} MiB"),
    "dnsperf_qps": ("dnsperf, A mix", "{:,.0f} queries/s"),
    "dnsperf_lost": ("queries that dnsperf lost", "{:.0f}"),
    "two_workers": ("answers per second of CPU time, two workers to one", "{:.2f}"),
    "kept_memory_mib": ("memory of the cache at the default, with the largest replies", "{:.1f} MiB"),
    "etcd_reads": ("reads of etcd during all of this", "{:.0f}"),
}


def markdown(summary: Summary, head: str) -> str:
    """All figures, for tests/bench/README.md."""
    lines = [head]
    for services in summary.counts():
        lines += _udp_table(summary, services)
    for services in summary.counts():
        lines += _tcp_table(summary, services)
    for services in summary.counts():
        lines += _ratio_table(summary, services, f"TLS, {services:,} Services", _TLS, "tls_mib")
    for services in summary.counts():
        lines += _ratio_table(summary, services, f"{services:,} names kept", _KEPT, "kept_mib")
    for services in summary.counts():
        lines += _ratio_table(summary, services, f"DNSSEC, {services:,} Services", _SIGNED, "signed_mib")
    rows = [[title, form.format(summary.values[name])] for name, (title, form) in _VALUES.items() if name in summary.values]
    lines += ["", *_markdown_table(["skydns", "figure"], rows)] if rows else []
    return "\n".join(lines) + "\n"


def compact(summary: Summary, head: str) -> str:
    """UDP alone, all numbers of Services in one table, for README.md. Empty when UDP was not measured."""
    counts = [services for services in summary.counts() if summary.servers(services, _UDP)]
    if not counts:
        return ""
    measured = {server for services in counts for server in summary.servers(services, _UDP)} - {SKYDNS_ANY, SKYDNS_OWN}
    rows = []
    for server in (name for name in TITLES if name in measured):
        cells = [
            " / ".join(_ratio_text(summary.cell(services, pattern, server), server) for services in counts)
            for pattern in _UDP
        ]
        cells.append("–" if is_bare(server) else " / ".join(_memory_mib(summary, services, server) for services in counts))
        rows.append(_bold([TITLES[server], *cells], server == SKYDNS))
    title = " / ".join(f"{services:,}" for services in counts) + " Services"
    table = [title, *(_head(summary, counts, pattern) for pattern in _UDP), "memory, MiB"]
    return "\n".join([head, "", *_markdown_table(table, rows)]) + "\n"


def _plot_bars(summary: Summary, services: int, pattern: str) -> list[plot.Bar]:
    bars = []
    for server in summary.servers(services, [pattern]):
        cell = summary.cell(services, pattern, server)
        if not is_bare(server):
            bars.append(plot.Bar(TITLES[server], cell.ratio, _COLORS.get(server, _OTHER_COLOR)))
    return bars


def svg(summary: Summary, machine: str) -> str:
    """A plot of UDP with the smallest number of Services; the tables have all results."""
    groups = []
    for services in summary.counts()[:1]:
        for pattern in _UDP:
            bars = _plot_bars(summary, services, pattern)
            if bars:
                groups.append(plot.Group(_column(pattern), bars))
    title = f"CPU time per answer over UDP, as a multiple of the {TITLES[BARE_UDP]}'s"
    counts = "".join(f"{services:,} Services; " for services in summary.counts()[:1])
    return plot.bars(title, f"{counts}{machine}. Dashed: the {TITLES[BARE_UDP]}", groups, _PLOT_MOST, 1.0)

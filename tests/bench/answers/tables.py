"""What the documents show of the results: their tables and the plot. Only what a quiet machine measured is shown, by
the benchmark's own test (summary.noisy, Cell.is_trusted); a line below each table says what is missing. Pure.
"""

from collections.abc import Callable

from answers import bursts, plot
from answers.rounds import (
    KEPT_PATTERNS,
    LARGE_PATTERNS,
    PATTERNS,
    SIGNED_PATTERNS,
    TCP_PATTERNS,
    TLS_PATTERNS,
    UDP_PATTERNS,
    names,
)
from answers.servers import (
    BARE_UDP,
    GDNSD_ANY,
    SKYDNS,
    SKYDNS_ANY,
    SKYDNS_OWN,
    SKYDNS_SEARCH,
    SKYDNS_SIGNING,
    TITLES,
    is_bare,
)
from answers.summary import Cell, Summary

_UDP, _TCP, _TLS = names(UDP_PATTERNS), names(TCP_PATTERNS), names(TLS_PATTERNS)
_SIGNED, _LARGE, _KEPT = names(SIGNED_PATTERNS), names(LARGE_PATTERNS), names(KEPT_PATTERNS)
_COLORS = {SKYDNS: "#1b6ac9", SKYDNS_ANY: "#7fb0ea", SKYDNS_OWN: "#7fb0ea", SKYDNS_SEARCH: "#7fb0ea"}
_OTHER_COLOR = "#a9a9a9"
# Longer bars are cut, so that the short ones remain distinguishable.
_PLOT_MOST = 3.0
_NONE = "–"
# Of the README's table, which is for those who compare servers.
_LEFT_OUT = {SKYDNS_ANY, SKYDNS_OWN, GDNSD_ANY}


def _markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _row(server: str, cells: list[str], versions: dict[str, str]) -> list[str]:
    row = [" ".join(filter(None, [TITLES[server], versions.get(server)])), *cells]
    return [f"**{cell}**" if server == SKYDNS and cell != _NONE else cell for cell in row]


def _title(pattern: str) -> str:
    return PATTERNS[pattern].title


def _column(pattern: str) -> str:
    """Its title without the protocol, which is in the table's header."""
    return _title(pattern).partition(", ")[2]


def _ratio_text(cell: Cell | None, server: str) -> str:
    if cell is None:
        return _NONE
    return f"{cell.us:.2f} µs" if is_bare(server) else f"{cell.ratio:.2f}"


def _us_text(cell: Cell | None, _server: str) -> str:
    return _NONE if cell is None else f"{cell.us:.2f} µs"


def _memory_mib(summary: Summary, services: int, server: str, value: str = "resident_mib") -> str:
    resident = summary.values.get(f"{value}.{services}.{server}")
    return _NONE if resident is None or is_bare(server) or summary.is_busy else f"{resident:.0f}"


def _has_figures(summary: Summary, services: int, patterns: list[str], servers: list[str]) -> bool:
    """Of others than the bare responders, which say nothing alone."""
    cells = (summary.quiet_cell(services, name, server) for name in patterns for server in servers if not is_bare(server))
    return any(cells)


def _missing(
    summary: Summary, counts: list[int], patterns: list[str], servers: list[str], title: Callable[[str], str]
) -> str:
    """Names the columns, or single figures of them, that were measured on a machine too noisy for them; "" if none."""
    missing = []
    for pattern in patterns:
        for services in counts:
            measured = [name for name in summary.servers(services, [pattern]) if name in servers]
            noisy = [name for name in measured if not summary.quiet_cell(services, pattern, name)]
            whose = "" if noisy == measured else " of " + " and ".join(TITLES[name] for name in noisy)
            if noisy:
                missing.append(title(pattern) + whose + f" ({services:,} Services)" * (len(counts) > 1))
    return f"This machine could not measure quietly: {', '.join(missing)}." if missing else ""


def _table(
    summary: Summary,
    services: int,
    head: str,
    patterns: list[str],
    versions: dict[str, str],
    *,
    title: Callable[[str], str] = _title,
    figure: Callable[[Cell | None, str], str] = _ratio_text,
    memory: str = "",
) -> list[str]:
    """memory: the name of the value; without one, the table has no such column. Only the line below, if there is not
    one figure.
    """
    servers = summary.servers(services, patterns)
    missing = _missing(summary, [services], patterns, servers, title)
    if not _has_figures(summary, services, patterns, servers):
        return ["", f"{head}: {missing}"] if missing else []
    rows = []
    for server in servers:
        cells = [figure(summary.quiet_cell(services, pattern, server), server) for pattern in patterns]
        cells += [_memory_mib(summary, services, server, memory)] if memory else []
        rows.append(_row(server, cells, versions))
    names = [head, *(title(pattern) for pattern in patterns), *(["memory, MiB"] if memory else [])]
    return ["", *_markdown_table(names, rows), *(["", missing] if missing else [])]


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
    "etcd_reads": ("reads of etcd that all of this caused", "{:.0f}"),
}
# Values that come from rounds: they need quiet ones.
_VALUE_PATTERNS = {"kept_signature_us": ("unsigned", "signed")}


def _bursts_table(summary: Summary, versions: dict[str, str]) -> list[str]:
    def lost(way: str, name: str) -> str:
        value = summary.values.get(f"{way}.{name}")
        return _NONE if value is None else f"{value:,.0f}"

    measured = [name for name in TITLES if f"burst_lost.{name}" in summary.values and not summary.is_busy]
    rows = [_row(name, [lost(way, name) for way in bursts.WAYS], versions) for name in measured]
    head = [f"queries lost of {bursts.SIZE:,} at once", "core idle", "core busy"]
    return ["", *_markdown_table(head, rows)] if rows else []


def _values_table(summary: Summary) -> list[str]:
    def is_quiet(name: str) -> bool:
        return not summary.is_busy and all(
            summary.quiet_cell(services, pattern, SKYDNS_SIGNING)
            for pattern in _VALUE_PATTERNS.get(name, ())
            for services in summary.counts()
            if summary.cell(services, pattern, SKYDNS_SIGNING)
        )

    told = {name: row for name, row in _VALUES.items() if name in summary.values}
    rows = [[title, form.format(summary.values[name])] for name, (title, form) in told.items() if is_quiet(name)]
    missing = [title for name, (title, _) in told.items() if not is_quiet(name)]
    lines = ["", *_markdown_table(["skydns", "figure"], rows)] if rows else []
    return [*lines, "", f"This machine could not measure quietly: {'; '.join(missing)}."] if missing else lines


def markdown(summary: Summary, head: str, versions: dict[str, str]) -> str:
    """All figures, for tests/bench/README.md. versions: of the servers that have one."""
    lines = [head]
    for services in summary.counts():
        udp = f"UDP, {services:,} Services"
        lines += _table(summary, services, udp, _UDP, versions, title=_column, memory="resident_mib")
    for services in summary.counts():
        lines += _table(summary, services, "TCP", _TCP, versions, title=_column, figure=_us_text)
    for services in summary.counts():
        lines += _table(summary, services, f"TLS, {services:,} Services", _TLS, versions, memory="tls_mib")
    for services in summary.counts():
        lines += _table(summary, services, f"{services:,} names kept", _KEPT, versions, memory="kept_mib")
    for services in summary.counts():
        lines += _table(summary, services, f"DNSSEC, {services:,} Services", _SIGNED, versions, memory="signed_mib")
    for services in summary.counts():
        lines += _table(summary, services, "Names with many addresses", _LARGE, versions, memory="large_mib")
    lines += _bursts_table(summary, versions)
    return "\n".join([*lines, *_values_table(summary)]) + "\n"


def _joined(cells: list[str]) -> str:
    """The same figure at each number of Services."""
    return _NONE if set(cells) == {_NONE} else " / ".join(cells)


def compact(summary: Summary, head: str, versions: dict[str, str]) -> str:
    """UDP alone, all numbers of Services in one table, for README.md. Empty without a quiet figure."""
    counts = [services for services in summary.counts() if summary.servers(services, _UDP)]
    measured = {server for services in counts for server in summary.servers(services, _UDP)} - _LEFT_OUT
    servers = [name for name in TITLES if name in measured]
    if not any(_has_figures(summary, services, _UDP, servers) for services in counts):
        return ""
    rows = []
    for server in servers:
        cells = [
            _joined([_ratio_text(summary.quiet_cell(services, pattern, server), server) for services in counts])
            for pattern in _UDP
        ]
        cells.append(_joined([_memory_mib(summary, services, server) for services in counts]))
        rows.append(_row(server, cells, versions))
    title = " / ".join(f"{services:,}" for services in counts) + " Services"
    table = _markdown_table([title, *(_column(pattern) for pattern in _UDP), "memory, MiB"], rows)
    missing = _missing(summary, counts, _UDP, servers, _column)
    return "\n".join([head, "", *table, *(["", missing] if missing else [])]) + "\n"


def _plot_bars(summary: Summary, services: int, pattern: str) -> list[plot.Bar]:
    bars = []
    for server in summary.servers(services, [pattern]):
        cell = summary.quiet_cell(services, pattern, server)
        if cell and not is_bare(server):
            bars.append(plot.Bar(TITLES[server], cell.ratio, _COLORS.get(server, _OTHER_COLOR)))
    return bars


def svg(summary: Summary, machine: str) -> str:
    """A plot of UDP with the smallest number of Services that has a quiet figure; the tables have all results. Empty
    without one.
    """
    for services in summary.counts():
        groups = [plot.Group(_column(pattern), _plot_bars(summary, services, pattern)) for pattern in _UDP]
        groups = [group for group in groups if group.bars]
        if groups:
            title = f"CPU time per answer over UDP, as a multiple of the {TITLES[BARE_UDP]}'s"
            subtitle = f"{services:,} Services; {machine}. Dashed: the {TITLES[BARE_UDP]}"
            return plot.bars(title, subtitle, groups, _PLOT_MOST, 1.0)
    return ""

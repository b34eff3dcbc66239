"""What was measured, quietly or not: the report on the terminal. Pure."""

from answers.rounds import (
    KEPT_PATTERNS,
    LARGE_PATTERNS,
    LATENCY_PATTERN,
    PATTERNS,
    SIGNED_PATTERNS,
    TCP_PATTERNS,
    TLS_PATTERNS,
    UDP_PATTERNS,
    names,
)
from answers.servers import TITLES, is_bare
from answers.summary import Summary, Verdict

_UDP, _TCP, _TLS = names(UDP_PATTERNS), names(TCP_PATTERNS), names(TLS_PATTERNS)
_SIGNED, _LARGE, _KEPT = names(SIGNED_PATTERNS), names(LARGE_PATTERNS), names(KEPT_PATTERNS)


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
        for pattern in [*_UDP, *_TCP, *_TLS, *_KEPT, *_SIGNED, *_LARGE]:
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

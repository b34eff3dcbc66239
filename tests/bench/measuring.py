"""Shared by the benchmarks: their options, load by other processes, what a process uses, the machine's name, and the
table of rounds. Imported before all else of the tests: it finds tests/support and tests/integration.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "integration")]

# Share of the machine's time used by other processes or stolen; more is noise.
BUSY_MAX = 0.1


@dataclass
class Figure:
    name: str
    unit: str
    goal: float | None = None  # None: no goal
    is_least: bool = False  # the goal is a minimum; else a maximum

    def is_missed(self, value: float) -> bool:
        if self.goal is None:
            return False
        return value < self.goal if self.is_least else value > self.goal


class Machine:
    """The share of the machine that others have used since its creation."""

    def __init__(self):
        self._started_s, self._machine_s, self._own_s = time.monotonic(), _machine_seconds(), _own_seconds()

    def busy(self) -> float:
        """The share. Children count as others until they have exited and been waited for."""
        others_s = (_machine_seconds() - self._machine_s) - (_own_seconds() - self._own_s)
        return max(0.0, others_s) / (time.monotonic() - self._started_s) / os.cpu_count()

    def busy_text(self) -> str:
        busy = self.busy()
        return f"others used {busy:.0%} of the machine" + (
            ": NOISY, trust only the ratios" if busy > BUSY_MAX else ""
        )


def _machine_seconds() -> float:
    """CPU time of the whole machine that was used or stolen."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """CPU time of this process and of its exited children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def go_before_all_others() -> None:
    """Raises the priority of this process and of all that it starts from now on; needs root."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))


def options_parser(told: str, rounds: int = 0) -> argparse.ArgumentParser:
    """With the options of every benchmark, and --rounds where they have a default."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the built variant's folder")
    parser.add_argument("--first", action="store_true", help="as root: before all other processes of a busy machine")
    if rounds:
        parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def parse_options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Goes before all others where that is wanted."""
    options = parser.parse_args()
    if options.first:
        go_before_all_others()
    return options


def cpu_s(pid: int) -> float:
    """CPU time of all its threads, those included that have ended."""
    return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)


def memory_mib(pid: int) -> tuple[float, float]:
    """Resident now, and at most so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return kib["VmRSS"] / 1024, kib["VmHWM"] / 1024


def read_figures(text: str) -> dict[str, float]:
    """Those that a tool prints, a name and a value on each line."""
    return {name: float(value) for name, value in map(str.split, text.splitlines())}


def run_tool(*command: object, timeout_s: float = 300.0, **more) -> dict[str, float]:
    """Its figures; a ValueError with its errors if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout_s, **more)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return read_figures(done.stdout)


def machine_name() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cpu = models[0] if models else platform.machine()
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split(".")[:2])  # the rest names a build, not a version
    return f"{os.cpu_count()} x {cpu}, {memory_gib:.1f} GiB, Linux {kernel}"


# A mirror looks at the store about every 10 s, not before 7.5 have passed, and for the first time after 1 to 10 s; a
# program has up to four mirrors.
LOOK_S, MIRRORS = 7.5, 4


def etcd_looks(programs: int, took_s: float) -> float:
    """How many requests to etcd so many programs make at most because time passes, whatever clients ask."""
    return programs * MIRRORS * (2 + took_s // LOOK_S)


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def spread(name: str, values: list[float], unit: str = "ms") -> dict[str, float]:
    """The two figures `name`_p50 and `name`_p99."""
    return {f"{name}_{part}_{unit}": percentile(values, at) for part, at in (("p50", 0.5), ("p99", 0.99))}


def print_table(figures: list[Figure], rounds: list[dict[str, float]]) -> int:
    """Prints the table; returns the number of missed goals."""
    missed = 0
    print(f"{'median':>10} {'min':>10} {'max':>10} {'goal':>8}")
    for figure in figures:
        values = [one[figure.name] for one in rounds]
        median = statistics.median(values)
        digits = 0 if abs(median) >= 1000 else 3
        cells = " ".join(f"{value:10.{digits}f}" for value in (median, min(values), max(values)))
        goal = "" if figure.goal is None else f"{'>=' if figure.is_least else '<='} {figure.goal:g}"
        missed += figure.is_missed(median)
        print(f"{cells} {goal:>8}  {figure.unit}{'  MISSED' if figure.is_missed(median) else ''}")
    return missed


def run_benchmark(
    name: str, figures: list[Figure], count: int, run_round: Callable[[], dict[str, float]], told: str = ""
) -> int:
    """Runs a whole benchmark: its rounds, their table, the machine and the goals. Returns the exit status: 1, a goal
    missed; 2, something could not be measured. `told` is printed after the number of rounds.
    """
    print(machine_name(), flush=True)
    machine = Machine()
    try:
        rounds = [run_round() for _ in range(count)]
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError, SystemExit) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    missed = print_table(figures, rounds)
    print(f"{count} rounds{told}; {machine.busy_text()}")
    print(f"{missed} of {sum(f.goal is not None for f in figures)} goals missed")
    return 1 if missed else 0

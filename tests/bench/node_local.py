#!/usr/bin/python3
"""A node's skydns beside NodeLocal DNSCache (`make bench-node-local`, as root): CPU for each answer, latency, memory, and
what a pod notices of faults, in one table.

Each in network namespaces of its own (tests/bench/nodes/world.py): skydns and exechealthz with the flags of
docker/manifests/node-local.yaml, and CoreDNS (`make peers`) with NodeLocal's Corefile, in front of the same cluster DNS:
what node-cache adds to CoreDNS are an interface and rules, which are made once and stay. Neither is restarted by a kubelet,
unless a fault says so.

A pod asks at the Service's address. Costs: A of the Services, which the cache has, and NXDOMAIN of names that are all
different, which it has not; at 1,000 questions a second. Faults: 50 questions a second for the names of 300 Services; how
many were not answered within a second: as seconds of questions, and the longest time in which none was, or as a share.

An hour without etcd and the cluster's DNS is measured as the 10 s that begin 35 s after the other node was cut off: the
last answer in NodeLocal's cache has expired then (`success 9984 30`, and the records' own TTL is 30 s), and skydns answers
from what it read, at any age: nothing changes later. Exit status 2: something could not be measured.
"""

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring import Machine, cpu_s, machine_name, memory_mib, options_parser, parse_options, read_figures

from answers import data
from answers.servers import COREDNS
from nodes import world
from nodes.world import SERVICE, World

RATE, RUN_S = 1000, 5
ASKED_NAMES, ASKED_PER_S = 300, 50
DOWN_S, SETTLE_S, FAULT_S = 10.0, 3.0, 20.0  # of a fault; before it; of the questions
SLOW_STOPPED_S, SLOW_RUNS_S = 1.9, 0.1
CACHE_ENDS_S, HOUR_S = 35.0, 10.0

ROWS = {
    "cached_us": "CPU µs for an answer from its memory or cache",
    "cached_p50_ms": "ms until that answer, p50",
    "cached_p99_ms": "ms until that answer, p99",
    "missed_us": "CPU µs for NXDOMAIN of names never asked before",
    "missed_central_us": "CPU µs of the cluster's DNS for each of these",
    "missed_p99_ms": "ms until that answer, p99",
    "mib": "MiB RSS after all of that",
    "with_mib": "MiB RSS of exechealthz beside it",
    "killed": "not answered: killed, started again after 10 s",
    "hung": "not answered: hung (SIGSTOP) for 10 s",
    "slow": "not answered: slow, stopped for 1.9 s of each 2 s",
    "full": "not answered: no new connection fits into conntrack",
    "hour": "not answered: etcd and the cluster's DNS away for an hour",
    "hour_restarted": "not answered: the same, and restarted",
}


def told(lines: list[str]) -> tuple[int, int, float]:
    """Of what asker.py prints: questions, those not answered, and the longest time without an answer."""
    asked = [(float(when), float(ms) >= 0) for when, ms in map(str.split, lines)]
    lost = sum(not is_answered for _, is_answered in asked)
    last_s, longest_s = 0.0, 0.0
    for when_s in [when for when, is_answered in asked if is_answered] + [asked[-1][0]]:
        longest_s, last_s = max(longest_s, when_s - last_s), when_s
    return len(asked), lost, longest_s if lost else 0.0


class Bench:
    def __init__(self, of: World, build: Path, folder: Path, services: int):
        self._world, self._tools = of, build / "tests/bench"
        self._questions = data.write_questions(services, folder)
        self._asked = folder / "asked"
        self._asked.write_text("".join(f"{data.name(number)} A\n" for number in range(ASKED_NAMES)))
        self.found: dict[str, str] = {}

    # ---- Costs ----

    def _load(self, mix: str, seconds: int) -> dict[str, float]:
        tool = self._tools / "answers/load_udp"
        flags = [f"-server={SERVICE}:53", f"-questions={self._questions[mix]}", f"-pids={self._world.local.pid}"]
        flags += [f"-run={seconds}s", "-warm-up=0", "-sockets=4", "-window=1000", "-batch=1", f"-rate={RATE}", "-sleep"]
        return read_figures(self._world.run(World.pod, str(tool), *flags))

    def _cost(self, name: str, mix: str) -> None:
        local, central = self._world.local.pid, self._world.central.pid
        before = cpu_s(local), cpu_s(central)
        figures = self._load(mix, RUN_S)
        after = cpu_s(local), cpu_s(central)
        answers = figures["answers"]
        if figures["lost"] > answers / 100:  # those that a busy machine sends too late are not sent
            raise ValueError(f"{name}: {figures['lost']:.0f} questions not answered")
        self.found[f"{name}_us"] = f"{(after[0] - before[0]) / answers * 1e6:.0f}"
        self.found[f"{name}_central_us"] = f"{(after[1] - before[1]) / answers * 1e6:.0f}"
        for part in ("p50", "p99"):
            self.found[f"{name}_{part}_ms"] = f"{figures[f'{part}_us'] / 1000:.2f}"

    def costs(self) -> None:
        self._load("a", RUN_S)  # into the cache
        self._cost("cached", "a")
        self._cost("missed", "nxdomain")
        self.found["mib"] = f"{memory_mib(self._world.local.pid)[0]:.1f}"
        beside = [one for one in self._world.programs() if one.name == "exechealthz"]
        self.found["with_mib"] = f"{memory_mib(beside[0].pid)[0]:.1f}" if beside else "–"

    # ---- Faults ----

    def ask(self, seconds: float) -> tuple[int, int, float]:
        script = Path(__file__).with_name("nodes") / "asker.py"
        command = [sys.executable, str(script), SERVICE, str(self._asked), str(ASKED_PER_S), f"{seconds:g}"]
        return told(self._world.run(World.pod, *command).splitlines())

    def fault(self, name: str, act: Callable[[], None], seconds: float = FAULT_S) -> None:
        """Begins when the pods are answered; `act` runs while they ask. In this thread: what it starts ends with it."""
        self._world.ready()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.ask, seconds)
            time.sleep(SETTLE_S)
            act()
            _, lost, longest_s = asked.result()
            self._tell(name, f"{lost / ASKED_PER_S:.1f} s, {longest_s:.1f} s in a row" if lost else "none")

    def fault_beside(self, name: str) -> None:
        """Of something that is there already."""
        asked, lost, _ = self.ask(HOUR_S)
        self._tell(name, f"{lost / asked:.0%}" if lost else "none")

    def _tell(self, name: str, text: str) -> None:
        self.found[name] = text
        print(f"  {ROWS[name]}: {text}", flush=True)

    def killed(self) -> None:
        self._world.local.kill()
        time.sleep(DOWN_S)
        self._world.local.start()

    def hung(self) -> None:
        self._world.local.signal(signal.SIGSTOP)
        time.sleep(DOWN_S)
        self._world.local.signal(signal.SIGCONT)

    def slow(self) -> None:
        end_s = time.monotonic() + DOWN_S
        while time.monotonic() < end_s:
            self._world.local.signal(signal.SIGSTOP)
            time.sleep(SLOW_STOPPED_S)
            self._world.local.signal(signal.SIGCONT)
            time.sleep(SLOW_RUNS_S)

    @contextlib.contextmanager
    def full(self):
        self._world.nft(world.FULL)
        try:
            yield
        finally:
            self._world.nft("delete table ip full")

    def faults(self) -> None:
        self.fault("killed", self.killed)
        self.fault("hung", self.hung)
        self.fault("slow", self.slow)
        self._world.ready()
        time.sleep(CACHE_ENDS_S)  # what was cached, and the connections to the cluster's DNS, have ended
        with self.full():
            self.fault_beside("full")
        self._world.ready()
        self.ask(3.0)  # all into the cache
        self._world.network.cut(World.other)
        time.sleep(CACHE_ENDS_S)
        self.fault_beside("hour")
        self._world.local.kill()
        self._world.local.start()
        time.sleep(DOWN_S)
        self.fault_beside("hour_restarted")
        self._world.network.mend(World.other)


def measure(build: Path, services: int, start: Callable[[World], object], parts: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, World(Path(folder), build, services) as there:
        bench = Bench(there, build, Path(folder), services)
        start(there)
        there.ready()
        for part in parts:
            getattr(bench, part)()
        return bench.found


def coredns_version() -> str:
    return subprocess.run([COREDNS, "-version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def print_table(columns: dict[str, dict[str, str]]) -> None:
    print("\n| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for row, text in ROWS.items():
        if any(row in found for found in columns.values()):
            print(f"| {text} | " + " | ".join(found.get(row, "–") for found in columns.values()) + " |")


def run(options) -> None:
    kinds = {"skydns": World.start_skydns}
    if COREDNS:
        kinds[f"NodeLocal DNSCache ({coredns_version()})"] = World.start_coredns
    else:
        print("no CoreDNS (make peers, or COREDNS=/path/to/coredns): skydns alone")
    columns = {}
    for title, start in kinds.items():
        print(title, flush=True)
        columns[title] = measure(options.build, options.services, start, options.only)
    print_table(columns)


def main() -> int:
    parser = options_parser(__doc__)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=("costs", "faults"), default=["costs", "faults"])
    options = parse_options(parser)
    if reason := world.missing():
        print(f"bench-node-local: {reason}", file=sys.stderr)
        return 2
    print(f"{machine_name()}; {options.services:,} Services, {RATE:,} questions/s", flush=True)
    machine = Machine()
    try:
        run(options)
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"bench-node-local: {error}", file=sys.stderr)
        return 2
    print(machine.busy_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

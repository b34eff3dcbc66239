"""Clients that behave, beside an attack: how long their answers take, idle and under it.

with Others(bed, full(STEADY)) as others: idle = others.measure(); the attack begins
    attacked = others.measure(); others.check(bed, "what attacks", idle, attacked)

The client is a process of its own (others_client.py), so that the figures contain nothing of what the test does. Where
attacker, upstreams, skydns and the client share two cores, each waits for one now and then: what is left without these
waits is skydns' own, and what an upstream in Python takes; they are summed over threads, so that it may be less. With
ATTACK_FIRST set, as root, skydns and the client wait for none, and upstreams seldom, however busy the machine is.
"""

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import dns.message
from fault_bed import PATIENCE_S, SLACK, FaultBed
from programs import wait_until

_CLIENT = Path(__file__).with_name("others_client.py")
_ASKED = 200  # answers in one measurement: the p99 is the second worst
_ANSWER = struct.Struct("dd")
# A sanitizer, the attacker's own work on the same cores and the scheduler cost this much; attacks cost seconds.
_NOISE_MS = 10 * SLACK


class Latencies(NamedTuple):
    p50_ms: float
    p99_ms: float
    max_ms: float
    own_p99_ms: float  # without waits for a core


class Others:
    """One client that asks for `name` over UDP or TCP, one query after the other; each must be answered with `rcode`.
    A query that has no answer within PATIENCE_S ends the test.
    """

    def __init__(self, bed: FaultBed, name: str, rdtype: str = "A", tcp: bool = False, rcode: int = 0):
        query = dns.message.make_query(name, rdtype, use_edns=0, id=7).to_wire()
        what = bed.dns.port, rcode, PATIENCE_S, "tcp" if tcp else "udp", bed.skydns.pid, query.hex()
        self._command = [sys.executable, "-S", str(_CLIENT), *map(str, what)]
        self._skydns = bed.skydns
        self._took_ms: list[tuple[float, float]] = []  # each answer, and how much of it without a core
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Others":
        pipe = subprocess.PIPE
        self._client = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        self._thread.start()
        if os.environ.get("ATTACK_FIRST"):
            self._go_first()
        return self

    def _go_first(self) -> None:
        """skydns and the client run before all else on this machine; this process, with upstreams, then."""
        for pid in (self._skydns.pid, self._client.pid):
            for task in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(1))
        for task in Path("/proc/self/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(task.name), -20)

    def __exit__(self, *exc) -> None:
        self._client.stdin.close()
        self._thread.join()
        error = self._client.stderr.read().decode()
        status = self._client.wait()
        self._client.stdout.close()
        self._client.stderr.close()
        if exc[0] is None:
            assert status == 0, error

    def measure(self, until: Callable[[], bool] = lambda: True) -> Latencies:
        """Of the answers from now on, at least _ASKED, until `until` is true."""
        first = len(self._took_ms)
        wait_until(
            lambda: not self._thread.is_alive() or (len(self._took_ms) >= first + _ASKED and until()),
            "answers for others",
            PATIENCE_S,
        )
        assert self._thread.is_alive(), self._client.stderr.read().decode()
        answers = self._took_ms[first:]
        took_ms = sorted(took for took, _ in answers)
        own_ms = sorted(max(0.0, took - waited) for took, waited in answers)
        return Latencies(took_ms[len(took_ms) // 2], _p99(took_ms), took_ms[-1], _p99(own_ms))

    @staticmethod
    def note(bed: FaultBed, what: str, idle: Latencies, attacked: Latencies) -> None:
        """Figures for `make bench-attack`."""
        bed.note(
            f"{what}: others p99 {_change(idle.p99_ms, attacked.p99_ms)}, "
            f"without waits for a core {_change(idle.own_p99_ms, attacked.own_p99_ms)}, max {attacked.max_ms:.1f} ms"
        )

    @staticmethod
    def check(bed: FaultBed, what: str, idle: Latencies, attacked: Latencies) -> None:
        """Their p99 is at most twice what it was, but for noise; `make bench-attack` prints the figures."""
        Others.note(bed, what, idle, attacked)
        assert attacked.p99_ms <= 2 * idle.p99_ms + _NOISE_MS, f"{what}: {idle} idle, {attacked} under attack"

    def _read(self) -> None:
        while answer := self._client.stdout.read(_ANSWER.size):
            self._took_ms.append(_ANSWER.unpack(answer))


def _p99(sorted_ms: list[float]) -> float:
    return sorted_ms[len(sorted_ms) * 99 // 100]


def _change(idle_ms: float, attacked_ms: float) -> str:
    return f"{idle_ms:.2f} -> {attacked_ms:.2f} ms ({attacked_ms / max(idle_ms, 0.01):.1f} x idle)"

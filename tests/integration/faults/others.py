"""Clients that behave, beside an attack: how long their answers take, idle and under it.

with Others(port, full(STEADY)) as others: idle = others.measure(); the attack begins
    attacked = others.measure(); others.check(bed, "what attacks", idle, attacked)
"""

import socket
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import dns.message
from fault_bed import PATIENCE_S, SLACK, FaultBed
from programs import wait_until

_ASKED = 200  # answers in one measurement: the p99 is the second worst
# A sanitizer, the attacker's own work on the same cores and the scheduler cost this much; attacks cost seconds.
_NOISE_MS = 10 * SLACK


class Latencies(NamedTuple):
    p50_ms: float
    p99_ms: float
    max_ms: float


class Others:
    """One client that asks for `name` over UDP or TCP, one query after the other; each must be answered with `rcode`.
    A query that has no answer within PATIENCE_S ends the test.
    """

    def __init__(self, port: int, name: str, rdtype: str = "A", tcp: bool = False, rcode: int = 0):
        self._query = dns.message.make_query(name, rdtype, use_edns=0, id=7).to_wire()
        self._rcode, self._tcp = rcode, tcp
        kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
        self._socket = socket.socket(socket.AF_INET, kind)
        self._socket.settimeout(PATIENCE_S)
        self._socket.bind(("127.0.0.9", 0))
        self._socket.connect(("127.0.0.1", port))
        self._took_ms: list[float] = []
        self._error: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Others":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._is_over.set()
        self._thread.join()
        self._socket.close()
        if exc[0] is None and self._error:
            raise self._error

    def measure(self, until: Callable[[], bool] = lambda: True) -> Latencies:
        """Of the answers from now on, at least _ASKED, until `until` is true."""
        first = len(self._took_ms)
        wait_until(
            lambda: self._error or (len(self._took_ms) >= first + _ASKED and until()), "answers for others", PATIENCE_S
        )
        if self._error:
            raise self._error
        took_ms = sorted(self._took_ms[first:])
        return Latencies(took_ms[len(took_ms) // 2], took_ms[len(took_ms) * 99 // 100], took_ms[-1])

    @staticmethod
    def check(bed: FaultBed, what: str, idle: Latencies, attacked: Latencies) -> None:
        """Their p99 is at most twice what it was, but for noise; `make bench-attack` prints the figures."""
        bed.note(f"{what}: others p99 {idle.p99_ms:.2f} -> {attacked.p99_ms:.2f} ms, max {attacked.max_ms:.1f} ms")
        assert attacked.p99_ms <= 2 * idle.p99_ms + _NOISE_MS, f"{what}: {idle} idle, {attacked} under attack"

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                begun = time.monotonic()
                reply = self._ask()
                self._took_ms.append((time.monotonic() - begun) * 1000)
                assert reply[:2] == self._query[:2] and reply[3] & 15 == self._rcode, f"wrong answer: {reply.hex()}"
                self._is_over.wait(0.002)
        except BaseException as error:
            self._error = error

    def _ask(self) -> bytes:
        if not self._tcp:
            self._socket.send(self._query)
            return self._socket.recv(65535)
        self._socket.sendall(len(self._query).to_bytes(2, "big") + self._query)
        length = int.from_bytes(self._receive(2), "big")
        return self._receive(length)

    def _receive(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._socket.recv(length - len(data))
            assert more, "the connection was closed"
            data += more
        return data

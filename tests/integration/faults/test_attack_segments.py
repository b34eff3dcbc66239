"""One client sends its queries in segments of one byte, or whole ones, on as many connections as there are places.
Others notice nothing.
"""

import itertools
import resource
import socket
import threading
from pathlib import Path

import dns.message
import pytest
from attack import ATTACKER
from churn import STEADY
from fault_bed import PATIENCE_S, FaultBed, full
from others import Others
from programs import wait_until

pytestmark = pytest.mark.faults

_NXDOMAIN = 3  # nobody writes the name
_CONNECTIONS = 10_000
_IP_BIND_ADDRESS_NO_PORT = 24  # the port is chosen for the pair of addresses: quick, however many there are


_QUERY = dns.message.make_query(full(STEADY), "A", use_edns=False).to_wire()
_FRAME = len(_QUERY).to_bytes(2, "big") + _QUERY
# The begin of a query of 64 KB, without its last 15,000 bytes.
_LONG_BEGIN = b"\xff\xff" + bytes(50_000)


class Dripping:
    """A byte of a query on each connection in turn, as fast as it can; one that was closed is opened again."""

    def __init__(
        self, port: int, count: int, begin: bytes = b"", frame: bytes = _FRAME, pause_s: float = 0, size: int = 1
    ):
        """`begin` is sent at once, `frame` over and over, `size` bytes at a time; a pause after each lets each be read
        alone.
        """
        self._begin, self._frame, self._pause_s, self._size = begin, frame, pause_s, size
        self._port, self._is_over = port, threading.Event()
        self.sent = 0
        self._sockets = [self._connect() for _ in range(count)]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Dripping":
        self._thread.start()
        return self

    def __exit__(self, *_exc) -> None:
        self._is_over.set()
        self._thread.join()
        for connection in self._sockets:
            connection.close()

    def _connect(self) -> socket.socket:
        connection = socket.socket()
        connection.settimeout(PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        connection.bind((ATTACKER, 0))
        connection.connect(("127.0.0.1", self._port))
        connection.sendall(self._begin)
        connection.setblocking(False)
        return connection

    def _run(self) -> None:
        for place in itertools.count():
            part = self._frame[place * self._size % len(self._frame) :][: self._size]
            self._is_over.wait(self._pause_s)
            for i, connection in enumerate(self._sockets):
                if self._is_over.is_set():
                    return
                try:
                    connection.send(part)
                    self.sent += 1
                except BlockingIOError:
                    pass
                except OSError:
                    connection.close()
                    self._sockets[i] = self._connect()


def _cpu_s(pid: int) -> float:
    """Of all threads, in nanoseconds: the 10 ms steps of /proc/<pid>/stat are a quarter of what is measured here."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _metric(bed: FaultBed, name: str) -> float:
    return bed.watched[0].metrics().get(name)


def _drip(bed: FaultBed, count: int, segments: int, tcp: bool = True, **what) -> float:
    """Returns what a segment costs, in microseconds."""
    with Others(bed, full(STEADY), tcp=tcp, rcode=_NXDOMAIN) as others:
        idle = others.measure()
        with Dripping(bed.dns.port, count, **what) as attack:
            wait_until(lambda: attack.sent > 2 * count, "all connections are dripped on", PATIENCE_S)
            begun, begun_s = attack.sent, _cpu_s(bed.skydns.pid)
            attacked = others.measure(lambda: attack.sent > begun + segments)
            cost_us = (_cpu_s(bed.skydns.pid) - begun_s) * 1e6 / (attack.sent - begun)
            bed.note(f"{_metric(bed, 'tcp_connections'):.0f} connections, {cost_us:.1f} us for each segment")
    sent = "whole queries" if "size" in what else "segments of one byte"
    others.check(bed, f"{sent} on {count} connections", idle, attacked)
    return cost_us


@pytest.fixture
def most_connections():
    """As many as there may be, with descriptors for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield min(_CONNECTIONS, hard - 1000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("tcp", [True, False], ids=["tcp", "udp"])
def test_attack_segments_of_one_byte(single, most_connections, tcp):
    _drip(single, most_connections, 10 * most_connections, tcp)


def test_attack_queries_on_many_connections(single, most_connections):
    """Each sends again and again, without reading what it gets."""
    _drip(single, most_connections, most_connections, size=len(_FRAME))


def test_attack_segments_of_long_queries(single):
    """What is there already of a query is not moved for each further byte."""
    short_us, long_us = [], []
    for _ in range(3):  # others on the machine cost a round more, not less
        short_us.append(_drip(single, 100, 15_000, pause_s=0.004))
        long_us.append(_drip(single, 100, 15_000, begin=_LONG_BEGIN, frame=b"\0", pause_s=0.004))
    assert min(long_us) < 1.5 * min(short_us)

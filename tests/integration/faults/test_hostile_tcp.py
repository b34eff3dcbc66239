"""One TCP client takes all it can get of skydns: memory, places, forwarded queries. Everybody else, over UDP and TCP,
notices nothing.
"""

import socket
import struct
from contextlib import contextmanager

import dns.message
import pytest
from churn import STEADY
from fault_bed import PATIENCE_S, FaultBed, PeakMemory, full
from programs import reserve_port, wait_until

pytestmark = pytest.mark.faults

_HOG = "127.0.0.9"
_OTHERS = "127.0.0.8"

# From skydns's headers: late answers due on one connection; all buffers together.
_WAITING_MAX = 128
_BUFFERS_MAX_KIB = 16 << 10
_LONGEST = 65535

# All Services: a short query with an answer of some 3 KB.
_MANY = "default.svc.cluster.local"


def _frame(wire: bytes) -> bytes:
    return struct.pack("!H", len(wire)) + wire


def _long_query() -> bytes:
    """As long as TCP allows, nearly all of it a record that no answer depends on."""
    query = bytearray(dns.message.make_query("silent.example.com", "A", use_edns=False).to_wire())
    query[11] = 1  # an additional record: root, TXT, IN, TTL
    query += struct.pack("!BHHIH", 0, 16, 1, 0, _LONGEST - len(query) - 11)
    return _frame(bytes(query) + bytes(_LONGEST - len(query)))


class Hog:
    """A client's connections; it never reads."""

    def __init__(self, port: int, receive_buffer: int = 0):
        self._port, self._receive_buffer = port, receive_buffer
        self._connections: list[socket.socket] = []

    def __enter__(self) -> "Hog":
        return self

    def __exit__(self, *exc) -> None:
        for connection in self._connections:
            connection.close()

    def connect(self) -> socket.socket:
        connection = socket.socket()
        self._connections.append(connection)
        if self._receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        connection.bind((_HOG, 0))
        connection.settimeout(PATIENCE_S)
        connection.connect(("127.0.0.1", self._port))
        connection.setblocking(False)
        return connection


class Pipeline:
    """The same bytes again and again, as far as the connection accepts them."""

    def __init__(self, connection: socket.socket, data: bytes):
        self._connection, self._data, self._at = connection, data, 0

    def push(self) -> bool:
        """False: nothing was accepted."""
        try:
            sent = self._connection.send(memoryview(self._data)[self._at :])
        except BlockingIOError:
            return False
        self._at = (self._at + sent) % len(self._data)
        return True


@contextmanager
def _silent_nameserver(bed: FaultBed):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        port = reserve_port()
        silent.bind(("127.0.0.1", port))
        bed.skydns_flags = ["-no-rec=false", f"-nameservers=127.0.0.1:{port}", "-rtimeout=1m"]
        yield


def _check_others(bed: FaultBed, times: int) -> None:
    """New connections of another client, one query each."""
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", bed.dns.port), PATIENCE_S, (_OTHERS, 0)) as connection:
            query = dns.message.make_query(full(STEADY), "A")
            connection.sendall(_frame(query.to_wire()))
            head = connection.recv(2, socket.MSG_WAITALL)
            assert len(head) == 2, "closed without an answer"
            reply = dns.message.from_wire(connection.recv(struct.unpack("!H", head)[0], socket.MSG_WAITALL))
            assert [rr.to_text() for rrset in reply.answer for rr in rrset] == [bed.churn.steady_ip]


def _metric(bed: FaultBed, name: str) -> float:
    return bed.watched[0].metrics().get(name)


def test_long_queries_for_foreign_names(fault_bed):
    """Queries of 64 KB that wait for a silent nameserver: each costs what its question needs, each connection may
    have so many, and another client's are still forwarded.
    """
    connections = 16
    goal_kib = 16 << 10
    bed = fault_bed
    with _silent_nameserver(bed):
        bed.start_etcd()
        bed.start()
        query = _long_query()
        with bed.under_load(), PeakMemory(bed.skydns) as memory, Hog(bed.dns.port) as hog:
            pipelines = [Pipeline(hog.connect(), query) for _ in range(connections)]

            def all_wait() -> bool:
                is_stuck = not any([pipeline.push() for pipeline in pipelines])
                return is_stuck and _metric(bed, "deferred_in_hand") >= connections * _WAITING_MAX

            wait_until(all_wait, "every connection waits", PATIENCE_S)
            assert _metric(bed, "deferred_in_hand") == connections * _WAITING_MAX
            _check_others(bed, 20)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.bind((_OTHERS, 0))
                other.sendto(dns.message.make_query("other.example.com", "A").to_wire(), ("127.0.0.1", bed.dns.port))
                right = connections * _WAITING_MAX + 1
                wait_until(lambda: _metric(bed, "deferred_in_hand") == right, "another's query", PATIENCE_S)
        assert memory.growth_kib < goal_kib
        bed.note(f"{connections * _WAITING_MAX} queries of 64 KB wait, {memory.growth_kib / 1024:.1f} MiB")


_LONG_ANSWERS = _frame(dns.message.make_query(_MANY, "A").to_wire())
_FOREIGN = _frame(dns.message.make_query("silent.example.com", "A").to_wire())

# What the hog sends on each connection: more answers than skydns's sockets hold, a query whose answer is not there yet,
# or only the beginning of one.
_UNREAD, _WAITING, _HALF = _LONG_ANSWERS * 100, _FOREIGN, _LONG_ANSWERS[:-1]


def _take_places(hog: Hog, count: int, data: bytes) -> None:
    for _ in range(count):
        hog.connect().send(data)


def _take_until(hog: Hog, data: bytes, condition, what: str) -> None:
    """Connections that make no progress end after a while: takes more of them, until the condition holds."""

    def is_so() -> bool:
        if not condition():
            _take_places(hog, 10, data)
        return condition()

    wait_until(is_so, what, PATIENCE_S)


@pytest.mark.parametrize("data", [_UNREAD, _WAITING, _HALF], ids=["unread", "waiting", "half"])
def test_one_client_takes_every_place(fault_bed, data):
    """However it occupies them: its own give way to another's."""
    bed = fault_bed
    places = 144  # what is left of 576 descriptors
    bed.skydns_prefix = ("sh", "-c", 'ulimit -n 576 && exec "$@"', "sh")
    with _silent_nameserver(bed):
        bed.start_etcd()
        bed.start()
        with bed.under_load(), Hog(bed.dns.port, receive_buffer=1) as hog:
            _take_places(hog, places, data)
            _take_until(hog, data, lambda: _metric(bed, "tcp_connections") == places, "no place is free")
            before = _metric(bed, "tcp_evictions_total")

            def is_giving_way() -> bool:
                _take_places(hog, 10, data)
                _check_others(bed, 10)
                return _metric(bed, "tcp_evictions_total") > before

            wait_until(is_giving_way, "its own give way", PATIENCE_S)
            _take_places(hog, places, data)
            _check_others(bed, 50)
    bed.note(f"{places} places, {_metric(bed, 'tcp_evictions_total'):.0f} connections gave way")


def test_unread_answers_take_little_memory(fault_bed):
    """As many connections as fit, none read from: all buffers together stay within their limit."""
    bed = fault_bed
    connections = 1000
    bed.start_etcd()
    bed.start()
    with bed.under_load(), PeakMemory(bed.skydns) as memory, Hog(bed.dns.port, receive_buffer=1) as hog:
        data = _LONG_ANSWERS * 1000  # answers that no kernel's buffers hold
        _take_places(hog, connections, data)
        _check_others(bed, 50)
        _take_until(hog, data, lambda: _metric(bed, "tcp_evictions_total") > 0, "the limit is reached")
    assert memory.growth_kib < 2 * _BUFFERS_MAX_KIB
    bed.note(f"{connections} connections not read from, {memory.growth_kib / 1024:.1f} MiB")

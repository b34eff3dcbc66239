"""Clients over TLS that leave handshakes open, take every place, do not read or flood: everybody else, over UDP, TLS and
HTTPS, notices nothing.
"""

import itertools
import socket
import ssl
import struct
import threading
import time
from contextlib import contextmanager

import dns.message
import pytest
from churn import STEADY
from dns_client import Dns
from fault_bed import PATIENCE_S, FaultBed, PeakMemory, full
from programs import wait_until
from transports import Listeners

pytestmark = pytest.mark.faults

_HOG = "127.0.0.9"
_OTHERS = "127.0.0.8"

# From skydns's headers: all buffers together.
_BUFFERS_MAX_KIB = 16 << 10

# Likewise: handshakes begun and not finished, at 160 KiB.
_HANDSHAKES_MAX_KIB = 40 << 10

# Likewise: of a connection over TLS.
_IDLE_S = 30

# A record of 512 bytes that begins a ClientHello of 128 KiB, the longest that OpenSSL takes, and does not go on.
_HALF_HELLO = b"\x16\x03\x01\x02\x00\x01\x01\xff\xfc\x03\x03"

# All Services: a short query with an answer of some 3 KB.
_MANY = "default.svc.cluster.local"


def _frame(wire: bytes) -> bytes:
    return struct.pack("!H", len(wire)) + wire


def _query(name: str) -> bytes:
    return _frame(dns.message.make_query(name, "A", use_edns=False).to_wire())


class Hog:
    """One client's connections; it never reads."""

    def __init__(self, listeners: Listeners):
        self._listeners = listeners
        self._connections: list[socket.socket] = []

    def __enter__(self) -> "Hog":
        return self

    def __exit__(self, *exc) -> None:
        for connection in self._connections:
            connection.close()

    def begin(self, data: bytes = _HALF_HELLO) -> None:
        """A connection whose handshake does not end."""
        address = ("127.0.0.1", self._listeners.ports["tls"])
        connection = socket.create_connection(address, PATIENCE_S, (_HOG, 0))
        self._connections.append(connection)
        connection.setblocking(False)
        connection.send(data)

    def connect(self) -> ssl.SSLSocket | None:
        """A whole handshake; None: it gave way to another during that."""
        try:
            connection = self._listeners.connect("tls", source_address=(_HOG, 0))
        except (ConnectionError, ssl.SSLError):
            return None
        self._connections.append(connection)
        connection.setblocking(False)
        return connection


def _metric(bed: FaultBed, name: str, **labels: str) -> float:
    return bed.watched[0].metrics().get(name, **labels)


def _check_others(bed: FaultBed, listeners: Listeners, times: int, kinds: tuple[str, ...] = ("tls", "https")) -> None:
    """New connections of another client, one query each."""
    for kind, _ in itertools.product(kinds, range(times)):
        with listeners.asker(kind, source_address=(_OTHERS, 0)) as asker:
            assert Dns(0, exchange=asker.exchange).answers(full(STEADY)) == [bed.churn.steady_ip]


@contextmanager
def _served(bed: FaultBed):
    listeners = Listeners(bed.folder)
    bed.skydns_flags = listeners.flags(bed.dns.port)
    bed.start_etcd()
    bed.start()
    with bed.under_load(), PeakMemory(bed.skydns) as memory:
        yield listeners, memory


def test_handshakes_left_open(fault_bed):
    """Thousands of them, silent or in the middle: each is closed after a while, others' handshakes go on, and memory
    has its limit, whatever they announce.
    """
    connections = 3000
    bed = fault_bed
    with _served(bed) as (listeners, memory), Hog(listeners) as hog:
        for i in range(connections):
            hog.begin(_HALF_HELLO if i % 2 else _HALF_HELLO[: i // 2 % len(_HALF_HELLO) + 1])
        _check_others(bed, listeners, 20)
        full_before = _metric(bed, "tls_handshakes_total", result="full")
        assert full_before >= 40

        def all_ended() -> bool:
            _check_others(bed, listeners, 1)
            return _metric(bed, "tls_handshakes_total", result="failed") >= connections

        wait_until(all_ended, "every open handshake is closed", PATIENCE_S)
        wait_until(lambda: _metric(bed, "connections", transport="tls") <= 1, "no place is taken", PATIENCE_S)
    assert memory.growth_kib < 2 * _HANDSHAKES_MAX_KIB
    bed.note(f"{connections} handshakes left open, {memory.growth_kib / 1024:.1f} MiB")


@pytest.mark.parametrize("is_whole", [False, True], ids=["handshaking", "connected"])
def test_one_client_takes_every_place(fault_bed, is_whole):
    """Its own give way to another's."""
    bed = fault_bed
    bed.skydns_prefix = ("sh", "-c", 'ulimit -n 640 && exec "$@"', "sh")
    with _served(bed) as (listeners, _), Hog(listeners) as hog:
        with listeners.asker("tls", source_address=(_OTHERS, 0)) as early:
            answers = Dns(0, exchange=early.exchange)
            assert answers.answers(full(STEADY)) == [bed.churn.steady_ip]
            kept = early._socket  # what it asks over until the end
            asked_s = [time.monotonic()]

            def is_giving_way() -> bool:
                if time.monotonic() - asked_s[0] > _IDLE_S / 2:  # on a slow machine, it would be closed for idleness
                    asked_s[0] = time.monotonic()
                    assert answers.answers(full(STEADY)) == [bed.churn.steady_ip]
                for _ in range(20):
                    hog.connect() if is_whole else hog.begin()
                _check_others(bed, listeners, 2)
                return _metric(bed, "stream_evictions_total") > 50

            wait_until(is_giving_way, "its own give way", PATIENCE_S)
            assert answers.answers(full(STEADY)) == [bed.churn.steady_ip]
            assert early._socket is kept, "another's connection gave way"
    bed.note(f"{_metric(bed, 'stream_evictions_total'):.0f} connections gave way")


def test_unread_replies(fault_bed):
    """Long answers over TLS that nobody reads: all buffers together stay within their limit."""
    connections = 200
    data = memoryview(_query(_MANY) * 2000)  # answers that no kernel's buffers hold
    bed = fault_bed
    with _served(bed) as (listeners, memory), Hog(listeners) as hog:
        sessions = [session for session in (hog.connect() for _ in range(connections)) if session]
        places = [0] * len(sessions)

        def push() -> bool:
            """False: nothing was accepted."""
            moved = 0
            for i, session in enumerate(sessions):
                try:
                    sent = session.send(data[places[i] : places[i] + 16384]) if places[i] < len(data) else 0
                except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                    sent = 0
                except (ConnectionError, ssl.SSLError):
                    sent, places[i] = 0, len(data)  # closed: it had more than its share
                places[i] += sent
                moved += sent
            return moved > 0

        def is_stuck() -> bool:
            _check_others(bed, listeners, 1)
            return not push()

        wait_until(is_stuck, "nothing more is read from it", PATIENCE_S)
        _check_others(bed, listeners, 10)
    assert memory.growth_kib < 2 * _BUFFERS_MAX_KIB
    bed.note(f"{connections} sessions not read from, {memory.growth_kib / 1024:.1f} MiB")


def test_half_closed_clients_are_answered(fault_bed):
    """The client has said all it has to say, without a close_notify: it gets its answer, then the end."""
    bed = fault_bed
    with _served(bed) as (listeners, _):
        with listeners.connect("tls", source_address=(_OTHERS, 0)) as session:
            session.sendall(_query(full(STEADY)))
            socket.socket.shutdown(session, socket.SHUT_WR)  # below TLS
            got = b""
            while part := session.recv(4096):
                got += part
        reply = dns.message.from_wire(got[2:])
        assert [rr.to_text() for rrset in reply.answer for rr in rrset] == [bed.churn.steady_ip]


def test_a_flood_of_handshakes(fault_bed):
    """One client connects, asks nothing and leaves, as fast as it can: another's connections are served while it
    does, and the load over UDP loses nothing.
    """
    threads, least = 4, 200
    bed = fault_bed
    with _served(bed) as (listeners, _):
        is_over = threading.Event()

        def flood() -> None:
            while not is_over.is_set():
                try:
                    listeners.connect("tls", source_address=(_HOG, 0)).close()
                except (ConnectionError, ssl.SSLError, TimeoutError):
                    pass

        floods = [threading.Thread(target=flood) for _ in range(threads)]
        for thread in floods:
            thread.start()
        try:
            count = 0

            def is_flooded() -> bool:
                nonlocal count
                _check_others(bed, listeners, 2)
                count += 4
                return _metric(bed, "tls_handshakes_total", result="full") >= least + count

            wait_until(is_flooded, "the flood has come through", PATIENCE_S)
        finally:
            is_over.set()
            for thread in floods:
                thread.join()
    bed.note(f"{count} connections of others during {_metric(bed, 'tls_handshakes_total', result='full'):.0f} handshakes")

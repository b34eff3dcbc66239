"""One client asks without end, or in the name of many others: what it gets beyond its rate is an empty reply every
second time, and everybody else notices nothing.
"""

import select
import socket
import time

import dns.edns
import dns.flags
import dns.message
import pytest
from churn import STEADY
from fault_bed import PATIENCE_S, FaultBed, PeakMemory, full
from programs import TimeUp, wait_until

pytestmark = pytest.mark.faults

_HOG = "127.0.0.66"
_RATE = 3000  # above what the bed's own load sends
_FLOOD = 50_000
_TURN = 100  # queries at once: what a socket's buffer holds, however busy the machine is
_SOURCES = 3000
_TABLE_KIB = 4 << 10


def _query(cookie: bytes = b"") -> bytes:
    options = [dns.edns.GenericOption(10, cookie)] if cookie else []
    return dns.message.make_query(full(STEADY), "A", use_edns=0, options=options, id=7).to_wire()


class Hog:
    def __init__(self, port: int, source: str = _HOG):
        self.answered = self.truncated = self.bad_cookies = 0
        self._next_id, self._replied_id = 0, -1
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((source, 0))
        self._socket.connect(("127.0.0.1", port))

    def __enter__(self) -> "Hog":
        return self

    def __exit__(self, *exc) -> None:
        self._socket.close()

    def replies(self) -> int:
        return self.answered + self.truncated + self.bad_cookies

    def flood(self, query: bytes, count: int) -> None:
        """The replies are the clock, and come in order: of two queries, one at least has a reply. So a turn's are done
        before the next one's are sent: more replies than a turn's might not fit the socket's buffer.
        """
        for _ in range(count // _TURN):
            for _ in range(_TURN):
                last, self._next_id = self._next_id, (self._next_id + 1) & 0xFFFF
                self._socket.send(last.to_bytes(2, "big") + query[2:])
            while self._replied_id not in (last, (last - 1) & 0xFFFF):
                self._take(PATIENCE_S)

    def take_until(self, total: int) -> None:
        while self.replies() < total:
            self._take(PATIENCE_S)

    def settle(self, bed: FaultBed, sent: int) -> None:
        """Until each query is answered, or counted as dropped; nobody else's are."""

        def is_all() -> bool:
            self._take_all()
            told["sums"] = f"{self.replies()} replies and {_limited(bed)} (truncated, dropped) of {sent}"
            return self.replies() + _limited(bed)[1] == sent

        told = {}
        try:
            wait_until(is_all, "the end of the flood", PATIENCE_S)
        except TimeUp as error:
            raise AssertionError(told) from error

    def send(self, query: bytes) -> None:
        self._socket.send(query)

    def _take_all(self) -> None:
        """What has arrived."""
        while select.select([self._socket], [], [], 0)[0]:
            self._take(0)

    def _take(self, patience_s: float) -> None:
        readable, _, _ = select.select([self._socket], [], [], patience_s)
        assert readable, f"no reply after {self.replies()}"
        reply = self._socket.recv(4096)
        self._replied_id = int.from_bytes(reply[:2], "big")
        if reply[3] & 15 == 7:
            self.bad_cookies += 1
        elif reply[2] & 2:
            assert reply[6:10] == bytes(4)  # empty
            self.truncated += 1
        else:
            assert reply[3] & 15 == 0 and reply[7] == 1
            self.answered += 1


def _start(bed: FaultBed) -> None:
    bed.skydns_flags = [f"-rate={_RATE}", "-workers=2"]
    bed.start_etcd()
    bed.start()


def _limited(bed: FaultBed) -> tuple[float, float]:
    metrics = bed.watched[0].metrics()
    return tuple(metrics.get("rate_limited_total", reply=kind) for kind in ("truncated", "dropped"))


@pytest.mark.parametrize("cookie", ["none", "client's", "wrong"])
def test_a_flood(fault_bed, cookie):
    _start(fault_bed)
    query = _query({"none": b"", "client's": b"12345678", "wrong": b"12345678" + b"\1" + bytes(15)}[cookie])
    port = fault_bed.dns.port
    with fault_bed.under_load() as load, Hog(port) as hog:
        load.wait_sent(500)
        begun = time.monotonic()
        hog.flood(query, _FLOOD)
        took_s = time.monotonic() - begun
        hog.settle(fault_bed, _FLOOD)
        truncated, dropped = _limited(fault_bed)
        # Whatever was limited was the hog's; it got its rate, and nothing more.
        empty = hog.bad_cookies if cookie == "wrong" else hog.truncated
        assert hog.answered + empty == hog.replies() and empty == truncated and 0 <= empty - dropped <= took_s + 2
        assert _RATE <= hog.answered <= _RATE + _RATE * (took_s + 1)
        load.wait_sent(500)
    counts = f"{hog.answered} answered, {empty} empty, {dropped:.0f} dropped"
    fault_bed.note(f"flood of {_FLOOD}: {counts} in {took_s:.1f} s")


def test_a_valid_cookie_helps(fault_bed):
    """A client whose address a flood pretends to have is known by its cookie."""
    _start(fault_bed)
    with fault_bed.under_load() as load, Hog(fault_bed.dns.port) as forger, Hog(fault_bed.dns.port) as owner:
        load.wait_sent(500)
        forger.flood(_query(), _FLOOD // 10)
        reply = dns.message.from_wire(_ask_tcp(fault_bed.dns.port, _query(b"12345678")))
        [cookie] = [option.to_wire() for option in reply.options if option.otype == 10]
        for _ in range(20):
            forger.flood(_query(), _TURN * 5)
            before = owner.replies()
            for _ in range(20):
                owner.send(_query(cookie))
            owner.take_until(before + 20)
        assert owner.answered == owner.replies() == 400
        assert fault_bed.watched[0].metrics().get("rate_exempt_total") == 400


def _ask_tcp(port: int, query: bytes) -> bytes:
    with socket.socket() as client:
        client.settimeout(PATIENCE_S)
        client.bind((_HOG, 0))
        client.connect(("127.0.0.1", port))
        client.sendall(len(query).to_bytes(2, "big") + query)
        reply = b""
        while len(reply) < 2 or len(reply) < 2 + int.from_bytes(reply[:2], "big"):
            more = client.recv(4096)
            assert more
            reply += more
        return reply[2:]


def test_forged_sources(fault_bed):
    """Each address asks once: all are answered, none of the others is forgotten into its limit, memory is bounded, and
    the one over its limit stays there.
    """
    _start(fault_bed)
    port = fault_bed.dns.port
    with fault_bed.under_load() as load, PeakMemory(fault_bed.skydns) as memory, Hog(port) as hog:
        load.wait_sent(500)
        hog.flood(_query(), _FLOOD // 5)
        hog.settle(fault_bed, _FLOOD // 5)
        limited_before = sum(_limited(fault_bed))
        for number in range(_SOURCES):
            source = f"127.66.{number >> 8}.{number & 255}"
            with Hog(port, source) as forged:
                forged.send(_query())
                forged.take_until(1)
                assert forged.answered == 1
        assert sum(_limited(fault_bed)) == limited_before
        load.wait_sent(500)
    assert memory.growth_kib <= 2 * _TABLE_KIB

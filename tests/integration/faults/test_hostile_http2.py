"""HTTP/2 clients that break its rules, or keep to them and want too much: skydns ends their connections, and says why.
Everybody else, over UDP and HTTPS, notices nothing.
"""

import itertools
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import dns.message
import pytest
from churn import STEADY
from dns_client import Dns
from fault_bed import PATIENCE_S, FaultBed, PeakMemory, full
from h2_frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Frame,
    frame,
    literal,
)
from programs import reserve_port
from transports import PATH, TYPE, Listeners, get_path

pytestmark = pytest.mark.faults

_HOG = "127.0.0.9"

# Errors of RFC 9113, 7.
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR = 0, 1, 3, 5, 6
REFUSED_STREAM, COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 7, 9, 11

# From common/http2/http2_server.h.
_STREAMS_MAX, _BODY_MAX = 128, 64 * 1024 + 64
# More than any number of frames that is allowed.
_MANY = 5000

_AT_ONCE = 8  # attackers
# All buffers of connections together (TCP_BUFFERS_MAX), and as much again for TLS and the allocator.
_GROWTH_MAX_KIB = 2 * (16 << 10)


# ---- Requests, by hand ----


def _get(stream: int, name: str) -> bytes:
    path = get_path(dns.message.make_query(name, "A", use_edns=False).to_wire())
    fields = b"\x82\x87" + literal(":authority", "127.0.0.1") + literal(":path", path)
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, fields)


def _post(stream: int) -> bytes:
    """Without its body."""
    return frame(HEADERS, END_HEADERS, stream, b"\x83\x87" + literal(":path", PATH) + literal("content-type", TYPE))


def _u32(value: int) -> bytes:
    return struct.pack(">I", value)


def _setting(kind: int, value: int) -> bytes:
    return frame(SETTINGS, 0, 0, struct.pack(">HI", kind, value))


_HEADER_TABLE_SIZE, _INITIAL_WINDOW_SIZE = 1, 4
_OWN, _SILENT = full(STEADY), "silent.example.com"
_CANCEL = _u32(8)
_WIDE = _setting(_INITIAL_WINDOW_SIZE, 2**31 - 1) + frame(WINDOW_UPDATE, 0, 0, _u32(2**31 - 1 - 65535))


def _streams(count: int, first: int = 1) -> Iterable[int]:
    return range(first, first + 2 * count, 2)


def _bomb() -> bytes:
    """A field of 4,000 bytes into the table, and references to it, a byte each."""
    long_field = b"\x40\x01x\x7f\xa1\x1e" + b"v" * 4000
    return b"\x82\x87" + literal(":path", PATH) + long_field + b"\xbe" * 1000


def _body(stream: int, size: int) -> bytes:
    return b"".join(frame(DATA, 0, stream, bytes(min(16384, size - at))) for at in range(0, size, 16384))


class Attack(NamedTuple):
    data: bytes
    goaway: int  # the error in it
    resets: int | None = None  # the error of a RST_STREAM before that
    status: bytes = b""  # of a reply before that: the beginning of its block


_OPEN = _post(1)
ATTACKS = {
    "rapid reset": Attack(
        b"".join(_get(s, _SILENT) + frame(RST_STREAM, 0, s, _CANCEL) for s in _streams(120)),
        ENHANCE_YOUR_CALM,
    ),
    "resets that we have to send": Attack(
        b"".join(_get(s, _SILENT) + frame(WINDOW_UPDATE, 0, s, _u32(0)) for s in _streams(120)),
        ENHANCE_YOUR_CALM,
        PROTOCOL_ERROR,
    ),
    "CONTINUATION without end": Attack(
        frame(HEADERS, END_STREAM, 1, b"\x82\x87") + frame(CONTINUATION, 0, 1) * _MANY, ENHANCE_YOUR_CALM
    ),
    "CONTINUATION with many fields": Attack(
        frame(HEADERS, END_STREAM, 1, b"\x82\x87")
        + frame(CONTINUATION, 0, 1, literal("x", "y" * 100) * 100) * 100,
        ENHANCE_YOUR_CALM,
    ),
    "CONTINUATION interrupted": Attack(frame(HEADERS, 0, 1, b"\x82") + frame(PING, 0, 0, bytes(8)), PROTOCOL_ERROR),
    "header bomb": Attack(frame(HEADERS, END_HEADERS | END_STREAM, 1, _bomb()), ENHANCE_YOUR_CALM),
    "no such field": Attack(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\xff\xff\x7f"), COMPRESSION_ERROR),
    "PING": Attack(frame(PING, 0, 0, bytes(8)) * _MANY, ENHANCE_YOUR_CALM),
    "SETTINGS": Attack(_setting(_HEADER_TABLE_SIZE, 0) * _MANY, ENHANCE_YOUR_CALM),
    "SETTINGS with many entries": Attack(
        frame(SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW_SIZE, 0) * 2000), ENHANCE_YOUR_CALM
    ),
    "PRIORITY": Attack(frame(PRIORITY, 0, 1, bytes(5)) * _MANY, ENHANCE_YOUR_CALM),
    "WINDOW_UPDATE": Attack(frame(WINDOW_UPDATE, 0, 0, _u32(1)) * _MANY, ENHANCE_YOUR_CALM),
    "frames of unknown types": Attack(frame(0xBB, 0xFF, 1, bytes(9)) * _MANY, ENHANCE_YOUR_CALM),
    "empty DATA": Attack(_OPEN + frame(DATA, 0, 1) * _MANY, ENHANCE_YOUR_CALM),
    "DATA of one byte": Attack(_OPEN + frame(DATA, 0, 1, b"x") * _MANY, ENHANCE_YOUR_CALM),
    "a body too long": Attack(
        _OPEN + _body(1, _BODY_MAX + 1) + frame(SETTINGS, 0, 1), PROTOCOL_ERROR, NO_ERROR, b"\x20\x08\x03413"
    ),
    "a body beyond its window": Attack(_OPEN + _body(1, _BODY_MAX + 2), FLOW_CONTROL_ERROR),
    "bodies beyond the connection's window": Attack(
        b"".join(_post(s) + _body(s, _BODY_MAX) for s in _streams(17)), FLOW_CONTROL_ERROR
    ),
    "a window of 2 GiB": Attack(frame(WINDOW_UPDATE, 0, 0, _u32(2**31 - 1)), FLOW_CONTROL_ERROR),
    "a frame too long": Attack(frame(DATA, 0, 1, bytes(16385)), FRAME_SIZE_ERROR),
    "a short PING": Attack(frame(PING, 0, 0, bytes(7)), FRAME_SIZE_ERROR),
    "stream numbers that fall": Attack(_get(5, _OWN) + _get(3, _OWN), PROTOCOL_ERROR),
    "a server's stream": Attack(_get(2, _OWN), PROTOCOL_ERROR),
    "DATA of a stream that has ended": Attack(_get(1, _OWN) + frame(DATA, 0, 1, b"more"), STREAM_CLOSED),
    "DATA of a stream that was reset": Attack(
        _OPEN + frame(WINDOW_UPDATE, 0, 1, _u32(0)) + frame(DATA, 0, 1, bytes(300)) * _MANY,
        ENHANCE_YOUR_CALM,
        PROTOCOL_ERROR,
    ),
    "a promise": Attack(frame(PUSH_PROMISE, END_HEADERS, 1, _u32(2)), PROTOCOL_ERROR),
    "more streams than allowed, windows shut": Attack(
        _setting(_INITIAL_WINDOW_SIZE, 0) + b"".join(_get(s, _OWN) for s in _streams(_STREAMS_MAX + 120)),
        ENHANCE_YOUR_CALM,
        REFUSED_STREAM,
    ),
    "HTTP/1.1 after HTTP/2": Attack(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", FRAME_SIZE_ERROR),
}


# ---- The attacker ----


class Attacker:
    """A connection that sends all it can while it reads."""

    def __init__(self, listeners: Listeners, kind: str):
        self._socket = listeners.connect(kind, source_address=(_HOG, 0))
        self._socket.setblocking(False)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Attacker":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def push(self, data: memoryview) -> int:
        """How many bytes were accepted."""
        try:
            return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0

    def _pull(self) -> bytes | None:
        """What has come; None: the end."""
        try:
            return self._socket.recv(1 << 16) or None
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        except (ConnectionError, ssl.SSLError):
            return None

    def exchange(self, data: bytes, is_done: Callable[[list[Frame]], bool] = lambda frames: False) -> list[Frame]:
        """All frames until skydns closes, or is_done."""
        left, got, frames = memoryview(data), b"", []
        end_s = time.monotonic() + PATIENCE_S
        while not is_done(frames):
            assert time.monotonic() < end_s, f"neither answered nor closed; got {frames[-3:]}"
            try:
                left = left[self.push(left) :] if left else left
            except (ConnectionError, ssl.SSLError):
                left = left[:0]  # closed: what it said is still to be read
            part = self._pull()
            if part is None:
                return frames
            got += part
            while len(got) >= 9 and len(got) >= 9 + int.from_bytes(got[:3], "big"):
                size = 9 + int.from_bytes(got[:3], "big")
                kind, flags, stream = struct.unpack(">BBI", got[3:9])
                frames.append(Frame(kind, flags, stream, got[9:size]))
                got = got[size:]
            if not part:
                select.select([self._socket], [self._socket] if left else [], [], 0.1)
        return frames

    def shut(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)


_HELLO = PREFACE + frame(SETTINGS) + frame(SETTINGS, ACK)


def _check_end(frames: list[Frame], attack: Attack) -> None:
    kinds = [one.kind for one in frames]
    assert kinds[0] == SETTINGS
    assert kinds[-1] == GOAWAY, f"closed without GOAWAY: {frames[-3:]}"
    assert struct.unpack(">II", frames[-1].payload)[1] == attack.goaway
    resets = {struct.unpack(">I", one.payload)[0] for one in frames if one.kind == RST_STREAM}
    assert resets == ({attack.resets} if attack.resets is not None else set())
    if attack.status:
        assert next(one for one in frames if one.kind == HEADERS).payload.startswith(attack.status)


# ---- The bed ----


@contextmanager
def _served(bed: FaultBed):
    """skydns on all transports, with a nameserver that never answers."""
    listeners = Listeners(bed.folder)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        port = reserve_port()
        silent.bind(("127.0.0.1", port))
        nameserver = ["-no-rec=false", f"-nameservers=127.0.0.1:{port}", "-rtimeout=1m"]
        bed.skydns_flags = [*nameserver, *listeners.flags(bed.dns.port)]
        bed.start_etcd()
        bed.start()
        with bed.under_load(), PeakMemory(bed.skydns) as memory:
            yield listeners
    assert memory.growth_kib < _GROWTH_MAX_KIB
    bed.note(f"memory grew by {memory.growth_kib / 1024:.1f} MiB")


def _check_others(bed: FaultBed, listeners: Listeners, is_over: Callable[[], bool], least: int = 10) -> int:
    """Another client's queries over HTTPS, on one connection and on new ones, until then."""
    with listeners.asker("https") as kept:
        for count in itertools.count(1):
            assert Dns(0, exchange=kept.exchange).answers(_OWN) == [bed.churn.steady_ip]
            with listeners.asker("https") as fresh:
                assert Dns(0, exchange=fresh.exchange).answers(_OWN) == [bed.churn.steady_ip]
            if is_over() and count >= least:
                return 2 * count


# ---- Tests ----


@pytest.mark.parametrize("kind", ["https", "http"])
def test_attacks(fault_bed, kind):
    bed = fault_bed

    def run(name: str) -> None:
        attack = ATTACKS[name]

        with Attacker(listeners, kind) as attacker:
            try:
                _check_end(attacker.exchange(_HELLO + attack.data), attack)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error

    with _served(bed) as listeners, ThreadPoolExecutor(_AT_ONCE) as attackers:
        runs = [attackers.submit(run, name) for name in ATTACKS for _ in range(2)]
        count = _check_others(bed, listeners, lambda: all(one.done() for one in runs))
        for one in runs:
            one.result()
    bed.note(f"{len(runs)} attacks, {count} queries of others over HTTPS")


@pytest.mark.parametrize("kind", ["https", "http"])
def test_half_close(fault_bed, kind):
    """A client that has said all it has to say is answered."""
    with _served(fault_bed) as listeners, Attacker(listeners, kind) as client:
        client.exchange(_HELLO, lambda frames: any(one.kind == SETTINGS for one in frames))
        assert client.push(memoryview(_get(1, _OWN))) > 0
        if kind == "http":
            client.shut()
        frames = client.exchange(b"", lambda frames: any(one.kind == DATA for one in frames))
        assert [one.flags for one in frames if one.kind == DATA] == [END_STREAM]


def test_unread_replies(fault_bed):
    """Wide windows, and nothing read: as much as fits is sent, the rest waits in few buffers."""
    connections = 100
    bed = fault_bed
    with _served(bed) as listeners:
        hogs = [Attacker(listeners, "https") for _ in range(connections)]
        requests = (_get(stream, "default.svc.cluster.local") for stream in _streams(5000))
        data = memoryview(_HELLO + _WIDE + b"".join(requests))
        places = [0] * connections

        def push() -> bool:
            moved = 0
            for i, hog in enumerate(hogs):
                try:
                    n = hog.push(data[places[i] : places[i] + (1 << 16)]) if places[i] < len(data) else 0
                except (ConnectionError, ssl.SSLError):
                    n, places[i] = 0, len(data)  # closed: it had more than its share
                places[i] += n
                moved += n
            return moved > 0

        _check_others(bed, listeners, lambda: not push(), least=20)
        for hog in hogs:
            hog.close()
    bed.note(f"{connections} connections not read from")

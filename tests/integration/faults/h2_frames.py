"""As much of HTTP/2 (RFC 9113) and HPACK as needed to reply wrongly on purpose."""

import socket
import struct
from typing import Iterator, NamedTuple

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING = range(7)
GOAWAY, WINDOW_UPDATE, CONTINUATION = 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_STATUS_200 = b"\x88"  # indexed: RFC 7541, appendix A


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: str, value: str) -> bytes:
    """A header field, not indexed; name and value shorter than 127 bytes."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


REPLY_FIELDS = _STATUS_200 + literal("content-type", "application/grpc")


def reply_headers(stream: int) -> bytes:
    return frame(HEADERS, END_HEADERS, stream, REPLY_FIELDS)


def trailers(stream: int, status: str, message: str = "") -> bytes:
    fields = literal("grpc-status", status) + literal("grpc-message", message)
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, fields)


def message(payload: bytes, length: int | None = None, is_compressed: bool = False) -> bytes:
    """A gRPC message; length: the length claimed in its prefix."""
    claimed = len(payload) if length is None else length
    return struct.pack(">BI", is_compressed, claimed) + payload


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the client has closed")
        data += part
    return data


def greet(connection: socket.socket) -> None:
    """Reads the client's preface, sends our SETTINGS."""
    assert _read_exactly(connection, len(PREFACE)) == PREFACE
    connection.sendall(frame(SETTINGS))


def read_frames(connection: socket.socket) -> Iterator[Frame]:
    while True:
        head = _read_exactly(connection, 9)
        length = int.from_bytes(head[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        yield Frame(kind, flags, stream, _read_exactly(connection, length))


def wait_request(connection: socket.socket) -> int:
    """After greet: the number of the first stream whose request message has arrived."""
    for one in read_frames(connection):
        if one.kind == SETTINGS and not one.flags & ACK:
            connection.sendall(frame(SETTINGS, ACK))
        if one.kind == DATA:
            return one.stream
    raise ConnectionError


def requests(connection: socket.socket) -> Iterator[int]:
    """After greet: the stream of each request message, until the client closes. Replies to pings, like a peer
    that is broken only above HTTP/2.
    """
    for one in read_frames(connection):
        if one.kind == SETTINGS and not one.flags & ACK:
            connection.sendall(frame(SETTINGS, ACK))
        elif one.kind == PING and not one.flags & ACK:
            connection.sendall(frame(PING, ACK, 0, one.payload))
        elif one.kind == DATA:
            yield one.stream


def wait_closed(connection: socket.socket) -> None:
    """Ignores what the client sends meanwhile."""
    while connection.recv(1 << 16):
        pass


def reset(connection: socket.socket) -> None:
    """TCP RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

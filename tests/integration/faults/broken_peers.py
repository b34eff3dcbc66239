"""Scripts for a Peer: each gets one connection and does one wrong thing on it. Most then wait until the client
closes it, so that the client must notice by itself.
"""

import random
import socket

import h2_frames as h2
from h2_frames import CONTINUATION, DATA, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame

_FRAME_MAX = 16384  # the largest frame that a client accepts by default
_HUGE = 100 << 20


def _send_forever(connection: socket.socket, data: bytes) -> None:
    while True:
        connection.sendall(data)


# ---- Not HTTP/2 at all ----


def garbage(connection):
    connection.sendall(random.Random(1).randbytes(100_000))
    h2.wait_closed(connection)


def http1(connection):
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    h2.wait_closed(connection)


def endless_garbage(connection):
    _send_forever(connection, bytes(_FRAME_MAX))


# ---- Too many or too large frames ----


def endless_headers(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    field = h2.literal("x" * 100, "y" * 100)
    connection.sendall(frame(HEADERS, 0, stream, h2.REPLY_FIELDS))
    _send_forever(connection, frame(CONTINUATION, 0, stream, field * 70))


def endless_trailers(connection):
    """Complete header blocks, one after the other."""
    h2.greet(connection)
    stream = h2.wait_request(connection)
    _send_forever(connection, h2.reply_headers(stream) * 100)


def frame_of_16_mib(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(h2.reply_headers(stream) + frame(DATA, 0, stream, bytes((1 << 24) - 1)))
    h2.wait_closed(connection)


def message_of_100_mb(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(h2.reply_headers(stream))
    connection.sendall(frame(DATA, 0, stream, h2.message(b"", length=_HUGE)))
    for _ in range(_HUGE // _FRAME_MAX):
        connection.sendall(frame(DATA, 0, stream, bytes(_FRAME_MAX)))
    h2.wait_closed(connection)


def empty_frames(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(h2.reply_headers(stream))
    for _ in range(200):
        connection.sendall(frame(DATA, 0, stream) * 100)
    h2.reset(connection)


def pings_and_settings(connection):
    """Each requires a reply, which this side never reads."""
    h2.greet(connection)
    for _ in range(2000):
        connection.sendall((frame(PING, 0, 0, bytes(8)) + frame(SETTINGS)) * 50)
    h2.reset(connection)


# ---- Frames in the wrong order ----


def data_before_headers(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(frame(DATA, 0, stream, h2.message(b"\x08\x01")))
    h2.wait_closed(connection)


def trailers_before_data(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(h2.reply_headers(stream) + h2.trailers(stream, "0"))
    connection.sendall(frame(DATA, END_STREAM, stream, h2.message(b"\x08\x01")))
    h2.wait_closed(connection)


def continuation_alone(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(frame(CONTINUATION, h2.END_HEADERS, stream, h2.REPLY_FIELDS))
    h2.wait_closed(connection)


def push(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(frame(h2.PUSH_PROMISE, h2.END_HEADERS, stream, b"\0\0\0\2" + h2.REPLY_FIELDS))
    h2.wait_closed(connection)


def window_overflow(connection):
    h2.greet(connection)
    connection.sendall(frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2)
    h2.wait_closed(connection)


# ---- Bad replies to each request, from an otherwise healthy peer ----


def status_without_message(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream) + h2.trailers(stream, "0"))


def odd_status(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream) + h2.trailers(stream, "99999999999", "%zz%e2%82%"))


def no_status(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(frame(HEADERS, h2.END_HEADERS | END_STREAM, stream, h2.REPLY_FIELDS))


def no_leader(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream) + h2.trailers(stream, "14", "etcdserver: no leader"))


def compressed_message(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream))
        connection.sendall(frame(DATA, 0, stream, h2.message(b"\x1f\x8b", is_compressed=True)))


def broken_protobuf(connection):
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream))
        connection.sendall(frame(DATA, 0, stream, h2.message(b"\xff" * 1000)) + h2.trailers(stream, "0"))


def empty_message(connection):
    """All fields have their defaults: revision 0, nothing written."""
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(h2.reply_headers(stream) + frame(DATA, 0, stream, h2.message(b"")))
        connection.sendall(h2.trailers(stream, "0"))


def no_answer(connection):
    h2.greet(connection)
    for _ in h2.requests(connection):
        pass


def goaway(connection):
    h2.greet(connection)
    h2.wait_request(connection)
    connection.sendall(frame(GOAWAY, 0, 0, bytes(4) + b"\0\0\0\2" + b"too bad"))
    h2.reset(connection)


# ---- RST_STREAM, and TCP RST, in every state ----


def _cancel_each(connection, before) -> None:
    """Each request, after the frames that `before` makes for its stream."""
    h2.greet(connection)
    for stream in h2.requests(connection):
        connection.sendall(before(stream) + frame(RST_STREAM, 0, stream, b"\0\0\0\2"))


def rst_stream_after_request(connection):
    _cancel_each(connection, lambda stream: b"")


def rst_stream_after_headers(connection):
    _cancel_each(connection, h2.reply_headers)


def rst_stream_in_prefix(connection):
    _cancel_each(connection, lambda stream: h2.reply_headers(stream) + frame(DATA, 0, stream, b"\0\0"))


def rst_stream_in_message(connection):
    part = h2.message(b"\x08\x01", length=10)
    _cancel_each(connection, lambda stream: h2.reply_headers(stream) + frame(DATA, 0, stream, part))


def rst_at_once(connection):
    h2.reset(connection)


def rst_after_settings(connection):
    h2.greet(connection)
    h2.reset(connection)


def rst_after_request(connection):
    h2.greet(connection)
    h2.wait_request(connection)
    h2.reset(connection)


def rst_in_frame_header(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    connection.sendall(h2.reply_headers(stream)[:5])
    h2.reset(connection)


def rst_in_message(connection):
    h2.greet(connection)
    stream = h2.wait_request(connection)
    part = h2.message(b"\x08\x01", length=10)
    connection.sendall(h2.reply_headers(stream) + frame(DATA, 0, stream, part))
    h2.reset(connection)


# ---- Nothing ----


def silence(connection):
    h2.wait_closed(connection)


def silence_after_settings(connection):
    h2.greet(connection)
    h2.wait_closed(connection)


def _is_script(value) -> bool:
    return callable(value) and getattr(value, "__module__", "") == __name__ and value.__name__[0] != "_"


SCRIPTS = [value for value in list(globals().values()) if _is_script(value)]

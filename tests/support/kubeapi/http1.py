"""HTTP/1.1 for the API server: an asyncio Protocol that parses requests and writes replies or chunked
streams.

A connection handles one request at a time; further bytes wait in the buffer until it is answered. The
application gets (connection, request) and calls reply() or open_stream() on the connection, at once or
later.
"""

import asyncio
import json
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

# Headers of kubectl and libcurl are below 2 KiB, including tokens; real API servers allow 1 MiB.
HEAD_BYTES_MAX = 64 * 1024
# The real server's limit is 3 MiB.
BODY_BYTES_MAX = 3 * 1024 * 1024


class BadRequest(Exception):
    """Not an HTTP/1.1 request; the connection ends."""


class Request:
    __slots__ = ("method", "path", "query", "headers", "body", "target")

    def __init__(self, method: str, target: str, headers: dict[str, str]):
        self.method = method
        self.target = target
        parts = urlsplit(target)
        self.path = unquote(parts.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.headers = headers
        self.body = b""

    def json(self) -> dict:
        """The body as a JSON object; ValueError if it is not one."""
        value = json.loads(self.body or b"{}")
        if not isinstance(value, dict):
            raise ValueError("a JSON object was expected")
        return value


def parse_head(head: bytes) -> Request:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest("malformed request line")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest("malformed header line")
        headers[name.strip().lower()] = value.strip()
    return Request(words[0], words[1], headers)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Connection(asyncio.Protocol):
    def __init__(self, app):
        self._app = app
        self._buffer = bytearray()
        self._request: Request | None = None  # whose body is incomplete
        self._is_busy = False  # the application has a request
        self._is_parsing = False  # _next_request is on the stack already
        self._stream = None  # the stream of open_stream
        self.transport: asyncio.Transport | None = None
        self.is_paused = False

    # ---- asyncio.Protocol ----

    def connection_made(self, transport):
        self.transport = transport
        self._app.connections.add(self)

    def connection_lost(self, exc):
        self._app.connections.discard(self)
        if self._stream is not None:
            self._stream.connection_lost()

    def data_received(self, data):
        self._buffer += data
        if len(self._buffer) > HEAD_BYTES_MAX + BODY_BYTES_MAX:
            self.transport.abort()
            return
        self._next_request()

    def pause_writing(self):
        self.is_paused = True

    def resume_writing(self):
        self.is_paused = False
        if self._stream is not None:
            self._stream.resume()

    # ---- For the application ----

    def reply(self, status: int, body: bytes, content_type: str = "application/json", headers: str = "") -> None:
        if self.transport.is_closing():
            return
        self.transport.write(
            f"HTTP/1.1 {status} {reason(status)}\r\nContent-Type: {content_type}\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        self._is_busy = False
        self._next_request()

    def open_stream(self, stream, content_type: str = "application/json") -> None:
        """Replies 200 and then sends chunks: calls stream.resume() when it may write again,
        stream.connection_lost() at the end.
        """
        self._stream = stream
        self.transport.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )

    def write_chunks(self, chunks: bytes) -> None:
        self.transport.write(chunks)

    def close_stream(self) -> None:
        """The regular end of a chunked reply; the connection can serve another request."""
        self._stream = None
        if self.transport.is_closing():
            return
        self.transport.write(b"0\r\n\r\n")
        self._is_busy = False
        self._next_request()

    def cut(self, last: bytes = b"") -> None:
        """Ends the connection after these bytes, even in the middle of a reply."""
        if last:
            self.transport.write(last)
        self.transport.close()

    # ---- Parsing ----

    def _next_request(self) -> None:
        if self._is_parsing:
            return
        self._is_parsing = True
        try:
            while not self._is_busy and self._take_request():
                request, self._request = self._request, None
                self._is_busy = True
                self._app.handle(self, request)
        except (BadRequest, ValueError) as error:
            self._is_busy = True
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            self.transport.close()
            self._app.log(f"bad request: {error}")
        finally:
            self._is_parsing = False

    def _take_request(self) -> bool:
        """True once self._request is complete and out of the buffer."""
        if self._request is None:
            end = self._buffer.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
            if end < 0:
                if len(self._buffer) >= HEAD_BYTES_MAX:
                    raise BadRequest("header too long")
                return False
            self._request = parse_head(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
            if self._request.headers.get("expect", "").lower() == "100-continue":
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._request.headers.get("transfer-encoding", "").lower() == "chunked":
            return self._take_chunked_body()
        length = int(self._request.headers.get("content-length", "0"))
        if not 0 <= length <= BODY_BYTES_MAX:
            raise BadRequest("body too long")
        if len(self._buffer) < length:
            return False
        self._request.body += bytes(self._buffer[:length])
        del self._buffer[:length]
        return True

    def _take_chunked_body(self) -> bool:
        while (line_end := self._buffer.find(b"\r\n")) >= 0:
            size = int(bytes(self._buffer[:line_end]).split(b";")[0], 16)
            if size < 0 or size + len(self._request.body) > BODY_BYTES_MAX:
                raise BadRequest("body too long")
            if len(self._buffer) < line_end + 2 + size + 2:
                return False
            self._request.body += bytes(self._buffer[line_end + 2 : line_end + 2 + size])
            del self._buffer[: line_end + 2 + size + 2]
            if size == 0:
                return True
        return False


def reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"

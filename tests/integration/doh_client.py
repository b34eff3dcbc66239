"""HTTP clients of both versions for tests of DNS over HTTPS: any request, the whole reply, on one connection that is
never opened again.
"""

import http.client
import ssl
from dataclasses import dataclass

import dns.message
import transports
from transports import KINDS, PATH, TYPE, Listeners

HTTP1, HTTP2 = ("https-1.1", "http-1.1"), ("https", "http")


@dataclass
class Reply:
    status: int
    fields: dict[str, str]  # names in lower case
    body: bytes

    @property
    def message(self) -> dns.message.Message:
        assert self.status == 200, f"{self.status}: {self.body!r}"
        assert self.fields["content-type"] == TYPE
        return dns.message.from_wire(self.body)


class _Http1:
    def __init__(self, listeners: Listeners, kind: str):
        self._connection = http.client.HTTPConnection("127.0.0.1")
        self._connection.auto_open = 0
        self.socket = self._connection.sock = listeners.connect(kind)

    def request(self, method: str, path: str, fields: dict[str, str] | None = None, body: bytes = b"", **how) -> Reply:
        """how: encode_chunked for a body without content-length."""
        self._connection.request(method, path, body or None, fields or {}, **how)
        with self._connection.getresponse() as reply:
            return Reply(reply.status, {name.lower(): text for name, text in reply.getheaders()}, reply.read())


class _Http2(transports._Http2):
    def __init__(self, listeners: Listeners, kind: str):
        super().__init__(listeners, kind, {})
        self.socket = self._socket = listeners.connect(kind)
        self._opened()

    def request(self, method: str, path: str, fields: dict[str, str] | None = None, body: bytes = b"") -> Reply:
        got, body = ask_http2(self, method, path, fields or {}, body)
        return Reply(int(got[":status"]), got, body)


def ask_http2(asker, method: str, path: str, fields: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    """As transports._Http2, with a body of any length in frames, as far as the server's windows allow."""
    connection, stream = asker._h2, asker._h2.get_next_available_stream_id()
    head = {":method": method, ":scheme": "https", ":authority": "127.0.0.1", ":path": path, **fields}
    connection.send_headers(stream, list(head.items()), end_stream=not body)
    while body:
        part = min(connection.max_outbound_frame_size, connection.local_flow_control_window(stream))
        if part == 0:  # the server's settings, or its window, have not come yet
            asker._socket.sendall(connection.data_to_send())
            connection.receive_data(asker._receive())
            continue
        connection.send_data(stream, body[:part], end_stream=len(body) <= part)
        body = body[part:]
    asker._socket.sendall(connection.data_to_send())
    return asker._reply(stream)


class Client:
    """`with Client(listeners, kind) as client: client.get(wire)`; kind: one of HTTP1, HTTP2."""

    def __init__(self, listeners: Listeners, kind: str):
        self._http = (_Http1 if KINDS[kind][1] == "http/1.1" else _Http2)(listeners, kind)
        self.socket, self.request = self._http.socket, self._http.request

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc) -> None:
        self.socket.close()

    def get(self, wire: bytes) -> Reply:
        return self.request("GET", transports.get_path(wire))

    def head(self, wire: bytes) -> Reply:
        return self.request("HEAD", transports.get_path(wire))

    def post(self, wire: bytes) -> Reply:
        return self.request("POST", PATH, {"content-type": TYPE}, wire)

    def has_ended(self) -> bool:
        """Waits for the end; whatever comes before is passed over."""
        if self.socket.fileno() < 0:
            return True  # http.client has closed it, as the server said
        try:
            while self.socket.recv(65536):
                pass
        except ssl.SSLEOFError:
            pass  # without a close_notify
        return True

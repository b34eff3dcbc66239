"""DNS over each of skydns' transports, by Python's own TLS and HTTP/1.1 and by hyper-h2: raw messages in, raw replies
out, on a connection that is kept.

    listeners = Listeners(folder)
    bed.start_skydns("-no-rec", *listeners.flags(bed.dns.port))
    reply = listeners.dns("https").query(NAME)
"""

import base64
import http.client
import socket
import ssl
import struct
from pathlib import Path

import h2.config
import h2.connection
import h2.events
from certificates import Authority
from dns_client import Dns
from programs import reserve_port

TIMEOUT_S = 20.0
PATH, TYPE = "/dns-query", "application/dns-message"
GRPC_PATH = "/coredns.dns.DnsService/Query"

# Name here: the scheme of skydns' address, and what is spoken.
KINDS = {
    "tls": ("tls", "dot"),
    "https": ("https", "h2"),
    "https-1.1": ("https", "http/1.1"),
    "http": ("http", "h2"),
    "http-1.1": ("http", "http/1.1"),
    "grpc": ("grpc", "h2"),
}


class Listeners:
    """Ports for all of them, and a certificate. Each in a folder has a name of its own."""

    def __init__(self, folder: Path, name: str = "listeners"):
        authority = Authority(folder, f"{name}-ca")
        self.ca = authority.certificate
        self.certificate, self.key = authority.sign(name)
        self.ports = {scheme: reserve_port() for scheme, _ in KINDS.values()}

    def flags(self, port: int, *more: str) -> list[str]:
        """skydns' flags, instead of -addr with the port for UDP and TCP. more: further addresses."""
        urls = [f"{scheme}://127.0.0.1:{port}" for scheme, port in self.ports.items()]
        addresses = ",".join([f"127.0.0.1:{port}", *urls, *more])
        return [f"-addr={addresses}", f"-cert={self.certificate}", f"-key={self.key}"]

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        context.set_alpn_protocols(protocols)
        return context

    def connect(self, kind: str, **options) -> socket.socket:
        """Over TLS, if the kind has that: gRPC has, since there is a certificate. options: those of
        socket.create_connection.
        """
        scheme, protocol = KINDS[kind]
        plain = socket.create_connection(("127.0.0.1", self.ports[scheme]), TIMEOUT_S, **options)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # http.client sends a body after the head
        if scheme == "http":
            return plain
        return self.context(protocol).wrap_socket(plain, server_hostname="127.0.0.1")

    def asker(self, kind: str, **options) -> "Asker":
        return _ASKERS[kind](self, kind, options)

    def dns(self, kind: str, **options) -> Dns:
        return Dns(self.ports[KINDS[kind][0]], exchange=self.asker(kind, **options).exchange)


class Asker:
    """One kind of connection, opened when it is needed, and again when the server has closed it."""

    def __init__(self, listeners: Listeners, kind: str, options: dict):
        self._listeners, self.kind, self._options = listeners, kind, options
        self._socket: socket.socket | None = None
        self._count = 0

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def exchange(self, wire: bytes) -> bytes:
        was_open = self._socket is not None
        try:
            return self._try(wire)
        except (ConnectionError, EOFError, ssl.SSLEOFError):
            if not was_open:
                raise
            self.close()  # it was closed while nothing was asked
            return self._try(wire)

    def _try(self, wire: bytes) -> bytes:
        if self._socket is None:
            self._socket = self._listeners.connect(self.kind, **self._options)
            self._opened()
        self._count += 1
        return self._ask(wire)

    def _opened(self) -> None:
        pass

    def _ask(self, wire: bytes) -> bytes:
        raise NotImplementedError

    def _receive(self) -> bytes:
        part = self._socket.recv(65536)
        if not part:
            raise EOFError(f"{self.kind}: the connection has ended")
        return part


class _Framed(Asker):
    """DNS's own framing."""

    def _ask(self, wire: bytes) -> bytes:
        self._socket.sendall(struct.pack("!H", len(wire)) + wire)
        reply = b""
        while len(reply) < 2 or len(reply) - 2 < int.from_bytes(reply[:2], "big"):
            reply += self._receive()
        assert len(reply) - 2 == int.from_bytes(reply[:2], "big"), "more than one reply"
        return reply[2:]


def get_path(wire: bytes) -> str:
    return f"{PATH}?dns={base64.urlsafe_b64encode(wire).decode().rstrip('=')}"


class _Http1(Asker):
    """HTTP/1.1: POST and GET in turn."""

    def _ask(self, wire: bytes) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1")
        connection.sock = self._socket
        if self._count % 2:
            connection.request("POST", PATH, wire, {"Content-Type": TYPE})
        else:
            connection.request("GET", get_path(wire))
        with connection.getresponse() as reply:
            body = reply.read()
            assert reply.status == 200, f"{self.kind}: status {reply.status}, {body!r}"
            assert reply.headers["content-type"] == TYPE
            return body


class _Http2(Asker):
    """HTTP/2: POST and GET in turn."""

    def _opened(self) -> None:
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self._h2 = h2.connection.H2Connection(config)
        self._h2.initiate_connection()

    def _ask(self, wire: bytes) -> bytes:
        more = {"content-type": TYPE, "content-length": str(len(wire))}
        fields, body = (
            self._request("POST", PATH, more, wire) if self._count % 2 else self._request("GET", get_path(wire), {}, b"")
        )
        assert fields[":status"] == "200", f"{self.kind}: status {fields[':status']}, {body!r}"
        assert fields["content-type"] == TYPE
        return body

    def _request(self, method: str, path: str, fields: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
        """All fields of the reply, trailers included, and its body."""
        scheme = KINDS[self.kind][0].replace("grpc", "https")
        head = {":method": method, ":scheme": scheme, ":authority": "127.0.0.1", ":path": path, **fields}
        stream = self._h2.get_next_available_stream_id()
        self._h2.send_headers(stream, list(head.items()), end_stream=not body)
        if body:
            self._h2.send_data(stream, body, end_stream=True)
        self._socket.sendall(self._h2.data_to_send())
        return self._reply(stream)

    def _reply(self, stream: int) -> tuple[dict[str, str], bytes]:
        fields, body = {}, b""
        while True:
            for event in self._h2.receive_data(self._receive()):
                if isinstance(event, h2.events.ConnectionTerminated):
                    raise EOFError(f"{self.kind}: GOAWAY, {event.error_code}")
                if getattr(event, "stream_id", None) != stream:
                    continue
                if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                    fields |= dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                    self._h2.acknowledge_received_data(event.flow_controlled_length, stream)
                elif isinstance(event, h2.events.StreamReset):
                    raise AssertionError(f"{self.kind}: RST_STREAM, {event.error_code}")
                elif isinstance(event, h2.events.StreamEnded):
                    self._socket.sendall(self._h2.data_to_send())
                    return fields, body
            self._socket.sendall(self._h2.data_to_send())


def packet(wire: bytes) -> bytes:
    """gRPC's frame around DnsPacket { bytes msg = 1; }."""
    length, size = b"", len(wire)
    while size >= 128:
        length += bytes([size & 127 | 128])
        size >>= 7
    message = b"\n" + length + bytes([size]) + wire
    return struct.pack("!BI", 0, len(message)) + message


def message_of(frame: bytes) -> bytes:
    """The DNS message of a packet."""
    assert frame[0] == 0 and frame[5:6] == b"\n", frame[:8]
    assert int.from_bytes(frame[1:5], "big") == len(frame) - 5
    at, size, shift = 6, 0, 0
    while True:
        size |= (frame[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if frame[at - 1] < 128:
            break
    assert len(frame) == at + size
    return frame[at:]


class _Grpc(_Http2):
    def _ask(self, wire: bytes) -> bytes:
        fields = {"content-type": "application/grpc", "te": "trailers"}
        fields, body = self._request("POST", GRPC_PATH, fields, packet(wire))
        assert fields["grpc-status"] == "0", f"{fields}"
        return message_of(body)


_ASKERS = {"tls": _Framed, "https": _Http2, "https-1.1": _Http1, "http": _Http2, "http-1.1": _Http1, "grpc": _Grpc}

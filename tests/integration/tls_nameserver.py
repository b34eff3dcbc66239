"""A nameserver over TLS (RFC 7858) in Python, honest or not; tells what it has seen."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable

import dns.edns
import dns.message
import dns.rdatatype
import dns.rrset
from programs import reserve_port

ADDRESS = "192.0.2.53"
KEEPALIVE = 11


def answer(query: bytes, keepalive_ds: int | None = None) -> bytes:
    question = dns.message.from_wire(query)
    reply = dns.message.make_response(question)
    if keepalive_ds is not None:
        option = dns.edns.GenericOption(KEEPALIVE, struct.pack("!H", keepalive_ds))
        reply.use_edns(0, options=[option])
    if question.question[0].rdtype == 1:
        reply.answer.append(dns.rrset.from_text(question.question[0].name, 77, "IN", "A", ADDRESS))
    return reply.to_wire()


class Connection:
    def __init__(self, sock: ssl.SSLSocket):
        self.sock = sock

    def _read(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            more = self.sock.recv(size - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def read(self) -> bytes:
        return self._read(*struct.unpack("!H", self._read(2)))

    def write(self, *messages: bytes) -> None:
        self.sock.sendall(b"".join(struct.pack("!H", len(message)) + message for message in messages))

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# What a server does with a connection, until it returns: then the connection is closed.
Script = Callable[["TlsNameserver", Connection], None]


def answers(server: "TlsNameserver", connection: Connection) -> None:
    while True:
        connection.write(answer(server.take(connection), server.keepalive_ds))


def closes_after_each(server: "TlsNameserver", connection: Connection) -> None:
    """Reads what else has come, so that the kernel does not reset the connection and lose the reply."""
    connection.write(answer(server.take(connection)))
    connection.sock.shutdown(socket.SHUT_WR)
    while connection.sock.recv(4096):
        pass


def resets(server: "TlsNameserver", connection: Connection) -> None:
    server.take(connection)
    connection.reset()


def is_silent(server: "TlsNameserver", connection: Connection) -> None:
    while True:
        server.take(connection)


def in_reverse(count: int) -> Script:
    """Answers once it has so many queries, the last one first; skydns' own (HINFO), which it repeats, at once."""

    def script(server: "TlsNameserver", connection: Connection) -> None:
        queries = []
        while True:
            query = server.take(connection)
            if dns.message.from_wire(query).question[0].rdtype == dns.rdatatype.HINFO:
                connection.write(answer(query))
                continue
            queries.append(query)
            if len(queries) == count:
                connection.write(*map(answer, reversed(queries)))
                queries.clear()

    return script


class TlsNameserver:
    """Accepts connections, each with a thread of its own, until the end of the test run."""

    def __init__(self, certificate: str, key: str, script: Script = answers, port: int = 0):
        self.script, self.keepalive_ds = script, None
        self.queries: list[bytes] = []
        self.accepted = 0  # connections over TCP
        self.handshakes: list[bool] = []  # whether it was resumed
        self.open = 0
        self._lock = threading.Lock()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.show(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", port or reserve_port()))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def show(self, certificate: str, key: str) -> None:
        self._context.load_cert_chain(certificate, key)
        self._context.set_alpn_protocols(["dot"])

    def require_certificate(self, authority: str) -> None:
        """Of its clients, signed by this CA."""
        self._context.load_verify_locations(authority)
        self._context.verify_mode = ssl.CERT_REQUIRED

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def take(self, connection: Connection) -> bytes:
        query = connection.read()
        with self._lock:
            self.queries.append(query)
        return query

    def names(self) -> list[str]:
        return [str(dns.message.from_wire(query).question[0].name) for query in list(self.queries)]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.accepted += 1
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), self._context.wrap_socket(sock, server_side=True) as tls:
            with self._lock:
                self.handshakes.append(bool(tls.session_reused))
                self.open += 1
            try:
                self.script(self, Connection(tls))
            finally:
                with self._lock:
                    self.open -= 1


class PlainNameserver:
    """Takes what comes over TCP, replies to nothing."""

    def __init__(self):
        self.port = reserve_port()
        self.bytes = b""
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            self.accepted += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock:
            while more := sock.recv(4096):
                self.bytes += more

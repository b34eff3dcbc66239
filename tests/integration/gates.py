"""Between kube2sky and an API server: TLS that requires a client certificate, and proxies. Each listens on
its own loopback port, runs threads, and records the requests.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from programs import reserve_port

_HEAD_MAX = 64 * 1024


class Gate:
    """Connects each client to the socket that `enter` returns; None: `enter` has already sent a refusal."""

    def __init__(
        self,
        enter: Callable[[socket.socket], socket.socket | None],
        tls: ssl.SSLContext | None = None,
        address: str = "127.0.0.1",
    ):
        self._enter = enter
        self._tls = tls
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, reserve_port()), family=family)
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exc) -> None:
        self._listener.close()
        for end in list(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):  # the end
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError):  # a side closed, or the client does not speak TLS
            if self._tls:
                client = _shake_hands(client, self._tls)
            with client:
                self._open.add(client)
                target = self._enter(client)
                if target:
                    with target:
                        self._open.add(target)
                        back = threading.Thread(target=_pump, args=(target, client), daemon=True)
                        back.start()
                        _pump(client, target)
                        back.join()


def _shake_hands(client: socket.socket, tls: ssl.SSLContext) -> ssl.SSLSocket:
    wrapped = tls.wrap_socket(client, server_side=True, do_handshake_on_connect=False)
    try:
        wrapped.do_handshake()
    except ssl.SSLError:
        # The alert must arrive: closing with unread data would reset the connection first.
        with socket.socket(fileno=wrapped.detach()) as raw:
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
        raise
    return wrapped


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def server_tls(certificate: str, key: str, client_authority: str | None = None) -> ssl.SSLContext:
    """client_authority: reject clients without a certificate signed by it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_authority:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    return context


def tls_gate(url: str, tls: ssl.SSLContext, address: str = "127.0.0.1") -> Gate:
    """TLS in front of the server at an http:// URL."""
    parts = urlsplit(url)
    return Gate(lambda client: socket.create_connection((parts.hostname, parts.port)), tls, address)


class Proxy:
    """Common to all proxies: `asked` has every requested host:port. Every name resolves to 127.0.0.1 here,
    so a name that exists nowhere else proves that the proxy resolved it.
    """

    def __init__(self):
        self.asked: list[str] = []
        self.heads: list[str] = []

    def connect(self, host: str, port: int) -> socket.socket:
        self.asked.append(f"{host}:{port}")
        return socket.create_connection(("127.0.0.1", port))


class HttpProxy(Proxy):
    """CONNECT only; `refusal`: the status of every reply, such as "407 Proxy Authentication Required"."""

    def __init__(self, tls: ssl.SSLContext | None = None, refusal: str = ""):
        super().__init__()
        self.refusal = refusal
        self.gate = Gate(self._enter, tls)

    def _enter(self, client: socket.socket) -> socket.socket | None:
        head = _read_until(client, b"\r\n\r\n").decode()
        self.heads.append(head)
        method, authority, _ = head.split(" ", 2)
        host, port = authority.rsplit(":", 1)
        if method != "CONNECT" or self.refusal:
            client.sendall(f"HTTP/1.1 {self.refusal or '405 No'}\r\nContent-Length: 0\r\n\r\n".encode())
            return None
        target = self.connect(host, int(port))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        return target


class SocksProxy(Proxy):
    """RFC 1928, without authentication; `refusal` is the code of every reply, 0 = none."""

    def __init__(self, refusal: int = 0):
        super().__init__()
        self.refusal = refusal
        self.gate = Gate(self._enter)

    def _enter(self, client: socket.socket) -> socket.socket | None:
        methods = _read(client, 2)[1]
        _read(client, methods)
        client.sendall(b"\x05\x00")
        kind = _read(client, 4)[3]
        host = {
            1: lambda: socket.inet_ntop(socket.AF_INET, _read(client, 4)),
            3: lambda: _read(client, _read(client, 1)[0]).decode(),
            4: lambda: socket.inet_ntop(socket.AF_INET6, _read(client, 16)),
        }[kind]()
        port = int.from_bytes(_read(client, 2), "big")
        target = None if self.refusal else self.connect(host, port)
        client.sendall(bytes([5, self.refusal, 0, 1, 0, 0, 0, 0, 0, 0]))
        return target


def _read(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def _read_until(client: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        if len(data) > _HEAD_MAX:
            raise OSError("head too long")
        data += _read(client, 1)
    return data

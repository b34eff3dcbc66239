"""A nameserver that keeps up with floods: what it says depends on the labels of the name alone.

`silent`: nothing. `long`: truncated over UDP, nothing over TCP. `stream`: truncated over UDP. `broken`:
SERVFAIL. Otherwise each A is ADDRESS, with TTL 0. What skydns asks of itself, probes and loop checks, is always
answered.
"""

import socket
import struct
import threading
from collections import Counter

from programs import reserve_port

ADDRESS = "192.0.2.7"

_A, _TTL_S = 1, 0
_KINDS = ("silent", "long", "stream", "broken")
_REPLY, _TRUNCATED, _SERVFAIL = 0x8180, 0x8380, 0x8182


class QuickUpstream:
    def __init__(self):
        self.port = reserve_port()
        self.seen: Counter[str] = Counter()  # queries, by what becomes of them
        self._connections: list[socket.socket] = []  # accepted, and held open
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._udp.bind(("127.0.0.1", self.port))
        self._tcp = socket.create_server(("127.0.0.1", self.port), backlog=1024)
        self._threads = [threading.Thread(target=serve, daemon=True) for serve in (self._serve, self._accept)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "QuickUpstream":
        return self

    def __exit__(self, *exc) -> None:
        for server in (self._udp, self._tcp):
            try:
                server.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a UDP socket has no peer; the call still wakes the receiving thread
        for thread in self._threads:
            thread.join()
        for connection in (*self._connections, self._udp, self._tcp):
            connection.close()

    def _serve(self) -> None:
        while True:
            query, client = self._udp.recvfrom(65535)
            if not query:
                return  # shut down
            reply = self.reply(query)
            if reply:
                self._udp.sendto(reply, client)

    def _accept(self) -> None:
        try:
            while True:
                connection = self._tcp.accept()[0]
                self._connections.append(connection)
                threading.Thread(target=self._serve_stream, args=(connection,), daemon=True).start()
        except OSError:
            pass  # shut down

    def _serve_stream(self, connection: socket.socket) -> None:
        """One query each, as skydns sends them: in one segment."""
        try:
            reply = self.reply(connection.recv(65535)[2:], over_tcp=True)
            if reply:
                connection.sendall(len(reply).to_bytes(2, "big") + reply)
        except (OSError, ValueError):
            pass  # given up: skydns has closed it

    def reply(self, query: bytes, over_tcp: bool = False) -> bytes | None:
        kind, reply = self.reply_to(query, over_tcp)
        self.seen[kind] += 1
        return reply

    @staticmethod
    def reply_to(query: bytes, over_tcp: bool) -> tuple[str, bytes | None]:
        """What becomes of it, and the reply."""
        end = query.index(0, 12) + 5
        if struct.unpack_from("!H", query, end - 4)[0] != _A:
            return "own", query[:2] + struct.pack("!HHHHH", _REPLY, 1, 0, 0, 0) + query[12:end]
        labels = query[12 : end - 4].lower()
        kind = next((kind for kind in _KINDS if bytes([len(kind)]) + kind.encode() in labels), "other")
        if kind == "silent" or (kind == "long" and over_tcp):
            return kind, None
        if kind == "broken" or (kind in ("long", "stream") and not over_tcp):
            flags = _SERVFAIL if kind == "broken" else _TRUNCATED
            return kind, query[:2] + struct.pack("!HHHHH", flags, 1, 0, 0, 0) + query[12:end]
        answer = b"\xc0\x0c" + struct.pack("!HHIH", _A, 1, _TTL_S, 4) + socket.inet_aton(ADDRESS)
        return kind, query[:2] + struct.pack("!HHHHH", _REPLY, 1, 1, 0, 0) + query[12:end] + answer

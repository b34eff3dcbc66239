"""A steady load of DNS queries over TCP or TLS from a separate process: the streams' counterpart of query_load.py.

    with StreamLoad(port, question, ca=None, rate=1000) as load: ...
    load.result  # at the end

One client asks one query a connection, some PER_CONNECTION, some keep theirs until the server closes it. None asks
twice: a query whose connection ends before its answer is lost, as is one without an answer after DEADLINE_S. A
connection that ends while no query is on its way is opened again, as any client does.

Of the clients that keep their connection, a query that crosses the server's close counts apart: no server can close a
connection that a client never ends without that, and RFC 7766, 6.2.4, has the client ask again.
"""

import json
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import dns.message
from query_load import DEADLINE_S, answers_of

PER_CONNECTION = 20
# Of the clients, one asks one query a connection, and one in so many keeps its own.
_KEPT = 4
_CLIENTS = 8


@dataclass
class StreamResult:
    sent: int
    lost: int
    wrong: int
    crossed: int  # the close of a connection that was kept for long
    connections: int
    slowest_ms: float
    rate: float
    examples: list[str]

    def check(self) -> None:
        assert self.sent > 0
        assert (self.lost, self.wrong) == (0, 0), self


class StreamLoad:
    def __init__(self, port: int, name: str, right: list[str], ca: str | None = None, rate: int = 1000):
        self.result: StreamResult | None = None
        self._settings = {"port": port, "name": name, "right": right, "ca": ca, "rate": rate}

    def __enter__(self) -> "StreamLoad":
        command = [sys.executable, str(Path(__file__).resolve()), json.dumps(self._settings)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "asking\n"
        return self

    def __exit__(self, kind, *exc) -> None:
        try:
            out, _ = self._process.communicate("\n", timeout=3 * DEADLINE_S)
            self.result = StreamResult(**json.loads(out))
        finally:
            self._process.kill()
            self._process.wait()
        if kind is None:
            self.result.check()


# ---- The process's side ----


class _Load:
    def __init__(self, port: int, name: str, right: list[str], ca: str | None, rate: int):
        self._address = ("127.0.0.1", port)
        self._context = ssl.create_default_context(cafile=ca) if ca else None
        self._wire = dns.message.make_query(name, "A", id=0).to_wire()[2:]
        self._right = right
        self._seen: set[bytes] = set()
        self._lock = threading.Lock()
        self._pause = threading.Event()  # never set
        self._rate = rate
        self._due_s = self._begin_s = time.monotonic()
        self._next_id = 0
        self.is_ending = False
        self.sent = self.lost = self.wrong = self.crossed = self.connections = 0
        self.slowest_s = 0.0
        self.examples: list[str] = []

    def client(self, number: int) -> None:
        most = 1 if number == 0 else 1 << 30 if number % _KEPT == 1 else PER_CONNECTION
        while not self.is_ending:
            self._pace()
            self._connect_and_ask(most)

    def _pace(self) -> None:
        """The clients share one schedule. What could not be sent in time is skipped."""
        with self._lock:
            now = time.monotonic()
            self._due_s = due_s = max(self._due_s + 1 / self._rate, now - 0.05)
        if due_s > now:
            self._pause.wait(due_s - now)

    def _connect_and_ask(self, most: int) -> None:
        try:
            stream = socket.create_connection(self._address, DEADLINE_S)
            if self._context:
                stream = self._context.wrap_socket(stream, server_hostname=self._address[0])
        except OSError as error:
            self.sent += 1
            self._lose(f"no connection: {error!r}")
            return
        with stream:
            self.connections += 1
            for _ in range(most):
                if self.is_ending or _has_ended(stream) or not self._ask(stream, most > PER_CONNECTION):
                    return
                self._pace()

    def _ask(self, stream: socket.socket, is_kept: bool) -> bool:
        with self._lock:
            self._next_id = (self._next_id + 1) & 0xFFFF
            query_id = struct.pack("!H", self._next_id)
            self.sent += 1
        query, begin_s = query_id + self._wire, time.monotonic()
        try:
            stream.sendall(struct.pack("!H", len(query)) + query)
            reply = _read_frame(stream)
        except ConnectionError as error:
            if is_kept and not isinstance(error, _Torn):
                self.crossed += 1
            else:
                self._lose(f"no answer after {time.monotonic() - begin_s:.3f} s: {error!r}")
            return False
        except OSError as error:
            self._lose(f"no answer after {time.monotonic() - begin_s:.3f} s: {error!r}")
            return False
        self.slowest_s = max(self.slowest_s, time.monotonic() - begin_s)
        self._judge(query_id, reply)
        return True

    def _judge(self, query_id: bytes, reply: bytes) -> None:
        if reply[:2] == query_id and reply[2:] in self._seen:
            return
        try:
            got = answers_of(dns.message.from_wire(reply))
        except Exception as error:  # any error that dnspython finds in it
            got = [repr(error)]
        if reply[:2] == query_id and got == self._right:
            self._seen.add(reply[2:])
        else:
            self.wrong += 1
            self.examples.append(f"{time.monotonic():.3f} {got}")

    def _lose(self, why: str) -> None:
        self.lost += 1
        self.examples.append(f"{time.monotonic():.3f} {why}")

    def result(self) -> dict:
        rate = self.sent / (time.monotonic() - self._begin_s)
        counts = (self.sent, self.lost, self.wrong, self.crossed, self.connections)
        return vars(StreamResult(*counts, self.slowest_s * 1000, rate, self.examples[:20]))


class _Torn(ConnectionError):
    """The connection has ended in the middle of an answer."""


def _has_ended(stream: socket.socket) -> bool:
    """Whether the server has closed it; nothing is on its way."""
    stream.setblocking(False)
    try:
        return stream.recv(1) == b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    finally:
        stream.settimeout(DEADLINE_S)


def _read_frame(stream: socket.socket) -> bytes:
    frame = b""
    while len(frame) < 2 or len(frame) < 2 + struct.unpack("!H", frame[:2])[0]:
        more = stream.recv(4096)
        if not more:
            raise _Torn(f"closed after {len(frame)} bytes of the answer") if frame else ConnectionError("closed")
        frame += more
    return frame[2:]


def _main() -> None:
    load = _Load(**json.loads(sys.argv[1]))
    clients = [threading.Thread(target=load.client, args=(number,)) for number in range(_CLIENTS)]
    for client in clients:
        client.start()
    print("asking", flush=True)
    sys.stdin.readline()
    load.is_ending = True
    for client in clients:
        client.join()
    print(json.dumps(load.result()))


if __name__ == "__main__":
    _main()

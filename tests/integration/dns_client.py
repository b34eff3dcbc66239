"""Queries to skydns with dnspython, so that independent code parses the answers."""

import itertools
import socket
import threading
import time
from collections.abc import Callable

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
from programs import wait_until

# Only a hung program takes this long.
TIMEOUT_S = 20.0


class Dns:
    """Over UDP and TCP; or by `exchange`, which sends a message and returns the reply (transports.Asker)."""

    def __init__(self, port: int, timeout_s: float = TIMEOUT_S, exchange: Callable[[bytes], bytes] | None = None):
        self.port = port
        self.timeout_s = timeout_s
        self._exchange = exchange

    def query(self, name: str, rdtype: str = "A", tcp: bool = False, **options) -> dns.message.Message:
        """options: those of dns.message.make_query (use_edns, payload, …)."""
        return self.send(dns.message.make_query(name, rdtype, **options), tcp)

    def send(self, question: dns.message.Message, tcp: bool = False) -> dns.message.Message:
        if self._exchange:
            reply = dns.message.from_wire(self._exchange(question.to_wire()))
            assert question.is_response(reply)
        elif tcp:
            reply = dns.query.tcp(question, "127.0.0.1", timeout=self.timeout_s, port=self.port)
        else:
            reply = self._send_udp(question)
        assert dns.message.from_wire(reply.to_wire(max_size=65535)) == reply  # it survives a round trip
        return reply

    def _send_udp(self, question: dns.message.Message) -> dns.message.Message:
        """On a connected socket: a query sent before the server has bound its own fails at once, not after a time-out."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.connect(("127.0.0.1", self.port))
            return dns.query.udp(question, "127.0.0.1", timeout=self.timeout_s, port=self.port, sock=sock)

    def answers(self, name: str, rdtype: str = "A") -> list[str]:
        """The answer section's data as sorted text, or [the rcode] if it is not NOERROR."""
        try:
            reply = self.query(name, rdtype)
        except (dns.exception.Timeout, ConnectionRefusedError):
            return ["no answer"]
        if reply.rcode() != dns.rcode.NOERROR:
            return [dns.rcode.to_text(reply.rcode())]
        return sorted(rdata.to_text() for rrset in reply.answer for rdata in rrset)


class QueryLoad:
    """Repeats one query (or several in turn) on its own thread; collects every answer but the right one."""

    _PAUSE_S = 0.005

    def __init__(self, client: Dns, name: str, right: list[str], others: dict[str, list[str]] | None = None):
        self._client = client
        self._rights = {name: right, **(others or {})}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0
        self.wrong: list[tuple[float, str, list[str]]] = []

    def _run(self) -> None:
        for name, right in itertools.cycle(self._rights.items()):
            if self._stop.is_set():
                break
            try:
                got = self._client.answers(name)
            except OSError as error:
                got = [repr(error)]
            if got != right:
                self.wrong.append((time.monotonic(), name, got))
            self.count += 1
            self._stop.wait(self._PAUSE_S)

    def __enter__(self) -> "QueryLoad":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        self._thread.join()
        if exc[0] is None:
            assert self.wrong == [], f"{len(self.wrong)} of {self.count} answers wrong"
            assert self.count > 0

    def wait_rounds(self, rounds: int = 1) -> None:
        """Waits until each query has been sent this many more times."""
        wanted = self.count + (rounds + 1) * len(self._rights)
        wait_until(lambda: self.count >= wanted, f"{rounds} rounds of queries")

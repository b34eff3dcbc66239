"""Thousands of TCP connections to one skydns, with queries in turn: plain sockets from several addresses, and
replies compared byte for byte with one that dnspython has parsed.

    with Clients(port) as clients:
        clients.open(1000, NAME, ["10.0.0.1"])
        clients.check_ended([])

skydns closes connections that are idle for IDLE_S. A connection closed after that time is no failure: on so slow a
machine the test is skipped.
"""

import contextlib
import select
import socket
import struct
import time

import dns.message
import pytest

IDLE_S = 10.0
# Connections opened before the first query on them: fits a listener's backlog, 1,024.
_AT_ONCE = 250
_SOURCES = 16
_TIMEOUT_S = 20


class Clients:
    """Connections, numbered in the order of opening."""

    def __init__(self, port: int):
        self._port = port
        self._connections: list[socket.socket] = []
        self._asked_s: list[float] = []  # time of the last query on each

    def __enter__(self) -> "Clients":
        return self

    def __exit__(self, *exc) -> None:
        for connection in self._connections:
            connection.close()

    def __len__(self) -> int:
        return len(self._connections)

    def open(self, count: int, name: str, right: list[str], at_once: int = _AT_ONCE) -> None:
        """Opens so many more and queries the name on each; the server may see those opened together in any order."""
        goal = len(self) + count
        while (first := len(self)) < goal:
            for _ in range(min(at_once, goal - first)):
                self._connect()
            self.ask(range(first, len(self)), name, right)

    def _connect(self) -> None:
        source = f"127.0.0.{2 + len(self) % _SOURCES}"
        connection = socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_S, (source, 0))
        self._connections.append(connection)
        self._asked_s.append(time.monotonic())
        # The kernel's timeout: Python's own costs another system call each time.
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _TIMEOUT_S, 0))

    def ask(self, numbers: range, name: str, right: list[str]) -> None:
        """Queries the name's address on each of these; every reply must be right."""
        query, seen = _frame(name), None
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE]
            for number in part:
                self._asked_s[number] = time.monotonic()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has no reply then
                    self._connections[number].sendall(query)
            for number in part:
                reply = _receive_frame(self._connections[number])
                if not reply:
                    self._fail_or_skip(number)
                if seen is None:
                    assert _addresses(reply) == right
                    seen = reply
                assert reply == seen, f"connection {number}"

    def ended(self) -> list[int]:
        """Those that the server has closed; the others must have nothing to read."""
        poll = select.poll()
        numbers = {connection.fileno(): number for number, connection in enumerate(self._connections)}
        for fd in numbers:
            poll.register(fd, select.POLLIN)
        found = sorted(numbers[fd] for fd, _ in poll.poll(0))
        for number in found:
            assert _receive_frame(self._connections[number]) == b"", f"connection {number} sent no query"
        return found

    def check_ended(self, right: list[int]) -> None:
        """Checks that the server has closed these and no others."""
        found = self.ended()
        for number in set(found) - set(right):
            self._fail_or_skip(number)
        assert found == right

    def _fail_or_skip(self, number: int) -> None:
        since_s = time.monotonic() - self._asked_s[number]
        assert since_s >= IDLE_S, f"connection {number} ended {since_s:.1f} s after its last query"
        pytest.skip(f"machine too slow: connection {number} had no query for {since_s:.0f} s")


def _frame(name: str) -> bytes:
    """A query in TCP framing; the ID is always the same."""
    question = dns.message.make_query(name, "A")
    question.id = 0
    wire = question.to_wire()
    return struct.pack("!H", len(wire)) + wire


def _receive_frame(connection: socket.socket) -> bytes:
    """The message; empty if the connection was closed instead."""
    with contextlib.suppress(ConnectionResetError):
        head = connection.recv(2, socket.MSG_WAITALL)
        if len(head) == 2:
            return connection.recv(struct.unpack("!H", head)[0], socket.MSG_WAITALL)
    return b""


def _addresses(reply: bytes) -> list[str]:
    return [rdata.to_text() for rrset in dns.message.from_wire(reply).answer for rdata in rrset]

"""Clients that take every HTTP connection of a program and give none back: a probe is answered all the same, from
their own address, too.
"""

import os
import socket
import time

import pytest
from programs import http_get, reserve_port, wait_until

# Every place (64), each address with more than its share; the probe comes from the first one. A connection without a
# request takes its place a second later.
ADDRESSES = [f"127.0.0.{host}" for host in range(1, 7)]
CONNECTIONS = 20  # of each
ROUNDS = 6
# The legacy manifest's timeoutSeconds: more than a machine under load needs, less than any limit of the server.
PROBE_TIMEOUT_S = 5.0

GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


class Form:
    """How a connection is held: what it sends first, and what it does in each round."""

    def __init__(self, first: bytes = b"", then: bytes = b"", reads: int = 0, buffer: int = 0):
        self.first, self.then, self.reads, self.buffer = first, then, reads, buffer


FORMS = {
    "no byte": Form(),
    "a dripping head": Form(b"GET /healthz HTTP/1.1\r\nX: ", b"x"),
    "a dripping body": Form(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", b"x"),
    "one request after another": Form(GET, GET, reads=1 << 20),
    "unread replies": Form(GET * 400, GET),
    "replies read byte by byte": Form(GET * 400, GET, reads=1, buffer=1),
}


class Holders:
    """Connections to one port; those that the server closes are opened again at once."""

    def __init__(self, port: int, form: Form):
        self.port, self.form = port, form
        self.opened = 0
        self.sockets = [self._open(address) for address in ADDRESSES for _ in range(CONNECTIONS)]

    def _open(self, address: str) -> socket.socket:
        self.opened += 1
        holder = socket.socket()
        if self.form.buffer:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.form.buffer)
        holder.settimeout(PROBE_TIMEOUT_S)
        holder.bind((address, 0))
        holder.connect(("127.0.0.1", self.port))
        holder.setblocking(False)
        self._send(holder, self.form.first)
        return holder

    def _go_on(self, holder: socket.socket) -> bool:
        """False: the server has closed it."""
        return self._send(holder, self.form.then) and self._read(holder)

    @staticmethod
    def _send(holder: socket.socket, data: bytes) -> bool:
        try:
            return holder.send(data) >= 0
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _read(self, holder: socket.socket) -> bool:
        try:
            return bool(holder.recv(self.form.reads or 1, 0 if self.form.reads else socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def round(self) -> None:
        for i, holder in enumerate(self.sockets):
            if not self._go_on(holder):
                address = ADDRESSES[i // CONNECTIONS]
                holder.close()
                self.sockets[i] = self._open(address)

    def close(self) -> None:
        for holder in self.sockets:
            holder.close()


@pytest.mark.faults
def test_probes_while_every_connection_is_held(fault_bed, monkeypatch):
    bed, prometheus_port = fault_bed, reserve_port()
    monkeypatch.setenv("PROMETHEUS_PORT", str(prometheus_port))
    bed.start_etcd()
    bed.start()
    bed.start_exechealthz("--cmd=true", "--period=1s", "--quiet")
    pages = [f"http://127.0.0.1:{watched.port}/healthz" for watched in bed.watched]
    pages += [f"http://127.0.0.1:{bed.healthz_port}/healthz", f"http://127.0.0.1:{prometheus_port}/metrics"]
    ports = [*(watched.port for watched in bed.watched), bed.healthz_port, prometheus_port]
    slowest_s: dict[str, float] = {}
    rounds = 0

    def probe(form: str) -> None:
        for page in pages:
            since_s = time.monotonic()
            assert http_get(page, PROBE_TIMEOUT_S)[0] == 200, (form, page)
            slowest_s[form] = max(slowest_s.get(form, 0.0), time.monotonic() - since_s)

    with bed.under_load():
        for name, form in FORMS.items():
            holders = [Holders(port, form) for port in ports]
            rounds += ROUNDS
            for _ in range(ROUNDS):
                for holder in holders:
                    holder.round()
                probe(name)
            # The server did close some: their places were needed.
            while not all(holder.opened > len(holder.sockets) for holder in holders):
                for holder in holders:
                    holder.round()
                probe(name)
                rounds += 1
            for holder in holders:
                holder.close()
        probes = rounds * len(pages)
    for program in (bed.skydns, bed.kube2sky, bed.exechealthz):
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/fd")) < 64, "the connections are given back")
    bed.note(f"{probes} probes, slowest " + ", ".join(f"{s * 1000:.0f} ms: {n}" for n, s in slowest_s.items()))

"""skydns' shutdown on SIGTERM: first not ready but still answering (-lameduck), then it empties its sockets.

No test waits for a time to pass: where a test decides when the lame duck ends, -lameduck is an hour and the
test's second signal cuts it short.
"""

import signal
import socket
import time

import dns.message
import dns.query
import dns.rcode
import pytest
from bed import Bed
from programs import Program, http_get, reserve_port, wait_until
from prometheus import parse
from records import value
from systemd_sockets import SystemdSockets

NAME = "a.cluster.local"
KEY = "/skydns/local/cluster/a"
RIGHT = ["10.0.0.1"]
# Fits the smallest receive buffer that a kernel gives.
QUERIES = 100


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put(KEY, value("10.0.0.1"))
    return bare_bed


class Http:
    def __init__(self):
        self.port = reserve_port()
        self.flag = f"-http-addr=127.0.0.1:{self.port}"

    def get(self, path: str) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.port}{path}")


def start(bed: Bed, *flags: str) -> Http:
    http = Http()
    bed.start_skydns("-no-rec", http.flag, *flags)
    assert http.get("/readiness") == (200, "ok")
    return http


def become_lame_duck(skydns: Program, http: Http) -> None:
    skydns.signal(signal.SIGTERM)
    wait_until(lambda: http.get("/readiness")[0] == 503, "not ready")


def test_a_lame_duck_is_not_ready_and_answers(bed):
    http = start(bed, "-lameduck=1h")
    become_lame_duck(bed.skydns, http)
    for path in ("/readiness", "/readiness?strict"):
        status, body = http.get(path)
        assert status == 503 and body.startswith("stopping: ")
    assert http.get("/healthz") == (200, "ok")
    assert parse(http.get("/metrics")[1])["skydns_ready"].samples[("skydns_ready", ())] == 0
    for tcp in (False, True):
        assert [rr.to_text() for rr in bed.dns.query(NAME, tcp=tcp).answer[0]] == RIGHT
    bed.etcd.put(KEY, value("10.0.0.2"))  # it still follows etcd
    bed.wait_answers(NAME, "A", ["10.0.0.2"])
    bed.skydns.stop()
    assert any("lameduck_ms=3600000" in line for line in bed.skydns.lines)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(bed, second):
    http = start(bed, "-lameduck=1h")
    become_lame_duck(bed.skydns, http)
    bed.skydns.signal(second)
    assert bed.skydns.wait() == 0


def test_sigint_ends_it_at_once(bed):
    start(bed, "-lameduck=1h")
    bed.skydns.signal(signal.SIGINT)
    assert bed.skydns.wait() == 0


def test_its_time_ends_by_itself(bed):
    start(bed, "-lameduck=0.7s")
    begin = time.monotonic()
    bed.skydns.stop()
    assert time.monotonic() - begin >= 0.7


def test_without_it_the_end_comes_at_once(bed):
    start(bed)
    bed.skydns.stop()
    assert not any("lameduck" in line for line in bed.skydns.lines)


def test_a_lame_duck_that_was_never_ready(bare_bed):
    """Without etcd: it answers SERVFAIL, and shuts down the same way."""
    http = Http()
    bare_bed.start_skydns("-no-rec", http.flag, "-lameduck=1h", is_waiting=False)
    bare_bed.skydns.wait_line("skydns started")
    assert bare_bed.dns.answers(NAME) == ["SERVFAIL"]
    bare_bed.skydns.signal(signal.SIGTERM)
    wait_until(lambda: http.get("/readiness")[1].startswith("stopping: "), "lame duck")
    assert bare_bed.dns.answers(NAME) == ["SERVFAIL"]
    bare_bed.skydns.stop()


# ---- Emptied sockets ----


class Waiting:
    """Queries waiting in the server's sockets: datagrams, and on TCP connections of which the server has accepted
    only some.
    """

    def __init__(self, address: tuple[str, int], known: socket.socket | None = None):
        self._questions = {n: dns.message.make_query(NAME, "A", id=n) for n in range(QUERIES)}
        wires = [question.to_wire() for question in self._questions.values()]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.connect(address)
        for wire in wires:
            self._udp.send(wire)
        new = [socket.create_connection(address) for _ in range(3)]
        self._tcp = [connection for connection in (known, *new) if connection]
        for connection in self._tcp:
            connection.sendall(b"".join(len(wire).to_bytes(2, "big") + wire for wire in wires))

    def check_udp(self, *rcodes: dns.rcode.Rcode) -> None:
        """All queries are answered, and rightly unless another rcode is allowed."""
        self._udp.settimeout(20)
        self._check([dns.message.from_wire(self._udp.recv(65535)) for _ in self._questions], rcodes)
        self._udp.close()

    def check_tcp(self, *rcodes: dns.rcode.Rcode) -> None:
        for connection in self._tcp:
            expiration = time.time() + 20
            self._check([dns.query.receive_tcp(connection, expiration)[0] for _ in self._questions], rcodes)
            connection.close()

    def _check(self, replies: list[dns.message.Message], rcodes: tuple[dns.rcode.Rcode, ...]) -> None:
        assert sorted(reply.id for reply in replies) == list(self._questions)
        for reply in replies:
            assert self._questions[reply.id].is_response(reply)
            answers = [rr.to_text() for rrset in reply.answer for rr in rrset]
            assert answers == RIGHT or reply.rcode() in rcodes


def connect_and_ask(address: tuple[str, int]) -> socket.socket:
    """A connection that the server has accepted."""
    connection = socket.create_connection(address)
    question = dns.message.make_query(NAME, "A")
    dns.query.send_tcp(connection, question)
    assert question.is_response(dns.query.receive_tcp(connection, time.time() + 10)[0])
    return connection


@pytest.mark.parametrize("is_lame_duck", [False, True], ids=["at once", "after a lame duck's time"])
def test_what_has_arrived_is_answered(bed, is_lame_duck):
    http = start(bed, "-workers=1", *(["-lameduck=1h"] if is_lame_duck else []))
    address = ("127.0.0.1", bed.dns.port)
    known = connect_and_ask(address)
    if is_lame_duck:
        become_lame_duck(bed.skydns, http)
    bed.skydns.signal(signal.SIGSTOP)
    waiting = Waiting(address, known)
    bed.skydns.signal(signal.SIGTERM)
    bed.skydns.signal(signal.SIGCONT)
    waiting.check_udp()
    waiting.check_tcp()
    assert bed.skydns.wait() == 0
    bed.skydns.check_output()


def test_a_lame_duck_on_sockets_of_systemd(bed):
    """Datagrams are answered; connections not yet accepted, and all later queries, wait for the next start, which
    answers SERVFAIL until it has read the records.
    """
    http = Http()
    sockets = SystemdSockets(bed, http.flag, "-lameduck=1h")
    sockets.start()
    become_lame_duck(sockets.skydns, http)
    connect_and_ask(sockets.address).close()
    sockets.skydns.signal(signal.SIGSTOP)
    before = Waiting(sockets.address)
    sockets.skydns.signal(signal.SIGTERM)
    sockets.skydns.signal(signal.SIGCONT)
    assert sockets.skydns.wait() == 0
    before.check_udp()
    after = Waiting(sockets.address)
    sockets.start()
    before.check_tcp(dns.rcode.SERVFAIL)
    after.check_udp(dns.rcode.SERVFAIL)
    after.check_tcp(dns.rcode.SERVFAIL)
    sockets.skydns.signal(signal.SIGINT)
    assert sockets.skydns.wait() == 0
    sockets.close()

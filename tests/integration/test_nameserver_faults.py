"""Nameservers with faults that resolvers in the field have: what skydns does about each."""

import json
import socket
import struct
import time

import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import pytest
from programs import http_get, reserve_port, wait_until
from test_nameservers import metric, start_skydns
from upstream import IMPATIENT, PATIENT, Upstream, address


class Faulty(Upstream):
    """Replies with what `fault` makes of the transport and the query: bytes, over UDP a list of them, or None."""

    def __init__(self, fault):
        super().__init__(None)
        self._fault_of = fault

    def _reply(self, transport: str, wire: bytes):
        query = dns.message.from_wire(wire)
        if query.question[0].rdtype == dns.rdatatype.HINFO:
            return None  # skydns checks whether we forward back to it
        self.seen.append((transport, query))
        return self._fault_of(transport, query)


@pytest.fixture
def faulty():
    """Makes nameservers, and closes them."""
    made = []

    def make(fault) -> Faulty:
        made.append(Faulty(fault))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def good():
    server = Upstream(address)
    yield server
    server.close()


def flag_of(*servers: Upstream) -> str:
    return "-nameservers=" + ",".join(f"127.0.0.1:{server.port}" for server in servers)


def bare(query: dns.message.Message, rcode: dns.rcode.Rcode, has_opt: bool) -> bytes:
    """A reply without the question."""
    reply = dns.message.make_response(query)
    reply.set_rcode(rcode)
    reply.question.clear()
    if not has_opt:
        reply.use_edns(False)
    return reply.to_wire()


@pytest.mark.parametrize("rcode", [dns.rcode.SERVFAIL, dns.rcode.REFUSED, dns.rcode.FORMERR, dns.rcode.NOTIMP])
@pytest.mark.parametrize("has_opt", [True, False], ids=["opt", "header"])
def test_a_failure_without_the_question(bare_bed, faulty, good, rcode, has_opt):
    """It is that nameserver's failure: the next one is asked at once, and both count as alive."""
    first = faulty(lambda transport, query: bare(query, rcode, has_opt and query.edns >= 0))
    port = start_skydns(bare_bed, flag_of(first, good))
    for number in range(3):
        assert bare_bed.dns.answers(f"n{number}.example.com") == ["192.0.2.7"]
    assert len(good.seen) == 3 and len(first.seen) in (3, 6)  # without EDNS, too, after FORMERR and NOTIMP
    assert metric(port, "nameservers_dead") == 0


# ---- Malformed replies ----

HEADER = 12


def records(query: dns.message.Message, *items: tuple[int, int, bytes], count: int | None = None) -> bytes:
    """An answer of records of (type, class, rdata), whatever they are; `count`: what the header says."""
    head = dns.message.make_response(query, recursion_available=True)
    head.use_edns(False)
    wire = bytearray(head.to_wire())
    struct.pack_into("!H", wire, 6, len(items) if count is None else count)
    for rdtype, rdclass, rdata in items:
        wire += struct.pack("!HHHIH", 0xC000 | HEADER, rdtype, rdclass, 77, len(rdata)) + rdata
    return bytes(wire)


def right(query: dns.message.Message) -> bytes:
    return address(query).to_wire()


def cut(query: dns.message.Message) -> bytes:
    """Within the record."""
    return records(query, (1, 1, socket.inet_aton("192.0.2.66")))[:-2]


MALFORMED = {
    "cut": cut,
    "counts": lambda query: records(query, (1, 1, b"\xc0\0\2\x42"), count=2),
    "pointer": lambda query: records(query, (5, 1, b"\xc0\xff")),
    "five bytes": lambda query: records(query, (1, 1, b"\xc0\0\2\x42\0")),
    "class": lambda query: records(query, (1, 3, b"\xc0\0\2\x42")),
    "other data": lambda query: records(query, (1, 1, b"\xc0\0\2\x42"), (16, 1, b"\x09text")),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_reply_is_asked_for_over_tcp(bare_bed, faulty, kind):
    first = faulty(lambda transport, query: (right if transport == "tcp" else MALFORMED[kind])(query))
    port = start_skydns(bare_bed, flag_of(first))
    assert bare_bed.dns.answers("www.example.com") == ["192.0.2.7"]
    assert [transport for transport, _ in first.seen] == ["udp", "tcp"]
    assert metric(port, "forward_tcp_retries_total") == 1 and metric(port, "nameservers_dead") == 0


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_right_reply_after_a_malformed_one(bare_bed, faulty, kind):
    """As when the first is forged. TCP brings nothing."""
    first = faulty(lambda transport, query: b"" if transport == "tcp" else [MALFORMED[kind](query), right(query)])
    start_skydns(bare_bed, flag_of(first))
    assert bare_bed.dns.answers("www.example.com") == ["192.0.2.7"]


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize("has_tcp", [True, False], ids=["tcp", "udp"])
def test_the_next_one_is_asked_after_a_malformed_reply(bare_bed, faulty, good, kind, has_tcp):
    """At once: the nameservers have 20 s."""
    first = faulty(lambda transport, query: b"" if transport == "tcp" and not has_tcp else MALFORMED[kind](query))
    port = start_skydns(bare_bed, flag_of(first, good))
    for number in range(3):
        assert bare_bed.dns.answers(f"n{number}.example.com") == ["192.0.2.7"]
    assert len(good.seen) == 3
    assert metric(port, "nameservers_dead") == 0


def test_a_malformed_reply_is_a_failure_that_is_kept(bare_bed, faulty):
    """Many clients ask; the nameserver is asked once over UDP and once over TCP, then not for a second."""
    first = faulty(lambda transport, query: MALFORMED["five bytes"](query))
    bare_bed.start_etcd()
    bare_bed.start_skydns(flag_of(first), PATIENT)
    begun = time.monotonic()
    for _ in range(200):
        assert bare_bed.dns.query("www.example.com", "A").rcode() == dns.rcode.SERVFAIL
    attempts = 1 + int(time.monotonic() - begun)
    assert len(first.seen) <= 2 * attempts


@pytest.mark.parametrize("over_tcp", [b"", None], ids=["closes", "silent"])
def test_a_single_nameserver_that_is_malformed_is_asked_once(bare_bed, faulty, over_tcp):
    """After one -rtimeout, in which a right reply may still come, there is nobody else to ask."""
    first = faulty(lambda transport, query: over_tcp if transport == "tcp" else cut(query))
    start_skydns(bare_bed, flag_of(first), rtimeout="-rtimeout=1s")
    assert bare_bed.dns.query("www.example.com", "A").rcode() == dns.rcode.SERVFAIL
    assert [transport for transport, _ in first.seen].count("udp") == 1


def test_a_flood_of_malformed_replies(bare_bed, faulty):
    """Whoever knows the id can send thousands: the next nameserver's reply counts."""
    first = faulty(lambda transport, query: b"" if transport == "tcp" else [cut(query)] * 2000)
    start_skydns(bare_bed, flag_of(first), rtimeout="-rtimeout=4s")
    assert bare_bed.dns.query("www.example.com", "A").rcode() == dns.rcode.SERVFAIL
    assert bare_bed.dns.query("absent.cluster.local", "A").rcode() == dns.rcode.NXDOMAIN


# ---- Silence ----


def test_the_pause_doubles_for_a_name_that_a_nameserver_is_silent_for(bare_bed, good):
    """RFC 9520 3.2. Two silences bring a probe, whose reply says nothing about this name."""
    silent, port = good, reserve_port()
    bare_bed.start_etcd()
    bare_bed.start_skydns(flag_of(silent), f"-http-addr=127.0.0.1:{port}", IMPATIENT)
    name = dns.name.from_text("silent.example.com.")
    attempts = []  # when each began at the earliest, and was over at the latest

    def asked() -> int:
        """How often the nameserver was asked about this name; the probes are about others."""
        return sum(query.question[0].name == name for _, query in list(silent.seen))

    def attempt():
        begun, before = time.monotonic(), asked()
        assert bare_bed.dns.query(name.to_text(), "A").rcode() == dns.rcode.SERVFAIL
        if asked() > before:
            attempts.append((begun, time.monotonic()))
        return len(attempts) == 3

    wait_until(attempt, "three attempts")
    assert metric(port, "forward_probes_total") > 0
    # Both attempts last twice the timeout; the second one's pause is 2 s, not 1 s.
    assert attempts[2][1] - attempts[1][0] >= 0.6 + 2 + 0.6


def drops_edns(transport: str, query: dns.message.Message) -> bytes | None:
    return None if query.edns >= 0 else right(query)


def explained(port: int) -> dict:
    """The first nameserver."""
    page = http_get(f"http://127.0.0.1:{port}/explain?name=www.example.com&type=A")[1]
    return json.loads(page)["nameservers"][0]


def test_a_nameserver_that_drops_queries_with_edns(bare_bed, faulty):
    """Only the first question waits for the timeout; /explain says why there is no EDNS."""
    first = faulty(drops_edns)
    port = start_skydns(bare_bed, flag_of(first), rtimeout="-rtimeout=1s")
    assert bare_bed.dns.answers("www.example.com") == ["192.0.2.7"]
    assert {query.edns for _, query in first.seen} == {0, -1}
    seen = len(first.seen)
    for number in range(5):
        assert bare_bed.dns.answers(f"n{number}.example.com") == ["192.0.2.7"]
    assert [query.edns for _, query in first.seen[seen:]] == [-1] * 5
    assert metric(port, "nameservers_dead") == 0
    assert 0 < explained(port)["without_edns_s"] <= 900
    assert metric(port, "nameservers_without_edns", zone=".") == 1


def test_a_nameserver_that_refuses_edns_and_loses_a_datagram(bare_bed, faulty):
    """Of the queries that go out after the timeout, the refusal of the one with EDNS is no answer to the other."""
    lost = []

    def answer(transport, query):
        if query.question[0].rdtype == dns.rdatatype.A and not lost:
            lost.append(query)
            return None
        if query.edns < 0:
            return right(query)
        reply = dns.message.make_response(query)
        reply.use_edns(False)
        reply.set_rcode(dns.rcode.FORMERR)
        return reply.to_wire()

    start_skydns(bare_bed, flag_of(faulty(answer)), rtimeout="-rtimeout=1s")
    assert bare_bed.dns.answers("www.example.com") == ["192.0.2.7"]
    assert lost


def test_a_nameserver_that_knows_edns_is_asked_with_it(bare_bed, faulty):
    """Silence for one name does not cost the others their signatures."""
    first = faulty(lambda transport, query: None if b"silent" in query.question[0].name.labels else right(query))
    port = start_skydns(bare_bed, flag_of(first), rtimeout=IMPATIENT)
    assert bare_bed.dns.answers("www.example.com") == ["192.0.2.7"]
    assert bare_bed.dns.query("silent.example.com", "A").rcode() == dns.rcode.SERVFAIL
    assert bare_bed.dns.answers("www2.example.com") == ["192.0.2.7"]
    names = [query for _, query in first.seen if query.question[0].rdtype == dns.rdatatype.A]
    assert all(query.edns == 0 for query in names)
    assert "without_edns_s" not in explained(port)
    assert metric(port, "nameservers_without_edns", zone=".") == 0

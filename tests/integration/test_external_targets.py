"""Addresses of names outside the domain that records point to: what a nameserver denies, what it cannot say, and
answers of any length. The nameserver is the test's.
"""

import functools

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from records import value
from upstream import PATIENT, Upstream

SOA = dns.rdatatype.SOA


@functools.cache
def addresses(count: int) -> list[str]:
    return [f"198.18.{n >> 8}.{n & 255}" for n in range(count)]


def answer(query: dns.message.Message) -> dns.message.Message | None:
    """By the first label: silent.…, SERVFAIL.…, NXDOMAIN.…, nodata.…, loop.…; a number: so many addresses; alias.…: two
    CNAMEs. Other TTLs than 60.
    """
    name, rdtype = query.question[0].name, query.question[0].rdtype
    kind = name.labels[0].decode().upper()
    if kind == "SILENT":
        return None
    reply = dns.message.make_response(query, recursion_available=True)
    if kind in ("SERVFAIL", "REFUSED", "NXDOMAIN"):
        reply.set_rcode(dns.rcode.from_text(kind))
    elif kind == "LOOP":
        reply.answer.append(dns.rrset.from_text(name, 9, "IN", "CNAME", name.to_text()))
    elif kind == "ALIAS":
        reply.answer.append(dns.rrset.from_text(name, 900, "IN", "CNAME", "b.example.com."))
        reply.answer.append(dns.rrset.from_text("b.example.com.", 21, "IN", "CNAME", "c.example.com."))
        if rdtype == dns.rdatatype.A:
            reply.answer.append(dns.rrset.from_text("c.example.com.", 700, "IN", "A", "192.0.2.7"))
    elif kind.isdigit() and rdtype == dns.rdatatype.A:
        reply.answer.append(dns.rrset.from_text(name, 20, "IN", "A", *addresses(int(kind))))
    return reply


class Nameserver(Upstream):
    """Long replies are truncated over UDP, and those whose name begins with cut never come over TCP."""

    def __init__(self):
        super().__init__(self._answer_over)

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        self._transport = transport  # one query at a time
        return super()._reply(transport, wire)

    def _answer_over(self, query):
        first = query.question[0].name.labels[0]
        is_cut = first == b"cut"
        reply = None if is_cut and self._transport == "tcp" else answer(query)
        if reply and self._transport == "udp" and (is_cut or len(reply.to_wire(max_size=65535)) > 1232):
            reply.answer.clear()
            reply.flags |= dns.flags.TC
        elif reply:
            reply.request_payload = 65535
        return reply


@pytest.fixture
def bed(bare_bed):
    nameserver = Nameserver()
    bare_bed.start_etcd()
    for first in ("silent", "servfail", "refused", "nxdomain", "nodata", "loop", "alias", "cut"):
        bare_bed.etcd.put(f"/skydns/local/cluster/{first}", value(f"{first}.example.com."))
    for count in (40, 300, 2000):
        bare_bed.etcd.put(f"/skydns/local/cluster/n{count}", value(f"{count}.example.com."))
    bare_bed.etcd.put("/skydns/local/cluster/mixed/a", value("silent.example.com."))
    bare_bed.etcd.put("/skydns/local/cluster/mixed/b", value("10.0.0.1"))
    bare_bed.etcd.put("/skydns/local/cluster/mail", '{"host":"servfail.example.com.","mail":true}')
    bare_bed.nameserver = nameserver
    yield bare_bed
    nameserver.close()


def start(bed, *flags: str) -> None:
    bed.start_skydns(f"-nameservers=127.0.0.1:{bed.nameserver.port}", *flags)


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_a_failure_is_not_a_denial(bed, schema):
    start(bed, f"-schema={schema}", PATIENT)
    for target in ("servfail", "refused", "loop"):
        for rdtype in ("A", "AAAA"):
            reply = bed.dns.query(f"{target}.cluster.local", rdtype)
            assert reply.rcode() == dns.rcode.SERVFAIL, (target, rdtype)
            assert not reply.answer and not reply.authority and not reply.flags & dns.flags.AA
    for target in ("nxdomain", "nodata"):
        reply = bed.dns.query(f"{target}.cluster.local")
        assert reply.rcode() == dns.rcode.NOERROR and reply.flags & dns.flags.AA
        assert [rrset.rdtype for rrset in reply.authority] == ([SOA] if schema == "skydns" else [])


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_silence_is_not_a_denial(bed, schema):
    start(bed, f"-schema={schema}", "-rtimeout=100ms")
    assert bed.dns.answers("silent.cluster.local") == ["SERVFAIL"]
    assert bed.dns.answers("silent.cluster.local", "AAAA") == ["SERVFAIL"]


def test_srv_and_mx_without_the_addresses(bed):
    start(bed, "-rtimeout=100ms")
    srv = bed.dns.query("silent.cluster.local", "SRV")
    assert srv.rcode() == dns.rcode.NOERROR and len(srv.answer) == 1 and not srv.additional
    mx = bed.dns.query("mail.cluster.local", "MX")
    assert mx.rcode() == dns.rcode.NOERROR and len(mx.answer) == 1 and not mx.additional


def test_a_failing_target_beside_an_address(bed):
    start(bed, "-rtimeout=100ms")
    assert bed.dns.answers("mixed.cluster.local") == ["10.0.0.1"]
    assert bed.dns.answers("mixed.cluster.local", "AAAA") == ["SERVFAIL"]


@pytest.mark.parametrize("count", [40, 300, 2000])
def test_replies_of_any_length(bed, count):
    """All over TCP; over UDP truncated, or all of them."""
    start(bed, PATIENT)
    for options, is_tcp in (({}, False), ({"use_edns": 0, "payload": 1232}, False), ({}, True)):
        reply = bed.dns.query(f"n{count}.cluster.local", tcp=is_tcp, **options)
        got = [rr.to_text() for rrset in reply.answer if rrset.rdtype == dns.rdatatype.A for rr in rrset]
        fits = is_tcp or (count == 40 and options)
        assert bool(reply.flags & dns.flags.TC) != fits
        assert set(got) <= set(addresses(count))
        assert not fits or sorted(got) == sorted(addresses(count))


def test_the_rest_never_comes(bed):
    """The truncated reply itself has four seconds."""
    start(bed, "-rtimeout=2s")
    reply = bed.dns.query("cut.cluster.local")
    assert reply.rcode() == dns.rcode.NOERROR and reply.flags & dns.flags.TC and not reply.authority
    assert bed.dns.query("cut.cluster.local", tcp=True).rcode() == dns.rcode.SERVFAIL


def test_ttls_are_the_nameservers(bed):
    start(bed, PATIENT)
    reply = bed.dns.query("alias.cluster.local")
    assert {rrset.ttl for rrset in reply.answer} == {21}  # those of an answer are levelled
    srv = bed.dns.query("alias.cluster.local", "SRV")
    assert [rrset.ttl for rrset in srv.additional] == [900, 21, 700]

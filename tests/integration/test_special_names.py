"""Names that skydns answers itself, as every server should: RFC 6761, 7686, 9462."""

import dns.flags
import dns.rcode
import dns.rdatatype
import pytest
from foreign_server import Server
from programs import http_get
from records import value
from scripted import Nameserver

LOOPBACK6 = "1." + "0." * 31 + "ip6.arpa"
NAMES = {
    ("localhost", "A"): ["127.0.0.1"],
    ("a.b.localHost", "AAAA"): ["::1"],
    ("localhost", "MX"): [],
    ("invalid", "A"): ["NXDOMAIN"],
    ("www.invalid", "AAAA"): ["NXDOMAIN"],
    ("x.onion", "TXT"): ["NXDOMAIN"],
    ("_dns.resolver.arpa", "SVCB"): [],
    ("1.0.0.127.in-addr.arpa", "PTR"): ["localhost."],
    ("1.0.0.127.in-addr.arpa", "TXT"): [],
    (LOOPBACK6, "PTR"): ["localhost."],
}


@pytest.fixture
def server(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/home", value("deep.localhost"))
    bare_bed.etcd.put("/skydns/local/cluster/gone", value("x.invalid"))
    bare_bed.etcd.put("/skydns/arpa/in-addr/127/0/0/2", value("two.cluster.local"))
    server = Server(bare_bed)
    yield server
    server.nameserver.close()


@pytest.mark.parametrize("tcp", (False, True))
def test_no_nameserver_is_asked(server, tcp):
    """Nor does it matter that some are shorter than -ndots says."""
    for (name, rdtype), expected in NAMES.items():
        for more in ({}, {"use_edns": 0, "want_dnssec": True}, {"flags": 0}):
            reply = server.ask(name, rdtype, tcp=tcp, **more)
            got = [rdata.to_text() for rrset in reply.answer for rdata in rrset]
            got = got if reply.rcode() == dns.rcode.NOERROR else [dns.rcode.to_text(reply.rcode())]
            assert got == expected, (name, rdtype)
            assert reply.flags & dns.flags.RA and not reply.flags & (dns.flags.AA | dns.flags.AD)
            if not reply.answer:
                [soa] = reply.authority
                assert soa.name.to_text() == "." and soa.ttl == soa[0].minimum == 300
            else:
                assert reply.answer[0].ttl == 300 and not reply.authority
    assert server.nameserver.seen == []


def test_targets_and_neighbours(server):
    """Our names may lead there; what lies beside is as ever."""
    assert server.bed.dns.answers("home.cluster.local") == ["127.0.0.1", "deep.localhost."]
    assert server.bed.dns.answers("home.cluster.local", "AAAA") == ["::1", "deep.localhost."]
    assert server.bed.dns.answers("gone.cluster.local") == []
    assert server.bed.dns.answers("2.0.0.127.in-addr.arpa", "PTR") == ["two.cluster.local."]
    assert server.nameserver.seen == []
    assert server.bed.dns.answers("www.notinvalid.") == server.bed.dns.answers("localhost.example.com") == ["192.0.2.7"]
    assert server.bed.dns.answers("3.0.0.127.in-addr.arpa", "PTR") == []
    assert len(server.nameserver.seen) == 3
    why = http_get(f"http://127.0.0.1:{server.watched.port}/explain?name=localhost.&type=A")[1]
    assert "a special name" in why and '"status":"NOERROR"' in why


def test_what_comes_first(bare_bed):
    """Hosts files, and a stub zone at or below the name; not one above it."""
    path = bare_bed.folder / "hosts"
    path.write_text("10.9.0.1 localhost\n10.9.0.2 listed.invalid\n")
    bare_bed.start_etcd()
    nameserver = Nameserver()
    at = f"127.0.0.1:{nameserver.port}"
    stubs = [f"-stub={zone}={at}" for zone in ("onion", "sub.invalid", "arpa")]
    Server(bare_bed, f"-hosts={path}", *stubs, nameserver=nameserver)
    answers = bare_bed.dns.answers
    assert answers("localhost") == ["10.9.0.1"] and answers("listed.invalid") == ["10.9.0.2"]
    assert answers("x.onion") == answers("a.sub.invalid") == ["192.0.2.7"]
    assert answers("a.invalid") == ["NXDOMAIN"] and answers("1.0.0.127.in-addr.arpa", "PTR") == ["localhost."]
    assert len(nameserver.seen) == 2
    nameserver.close()

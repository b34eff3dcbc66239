"""-dnssec: names of many endpoints. Validating resolvers verify all that an answer has before they give it, and some
give up: additional records are left out where they would be many signatures, and of an RRset that is too large for them,
or for a message, some records are signed.
"""

import json

import dns.flags
import dns.rcode
import dns.rdatatype
import pytest
from dnssec_bed import SECURE, Server, bind, keygen, unbound
from dnssec_resolvers import kresd, pdns_recursor, resolved

COUNTS = (4, 13, 64, 100, 256, 600)
RESOLVERS = (unbound, bind, kresd, pdns_recursor, resolved)
RESOLVED_MAX = 256  # records that systemd-resolved takes of an RRset
HUGE = (2000, 5000)  # more than unbound and kresd verify, and more than a message holds
OPERATIONS_MAX = 128  # of a transaction


def name_of(count: int) -> str:
    return f"of{count}.cluster.local"


@pytest.fixture(scope="module")
def server(dns_bed):
    server = Server(dns_bed, "-no-rec", "-round-robin=true", schema="skydns", keys=(keygen(dns_bed.folder, "cluster.local"),)).start()
    records = [
        (f"/skydns/local/cluster/of{count}/h{i}", json.dumps({"host": f"10.0.{i // 256}.{i % 256}", "port": 80}))
        for count in (*COUNTS, *HUGE)
        for i in range(count)
    ]
    for i in range(0, len(records), OPERATIONS_MAX):
        dns_bed.etcd.put_all(dict(records[i : i + OPERATIONS_MAX]))
    server.wait_etcd(1)
    return server


@pytest.mark.parametrize("make", RESOLVERS)
def test_validators_answer(server, dns_bed, make):
    resolver = make(dns_bed.folder, server.dns.port, list(server.keys)).start()
    for count in COUNTS:
        if make is resolved and count > RESOLVED_MAX:
            continue
        verdict, reply = resolver.judge(name_of(count), "SRV")
        targets = [rr for rrset in reply.answer if rrset.rdtype == dns.rdatatype.SRV for rr in rrset]
        assert (verdict, len(targets)) == (SECURE, count), f"{count}: {dns.rcode.to_text(reply.rcode())}"
    for count, rdtype, least in ((HUGE[0], "A", 1300), (HUGE[1], "A", 1300), (HUGE[1], "SRV", 700)):
        if make is not resolved:
            verdict, reply = resolver.judge(name_of(count), rdtype)
            assert (verdict, len(reply.answer[0]) > least) == (SECURE, True), f"{count} {rdtype}: {reply}"
    resolver.program.kill()


def test_each_record_has_its_turn(server):
    """Without TC: there is no larger message to ask for. Without DO, as many as fit, and TC."""
    for count in HUGE:
        for rdtype in ("A", "SRV"):
            replies = [server.ask(name_of(count), rdtype) for _ in range(3)]
            choices = [frozenset(rr.to_text() for rr in reply.answer[0]) for reply in replies]
            assert len(set(choices)) == 3, (count, rdtype)
            assert not any(reply.flags & dns.flags.TC for reply in replies)
    assert server.ask(name_of(HUGE[1]), "A", do=False).flags & dns.flags.TC


def test_additionals(server):
    """Whole where they are few, and to those that ask for no signatures wherever there is room."""
    for count in COUNTS:
        plain, signed = (server.ask(name_of(count), "SRV", do=do) for do in (False, True))
        addresses = [rrset for rrset in signed.additional if rrset.rdtype == dns.rdatatype.A]
        assert len(plain.additional) == count
        assert len(addresses) == (count if count <= 12 else 0)

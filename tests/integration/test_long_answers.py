"""Answers that no message holds, over streams: as many records as fit, with TC, and each record has its turn."""

import json

import dns.flags
import dns.rcode
import dns.rdatatype
import pytest
from nameservers import needs
from programs import output
from transports import KINDS

COUNT = 5000
SERVICES, TEXTS = "ports.cluster.local", "texts.cluster.local"
OPERATIONS_MAX = 128  # of a transaction
OVER = ("tcp", *KINDS)


@pytest.fixture(scope="module")
def ask(dns_bed, clients):
    """Asks over one of OVER."""
    records = {}
    for i in range(COUNT):
        host = f"10.{i // 65536}.{i // 256 % 256}.{i % 256}"
        records[f"/skydns/local/cluster/ports/h{i}"] = json.dumps({"host": host, "port": 80})
        records[f"/skydns/local/cluster/texts/t{i}"] = json.dumps({"text": f"number {i} of a long list"})
    items = list(records.items())
    for i in range(0, len(items), OPERATIONS_MAX):
        dns_bed.etcd.put_all(dict(items[i : i + OPERATIONS_MAX]))
    dns_bed.etcd.put("/skydns/local/cluster/end/a", json.dumps({"host": "10.9.9.9"}))
    dns_bed.wait_answers("end.cluster.local", "A", ["10.9.9.9"])

    def ask(over: str, name: str, rdtype: str, **options):
        if over == "tcp":
            return dns_bed.dns.query(name, rdtype, tcp=True, **options)
        return clients[over].query(name, rdtype, **options)

    return ask


CASES = [(over, SERVICES, "SRV", 1090) for over in OVER] + [("tcp", SERVICES, "A", 4000), ("tcp", TEXTS, "TXT", 1600)]


@pytest.mark.parametrize(("over", "name", "rdtype", "least"), CASES)
def test_as_many_as_fit(ask, over, name, rdtype, least):
    seen: set[str] = set()
    for options in ({}, {"use_edns": 0, "want_dnssec": True}):
        reply = ask(over, name, rdtype, **options)
        got = {rr.to_text() for rr in reply.answer[0]}
        assert reply.rcode() == dns.rcode.NOERROR and reply.flags & dns.flags.TC
        assert len(reply.answer) == 1 and reply.answer[0].rdtype == dns.rdatatype.from_text(rdtype)
        assert len(got) >= least and not reply.additional
        assert got != seen  # another choice
        seen |= got
    assert len(seen) > len(got)


def test_dig(ask, dns_bed):
    text = output(
        needs("dig"), "-p", str(dns_bed.dns.port), "@127.0.0.1", SERVICES, "SRV", "+tcp", "+noall", "+comments", "+answer"
    )
    assert "status: NOERROR" in text and "flags: qr aa tc rd ra" in text
    assert text.count("\tSRV\t") > 1000

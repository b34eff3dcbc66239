"""Extended DNS errors (RFC 8914): what plain dig shows next to each SERVFAIL and REFUSED."""

import re

import dns.message
import dns.rcode
import pytest
from foreign_server import errors
from nameservers import needs
from programs import output, reserve_port
from records import SVC, value
from upstream import Upstream

OURS, FOREIGN = "web.default.svc.cluster.local", "www.example.com"
IMPATIENT = "-rtimeout=300ms"


def refuse(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.set_rcode(dns.rcode.REFUSED)
    return reply


def dig(bed, name: str, *arguments: str, source: str = "127.0.0.1") -> tuple[str, list[int]]:
    """The status, and the codes of "; EDE: 20 (Not Authoritative)"."""
    text = output(needs("dig"), "-p", str(bed.dns.port), "-b", source, "@127.0.0.1", name, *arguments, "+tries=1")
    return re.search(r"status: (\w+)", text)[1], [int(code) for code in re.findall(r"^; EDE: (\d+) \(", text, re.M)]


def check(bed, name: str, status: str, code: int, rdtype: str = "A", source: str = "127.0.0.1") -> None:
    """Over UDP and TCP; clients without EDNS get the same reply without the reason."""
    assert dig(bed, name, rdtype, source=source) == (status, [code])
    assert dig(bed, name, rdtype, "+tcp", source=source) == (status, [code])
    assert dig(bed, name, rdtype, "+noedns", source=source) == (status, [])


@pytest.fixture
def fed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put(f"{SVC}/default/web/1", value("10.0.0.1"))
    return bare_bed


def test_not_ready(bare_bed):
    bare_bed.start_skydns(f"-machines=http://127.0.0.1:{reserve_port()}", "-no-rec", is_waiting=False)
    bare_bed.skydns.wait_line("etcd")
    check(bare_bed, OURS, "SERVFAIL", 14)
    check(bare_bed, FOREIGN, "SERVFAIL", 20)


def test_a_zone_that_is_not_ready(bare_bed):
    bare_bed.start_skydns(f"-machines=http://127.0.0.1:{reserve_port()}", "-no-rec", "-schema=kubernetes",
                          "-transfer-to=127.0.0.0/8", is_waiting=False)  # fmt: skip
    bare_bed.skydns.wait_line("etcd")
    for use_edns, codes in ((0, [14]), (-1, [])):
        reply = bare_bed.dns.query("cluster.local", "AXFR", use_edns=use_edns, tcp=True)
        assert (dns.rcode.to_text(reply.rcode()), errors(reply)) == ("SERVFAIL", codes)


def test_not_authoritative(fed):
    fed.start_skydns("-no-rec")
    check(fed, FOREIGN, "SERVFAIL", 20)
    assert dig(fed, OURS, "A") == ("NOERROR", [])
    assert dig(fed, "nothing.default.svc.cluster.local", "A") == ("NXDOMAIN", [])


def test_what_nobody_gets(fed):
    fed.start_skydns("-no-rec")
    check(fed, OURS, "REFUSED", 21, "ANY")
    transfer = fed.dns.query("cluster.local", "IXFR", use_edns=0)
    assert (dns.rcode.to_text(transfer.rcode()), errors(transfer)) == ("REFUSED", [18])
    assert dig(fed, "nothing.bind", "CH", "TXT") == ("REFUSED", [21])
    assert dig(fed, OURS, "CH", "A") == ("REFUSED", [21])


def test_prohibited(fed):
    fed.start_skydns("-allow=127.0.0.1,127.0.0.2", "-allow-recursion=127.0.0.1", f"-nameservers=127.0.0.1:{reserve_port()}",
                     IMPATIENT)  # fmt: skip
    check(fed, OURS, "REFUSED", 18, source="127.0.0.3")
    check(fed, FOREIGN, "REFUSED", 18, source="127.0.0.2")
    assert dig(fed, OURS, "A", source="127.0.0.2") == ("NOERROR", [])


def test_nameservers_that_are_dead(fed):
    fed.start_skydns(f"-nameservers=127.0.0.1:{reserve_port()}", "-rcache=0", IMPATIENT)
    check(fed, FOREIGN, "SERVFAIL", 23)


def test_nameservers_that_refuse(fed):
    upstream = Upstream(refuse)
    try:
        fed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", IMPATIENT)
        assert dig(fed, FOREIGN, "A") == ("SERVFAIL", [22])
        reply = fed.dns.query(FOREIGN, "A", use_edns=0)
        assert reply.rcode() == dns.rcode.SERVFAIL and errors(reply) in ([13], [22])
    finally:
        upstream.close()

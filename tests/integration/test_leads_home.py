"""CNAMEs of nameservers that lead to names of ours: what follows is said by our own records, to each client what it
may see; nameservers' records of such names are never served.
"""

import dns.flags
import dns.message
import dns.rcode
import pytest
from bed import Bed
from foreign_server import Server
from scripted import reply, soa

EVIL = "203.0.113.66"
TREE = "/skydns/local/cluster"
OURS = "web.default.svc.cluster.local."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    bed = Bed(tmp_path_factory.mktemp("home"))
    bed.start_etcd()
    bed.etcd.put(f"{TREE}/svc/default/web/x", '{"host":"10.0.0.7","port":80,"text":"ours"}')
    bed.etcd.put(f"{TREE}/svc/default/alias/x", '{"host":"leads.test"}')
    one = Server(bed, "-workers=2")
    yield one
    one.nameserver.close()
    bed.close()


def data(message: dns.message.Message) -> list[str]:
    return [rdata.to_text() for rrset in message.answer for rdata in rrset]


def planted(name: str, *records: str, **options):
    return reply(f"{name} 300 CNAME hop.test.", f"hop.test. 300 CNAME {OURS}", *records, **options)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_our_records_follow(server, tcp):
    name = f"a{tcp}.test.".lower()
    server.nameserver.tell(name, "A", planted(name, f"{OURS} 300 A {EVIL}", f"web2.{OURS} 300 A {EVIL}"))
    for number in range(1, 4):
        got = server.ask(name, tcp=tcp, use_edns=0)
        assert data(got) == ["hop.test.", OURS, "10.0.0.7"] and EVIL not in str(got)
        assert not got.flags & dns.flags.AA and got.flags & dns.flags.RA
        assert server.nameserver.asked(name) == number  # what follows is looked up each time


def test_other_types(server):
    for rdtype, wanted in (("TXT", ['"ours"']), ("AAAA", []), ("MX", [])):
        name = f"t{rdtype}.test.".lower()
        server.nameserver.tell(name, rdtype, planted(name))
        got = server.ask(name, rdtype)
        assert data(got)[2:] == wanted and got.rcode() == dns.rcode.NOERROR
        assert bool(got.authority) == (not wanted)  # our SOA denies


@pytest.mark.parametrize("rcode", ["NOERROR", "NXDOMAIN"])
def test_what_does_not_exist(server, rcode):
    name, gone = f"gone-{rcode}.test.".lower(), "gone.default.svc.cluster.local."
    message = reply(f"{name} 300 CNAME {gone}", f"{gone} 300 A {EVIL}", rcode=rcode, authority=[soa("cluster.local.")])
    server.nameserver.tell(name, "A", message)
    got = server.ask(name)
    assert got.rcode() == dns.rcode.NXDOMAIN and data(got) == [gone] and EVIL not in str(got)


def test_an_upstream_denies_what_exists(server):
    name = "denied.test."
    message = planted(name, rcode="NXDOMAIN", authority=[soa("cluster.local.")])
    server.nameserver.tell(name, "A", message)
    got = server.ask(name)
    assert got.rcode() == dns.rcode.NOERROR and data(got)[-1] == "10.0.0.7"


def test_a_target_of_our_own(server):
    server.nameserver.tell("leads.test.", "A", planted("leads.test.", f"{OURS} 300 A {EVIL}"))
    for _ in range(2):
        got = server.ask("alias.default.svc.cluster.local.")
        assert data(got) == ["leads.test.", "hop.test.", OURS, "10.0.0.7"] and EVIL not in str(got)


def test_records_beside_the_answer(server):
    name = "beside.test."
    server.nameserver.tell(
        name, "A", reply(f"{name} 0 A 192.0.2.1", f"{OURS} 0 A {EVIL}", additional=[f"{OURS} 0 A {EVIL}"])
    )
    got = server.ask(name)
    assert data(got) == ["192.0.2.1"] and EVIL not in str(got)

"""CNAMEs of nameservers that lead to names of ours: what follows is said by our own records, to each client what it
may see; nameservers' records of such names are never served.
"""

import dns.flags
import dns.rcode
import pytest
from bailiwick import EVIL, OURS, data, zones_with_ours
from scripted import reply, soa


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    yield from zones_with_ours(tmp_path_factory.mktemp("home"))


def planted(name: str, *records: str, **options):
    return reply(f"{name} 300 CNAME hop.test.", f"hop.test. 300 CNAME {OURS}", *records, **options)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_our_records_follow(zones, tcp):
    name = f"a{tcp}.test.".lower()
    zones.general.tell(name, "A", planted(name, f"{OURS} 300 A {EVIL}", f"web2.{OURS} 300 A {EVIL}"))
    for number in range(1, 4):
        got = zones.ask(name, tcp=tcp, use_edns=0)
        assert data(got) == ["hop.test.", OURS, "10.0.0.7"] and EVIL not in str(got)
        assert not got.flags & dns.flags.AA and got.flags & dns.flags.RA
        assert zones.general.asked(name) == number  # what follows is looked up each time


def test_other_types(zones):
    for rdtype, wanted in (("TXT", ['"ours"']), ("AAAA", []), ("MX", [])):
        name = f"t{rdtype}.test.".lower()
        zones.general.tell(name, rdtype, planted(name))
        got = zones.ask(name, rdtype)
        assert data(got)[2:] == wanted and got.rcode() == dns.rcode.NOERROR
        assert bool(got.authority) == (not wanted)  # our SOA denies


@pytest.mark.parametrize("rcode", ["NOERROR", "NXDOMAIN"])
def test_what_does_not_exist(zones, rcode):
    name, gone = f"gone-{rcode}.test.".lower(), "gone.default.svc.cluster.local."
    message = reply(f"{name} 300 CNAME {gone}", f"{gone} 300 A {EVIL}", rcode=rcode, authority=[soa("cluster.local.")])
    zones.general.tell(name, "A", message)
    got = zones.ask(name)
    assert got.rcode() == dns.rcode.NXDOMAIN and data(got) == [gone] and EVIL not in str(got)


def test_an_upstream_denies_what_exists(zones):
    name = "denied.test."
    message = planted(name, rcode="NXDOMAIN", authority=[soa("cluster.local.")])
    zones.general.tell(name, "A", message)
    got = zones.ask(name)
    assert got.rcode() == dns.rcode.NOERROR and data(got)[-1] == "10.0.0.7"


def test_a_target_of_our_own(zones):
    zones.general.tell("leads.test.", "A", planted("leads.test.", f"{OURS} 300 A {EVIL}"))
    for _ in range(2):
        got = zones.ask("home.default.svc.cluster.local.")
        assert data(got) == ["leads.test.", "hop.test.", OURS, "10.0.0.7"] and EVIL not in str(got)


def test_records_beside_the_answer(zones):
    name = "beside.test."
    zones.general.tell(
        name, "A", reply(f"{name} 0 A 192.0.2.1", f"{OURS} 0 A {EVIL}", additional=[f"{OURS} 0 A {EVIL}"])
    )
    got = zones.ask(name)
    assert data(got) == ["192.0.2.1"] and EVIL not in str(got)

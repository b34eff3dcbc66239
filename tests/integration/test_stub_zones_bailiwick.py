"""Stub zones' nameservers are believed about their zone alone: a CNAME that leaves it is followed at the target's own
nameservers; what they say of other names reaches nobody.
"""

import dns.flags
import dns.rcode
import pytest
from bailiwick import EVIL, GOOD, OURS, Zones, data, zones_with_ours
from foreign_server import texts
from scripted import reply, soa, truncated


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    yield from zones_with_ours(tmp_path_factory.mktemp("bailiwick"))


@pytest.mark.parametrize("ttl", [0, 300])
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_records_of_others(zones, ttl, tcp):
    """Dropped from all sections, whether the response is kept or passed on; what belongs to a denial stays."""
    name = f"beside{ttl}{tcp}.one.test.".lower()
    told = reply(
        f"{name} {ttl} A 192.0.2.1",
        f"bank.example. {ttl} A {EVIL}",
        authority=[f"example. {ttl} NS ns.evil.example.", f"one.test. {ttl} NS ns.one.test."],
        additional=[f"ns.evil.example. {ttl} A {EVIL}", f"x.two.test. {ttl} A {EVIL}", f"{OURS} {ttl} A {EVIL}"],
    )
    zones.one.tell(name, "A", told)
    for _ in range(2):
        got = zones.ask(name, tcp=tcp, use_edns=0)
        assert texts(got) == ["192.0.2.1"] and EVIL not in str(got) and "evil" not in str(got)


def test_the_denial_of_a_zone_around(zones):
    """The stub zone's nameservers may have the zone around it, whose SOA denies."""
    zones.one.tell("no.one.test.", "A", reply(rcode="NXDOMAIN", authority=[soa("test."), soa("two.test.")]))
    for _ in range(2):
        got = zones.ask("no.one.test.")
        assert got.rcode() == dns.rcode.NXDOMAIN
        assert [rrset.name.to_text() for rrset in got.authority] == ["test."]
    assert zones.one.asked("no.one.test.") == 1


@pytest.mark.parametrize(
    ("rdtype", "record"), [("A", GOOD), ("AAAA", "2001:db8::9"), ("TXT", '"right"'), ("MX", "10 mail.example.")]
)
def test_a_target_of_the_general_nameservers(zones, rdtype, record):
    name, target = f"{rdtype}.one.test.".lower(), f"{rdtype}.example.".lower()
    wrong = {"A": EVIL, "AAAA": "2001:db8:bad::", "TXT": '"wrong"', "MX": "1 evil.example."}[rdtype]
    zones.one.tell(name, rdtype, reply(f"{name} 300 CNAME {target}", f"{target} 300 {rdtype} {wrong}"))
    zones.general.tell(target, rdtype, reply(f"{target} 60 {rdtype} {record}"))
    for _ in range(3):
        got = zones.ask(name, rdtype, use_edns=0)
        assert data(got) == [target, record] and got.rcode() == dns.rcode.NOERROR
        assert got.answer[0].name.to_text() == name and got.answer[1].name.to_text() == target
        assert not got.flags & dns.flags.AA and got.flags & dns.flags.RA
    assert zones.one.asked(name, rdtype) == zones.general.asked(target, rdtype) == 1  # kept, both of them
    assert got.answer[1].ttl <= 60 < got.answer[0].ttl


def test_a_chain_through_all_of_them(zones):
    """Of which the last one leads to a name of ours."""
    zones.one.tell("long.one.test.", "A", reply("long.one.test. 60 CNAME b.one.test.", "b.one.test. 60 CNAME c.two.test."))
    zones.two.tell("c.two.test.", "A", reply("c.two.test. 60 CNAME d.example.", f"d.example. 60 A {EVIL}"))
    zones.general.tell("d.example.", "A", reply("d.example. 60 CNAME e.example.", f"e.example. 60 CNAME {OURS}"))
    for _ in range(2):
        got = zones.ask("long.one.test.")
        assert data(got) == ["b.one.test.", "c.two.test.", "d.example.", "e.example.", OURS, "10.0.0.7"]


@pytest.mark.parametrize("rcode", ["NOERROR", "NXDOMAIN"])
def test_a_target_that_is_denied(zones, rcode):
    """Whatever the stub zone's nameserver says of it."""
    name, target = f"denied-{rcode}.one.test.".lower(), f"denied-{rcode}.example.".lower()
    other = "NXDOMAIN" if rcode == "NOERROR" else "NOERROR"
    zones.one.tell(name, "A", reply(f"{name} 60 CNAME {target}", rcode=other, authority=[soa("one.test.")]))
    zones.general.tell(target, "A", reply(rcode=rcode, authority=[soa("example.")]))
    for _ in range(2):
        got = zones.ask(name)
        assert dns.rcode.to_text(got.rcode()) == rcode and data(got) == [target]
        assert "example." in [rrset.name.to_text() for rrset in got.authority]


def test_a_target_that_fails(zones):
    zones.one.tell("fails.one.test.", "A", reply("fails.one.test. 60 CNAME fails.example."))
    zones.general.tell("fails.example.", "A", reply(rcode="REFUSED"))
    assert zones.ask("fails.one.test.").rcode() == dns.rcode.SERVFAIL


def test_a_target_of_a_zone_without_nameservers(zones):
    zones.one.tell("lost.one.test.", "A", reply("lost.one.test. 60 CNAME x.gone.test.", f"x.gone.test. 60 A {EVIL}"))
    assert zones.ask("lost.one.test.").rcode() == dns.rcode.SERVFAIL


def test_a_target_in_a_hosts_file(zones):
    zones.one.tell("host.one.test.", "A", reply("host.one.test. 60 CNAME known.example.", f"known.example. 60 A {EVIL}"))
    assert data(zones.ask("host.one.test.")) == ["known.example.", "192.0.2.55"]
    assert zones.general.asked("known.example.") == 0


def test_a_cname_that_is_asked_for(zones):
    zones.one.tell("is.one.test.", "CNAME", reply("is.one.test. 60 CNAME is.example."))
    assert data(zones.ask("is.one.test.", "CNAME")) == ["is.example."]
    zones.general.tell("is.example.", "CNAME", reply("is.example. 60 CNAME gone.default.svc.cluster.local."))
    got = zones.ask("is.example.", "CNAME")
    assert got.rcode() == dns.rcode.NOERROR and data(got) == ["gone.default.svc.cluster.local."]


def test_without_rd(zones):
    """Nobody else is asked, as for a CNAME of ours."""
    zones.one.tell("rd.one.test.", "A", reply("rd.one.test. 60 CNAME rd.example.", f"rd.example. 60 A {EVIL}", rcode="NXDOMAIN"))
    got = zones.ask("rd.one.test.", flags=0)
    assert got.rcode() == dns.rcode.NOERROR and data(got) == ["rd.example."]
    assert zones.general.asked("rd.example.") == 0


def test_an_alias_of_ours(zones):
    zones.one.tell("leaves.one.test.", "A", reply("leaves.one.test. 60 CNAME cdn.example.", f"cdn.example. 60 A {EVIL}"))
    zones.general.tell("cdn.example.", "A", reply(f"cdn.example. 60 A {GOOD}"))
    for _ in range(2):
        got = zones.ask("alias.default.svc.cluster.local.")
        assert data(got) == ["leaves.one.test.", "cdn.example.", GOOD] and EVIL not in str(got)


def test_a_reverse_zone(zones):
    """RFC 2317: within the zone, and out of it."""
    name, inside, outside = "7.0.0.10.in-addr.arpa.", "7.0-25.0.0.10.in-addr.arpa.", "7.rev.two.test."
    zones.one.tell(name, "PTR", reply(f"{name} 60 CNAME {inside}", f"{inside} 60 PTR host.one.test."))
    assert data(zones.ask(name, "PTR")) == [inside, "host.one.test."]
    name = "8.0.0.10.in-addr.arpa."
    zones.one.tell(name, "PTR", reply(f"{name} 60 CNAME {outside}", f"{outside} 60 PTR evil.example."))
    zones.two.tell(outside, "PTR", reply(f"{outside} 60 PTR host.two.test."))
    assert data(zones.ask(name, "PTR")) == [outside, "host.two.test."]


def test_a_loop(zones):
    """Ends at once, not by the timeout, which is longer than a client waits."""
    zones.one.tell("loop.one.test.", "A", reply("loop.one.test. 60 CNAME loop.two.test."))
    zones.two.tell("loop.two.test.", "A", reply("loop.two.test. 60 CNAME loop.one.test."))
    assert zones.ask("loop.one.test.").rcode() == dns.rcode.SERVFAIL
    assert zones.one.asked("loop.one.test.") == zones.two.asked("loop.two.test.") == 1


def test_a_chain_without_end(zones):
    for number in range(40):
        here, there = ("one", "two") if number % 2 == 0 else ("two", "one")
        name, target = f"n{number}.{here}.test.", f"n{number + 1}.{there}.test."
        (zones.one if here == "one" else zones.two).tell(name, "A", reply(f"{name} 60 CNAME {target}"))
    assert zones.ask("n0.one.test.").rcode() == dns.rcode.SERVFAIL
    asked = sum(zones.one.asked(f"n{number}.one.test.") + zones.two.asked(f"n{number}.two.test.") for number in range(40))
    assert asked <= 5


def test_one_target_of_many(zones):
    """All wait for one question about it, and have the answer."""
    zones.general.tell("slow.example.", "A", reply(f"slow.example. 0 A {GOOD}"))
    for number in range(20):
        name = f"many{number}.one.test."
        zones.one.tell(name, "A", reply(f"{name} 0 CNAME slow.example.", f"slow.example. 0 A {EVIL}"))
        assert data(zones.ask(name)) == ["slow.example.", GOOD]


def test_a_truncated_target(zones):
    """A client over UDP asks again over TCP; one over TCP gets no part of an answer."""
    zones.one.tell("cut.one.test.", "A", reply("cut.one.test. 60 CNAME cut.example."))
    zones.general.tell("cut.example.", "A", truncated)
    got = zones.ask("cut.one.test.")
    assert got.flags & dns.flags.TC and data(got) in ([], ["cut.example."])
    assert zones.ask("cut.one.test.", tcp=True).rcode() == dns.rcode.SERVFAIL


def test_general_nameservers_speak_for_all_but_us(zones):
    """They follow chains for everybody; kept under the name that was asked alone."""
    told = reply("into.example. 300 CNAME x.one.test.", "x.one.test. 300 A 192.0.2.8")
    zones.general.tell("into.example.", "A", told)
    zones.one.tell("x.one.test.", "A", reply("x.one.test. 300 A 192.0.2.9"))
    assert data(zones.ask("into.example.")) == ["x.one.test.", "192.0.2.8"]
    assert data(zones.ask("x.one.test.")) == ["192.0.2.9"]


def test_without_general_nameservers(bare_bed):
    """The CNAME alone, as of a CNAME of ours."""
    bare_bed.start_etcd()
    zones = Zones(bare_bed, "-no-rec")
    try:
        zones.one.tell("out.one.test.", "A", reply("out.one.test. 60 CNAME www.example.", f"www.example. 60 A {EVIL}"))
        zones.one.tell("two.one.test.", "A", reply("two.one.test. 60 CNAME www.two.test."))
        got = zones.ask("out.one.test.")
        assert got.rcode() == dns.rcode.NOERROR and data(got) == ["www.example."]
        assert data(zones.ask("two.one.test.")) == ["www.two.test.", "192.0.2.7"]
        assert zones.general.asked("www.example.") == 0
    finally:
        zones.close()

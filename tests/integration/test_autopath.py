"""-autopath: a pod's search list walked by skydns, with a real etcd and a nameserver that the test plays. The tests are
the pod, by its address.
"""

import threading
import time

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from foreign_server import Server, errors, is_aged
from programs import wait_until
from records import SVC, label, value
from scripted import ADDRESS, reply, soa

OWN = "team.svc.cluster.local."
POD = f"/skydns/local/cluster/pod/team/127-0-0-1/{label('127.0.0.1')}"
KEYS = {
    POD: value("127.0.0.1"),
    f"{SVC}/team/web/x": value("10.96.0.1"),
    f"{SVC}/other/db/x": value("10.96.0.2"),
    f"{SVC}/other/far": value("far.example."),
}
SEARCH = "-search=corp.test"
NO_DATA = reply(authority=[soa(".")])
NO_NAME = reply(rcode="NXDOMAIN", authority=[soa(".")])
FAILED = reply(rcode="SERVFAIL")
PLACES_BEFORE_BARE = 3


def start(bed, *flags: str, **options) -> Server:
    bed.start_etcd()
    bed.etcd.put_all(KEYS)
    server = Server(bed, "-autopath", *flags, **options)
    # The records are there; which pods are clients is known only when the addresses of nodes have been read, too.
    server.watched.wait_metric(1, "client_addresses", state="known")
    return server


@pytest.fixture(params=["udp", "tcp"])
def is_tcp(request) -> bool:
    return request.param == "tcp"


@pytest.fixture(params=["kept", "not kept"])
def cache(request) -> tuple[str, ...]:
    return () if request.param == "kept" else ("-rcache=0",)


def shown(message: dns.message.Message) -> list[str]:
    """The answer section, in its order, without TTLs."""
    names = []
    for rrset in message.answer:
        kind = dns.rdatatype.to_text(rrset.rdtype)
        names += [f"{rrset.name} {kind} {rdata.to_text()}" for rdata in rrset]
    return names


def ask(server: Server, name: str, rdtype: str = "A", **options) -> dns.message.Message:
    return server.ask(f"{name}.{OWN}", rdtype, **options)


def found(name: str, at: str) -> list[str]:
    """What the nameserver's address for another name looks like."""
    return [f"{name}.{OWN} CNAME {at}", f"{at} A {ADDRESS}"]


def test_one_question_each(bare_bed, is_tcp, cache):
    server = start(bare_bed, *cache)
    since_s = time.monotonic()
    for times in (1, 2):
        got = ask(server, "www.example.com", tcp=is_tcp)
        assert shown(got) == found("www.example.com", "www.example.com.")
        assert all(is_aged(rrset.ttl, 300, since_s) for rrset in got.answer)
        got = ask(server, "www.example.com", "AAAA", tcp=is_tcp)
        assert (got.rcode(), shown(got)) == (dns.rcode.NOERROR, [f"www.example.com.{OWN} CNAME www.example.com."])
        assert [rrset.rdtype for rrset in got.authority] == [dns.rdatatype.SOA]
        assert server.nameserver.asked("www.example.com", "A") == (times if cache else 1)
    assert {str(name) for name, _ in server.nameserver.counts()} == {"www.example.com."}
    assert server.metric("autopath_answers_total") == 4
    assert server.metric("autopath_saved_total") == 4 * PLACES_BEFORE_BARE
    assert shown(ask(server, "web", tcp=is_tcp)) == [f"web.{OWN} A 10.96.0.1"]
    at = "db.other.svc.cluster.local."
    assert shown(ask(server, "db.other", tcp=is_tcp)) == [f"db.other.{OWN} CNAME {at}", f"{at} A 10.96.0.2"]
    assert ask(server, "db", tcp=is_tcp).rcode() == dns.rcode.NXDOMAIN


def test_place_after_place(bare_bed, is_tcp, cache):
    """What nameservers say of one name leads to the next one."""
    server = start(bare_bed, SEARCH, *cache)
    tell = server.nameserver.tell
    for name, rdtype in (("a.test", "A"), ("b.test", "A"), ("c.test", "A"), ("d.test", "A"), ("e.test", "A")):
        tell(f"{name}.corp.test.", rdtype, NO_NAME)
    assert shown(ask(server, "in.test", tcp=is_tcp)) == found("in.test", "in.test.corp.test.")
    assert server.nameserver.asked("in.test") == 0
    assert shown(ask(server, "a.test", tcp=is_tcp)) == found("a.test", "a.test.")
    tell("b.test.", "A", NO_NAME)
    got = ask(server, "b.test", tcp=is_tcp)
    assert (got.rcode(), shown(got)) == (dns.rcode.NXDOMAIN, [])
    assert got.flags & dns.flags.AA  # it is the reply about the first name
    tell("c.test.", "A", FAILED)
    assert ask(server, "c.test", tcp=is_tcp).rcode() == dns.rcode.SERVFAIL
    tell("d.test.corp.test.", "A", FAILED)
    assert shown(ask(server, "d.test", tcp=is_tcp)) == found("d.test", "d.test.")
    tell("e.test.corp.test.", "A", FAILED)
    tell("e.test.", "A", NO_NAME)
    assert ask(server, "e.test", tcp=is_tcp).rcode() == dns.rcode.SERVFAIL
    # and all of it again, from what was kept
    assert shown(ask(server, "a.test", tcp=is_tcp)) == found("a.test", "a.test.")
    assert ask(server, "b.test", tcp=is_tcp).rcode() == dns.rcode.NXDOMAIN
    assert shown(ask(server, "d.test", tcp=is_tcp)) == found("d.test", "d.test.")
    assert server.nameserver.asked("a.test.corp.test") == (2 if cache else 1)


def test_search_domain_without_data(bare_bed, is_tcp, cache):
    """NODATA of a domain of -search ends nothing; the reply if no other name answers."""
    server = start(bare_bed, SEARCH, *cache)
    tell = server.nameserver.tell
    for name in ("a.test", "b.test", "c.test", "d.test"):
        tell(f"{name}.corp.test.", "A", NO_DATA)
    tell("b.test.", "A", NO_NAME)
    tell("c.test.", "A", FAILED)
    tell("d.test.", "A", NO_DATA)
    for _ in ("asked", "kept"):
        assert shown(ask(server, "a.test", tcp=is_tcp)) == found("a.test", "a.test.")
        got = ask(server, "b.test", tcp=is_tcp)
        assert (got.rcode(), shown(got)) == (dns.rcode.NOERROR, [])
        assert [rrset.rdtype for rrset in got.authority] == [dns.rdatatype.SOA]
        assert ask(server, "c.test", tcp=is_tcp).rcode() == dns.rcode.SERVFAIL
        got = ask(server, "d.test", tcp=is_tcp)
        assert (got.rcode(), shown(got)) == (dns.rcode.NOERROR, [f"d.test.{OWN} CNAME d.test."])


def test_a_silent_nameserver(bare_bed, is_tcp):
    """The names are tried one after another; the last one's kept reply, though expired, is the answer."""
    server = start(bare_bed, SEARCH)
    tell = server.nameserver.tell
    tell("www.test.corp.test.", "A", NO_NAME)
    tell("www.test.", "A", reply("www.test. 1 A 192.0.2.1"))
    right = [f"www.test.{OWN} CNAME www.test.", "www.test. A 192.0.2.1"]
    assert shown(ask(server, "www.test", tcp=is_tcp)) == right
    server.nameserver.always = lambda _query, _transport: None
    # Only now: the nameserver, a thread of ours, may take longer on a busy machine.
    bare_bed.etcd.put("/skydns/config", '{"read_timeout":150000000}')
    bare_bed.skydns.wait_line("configuration changed settings=read_timeout")
    server.watched.metrics()  # from the loop, when it is done with the change
    assert ask(server, "new.test", tcp=is_tcp).rcode() == dns.rcode.SERVFAIL
    assert server.nameserver.asked("new.test") > 0

    def is_stale() -> bool:
        got = ask(server, "www.test", tcp=is_tcp, use_edns=0)
        assert shown(got) == right
        return errors(got) == [3] and {rrset.ttl for rrset in got.answer} == {30}

    wait_until(is_stale, "the expired reply")


def held(server: Server, name: str, told) -> threading.Event:
    """The nameserver replies when the event is set."""
    event = threading.Event()

    def wait(query, transport):
        assert event.wait(20)
        return told(query, transport)

    server.nameserver.tell(name, "A", wait)
    return event


# What is asked to see the change, and what it says then; no nameserver is needed for that.
CHANGES = {
    "autopath": ('{"autopath":false}', "db.other", []),
    "search": (
        '{"search":"other.svc.cluster.local"}',
        "db",
        [f"db.{OWN} CNAME db.other.svc.cluster.local.", "db.other.svc.cluster.local. A 10.96.0.2"],
    ),
    "pod": (None, "db.other", []),
}


@pytest.mark.parametrize("nameserver", ["thinks", "is silent"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_while_a_nameserver(bare_bed, change, nameserver):
    """The search ends, and the client goes on by itself: it has the answer to its question alone. Also when skydns
    stops waiting: the place at which it waits is one of the earlier path."""
    text, seen_at, seen_then = CHANGES[change]
    server = start(bare_bed, SEARCH)
    event = held(server, "www.test.corp.test.", NO_NAME)
    got = []
    client = threading.Thread(target=lambda: got.append(ask(server, "www.test")))
    client.start()
    wait_until(lambda: server.nameserver.asked("www.test.corp.test"), "the nameserver is asked")
    if text:
        bare_bed.etcd.put("/skydns/config", text)
    else:
        bare_bed.etcd.delete(POD)
    wait_until(lambda: shown(ask(server, seen_at)) == seen_then, "the change")
    if nameserver == "thinks":
        event.set()
    client.join()
    event.set()
    assert [(reply.rcode(), shown(reply)) for reply in got] == [(dns.rcode.NXDOMAIN, [])]
    assert server.nameserver.asked("www.test") == 0


def test_clients_that_may_not_ask(bare_bed, is_tcp):
    """They have the answers of the domains alone, also when others have filled the cache."""
    server = start(bare_bed, "-allow-recursion=192.0.2.0/24")
    got = ask(server, "www.example.com", tcp=is_tcp)
    assert (got.rcode(), shown(got)) == (dns.rcode.NXDOMAIN, [])
    assert server.ask("www.example.com", tcp=is_tcp).rcode() == dns.rcode.REFUSED
    assert shown(ask(server, "db.other", tcp=is_tcp)) != []
    assert not server.nameserver.seen


def test_targets_of_aliases(bare_bed, is_tcp, cache):
    """An alias at a later place leads to a name that a nameserver is asked about."""
    server = start(bare_bed, "-schema=kubernetes", *cache)
    at = "far.other.svc.cluster.local."
    right = [f"far.other.{OWN} CNAME {at}", f"{at} CNAME far.example.", f"far.example. A {ADDRESS}"]
    assert shown(ask(server, "far.other", tcp=is_tcp)) == right
    assert server.nameserver.asked("far.example") == 1


def test_many_records_at_a_later_place(bare_bed):
    """The walker's answer is put behind the CNAME, too."""
    server = start(bare_bed)
    addresses = [f"10.1.{n // 250}.{n % 250}" for n in range(1500)]
    for begin in range(0, len(addresses), 100):
        some = addresses[begin : begin + 100]
        server.bed.etcd.put_all({f"{SVC}/other/many/{label(a)}": value(a) for a in some})
    whole = "many.other.svc.cluster.local."
    wait_until(lambda: len(shown(server.ask(whole, tcp=True))) == len(addresses), "all are there")
    got = shown(ask(server, "many.other", tcp=True))
    assert got[0] == f"many.other.{OWN} CNAME {whole}"
    assert sorted(got[1:]) == sorted(f"{whole} A {a}" for a in addresses)
    cut = ask(server, "many.other")
    assert shown(cut)[0] == got[0] and set(shown(cut)) < set(got) and cut.flags & dns.flags.TC

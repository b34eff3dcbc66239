"""-nsid (RFC 5001): which server answers, for queries that ask."""

import dns.edns
import dns.message
import dns.rcode
import pytest
from foreign_server import Server
from records import value
from scripted import reply

NSID = dns.edns.GenericOption(dns.edns.NSID, b"")
COOKIE = dns.edns.GenericOption(dns.edns.COOKIE, bytes(8))
TEXT = "replica-0 of skydns-1"


def options(message: dns.message.Message) -> dict[int, bytes]:
    return {int(option.otype): option.to_wire() for option in message.options}


@pytest.mark.parametrize("tcp", (False, True))
def test_those_who_ask_are_told(bare_bed, nameserver, tcp):
    """Whoever made the answer, with a cookie beside it, and in errors."""
    nameserver.tell("bad.test.", "A", reply(rcode="SERVFAIL"))
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
    server = Server(bare_bed, f"-nsid={TEXT}", nameserver=nameserver)
    for _ in range(2):
        for name, rcode in (("web.cluster.local", "NOERROR"), ("www.test.", "NOERROR"), ("nope.cluster.local", "NXDOMAIN"), ("bad.test.", "SERVFAIL")):
            got = server.ask(name, tcp=tcp, use_edns=0, options=[NSID])
            assert dns.rcode.to_text(got.rcode()) == rcode and options(got)[3] == TEXT.encode(), name
            both = options(server.ask(name, tcp=tcp, use_edns=0, options=[NSID, COOKIE]))
            assert both[3] == TEXT.encode() and len(both[10]) == 24
            assert 3 not in options(server.ask(name, tcp=tcp, use_edns=0, options=[COOKIE]))
            assert not server.ask(name, tcp=tcp).options


def test_room_is_left_for_it(bare_bed, nameserver):
    """A response that fills the datagram is cut for it, not sent longer than the client takes."""
    bare_bed.start_etcd()
    bare_bed.etcd.put_all({f"/skydns/local/cluster/many/{i}": value(f"10.0.0.{i}") for i in range(100)})
    server = Server(bare_bed, f"-nsid={'x' * 128}", nameserver=nameserver)
    for size in (512, 1232):
        got = server.ask("many.cluster.local", use_edns=0, payload=size, options=[NSID, COOKIE])
        assert len(options(got)[3]) == 128 and size - 16 < len(got.to_wire()) <= size


def test_no_text_no_option(bare_bed, nameserver):
    bare_bed.start_etcd()
    server = Server(bare_bed, nameserver=nameserver)
    assert not server.ask("cluster.local", use_edns=0, options=[NSID]).options
    program = bare_bed.command("skydns", f"-nsid={'x' * 129}")
    program.start()
    assert program.wait() == 2

"""Nameservers that fail, flood and lead back to skydns, while the cluster's own names are asked for."""

import signal
import socket
import struct

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from fault_bed import PATIENCE_S, PeakMemory
from upstream import Upstream

pytestmark = pytest.mark.faults

ROOT = "/skydns/local/cluster/hostile"
ZONE = "hostile.cluster.local"

# Records in a reply of 64 KiB.
FULL = 4000


def _head(query: dns.message.Message, flags: int, answers: int) -> bytes:
    """Header and question; its name is at offset 12."""
    [question] = query.question
    return (
        struct.pack("!HHHHHH", query.id, 0x8180 | flags, 1, answers, 0, 0)
        + question.name.to_wire()
        + struct.pack("!HH", question.rdtype, 1)
    )


def _address(number: int) -> bytes:
    return b"\xc0\x0c" + struct.pack("!HHIHHH", 1, 1, 300, 4, 0xC612, number)


def _alias(owner: str, target: str) -> bytes:
    name, data = (dns.name.from_text(text).to_wire() for text in (owner, target))
    return name + struct.pack("!HHIH", 5, 1, 300, len(data)) + data


def _full(query) -> bytes:
    return _head(query, 0, FULL) + b"".join(_address(n) for n in range(FULL))


def _backwards(query) -> bytes:
    """The longest chain, its last CNAME first, before as many records as there is room for."""
    names = [query.question[0].name.to_text(), *(f"{n}.example.com." for n in range(16))]
    chain = [_alias(names[n], names[n + 1]) for n in range(16)]
    return _head(query, 0, 16 + 3900) + b"".join(chain[::-1]) + b"".join(_address(n) for n in range(3900))


_REPLIES = {
    "servfail": lambda query: _head(query, dns.rcode.SERVFAIL, 0),
    "refused": lambda query: _head(query, dns.rcode.REFUSED, 0),
    "loop": lambda query: _head(query, 0, 1) + _alias(*2 * [query.question[0].name.to_text()]),
    "lies": lambda query: _head(query, 0, 65535),
    "junk": lambda query: _head(query, 0, 1) + b"\xc0\xff" * 600,
    "cut": lambda query: _head(query, dns.flags.TC, 0),
    "nodata": lambda query: _head(query, 0, 0),
    "nxdomain": lambda query: _head(query, dns.rcode.NXDOMAIN, 0),
    "backwards": _backwards,
    "full": _full,
}
_RCODES = {"nodata": "NOERROR", "nxdomain": "NOERROR", "backwards": "NOERROR", "full": "NOERROR", "cut": "NOERROR"}


class Hostile(Upstream):
    """Answers A by the first label, without a number at its end; other types have no data, except that it is silent
    about them where the addresses fill a message. Over TCP it only listens.
    """

    def __init__(self):
        super().__init__(None)

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        query = dns.message.from_wire(wire)
        self.seen.append((transport, query))
        [question] = query.question
        kind = question.name.labels[0].decode().rstrip("0123456789")
        if transport == "tcp" or kind not in _REPLIES:
            return None
        if question.rdtype != dns.rdatatype.A:
            return None if kind == "full" else _head(query, 0, 0)
        return _REPLIES[kind](query)


class Mirror(Upstream):
    """A nameserver that asks skydns while is_looping; else each A is 192.0.2.7. It does not know HINFO."""

    def __init__(self, skydns_port: int):
        super().__init__(None)
        self.is_looping = False
        self._skydns_port = skydns_port

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        query = dns.message.from_wire(wire)
        self.seen.append((transport, query))
        if self.is_looping:
            self._ask_skydns(query)
            return None
        if query.question[0].rdtype == dns.rdatatype.HINFO:
            return _head(query, dns.rcode.NXDOMAIN, 0)
        return _head(query, 0, 1) + b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + b"\xc0\0\2\7"

    def _ask_skydns(self, query) -> None:
        """Nobody waits for the reply: this thread has other questions to pass on."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", self._skydns_port))
            client.send(dns.message.make_query(query.question[0].name, query.question[0].rdtype).to_wire())


def _start(bed, *nameservers: Upstream) -> None:
    ports = ",".join(f"127.0.0.1:{server.port}" for server in nameservers)
    bed.skydns_flags = [f"-nameservers={ports}", "-rtimeout=1s", "-no-rec=false"]
    bed.start_etcd()
    bed.start()


def _ask_at_once(bed, name: str, rdtype: str, count: int) -> list[dns.message.Message]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", bed.dns.port))
        for number in range(count):
            query = dns.message.make_query(name, rdtype, id=number)
            client.send(query.to_wire())
        return [dns.message.from_wire(client.recv(65535)) for _ in range(count)]


def test_every_kind_of_trouble(fault_bed):
    """Failures are SERVFAIL, denials are not, and neither costs the cluster's names anything."""
    server = Hostile()
    _start(fault_bed, server)
    for kind in [*_REPLIES, "silent"]:
        fault_bed.etcd.put(f"{ROOT}/{kind}", f'{{"host":"{kind}.example.com"}}')
    fault_bed.wait_answers(f"silent.{ZONE}", "CNAME", ["silent.example.com."])
    with fault_bed.under_load():
        for kind in [*_REPLIES, "silent"]:
            for reply in _ask_at_once(fault_bed, f"{kind}.{ZONE}", "A", 50):
                assert dns.rcode.to_text(reply.rcode()) == _RCODES.get(kind, "SERVFAIL"), kind
                assert bool(reply.flags & dns.flags.TC) == (kind in ("cut", "full")), kind
            for reply in _ask_at_once(fault_bed, f"{kind}.{ZONE}", "SRV", 50):
                assert reply.rcode() == dns.rcode.NOERROR and len(reply.answer) == 1, kind
    server.close()


def test_long_replies_for_many_clients(fault_bed):
    """Each of 1,500 queries waits for the last of its 16 questions, with eight replies of 64 KiB in hand."""
    server = Hostile()
    _start(fault_bed, server)
    for number in range(8):
        fault_bed.etcd.put(f"{ROOT}/{number}", f'{{"host":"full{number}.example.com","port":{number + 1}}}')
    fault_bed.wait_answers(f"7.{ZONE}", "CNAME", ["full7.example.com."])
    with fault_bed.under_load(), PeakMemory(fault_bed.skydns) as memory:
        replies = _ask_at_once(fault_bed, ZONE, "SRV", 1500)
    assert {(reply.rcode(), len(reply.answer[0])) for reply in replies} == {(dns.rcode.NOERROR, 8)}
    fault_bed.note(f"skydns grew by {memory.growth_kib >> 10} MiB")
    assert memory.growth_kib < 40 << 10  # the lookups' 12 MiB, and the queries


def test_a_loop_begins_and_ends(fault_bed):
    """The other nameserver answers meanwhile, and nothing circulates."""
    mirror = Mirror(fault_bed.dns.port)
    spare = Mirror(fault_bed.dns.port)
    _start(fault_bed, mirror, spare)
    bed = fault_bed
    reader = bed.watched[0]
    assert bed.dns.answers("www.example.com") == ["192.0.2.7"] and not spare.is_looping
    with bed.under_load():
        mirror.is_looping = True
        assert bed.dns.answers("1.example.com") == ["192.0.2.7"]  # asked twice, which is suspicious
        bed.skydns.wait_line("leads back to this program", timeout_s=PATIENCE_S)
        assert reader.metrics().get("nameservers_looping") == 1
        before = len([query for _, query in mirror.seen if query.question[0].rdtype == dns.rdatatype.A])
        for number in range(200):
            assert bed.dns.answers(f"{number}.example.org") == ["192.0.2.7"]
        questions = [query for _, query in mirror.seen if query.question[0].rdtype == dns.rdatatype.A]
        assert len(questions) == before
        mirror.is_looping = False
        bed.skydns.signal(signal.SIGHUP)
        bed.skydns.wait_line("no longer leads back", timeout_s=PATIENCE_S)
        seen = len(mirror.seen)
        assert bed.dns.answers("2.example.com") == ["192.0.2.7"]
        assert len(mirror.seen) > seen
    mirror.close()
    spare.close()

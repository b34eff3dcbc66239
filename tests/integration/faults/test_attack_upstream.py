"""Nameservers whose responses cost more than they are worth, or say what they cannot know."""

import struct
from contextlib import closing

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from churn import STEADY
from fault_bed import PATIENCE_S, FaultBed, full
from kube import service
from others import Others
from programs import wait_until
from upstream import Upstream

pytestmark = pytest.mark.faults

_ROUNDS = 40
_RECORDS = 3000


def _cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Long(Upstream):
    """Replies of nearly 64 KiB to names by their first label, over TCP; its own datagrams are truncated."""

    def __init__(self):
        super().__init__(None)

    def _reply(self, transport: str, wire: bytes) -> bytes:
        query = dns.message.from_wire(wire)
        [question] = query.question
        kind = question.name.labels[0].decode().rstrip("0123456789")
        is_long = transport == "tcp" and kind in ("plain", "proofs")
        sections = getattr(self, f"_{kind}")() if is_long else (0, b"", 0, b"")
        answers, answer, authorities, authority = sections
        rcode = dns.rcode.NXDOMAIN if authorities else 0
        flags = 0x8180 | rcode | (0 if is_long else dns.flags.TC)
        head = struct.pack("!HHHHHH", query.id, flags, 1, answers, authorities, 0)
        return head + question.name.to_wire() + struct.pack("!HH", question.rdtype, 1) + answer + authority

    def _plain(self) -> tuple[int, bytes, int, bytes]:
        record = b"\xc0\x0c" + struct.pack("!HHIHI", 1, 1, 0, 4, 0xC6120007)
        return _RECORDS, record * _RECORDS, 0, b""

    def _proofs(self) -> tuple[int, bytes, int, bytes]:
        """The root's SOA; 32 NSEC records of one name, and for each of these again all of its signatures."""
        soa = b"\0" + struct.pack("!HHIH", 6, 1, 300, 22) + b"\0\0" + struct.pack("!IIIII", 1, 1, 1, 1, 300)
        nsec = b"\0" + struct.pack("!HHIH", 47, 1, 300, 4) + b"\0" + b"\0\1\x40"
        rrsig_data = struct.pack("!HBBIIIH", 47, 8, 0, 300, 2**31, 0, 1) + b"\0"
        rrsig = b"\0" + struct.pack("!HHIH", 46, 1, 300, len(rrsig_data) + 1) + rrsig_data + b"x"
        signatures = (60000 - 32 * len(nsec)) // len(rrsig)
        return 0, b"", 1 + 32 + signatures, soa + nsec * 32 + rrsig * signatures


def _start(bed: FaultBed, *nameservers: Upstream) -> None:
    ports = ",".join(f"127.0.0.1:{server.port}" for server in nameservers)
    bed.skydns_flags = [f"-nameservers={ports}", "-rtimeout=2s", "-no-rec=false", "-workers=1"]
    bed.start_etcd()
    bed.start()


def _ask(bed: FaultBed, kind: str) -> tuple[float, int]:
    """CPU of skydns for each of many names, and the longest of its responses."""
    before, longest = _cpu_s(bed.skydns.pid), 0
    for number in range(_ROUNDS):
        query = dns.message.make_query(f"{kind}{number}.example.com.", "A", want_dnssec=True)
        longest = max(longest, len(dns.query.tcp(query, "127.0.0.1", port=bed.dns.port, timeout=60).to_wire()))
    return (_cpu_s(bed.skydns.pid) - before) / _ROUNDS, longest


def test_attack_proofs_times_signatures(fault_bed):
    """What a response of signatures costs is not much more than one of addresses, and it is not multiplied."""
    with closing(Long()) as upstream:
        _start(fault_bed, upstream)
        with Others(fault_bed, full(STEADY), rcode=3) as others:
            idle = others.measure()
            plain_s, _ = _ask(fault_bed, "plain")
            proofs_s, longest = _ask(fault_bed, "proofs")
            attacked = others.measure()
    fault_bed.note(f"a response of 64 KiB: addresses {plain_s * 1000:.1f} ms of CPU, proofs {proofs_s * 1000:.1f} ms")
    others.check(fault_bed, "proofs and signatures of an upstream", idle, attacked)
    assert longest < 65000
    assert proofs_s <= 2 * plain_s + 0.002


def _bad_version(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.set_rcode(dns.rcode.BADVERS)
    return reply


def _referral(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.flags &= ~dns.flags.AA
    reply.authority = [dns.rrset.from_text("com.", 300, "IN", "NS", "ns.example.")]
    return reply


def _address(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    [question] = query.question
    if question.rdtype == dns.rdatatype.A:
        reply.answer = [dns.rrset.from_text(question.name, 300, "IN", "A", "192.0.2.7")]
    return reply


@pytest.mark.parametrize("useless", [_bad_version, _referral])
def test_attack_useless_responses(fault_bed, useless):
    """A server that says nothing of the question has failed: the next one is asked, for names and targets."""
    with closing(Upstream(useless)) as first, closing(Upstream(_address)) as second:
        _start(fault_bed, first, second)
        alias = service("alias", type="ExternalName", externalName="www.example.com")
        fault_bed.kube.create("services", alias)
        wait_until(lambda: "192.0.2.7" in fault_bed.dns.answers(full("alias")), "the target's address", PATIENCE_S)
        for number in range(4):  # whichever server comes first
            reply = fault_bed.dns.query(f"w{number}.example.com.", "A")
            assert [str(rdata) for rrset in reply.answer for rdata in rrset] == ["192.0.2.7"]
        assert first.seen and second.seen

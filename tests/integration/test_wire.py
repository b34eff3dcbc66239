"""Names at the limits of RFC 1035, stored and queried: long, deep, with bytes that need escapes; and messages
with malformed names.
"""

import socket
import struct

import dns.flags
import dns.message
import dns.name
import dns.rcode
import pytest
from records import value

DOMAIN = dns.name.from_text("cluster.local.")


def key_of(name: dns.name.Name) -> str:
    labels = [label.decode() for label in name.labels if label]
    return "/skydns/" + "/".join(reversed(labels))


def name_of(*labels: bytes) -> dns.name.Name:
    return dns.name.Name([*labels, *DOMAIN.labels])


def ask(bed, name: dns.name.Name, rdtype: str = "A", **options) -> dns.message.Message:
    return bed.dns.send(dns.message.make_query(name, rdtype, **options))


# 255 bytes on the wire: three labels of 63, one of 46, cluster.local. of 15.
LONGEST = name_of(b"a" * 63, b"b" * 63, b"c" * 63, b"d" * 47)
# The 120 labels of one byte that fit in front of it.
DEEPEST = name_of(*[b"e"] * 120)


@pytest.mark.parametrize("name", [LONGEST, DEEPEST], ids=["longest", "deepest"])
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_names_as_large_as_they_may_be(dns_bed, name, tcp):
    assert len(name.to_wire()) == 255
    dns_bed.etcd.put(key_of(name), value("10.9.9.9"))
    dns_bed.wait_answers(name.to_text(), "A", ["10.9.9.9"])
    reply = dns_bed.dns.send(dns.message.make_query(name, "A"), tcp)
    assert reply.answer[0].name == name and not reply.flags & dns.flags.TC
    below = dns.name.Name([name.labels[0][1:] or b"x", *name.labels[1:]])
    assert ask(dns_bed, below).rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("name", [LONGEST, DEEPEST], ids=["longest", "deepest"])
def test_large_names_over_streams(dns_bed, clients, name):
    dns_bed.etcd.put(key_of(name), value("10.9.9.9"))
    dns_bed.wait_answers(name.to_text(), "A", ["10.9.9.9"])
    for client in clients.values():
        assert client.send(dns.message.make_query(name, "A")).answer[0].name == name


def test_targets_as_large_as_they_may_be(dns_bed):
    """SRV targets are not compressed: the longest one arrives in full."""
    dns_bed.etcd.put(key_of(LONGEST), value("10.9.9.9"))
    dns_bed.etcd.put("/skydns/local/cluster/points", value(LONGEST.to_text(), 80))
    dns_bed.wait_answers("points.cluster.local", "SRV", [f"10 100 80 {LONGEST.to_text()}"])
    reply = ask(dns_bed, name_of(b"points"), "SRV")
    assert reply.additional[0].name == LONGEST and reply.additional[0][0].to_text() == "10.9.9.9"


@pytest.mark.parametrize(
    "label", [b"a.b", b"a/b", b"\0", b"\xff\xfe", b"a b", b"\\", b'"', b"a\x7f", b"*x", b"_"], ids=repr
)
def test_labels_with_any_bytes(dns_bed, label):
    """No key has such a name: it does not exist, and the reply echoes the question."""
    name = name_of(label, b"odd")
    reply = ask(dns_bed, name, use_edns=0)
    assert reply.rcode() == dns.rcode.NXDOMAIN and reply.question[0].name.labels == name.labels
    foreign = ask(dns_bed, dns.name.Name([label, b"test", b""]), use_edns=0)
    assert foreign.rcode() == dns.rcode.SERVFAIL  # this skydns forwards nothing


def test_a_dot_inside_a_label_is_no_key_above(dns_bed):
    """`a\\.b` is one label, not the name b below a."""
    dns_bed.etcd.put("/skydns/local/cluster/two/b/a", value("10.9.9.8"))
    dns_bed.wait_answers("a.b.two.cluster.local", "A", ["10.9.9.8"])
    assert ask(dns_bed, name_of(b"a.b", b"two")).rcode() == dns.rcode.NXDOMAIN


def test_utf8_in_keys(dns_bed):
    dns_bed.etcd.put("/skydns/local/cluster/bücher", value("10.9.9.7"))
    dns_bed.etcd.put("/skydns/local/cluster/plain", value("10.9.9.6"))
    dns_bed.wait_answers("plain.cluster.local", "A", ["10.9.9.6"])
    reply = ask(dns_bed, name_of("bücher".encode()))
    assert [rr.to_text() for rr in reply.answer[0]] == ["10.9.9.7"]


def raw(bed, wire: bytes) -> bytes | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", bed.dns.port))
        client.settimeout(20)
        client.send(wire)
        probe = dns.message.make_query("cluster.local", "SOA", id=0x7777)
        client.send(probe.to_wire())
        first = client.recv(65535)
        if first[:2] == b"\x77\x77":  # one worker gets both, in order
            return None
        client.recv(65535)
        return first


HEAD = struct.pack("!6H", 0x1234, 0x0100, 1, 0, 0, 0)
TAIL = struct.pack("!2H", 1, 1)


@pytest.mark.parametrize(
    "name",
    [
        b"\xc0\x0c",  # points to itself
        b"\x01a\xc0\x0c",  # a loop
        b"\xc0\x10",  # forwards
        b"\xc0\xff",  # points outside the message
        b"\x40" + b"a" * 64 + b"\0",  # undefined label type
        b"\x80" + b"a" * 64 + b"\0",
        b"\x3f" + b"a" * 62,  # truncated
        (b"\x3f" + b"a" * 63) * 4 + b"\0",  # 257 bytes
        b"\x01a" * 128 + b"\0",  # 257 bytes, 128 labels
    ],
    ids=lambda name: name[:4].hex(),
)
def test_names_that_are_none(dns_bed, name):
    reply = raw(dns_bed, HEAD + name + TAIL)
    assert reply is not None and reply[:2] == b"\x12\x34"
    assert reply[3] & 0x0F == dns.rcode.FORMERR
    dns.message.from_wire(reply)


def test_a_response_is_met_with_silence(dns_bed):
    query = dns.message.make_query("cluster.local", "SOA")
    response = dns.message.make_response(query)
    assert raw(dns_bed, response.to_wire()) is None

"""No byte of a nameserver's response reaches a client as it came: each is parsed, checked and written anew, whether it
can be kept or not, and whatever it came over.
"""

import re
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from certificates import Authority
from scripted import truncated
from tls_nameserver import TlsNameserver
from upstream import Upstream

ADDRESS = bytes([192, 0, 2, 1])
TRAILER = b"garbage behind the last record"
OWNER = b"\xc0\x0c"
_TTL = re.compile(rb"(\xc0\x0c\x00\x0f\x00\x01)....", re.DOTALL)

# Rdata that its type cannot have.
MALFORMED = {
    "A": ADDRESS[:3],
    "NS": b"\x03cut",
    "CNAME": b"\x00behind",
    "SOA": b"\x00\x00" + b"short",
    "PTR": b"\xc0\xff",  # leads forward
    "HINFO": b"\x07one",
    "MX": b"\x00\x0a",
    "TXT": b"\x05four",
    "AAAA": ADDRESS,
    "SRV": b"\x00\x01\x00\x02\x00\x03",
    "NAPTR": b"\x00\x01\x00\x02\x01s\x00\x00",
    "DNAME": b"\x40label",
    "DS": b"\x00\x01\x08",
    "RRSIG": b"\x00\x01\x08\x01",
    "NSEC": b"\x00\x00\x00",  # an empty window
    "DNSKEY": b"\x01\x00\x03",
    "NSEC3": b"\x01\x00\x00\x01\x00\x05hash",
    "TLSA": b"\x03\x01",
    "SVCB": b"\x00\x01\xc0\x0c",  # compressed
    "HTTPS": b"\x00\x01\x00\x00\x03\x00\x02\x00\x50\x00\x01\x00\x02h3",  # not in order
    "CAA": b"\x00\x0fissue",
}


def record(owner: bytes, rdtype: int, ttl_s: int, rdata: bytes) -> bytes:
    return owner + struct.pack("!HHIH", rdtype, 1, ttl_s, len(rdata)) + rdata


def answered(query: bytes, *records: bytes, flags: int = 0x8180) -> bytes:
    """Without EDNS. Records in the answer section."""
    end = query.index(0, 12) + 5
    return query[:2] + struct.pack("!5H", flags, 1, len(records), 0, 0) + query[12:end] + b"".join(records)


def odd(wire: bytes) -> bytes:
    """The name in other capitals, spelled out."""
    return bytes(c ^ 32 if chr(c).isalpha() else c for c in wire)


def reply(query: bytes) -> bytes:
    """By the name's first label: `plain`, `crazy` with TTL 0 or 300, or a type whose rdata is malformed."""
    message = dns.message.from_wire(query)
    question = message.question[0]
    label = question.name.labels[0].decode().lower()
    name = query[12 : query.index(0, 12) + 1]
    ttl_s = 0 if label.endswith("0") else 300
    if label.startswith("plain"):
        return answered(query, record(OWNER, dns.rdatatype.MX, ttl_s, b"\x00\x0a\x04mail" + OWNER))
    if label.startswith("crazy"):
        # Z set; each name spelled out, in other capitals, or by two pointers.
        far = record(odd(name), dns.rdatatype.MX, ttl_s, b"\x00\x0a\x04mail" + odd(name))
        return answered(query, far, flags=0x8580 | 0x40) + TRAILER
    if label in map(str.lower, MALFORMED):
        rdtype = dns.rdatatype.from_text(label)
        return answered(query, record(OWNER, rdtype, 0, MALFORMED[label.upper()]))
    return answered(query)


class Raw(Upstream):
    """Says the same over UDP and TCP; or has more to say over TCP."""

    def __init__(self, over_tcp: bool):
        self._over_tcp = over_tcp
        super().__init__(None)

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        if transport == "udp" and self._over_tcp:
            return truncated(dns.message.from_wire(wire), transport)
        return reply(wire)


def _serve(_server: TlsNameserver, connection) -> None:
    while True:
        connection.write(reply(connection.read()))


@pytest.fixture(params=["udp", "tcp", "tls"])
def dns_of(request, bare_bed, tmp_path):
    """How to ask a skydns whose nameserver is asked over this."""
    bare_bed.start_etcd()
    flags = ["-rtimeout=1s"]
    if request.param == "tls":
        authority = Authority(tmp_path, "ca")
        server = TlsNameserver(*authority.sign("upstream", host="dns.example"), _serve)
        flags += [f"-nameservers=tls://127.0.0.1:{server.port}#dns.example", f"-nameservers-ca={authority.certificate}"]
    else:
        server = Raw(request.param == "tcp")
        flags += [f"-nameservers=127.0.0.1:{server.port}"]
    bare_bed.start_skydns(*flags)
    yield bare_bed.dns
    server.close()


def raw(dns_of, name: str, tcp: bool) -> bytes:
    """The response's bytes but for the TTL, with the name's label as if it were another one."""
    query = dns.message.make_query(name, "MX", id=7).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as client:
        client.settimeout(dns_of.timeout_s)
        client.connect(("127.0.0.1", dns_of.port))
        client.sendall(struct.pack("!H", len(query)) + query if tcp else query)
        got = client.recv(65535)
        while tcp and len(got) < 2 + int.from_bytes(got[:2], "big"):
            got += client.recv(65535)
    return _TTL.sub(rb"\1", got.replace(name.split(".")[0].encode(), b"label0"))


@pytest.mark.parametrize("tcp", [False, True], ids=["to-udp", "to-tcp"])
@pytest.mark.parametrize("kept", [0, 1], ids=["passed-on", "kept"])
def test_bytes_that_we_would_not_write(dns_of, tcp, kept):
    """Byte for byte the response that one of a sane nameserver makes."""
    plain, crazy = f"plain{kept}.test", f"crazy{kept}.test"
    for _ in range(1 + kept):
        assert raw(dns_of, crazy, tcp) == raw(dns_of, plain, tcp)
    assert TRAILER not in raw(dns_of, crazy, tcp)


def test_malformed_rdata(dns_of):
    """Of every type that is known: SERVFAIL, without a byte of it (over UDP it may be the truncated response, if TCP
    brought no better one). The nameserver is not dead for that.
    """
    with ThreadPoolExecutor(len(MALFORMED)) as threads:
        replies = threads.map(lambda rdtype: (rdtype, dns_of.query(f"{rdtype}.test", rdtype, tcp=True)), MALFORMED)
        for rdtype, got in replies:
            assert got.rcode() == dns.rcode.SERVFAIL and not got.answer, f"{rdtype}: {got}"
    assert dns_of.query("plain0.test", "MX").answer

"""Late answers that are longer than what the client's socket holds: a client that reads has all of them, on a connection
that stays open.
"""

import select
import socket
import struct

import dns.flags
import dns.message
import dns.rrset
import pytest
from fault_bed import PATIENCE_S
from programs import reserve_port, wait_until
from upstream import PATIENT, Upstream
from watched import Watched

pytestmark = pytest.mark.faults

_QUERIES = 60
_TEXTS = 250  # of 255 bytes: 64 KB
_READ = 16384  # at once: a client that takes fewer in ten seconds (TCP_PROGRESS_MIN) is not one that reads


class _Long(Upstream):
    """A nameserver whose answers are as long as TCP allows."""

    def __init__(self):
        super().__init__(self._answer_long)

    def _reply(self, transport: str, wire: bytes) -> bytes:
        query = dns.message.from_wire(wire)
        reply = dns.message.make_response(query, recursion_available=True)
        if transport == "udp":
            reply.flags |= dns.flags.TC
        else:
            texts = " ".join(f'"{number:0255d}"' for number in range(_TEXTS))
            reply.answer.append(dns.rrset.from_text(query.question[0].name, 77, "IN", "TXT", texts))
        return reply.to_wire(max_size=65535)

    @staticmethod
    def _answer_long(query: dns.message.Message) -> None:
        raise AssertionError(f"not asked: {query}")


def _take(client: socket.socket, read: bytearray, count: int) -> bytes:
    """What comes next, of what was read and then of the connection."""
    while len(read) < count:
        chunk = client.recv(65536)
        assert chunk, "the connection was closed"
        read.extend(chunk)
    taken = bytes(read[:count])
    del read[:count]
    return taken


def _take_length(client: socket.socket, read: bytearray) -> int:
    return struct.unpack("!H", _take(client, read, 2))[0]


def test_attack_late_answers_of_64_kb(fault_bed):
    bed, upstream, http = fault_bed, _Long(), reserve_port()
    bed.start_etcd()
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", PATIENT, "-rcache=0", f"-http-addr=127.0.0.1:{http}")
    watched = Watched(bed.skydns, http, "skydns_")
    queries = [dns.message.make_query(f"long{number}.test", "TXT", id=number).to_wire() for number in range(_QUERIES)]
    try:
        with socket.socket() as client:
            client.settimeout(PATIENCE_S)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", bed.dns.port))
            client.sendall(b"".join(struct.pack("!H", len(query)) + query for query in queries))
            read = bytearray()

            def is_all_answered() -> bool:
                if select.select([client], [], [], 0)[0]:
                    read.extend(client.recv(_READ))
                return watched.metrics().get("replies_total", transport="tcp", rcode="NOERROR") == _QUERIES

            wait_until(is_all_answered, "all are answered", PATIENCE_S)
            got = [dns.message.from_wire(_take(client, read, _take_length(client, read))) for _ in queries]
    finally:
        upstream.close()
    assert sorted(reply.id for reply in got) == list(range(_QUERIES))
    assert all(reply.answer for reply in got)
    bed.note(f"{_QUERIES} late answers of 64 KB wait until they are read")

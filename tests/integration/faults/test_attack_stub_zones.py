"""Two readers that name each other as the nameserver of a stub zone: whoever asks about it makes no loop. And whoever
pretends to be one of them, over TCP, loses no more than that query.
"""

import socket
import struct
import time

import dns.edns
import dns.message
import dns.rcode
import pytest
from dns_client import Dns
from fault_bed import PATIENCE_S, FaultBed
from programs import reserve_port
from watched import Watched

pytestmark = pytest.mark.faults

_ZONE = "loop.test"
# Longer than anything takes that waits for no timeout.
_TIMEOUT_S = 30
_OPTION = dns.edns.GenericOption(65011, b"\1")  # a server of stub zones forwards the query


class _Reader:
    def __init__(self, bed: FaultBed, port: int, other: int, domain: str = "cluster.local", zone: str = _ZONE):
        http = reserve_port()
        self.port = port
        self._program = bed.command(
            "skydns", f"-machines={','.join(bed.etcd_urls)}", f"-addr=127.0.0.1:{port}", f"-domain={domain}.", "-no-rec",
            f"-stub={zone}=127.0.0.1:{other}", f"-rtimeout={_TIMEOUT_S}s", f"-http-addr=127.0.0.1:{http}",
        )  # fmt: skip
        self._program.start()
        self._program.wait_line("ready for queries on .* for udp://")
        self._watched = Watched(self._program, http, "skydns_")

    def queries(self) -> float:
        page = self._watched.metrics()
        return sum(page.get("queries_total", transport="udp", verdict=v) for v in ("answered", "deferred", "dropped", "refused"))


@pytest.fixture
def readers(fault_bed):
    fault_bed.start_etcd()
    ports = reserve_port(), reserve_port()
    return [_Reader(fault_bed, *ports), _Reader(fault_bed, *reversed(ports))]


def test_attack_stub_zones_that_name_each_other(fault_bed, readers):
    first, second = readers
    begun = time.monotonic()
    assert Dns(first.port, timeout_s=PATIENCE_S).answers(f"www.{_ZONE}") == ["SERVFAIL"]
    took_s = time.monotonic() - begun
    counts = [reader.queries() for reader in readers]
    fault_bed.note(f"one query makes {counts[0]:.0f} and {counts[1]:.0f} at the two, answered after {took_s * 1000:.1f} ms")
    assert counts == [1, 1] and took_s < _TIMEOUT_S / 2


def test_attack_stub_zones_of_others_over_tcp(fault_bed, readers):
    """A forwarder's other queries on the same connection are answered, before and behind."""
    looped = dns.message.make_query(f"www.{_ZONE}", "A", use_edns=0, options=[_OPTION], id=1)
    plain = dns.message.make_query("absent.cluster.local", "A", id=2)
    sequence = [plain, looped, plain, looped, plain]
    with socket.create_connection(("127.0.0.1", readers[0].port), PATIENCE_S) as connection:
        for query in sequence:
            connection.sendall(struct.pack("!H", len(query.to_wire())) + query.to_wire())
        replies = connection.makefile("rb")
        got = [dns.message.from_wire(replies.read(struct.unpack("!H", replies.read(2))[0])) for _ in sequence]
    assert [reply.id for reply in got] == [query.id for query in sequence]
    assert {reply.rcode() for reply in got if reply.id == looped.id} == {dns.rcode.REFUSED}


def test_attack_aliases_of_each_others_names(fault_bed):
    """Each of the two is asked once, and asks the other once at most; a chain that ends is followed by who asks."""
    bed = fault_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/one/x", '{"host":"y.two.local"}')
    bed.etcd.put("/skydns/local/two/y", '{"host":"x.one.local"}')
    bed.etcd.put("/skydns/local/one/a", '{"host":"b.two.local"}')
    bed.etcd.put("/skydns/local/two/b", '{"host":"c.one.local"}')
    bed.etcd.put("/skydns/local/one/c", '{"host":"10.0.0.3"}')
    ports = reserve_port(), reserve_port()
    first = _Reader(bed, *ports, domain="one.local", zone="two.local")
    second = _Reader(bed, *reversed(ports), domain="two.local", zone="one.local")
    client = Dns(first.port, timeout_s=PATIENCE_S)
    begun = time.monotonic()
    got = client.query("x.one.local")
    took_s = time.monotonic() - begun
    counts = first.queries(), second.queries()
    bed.note(f"one query makes {counts[0]:.0f} and {counts[1]:.0f} at the two, answered after {took_s * 1000:.1f} ms")
    assert counts == (1, 1) and took_s < _TIMEOUT_S / 2 and len(got.answer) <= 3, str(got)
    assert client.answers("a.one.local") == ["10.0.0.3", "b.two.local.", "c.one.local."]

"""kube-dns's sidecar beside skydns: its questions, byte for byte as miekg/dns packs them, and its arithmetic. The
sidecar itself is not run here. exechealthz in its place has the same metrics.
"""

import random
import re
import socket
import struct

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from chapters import blocks, chapter
from dns_client import TIMEOUT_S
from programs import wait_until
from prometheus import SIDECAR_COUNTERS, parse
from records import service_records
from test_exechealthz import ask
from upstream import PATIENT, Upstream

TXT, SRV, AAAA, A, ANY = 16, 33, 28, 1, 255
INTERNET, CHAOS = 1, 3
# What it asks for, in this order, and the metric's name.
COUNTERS = {"hits": "hits", "misses": "misses", "evictions": "evictions", "insertions": "insertions",
            "cachesize": "max_size"}  # fmt: skip
KUBERNETES = "kubernetes.default.svc.cluster.local."


class Sidecar:
    """One client for all: a socket of its own for each question, over UDP, RD set and nothing else."""

    def __init__(self, port: int):
        self.port = port
        self.exported: dict[str, int] = dict.fromkeys(COUNTERS.values(), 0)
        self.errors = 0
        self._seen = dict.fromkeys(COUNTERS, 0)

    def exchange(self, name: str, rdtype: int, rdclass: int) -> dns.message.Message:
        number = random.randrange(1 << 16)
        labels = name.rstrip(".").encode().split(b".")
        wire = struct.pack("!6H", number, 0x0100, 1, 0, 0, 0)
        wire += b"".join(bytes([len(one)]) + one for one in labels) + b"\0"
        wire += struct.pack("!2H", rdtype, rdclass)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(TIMEOUT_S)
            udp.connect(("127.0.0.1", self.port))
            udp.send(wire)
            reply = udp.recv(512)  # the client's buffer without EDNS
        message = dns.message.from_wire(reply)
        assert message.id == number and message.question[0].name.to_text() == name
        return message

    def counter(self, name: str) -> int:
        [rrset] = self.exchange(f"{name}.bind.", TXT, CHAOS).answer
        [record] = rrset
        assert record.rdtype == dns.rdatatype.TXT
        [text] = record.strings
        return int(text)

    def wait_insertions(self, count: int) -> None:
        """A client has its reply before it is kept."""
        wait_until(lambda: self.counter("insertions") >= count, f"{count} replies are kept")

    def poll(self) -> None:
        """All or nothing; only growth is added: its metrics are counters."""
        try:
            values = {name: self.counter(name) for name in COUNTERS}
        except (ValueError, AssertionError):
            self.errors += 1
            return
        for name, new in values.items():
            self.exported[COUNTERS[name]] += max(0, new - self._seen[name])
            self._seen[name] = max(0, new)

    def probe(self, name: str, rdtype: int) -> bool:
        """Healthy: the answer section is not empty."""
        return len(self.exchange(name, rdtype, INTERNET).answer) > 0


def _reply(query: dns.message.Message) -> dns.message.Message:
    """An address for an hour."""
    reply = dns.message.make_response(query, recursion_available=True)
    reply.answer.append(dns.rrset.from_text(query.question[0].name, 3600, "IN", "A", "192.0.2.7"))
    return reply


@pytest.fixture
def start(bare_bed):
    """A function that starts skydns with some flags and returns its sidecar."""
    upstream = Upstream(_reply)
    bare_bed.start_etcd()
    for key, text in service_records("kubernetes", "10.0.0.1", ("tcp", "https", 443)).items():
        bare_bed.etcd.put(key, text)

    def begin(*flags: str) -> Sidecar:
        bare_bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", PATIENT, *flags)
        bare_bed.wait_answers(KUBERNETES, "A", ["10.0.0.1"])
        return Sidecar(bare_bed.dns.port)

    yield begin
    upstream.close()


def test_what_it_exports(bare_bed, start):
    sidecar = start("-rcache=77")
    sidecar.poll()
    assert sidecar.exported == {"hits": 0, "misses": 0, "evictions": 0, "insertions": 0, "max_size": 77}
    for number, name in enumerate(("one.example.com", "two.example.com", "ONE.example.com", "one.example.com"), 1):
        assert bare_bed.dns.answers(name) == ["192.0.2.7"]
        sidecar.wait_insertions(min(number, 2))
    assert bare_bed.dns.answers(KUBERNETES) == ["10.0.0.1"]  # which is in no cache
    sidecar.poll()
    assert sidecar.exported == {"hits": 2, "misses": 2, "evictions": 0, "insertions": 2, "max_size": 77}
    assert sidecar.errors == 0


def test_evictions(bare_bed, start):
    sidecar = start("-rcache=8")
    for number in range(40):
        assert bare_bed.dns.answers(f"n{number}.example.com") == ["192.0.2.7"]
    sidecar.wait_insertions(40)
    sidecar.poll()
    assert sidecar.exported["max_size"] == 8 and sidecar.exported["insertions"] == 40
    assert 32 <= sidecar.exported["evictions"] <= 40
    assert sidecar.errors == 0


def test_without_a_cache(bare_bed, start):
    """The size is 0, and what was asked is counted all the same."""
    sidecar = start("-rcache=0")
    for _ in range(3):
        assert bare_bed.dns.answers("one.example.com") == ["192.0.2.7"]
    sidecar.poll()
    assert sidecar.exported == {"hits": 0, "misses": 3, "evictions": 0, "insertions": 0, "max_size": 0}
    assert sidecar.errors == 0


def test_chaos_refused_is_an_error_there(start):
    sidecar = start("-chaos=false")
    sidecar.poll()
    assert sidecar.errors == 1


@pytest.mark.parametrize(
    ("flags", "name", "rdtype", "is_healthy"),
    [
        ((), KUBERNETES, A, True),
        ((), KUBERNETES, SRV, True),
        ((), KUBERNETES, AAAA, False),
        ((), KUBERNETES, ANY, False),  # its default type, which SkyDNS refused, too
        (("-any=hinfo",), KUBERNETES, ANY, True),
        ((), "www.example.com.", A, True),
    ],
    ids=["A", "SRV", "AAAA", "ANY", "ANY-hinfo", "foreign"],
)
def test_probes(start, flags, name, rdtype, is_healthy):
    assert start(*flags).probe(name, rdtype) is is_healthy


def exported_by_exechealthz(bed) -> dict[str, int]:
    """Its metrics of the sidecar's dnsmasq, without the prefix."""
    prefix = "kubedns_dnsmasq_"
    page = parse(ask(bed, "/metrics")[2], old_counters=SIDECAR_COUNTERS)
    return {name: int(page[prefix + name].samples[prefix + name, ()]) for name in (*COUNTERS.values(), "errors")}


def test_exechealthz_in_its_place(bare_bed, start):
    """Dashboards of the sidecar find their metrics with the flags that the guide names."""
    bed = bare_bed
    sidecar = start("-rcache=77")
    (flags,) = blocks(chapter("migrate-from-kube-dns.md", "Keep the sidecar's metrics"))
    flags = [re.sub(r"127\.0\.0\.1(:53)?$", f"127.0.0.1:{bed.dns.port}", line.removeprefix("- ")) for line in flags]
    bed.start_exechealthz("-period=50ms", "-timeout=20s", *flags)
    for name in ("one.example.com", "two.example.com"):
        assert bed.dns.answers(name) == ["192.0.2.7"]
    sidecar.wait_insertions(2)
    assert bed.dns.answers("ONE.example.com") == ["192.0.2.7"]
    sidecar.poll()
    assert sidecar.exported["hits"] == 1
    wait_until(lambda: exported_by_exechealthz(bed).items() >= sidecar.exported.items(), "the sidecar's figures")
    before = exported_by_exechealthz(bed)
    bed.skydns.stop()
    wait_until(lambda: exported_by_exechealthz(bed)["errors"] > before["errors"], "an error")
    assert exported_by_exechealthz(bed).items() >= sidecar.exported.items()
    bed.start_skydns()
    wait_until(lambda: exported_by_exechealthz(bed)["hits"] == 0, "counters that restart, as Prometheus expects")
    page = ask(bed, "/metrics")[2]
    for label in ("kubedns", "dnsmasq"):
        assert f"kubedns_probe_{label}_latency_ms_count " in page and f"kubedns_probe_{label}_errors " in page


def test_exechealthz_where_chaos_is_refused(bare_bed, start):
    bed = bare_bed
    start("-chaos=false")
    bed.start_exechealthz("--cmd=true", f"-dnsmasq-metrics=127.0.0.1:{bed.dns.port}", "-period=50ms")
    wait_until(lambda: exported_by_exechealthz(bed)["errors"] > 1, "errors")
    bed.exechealthz.wait_line("no TXT with a number for hits.bind")

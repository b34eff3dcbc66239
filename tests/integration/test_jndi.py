"""Java's JNDI asks for more than one type with ANY: over UDP, and after TC over TCP; for all types in any class."""

from pathlib import Path

import dns.flags
import dns.rcode
import pytest
from nameservers import needs
from programs import output
from records import value

PROGRAM = Path(__file__).with_name("Ask.java")
NAME = "web.cluster.local"


@pytest.fixture
def served(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/web/1", value("10.0.0.1"))
    bare_bed.etcd.put("/skydns/local/cluster/web/2", value("fd00::1"))
    bare_bed.start_skydns("-no-rec", "-any=hinfo")
    return bare_bed


@pytest.fixture
def ask(served, tmp_path):
    """What JNDI has of a name, for these types: "A: 10.0.0.1"."""
    java = [needs("java"), "-XX:TieredStopAtLevel=1", "-cp", str(tmp_path), PROGRAM.stem]
    output(needs("javac"), "-d", str(tmp_path), str(PROGRAM))

    def ask(*types: str) -> list[str]:
        return sorted(output(*java, str(served.dns.port), NAME, *types).splitlines())

    return ask


def test_jndi(ask):
    addresses = ["A: 10.0.0.1", "AAAA: fd00::1"]
    assert ask("A", "AAAA") == addresses
    assert ask("A", "MX", "HINFO") == [*addresses[:1], 'HINFO: RFC8482 ""']
    assert ask("A") == addresses[:1]
    assert ask() == [*addresses, 'HINFO: RFC8482 ""']


def test_any_class_is_in_for_names_of_ours(served):
    for rdclass in ("IN", "ANY"):
        reply = served.dns.query(NAME, "A", rdclass=rdclass)
        assert [rr.to_text() for rr in reply.answer] == [f"{NAME}. 30 IN A 10.0.0.1"]
        assert bool(reply.flags & dns.flags.AA) == (rdclass == "IN")  # RFC 1035 6.2
        assert served.dns.query("nope.cluster.local", "A", rdclass=rdclass).rcode() == dns.rcode.NXDOMAIN
    for name, rdclass in (("example.com", "ANY"), (NAME, "HS"), (NAME, "NONE")):
        assert served.dns.query(name, "A", rdclass=rdclass).rcode() == dns.rcode.REFUSED

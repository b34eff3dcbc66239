"""Java's JNDI asks for more than one type with ANY: over UDP, and after TC over TCP."""

from pathlib import Path

import pytest
from nameservers import needs
from records import value
from test_cookies import output

PROGRAM = Path(__file__).with_name("Ask.java")
NAME = "web.cluster.local"


@pytest.fixture
def ask(bare_bed):
    """What JNDI has of a name, for these types: "A: 10.0.0.1"."""
    java = needs("java")
    needs("javac")  # java compiles the program itself, with the development kit only
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/web/1", value("10.0.0.1"))
    bare_bed.etcd.put("/skydns/local/cluster/web/2", value("fd00::1"))
    bare_bed.start_skydns("-no-rec", "-any=hinfo")

    def ask(*types: str) -> list[str]:
        return sorted(output(java, str(PROGRAM), str(bare_bed.dns.port), NAME, *types).splitlines())

    return ask


def test_jndi(ask):
    addresses = ["A: 10.0.0.1", "AAAA: fd00::1"]
    assert ask("A", "AAAA") == addresses
    assert ask("A", "MX", "HINFO") == [*addresses[:1], 'HINFO: RFC8482 ""']
    assert ask("A") == addresses[:1]

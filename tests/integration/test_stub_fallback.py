"""-stub-fallback: what a stub zone's upstreams deny is asked again of the general ones."""

import dns.flags
import dns.rcode
import pytest
from bailiwick import EVIL, OURS, data
from programs import reserve_port
from scripted import Nameserver, reply, soa
from test_nameservers import metric
from upstream import PATIENT

INSIDE, OUTSIDE = "192.0.2.1", "192.0.2.2"


class Split:
    """corp.test, which the office's nameserver has some names of, and the world's others."""

    def __init__(self, bed, *flags: str):
        self.bed, self.port = bed, reserve_port()
        self.office, self.world = Nameserver(), Nameserver()
        self.office.always = reply(rcode="NXDOMAIN", authority=[soa("corp.test.")])
        self.world.always = lambda query, transport: reply(
            f"{query.question[0].name} 60 A {OUTSIDE}" if query.question[0].rdtype == 1 else
            f"{query.question[0].name} 60 TXT outside")(query, transport)  # fmt: skip
        bed.start_etcd()
        bed.start_skydns(f"-nameservers=127.0.0.1:{self.world.port}", f"-stub=corp.test=127.0.0.1:{self.office.port}",
                         f"-http-addr=127.0.0.1:{self.port}", PATIENT, *flags)  # fmt: skip

    def ask(self, name: str, rdtype: str = "A", **options):
        return self.bed.dns.query(name, rdtype, use_edns=0, **options)

    def explain(self, name: str) -> str:
        client = self.bed.command("skydns", f"-http-addr=127.0.0.1:{self.port}", "-explain", name).start()
        assert client.wait() == 0
        return client.log_text()


@pytest.fixture
def split(bare_bed):
    made = []

    def make(*flags: str) -> Split:
        made.append(Split(bare_bed, *flags))
        return made[-1]

    yield make
    for each in made:
        each.office.close()
        each.world.close()


def test_a_denied_name_is_asked_outside(split):
    """Once, and then cached; what the zone has, and its NODATA, stays the zone's."""
    world = split("-stub-fallback=corp.test")
    world.office.always = None
    world.office.tell("in.corp.test.", "A", reply(f"in.corp.test. 60 A {INSIDE}"))
    world.office.tell("in.corp.test.", "TXT", reply(authority=[soa("corp.test.")]))
    for name in ("out.corp.test.", "far.corp.test."):
        world.office.tell(name, "A", reply(rcode="NXDOMAIN", authority=[soa("corp.test.")]))
    for _ in range(3):
        assert data(world.ask("in.corp.test")) == [INSIDE]
        assert data(world.ask("in.corp.test", "TXT")) == []
        got = world.ask("out.corp.test")
        assert data(got) == [OUTSIDE] and got.flags & dns.flags.RA and not got.flags & dns.flags.AA
        assert data(world.ask("far.corp.test", tcp=True)) == [OUTSIDE]
    assert world.office.asked("out.corp.test.") == world.world.asked("out.corp.test.") == 1
    assert world.world.asked("in.corp.test.") == world.world.asked("in.corp.test.", "TXT") == 0
    assert "on NXDOMAIN the general upstreams are queried" in world.explain("out.corp.test")
    assert metric(world.port, "forward_fallbacks_total") == 2


def test_nodata_too(split):
    world = split("-stub-fallback=corp.test=nodata")
    world.office.tell("in.corp.test.", "TXT", reply(authority=[soa("corp.test.")]))
    world.office.always = None
    assert data(world.ask("in.corp.test", "TXT")) == ['"outside"']
    assert "on NXDOMAIN or NODATA the general upstreams are queried" in world.explain("in.corp.test")


def test_what_the_world_says_counts(split):
    """Its CNAMEs may lead anywhere but into our domain, where our record follows; its failure is one."""
    world = split("-stub-fallback=corp.test")
    world.bed.etcd.put("/skydns/local/cluster/svc/default/web/x", '{"host":"10.0.0.7"}')
    world.bed.wait_answers(OURS.rstrip("."), "A", ["10.0.0.7"])
    world.world.always = None
    world.world.tell("a.corp.test.", "A", reply("a.corp.test. 60 CNAME b.example.", f"b.example. 60 A {OUTSIDE}"))
    world.world.tell("b.corp.test.", "A", reply(f"b.corp.test. 60 CNAME {OURS}", f"{OURS} 60 A {EVIL}"))
    world.world.tell("c.corp.test.", "A", reply(rcode="SERVFAIL"))
    world.world.tell("d.corp.test.", "A", reply(rcode="NXDOMAIN", authority=[soa("test.")]))
    for _ in range(2):
        assert data(world.ask("a.corp.test")) == ["b.example.", OUTSIDE]
        assert data(world.ask("b.corp.test")) == [OURS, "10.0.0.7"]
        assert world.ask("c.corp.test").rcode() == dns.rcode.SERVFAIL
        assert world.ask("d.corp.test").rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("flags", [[], ["-no-rec", "-stub-fallback=corp.test"], ["-stub-fallback=other.test"]])
def test_names_stay(split, flags):
    world = split(*flags)
    assert world.ask("out.corp.test").rcode() == dns.rcode.NXDOMAIN
    assert world.world.asked("out.corp.test.") == 0


def test_without_rd_names_stay(split):
    world = split("-stub-fallback=corp.test")
    got = world.ask("out.corp.test", flags=0)
    assert got.rcode() == dns.rcode.NXDOMAIN and world.world.asked("out.corp.test.") == 0


def test_a_document_changes_it(split):
    """What was cached under the old setting does not count."""
    world = split()
    assert world.ask("out.corp.test").rcode() == dns.rcode.NXDOMAIN
    world.bed.etcd.put("/skydns/config", '{"stub_fallback":["corp.test"]}')
    world.bed.wait_answers("out.corp.test", "A", [OUTSIDE])
    world.bed.etcd.put("/skydns/config", "{}")
    world.bed.wait_answers("out.corp.test", "A", ["NXDOMAIN"])


@pytest.mark.parametrize("value", ["corp.test=nxdomain", "a..b", "."])
def test_wrong_values(bare_bed, value):
    program = bare_bed.command("skydns", f"-stub-fallback={value}").start()
    assert program.wait() == 2
    assert f"`{value}`: expected ZONE or ZONE=nodata, like corp.test" in program.log_text()

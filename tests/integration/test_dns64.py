"""AAAA of external names: -dns64 (RFC 6147) beside unbound's dns64 module, and -no-aaaa. The nameserver is scripted."""

import ipaddress
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.reversename
import pytest
from bed import Bed
from dns_client import Dns
from foreign_server import Server, errors, texts
from nameservers import start as start_unbound
from nameservers import unbound
from programs import http_get, reserve_port
from records import label, value
from scripted import Nameserver, reply, soa

PREFIX = "2001:db8:64::/96"
NO_DATA = reply(authority=[soa(".", 120, 120)])
FAILED = reply(rcode="SERVFAIL")
AAAA, A = "AAAA", "A"
COUNT = 500
AT_ONCE = 8


def mapped(prefix: str, ipv4: str) -> str:
    """RFC 6052 2.2: bits 64 to 71 are zero."""
    network = ipaddress.ip_network(prefix)
    at = network.prefixlen // 8
    octets = bytearray(network.network_address.packed)
    for byte in ipaddress.ip_address(ipv4).packed:
        at += at == 8
        octets[at] = byte
        at += 1
    return str(ipaddress.IPv6Address(bytes(octets)))


def told(nameserver: Nameserver, name: str, rdtype: str, *data: str, ttl_s: int = 60, before: tuple[str, ...] = ()) -> None:
    owner = before[-1].rsplit(" ", 1)[1] if before else name
    nameserver.tell(name, rdtype, reply(*before, *(f"{owner} {ttl_s} {rdtype} {item}" for item in data)))


class World:
    """Names of every shape; what each answers through DNS64; and whether unbound, which has no excluded addresses, agrees."""

    def __init__(self, nameserver: Nameserver, prefix: str, count: int):
        self.want: dict[str, list[str]] = {}
        self.unlike_unbound: set[str] = set()
        picks = random.Random(6147)
        shapes = [getattr(self, name) for name in dir(self) if name.startswith("shape_")]
        self.nameserver, self.prefix = nameserver, prefix
        for i in range(count):
            name = f"n{i}.wide."
            ipv4 = [f"{picks.randrange(1, 224)}.{picks.randrange(256)}.{picks.randrange(256)}.{i % 256}" for _ in range(picks.randrange(1, 6))]
            self.want[name] = sorted(shapes[i % len(shapes)](name, sorted(set(ipv4))))

    def made(self, ipv4: list[str]) -> list[str]:
        return [mapped(self.prefix, ip) for ip in ipv4]

    def shape_ipv4(self, name, ipv4):
        self.nameserver.tell(name, AAAA, NO_DATA)
        told(self.nameserver, name, A, *ipv4)
        return self.made(ipv4)

    def shape_ipv6(self, name, ipv4):
        told(self.nameserver, name, AAAA, "2001:db8::1", "2001:db8::2")
        told(self.nameserver, name, A, *ipv4)
        return ["2001:db8::1", "2001:db8::2"]

    def shape_nothing(self, name, ipv4):
        self.nameserver.tell(name, AAAA, NO_DATA)
        self.nameserver.tell(name, A, NO_DATA)
        return []

    def shape_no_name(self, name, ipv4):
        for rdtype in (AAAA, A):
            self.nameserver.tell(name, rdtype, reply(rcode="NXDOMAIN", authority=[soa(".")]))
        return ["NXDOMAIN"]

    def shape_alias(self, name, ipv4):
        cnames = (f"{name} 60 CNAME a.{name}", f"a.{name} 60 CNAME b.{name}")
        self.nameserver.tell(name, AAAA, reply(*cnames, authority=[soa(".")]))
        told(self.nameserver, name, A, *ipv4, before=cnames)
        self.nameserver.tell(f"a.{name}", AAAA, reply(cnames[1], authority=[soa(".")]))
        told(self.nameserver, f"a.{name}", A, *ipv4, before=cnames[1:])
        self.nameserver.tell(f"b.{name}", AAAA, NO_DATA)
        told(self.nameserver, f"b.{name}", A, *ipv4)
        return [f"a.{name}", f"b.{name}", *self.made(ipv4)]

    def shape_failing_ipv6(self, name, ipv4):
        self.nameserver.tell(name, AAAA, FAILED)
        told(self.nameserver, name, A, *ipv4)
        return self.made(ipv4)

    def shape_failing_ipv4(self, name, ipv4):
        self.nameserver.tell(name, AAAA, NO_DATA)
        self.nameserver.tell(name, A, FAILED)
        self.unlike_unbound.add(name)
        return []

    def shape_excluded(self, name, ipv4):
        told(self.nameserver, name, AAAA, *(f"::ffff:{ip}" for ip in ipv4))
        told(self.nameserver, name, A, *ipv4)
        self.unlike_unbound.add(name)
        return self.made(ipv4)

    def shape_partly_excluded(self, name, ipv4):
        told(self.nameserver, name, AAAA, "::ffff:192.0.2.1", "2001:db8::7")
        told(self.nameserver, name, A, *ipv4)
        self.unlike_unbound.add(name)
        return ["2001:db8::7"]

    def shape_excluded_alone(self, name, ipv4):
        told(self.nameserver, name, AAAA, "::ffff:192.0.2.1")
        self.nameserver.tell(name, A, NO_DATA)
        self.unlike_unbound.add(name)
        return []


def begin(bed: Bed, nameserver: Nameserver, *flags: str, **keys: str) -> Server:
    bed.start_etcd()
    for key, text in keys.items():
        bed.etcd.put(f"/skydns/local/cluster/{key}", text)
    return Server(bed, *flags, nameserver=nameserver)


def outcome(message: dns.message.Message) -> list[str]:
    return texts(message) if message.rcode() == dns.rcode.NOERROR else [dns.rcode.to_text(message.rcode())]


def asked(names: Iterable[str], ask: Callable[[str], dns.message.Message]) -> dict[str, list[str]]:
    """The names' outcomes; several are asked at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(names, pool.map(lambda name: outcome(ask(name)), names), strict=True))


@pytest.mark.parametrize("prefix", (PREFIX, "2001:db8:6400::/40", "2001:db8:64::/64"))
def test_beside_unbound(bare_bed, nameserver, prefix):
    world = World(nameserver, prefix, COUNT)
    port = reserve_port()
    zones = [f"local-zone: {zone} nodefault" for zone in ("8.b.d.0.1.0.0.2.ip6.arpa.", "2.0.192.in-addr.arpa.")]
    lines = ['module-config: "dns64 iterator"', f"dns64-prefix: {prefix}", *zones, "forward-zone:", 'name: "."']
    judge = unbound(bare_bed.folder, 1, port, *lines, f"forward-addr: 127.0.0.1@{nameserver.port}")
    start_unbound(judge, port)
    server = begin(bare_bed, nameserver, f"-dns64={prefix}")
    try:
        assert asked(world.want, lambda name: server.ask(name, AAAA)) == world.want
        agreed = {name: want for name, want in world.want.items() if name not in world.unlike_unbound}
        assert len(agreed) > COUNT // 2
        assert asked(agreed, lambda name: Dns(port).query(name, AAAA)) == agreed
        assert asked(world.want, lambda name: server.ask(name, AAAA, tcp=True)) == world.want  # from the cache
        for name in list(world.want)[:: COUNT // 20]:
            assert outcome(server.ask(name)) == outcome(Dns(port).query(name)), name
        for ipv4 in ("8.8.4.4", "192.0.2.33"):
            reverse = dns.reversename.from_address(mapped(prefix, ipv4)).to_text()
            plain = dns.reversename.from_address(ipv4).to_text()
            nameserver.tell(plain, "PTR", reply(f"{plain} 60 PTR host.wide."))
            assert texts(server.ask(reverse, "PTR")) == [plain, "host.wide."]
            assert texts(Dns(port).query(reverse, "PTR")) == ["host.wide."]  # it hides where that comes from
    finally:
        judge.stop()


@pytest.mark.parametrize("cache", ((), ("-rcache=0",)))
def test_flags_ttls_and_questions(bare_bed, nameserver, cache):
    nameserver.tell("v4.test.", AAAA, NO_DATA)
    told(nameserver, "v4.test.", A, "192.0.2.33", ttl_s=300)
    nameserver.tell("nosoa.test.", AAAA, reply())
    told(nameserver, "nosoa.test.", A, "192.0.2.34", ttl_s=900)
    told(nameserver, "v6.test.", AAAA, "2001:db8::9")
    server = begin(bare_bed, nameserver, f"-dns64={PREFIX}", *cache)
    made = [mapped(PREFIX, "192.0.2.33")]
    for _ in range(2):
        got = server.ask("v4.test.", AAAA)
        assert texts(got) == made and 118 <= got.answer[0].ttl <= 120  # that of the denial
        assert got.flags & dns.flags.RA and not got.flags & (dns.flags.AA | dns.flags.AD)
    assert texts(server.ask("nosoa.test.", AAAA)) == [mapped(PREFIX, "192.0.2.34")]
    assert server.ask("nosoa.test.", AAAA).answer[0].ttl in range(590, 601)
    if not cache:
        assert nameserver.asked("v4.test.", AAAA) == nameserver.asked("v4.test.", A) == 1
        why = http_get(f"http://127.0.0.1:{server.watched.port}/explain?name=v4.test.&type=AAAA")[1]
        assert "-dns64" in why
    for options in ({"want_dnssec": True}, {"want_dnssec": True, "flags": dns.flags.RD | dns.flags.AD}):
        got = server.ask("v4.test.", AAAA, **options)
        assert texts(got) == made and not got.flags & dns.flags.AD
    checking = server.ask("v4.test.", AAAA, want_dnssec=True, flags=dns.flags.RD | dns.flags.CD)
    assert texts(checking) == [] and checking.authority  # it validates, and makes them itself (RFC 6147 5.5)
    assert texts(server.ask("v4.test.", AAAA, flags=dns.flags.RD | dns.flags.CD)) == made
    assert texts(server.ask("v6.test.", AAAA)) == ["2001:db8::9"]
    assert nameserver.asked("v6.test.", A) == 0
    assert server.metric("dns64_answers_total") >= 6


def test_more_addresses_than_fit(bare_bed, nameserver):
    """Cut over UDP, whole over TCP; also if the IPv4 ones alone are too many for the datagram."""
    many = {"some": 25, "many": 120}
    for name, count in many.items():
        nameserver.tell(f"{name}.wide.", AAAA, NO_DATA)
        told(nameserver, f"{name}.wide.", A, *(f"192.0.2.{n}" for n in range(count)))
    server = begin(bare_bed, nameserver, f"-dns64={PREFIX}")
    for _ in range(2):
        for name, count in many.items():
            got = server.ask(f"{name}.wide.", AAAA, use_edns=0, payload=512)
            assert got.flags & dns.flags.TC and got.rcode() == dns.rcode.NOERROR and not got.authority
            assert len(texts(server.ask(f"{name}.wide.", AAAA, tcp=True))) == count


def test_silence_and_failures(bare_bed, nameserver):
    """A nameserver that is silent about AAAA has none; one that is silent about both has failed."""
    nameserver.tell("mute.test.", AAAA, lambda *_: None)
    told(nameserver, "mute.test.", A, "192.0.2.35")
    for rdtype in (AAAA, A):
        nameserver.tell("dead.test.", rdtype, FAILED)
    bare_bed.start_etcd()
    server = Server(bare_bed, f"-dns64={PREFIX}", nameserver=nameserver, rtimeout="500ms")
    for _ in range(2):
        assert texts(server.ask("mute.test.", AAAA)) == [mapped(PREFIX, "192.0.2.35")]
        got = server.ask("dead.test.", AAAA, use_edns=0)
        assert got.rcode() == dns.rcode.SERVFAIL and errors(got)


def test_targets_of_our_names(bare_bed, nameserver):
    nameserver.tell("v4.test.", AAAA, NO_DATA)
    told(nameserver, "v4.test.", A, "192.0.2.33")
    told(nameserver, "v6.test.", AAAA, "2001:db8::9")
    keys = {"ext": value("v4.test"), "six": value("v6.test"), "_s": '{"host":"v4.test","port":80}', "own": value("10.0.0.1")}
    server = begin(bare_bed, nameserver, f"-dns64={PREFIX}", **keys)
    made = mapped(PREFIX, "192.0.2.33")
    for _ in range(2):
        assert outcome(server.ask("ext.cluster.local", AAAA)) == sorted([made, "v4.test."])
        assert outcome(server.ask("ext.cluster.local", A)) == ["192.0.2.33", "v4.test."]
        assert outcome(server.ask("six.cluster.local", AAAA)) == ["2001:db8::9", "v6.test."]
        assert outcome(server.ask("own.cluster.local", AAAA)) == []  # a name of ours
        srv = server.ask("_s.cluster.local", "SRV")
        assert sorted(rdata.to_text() for rrset in srv.additional for rdata in rrset) == ["192.0.2.33", made]
    checking = server.ask("ext.cluster.local", AAAA, want_dnssec=True, flags=dns.flags.RD | dns.flags.CD)
    assert texts(checking) == []


def test_well_known_prefix(bare_bed, nameserver):
    """Private addresses are not behind a NAT64 of others; those by which clients find the prefix are made."""
    addresses = {"8.8.8.8": True, "10.0.0.1": False, "100.64.0.1": False, "192.168.7.1": False, "192.0.0.170": True, "198.19.0.1": False}
    for i, ipv4 in enumerate(addresses):
        nameserver.tell(f"n{i}.test.", AAAA, NO_DATA)
        told(nameserver, f"n{i}.test.", A, ipv4)
    nameserver.tell("all.test.", AAAA, NO_DATA)
    told(nameserver, "all.test.", A, *addresses)
    server = begin(bare_bed, nameserver, "-dns64=well-known")
    for i, (ipv4, is_made) in enumerate(addresses.items()):
        got = server.ask(f"n{i}.test.", AAAA)
        assert texts(got) == ([mapped("64:ff9b::/96", ipv4)] if is_made else []), ipv4
        assert is_made or got.authority
    assert texts(server.ask("all.test.", AAAA)) == sorted(mapped("64:ff9b::/96", ip) for ip, made in addresses.items() if made)


def test_reverse_names(bare_bed, nameserver):
    """Followed to whoever knows the IPv4 address: etcd, hosts files, nameservers, or nobody."""
    def name(ipv4: str) -> str:
        return dns.reversename.from_address(mapped(PREFIX, ipv4)).to_text()

    hosts = bare_bed.folder / "hosts"
    hosts.write_text("192.0.2.50 listed.test\n")
    nameserver.tell("51.2.0.192.in-addr.arpa.", "PTR", reply("51.2.0.192.in-addr.arpa. 60 PTR far.test."))
    nameserver.tell("52.2.0.192.in-addr.arpa.", "PTR", reply(rcode="NXDOMAIN", authority=[soa(".")]))
    server = begin(bare_bed, nameserver, f"-dns64={PREFIX}", f"-hosts={hosts}")
    server.bed.etcd.put("/skydns/arpa/in-addr/10/96/0/7", value("web.cluster.local"))
    server.bed.wait_answers("7.0.96.10.in-addr.arpa", "PTR", ["web.cluster.local."])
    for tcp in (False, True):
        assert texts(server.ask(name("10.96.0.7"), "PTR", tcp=tcp)) == ["7.0.96.10.in-addr.arpa.", "web.cluster.local."]
        assert texts(server.ask(name("192.0.2.50"), "PTR", tcp=tcp)) == ["50.2.0.192.in-addr.arpa.", "listed.test."]
        assert texts(server.ask(name("127.0.0.1"), "PTR", tcp=tcp)) == ["1.0.0.127.in-addr.arpa.", "localhost."]
        got = server.ask(name("192.0.2.51"), "PTR", tcp=tcp, want_dnssec=True)
        assert texts(got) == ["51.2.0.192.in-addr.arpa.", "far.test."] and got.answer[0].ttl == got.answer[1].ttl
        got = server.ask(name("192.0.2.52"), "PTR", tcp=tcp)
        assert got.rcode() == dns.rcode.NXDOMAIN and texts(got) == ["52.2.0.192.in-addr.arpa."] and got.authority
    assert nameserver.asked("51.2.0.192.in-addr.arpa.", "PTR") == 1
    outside = dns.reversename.from_address("2001:db8:65::1").to_text()
    assert texts(server.ask(outside, "PTR")) == []
    assert nameserver.asked(outside, "PTR") == 1
    assert nameserver.asked(name("192.0.2.51"), "PTR") == 0


@pytest.mark.parametrize("cache", ((), ("-rcache=0",)))
def test_at_the_end_of_a_search_list(bare_bed, nameserver, cache):
    """With -autopath, the bare name's answer is the made one, behind the CNAME; what has none leaves the search as it was."""
    pod = f"/skydns/local/cluster/pod/team/127-0-0-1/{label('127.0.0.1')}"
    nameserver.tell("v4.wide.", AAAA, NO_DATA)
    told(nameserver, "v4.wide.", A, "192.0.2.33")
    told(nameserver, "v6.wide.", AAAA, "2001:db8::9")
    for rdtype in (AAAA, A):
        nameserver.tell("none.wide.", rdtype, NO_DATA)
    bare_bed.start_etcd()
    bare_bed.etcd.put(pod, value("127.0.0.1"))
    server = Server(bare_bed, "-autopath", f"-dns64={PREFIX}", "-no-aaaa=off.wide", *cache, nameserver=nameserver)
    server.watched.wait_metric(1, "client_addresses", state="known")
    space = "team.svc.cluster.local."
    for _ in range(2):
        for tcp in (False, True):
            got = server.ask(f"v4.wide.{space}", AAAA, tcp=tcp)
            assert outcome(got) == sorted([mapped(PREFIX, "192.0.2.33"), "v4.wide."])
            assert outcome(server.ask(f"v6.wide.{space}", AAAA, tcp=tcp)) == ["2001:db8::9", "v6.wide."]
            assert outcome(server.ask(f"v4.wide.{space}", A, tcp=tcp)) == ["192.0.2.33", "v4.wide."]
            plain = server.ask(f"none.wide.{space}", AAAA, tcp=tcp)
            assert plain.rcode() == dns.rcode.NOERROR and texts(plain) in ([], ["none.wide."])
            assert [text for text in outcome(server.ask(f"www.off.wide.{space}", AAAA, tcp=tcp)) if ":" in text] == []
            assert outcome(server.ask(f"localhost.{space}", AAAA, tcp=tcp)) == ["::1", "localhost."]
    if not cache:
        assert nameserver.asked("v4.wide.", AAAA) == 1
    assert nameserver.asked("www.off.wide.", AAAA) == 0


def test_a_running_server_changes(bare_bed, nameserver):
    """Answers are made of what is kept: nothing has to be asked again."""
    nameserver.tell("v4.test.", AAAA, NO_DATA)
    told(nameserver, "v4.test.", A, "8.8.8.8")
    told(nameserver, "v6.test.", AAAA, "2001:db8::9")
    server = begin(bare_bed, nameserver)
    put, wait = server.bed.etcd.put, server.bed.wait_answers
    assert texts(server.ask("v4.test.", A)) == ["8.8.8.8"] and texts(server.ask("v4.test.", AAAA)) == []
    put("/skydns/config", '{"dns64":"64:ff9b::/96"}')
    wait("v4.test", AAAA, ["64:ff9b::808:808"])
    put("/skydns/config", '{"dns64":"2001:db8:1::/48","dns64_exclude":["2001:db8::/64"]}')
    wait("v4.test", AAAA, [mapped("2001:db8:1::/48", "8.8.8.8")])
    wait("v6.test", AAAA, [mapped("2001:db8:1::/48", "192.0.2.7")])
    put("/skydns/config", '{"dns64":"2001:db8:1::/48","no_aaaa":["example","v4.test"]}')
    wait("v4.test", AAAA, [])
    wait("v6.test", AAAA, ["2001:db8::9"])
    put("/skydns/config", "{}")
    wait("v4.test", AAAA, [])
    assert nameserver.asked("v4.test.", AAAA) == nameserver.asked("v4.test.", A) == 1


def test_no_aaaa(bare_bed, nameserver):
    told(nameserver, "www.test.", AAAA, "2001:db8::9")
    told(nameserver, "www.far.", AAAA, "2001:db8::9")
    hosts = bare_bed.folder / "hosts"
    hosts.write_text("fd00::7 listed.test\n")
    keys = {"ext": value("www.test"), "six": value("fd00::1"), "far": value("www.far")}
    server = begin(bare_bed, nameserver, "-no-aaaa=test,example.com", f"-dns64={PREFIX}", f"-hosts={hosts}", **keys)
    for name in ("www.test.", "test.", "a.b.example.com."):
        for tcp in (False, True):
            got = server.ask(name, AAAA, tcp=tcp)
            [denial] = got.authority
            assert outcome(got) == [] and denial.ttl == denial[0].minimum == 300 and not got.flags & dns.flags.AA
    assert outcome(server.ask("ext.cluster.local", AAAA)) == []
    assert outcome(server.ask("six.cluster.local", AAAA)) == ["fd00::1"]
    assert outcome(server.ask("listed.test", AAAA)) == ["fd00::7"]
    assert nameserver.seen == []
    assert outcome(server.ask("far.cluster.local", AAAA)) == ["2001:db8::9", "www.far."]
    assert outcome(server.ask("www.test.")) == ["192.0.2.7"]
    assert server.metric("no_aaaa_answers_total") == 6
    why = http_get(f"http://127.0.0.1:{server.watched.port}/explain?name=www.test.&type=AAAA")[1]
    assert "-no-aaaa" in why and '"status":"NOERROR"' in why


def test_wrong_values(bare_bed):
    for flag in ("-dns64=10.0.0.0/8", "-dns64=2001:db8::/33", "-dns64=2001:db8:0:0:ff00::/96", "-dns64=2001:db8::1/96", "-no-aaaa=a..b", "-dns64-exclude=10.0.0.0/8"):
        program = bare_bed.command("skydns", flag)
        program.start()
        assert program.wait() == 2
        [line] = [line for line in program.lines if "expected" in line]
        assert flag.split("=")[0] in line and f"`{flag.split('=')[1]}`" in line

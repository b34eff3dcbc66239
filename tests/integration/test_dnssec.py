"""-dnssec: every reply of ours is signed, and every denial is proven, as the RFCs say and no more than that."""

import time

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from dns.rdatatype import CNAME, NSEC, SOA
from dnssec_bed import Server, flag, keygen, ldns_keygen
from dnssec_proofs import INVENTED, types_of
from dnssec_proofs import name_of as parsed
from dnssec_world import DOMAINS, SIGNED, STUBS, TYPES, World
from records import value

WEB = "web.default.svc.cluster.local"
KEY = "/skydns/local/cluster/svc/default/web"


@pytest.fixture
def worlds(bare_bed):
    """A function that makes one."""
    made = []

    def make(*arguments, **options) -> World:
        if not made:
            bare_bed.start_etcd()
        made.append(World(bare_bed, *arguments, **options))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.mark.parametrize(
    ("schema", "flags", "options"),
    [
        ("kubernetes", (), {}),
        ("kubernetes", ("-pods=insecure",), {"split": True}),
        ("kubernetes", ("-pods=disabled",), {"algorithm": 15}),
        ("kubernetes", ("-visibility=own", "-visibility-unknown=public"), {}),
        ("skydns", (), {"split": True}),
    ],
)
def test_every_reply_is_proven(worlds, schema, flags, options):
    """Names at every depth, existing and not, all types."""
    world = worlds(7, schema, *flags, **options)
    proofs = world.proofs()
    if flags:  # etcd's names are not those that this client sees
        proofs.existing = []
    for _ in range(250):
        name, rdtype = world.name(), world.rng.choice(TYPES)
        if world.server.ask(name, rdtype, do=False).rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            continue
        reply = world.server.ask(name, rdtype)
        try:
            proofs.check(reply, time.time())
        except Exception as fault:
            raise AssertionError(f"{name} {rdtype}: {fault!r} in {reply}") from fault


@pytest.mark.parametrize("schema", ["kubernetes", "skydns"])
def test_names_that_exist_are_told_truly_by_denials_of_others(worlds, schema):
    """Of the first name below one, whose proof begins with that one: resolvers keep such records (RFC 8198)."""
    world = worlds(11, schema)
    proofs = world.proofs()
    checked = set()
    for name in world.existing:
        reply = world.server.ask(f"\\000.{name}", "A")
        proofs.check(reply, time.time())
        for nsec in (r for r in reply.authority if r.rdtype == NSEC and r.name.canonicalize() == parsed(name)):
            types = world.types_that_answer(name)
            if SOA in types:
                types |= {dns.rdatatype.from_text(rdtype) for rdtype in ("DNSKEY", "CDS", "CDNSKEY")}
            want = types if schema == "kubernetes" else types - {CNAME}
            assert types_of(nsec[0]) == want | INVENTED, name
            checked.add(CNAME in types)
    assert checked == {True, False}


@pytest.mark.parametrize("schema", ["kubernetes", "skydns"])
def test_additional_records_are_all_of_their_name(worlds, schema):
    """A resolver keeps a signed RRset as the answer."""
    world = worlds(12, schema)
    found = 0
    for name in world.existing:
        for rdtype in ("SRV", "MX"):
            for rrset in (r for r in world.server.ask(name, rdtype).additional if r.rdtype != dns.rdatatype.RRSIG):
                answer = world.server.ask(rrset.name.to_text(), dns.rdatatype.to_text(rrset.rdtype), do=False).answer
                assert rrset in answer, f"{name} {rdtype}"
                found += 1
    assert found > 5


@pytest.mark.parametrize("schema", ["kubernetes", "skydns"])
def test_bitmaps_are_what_answers(worlds, schema):
    """Of every name in etcd, and of those above them."""
    world = worlds(8, schema)
    proofs = world.proofs()
    checked = 0
    for name in world.existing:
        reply = world.server.ask(name, "TYPE65")
        nsecs = [r for r in reply.authority if r.rdtype == NSEC]
        if [nsec.name.canonicalize() for nsec in nsecs] != [parsed(name)]:
            continue  # in another zone, or an alias
        types = world.types_that_answer(name)
        if SOA in types:
            types |= {dns.rdatatype.from_text(rdtype) for rdtype in ("DNSKEY", "CDS", "CDNSKEY")}
        assert types_of(nsecs[0][0]) == (types - {CNAME}) | INVENTED, name
        proofs.check(reply, time.time())
        checked += 1
    assert checked > 50


def test_without_do_nothing_changes(worlds, bare_bed):
    """But for questions for the keys."""
    world = worlds(9)
    plain = Server(bare_bed, *world.flags, schema=world.schema).start()
    for number, server in enumerate((world.server, plain)):
        server.wait_etcd(number)
    apexes = [parsed(zone) for zone in SIGNED]
    for _ in range(300):
        name, rdtype = world.name(), world.rng.choice(TYPES)
        if rdtype in ("DNSKEY", "CDS", "CDNSKEY") and parsed(name) in apexes:
            continue
        for edns in (False, 0):
            question = dns.message.make_query(name, rdtype, use_edns=edns)
            replies = [server.dns.send(question).to_wire() for server in (world.server, plain)]
            assert replies[0] == replies[1], f"{name} {rdtype}"


def test_truncation(bare_bed):
    """What does not fit is asked again over TCP, where it is whole."""
    bed = bare_bed
    bed.start_etcd()
    for number in range(40):
        bed.etcd.put(f"{KEY}/{number}", value(f"10.0.0.{number + 1}"))
    key = keygen(bed.folder, "cluster.local", 8)
    server = Server(bed, "-no-rec", keys=(key,)).start()
    server.wait_etcd(1)
    for payload in (512, 700, 900, 1100, 1232):
        for name, rdtype in ((WEB, "A"), (WEB, "MX"), (f"x.y.{WEB}", "A"), ("cluster.local", "DNSKEY")):
            cut = server.ask(name, rdtype, tcp=False, payload=payload)
            whole = server.ask(name, rdtype)
            if len(whole.to_wire()) <= payload:
                assert not cut.flags & dns.flags.TC and cut.rcode() == whole.rcode()
            else:
                assert cut.flags & dns.flags.TC and cut.sections[1:] == [[], [], []], (payload, cut)
            assert not whole.flags & (dns.flags.TC | dns.flags.AD)


def test_ds_and_cds(bare_bed):
    """-print-ds prints what dnssec-dsfromkey does, and the apex has it as CDS; keys of both tools."""
    bed = bare_bed
    bed.start_etcd()
    one, two = keygen(bed.folder, "cluster.local"), ldns_keygen(bed.folder, "cluster.local", 15)
    zsk = keygen(bed.folder, "cluster.local", 14, sep=False)
    printed = bed.command("skydns", "-domain=cluster.local", flag(one, two, zsk), "-print-ds")
    printed.start()
    assert printed.wait() == 0, printed.log_text()
    lines = [line.split() for line in printed.lines if " DS " in line]
    assert sorted(line[4:] for line in lines) == sorted(key.ds() for key in (one, two)), printed.log_text()
    assert all(line[0] == "cluster.local." and line[2] == "IN" for line in lines)
    server = Server(bed, "-no-rec", keys=(one, two, zsk)).start()
    [cds] = server.ask("cluster.local", "CDS", do=False).answer
    told = sorted(rdata.to_text().upper().replace(" ", "") for rdata in cds)
    assert told == sorted("".join(key.ds()) for key in (one, two))
    [cdnskey] = server.ask("cluster.local", "CDNSKEY", do=False).answer
    assert {rdata.key for rdata in cdnskey} == {key.rdata.key for key in (one, two)}
    assert server.tags() == {one.tag, two.tag, zsk.tag}


def test_delegations(worlds):
    """A stub zone and a domain without keys are insecure; one with keys has a DS."""
    world = worlds(10)
    proofs = world.proofs()
    for zone in (*STUBS, DOMAINS[2]):
        reply = world.server.ask(zone, "DS")
        proofs.check(reply, time.time())
        [nsec] = [r for r in reply.authority if r.rdtype == NSEC]
        assert types_of(nsec[0]) == {dns.rdatatype.NS} | INVENTED
    reply = world.server.ask(DOMAINS[1], "DS")
    proofs.check(reply, time.time())
    [key] = [key for key in world.keys if key.zone == DOMAINS[1]]
    assert [rdata.to_text().upper().split() for rdata in reply.answer[0]] == [key.ds()]

"""-dnssec: validating resolvers and tools find all that we sign secure, what is elsewhere insecure, and nothing bogus."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from dnssec_bed import BOGUS, INSECURE, SECURE, Delv, Resolver, Server, keygen, unbound
from dnssec_world import World, same

QUESTIONS, DELV_QUESTIONS = 200, 40
CASES = [
    ("kubernetes", (), {}),
    ("kubernetes", ("-pods=insecure",), {"split": True}),
    ("kubernetes", ("-pods=disabled",), {"algorithm": 15}),
    ("kubernetes", ("-visibility=own",), {}),
    ("skydns", (), {"split": True}),
]
# A client of namespace `default`: faults/test_dnssec_validators_long.py.
POD = "127.0.0.5"


@pytest.fixture
def world(bare_bed, request):
    bare_bed.start_etcd()
    schema, flags, options = request.param
    world = World(bare_bed, CASES.index(request.param), schema, *flags, **options)
    yield world
    world.close()


def questions(world: World, count: int):
    """Those that validators and we agree on, with the plain answer and what the validator must find."""
    proofs = world.proofs()
    found = 0
    while found < count:
        name, rdtype = world.question()
        if (reply := world.plain(name, rdtype)) is not None:
            found += 1
            yield name, rdtype, reply, world.verdict(proofs, reply)


def check_resolver(resolver: Resolver, asked) -> None:
    seen = set()
    for name, rdtype, plain, want in asked:
        # A proof that no wildcard of DNS answers also says that the name itself, spelled with `*`, is not there.
        if "*" in name:
            continue
        verdict, reply = resolver.judge(name, rdtype)
        # Of ANY, resolvers tell what they have, and of HINFO what they were told for ANY.
        is_any = rdtype in ("ANY", "HINFO") and verdict != BOGUS
        assert is_any or verdict == want, f"{name} {rdtype}: {resolver.complaints()[-3:]}\n{plain}\n{reply}"
        # Two NSEC records of one name may reach up to different ones: RFC 4470.
        assert is_any or rdtype == "NSEC" or same(reply, plain), f"{name} {rdtype}:\n{plain}\n{reply}"
        seen.add((verdict, plain.rcode()))
    assert {verdict for verdict, _ in seen} == {SECURE, INSECURE}
    assert resolver.complaints() == []


def check_tool(judge, asked) -> None:
    """Of a program that starts anew for every question: a few at a time."""
    with ThreadPoolExecutor(4) as pool:
        judged = pool.map(lambda one: (one, judge(*one[:2])), asked)
        for (name, rdtype, plain, want), (verdict, text) in judged:
            assert verdict == want, f"{name} {rdtype}:\n{text}\n{plain}"


@pytest.mark.parametrize("world", CASES, indirect=True)
def test_unbound(world, bare_bed):
    resolver = unbound(bare_bed.folder, world.server.dns.port, world.anchors)
    resolver.start()
    check_resolver(resolver, questions(world, QUESTIONS))
    resolver.stop()


def test_a_text_beside_a_cname(bare_bed):
    """As external-dns writes it, with its registry in the text."""
    bare_bed.start_etcd()
    key = keygen(bare_bed.folder, "cluster.local")
    server = Server(bare_bed, "-no-rec", keys=(key,)).start()
    bare_bed.etcd.put("/skydns/local/cluster/web/1", '{"host":"10.0.0.1"}')
    bare_bed.etcd.put("/skydns/local/cluster/owned/1", '{"host":"web.cluster.local","text":"heritage=x","targetstrip":1}')
    server.wait_etcd(1)
    delv = Delv(bare_bed.folder, server.dns.port, [key])
    for rdtype, word in (("TXT", '"heritage=x"'), ("A", "10.0.0.1"), ("CNAME", "web.cluster.local."), ("MX", "web")):
        verdict, text = delv.judge("owned.cluster.local", rdtype)
        assert verdict == SECURE and word in text, text


@pytest.mark.parametrize("world", [CASES[0], CASES[-1]], indirect=True)
def test_delv(world, bare_bed):
    delv = Delv(bare_bed.folder, world.server.dns.port, world.anchors)
    check_tool(delv.judge, questions(world, DELV_QUESTIONS))

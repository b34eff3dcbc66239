"""Whose client an address is, by the pods' keys and those of kube2sky beside them: what -visibility=own shows to
clients at several addresses of the loopback network.
"""

import random

import dns.message
import dns.query
import dns.rcode
import pytest
from programs import wait_until
from records import SVC, label, value
from test_stores import wipe

NODES = "/kube2sky/cluster.local/node-address"
VISIBLE = "/kube2sky/cluster.local/visible"
STORE_KEY = "/kube2sky/cluster.local/store"
OWN = ("-no-rec", "-visibility=own", "-public-namespaces=common")
SPACES = ("a", "b", "c")
SERVICES = {f"{SVC}/{space}/web/x": value("10.96.0.1") for space in (*SPACES, "common")}
CLIENTS = [f"127.0.0.{number}" for number in range(2, 8)]
# An unknown client sees this one alone.
NOBODY = ""


def pod(space: str, address: str) -> str:
    return f"/skydns/local/cluster/pod/{space}/{address.replace('.', '-')}/{label(address)}"


def node(address: str) -> str:
    return f"{NODES}/{address.replace('.', '-')}"


def rcode(bed, client: str, space: str) -> str:
    question = dns.message.make_query(f"web.{space}.svc.cluster.local", "A")
    reply = dns.query.udp(question, "127.0.0.1", timeout=20, port=bed.dns.port, source=client)
    return dns.rcode.to_text(reply.rcode())


def seen(bed, client: str, space: str) -> bool:
    """SERVFAIL: not yet, since it is not known who asks."""
    found = rcode(bed, client, space)
    assert found in ("NOERROR", "NXDOMAIN", "SERVFAIL"), found
    return found == "NOERROR"


def who(bed, client: str) -> str:
    """The one namespace that it sees besides those of everybody; NOBODY: none."""
    assert seen(bed, client, "common")
    spaces = [space for space in SPACES if seen(bed, client, space)]
    assert len(spaces) <= 1, spaces
    return spaces[0] if spaces else NOBODY


def wait_who(bed, client: str, right: str) -> None:
    wait_until(lambda: who(bed, client) == right, f"{client} is {right or 'nobody'}")


@pytest.fixture
def own_bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put_all(SERVICES)
    bare_bed.start_skydns(*OWN)
    return bare_bed


def test_an_address_passes_from_pod_to_pod(own_bed):
    bed, client = own_bed, CLIENTS[0]
    assert who(bed, client) == NOBODY
    bed.etcd.put(pod("a", client), value(client))
    wait_who(bed, client, "a")
    bed.etcd.delete(pod("a", client))
    wait_who(bed, client, NOBODY)
    bed.etcd.put(pod("b", client), value(client))
    wait_who(bed, client, "b")
    bed.etcd.put_all({pod("c", client): value(client)})
    wait_who(bed, client, NOBODY)  # of two namespaces
    bed.etcd.delete(pod("b", client))
    wait_who(bed, client, "c")


def test_an_address_of_a_node(own_bed):
    bed, client, other = own_bed, CLIENTS[0], CLIENTS[1]
    bed.etcd.put_all({pod("a", client): value(client), pod("a", other): value(other)})
    wait_who(bed, client, "a")
    bed.etcd.put(node(client), f'{{"host":"{client}"}}')
    wait_who(bed, client, NOBODY)
    assert who(bed, other) == "a"
    bed.etcd.put(node(client), '{"host":"no address"}')  # skipped, as if it were not there
    wait_who(bed, client, "a")
    bed.skydns.wait_line(r"key about clients cannot be used .*its host is no address")
    bed.etcd.put(node(client), f'{{"host":"{client}"}}')
    wait_who(bed, client, NOBODY)
    bed.etcd.delete(node(client))
    wait_who(bed, client, "a")


def test_lists_of_namespaces(own_bed):
    bed, client = own_bed, CLIENTS[0]
    bed.etcd.put(pod("a", client), value(client))
    wait_who(bed, client, "a")
    bed.etcd.put(f"{VISIBLE}/b", "a,c")
    wait_until(lambda: seen(bed, client, "b"), "b is shown to a")
    assert not seen(bed, client, "c")
    bed.etcd.delete(f"{VISIBLE}/b")
    wait_until(lambda: not seen(bed, client, "b"), "b is hidden from a")


def test_another_life_of_etcd(own_bed):
    """One that comes back empty takes nothing away before its writer has written everything."""
    bed, (pod_of_a, of_node, gone) = own_bed, CLIENTS[:3]
    keys = {pod("a", client): value(client) for client in (pod_of_a, of_node, gone)}
    bed.etcd.put_all(keys | {node(of_node): f'{{"host":"{of_node}"}}', STORE_KEY: "one"})
    wait_who(bed, gone, "a")
    wait_who(bed, of_node, NOBODY)
    wipe(bed)
    bed.start_etcd()
    bed.etcd.put_all(SERVICES | {pod("b", CLIENTS[3]): value(CLIENTS[3])})
    wait_who(bed, CLIENTS[3], "b")
    assert [who(bed, client) for client in (pod_of_a, of_node, gone)] == ["a", NOBODY, "a"]
    del keys[pod("a", gone)]
    bed.etcd.put_all(keys)
    bed.etcd.put(STORE_KEY, "two")
    wait_who(bed, gone, NOBODY)
    wait_who(bed, of_node, "a")  # no key says that it is a node's
    assert who(bed, pod_of_a) == "a"


def test_a_start_from_a_snapshot(snapshots):
    bed, (pod_of_a, of_node) = snapshots.bed, CLIENTS[:2]
    bed.etcd.put_all(SERVICES | {pod("a", client): value(client) for client in (pod_of_a, of_node)})
    bed.etcd.put_all({node(of_node): f'{{"host":"{of_node}"}}', f"{VISIBLE}/b": "a"})
    snapshots.start(*OWN)
    snapshots.wait_followed()
    wait_until(lambda: seen(bed, pod_of_a, "b"), "b is shown to a")
    wait_until(lambda: seen(bed, pod_of_a, "a") and not seen(bed, of_node, "a"), "marks are read")
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start(*OWN)
    for client in (pod_of_a, of_node):  # addresses may have passed to others since
        assert who(bed, client) == NOBODY
        assert [rcode(bed, client, space) for space in SPACES] == ["SERVFAIL"] * 3
    snapshots.check_from_snapshot()
    bed.start_etcd()
    wait_until(lambda: seen(bed, pod_of_a, "b"), "b is shown to a")
    assert [seen(bed, pod_of_a, space) for space in SPACES] == [True, True, False]
    assert who(bed, of_node) == NOBODY
    bed.etcd.delete(node(of_node))  # etcd goes on to be followed
    wait_until(lambda: seen(bed, of_node, "a"), "its address is no node's any more")


def test_nobody_sees_all_before_it_is_known_who_asks(snapshots):
    """Whoever has no namespace sees all with -visibility-unknown=all: not who may have one."""
    bed, (client, other), flags = snapshots.bed, CLIENTS[:2], (*OWN, "-visibility-unknown=all")
    bed.etcd.put_all(SERVICES | {pod("a", client): value(client)})
    snapshots.start(*flags)
    snapshots.wait_followed()
    wait_until(lambda: said_to(bed, client) == ("NOERROR", "NXDOMAIN", "NXDOMAIN"), "a's client")
    assert said_to(bed, other) == ("NOERROR",) * 3
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start(*flags)
    for asking in (client, other):
        assert seen(bed, asking, "common") and said_to(bed, asking) == ("SERVFAIL",) * 3
    bed.start_etcd()
    wait_until(lambda: said_to(bed, client) == ("NOERROR", "NXDOMAIN", "NXDOMAIN"), "a's client")
    assert said_to(bed, other) == ("NOERROR",) * 3


def test_an_address_that_passed_on_while_a_snapshot_was_written(snapshots):
    """The new owner is never taken for the former one, nor is a list that is gone believed."""
    bed, client = snapshots.bed, CLIENTS[0]
    bed.etcd.put_all(SERVICES | {pod("a", client): value(client), f"{VISIBLE}/c": "a,b"})
    snapshots.start(*OWN)
    snapshots.wait_followed()
    wait_until(lambda: seen(bed, client, "c"), "c is shown to a")
    snapshots.skydns.stop()
    bed.etcd.put(pod("b", client), value(client))
    bed.etcd.delete(pod("a", client))
    bed.etcd.delete(f"{VISIBLE}/c")
    for _ in range(3):
        snapshots.start(*OWN)
        answers = set()
        wait_until(lambda: answers.add(said_to(bed, client)) or seen(bed, client, "b"), "b's client")
        assert {(a, c) for a, _, c in answers} <= {("SERVFAIL", "SERVFAIL"), ("NXDOMAIN", "NXDOMAIN"), ("SERVFAIL", "NXDOMAIN")}
        snapshots.skydns.stop()


def said_to(bed, client: str) -> tuple[str, ...]:
    return tuple(rcode(bed, client, space) for space in SPACES)


def test_a_snapshot_of_a_process_without_clients(snapshots):
    """Nobody is identified before etcd has told which addresses are nodes'."""
    bed, client = snapshots.bed, CLIENTS[0]
    bed.etcd.put_all(SERVICES | {pod("a", client): value(client)})
    snapshots.start("-no-rec")
    snapshots.wait_followed()
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start(*OWN)
    assert who(bed, client) == NOBODY and rcode(bed, client, "a") == "SERVFAIL"
    bed.start_etcd()
    wait_who(bed, client, "a")
    assert rcode(bed, client, "b") == "NXDOMAIN"


def test_switched_on_and_off(bare_bed):
    """By the document; the pods are there already."""
    bed, client = bare_bed, CLIENTS[0]
    bed.start_etcd()
    bed.etcd.put_all(SERVICES | {pod("a", client): value(client)})
    bed.start_skydns("-no-rec", "-public-namespaces=common")
    assert all(seen(bed, client, space) for space in SPACES)
    for _ in range(3):
        bed.etcd.put("/skydns/config", '{"visibility":"own"}')
        wait_until(lambda: not seen(bed, client, "b"), "visibility is own")
        wait_who(bed, client, "a")
        bed.etcd.put("/skydns/config", "{}")
        wait_until(lambda: seen(bed, client, "b"), "visibility is all")


def test_many_changes(own_bed):
    """Pods come and go at a few addresses; at the end, and in between, each client is who it should be."""
    bed, pods, chance = own_bed, {client: set() for client in CLIENTS}, random.Random(7)
    for _ in range(5):
        for _ in range(40):
            client, space = chance.choice(CLIENTS), chance.choice(SPACES)
            if space in pods[client]:
                pods[client].remove(space)
                bed.etcd.delete(pod(space, client))
            elif len(pods[client]) < 2:
                pods[client].add(space)
                bed.etcd.put(pod(space, client), value(client))
        for client, spaces in pods.items():
            wait_who(bed, client, next(iter(spaces)) if len(spaces) == 1 else NOBODY)

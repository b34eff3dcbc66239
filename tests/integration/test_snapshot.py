"""skydns -snapshot: what it answers after a start without etcd, and how it catches up with one that has changed."""

import json
import shutil
import socket

import dns.message
import dns.query
import dns.rcode
import pytest
from programs import http_get, wait_until
from records import SVC, value
from snapshot_bed import KEYS, QUESTIONS, WEB, SnapshotBed, said
from test_stores import make_services, store_id, wait_all_there, wipe
from test_stub_zones import at, key, says
from upstream import PATIENT, Upstream

CONFIG = "/skydns/config"


@pytest.fixture
def upstreams():
    """Three nameservers that give different addresses for every name."""
    servers = [Upstream(says(f"192.0.2.{number}")) for number in (1, 11, 12)]
    yield servers
    for server in servers:
        server.close()


def replace(bed) -> None:
    """Some records go, some change, some are new."""
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.2"))
    bed.etcd.put(f"{SVC}/default/new/a", value("10.0.0.3"))
    bed.etcd.delete(f"{SVC}/default/web/_txt/a")


def check_replaced(bed) -> None:
    bed.wait_answers(f"_txt.{WEB}", "TXT", ["NXDOMAIN"])
    assert bed.dns.answers(WEB) == ["10.0.0.2"]
    assert bed.dns.answers("new.default.svc.cluster.local") == ["10.0.0.3"]
    assert bed.dns.answers("1.0.0.10.in-addr.arpa", "PTR") == [f"{WEB}."]


def test_the_same_answers_without_etcd(snapshots):
    """To the byte, but for order: also what is denied, and by whose authority."""
    bed = snapshots.bed
    bed.etcd.put_all(KEYS)
    snapshots.start()
    snapshots.wait_followed()
    before = said(bed.dns)
    assert len(set(map(str, before.values()))) == len(QUESTIONS)
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start()
    assert said(bed.dns) == before
    snapshots.check_from_snapshot()
    assert snapshots.metric("ready") == 1
    assert snapshots.metric("snapshot_bytes") == snapshots.file.stat().st_size
    snapshots.skydns.stop()
    snapshots.start()  # a snapshot of a snapshot is no younger, and no worse
    assert said(bed.dns) == before
    snapshots.check_from_snapshot()
    bed.start_etcd()
    snapshots.watched.wait_strict(200)
    assert said(bed.dns) == before
    assert snapshots.reads() == 0


def test_what_has_changed_is_followed_without_a_read(snapshots):
    """By the watch alone; the first query is answered, and answered from the snapshot, before etcd is there."""
    bed = snapshots.bed
    snapshots.fill()
    replace(bed)
    bed.etcd_program.kill()
    snapshots.start()
    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    bed.start_etcd()
    check_replaced(bed)
    snapshots.watched.wait_strict(200)
    assert snapshots.reads() == 0
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start()
    check_replaced(bed)


def test_an_etcd_that_has_not_changed(snapshots):
    """No event will ever tell that all is as it was."""
    snapshots.fill()
    snapshots.start()
    snapshots.watched.wait_strict(200)
    assert snapshots.reads() == 0
    assert snapshots.bed.dns.answers(WEB) == ["10.0.0.1"]


def test_compacted_meanwhile(snapshots):
    """One read, over the snapshot."""
    bed = snapshots.bed
    snapshots.fill()
    replace(bed)
    bed.etcd.compact()
    snapshots.start()
    check_replaced(bed)
    snapshots.watched.wait_strict(200)
    assert snapshots.reads() == 1


def test_emptied_meanwhile_and_filled_again(bed):
    """The old answers stay until kube2sky has written everything, then the new ones count."""
    snapshots = SnapshotBed(bed)
    names = make_services(bed, "web", 5)
    bed.start_kube2sky()
    snapshots.start()
    wait_until(lambda: store_id(bed), "the store key")
    rights = wait_all_there(bed, names)
    snapshots.wait_followed()
    snapshots.skydns.stop()
    bed.kube2sky.stop()
    wipe(bed)
    bed.start_etcd()
    snapshots.start()
    snapshots.skydns.wait_line("etcd holds another data set")
    seen = {name: {tuple(bed.dns.answers(name))} for name in names}
    bed.start_kube2sky(is_waiting=False)
    wait_until(
        lambda: [seen[name].add(tuple(bed.dns.answers(name))) for name in names] and snapshots.strict()[0] == 200,
        "complete again",
    )
    assert seen == {name: {tuple(right)} for name, right in rights.items()}
    for name in wait_all_there(bed, make_services(bed, "new", 1)):
        assert name.startswith("new-0.")


def test_the_document_is_that_of_the_snapshot(snapshots, upstreams):
    """Where it listens, TTLs and nameservers; then what etcd says, where a running server can change it."""
    bed, general = snapshots.bed, upstreams[0]
    address = f"127.0.0.2:{bed.dns.port}"
    document = {"dns_addr": address, "ttl": 77, "nameservers": [at(general)]}
    bed.etcd.put(CONFIG, json.dumps(document))
    bed.etcd.put(f"{SVC}/default/own/a", '{"host":"10.0.0.9"}')
    snapshots.start(PATIENT)
    snapshots.wait_followed()
    snapshots.skydns.stop()
    bed.etcd.put(CONFIG, json.dumps(document | {"ttl": 55, "nameservers": []}))
    bed.etcd_program.kill()
    snapshots.start(PATIENT)
    snapshots.skydns.wait_line(rf"for udp://{address}")
    own = "own.default.svc.cluster.local"

    def ask(name: str):
        question = dns.message.make_query(name, "A")
        [rrset] = dns.query.udp(question, "127.0.0.2", timeout=20, port=bed.dns.port).answer
        return rrset

    assert ask(own).ttl == 77
    assert ask("www.example.com")[0].address == "192.0.2.1"
    bed.start_etcd()
    wait_until(lambda: ask(own).ttl == 55, "the TTL of etcd's document")


def test_an_address_that_is_no_longer_ours(snapshots):
    """The document's of the snapshot; etcd's has another by now. It starts as without a snapshot, every time."""
    bed = snapshots.bed
    bed.etcd.put(CONFIG, json.dumps({"dns_addr": f"127.0.0.3:{bed.dns.port}"}))
    bed.etcd.put_all(KEYS)
    snapshots.start()
    snapshots.wait_followed()
    snapshots.skydns.stop()
    bed.etcd.delete(CONFIG)
    with socket.create_server(("127.0.0.3", bed.dns.port)):
        snapshots.start()
        bed.wait_answers(WEB, "A", ["10.0.0.1"])
        [line] = snapshots.warnings()
        assert str(snapshots.file) in line and "listen on tcp://127.0.0.3" in line
        snapshots.wait_followed()
        snapshots.skydns.stop()
        bed.etcd_program.kill()
        snapshots.start()  # from what it has written since
        assert bed.dns.answers(WEB) == ["10.0.0.1"]


def test_the_domain_of_the_snapshot_is_that_in_force(snapshots):
    """Changed at run time: the next start has another store key to follow, and the same store."""
    bed = snapshots.bed
    web = "web.other.local"
    bed.etcd.put("/skydns/local/other/web", value("10.0.0.9"))
    bed.etcd.put("/kube2sky/cluster.local/store", "one")
    bed.etcd.put("/kube2sky/other.local/store", "two")
    bed.etcd.put("/kube2sky/other.local/config", json.dumps({"nameservers": ["192.0.2.1:53"]}))
    snapshots.start()
    snapshots.wait_followed()
    bed.etcd.put(CONFIG, json.dumps({"domain": "other.local."}))
    bed.wait_answers(web, "A", ["10.0.0.9"])
    snapshots.skydns.wait_line("settings=nameservers")  # all of the new domain is known
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start()
    assert bed.dns.answers(web) == ["10.0.0.9"]
    assert snapshots.warnings() == []
    bed.start_etcd()
    snapshots.watched.wait_strict(200)
    assert snapshots.reads() == 0
    bed.etcd.delete("/skydns/local/other/web")
    bed.wait_answers(web, "A", ["NXDOMAIN"])


def test_restored_after_the_domain_changed(snapshots):
    """An older copy that has the store key of the domain in force lacks records all the same."""
    bed = snapshots.bed
    bed.etcd.put(CONFIG, json.dumps({"domain": "other.local."}))
    bed.etcd.put("/kube2sky/cluster.local/store", "one")
    bed.etcd.put("/kube2sky/other.local/store", "two")
    bed.etcd.put("/kube2sky/other.local/config", json.dumps({"nameservers": ["192.0.2.1:53"]}))
    bed.etcd_program.kill()
    shutil.copytree(bed.folder / "etcd", bed.folder / "copy")
    bed.start_etcd()
    bed.etcd.put(CONFIG, json.dumps({"domain": "cluster.local."}))
    flags = ("-no-rec", "-require-store-key")
    snapshots.start(*flags)
    snapshots.wait_followed()
    bed.etcd.put("/skydns/local/other/late", value("10.0.0.9"))
    bed.etcd.put(CONFIG, json.dumps({"domain": "other.local."}))
    bed.wait_answers("late.other.local", "A", ["10.0.0.9"])
    snapshots.skydns.wait_line("settings=nameservers")  # all of the new domain is known
    snapshots.watched.wait_metric(0, "domain_incomplete", domain="other.local.")  # its key has been seen
    snapshots.skydns.stop()
    wipe(bed)
    shutil.copytree(bed.folder / "copy", bed.folder / "etcd")
    bed.start_etcd()
    snapshots.start(*flags)
    snapshots.skydns.wait_line("etcd holds another data set")
    snapshots.skydns.wait_line("caught up with etcd")
    assert bed.dns.answers("late.other.local") == ["10.0.0.9"]


def test_leases_renewed_meanwhile(snapshots):
    """Ended as far as the snapshot knows; etcd still has the keys. No gap once /readiness?strict is 200."""
    bed = snapshots.bed
    names = [f"leased-{number}.default.svc.cluster.local" for number in range(30)]
    for number in range(30):
        bed.etcd.put(f"{SVC}/default/leased-{number}", value("10.0.0.9"), bed.etcd.grant_lease(600))
    bed.etcd.put_all(KEYS)
    snapshots.start()
    snapshots.wait_followed()
    for name in names:  # until etcd has said what a lease has left, the TTL is a second
        wait_until(lambda name=name: bed.dns.query(name).answer[0].ttl == 30, f"the lease of {name} is known")
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.prepare("-no-rec").env = snapshots.shifted(1000)
    snapshots.skydns.start().wait_line("skydns started")
    assert {tuple(bed.dns.answers(name)) for name in names} == {("NXDOMAIN",)}
    bed.start_etcd()
    snapshots.watched.wait_strict(200)
    assert {tuple(bed.dns.answers(name)) for name in names} == {("10.0.0.9",)}


def test_nameservers_of_etcd_are_those_of_the_snapshot(snapshots, upstreams):
    """Stub zones of keys, and what kube2sky read from kube-dns's ConfigMap; both followed afterwards."""
    bed, (general, one, two) = snapshots.bed, upstreams
    stub = "/skydns/local/cluster/dns/stub/local/acme/1"
    bed.etcd.put(stub, key(one))
    bed.etcd.put("/kube2sky/cluster.local/config", json.dumps({"nameservers": [at(general)], "keys": [stub]}))
    flags = ("-stubzones", PATIENT)
    snapshots.start(*flags)
    bed.wait_answers("www.acme.local", "A", ["192.0.2.11"])
    bed.wait_answers("www.example.com", "A", ["192.0.2.1"])
    snapshots.wait_followed()
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start(*flags)
    assert bed.dns.answers("www.acme.local") == ["192.0.2.11"]
    assert bed.dns.answers("www.example.com") == ["192.0.2.1"]
    bed.start_etcd()
    bed.etcd.put(stub, key(two))
    bed.wait_answers("other.acme.local", "A", ["192.0.2.12"])
    assert snapshots.reads() == 0


@pytest.mark.parametrize("flag", ["-schema=kubernetes", "-schema=skydns"])
def test_unusable_keys_are_remembered(snapshots, flag):
    """/cache and the metric list them as before."""
    bed = snapshots.bed
    bed.etcd.put(f"{SVC}/default/bad/a", "no record")
    snapshots.fill("-no-rec", flag)
    bed.etcd_program.kill()
    snapshots.start("-no-rec", flag)
    assert snapshots.metric("keys_broken") == 1
    page = json.loads(http_get(f"http://127.0.0.1:{snapshots.watched.port}/cache")[1])
    assert [broken["key"] for broken in page["broken"]] == [f"{SVC}/default/bad/a"]

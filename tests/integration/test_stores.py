"""An etcd that lost its data: wiped, wiped and at the same revision, restored from a copy, with and without
kube2sky to fill it. No name may disappear at any moment.
"""

import http.client
import json
import re
import shutil
from contextlib import contextmanager

from dns_client import QueryLoad
from etcd_client import _encode
from kube import port, service
from programs import etcd, is_etcd_healthy, reserve_port, wait_until
from records import SVC, value

STORE_KEY = "/kube2sky/cluster.local/store"
KUBERNETES = "kubernetes.default.svc.cluster.local"


def store_id(bed) -> str:
    return bed.etcd.values(STORE_KEY).get(STORE_KEY, "")


def make_services(bed, prefix: str, count: int) -> list[str]:
    """The names of new services."""
    for number in range(count):
        bed.kube.create("services", service(f"{prefix}-{number}", port(80, "http")))
    return [f"{prefix}-{number}.default.svc.cluster.local" for number in range(count)]


def wait_all_there(bed, names: list[str]) -> dict[str, list[str]]:
    """The right answer for each name, once it is served. SERVFAIL: skydns has not read etcd yet."""
    for name in names:
        wait_until(lambda name=name: bed.dns.answers(name) not in (["NXDOMAIN"], ["SERVFAIL"]), name)
    return {name: bed.dns.answers(name) for name in names}


def start_with_services(bed, count: int = 30) -> dict[str, list[str]]:
    names = make_services(bed, "web", count)
    bed.start_writer_and_reader()
    wait_until(lambda: store_id(bed), "the store key")
    return wait_all_there(bed, names)


@contextmanager
def every_name_asked(bed, rights: dict[str, list[str]]):
    right = bed.dns.answers(KUBERNETES)
    with QueryLoad(bed.dns, KUBERNETES, right, rights) as load:
        load.wait_rounds()
        yield load
        load.wait_rounds(2)


def wipe(bed) -> None:
    """etcd stops and loses its data."""
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")


@contextmanager
def etcd_elsewhere(bed):
    """The same member with its data on another port, unknown to the programs under test, so that a test can change
    the data while they are cut off.
    """
    argv = bed.etcd_program.argv
    peer_port = int(argv[argv.index("--listen-peer-urls") + 1].rpartition(":")[2])
    client_port, old_port = reserve_port(), bed.etcd.port
    program = etcd(str(bed.folder / "etcd"), client_port, peer_port, path=argv[0])
    program.start()
    program.wait_ready(lambda: is_etcd_healthy(client_port), "healthy")
    bed.etcd.port = client_port
    try:
        yield
    finally:
        bed.etcd.port = old_port
        program.stop(expected=(0, -15))


def put_often(bed, key: str, count: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", bed.etcd.port, timeout=20)
    body = json.dumps({"key": _encode(key), "value": _encode("v")})
    for _ in range(count):
        connection.request("POST", "/v3/kv/put", body)
        assert connection.getresponse().read()
    connection.close()


def wait_filled_again(bed, before: dict[str, str], since: int) -> None:
    """kube2sky has written everything, and skydns has read it as complete."""
    bed.wait_records("/skydns/", before)
    bed.skydns.wait_line(r"records reread .*cause=(complete|another)", since)
    wait_until(lambda: store_id(bed), "a store key")


def test_store_key(bed):
    bed.start_kube2sky()
    wait_until(lambda: store_id(bed), "the store key")
    entry = bed.etcd.get_prefix(STORE_KEY)[STORE_KEY]
    assert re.fullmatch(r"[0-9a-f]{32}", entry.value)
    assert entry.mod_revision == entry.create_revision
    assert entry.create_revision > max(e.mod_revision for e in bed.etcd.get_prefix("/skydns/").values())
    bed.kube2sky.restart()
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    assert bed.etcd.get_prefix(STORE_KEY)[STORE_KEY] == entry


def test_etcd_wiped(bed):
    rights = start_with_services(bed)
    before, old_id = bed.etcd.values("/skydns/"), store_id(bed)
    since = len(bed.skydns.lines)
    with every_name_asked(bed, rights):
        wipe(bed)
        bed.start_etcd()
        wait_filled_again(bed, before, since)
        bed.skydns.wait_line("etcd holds another data set", since)
        assert bed.readiness()[0] == 200
        made = make_services(bed, "new", 1)
        wait_all_there(bed, made)
    assert store_id(bed) != old_id
    assert bed.readiness()[0] == 200


def test_etcd_wiped_and_as_far_as_before(bed):
    """The revision is exactly the one that both programs knew."""
    rights = start_with_services(bed)
    before, old_id, revision = bed.etcd.values("/skydns/"), store_id(bed), bed.etcd.revision()
    since = len(bed.skydns.lines)
    with every_name_asked(bed, rights):
        wipe(bed)
        with etcd_elsewhere(bed):
            put_often(bed, "/elsewhere", revision - bed.etcd.revision())
            assert bed.etcd.revision() == revision
        bed.start_etcd()
        wait_filled_again(bed, before, since)
    assert store_id(bed) not in ("", old_id)


def test_etcd_restored_from_a_copy(bed):
    """The copy has the original's store key and lacks later changes, whatever its revision."""
    rights = start_with_services(bed, 10)
    bed.etcd_program.kill()
    shutil.copytree(bed.folder / "etcd", bed.folder / "copy")
    bed.start_etcd()
    rights |= wait_all_there(bed, make_services(bed, "late", 10))
    before, revision = bed.etcd.values("/skydns/"), bed.etcd.revision()
    with every_name_asked(bed, rights):
        for is_far in (False, True):
            since = len(bed.skydns.lines)
            wipe(bed)
            shutil.copytree(bed.folder / "copy", bed.folder / "etcd")
            if is_far:
                with etcd_elsewhere(bed):
                    put_often(bed, "/elsewhere", revision - bed.etcd.revision())
            bed.start_etcd()
            bed.wait_records("/skydns/", before)
            bed.skydns.wait_line(r"records reread .*cause=another", since)
            wait_all_there(bed, make_services(bed, f"after-{is_far}".lower(), 1))  # skydns follows again
            before, revision = bed.etcd.values("/skydns/"), bed.etcd.revision()


def test_without_a_store_key_old_names_go_after_a_while(bare_bed):
    """Only etcdctl writes: records missing in the new store are answered for -stale-max, and then all go at once."""
    bed = bare_bed
    bed.start_etcd()
    for name in ("stays", "a", "b", "c"):
        bed.etcd.put(f"{SVC}/default/{name}/x", value("10.0.0.1"))
    bed.start_skydns("-no-rec", "-stale-max=6s")  # longer than a slow machine needs for the queries meanwhile
    rights = wait_all_there(bed, [f"{name}.default.svc.cluster.local" for name in "abc"])
    since = len(bed.skydns.lines)
    wipe(bed)
    with etcd_elsewhere(bed):
        bed.etcd.put(f"{SVC}/default/stays/x", value("10.0.0.1"))
        bed.etcd.put(f"{SVC}/default/a/x", value("10.0.0.2"))
    with QueryLoad(
        bed.dns, "stays.default.svc.cluster.local", ["10.0.0.1"], {n: rights[n] for n in list(rights)[1:]}
    ) as load:
        bed.start_etcd()
        bed.skydns.wait_line(r"records reread keys=4 .*cause=another", since)
        assert bed.dns.answers("a.default.svc.cluster.local") == ["10.0.0.2"]  # what it has wins
        load.wait_rounds()
        load_until_stale = load.count
    assert load_until_stale > 0
    with QueryLoad(bed.dns, "stays.default.svc.cluster.local", ["10.0.0.1"]):
        bed.skydns.wait_line(r"records reread keys=2 .*cause=stale-max", since)
        for name in "bc":
            assert bed.dns.answers(f"{name}.default.svc.cluster.local") == ["NXDOMAIN"]
    assert sum("records reread" in line for line in bed.skydns.lines[since:]) == 2


def test_far_behind_reads_instead_of_following(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/stays/x", value("10.0.0.1"))
    bed.start_skydns()
    stays = "stays.default.svc.cluster.local"
    since = len(bed.skydns.lines)
    with QueryLoad(bed.dns, stays, ["10.0.0.1"]) as load:
        bed.etcd_program.kill()
        with etcd_elsewhere(bed):
            put_often(bed, "/elsewhere", 5000)
            bed.etcd.put(f"{SVC}/default/new/x", value("10.0.0.2"))
        bed.start_etcd()
        bed.wait_answers("new.default.svc.cluster.local", "A", ["10.0.0.2"])
        load.wait_rounds(20)
    bed.skydns.wait_line(r"records reread .*cause=lag", since)

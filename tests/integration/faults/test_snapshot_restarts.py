"""skydns -snapshot: what takes seconds: leases that end, intervals, two processes, and a reader that is killed."""

import threading

import dns.rcode
import pytest
from dns_client import Dns
from programs import reserve_port, wait_until
from records import SVC, value
from snapshot_bed import KEYS, WEB, SnapshotBed
from test_leases import ttl_of
from test_stores import wipe

pytestmark = pytest.mark.faults

STORE_KEY = "/kube2sky/cluster.local/store"
OFTEN = "-snapshot-interval=100ms"


def test_emptied_meanwhile_for_good(snapshots):
    """The store key that the snapshot knows is missing: nothing is denied, before and after -stale-max."""
    bed = snapshots.bed
    bed.etcd.put(STORE_KEY, "one")
    snapshots.fill()
    wipe(bed)
    bed.start_etcd()
    snapshots.start("-no-rec", "-stale-max=3s")
    seen = set()

    def is_refused() -> bool:
        rcodes = [bed.dns.query(WEB).rcode(), bed.dns.query("no.default.svc.cluster.local").rcode()]
        seen.update(rcodes[:1])
        return rcodes == [dns.rcode.SERVFAIL] * 2

    wait_until(is_refused, "SERVFAIL")
    assert seen == {dns.rcode.NOERROR, dns.rcode.SERVFAIL}


def test_leases_count_on(snapshots):
    """Without etcd they end, and their records go; etcd, which begins them anew, brings the records back."""
    bed, name = snapshots.bed, "leased.default.svc.cluster.local"
    lease = bed.etcd.grant_lease(10)  # longer than a slow machine needs for two starts
    bed.etcd.put(f"{SVC}/default/leased/a", value("10.0.0.7"), lease)
    snapshots.start()
    wait_until(lambda: (ttl_of(bed, name) or 0) > 1, "its lease is known")
    snapshots.skydns.stop()
    bed.etcd_program.kill()
    snapshots.start()
    seen = []

    def has_gone() -> bool:
        seen.append(ttl_of(bed, name))
        return seen[-1] is None

    wait_until(has_gone, "the end of the lease")
    assert seen[0] is not None and seen[:-1] == sorted(seen[:-1], reverse=True)
    snapshots.check_from_snapshot()
    bed.start_etcd()
    bed.wait_answers(name, "A", ["10.0.0.7"])


def test_a_key_that_breaks_while_its_record_is_withheld(snapshots):
    """What the lease brings back must not be what the key has lost."""
    bed, names = snapshots.bed, [f"{n}.default.svc.cluster.local" for n in ("good", "bad")]
    lease = bed.etcd.grant_lease(60)
    for number, name in enumerate(("good", "bad")):
        bed.etcd.put(f"{SVC}/default/{name}/a", value(f"10.0.0.{number}"), lease)
    snapshots.start()
    for name in names:
        wait_until(lambda name=name: (ttl_of(bed, name) or 0) > 1, "its lease is known")
    snapshots.skydns.stop()
    bed.etcd.put(f"{SVC}/default/bad/a", "no record", lease)
    bed.etcd_program.kill()
    snapshots.prepare("-no-rec").env = snapshots.shifted(120)
    snapshots.skydns.start()
    snapshots.skydns.wait_line("skydns started")
    assert [bed.dns.answers(name) for name in names] == [["NXDOMAIN"], ["NXDOMAIN"]]
    bed.start_etcd()
    bed.wait_answers(names[0], "A", ["10.0.0.0"])
    snapshots.watched.wait_strict(200)
    assert bed.dns.answers(names[1]) == ["NXDOMAIN"]


def test_refreshed_though_nothing_changes(snapshots):
    """Every quarter of -snapshot-max; not at every interval."""
    snapshots.bed.etcd.put_all(KEYS)
    snapshots.start("-no-rec", OFTEN, "-snapshot-max=2s")
    snapshots.wait_written(1)
    first = snapshots.file.stat()
    snapshots.wait_written(2)
    took_s = (snapshots.file.stat().st_mtime_ns - first.st_mtime_ns) / 1e9
    assert took_s >= 0.7  # two quarters, less what a write takes
    assert snapshots.metric("snapshot_failures_total") == 0


def test_killed_between_two(snapshots):
    """SIGKILL: the last one written counts."""
    bed = snapshots.bed
    bed.etcd.put_all(KEYS)
    told = ("-no-rec", OFTEN, "-log-level=debug")
    snapshots.start(*told)
    for number in range(3):
        bed.etcd.put(f"{SVC}/default/more/a", value(f"10.1.0.{number}"))
        bed.wait_answers("more.default.svc.cluster.local", "A", [f"10.1.0.{number}"])
        snapshots.skydns.wait_line(rf"snapshot written .*revision={bed.etcd.revision()}\b")
        snapshots.skydns.kill()
        (snapshots.folder / "snapshot.tmp").write_bytes(b"half")
        snapshots.start(*told)
        assert bed.dns.answers("more.default.svc.cluster.local") == [f"10.1.0.{number}"]
        snapshots.watched.wait_strict(200)
        assert snapshots.reads() == 0


def test_two_processes_on_one_file(snapshots):
    """Both write, the last one wins, and there is always a whole one."""
    bed = snapshots.bed
    bed.etcd.put_all(KEYS)
    other = SnapshotBed(bed)
    other.dns = Dns(reserve_port())
    for one in (snapshots, other):
        one.start("-no-rec", OFTEN)
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            bed.etcd.put(f"{SVC}/default/more/a", value(f"10.1.{number >> 8 & 255}.{number & 255}"))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(5):
            snapshots.wait_written()
            other.wait_written()
    finally:
        stop.set()
        thread.join()
    assert snapshots.warnings() == other.warnings() == []
    snapshots.wait_followed()
    other.wait_followed()
    [address] = bed.dns.answers("more.default.svc.cluster.local")
    snapshots.skydns.stop()
    other.skydns.stop()
    assert [path.name for path in snapshots.folder.iterdir() if path.name != "snapshot.tmp"] == ["snapshot"]
    bed.etcd_program.kill()
    snapshots.start()
    assert bed.dns.answers("more.default.svc.cluster.local") == [address]

"""etcd stops and comes back: with its data, compacted, or empty."""

import shutil
import signal
import time

import pytest
from fault_bed import PATIENCE_S, missing_flags
from programs import wait_until

# Longer than every deadline and ping of the etcd client.
STOPPED_S = 20.0

tells_stores_apart = pytest.mark.skipif(
    bool(missing_flags("-stale-max")), reason=missing_flags("-stale-max")
)


def test_killed_and_restarted_on_its_data(single):
    single.check_away(single.etcd_program.kill, single.start_etcd, 2)


def test_compacted_past_the_watch_while_disconnected(behind_peer):
    """The programs are cut off from an etcd that keeps changing and compacts its history."""
    bed, peer = behind_peer
    with bed.under_load(is_restarting=True) as load:
        peer.refuse()
        made = bed.change()
        for number in range(50):
            bed.etcd.put("/skydns/local/cluster/other/x", f'{{"host":"10.9.0.{number}"}}')
        bed.etcd.compact()
        load.wait_sent(1000)
        peer.accept()
        bed.wait_visible(made, time.monotonic(), "resync after", 2)
    assert bed.dns.answers("x.other.cluster.local") == ["10.9.0.49"]


@tells_stores_apart
def test_restarted_with_an_empty_data_folder(single):
    """The writer fills it again; until then the old records are answered."""
    bed = single
    with bed.under_load(is_restarting=True):
        bed.etcd_program.kill()
        shutil.rmtree(bed.folder / "etcd")
        made = bed.change()
        bed.start_etcd()
        bed.wait_visible(made, time.monotonic(), "everything written again after", 2)


@tells_stores_apart
def test_restored_from_an_older_copy(fault_bed):
    """Everything written since the copy is missing, and revisions are reused. Its store key does not prove that it is
    complete: records deleted meanwhile are answered until -stale-max has passed.
    """
    bed = fault_bed
    bed.start_etcd()
    bed.skydns_flags = ["-stale-max=3s"]
    bed.start()
    data, copy = bed.folder / "etcd", bed.folder / "copy"
    with bed.under_load(is_restarting=True):
        bed.etcd_program.kill()
        shutil.copytree(data, copy)
        bed.start_etcd()
        later = bed.change()
        bed.wait_right(later)
        bed.etcd_program.kill()
        shutil.rmtree(data)
        copy.rename(data)
        made = bed.change()
        bed.start_etcd()
        bed.wait_visible(later | made, time.monotonic(), "everything written again after", 2)


@pytest.mark.faults
def test_50000_changes_while_skydns_is_stopped(single):
    """12,500 Services whose address changes: two keys are deleted, two added."""
    bed, count = single, 12_500
    bed.kube.control("bulk", count=count)
    bed.wait_bulk(count, salt=0)
    with bed.under_load() as load:
        load.pause()
        bed.skydns.signal(signal.SIGSTOP)
        started_s = time.monotonic()
        bed.kube.control("bulk", verb="replace", count=count, salt=1 << 16)
        bed.wait_bulk(count, salt=1 << 16)
        bed.note(f"{4 * count} changes in {time.monotonic() - started_s:.1f} s")
        wait_until(lambda: time.monotonic() - started_s >= STOPPED_S, "the end of the pause", PATIENCE_S)
        newest = bed.newest_bulk()
        bed.skydns.signal(signal.SIGCONT)
        continued_s = time.monotonic()
        load.resume()
        bed.wait_visible(newest, continued_s, "caught up after", 3)
        bed.check_bulk(count, salt=1 << 16)

"""etcd's grpc-proxy in front of etcd, under load, while either dies. A living proxy holds its clients' connections
whatever becomes of etcd: the programs must notice by themselves.
"""

import shutil
import time

import pytest
from fault_bed import PATIENCE_S
from grpc_proxy import Reader, put_behind_proxy
from peer import Peer
from programs import wait_until

# Between two looks at the store: common/etcd/etcd_mirror_check.c; and the patience with a silent watch.
CHECK_S = 10
READERS = 6
OTHER = "x.other.cluster.local"


@pytest.fixture
def proxied(fault_bed):
    """etcd, a proxy, and both programs behind it: (bed, proxy)."""
    fault_bed.start_etcd()
    proxy = put_behind_proxy(fault_bed)
    fault_bed.start()
    return fault_bed, proxy


@pytest.fixture
def cut_off(fault_bed):
    """The same, with a peer between the proxy and etcd: (bed, peer)."""
    fault_bed.start_etcd()
    with Peer(fault_bed.etcd_port) as peer:
        put_behind_proxy(fault_bed, port=peer.port)
        fault_bed.start()
        yield fault_bed, peer
        fault_bed.close()


def test_proxy_killed_and_restarted(proxied):
    bed, proxy = proxied
    bed.check_away(proxy.program.kill, proxy.start, 2)


def test_etcd_killed_behind_the_proxy(proxied):
    bed, _ = proxied
    bed.check_away(bed.etcd_program.kill, bed.start_etcd, 4)


def test_etcd_emptied_behind_the_proxy(proxied):
    """The proxy watches on from the old revision, which the new store reaches late or never."""
    bed, _ = proxied
    with bed.under_load(is_restarting=True):
        bed.etcd_program.kill()
        shutil.rmtree(bed.folder / "etcd")
        made = bed.change()
        bed.start_etcd()
        bed.wait_visible(made, time.monotonic(), "everything written again after", CHECK_S + 4)


def test_etcd_restored_behind_the_proxy(proxied):
    """From a copy that has the store key of before, and lacks what was changed since. The proxy is restarted, as
    OPERATING.md says.
    """
    bed, proxy = proxied
    store, copy = bed.folder / "etcd", bed.folder / "copy"
    bed.etcd_program.kill()
    shutil.copytree(store, copy)
    bed.start_etcd()
    with bed.under_load():
        bed.wait_visible(bed.change(), time.monotonic(), "a change that the copy lacks", CHECK_S)
        bed.etcd_program.kill()
        proxy.program.kill()
        shutil.rmtree(store)
        shutil.copytree(copy, store)
        made = bed.change()
        bed.start_etcd()
        proxy.start()
        bed.wait_visible(made, time.monotonic(), "everything written again after", CHECK_S + 4)
        for watched in bed.watched:
            watched.wait_strict(200)
    reads = [line for line in bed.skydns.lines if "records reread" in line]
    assert "stale-max" not in "".join(reads)


def test_compacted_while_the_proxy_is_cut_off(cut_off):
    """The proxy's watch of etcd ends for all its readers. It may let those that return first wait at the dead one."""
    bed, peer = cut_off
    readers = [Reader(bed).start() for _ in range(READERS)]
    for reader in readers:
        reader.wait_followed()
    peer.refuse()
    for number in range(50):
        bed.etcd.put("/skydns/local/cluster/other/x", f'{{"host":"10.9.0.{number}"}}')
    bed.etcd.compact()
    peer.accept()
    since_s = time.monotonic()
    for right in (["10.9.0.49"], ["10.9.1.1"]):
        for reader in readers:
            wait_until(lambda r=reader, right=right: r.dns.answers(OTHER) == right, right[0], PATIENCE_S)
        bed.etcd.put("/skydns/local/cluster/other/x", '{"host":"10.9.1.1"}')
    bed.note_time("all readers right after", time.monotonic() - since_s, 2 * CHECK_S)

"""An etcd restored from a backup behind its grpc-proxy, which hides that from both programs if it lives on: they notice
at their next check. No answer is wrong meanwhile, and what was deleted goes once kube2sky has completed the data set.
"""

import time

import pytest
from bed import Bed
from grpc_proxy import put_behind_proxy
from programs import reserve_port, wait_until
from test_restored_stores import (
    copy_aside,
    delete_service,
    needs_etcdutl,
    restore,
    save_for_higher_revisions,
    strict,
    wait_trusted,
)
from test_stores import every_name_asked, make_services, store_id, wait_all_there

BACKUPS = [copy_aside, pytest.param(save_for_higher_revisions, marks=needs_etcdutl)]


def back_up(bed: Bed, backup):
    """etcd's own address, not the proxy's, is what etcdctl asks."""
    urls, bed.etcd_urls = bed.etcd_urls, [f"http://127.0.0.1:{bed.etcd_port}"]
    put_back = backup(bed)
    bed.etcd_urls = urls
    return put_back


@pytest.mark.parametrize("kube2sky", ["runs", "is_away"])
@pytest.mark.parametrize("proxy", ["lives", "restarts"])
@pytest.mark.parametrize("backup", BACKUPS)
def test_restored_behind_a_proxy(bed, backup, proxy, kube2sky, record_property):
    """Twice from one backup."""
    between = put_behind_proxy(bed)
    bed.http_port = reserve_port()
    names = make_services(bed, "web", 10)
    bed.start_kube2sky()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}", "-stale-max=0")
    wait_until(lambda: store_id(bed), "the store key")
    rights = wait_all_there(bed, names)
    put_back = back_up(bed, backup)
    for number in range(2):
        rights |= wait_all_there(bed, make_services(bed, f"late-{number}", 5))
        gone = next(name for name in rights if name.startswith(f"late-{number}"))
        rights.pop(gone)
        since = len(bed.skydns.lines)
        if kube2sky == "is_away":
            bed.kube2sky.stop()
        with every_name_asked(bed, rights):
            if proxy == "restarts":
                between.program.kill()
            restore(bed, put_back)
            delete_service(bed, gone)
            bed.start_etcd()
            if proxy == "restarts":
                between.start()
            if kube2sky == "is_away":
                bed.skydns.wait_line("records reread .*cause=another", since)
                assert strict(bed) == 503
                bed.start_kube2sky()
            wait_trusted(bed, time.monotonic(), [gone], record_property)

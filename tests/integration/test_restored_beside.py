"""An etcd restored from a backup that has all records, and lacks the latest keys beside them: which namespaces others
see, and the document of the ConfigMap. What these said and no longer holds ends with kube2sky's return.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest
from bed import Bed
from kube import KubeError, port, service
from programs import wait_until
from records import value
from test_client_keys import FLAG as VISIBILITY
from test_client_keys import VISIBLE, annotate, real_bed
from test_config_file import servers
from test_config_map import DOCUMENT, config_map
from test_config_map import FLAG as CONFIG_MAP
from test_restored_stores import copy_aside, restore
from test_stores import store_id
from test_visibility import Clients

__all__ = ["real_bed", "servers"]

CLIENT = "127.0.0.7"


def back_up(bed: Bed) -> Callable[[], None]:
    """Before the latest key; both programs follow etcd again."""
    wait_until(lambda: store_id(bed), "the store key")
    since = len(bed.skydns.lines), len(bed.kube2sky.lines)
    put_back = copy_aside(bed)
    bed.skydns.wait_line("etcd is followed", since[0])
    bed.kube2sky.wait_line("etcd is followed", since[1])
    return put_back


def restore_while(bed: Bed, put_back: Callable[[], None], change: Callable[[], object], kube2sky: str) -> None:
    """The object that the key came from changes while etcd is away."""
    if kube2sky == "is_away":
        bed.kube2sky.stop()
    restore(bed, put_back)
    change()
    bed.start_etcd()
    if kube2sky == "is_away":
        bed.start_kube2sky()


@pytest.mark.parametrize("kube2sky", ["runs", "is_away"])
def test_a_permission_taken_back(real_bed, kube2sky):
    bed, web = real_bed, "web.team-a.svc.cluster.local"
    bed.kube.create_namespace("team-a")
    with suppress(KubeError):  # of the test before
        bed.kube.delete("services", "web", "team-a")
    address = bed.kube.create("services", service("web", port(80, "http"), namespace="team-a"))["spec"]["clusterIP"]
    bed.etcd.put("/skydns/local/cluster/pod/team-c/127-0-0-7/c", value(CLIENT))
    bed.start_kube2sky(VISIBILITY, "--namespaces=team-a")
    bed.start_skydns("-visibility=own", "-no-rec", "-stale-max=0")
    clients = Clients(bed)
    put_back = back_up(bed)
    annotate(bed.kube, "team-a", "team-c")
    clients.wait(CLIENT, web, [address])
    restore_while(bed, put_back, lambda: annotate(bed.kube, "team-a", None), kube2sky)
    clients.wait(CLIENT, web, ["NXDOMAIN"])
    assert bed.etcd.values(VISIBLE) == {}


@pytest.mark.parametrize("kube2sky", ["runs", "is_away"])
def test_a_document_deleted(bed, servers, kube2sky):
    name = "www.example.com"
    bed.start_kube2sky(CONFIG_MAP)
    bed.start_skydns(f"-nameservers={servers[0]}", "-rcache=0", "-stale-max=0")
    bed.wait_answers(name, "A", ["192.0.2.1"])
    put_back = back_up(bed)
    bed.kube.create("configmaps", config_map(upstreamNameservers=f'["{servers[1]}"]'))
    bed.wait_answers(name, "A", ["192.0.2.2"])
    restore_while(bed, put_back, lambda: bed.kube.delete("configmaps", "kube-dns", "kube-system"), kube2sky)
    bed.wait_answers(name, "A", ["192.0.2.1"])
    assert bed.etcd.values(DOCUMENT) == {}

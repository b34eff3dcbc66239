"""The API server ends, starts again, has forgotten its history, and permits nothing yet."""

import pytest
from watched import Watched

pytestmark = pytest.mark.cluster

BINDING = "/registry/clusterrolebindings/kube2sky"


def wait_away(shop, since: int) -> None:
    """kube2sky has lost the API server, and queries go on."""
    shop.wait_away("127.0.0.1", since)
    shop.dns.load.wait_sent(500)


def lists(dns) -> list[float]:
    """How often kube2sky has listed Services and their slices."""
    page = Watched(dns.kube2sky, dns.readiness_port, "kube2sky_").metrics()
    return [page.get("api_lists_total", kind=kind) for kind in ("services", "endpoints")]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_restarted_while_pods_come(shop, cluster, end):
    with shop.asked():
        since = len(shop.dns.kube2sky.lines)
        shop.scale(12)
        (cluster.stop_apiserver if end == "stop" else cluster.kill_apiserver)()
        wait_away(shop, since)
        cluster.start_apiserver()
        shop.change(gone=0, pods=8)


def test_compacted_and_changed_while_it_is_away(shop, cluster):
    """Another API server goes on meanwhile. Watches cannot be resumed, and a list shows what has gone."""
    dns = shop.dns
    with shop.asked():
        since, before = len(dns.kube2sky.lines), lists(dns)
        cluster.stop_apiserver()
        wait_away(shop, since)
        shop.lose(0)
        shop.lose(2)
        dns.history.read()
        cluster.compact()
        cluster.start_apiserver()
        shop.change(gone=1, pods=4)
    assert all(now > then for now, then in zip(lists(dns), before))


def test_an_api_server_that_permits_nothing_yet(shop, cluster):
    """As one that has just started and has not read its roles: for the kube2sky that runs, and for one that starts."""
    dns = shop.dns
    try:
        with shop.asked():
            known, since = shop.objects(), len(dns.kube2sky.lines)
            cluster.stop_apiserver()
            cluster.etcd.delete(BINDING)
            cluster.start_apiserver()
            shop.wait_away("403", since)
            shop.change(gone=0, pods=3)
            shop.wait_known(known)

            dns.kube2sky.stop()
            since = len(dns.kube2sky.lines)
            dns.start_kube2sky(is_waiting=False)
            shop.wait_away("403", since)
            shop.wait_known(known)
            assert dns.readiness()[0] == 503
            cluster.restore_account()
    finally:
        cluster.restore_account()

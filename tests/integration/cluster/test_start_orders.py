"""Today's API server, kube2sky and etcd, started in every order."""

import pytest
from checks import manifest_flags
from model import SLICES
from start_orders import ApiServer, StartOrders, cases

pytestmark = pytest.mark.cluster


class ClusterServer(ApiServer):
    def __init__(self, cluster):
        self._cluster = cluster
        self.launch = cluster.launch_apiserver
        self.wait_ready = cluster.wait_apiserver
        self.stop = cluster.stop_apiserver

    @property
    def kube(self):
        return self._cluster.kube


def test_every_start_order(cluster, tmp_path):
    all_cases = cases(tuple(manifest_flags("kube2sky")), SLICES)
    StartOrders(tmp_path, ClusterServer(cluster), all_cases, cluster.kube2sky_flags()).run()

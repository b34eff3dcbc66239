"""A real kube-apiserver without discovery v1 slices, and kube2sky and etcd, started in every order. Skipped unless
KUBE_APISERVER names a starter of one (CONTRIBUTING.md).
"""

from model import ENDPOINTS, SLICES
from start_orders import ApiServer, StartOrders, cases


class RealServer(ApiServer):
    slices_version = "v1beta1"
    has_endpoints = True

    def __init__(self, server):
        self._server = server
        self.launch, self.wait_ready, self.stop = server.launch, server.wait_ready, server.stop

    @property
    def kube(self):
        return self._server.kube


def test_every_start_order(server, tmp_path):
    """With Endpoints, as that server's slices are not taken unasked, and with these."""
    all_cases = cases((), ENDPOINTS) + cases(("--endpoints=slices",), SLICES, patience=(False,))
    StartOrders(tmp_path, RealServer(server), all_cases, server.flags).run()

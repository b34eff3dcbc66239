"""Random changes to a small cluster, where names and addresses collide often, with faults between them: after
each batch etcd holds what the model demands.
"""

import random

import pytest
from kube import KubeError, endpoint, endpoint_slice, headless, pod, port, service
from model import Model

NAMES = ["a", "b", "c", "d"]
NAMESPACES = ["default", "team"]
HOSTNAMES = ["", "", "h-0", "h-1"]
PODS = ["", "a-x7k2p", "h-0", "10-96-7-4", "no.label"]
# Cluster IPs and endpoint addresses overlap, as after a change of the service network.
CLUSTER_IPS = [f"10.96.7.{n}" for n in range(1, 7)]
ADDRESSES = [f"10.96.7.{n}" for n in range(4, 10)] + ["fd00::7", "fd00:0:0:1::"]
PORTS = [port(80, "http"), port(81, "http"), port(53, "dns", "UDP"), port(9090)]

STRETCHES = 6
CHANGES = 60


class Cluster:
    def __init__(self, kube, seed: int):
        self._kube = kube
        self._random = random.Random(seed)
        self._put("pods", pod("always", "10.3.9.9"))  # a list without pods is not believed
        self._changes = 2 * [self._service] + 3 * [self._slice] + 2 * [self._pod]

    def change(self) -> None:
        self._random.choice(self._changes)()

    def _place(self) -> tuple[str, str]:
        return self._random.choice(NAMESPACES), self._random.choice(NAMES)

    def _ports(self) -> list[dict]:
        return self._random.sample(PORTS, self._random.randrange(len(PORTS)))

    def _delete(self, resource: str, namespace: str, name: str) -> bool:
        try:
            self._kube.delete(resource, name, namespace)
        except KubeError as error:
            assert error.status == 404
            return False
        return True

    def _put(self, resource: str, value: dict) -> None:
        self._kube.control("put", resource=resource, object=value)

    def _service(self) -> None:
        namespace, name = self._place()
        if self._delete("services", namespace, name) and self._random.random() < 0.4:
            return
        kind = self._random.choice(["ip", "ip", "headless", "headless", "dual", "external", "pending"])
        ips = [self._random.choice(CLUSTER_IPS)]
        if kind == "dual":
            ips.append(f"fd00:96::{self._random.randrange(1, 5)}")
        if kind == "headless":
            is_all = self._random.random() < 0.3
            value = headless(name, *self._ports(), namespace=namespace, publishNotReadyAddresses=is_all)
        elif kind == "external":
            value = service(name, namespace=namespace, type="ExternalName", externalName="www.example.org")
        elif kind == "pending":
            value = service(name, namespace=namespace)
        else:
            value = service(name, *self._ports(), namespace=namespace, clusterIP=ips[0], clusterIPs=ips)
        self._put("services", value)

    def _slice(self) -> None:
        namespace, owner = self._place()
        name = f"slice-{self._random.randrange(4)}"  # so a slice moves from one Service to another
        if self._delete("endpointslices", namespace, name) and self._random.random() < 0.3:
            return
        family = self._random.choice(["IPv4", "IPv4", "IPv6"])
        pool = [ip for ip in ADDRESSES if (":" in ip) == (family == "IPv6")]
        entries = []
        for ip in self._random.sample(pool, self._random.randrange(1, len(pool) + 1)):
            conditions = self._random.choice([{}, {"ready": True}, {"ready": False}])
            entries.append(endpoint(ip, hostname=self._random.choice(HOSTNAMES), pod=self._random.choice(PODS), **conditions))
        ports = self._ports()
        self._put("endpointslices", endpoint_slice(name, owner, entries, *ports, family=family, namespace=namespace))

    def _pod(self) -> None:
        namespace, name = self._place()
        if self._random.random() < 0.3:
            self._delete("pods", namespace, name)
            return
        ips = self._random.sample(ADDRESSES, self._random.randrange(3))
        phase = self._random.choice(["Pending", "Running", "Running", "Succeeded", "Failed"])
        self._put("pods", pod(name, *ips, phase=phase, namespace=namespace))


def fault(bed, number: int) -> None:
    """A fault between two batches; the next batch must work as usual."""
    if number % 4 == 0:
        bed.kube.control("drop-watches")
    elif number % 4 == 1:
        bed.kube.control("silence")
    elif number % 4 == 2:
        bed.kube.control("expire-history")
        bed.kube.control("drop-watches")
    else:
        bed.etcd_program.kill()


def repair(bed, number: int) -> None:
    if number % 4 == 1:
        bed.kube.control("silence", on=False)
    elif number % 4 == 3:
        bed.start_etcd()


@pytest.mark.parametrize(("seed", "names"), [*((seed, "hash") for seed in range(3)), (3, "address"), (4, "pod")])
@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_random_changes(bare_bed, encoding, seed, names):
    bed, model = bare_bed, Model(endpoint_names=names)
    bed.start_etcd()
    bed.start_apiserver("--no-mirroring", *(["--json-only"] if encoding == "json" else []))
    for namespace in NAMESPACES[1:]:
        bed.kube.create_namespace(namespace)
    cluster = Cluster(bed.kube, seed)
    for _ in range(CHANGES):
        cluster.change()
    bed.start_kube2sky(f"--endpoint-names={names}")
    bed.wait_model(model)
    for number in range(STRETCHES):
        fault(bed, number)
        for _ in range(CHANGES):
            cluster.change()
        repair(bed, number)
        bed.wait_model(model)
    records = bed.etcd.get_prefix("/skydns/")
    bed.kube2sky.restart()
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    assert bed.etcd.get_prefix("/skydns/") == records, "everything was right already"

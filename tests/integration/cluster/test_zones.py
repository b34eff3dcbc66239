"""--topology with the zones that the real controllers write into slices."""

import json
from collections.abc import Iterator

import pytest
from kube import headless, port
from programs import wait_until
from workloads import deployment, stateful_set

pytestmark = pytest.mark.cluster

PORT = port(80, "http")
LABEL = "topology.kubernetes.io/zone"
TOPOLOGY = "/kube2sky/cluster.local/topology/"
ZONES = {"node-0": "eu-1a", "node-1": "eu-1b"}


def label_nodes(kube, zones: dict[str, str | None]) -> None:
    for name, zone in zones.items():
        kube.patch("nodes", name, {"metadata": {"labels": {LABEL: zone}}})


@pytest.fixture
def zoned_dns(idle_dns) -> Iterator:
    label_nodes(idle_dns.kube, ZONES)
    idle_dns.kube2sky_flags.append("--topology")
    idle_dns.start()
    yield idle_dns
    label_nodes(idle_dns.kube, dict.fromkeys(ZONES))


def zones_of(dns, name: str, namespace: str) -> dict[str, str]:
    """By the pods' nodes, of those that are ready."""
    ready = [one for one in dns.endpoints(name, namespace) if one["conditions"]["ready"]]
    return {ip: ZONES[one["nodeName"]] for one in ready for ip in one["addresses"]}


def wait_zones(dns, name: str, namespace: str, count: int) -> None:
    key = f"{TOPOLOGY}{namespace}/{name}"

    def is_right() -> bool:
        found = dns.etcd.values(key).get(key)
        right = zones_of(dns, name, namespace)
        return len(right) == count and found is not None and json.loads(found) == right

    wait_until(is_right, f"{key} has the zones of {count} pods", 120)


def test_zones_of_the_controllers(zoned_dns):
    dns, namespace = zoned_dns, "zones-of-the-controllers"
    dns.kube.create_namespace(namespace)
    spec = {"trafficDistribution": "PreferSameZone"}
    dns.kube.create("services", headless("web", PORT, namespace=namespace, selector={"app": "web"}, **spec))
    dns.kube.create(
        "services",
        headless("db", PORT, namespace=namespace, selector={"app": "db"}, publishNotReadyAddresses=True, **spec),
    )
    dns.kube.create("deployments", deployment("web", namespace, 6))
    dns.kube.create("statefulsets", stateful_set("db", namespace, 3, podManagementPolicy="Parallel"))
    dns.wait_endpoints("db", namespace, 3)
    wait_zones(dns, "web", namespace, 6)
    dns.kube.patch("deployments", "web", {"spec": {"replicas": 3}}, namespace)
    wait_zones(dns, "web", namespace, 3)
    assert list(dns.etcd.values(TOPOLOGY)) == [f"{TOPOLOGY}{namespace}/web"]
    dns.kube.delete("services", "web", namespace)
    wait_until(lambda: not dns.etcd.values(TOPOLOGY), "no topology key is left", 120)
    dns.kube.delete("namespaces", namespace)

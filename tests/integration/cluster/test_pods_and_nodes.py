"""Records of Pods and nodes, of a kube2sky that may read them."""

import pytest
from checks import ClusterBed
from kube import headless, port
from workloads import deployment, job

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def reader_flags(cluster):
    return cluster.flags_of_reader("pods", "nodes")


@pytest.fixture
def dns(cluster, reader_flags, tmp_path, request):
    bed = ClusterBed(tmp_path, cluster)
    bed.use_pods_and_nodes(reader_flags)
    request.node.cluster_bed = bed
    try:
        bed.start()
        yield bed
    finally:
        bed.close()


def test_pods_on_their_own_and_on_the_node_s_network(dns, namespace, cluster):
    """Several Pods have a node's address: its record stays until the last of them is gone. One that has ended has none.
    """
    node = cluster.kube.get("nodes", "node-0")["status"]["addresses"][0]["address"].replace(".", "-")
    pods = f"{namespace}.pod.cluster.local"
    dns.kube.create("services", headless("agents", port(80, "http"), namespace=namespace, selector={"app": "agent"}))
    agents = f"agents.{namespace}.svc.cluster.local"
    with dns.asked((f"{node}.{pods}", "A"), (f"10-244-0-1.{pods}", "A"), (agents, "A")):
        dns.kube.create("deployments", deployment("agent", namespace, 6, hostNetwork=True))
        dns.kube.create("deployments", deployment("web", namespace, 20))
        for name in ("agent", "web"):
            dns.wait_rolled_out(name, namespace)
        dns.kube.create("jobs", job("once", namespace))
        dns.wait_complete("once", namespace)
        for name, count in (("agent", 1), ("web", 0), ("agent", 0), ("web", 5), ("agent", 3)):
            dns.kube.patch("deployments", name, {"spec": {"replicas": count}}, namespace)
            dns.wait_rolled_out(name, namespace)


def test_nodes_come_and_go(dns, namespace, cluster):
    """With Pods of their own."""
    nodes = [(f"{name}.node.cluster.local", kind) for name in ("spare", "node-0") for kind in ("A", "AAAA")]
    with dns.asked(*nodes):
        for _ in range(2):
            cluster.add_node("spare")
            dns.kube.create("deployments", deployment("pinned", namespace, 4, nodeName="spare"))
            dns.wait_rolled_out("pinned", namespace)
            dns.kube.delete("deployments", "pinned", namespace)
            dns.wait_pods(namespace, 0)
            dns.kube.delete("nodes", "spare")
            dns.wait_gone("nodes", "spare")

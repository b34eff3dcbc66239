"""Pods come, go and become ready by the controllers."""

import pytest
from kube import headless, port, service
from workloads import READY, deployment, stateful_set

pytestmark = pytest.mark.cluster

PORT = port(80, "http")


def test_rollout_of_a_deployment(dns, namespace):
    """50 Pods are replaced by 50 others, a quarter at a time. One Service shows also those that start and end, and
    claims the same reverse names.
    """
    base = f"{namespace}.svc.cluster.local"
    app = {"selector": {"app": "web"}}
    dns.kube.create("services", service("web", PORT, namespace=namespace, **app))
    dns.kube.create("services", headless("pods", PORT, namespace=namespace, **app))
    dns.kube.create("services", headless("all", PORT, namespace=namespace, publishNotReadyAddresses=True, **app))
    dns.kube.create("deployments", deployment("web", namespace, 50))
    dns.wait_endpoints("pods", namespace, 50)
    with dns.asked((f"web.{base}", "A"), (f"pods.{base}", "A"), (f"pods.{base}", "SRV"), (f"all.{base}", "A")):
        changes = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
        dns.kube.patch("deployments", "web", changes, namespace)
        dns.wait_rolled_out("web", namespace)
        dns.wait_endpoints("pods", namespace, 50)


def test_scale_to_300_and_to_nothing(dns, namespace):
    """Up to 300, down to half, up again, so that the controller fills up and empties its slices, and to none."""
    base = f"{namespace}.svc.cluster.local"
    dns.kube.create("services", headless("pods", PORT, namespace=namespace, selector={"app": "web"}))
    dns.kube.create("deployments", deployment("web", namespace, 0))
    with dns.asked((f"pods.{base}", "A")):
        for count in (300, 140, 200, 0):
            dns.kube.patch("deployments", "web", {"spec": {"replicas": count}}, namespace)
            dns.wait_rolled_out("web", namespace)
            dns.wait_endpoints("pods", namespace, count)


def test_stateful_set_with_host_names(dns, namespace):
    """Scaled up and down, rolled over, and a Pod that comes back with its name and another address."""
    base = f"db.{namespace}.svc.cluster.local"
    dns.kube.create("services", headless("db", port(5432, "sql"), namespace=namespace, selector={"app": "db"}))
    dns.kube.create("statefulsets", stateful_set("db", namespace, 4, podManagementPolicy="Parallel"))
    dns.wait_endpoints("db", namespace, 4)
    hosts = [(f"db-{number}.{base}", "A") for number in range(6)]
    with dns.asked((base, "A"), (f"_sql._tcp.{base}", "SRV"), *hosts):
        for count in (6, 3, 5):
            dns.kube.patch("statefulsets", "db", {"spec": {"replicas": count}}, namespace)
            dns.wait_endpoints("db", namespace, count)
        uid = dns.kube.get("pods", "db-0", namespace)["metadata"]["uid"]
        dns.kube.delete("pods", "db-0", namespace)
        dns.wait_other_endpoint("db", namespace, uid)
        dns.wait_endpoints("db", namespace, 5)
        changes = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
        dns.kube.patch("statefulsets", "db", changes, namespace)
        dns.wait_rolled_out("db", namespace, "statefulsets")
        dns.wait_endpoints("db", namespace, 5)


def test_readiness_flips(dns, namespace):
    """One by one, all at once, and faster than the controllers follow."""
    base = f"{namespace}.svc.cluster.local"
    app = {"selector": {"app": "web"}}
    dns.kube.create("services", headless("ready", PORT, namespace=namespace, **app))
    dns.kube.create("services", headless("all", PORT, namespace=namespace, publishNotReadyAddresses=True, **app))
    dns.kube.create("services", service("web", PORT, namespace=namespace, **app))
    dns.kube.create("deployments", deployment("web", namespace, 6))
    dns.wait_endpoints("ready", namespace, 6)
    pods = [one["metadata"]["name"] for one in dns.kube.request("GET", dns.kube.path("pods", namespace))["items"]]

    def make(is_ready: bool, names: list[str]) -> None:
        for name in names:
            dns.kube.patch("pods", name, {"metadata": {"annotations": {READY: str(is_ready).lower()}}}, namespace)

    with dns.asked((f"ready.{base}", "A"), (f"all.{base}", "A"), (f"web.{base}", "A"), (f"ready.{base}", "SRV")):
        for number in range(3):
            make(False, pods[number : number + 1])
            dns.wait_endpoints("ready", namespace, 5, 1)
            make(True, pods[number : number + 1])
            dns.wait_endpoints("ready", namespace, 6)
        make(False, pods)
        dns.wait_endpoints("ready", namespace, 0, 6)
        make(True, pods)
        dns.wait_endpoints("ready", namespace, 6)
        for number in range(30):
            make(number % 2 == 1, pods[:3])
        dns.wait_endpoints("ready", namespace, 6)


def test_pods_on_the_host_network(dns, namespace):
    """Several have the address of one node, which a name shows once and as long as one of them is there."""
    base = f"{namespace}.svc.cluster.local"
    dns.kube.create("services", headless("agents", PORT, namespace=namespace, selector={"app": "agent"}))
    dns.kube.create("deployments", deployment("agent", namespace, 6, hostNetwork=True))
    dns.wait_endpoints("agents", namespace, 6)
    with dns.asked((f"agents.{base}", "A"), (f"agents.{base}", "SRV")):
        for count in (1, 5, 0, 4):
            dns.kube.patch("deployments", "agent", {"spec": {"replicas": count}}, namespace)
            dns.wait_endpoints("agents", namespace, count)


def test_node_drained(dns, namespace, cluster):
    """Its Pods move to the other node, three at a time, and the Service keeps answering."""
    base = f"{namespace}.svc.cluster.local"
    dns.kube.create("services", headless("pods", PORT, namespace=namespace, selector={"app": "web"}))
    dns.kube.create("deployments", deployment("web", namespace, 12))
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 9, "selector": {"matchLabels": {"app": "web"}}}}
    dns.kube.request("POST", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", budget)
    dns.wait_endpoints("pods", namespace, 12)
    node = dns.endpoints("pods", namespace)[0]["nodeName"]
    with dns.asked((f"pods.{base}", "A"), (f"pods.{base}", "SRV")):
        try:
            cluster.kubectl("drain", node, "--ignore-daemonsets", "--pod-selector=app=web")
            dns.wait_rolled_out("web", namespace)
            dns.wait_endpoints("pods", namespace, 12)
            assert node not in [one["nodeName"] for one in dns.endpoints("pods", namespace)]
        finally:
            cluster.kubectl("uncordon", node)

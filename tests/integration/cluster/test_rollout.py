"""Pods come and go by controllers."""

import pytest
from kube import headless, port, service
from workloads import deployment

pytestmark = pytest.mark.cluster


def test_rollout_of_a_deployment(dns, namespace):
    """50 Pods are replaced by 50 others, a quarter at a time."""
    base = f"{namespace}.svc.cluster.local"
    dns.kube.create("services", service("web", port(80, "http"), namespace=namespace, selector={"app": "web"}))
    dns.kube.create("services", headless("pods", port(80, "http"), namespace=namespace, selector={"app": "web"}))
    dns.kube.create("deployments", deployment("web", namespace, 50))
    dns.wait_endpoints("pods", namespace, 50)
    with dns.asked((f"web.{base}", "A"), (f"pods.{base}", "A"), (f"pods.{base}", "SRV")):
        changes = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}}}
        dns.kube.patch("deployments", "web", changes, namespace)
        dns.wait_rolled_out("web", namespace)
        dns.wait_endpoints("pods", namespace, 50)

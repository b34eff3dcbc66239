"""kube2sky --events on a real cluster: who owns a Service reads in `kubectl describe` what is wrong with it. And the
time of programming, from the controllers' own trigger times.
"""

import re
import time

import pytest
from asking import PATIENCE_S
from kube import headless, port, service
from manifests import FOLDER
from programs import http_get, wait_until
from prometheus import Page
from workloads import deployment

pytestmark = pytest.mark.cluster

RIGHTS = str(FOLDER / "events.yaml")
TOO_LONG = "a" * 63  # a port's name for the API; with its underscore no label of DNS
PROGRAMMING = "kube2sky_dns_programming_duration_seconds"


@pytest.fixture
def dns(idle_dns):
    idle_dns.use_kube(idle_dns.kube, [*idle_dns.kube_flags, "--events"])
    idle_dns.wait_alone()  # what goes with another namespace counts, too
    idle_dns.start()
    return idle_dns


def test_described(cluster, dns, namespace):
    """First without permission, then with what the manifest permits."""
    broken = service("web", port(80, "http"), port(81, TOO_LONG), namespace=namespace)
    dns.kube.create("services", broken)
    refused = "events are refused, trying again rarely"
    dns.kube2sky.wait_line(refused)
    dns.kube.create("services", service("other", port(80, TOO_LONG), namespace=namespace))
    dns.wait_model()
    assert sum(refused in line for line in dns.kube2sky.lines) == 1

    cluster.kubectl("apply", "-f", RIGHTS)
    try:
        dns.kube2sky.restart()
        described = wait_until(lambda: described_event(cluster, namespace), "the event in kubectl describe", PATIENCE_S)
        assert re.search(rf"Warning +InvalidPort +\S+ +kube2sky +port name `{TOO_LONG}`", described), described

        # After another restart the same event goes on.
        dns.kube2sky.restart()
        wait_until(lambda: series_of(dns, namespace), "the event's series", PATIENCE_S)
        assert len(events(dns, namespace)) == 2
    finally:
        cluster.kubectl("delete", "-f", RIGHTS)


def described_event(cluster, namespace: str) -> str:
    text = cluster.kubectl("-n", namespace, "describe", "service", "web")
    return text if "InvalidPort" in text else ""


def events(dns, namespace: str) -> list[dict]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [e for e in dns.kube.request("GET", path)["items"] if e["reportingController"] == "kube2sky"]


def series_of(dns, namespace: str) -> list[dict]:
    return [e["series"] for e in events(dns, namespace) if e.get("series")]


def programming(dns, kind: str) -> tuple[float, float]:
    """How many, and their sum."""
    samples = Page(http_get(f"http://127.0.0.1:{dns.readiness_port}/metrics")[1], "kube2sky_").metrics[PROGRAMMING].samples
    labels = (("service_kind", kind),)
    return samples[(f"{PROGRAMMING}_count", labels)], samples[(f"{PROGRAMMING}_sum", labels)]


def test_programming_time(dns, namespace):
    """A trigger is a Service's creation, or a pod's condition: both in whole seconds."""
    assert programming(dns, "headless_with_selector")[0] == 0
    begin_s = time.time()
    dns.kube.create("services", headless("db", port(80, "http"), namespace=namespace, selector={"app": "db"}))
    dns.kube.create("services", service("web", port(80, "http"), namespace=namespace, selector={"app": "db"}))
    dns.kube.create("deployments", deployment("db", namespace, 2))
    dns.wait_endpoints("db", namespace, 2)
    dns.wait_model()
    measured_s = time.time() - begin_s
    for kind in ("headless_with_selector", "cluster_ip"):
        wait_until(lambda kind=kind: programming(dns, kind)[0] >= 1, f"{kind}: counted, once etcd has said that it has them")
    count, total = programming(dns, "headless_with_selector")
    assert 0 < total / count <= measured_s + 1
    count, total = programming(dns, "cluster_ip")
    assert count == 1 and 0 <= total <= measured_s + 1

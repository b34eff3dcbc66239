"""kube2sky_dns_programming_duration_seconds: what it counts, beside what a client measures."""

import time
from datetime import datetime, timezone

from kube import endpoint, endpoint_slice, headless, port, service
from prometheus import Page
from programs import http_get, wait_until

NAME = "dns_programming_duration_seconds"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
BOUNDS = [0.001 * 2**i for i in range(20)]


def programming(bed) -> Page:
    status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/metrics")
    assert status == 200
    return Page(text, "kube2sky_")


def counted(bed, kind: str) -> tuple[float, float]:
    """How many, and the sum."""
    samples = programming(bed).metrics["kube2sky_" + NAME].samples
    labels = (("service_kind", kind),)
    return (samples[(f"kube2sky_{NAME}_count", labels)], samples[(f"kube2sky_{NAME}_sum", labels)])


def bucket(bed, kind: str) -> float:
    """The smallest bound that contains everything counted."""
    samples = programming(bed).metrics["kube2sky_" + NAME].samples
    buckets = {
        float(dict(labels)["le"]): value
        for (name, labels), value in samples.items()
        if name.endswith("_bucket") and dict(labels)["service_kind"] == kind
    }
    assert sorted(buckets) == BOUNDS + [float("inf")]
    return min(bound for bound, value in buckets.items() if value == buckets[float("inf")])


def timed_slice(triggered_s: float, *ips: str) -> dict:
    value = endpoint_slice("web-1", "web", [endpoint(*ips)], port(80, "http"))
    when = datetime.fromtimestamp(triggered_s, timezone.utc).isoformat(timespec="microseconds")
    value["metadata"]["annotations"] = {TRIGGER: when.replace("+00:00", "Z")}
    return value


def test_headless_services(bed):
    """A trigger of some seconds ago: then the bucket does not depend on the machine's speed."""
    bed.kube.create("services", headless("web", port(80, "http")))
    bed.kube.create("endpointslices", timed_slice(time.time() - 100, "10.1.0.1"))
    bed.start_kube2sky()
    bed.wait_model()
    assert counted(bed, "headless_with_selector")[0] == 0, "what was there at the start does not count"

    triggered_s = time.time() - 10
    bed.kube.replace("endpointslices", timed_slice(triggered_s, "10.1.0.1", "10.1.0.2"))
    bed.wait_model()
    measured_s = time.time() - triggered_s
    wait_until(lambda: counted(bed, "headless_with_selector")[0] == 1, "counted")
    seconds = counted(bed, "headless_with_selector")[1]
    assert 10 <= seconds <= measured_s + 0.001
    assert bucket(bed, "headless_with_selector") == next(b for b in BOUNDS if b >= seconds)


def test_cluster_ips(bed):
    bed.kube.create("services", service("old"))
    bed.start_kube2sky()
    bed.wait_model()
    begin_s = time.time()
    bed.kube.create("services", service("new"))
    bed.wait_model()
    measured_s = time.time() - begin_s
    wait_until(lambda: counted(bed, "cluster_ip")[0] == 1, "counted")
    seconds = counted(bed, "cluster_ip")[1]
    assert 0 <= seconds <= measured_s + 1, "creation is in whole seconds"

    bed.kube.patch("services", "new", {"spec": {"ports": [port(81)]}})
    bed.wait_model()
    assert counted(bed, "cluster_ip")[0] == 1, "no creation"
    assert counted(bed, "headless_with_selector")[0] == 0

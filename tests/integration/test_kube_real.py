"""A real kube-apiserver that goes away, comes back and forgets: behaviour that the project's own server only
imitates. Skipped unless KUBE_APISERVER names a starter of one (CONTRIBUTING.md).
"""

import signal

import pytest
from kube import endpoint, endpoint_slice, headless, pod, port, service
from model import ENDPOINTS, SLICES, Model
from records import endpoint_records

BETA = "/apis/discovery.k8s.io/v1beta1"


@pytest.fixture
def bed(bare_bed, server):
    bare_bed.start_etcd()
    bare_bed.use_kube(server.kube, server.flags)
    return bare_bed


@pytest.mark.parametrize("source", ["slices", "auto"])
def test_slices_of_the_version_that_a_server_has(bed, source):
    """v1beta1 only with =slices; without v1, auto means Endpoints."""
    name = f"db-{source}"
    value = endpoint_slice(name, name, [endpoint("10.1.0.1", hostname="db-0")], port(80, "http"))
    value["apiVersion"] = BETA.removeprefix("/apis/")
    bed.kube.create("services", headless(name, port(80, "http")))
    bed.kube.request("POST", f"{BETA}/namespaces/default/endpointslices", value)
    bed.start_kube2sky(f"--endpoints={source}")
    objects = bed.kube.objects()
    objects[SLICES] = bed.kube.request("GET", f"{BETA}/endpointslices")["items"]
    right = Model(SLICES if source == "slices" else ENDPOINTS).keys(objects)
    bed.wait_records("/skydns/local/cluster/svc/", {k: v for k, v in right.items() if "/svc/" in k})


def test_a_list_of_many_pages(bed):
    """The real server's own continue tokens."""
    for number in range(1200):
        bed.kube.create("services", headless(f"web-{number}", port(80, "http")))
    bed.kube.create("services", service("last", port(80, "http")))
    assert len(bed.kube.objects()["services"]) > 1200
    bed.start_kube2sky()
    bed.wait_model(Model(ENDPOINTS))


def test_a_real_server_away_and_back_with_its_history_compacted(bed, server):
    """Away at the start, with keys in etcd that an earlier kube2sky took from slices; then away while its earlier
    history is compacted.
    """
    model = Model(ENDPOINTS)
    for name in ("gone", "kept"):
        bed.kube.create("services", service(name, port(80, "http")))
    bed.kube.create("services", headless("without", port(80, "http")))
    bed.etcd.put_all(endpoint_records("without", {"10.1.0.9": ""}, ("tcp", "http", 80)))
    server.stop()
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_line(r"^(warn|error).*127\.0\.0\.1")
    assert bed.readiness()[0] == 503 and len(bed.etcd.get_prefix("/skydns/")) == 2
    server.start()
    bed.use_kube(server.kube, server.flags)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready", timeout_s=60)
    bed.wait_model(model)

    bed.kube2sky.signal(signal.SIGSTOP)
    bed.kube.delete("services", "gone")
    for number in range(10):
        bed.kube.create("services", service(f"late-{number}", port(80, "http")))
    server.compact()
    server.stop()
    server.start()
    bed.use_kube(server.kube, server.flags)
    bed.kube2sky.signal(signal.SIGCONT)
    bed.wait_model(model)
    bed.kube.put_pod(pod("worker", "10.3.0.1"))
    bed.kube.create("services", headless("none", port(80, "http")))
    bed.wait_model(model)

"""How kube2sky's flags that select objects and records affect the keys."""

import pytest
from kube import headless, port, service
from programs import http_get, wait_until
from prometheus import Page
from records import SVC, endpoint_records, service_records
from test_pipeline import kubernetes_records

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def labelled(value: dict, **labels: str) -> dict:
    value["metadata"]["labels"] = labels
    return value


def metrics(bed) -> Page:
    return Page(http_get(f"http://127.0.0.1:{bed.readiness_port}/metrics")[1], "kube2sky_")


def make_both_kinds(kube) -> None:
    """A headless Service whose Endpoints and slice differ."""
    kube.create("services", headless("db", port(5432, "pg")))
    kube.create(
        "endpoints",
        {
            "metadata": {"name": "db", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [{"addresses": [{"ip": "10.1.0.1"}], "ports": [port(5432, "pg")]}],
        },
    )
    kube.request(
        "POST",
        SLICES,
        {
            "metadata": {"name": "db-x1", "labels": {"kubernetes.io/service-name": "db"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.0.2"], "conditions": {"ready": True}}],
            "ports": [port(5432, "pg")],
        },
    )


@pytest.mark.parametrize(
    ("mode", "address"), [("auto", "10.1.0.2"), ("slices", "10.1.0.2"), ("endpoints", "10.1.0.1")]
)
def test_endpoints(bed, mode, address):
    make_both_kinds(bed.kube)
    bed.start_kube2sky(f"--endpoints={mode}")
    bed.wait_records(f"{SVC}/default/db/", endpoint_records("db", {address: ""}, ("tcp", "pg", 5432)))
    page = metrics(bed)
    assert (page.get("objects", kind="endpoints") > 0) == (mode == "endpoints")
    assert (page.get("objects", kind="endpointslices") > 0) == (mode != "endpoints")


def test_label_selector(bed):
    """A Service that gets the label is added, one that loses it is removed; default/kubernetes need not match."""
    kube = bed.kube
    web = kube.create("services", labelled(service("web"), tier="web"))
    old = kube.create("services", labelled(service("old"), tier="web", canary="yes"))
    kube.create("services", service("plain"))
    bed.start_kube2sky("--label-selector=tier in (web, front), !canary")
    right = service_records("web", web["spec"]["clusterIP"])
    bed.wait_records(SVC, right)
    old["metadata"]["labels"] = {"tier": "front"}
    kube.replace("services", old)
    bed.wait_records(SVC, right | service_records("old", old["spec"]["clusterIP"]))
    web["metadata"]["labels"] = {}
    kube.replace("services", web)
    bed.wait_records(SVC, service_records("old", old["spec"]["clusterIP"]))


def test_without_the_selector_everything_is_back(bed):
    bed.start_kube2sky("--label-selector=tier=none")
    assert bed.etcd.values(SVC) == {}
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky()
    wait_until(lambda: bed.etcd.values(SVC) == kubernetes_records(bed.kube), "all records")

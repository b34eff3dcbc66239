"""Every kind of object and its keys, compared with the model: after each change etcd has exactly the right keys
and values.
"""

import pytest
from kube import endpoint, endpoint_slice, endpoints, headless, pod, port, service
from model import ENDPOINTS, SLICES, Model
from records import SVC, label
from watched import Watched


@pytest.fixture(params=["protobuf", "json"])
def bed(request, bare_bed):
    """Addresses come from slices that the tests create: nothing is mirrored."""
    bare_bed.start_etcd()
    bare_bed.start_apiserver("--no-mirroring", *(["--json-only"] if request.param == "json" else []))
    return bare_bed


def patch(kube, resource: str, name: str, change: dict) -> dict:
    return kube.request("PATCH", kube.path(resource, name=name), change, "application/merge-patch+json")


def test_dual_stack_services(bed):
    bed.kube.create("services", service("both", port(80, "http"), ipFamilyPolicy="RequireDualStack"))
    bed.kube.create("services", service("six", port(80, "http"), ipFamilies=["IPv6"]))
    bed.start_kube2sky()
    bed.wait_model()
    assert len(bed.etcd.values(f"{SVC}/default/both/")) == 3


def test_external_names_come_change_and_go(bed):
    bed.start_kube2sky()
    bed.kube.create("services", service("out", type="ExternalName", externalName="www.Example.org"))
    bed.wait_model()
    patch(bed.kube, "services", "out", {"spec": {"externalName": "other.example.org."}})
    bed.wait_model()
    patch(bed.kube, "services", "out", {"spec": {"type": "ClusterIP", "externalName": None}})
    bed.wait_model()
    patch(bed.kube, "services", "out", {"spec": {"type": "ExternalName", "externalName": "a.example.org"}})
    bed.wait_model()
    bed.kube.delete("services", "out")
    bed.wait_model()


def test_slices_of_one_service(bed):
    """Ready, not ready, terminating and unknown ones, hostnames, both families, several slices and ports."""
    bed.start_kube2sky()
    kube = bed.kube
    kube.create("services", headless("db", port(5432, "pg")))
    entries = [
        endpoint("10.1.0.1", hostname="db-0", ready=True),
        endpoint("10.1.0.2", ready=False),
        endpoint("10.1.0.3", ready=False, serving=True, terminating=True),
        endpoint("10.1.0.4", ready=True, terminating=True),
        endpoint("10.1.0.5", hostname="DB-5"),
    ]
    ports = [port(5432, "pg"), port(9187, "metrics")]
    kube.create("endpointslices", endpoint_slice("db-1", "db", entries, *ports))
    more = [endpoint("10.1.0.6", hostname="db-0"), endpoint("10.1.0.7", "10.1.0.8")]
    kube.create("endpointslices", endpoint_slice("db-2", "db", more, port(5433, "pg")))
    six = [endpoint("fd00:0:0::1", hostname="db-0")]
    kube.create("endpointslices", endpoint_slice("db-3", "db", six, port(5432, "pg"), family="IPv6"))
    names = [endpoint("www.example.org", hostname="no")]
    kube.create("endpointslices", endpoint_slice("db-4", "db", names, port(80, "http"), family="FQDN"))
    kube.create("endpointslices", endpoint_slice("dotted.name", "db", [endpoint("10.1.0.9")], port(1, "p")))
    bed.wait_model()
    assert set(bed.etcd.values(f"{SVC}/default/db/db-0/")) == {
        f"{SVC}/default/db/db-0/{label(ip)}" for ip in ("10.1.0.1", "10.1.0.6", "fd00::1")
    }
    patch(kube, "services", "db", {"spec": {"publishNotReadyAddresses": True}})
    bed.wait_model()
    kube.delete("endpointslices", "db-1")
    bed.wait_model()


def test_a_slice_moves_to_another_service(bed):
    bed.start_kube2sky()
    kube = bed.kube
    for name in ("one", "two"):
        kube.create("services", headless(name, port(80, "http")))
    kube.create("endpointslices", endpoint_slice("s", "one", [endpoint("10.1.0.1")], port(80, "http")))
    bed.wait_model()
    patch(kube, "endpointslices", "s", {"metadata": {"labels": {"kubernetes.io/service-name": "two"}}})
    bed.wait_model()
    patch(kube, "endpointslices", "s", {"metadata": {"labels": {"kubernetes.io/service-name": None}}})
    bed.wait_model()
    assert bed.etcd.values(f"{SVC}/default/one/") == bed.etcd.values(f"{SVC}/default/two/") == {}


def test_a_hundred_slices_of_one_service(bed):
    bed.start_kube2sky()
    bed.kube.create("services", headless("big", port(80, "http")))
    for number in range(100):
        entries = [endpoint(f"10.{number}.0.{place}") for place in range(1, 11)]
        bed.kube.create("endpointslices", endpoint_slice(f"big-{number}", "big", entries, port(80, "http")))
    bed.wait_model()
    assert len(bed.etcd.values(f"{SVC}/default/big/")) == 2000
    bed.kube.delete("services", "big")
    bed.wait_model()


def test_a_service_changes_its_type(bed):
    """Cluster IP, headless and back: such a change needs a new Service."""
    bed.start_kube2sky()
    kube = bed.kube
    kube.create("endpointslices", endpoint_slice("web-1", "web", [endpoint("10.1.0.1")], port(80, "http")))
    http = port(80, "http")
    for value in (service("web", http), headless("web", http), service("web", port(81, "x"))):
        kube.create("services", value)
        bed.wait_model()
        kube.delete("services", "web")
    bed.wait_model()


def test_a_cluster_ip_changes_while_nobody_looks(bed):
    """Deleted and created again between two lists: one event, another address."""
    bed.kube.create("services", service("web", port(80, "http"), clusterIP="10.96.0.50"))
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube.control("silence")
    bed.kube.delete("services", "web")
    bed.kube.create("services", service("web", port(80, "http"), clusterIP="10.96.0.51"))
    bed.kube.control("expire-history")
    bed.kube.control("silence", on=False)
    bed.kube.control("drop-watches")
    bed.wait_model()


@pytest.mark.parametrize("name", ["web", "other"])
def test_reverse_names_pass_to_the_next(bed, name):
    """A cluster IP wins over a hostname, that over a hash, then the smallest name; the test deletes winners first."""
    bed.start_kube2sky()
    kube = bed.kube
    entries = {"a": "", "b": "", "h": "host"}
    for owner, hostname in entries.items():
        kube.create("services", headless(owner, port(80, "http")))
        one = endpoint("10.96.0.77", hostname=hostname)
        kube.create("endpointslices", endpoint_slice(owner, owner, [one], port(80, "http")))
    kube.create("services", service(name, clusterIP="10.96.0.77"))
    bed.wait_model()
    for owner in (name, "h", "a", "b"):
        kube.delete("services", owner)
        bed.wait_model()


def test_ports_with_one_name(bed):
    """Each has its own record, and the smallest number gets the plain label."""
    bed.start_kube2sky()
    ports = [port(8080, "http"), port(80, "http"), port(80, "http", "UDP"), port(443)]
    spec = {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ports": ports}
    meta = {"name": "same", "namespace": "default"}
    bed.kube.control("put", resource="services", object={"metadata": meta, "spec": spec})
    bed.wait_model()
    base = f"{SVC}/default/same/_tcp/_http/{label('10.0.0.9')}"
    assert set(bed.etcd.values(base)) == {base, f"{base}-8080"}


def test_pods(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    bed.start_kube2sky()
    for value in (pod("one", "10.3.0.1"), pod("dotted.name", "10.3.0.2"), pod("none", phase="Pending")):
        kube.put_pod(value)
    kube.put_pod(pod("both", "10.3.0.3", "fd00::3"))
    kube.put_pod(pod("tail", "fd00:1::"))
    bed.wait_model(source_of(bed))
    kube.put_pod(pod("twin", "10.3.0.1"))
    kube.put_pod(pod("one", "10.3.0.1", phase="Succeeded"))
    bed.wait_model(source_of(bed))
    kube.put_pod(pod("twin", "10.3.0.1", phase="Failed"))
    bed.wait_model(source_of(bed))
    assert bed.etcd.values("/skydns/local/cluster/pod/default/10-3-0-1/") == {}


def source_of(bed) -> Model:
    """An old real server has no slices of v1."""
    return Model(SLICES if bed.kube.objects()[SLICES] or "_test" in bed.kube.url else ENDPOINTS)


def test_a_service_that_becomes_headless(bed):
    """Endpoints of Services that need none are not kept, and no watch repeats them: its own are listed, not all."""
    kube = bed.kube
    kube.create("services", service("out", type="ExternalName", externalName="www.example.org"))
    for number in range(3):
        entries = [endpoint(f"10.1.{number}.{last}") for last in range(1, 20)]
        kube.create("endpointslices", endpoint_slice(f"out-{number}", "out", entries, port(80, "http")))
    bed.start_kube2sky()
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    bed.wait_model()
    lists = watched.metrics().get("api_lists_total", kind="endpoints")
    kube.replace("services", headless("out", port(80, "http")))
    bed.wait_model()
    assert watched.metrics().get("api_lists_total", kind="endpoints") == lists
    assert watched.metrics().get("objects", kind="endpointslices") == 3


# ---- Endpoints, on servers without slices ----


@pytest.fixture
def endpoints_bed(cluster_bed):
    """With --endpoints=endpoints, which real servers of all versions have."""
    cluster_bed.start_kube2sky("--endpoints=endpoints")
    return cluster_bed


def test_endpoints_and_their_annotations(endpoints_bed):
    bed, kube, model = endpoints_bed, endpoints_bed.kube, Model(ENDPOINTS)
    kube.create("services", headless("db", port(5432, "pg")))
    addresses = ["10.1.0.1", ("10.1.0.2", "two"), "fd00::1"]
    value = endpoints("db", addresses, port(5432, "pg"), not_ready=["10.1.0.4"])
    names = '{"10.1.0.1":{"HostName":"one"},"10.1.0.2":{"HostName":"lost"},"10.1.0.4":{"HostName":"four"}}'
    value["metadata"]["annotations"] = {"endpoints.beta.kubernetes.io/hostnames-map": names}
    kube.create("endpoints", value)
    bed.wait_model(model)
    tolerate = {"service.alpha.kubernetes.io/tolerate-unready-endpoints": "true"}
    patch(kube, "services", "db", {"metadata": {"annotations": tolerate}})
    bed.wait_model(model)
    patch(kube, "services", "db", {"metadata": {"annotations": None}})
    bed.wait_model(model)
    subset = {"addresses": [{"ip": "10.1.0.1"}], "ports": [port(9187, "metrics")]}
    patch(kube, "endpoints", "db", {"subsets": [*value["subsets"], subset]})
    bed.wait_model(model)
    kube.delete("services", "db")  # deletes its Endpoints, too
    bed.wait_model(model)

"""Imports of the multicluster API, whose kind comes and goes on a real API server."""

import signal
from pathlib import Path

import pytest
from asking import PATIENCE_S
from kube import endpoint, import_slice, port, service_import
from programs import wait_until

pytestmark = pytest.mark.cluster

DEFINITION = str(Path(__file__).with_name("serviceimports.yaml"))
HTTP = port(80, "http")
TREE = "/skydns/local/clusterset/svc/"
STORE = "/kube2sky/clusterset.local/store"


@pytest.fixture
def imports_dns(idle_dns):
    """With --multicluster, in sync; the kind is not there."""
    idle_dns.kube2sky_flags.append("--multicluster")
    idle_dns.skydns_flags.append("-domain=cluster.local.,clusterset.local.")
    idle_dns.start()
    yield idle_dns
    idle_dns.cluster.command("kubectl", "delete", "--ignore-not-found", "-f", DEFINITION)


def install(bed) -> None:
    bed.cluster.kubectl("apply", "-f", DEFINITION)
    bed.cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/serviceimports.multicluster.x-k8s.io")


def wait_answer(bed, name: str, rdtype: str, right: list[str]) -> None:
    wait_until(lambda: sorted(bed.dns.answers(name, rdtype)) == right, f"{name} {rdtype} is {right}", PATIENCE_S)


def test_imports_of_a_real_server(imports_dns):
    """The kind is missing at first; then imports and slices are named as they change, and go with their namespace."""
    bed, kube, namespace = imports_dns, imports_dns.kube, "imports"
    zone = f"{namespace}.svc.clusterset.local"
    bed.kube2sky.wait_line("API cannot be followed, retrying kind=serviceimports")
    wait_until(lambda: STORE in bed.etcd.values(STORE), "the domain is complete without the kind", PATIENCE_S)
    wait_answer(bed, "dns-version.clusterset.local", "TXT", ['"1.0.0"'])
    install(bed)
    kube.create_namespace(namespace)
    kube.create("serviceimports", service_import("web", HTTP, ips=("10.42.0.1", "fd00:42::1"), namespace=namespace))
    kube.create("serviceimports", service_import("db", HTTP, namespace=namespace))
    for cluster, address in (("east", "10.8.0.1"), ("west", "10.9.0.1")):
        entries = [endpoint(address, hostname="db-0", ready=True), endpoint(f"{address}1", hostname="db-1", ready=False)]
        kube.create("endpointslices", import_slice(f"db-{cluster}", "db", cluster, entries, HTTP, namespace=namespace))
    bed.kube2sky.signal(signal.SIGHUP)  # asks again what was refused
    wait_answer(bed, f"web.{zone}", "A", ["10.42.0.1"])
    wait_answer(bed, f"web.{zone}", "AAAA", ["fd00:42::1"])
    wait_answer(bed, f"db.{zone}", "A", ["10.8.0.1", "10.9.0.1"])
    wait_answer(bed, f"db-0.west.db.{zone}", "A", ["10.9.0.1"])
    wait_answer(bed, f"_http._tcp.db.{zone}", "SRV", [f"10 50 80 db-0.{c}.db.{zone}." for c in ("east", "west")])
    wait_answer(bed, "1.0.42.10.in-addr.arpa", "PTR", [f"web.{zone}."])
    made = kube.get("endpointslices", "db-east", namespace)
    made["endpoints"][1]["conditions"] = {"ready": True}
    kube.replace("endpointslices", made)
    wait_answer(bed, f"db-1.east.db.{zone}", "A", ["10.8.0.11"])
    kube.patch("serviceimports", "web", {"spec": {"ips": ["10.42.0.2"]}}, namespace)
    wait_answer(bed, f"web.{zone}", "A", ["10.42.0.2"])
    wait_answer(bed, "2.0.42.10.in-addr.arpa", "PTR", [f"web.{zone}."])
    assert "/skydns/arpa/in-addr/10/42/0/1" not in bed.etcd.values("/skydns/arpa/")
    kube.delete("namespaces", namespace)
    wait_until(lambda: not bed.etcd.values(TREE), "no key of an import is left", 120)


def test_the_kind_is_removed(imports_dns):
    """With its CRD go its objects, which kube2sky sees; names of Services go on."""
    bed, kube, namespace = imports_dns, imports_dns.kube, "imports-removed"
    install(bed)
    kube.create_namespace(namespace)
    kube.create("serviceimports", service_import("web", HTTP, ips=("10.42.0.1",), namespace=namespace))
    bed.kube2sky.signal(signal.SIGHUP)
    zone = f"{namespace}.svc.clusterset.local"
    wait_answer(bed, f"web.{zone}", "A", ["10.42.0.1"])
    since = len(bed.kube2sky.lines)
    bed.cluster.kubectl("delete", "-f", DEFINITION)
    bed.kube2sky.wait_line("API cannot be followed, retrying kind=serviceimports", since)
    assert bed.readiness()[0] == 200
    assert bed.dns.answers("kubernetes.default.svc.cluster.local", "A")
    kube.delete("namespaces", namespace)

"""kube2sky's decoders get the same objects from a server's JSON and from its protobuf, both of the project's API
server and of a real one. test_kube_encodings, built with the unit tests, compares them.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from kube import KubeError, endpoint, endpoint_slice, endpoints, headless, node, pod, port, service

ACCEPT = {"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}
CORE = ("services", "endpoints", "pods", "configmaps", "nodes", "namespaces")
DISCOVERY = ("/apis/discovery.k8s.io/v1", "/apis/discovery.k8s.io/v1beta1")
COMPARE = Path(os.environ["BIN_DIR"]).parent / "tests/unit/kube2sky/api/test_kube_encodings"


def discovery_path(kube) -> str:
    """The version that the server has: 1.20 has no v1 yet."""
    for path in DISCOVERY:
        try:
            kube.request("GET", f"{path}/endpointslices")
            return path
        except KubeError as error:
            assert error.status == 404
    pytest.fail("no version of EndpointSlices is served")


def put_slice(kube, discovery: str, value: dict) -> None:
    value = value | {"apiVersion": discovery.removeprefix("/apis/")}
    kube.request("POST", f"{discovery}/namespaces/default/endpointslices", value)


@pytest.fixture
def kube_with_objects(cluster_bed):
    """(Kube, path of the discovery API), with one object of each kind. Deletes what cluster_bed leaves behind."""
    kube = cluster_bed.kube
    discovery = discovery_path(kube)
    make_objects(kube, discovery)
    yield kube, discovery
    kube.delete("pods", "worker")
    kube.delete("pods", "agent")
    kube.delete("configmaps", "kube-dns")
    kube.delete("nodes", "worker-1")
    kube.annotate_namespace("default", visible_to=None)
    kube.request("DELETE", f"{discovery}/namespaces/default/endpointslices/db-1")


def make_objects(kube, discovery: str) -> None:
    kube.create("services", service("web", port(80, "http"), port(53, "dns", "UDP")))
    kube.create("services", headless("db", port(5432, "pg"), publishNotReadyAddresses=True))
    kube.create("services", service("out", type="ExternalName", externalName="www.example.org"))
    subset = endpoints("db", [("10.1.0.1", "db-0"), "fd00::1"], port(5432, "pg"), not_ready=["10.1.0.3"])
    kube.create("endpoints", subset)
    kube.put_pod(pod("worker", "10.2.0.1"))
    agent = pod("agent", "10.0.0.1")
    agent["spec"]["hostNetwork"] = True
    kube.put_pod(agent)
    kube.put_node(node("worker-1", "10.0.0.1", "fd00::1"))
    kube.annotate_namespace("default", visible_to="team-b,team-c")
    kube.create("configmaps", {"metadata": {"name": "kube-dns"}, "data": {"stubDomains": "{}"}})
    entries = [endpoint("10.1.0.1", hostname="a", ready=True), endpoint("10.1.0.2", ready=False)]
    put_slice(kube, discovery, endpoint_slice("db-1", "db", entries + [endpoint("10.1.0.3")], port(80, "http")))


@pytest.mark.skipif(not COMPARE.exists(), reason=f"{COMPARE} is not built")
def test_both_encodings_are_decoded_to_the_same(kube_with_objects, tmp_path):
    kube, discovery = kube_with_objects
    paths = {name: f"/api/v1/{name}" for name in CORE}
    paths["endpointslices"] = f"{discovery}/endpointslices"
    for name, path in paths.items():
        for suffix, accept in ACCEPT.items():
            status, content_type, body = kube.send("GET", path, None, {"Accept": accept})
            assert (status, content_type) == (200, accept), path
            (tmp_path / f"{name}.{suffix}").write_bytes(body)
    run = subprocess.run([COMPARE], env={"KUBE_ANSWERS": str(tmp_path)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    told, times = re.subn(r" created=\d+", "", run.stdout)
    assert times == 4, run.stdout  # of each Service
    for line in (
        "default/web type=ClusterIP ip=",
        "default/db type=ClusterIP headless notready pg/TCP:5432",
        "default/out type=ExternalName external=www.example.org",
        "default/db { 10.1.0.1=db-0 fd00::1 10.1.0.3(not ready) pg/TCP:5432 }",
        "default/db-1 of=db IPv4 10.1.0.1=a 10.1.0.2(not ready)(not serving) 10.1.0.3 http/TCP:80",
        "default/worker Running 10.2.0.1 rv=",
        "default/agent Running 10.0.0.1 host rv=",
        "/worker-1 10.0.0.1 fd00::1 rv=",
        "/default team-b,team-c rv=",
        "/kube-system (none) rv=",
        "default/kube-dns stubDomains={}",
    ):
        assert line in told, run.stdout

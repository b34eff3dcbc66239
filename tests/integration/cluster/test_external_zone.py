"""--external-zone on today's Kubernetes, where the status of Services and the slices are those of its servers, beside CoreDNS's
k8s_external."""

import peers
import pytest
from bed import Bed
from dns_client import Dns
from kube import headless, port, service
from programs import Program, reserve_port, wait_until
from workloads import stateful_set

pytestmark = pytest.mark.cluster

ZONE = "lb.example.com"
PORT = port(80, "http")


def put_status(kube, namespace: str, name: str, *points: dict) -> None:
    path = f"/api/v1/namespaces/{namespace}/services/{name}/status"
    body = {"status": {"loadBalancer": {"ingress": list(points)}}}
    kube.request("PATCH", path, body, "application/merge-patch+json")


def ports_of(client: Dns, name: str) -> set[tuple[int, str]]:
    answer = client.query(name, "SRV").answer
    return {(rdata.port, rdata.target.to_text()) for rrset in answer for rdata in rrset}


@pytest.fixture
def both(cluster, tmp_path):
    """The bed, and clients of ours and of theirs."""
    bed, theirs = Bed(tmp_path), Dns(reserve_port())
    file = tmp_path / "Corefile"
    file.write_text(
        f".:{theirs.port} {{\n    bind 127.0.0.1\n    kubernetes cluster.local {{\n"
        f"        kubeconfig {cluster.kubeconfig}\n    }}\n    k8s_external {ZONE} {{\n        headless\n    }}\n}}\n"
    )
    coredns = Program("coredns", [peers.program("coredns", "coredns"), "-conf", str(file)])
    try:
        bed.start_etcd()
        bed.use_kube(cluster.kube, cluster.kube2sky_flags())
        bed.start_kube2sky(f"--external-zone={ZONE}", "--external-zone-headless", "--pods=disabled")
        bed.start_skydns("-schema=kubernetes", f"-external-zones={ZONE}", "-no-rec")
        coredns.start()
        yield bed, bed.dns, theirs
    finally:
        coredns.kill()
        bed.close()


def test_beside_coredns(both):
    bed, ours, theirs = both
    kube, namespace = bed.kube, "external-zone"
    base = f"{namespace}.{ZONE}"
    kube.create_namespace(namespace)

    def wait_both(name: str, rdtype: str, right: list[str]) -> None:
        for client in (ours, theirs):
            wait_until(lambda: client.answers(f"{name}.{base}", rdtype) == right, f"{name} {rdtype}: {right}", 60)

    families = {"ipFamilyPolicy": "SingleStack"}
    kube.create("services", service("web", PORT, port(443, "https"), namespace=namespace, type="LoadBalancer", **families))
    kube.create("services", service("plain", PORT, namespace=namespace, externalIPs=["203.0.113.9"], **families))
    kube.create("services", service("node", PORT, namespace=namespace, type="NodePort", **families))
    kube.create("services", headless("db", PORT, namespace=namespace, selector={"app": "db"}, **families))
    kube.create("statefulsets", stateful_set("db", namespace, 2))
    put_status(kube, namespace, "web", {"ip": "203.0.113.1"}, {"ip": "2001:db8::1"})
    wait_both("web", "A", ["203.0.113.1"])
    wait_both("web", "AAAA", ["2001:db8::1"])
    wait_both("plain", "A", ["203.0.113.9"])
    for name in ("web", "_https._tcp.web", "plain", "_http._tcp.plain"):
        assert ports_of(ours, f"{name}.{base}") == ports_of(theirs, f"{name}.{base}") != set(), name
    for name in ("node", "none", "_http._tcp.node"):
        assert ours.query(f"{name}.{base}").rcode() == theirs.query(f"{name}.{base}").rcode() == 3, name

    def endpoints() -> list[str]:
        slices = kube.request("GET", f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices")["items"]
        mine = [one for one in slices if one["metadata"]["labels"].get("kubernetes.io/service-name") == "db"]
        return sorted(ip for one in mine for entry in one["endpoints"] or [] for ip in entry["addresses"])

    wait_until(lambda: len(endpoints()) == 2, "two endpoints", 120)
    wait_both("db", "A", endpoints())
    assert ours.answers(f"db-0.db.{base}") == theirs.answers(f"db-0.db.{base}") != []
    assert ports_of(ours, f"_http._tcp.db.{base}") == ports_of(theirs, f"_http._tcp.db.{base}") != set()
    # A Service that is a load balancer's no more has no name; the server empties its status.
    kube.patch("services", "web", {"spec": {"type": "ClusterIP"}}, namespace)
    put_status(kube, namespace, "web")
    wait_until(lambda: ours.query(f"web.{base}").rcode() == theirs.query(f"web.{base}").rcode() == 3, "no name", 60)
    kube.delete("namespaces", namespace)

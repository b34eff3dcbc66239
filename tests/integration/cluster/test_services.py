"""Services change in the ways that the API server permits."""

import pytest
from kube import endpoint, endpoint_slice, endpoints, headless, port, service
from workloads import deployment

pytestmark = pytest.mark.cluster

PORT = port(80, "http")


def test_type_changes(dns, namespace):
    """Through all types: with an address, an alias, headless, and back, with the same Pods."""
    name = f"web.{namespace}.svc.cluster.local"
    dns.kube.create("services", service("web", PORT, namespace=namespace, selector={"app": "web"}))
    dns.kube.create("deployments", deployment("web", namespace, 3))
    dns.wait_endpoints("web", namespace, 3)
    with dns.asked((name, "A"), (name, "SRV"), (f"_http._tcp.{name}", "SRV"), (name, "CNAME")):
        for changes in (
            {"type": "NodePort"},
            {"type": "LoadBalancer"},
            {"type": "ClusterIP"},
            {"type": "ExternalName", "externalName": "www.example.com", "clusterIP": None, "clusterIPs": None},
            {"type": "ClusterIP", "externalName": None, "clusterIP": "None"},
            {"type": "ExternalName", "externalName": "other.example.com", "clusterIP": None, "clusterIPs": None},
            {"type": "ClusterIP", "externalName": None},
        ):
            dns.kube.patch("services", "web", {"spec": changes}, namespace)
            dns.wait_model()
        dns.wait_endpoints("web", namespace, 3)


def test_external_names(dns, namespace):
    """An alias that leads elsewhere, goes, and comes back; to names outside, and to a Service."""
    base = f"{namespace}.svc.cluster.local"
    dns.kube.create("services", service("web", PORT, namespace=namespace))
    dns.kube.create("services", external("out", "www.example.com", namespace))
    dns.kube.create("services", external("in", f"web.{base}", namespace))
    with dns.asked((f"out.{base}", "A"), (f"in.{base}", "CNAME")):
        for target in ("other.example.com", "third.example.com."):
            dns.kube.patch("services", "out", {"spec": {"externalName": target}}, namespace)
            dns.wait_model()
        dns.kube.patch("services", "in", {"spec": {"externalName": f"out.{base}"}}, namespace)
        dns.wait_model()
        dns.kube.delete("services", "out", namespace)
        dns.wait_model()
        dns.kube.create("services", external("out", "www.example.com", namespace))


def external(name: str, target: str, namespace: str) -> dict:
    spec = {"type": "ExternalName", "externalName": target}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def test_dual_stack(dns, namespace):
    """A second family is added and taken away again, with a cluster IP and without."""
    base = f"{namespace}.svc.cluster.local"
    app = {"selector": {"app": "web"}}
    dns.kube.create("services", service("web", PORT, namespace=namespace, ipFamilyPolicy="SingleStack", **app))
    dns.kube.create("services", headless("pods", PORT, namespace=namespace, ipFamilyPolicy="SingleStack", **app))
    dns.kube.create("services", service("six", PORT, namespace=namespace, ipFamilies=["IPv6"], **app))
    dns.kube.create("deployments", deployment("web", namespace, 4))
    dns.wait_endpoints("pods", namespace, 4)
    asked = [(f"{name}.{base}", kind) for name in ("web", "pods", "six") for kind in ("A", "AAAA", "SRV")]
    with dns.asked(*asked):
        for policy, count in (("RequireDualStack", 8), ("SingleStack", 4), ("PreferDualStack", 8)):
            for name in ("web", "pods"):
                families = {"ipFamilies": ["IPv4"]} if policy == "SingleStack" else {}
                if policy == "SingleStack" and name == "web":
                    address = dns.kube.get("services", "web", namespace)["spec"]["clusterIP"]
                    families["clusterIPs"] = [address]
                dns.kube.patch("services", name, {"spec": {"ipFamilyPolicy": policy} | families}, namespace)
            dns.wait_endpoints("pods", namespace, count)
            dns.wait_model()


def test_endpoints_made_by_hand(dns, namespace):
    """A controller mirrors them into slices, which go when the Service gets Pods to select. When it selects none again,
    their slices stay, beside the mirror of what they had become in the Endpoints.
    """
    base = f"db.{namespace}.svc.cluster.local"
    dns.kube.create("services", headless("db", port(5432, "sql"), namespace=namespace))
    dns.kube.create("deployments", deployment("web", namespace, 2))
    with dns.asked((base, "A"), (f"_sql._tcp.{base}", "SRV"), (f"db-0.{base}", "A")):
        made = dns.kube.create("endpoints", by_hand(namespace, ("10.8.0.1", "db-0"), ("10.8.0.2", "db-1")))
        dns.wait_endpoints("db", namespace, 2)
        made["subsets"] = by_hand(namespace, ("10.8.0.3", "db-0"), "10.8.0.2", "10.8.0.4")["subsets"]
        dns.kube.replace("endpoints", made)
        dns.wait_endpoints("db", namespace, 3)
        dns.kube.patch("services", "db", {"spec": {"selector": {"app": "web"}}}, namespace)
        dns.wait_endpoints("db", namespace, 4)  # of both families, the default without a selector
        dns.kube.patch("services", "db", {"spec": {"selector": None}}, namespace)
        dns.wait_endpoints("db", namespace, 6)


def by_hand(namespace: str, *addresses: str | tuple[str, str]) -> dict:
    return endpoints("db", list(addresses), port(5432, "sql"), namespace=namespace)


def test_all_endpoints_replaced_at_once(dns, namespace):
    """Too much for one transaction of etcd: the name keeps its addresses until the new ones are there."""
    name = f"db.{namespace}.svc.cluster.local"

    def slice_of(first: int) -> dict:
        entries = [endpoint(f"10.7.0.{number}", ready=True) for number in range(first, first + 100)]
        return endpoint_slice("db", "db", entries, PORT, namespace=namespace)

    dns.kube.create("services", headless("db", PORT, namespace=namespace))
    dns.kube.create("endpointslices", slice_of(1))
    with dns.asked((name, "A")):
        for first in (101, 51, 1):
            dns.kube.replace("endpointslices", slice_of(first))
            dns.wait_model()


def test_namespace_deleted_while_it_changes(dns, cluster):
    """Its objects go one after the other, in the order that the controllers choose, while others still try to change
    them."""
    name = "deleted"
    base = f"{name}.svc.cluster.local"
    dns.kube.create_namespace(name)
    for number in range(20):
        dns.kube.create("services", service(f"web-{number}", PORT, namespace=name))
    dns.kube.create("services", headless("pods", PORT, namespace=name, selector={"app": "web"}))
    dns.kube.create("deployments", deployment("web", name, 20))
    dns.wait_endpoints("pods", name, 20)
    with dns.asked(*((f"web-{number}.{base}", "A") for number in range(20)), (f"pods.{base}", "A")):
        with dns.changing(name, [f"web-{number}" for number in range(20)]):
            dns.kube.patch("deployments", "web", {"spec": {"replicas": 5}}, name)
            dns.kube.delete("namespaces", name)
            dns.wait_gone("namespaces", name)
        assert not dns.etcd.get_prefix(f"/skydns/local/cluster/svc/{name}/")

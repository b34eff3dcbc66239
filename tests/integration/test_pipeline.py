"""From an object in the Kubernetes API to its keys in etcd and the answers of skydns."""

from kube import endpoints, headless, port, service
from model import reverse_key
from programs import wait_until
from records import SVC, endpoint_records, label, service_records, value

WEB = "web.default.svc.cluster.local"


def kubernetes_records(kube) -> dict[str, str]:
    """The records of the one Service that every cluster has."""
    spec = kube.get("services", "kubernetes")["spec"]
    ports = [(p["protocol"].lower(), p["name"], p["port"]) for p in spec["ports"]]
    return service_records("kubernetes", spec["clusterIP"], *ports)


def test_a_service_comes_changes_and_goes(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    bed.start_writer_and_reader()
    assert bed.dns.answers(WEB) == ["NXDOMAIN"]
    made = kube.create("services", service("web", port(80, "http")))
    ip = made["spec"]["clusterIP"]
    bed.wait_answers(WEB, "A", [ip])
    bed.wait_answers("_http._tcp." + WEB, "SRV", [f"10 100 80 {WEB}."])

    made["spec"]["ports"][0] |= {"name": "https", "port": 443}
    kube.replace("services", made)
    bed.wait_answers("_https._tcp." + WEB, "SRV", [f"10 100 443 {WEB}."])
    bed.wait_answers("_http._tcp." + WEB, "SRV", ["NXDOMAIN"])
    assert bed.dns.answers(WEB) == [ip]

    kube.delete("services", "web")
    bed.wait_answers(WEB, "A", ["NXDOMAIN"])
    bed.wait_records(SVC, kubernetes_records(kube))


def test_keys_of_everything_byte_for_byte(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    web = kube.create("services", service("web", port(80, "http"), port(53, "dns", "UDP")))
    plain = kube.create("services", service("plain", port(8080)))
    kube.create("services", headless("early", port(5432, "pg")))
    bed.start_kube2sky()
    # Before and after their Service; with and without hostnames; not ready; several ports; both families.
    kube.create(
        "endpoints",
        endpoints(
            "early",
            [("10.1.0.1", "db-0"), "10.1.0.2", "fd00::1"],
            port(5432, "pg"),
            port(9187, "metrics"),
            not_ready=["10.1.0.3"],
        ),
    )
    kube.create("endpoints", endpoints("late", ["10.2.0.1"], port(80)))
    kube.create("services", headless("late", port(80)))
    kube.create("services", headless("empty", port(80)))
    kube.create("endpoints", endpoints("web", ["10.3.0.1"], port(80, "http")))
    right = kubernetes_records(kube)
    right |= service_records("web", web["spec"]["clusterIP"], ("tcp", "http", 80), ("udp", "dns", 53))
    right |= service_records("plain", plain["spec"]["clusterIP"])
    right |= endpoint_records(
        "early",
        {"10.1.0.1": "db-0", "10.1.0.2": "", "fd00::1": ""},
        ("tcp", "pg", 5432),
        ("tcp", "metrics", 9187),
    )
    right |= endpoint_records("late", {"10.2.0.1": ""})
    bed.wait_records(SVC, right)


def test_headless_endpoints_change_and_are_answered(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    bed.start_writer_and_reader()
    name = "db.default.svc.cluster.local"
    kube.create("services", headless("db", port(5432, "pg")))
    made = kube.create(
        "endpoints", endpoints("db", [("10.1.0.1", "db-0"), ("10.1.0.2", "db-1")], port(5432, "pg"))
    )
    bed.wait_answers(name, "A", ["10.1.0.1", "10.1.0.2"])
    bed.wait_answers("_pg._tcp." + name, "SRV", [f"10 50 5432 db-0.{name}.", f"10 50 5432 db-1.{name}."])
    bed.wait_answers("db-1." + name, "A", ["10.1.0.2"])
    made["subsets"][0]["addresses"] = [{"ip": "10.1.0.2", "hostname": "db-1"}, {"ip": "10.1.0.9"}]
    kube.replace("endpoints", made)
    bed.wait_answers(name, "A", ["10.1.0.2", "10.1.0.9"])
    bed.wait_answers("db-0." + name, "A", ["NXDOMAIN"])
    bed.wait_answers(f"{label('10.1.0.9')}.{name}", "A", ["10.1.0.9"])
    kube.delete("services", "db")
    bed.wait_answers(name, "A", ["NXDOMAIN"])


def test_ipv6_service(bed):
    made = bed.kube.create("services", service("six", port(80, "http"), ipFamilies=["IPv6"]))
    ip = made["spec"]["clusterIP"]
    bed.start_kube2sky()
    bed.start_skydns()
    bed.wait_records(f"{SVC}/default/six/", service_records("six", ip, ("tcp", "http", 80)))
    bed.wait_answers("six.default.svc.cluster.local", "AAAA", [ip])
    assert bed.dns.answers("six.default.svc.cluster.local", "A") == []


def test_other_namespaces(bed):
    bed.kube.create_namespace("team")
    bed.start_kube2sky()
    bed.start_skydns()
    made = bed.kube.create("services", service("web", namespace="team"))
    bed.wait_answers("web.team.svc.cluster.local", "A", [made["spec"]["clusterIP"]])
    assert bed.dns.answers(WEB) == ["NXDOMAIN"]


def test_other_domain(bed):
    bed.start_kube2sky("--domain=k8s.example.org.")
    right = {
        k.replace("/local/cluster/", "/org/example/k8s/"): v.replace("cluster.local.", "k8s.example.org.")
        for k, v in kubernetes_records(bed.kube).items()
    }
    address = bed.kube.get("services", "kubernetes")["spec"]["clusterIP"]
    right[reverse_key(address)] = value("kubernetes.default.svc.k8s.example.org.")
    bed.wait_records("/skydns/", right)


def test_a_change_rewrites_only_what_it_changes(bed):
    """An added port must not touch the address's key, or its answer could disappear for a moment."""
    bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky()
    before = bed.etcd.get_prefix(f"{SVC}/default/web/")
    bed.kube.request(
        "PATCH",
        bed.kube.path("services", name="web"),
        {"spec": {"ports": [port(80, "http"), port(443, "https")]}},
        "application/merge-patch+json",
    )
    wait_until(lambda: len(bed.etcd.get_prefix(f"{SVC}/default/web/")) == 3, "the new port's key")
    after = bed.etcd.get_prefix(f"{SVC}/default/web/")
    assert {k: after.get(k) for k in before} == before


def test_readiness_of_kube2sky(bare_bed):
    bed = bare_bed
    bed.start_apiserver()
    bed.start_kube2sky(is_waiting=False)
    status, body = bed.kube2sky.wait_ready(bed.readiness, "answers")
    assert status == 503 and body.strip()
    bed.start_etcd()
    wait_until(lambda: bed.readiness()[0] == 200, "ready once etcd is there")
    assert bed.readiness()[1].strip() == "ok"
    assert bed.etcd.values(SVC) == kubernetes_records(bed.kube)
    bed.etcd_program.kill()
    bed.apiserver.kill()
    status, body = bed.readiness()
    assert status == 200 and body.strip() == "ok", "once ready, always ready"


def test_ten_thousand_services(bed):
    """As many pages and transactions as a large cluster needs; only completeness is tested here."""
    bed.kube.control("bulk", count=10_000, namespace="big")
    bed.start_kube2sky()
    bed.start_skydns()
    assert len(bed.etcd.get_prefix(f"{SVC}/big/")) == 20_000
    assert bed.dns.answers("bulk-9999.big.svc.cluster.local") == ["172.0.39.15"]
    bed.kube.control("bulk", verb="delete", count=10_000, namespace="big")
    bed.wait_records(SVC, kubernetes_records(bed.kube))
    bed.wait_answers("bulk-9999.big.svc.cluster.local", "A", ["NXDOMAIN"])

"""Limits on keys: a namespace that has as many as it may waits with its new ones, others do not; who has keys keeps them
over a restart; and a Service with more records than it may have is left as it is."""

import json

from kube import endpoint, endpoint_slice, headless, port, service
from programs import http_get, wait_until
from prometheus import Page
from records import SVC

PORTS = [port(8000 + i, f"p{i}") for i in range(9)]


def wide(bed, name: str, net: int, endpoints: int, ports: list[dict]) -> None:
    bed.kube.create("services", headless(name, namespace="busy"))
    entries = [endpoint(f"10.{net}.{i // 250}.{i % 250 + 1}", ready=True) for i in range(endpoints)]
    bed.kube.create("endpointslices", endpoint_slice(name, name, entries, *ports, namespace="busy"))


def keys_of(bed, name: str) -> int:
    return len(bed.etcd.values(f"{SVC}/busy/{name}/"))


def page(bed, path: str) -> str:
    return http_get(f"http://127.0.0.1:{bed.readiness_port}{path}")[1]


def metric(bed, name: str) -> float:
    return Page(page(bed, "/metrics"), "kube2sky_").get(name)


def explain(bed, name: str) -> dict:
    return json.loads(page(bed, f"/explain?service={name}"))


def start(bed, *flags: str) -> None:
    for namespace in ("busy", "good"):
        bed.kube.create_namespace(namespace)
    bed.start_kube2sky(*flags)
    bed.start_skydns()


def assert_good_is_served(bed) -> None:
    bed.kube.create("services", service("web", namespace="good", clusterIP="10.96.7.7"))
    wait_until(lambda: bed.etcd.values(f"{SVC}/good/web/"), "another namespace's Service is written")
    wait_until(lambda: bed.dns.answers("web.good.svc.cluster.local") == ["10.96.7.7"], "and answered")


def test_a_hostile_namespace_beside_a_good_one(bed):
    """Four Services of 2,500 keys in a namespace with room for two and a half."""
    start(bed, "--max-namespace-keys=6250")
    for n in range(4):
        wide(bed, f"wide-{n}", n, 250, PORTS)
    assert_good_is_served(bed)
    wait_until(lambda: metric(bed, "services_left_out") == 2 and not metric(bed, "transactions_in_flight"), "it is full")
    bed.kube2sky.wait_line(r"namespace has as many keys as it may, its new ones wait namespace=busy")
    wait_until(lambda: len(bed.etcd.values(f"{SVC}/busy/")) == 6250, "as many as there is room for")
    waiting = [n for n in range(4) if keys_of(bed, f"wide-{n}") < 2500]
    assert len(waiting) == 2 and metric(bed, "namespaces_full") == 1
    told = explain(bed, f"busy/wide-{waiting[-1]}")
    assert told["state"] == "held"
    assert any("as many keys as it may" in reason for reason in told["reasons"]), told["reasons"]
    _, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")
    assert "1 namespaces have as many keys as they may" in text and "svc/busy/wide-" in text
    assert bed.readiness()[0] == 200
    assert f"/svc/busy/wide-{waiting[-1]}/" in page(bed, "/plan")

    for n in range(4):
        if n not in waiting:
            bed.kube.delete("services", f"wide-{n}", namespace="busy")
    wait_until(lambda: all(keys_of(bed, f"wide-{n}") == 2500 for n in waiting), "the others have room")
    wait_until(lambda: metric(bed, "services_left_out") == metric(bed, "namespaces_full") == 0, "nothing waits")


def test_a_namespace_has_a_share_of_etcds_space(bed):
    """A tenth of 16 MiB, counted as the manual says."""
    start(bed, "--etcd-space=16")
    for n in range(4):
        wide(bed, f"wide-{n}", n, 250, PORTS)
    assert_good_is_served(bed)
    wait_until(lambda: metric(bed, "namespaces_full") == 1 and not metric(bed, "transactions_in_flight"), "it is full")
    took = sum(len(key) + len(value) + 96 for key, value in bed.etcd.values(f"{SVC}/busy/").items())
    assert 1_600_000 < took < 1_850_000, took


def test_who_has_keys_keeps_them_over_a_restart(bed):
    start(bed, "--max-namespace-keys=10")
    wide(bed, "second", 1, 6, [])
    wait_until(lambda: keys_of(bed, "second") == 6, "written")
    wide(bed, "first", 2, 6, [])
    wait_until(lambda: keys_of(bed, "first") == 4, "as many as there is room for")
    assert_good_is_served(bed)
    before = bed.etcd.values(f"{SVC}/busy/")
    bed.kube2sky.stop()
    bed.start_kube2sky()
    wait_until(lambda: metric(bed, "services_left_out") == 1, "it waits again")
    assert bed.etcd.values(f"{SVC}/busy/") == before and metric(bed, "keys_written_total") == 0


def test_a_service_with_more_records_than_it_may_have(bed):
    start(bed, "--max-owner-keys=5")
    wide(bed, "large", 1, 6, [])
    bed.kube2sky.wait_line(r"too many records for one owner, its keys are unchanged owner=svc/busy/large")
    assert_good_is_served(bed)
    assert keys_of(bed, "large") == 0
    assert any("more records, or bytes of them" in reason for reason in explain(bed, "busy/large")["reasons"])


def test_zones_of_addresses_have_no_other_room(bed):
    """A topology key is short at first: while its namespace is full it does not grow by a change."""
    key = "/kube2sky/cluster.local/topology/busy/zoned"

    def entries(count: int) -> list[dict]:
        made = [endpoint(f"10.200.{i // 250}.{i % 250 + 1}", ready=True) for i in range(count)]
        return [one | {"zone": "z" * 60} for one in made]

    start(bed, "--etcd-space=16", "--topology")
    bed.kube.create("services", headless("zoned", namespace="busy", trafficDistribution="PreferSameZone"))
    bed.kube.create("endpointslices", endpoint_slice("zoned", "zoned", entries(1), namespace="busy"))
    wait_until(lambda: bed.etcd.values(key), "its zones")
    [short] = bed.etcd.values(key).values()
    for n in range(4):
        wide(bed, f"wide-{n}", n, 250, PORTS)
    wait_until(lambda: metric(bed, "namespaces_full") == 1, "it is full")
    bed.kube.replace("endpointslices", endpoint_slice("zoned", "zoned", entries(900), namespace="busy"))
    wait_until(lambda: explain(bed, "busy/zoned")["counts"]["missing"] > 0, "its new records wait")
    assert_good_is_served(bed)
    assert list(bed.etcd.values(key).values()) == [short]
    for n in range(4):
        bed.kube.delete("services", f"wide-{n}", "busy")
    wait_until(lambda: len(bed.etcd.values(key)[key]) > 900 * 60, "all zones have room")

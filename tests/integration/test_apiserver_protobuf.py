"""The API server's protobuf: it equals its JSON, and the same decoder understands a real server's, so that the
other tests feed kube2sky what a real server sends.
"""

import json

import pytest
from kube import Kube, KubeError, endpoint, endpoint_slice, endpoints, headless, pod, port, service
from kubeapi import protobuf

ACCEPT = "application/vnd.kubernetes.protobuf, application/json"
ACCEPT_WATCH = "application/vnd.kubernetes.protobuf;stream=watch, application/json"
LISTS = ["/api/v1/services", "/api/v1/endpoints", "/api/v1/pods", "/api/v1/namespaces"]
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"


def get(kube: Kube, path: str, accept: str = ACCEPT) -> tuple[int, str, bytes]:
    return kube.send("GET", path, None, {"Accept": accept})


def make_one_of_each(kube: Kube) -> None:
    kube.create("services", service("web", port(80, "http"), port(53, "dns", "UDP")))
    kube.create("services", headless("db", port(5432, "pg"), publishNotReadyAddresses=True))
    external = service("out", type="ExternalName", externalName="www.example.org")
    kube.create("services", external)
    subset = endpoints("db", [("10.1.0.1", "db-0"), "fd00::1"], port(5432, "pg"), not_ready=["10.1.0.3"])
    kube.create("endpoints", subset)
    kube.put_pod(pod("worker", "10.2.0.1"))


def assert_is_part_of(part, whole, path: str = "") -> None:
    """Protobuf must equal JSON; fields that the tests' messages lack may be missing."""
    if isinstance(part, dict):
        for key, value in part.items():
            assert key in whole, f"{path}.{key}"
            assert_is_part_of(value, whole[key], f"{path}.{key}")
    elif isinstance(part, list):
        assert len(part) == len(whole), path
        for number, (one, other) in enumerate(zip(part, whole)):
            assert_is_part_of(one, other, f"{path}[{number}]")
    else:
        assert part == whole, path


def test_lists_say_what_the_json_says(cluster_bed):
    kube = cluster_bed.kube
    make_one_of_each(kube)
    for path in LISTS:
        status, content_type, body = get(kube, path)
        assert (status, content_type) == (200, protobuf.CONTENT_TYPE), path
        part, whole = protobuf.decode_object(body), kube.request("GET", path)
        assert_is_part_of(part, whole, path)
        for item, right in zip(part["items"], whole["items"]):
            assert set(item) == set(right) - {"kind", "apiVersion"}, "no part of an object is missing"


def test_slices_say_what_the_json_says(kube):
    ready = {"ready": True, "serving": True, "terminating": False}
    entries = [endpoint("10.1.0.1", hostname="a", **ready), endpoint("10.1.0.2", ready=False)]
    entries.append(endpoint("10.1.0.3"))
    made = kube.create("endpointslices", endpoint_slice("db-1", "db", entries, port(80, "http")))
    body = get(kube, SLICES)[2]
    items = [i for i in protobuf.decode_object(body)["items"] if i["metadata"]["name"] == "db-1"]
    assert items == [{k: v for k, v in made.items() if k not in ("kind", "apiVersion")}]


def test_pages_and_errors(kube):
    kube.control("bulk", count=5)
    first = protobuf.decode_object(get(kube, "/api/v1/services?limit=4")[2])
    assert len(first["items"]) == 4 and first["metadata"]["remainingItemCount"] == 2
    kube.control("expire-continue")
    path = f"/api/v1/services?limit=4&continue={first['metadata']['continue']}"
    status, content_type, body = get(kube, path)
    expired = protobuf.decode_object(body)
    assert (status, content_type) == (410, protobuf.CONTENT_TYPE)
    assert (expired["kind"], expired["code"], expired["reason"]) == ("Status", 410, "Expired")
    assert expired["metadata"]["continue"]


def read_frame(reply) -> dict | None:
    size = reply.read(4)
    return protobuf.decode_event(reply.read(int.from_bytes(size, "big"))) if size else None


def test_watch(start_apiserver):
    kube = start_apiserver("--bookmark-interval", "0.05")
    revision = kube.request("GET", "/api/v1/services")["metadata"]["resourceVersion"]
    made = kube.create("services", service("web", port(80, "http")))
    path = f"/api/v1/services?watch=1&allowWatchBookmarks=1&resourceVersion={revision}"
    with kube.watch(path, ACCEPT_WATCH, read_frame) as next_event:
        event = next_event()
        assert event["type"] == "ADDED"
        assert_is_part_of(event["object"], made)
        assert event["object"]["spec"] == made["spec"]
        while event["type"] != "BOOKMARK":
            event = next_event()
        assert int(event["object"]["metadata"]["resourceVersion"]) >= int(revision) + 1
        kube.delete("services", "web")
        while event["type"] != "DELETED":
            event = next_event()
        kube.control("expire-history")
    with kube.watch(path, ACCEPT_WATCH, read_frame) as next_event:
        event = next_event()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert next_event() is None


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "application/json, " + ACCEPT])
def test_json_when_it_is_asked_for_first(kube, accept):
    assert get(kube, "/api/v1/services", accept)[1] == "application/json"


def test_a_server_without_protobuf(start_apiserver):
    kube = start_apiserver("--json-only")
    status, content_type, body = get(kube, "/api/v1/services")
    assert (status, content_type) == (200, "application/json") and json.loads(body)["items"]


def test_a_malformed_object_is_one_in_both_forms(kube):
    bad = {"metadata": {"name": "bad", "namespace": "default"}, "spec": 17}
    kube.control("put", resource="services", object=bad)
    with pytest.raises(TypeError):
        protobuf.decode_object(get(kube, "/api/v1/services")[2])  # a number where a message belongs


# ---- EndpointSlices, which not all servers have ----


def test_versions_of_slices(start_apiserver):
    kube = start_apiserver("--slices", "v1beta1")
    beta = SLICES.replace("/v1/", "/v1beta1/")
    assert get(kube, SLICES)[0] == 404
    assert kube.request("GET", beta)["apiVersion"] == "discovery.k8s.io/v1beta1"
    kube.control("slices", version="v1")
    assert get(kube, beta)[0] == 404
    assert kube.request("GET", SLICES)["apiVersion"] == "discovery.k8s.io/v1"
    kube.control("slices", version="")
    assert get(kube, SLICES)[0] == get(kube, beta)[0] == 404
    groups = kube.request("GET", "/apis")["groups"]
    assert [group["name"] for group in groups] == ["events.k8s.io", "networking.k8s.io"]


def test_endpoints_are_mirrored(kube):
    made = endpoints("db", [("10.1.0.1", "db-0"), "fd00::1"], port(5432, "pg"), not_ready=["10.1.0.3"])
    kube.create("endpoints", made)

    def mirrored() -> list:
        items = kube.request("GET", f"{SLICES}?labelSelector=kubernetes.io/service-name%3Ddb")["items"]
        assert all(i["ports"][0]["port"] == 5432 for i in items)
        return [
            (i["addressType"], e["addresses"], e.get("hostname", ""), e["conditions"]["ready"])
            for i in items
            for e in i["endpoints"]
        ]

    four = [("IPv4", ["10.1.0.1"], "db-0", True), ("IPv4", ["10.1.0.3"], "", False)]
    assert mirrored() == four + [("IPv6", ["fd00::1"], "", True)]
    kube.replace("endpoints", endpoints("db", [("10.1.0.1", "db-0")], port(5432, "pg"), not_ready=["10.1.0.3"]))
    assert mirrored() == four
    kube.delete("endpoints", "db")
    assert mirrored() == []


def test_forbidden_resources(kube):
    kube.control("forbid", resource="endpointslices")
    for path in (SLICES, SLICES + "?watch=1"):
        status, _, body = get(kube, path)
        assert status == 403 and protobuf.decode_object(body)["reason"] == "Forbidden"
    kube.control("forbid", resource="endpointslices", on=False)
    assert get(kube, SLICES)[0] == 200


def test_token_rotation_ignored_limits_and_backups(kube):
    kube.control("bulk", count=10)
    kube.control("ignore-limit")
    whole = kube.request("GET", "/api/v1/services?limit=3")
    assert len(whole["items"]) == 11 and "continue" not in whole["metadata"]
    kept = kube.control("backup")["revision"]
    kube.control("bulk", verb="delete", count=10)
    assert kube.control("restore")["revision"] == kept
    assert len(kube.request("GET", "/api/v1/services")["items"]) == 11
    kube.control("token", token="new")
    with pytest.raises(KubeError) as caught:
        kube.get("services", "kubernetes")
    assert caught.value.status == 401


def test_reordered_events(kube):
    revision = kube.request("GET", "/api/v1/services")["metadata"]["resourceVersion"]
    with kube.watch(f"/api/v1/services?watch=1&resourceVersion={revision}") as next_event:
        kube.control("silence")
        kube.control("reorder", resource="services")
        kube.control("bulk", count=3)
        kube.control("silence", on=False)
        names = [next_event()["object"]["metadata"]["name"] for _ in range(3)]
        assert names == ["bulk-2", "bulk-1", "bulk-0"]
        kube.control("duplicate", resource="services", count=2, is_reversed=True)
        names = [next_event()["object"]["metadata"]["name"] for _ in range(2)]
        assert names == ["bulk-2", "bulk-1"]


def test_bulk_of_pods_and_slices(kube):
    kube.control("bulk", resource="pods", count=2, net=10)
    assert kube.get("pods", "bulk-1")["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    kube.control("bulk", count=1, headless=True, prefix="db-")
    kube.control("bulk", resource="endpointslices", count=1, prefix="db-", endpoints=3, rate=1000)
    made = kube.get("endpointslices", "db-0")
    assert made["metadata"]["labels"]["kubernetes.io/service-name"] == "db-0"
    assert [e["addresses"] for e in made["endpoints"]] == [["172.0.0.0"], ["172.0.0.1"], ["172.0.0.2"]]

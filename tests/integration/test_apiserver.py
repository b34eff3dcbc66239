"""The project's own API server: it behaves like a real one wherever other tests rely on it; and its speed.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest
from kube import KubeError, endpoints, headless, port, service

SERVICES = "/api/v1/services"


def watch_path(revision, **query) -> str:
    extra = "".join(f"&{k}={v}" for k, v in query.items())
    return f"{SERVICES}?watch=1&resourceVersion={revision}{extra}"


def revision_of(kube) -> str:
    return kube.request("GET", SERVICES)["metadata"]["resourceVersion"]


def status_of(function, *arguments) -> int:
    with pytest.raises(KubeError) as caught:
        function(*arguments)
    assert caught.value.body["kind"] == "Status" and caught.value.body["code"] == caught.value.status
    return caught.value.status


def test_starts_with_the_kubernetes_service(kube):
    spec = kube.get("services", "kubernetes")["spec"]
    assert spec["clusterIP"] == "10.96.0.1"
    assert [(p["name"], p["port"]) for p in spec["ports"]] == [("https", 443)]


def test_create_fills_in_what_the_real_server_does(kube):
    made = kube.create("services", service("web", port(80, "http")))
    assert made["kind"] == "Service" and made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
    assert made["spec"]["clusterIPs"] == [made["spec"]["clusterIP"]]
    assert made["spec"]["type"] == "ClusterIP" and made["spec"]["ports"][0]["targetPort"] == 80
    assert kube.get("services", "web") == made


def test_cluster_ips_given_none_and_of_both_families(kube):
    assert kube.create("services", service("given", clusterIP="10.96.0.77"))["spec"]["clusterIPs"] == ["10.96.0.77"]
    assert kube.create("services", headless("none"))["spec"]["clusterIPs"] == ["None"]
    six = kube.create("services", service("six", ipFamilies=["IPv6"]))["spec"]
    assert six["clusterIP"].startswith("fd00:10:96::")
    both = kube.create("services", service("both", ipFamilyPolicy="RequireDualStack"))["spec"]
    assert both["ipFamilies"] == ["IPv4", "IPv6"] and len(both["clusterIPs"]) == 2
    assert status_of(kube.create, "services", service("again", clusterIP="10.96.0.77")) == 422
    kube.delete("services", "given")
    kube.create("services", service("again", clusterIP="10.96.0.77"))


def test_refusals(kube):
    kube.create("services", service("web"))
    assert status_of(kube.create, "services", service("web")) == 409
    assert status_of(kube.create, "services", service("1web")) == 422
    assert status_of(kube.create, "services", service("web", namespace="nowhere")) == 404
    assert status_of(kube.get, "services", "absent") == 404
    assert status_of(kube.delete, "services", "absent") == 404
    assert status_of(kube.request, "GET", "/api/v1/widgets") == 404
    assert status_of(kube.request, "POST", kube.path("services"), [1]) == 400


def test_replace_of_an_old_version_conflicts(kube):
    old = kube.create("services", service("web"))
    new = json.loads(json.dumps(old))
    new["spec"]["ports"][0]["port"] = 81
    assert kube.replace("services", new)["spec"]["ports"][0]["port"] == 81
    old["spec"]["ports"][0]["port"] = 82
    assert status_of(kube.replace, "services", old) == 409


def test_replace_that_changes_nothing_uses_no_revision(kube):
    made = kube.create("services", service("web"))
    assert kube.replace("services", made)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert revision_of(kube) == made["metadata"]["resourceVersion"]


def test_merge_and_strategic_merge_patch(kube):
    kube.create("services", service("web", port(80, "http"), port(443, "https")))
    path = kube.path("services", name="web")
    merged = kube.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    assert merged["metadata"]["labels"] == {"a": "b"} and len(merged["spec"]["ports"]) == 2
    patch = {
        "spec": {
            "ports": [{"port": 8080, "name": "alt"}, {"port": 80, "$patch": "delete"}],
            "$setElementOrder/ports": [{"port": 8080}, {"port": 443}],
        }
    }
    merged = kube.request("PATCH", path, patch, "application/strategic-merge-patch+json")
    assert [p["port"] for p in merged["spec"]["ports"]] == [8080, 443]


def test_pod_status_is_a_subresource(kube):
    kube.create(
        "pods",
        {
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
            "status": {"podIP": "1.2.3.4"},
        },
    )
    assert kube.get("pods", "p")["status"] == {"phase": "Pending"}
    patch = {"status": {"podIP": "10.1.2.3", "phase": "Running"}, "spec": {"nodeName": "ignored"}}
    kube.request("PATCH", kube.path("pods", name="p") + "/status", patch, "application/merge-patch+json")
    pod = kube.get("pods", "p")
    assert pod["status"]["podIP"] == "10.1.2.3" and "nodeName" not in pod["spec"]


def test_deleting_a_service_deletes_its_endpoints(kube):
    kube.create("services", headless("db"))
    kube.create("endpoints", endpoints("db", ["10.1.0.1"], port(80)))
    kube.delete("services", "db")
    assert status_of(kube.get, "endpoints", "db") == 404


def test_deleting_a_namespace_deletes_what_is_in_it(kube):
    kube.create_namespace("team")
    kube.create("services", headless("db", namespace="team"))
    kube.create("endpoints", endpoints("db", ["10.1.0.1"], port(80), namespace="team"))
    kube.request("DELETE", "/api/v1/namespaces/team")
    assert status_of(kube.get, "services", "db", "team") == 404


def test_pages_are_of_one_revision(kube):
    kube.control("bulk", count=10)
    first = kube.request("GET", f"{SERVICES}?limit=4")
    kube.control("bulk", verb="delete", count=10)
    token, names, revisions = first["metadata"]["continue"], [i["metadata"]["name"] for i in first["items"]], []
    while token:
        page = kube.request("GET", f"{SERVICES}?limit=4&continue={token}")
        names += [i["metadata"]["name"] for i in page["items"]]
        revisions.append(page["metadata"]["resourceVersion"])
        token = page["metadata"].get("continue")
    assert names == [f"bulk-{n}" for n in range(10)] + ["kubernetes"]
    assert set(revisions) == {first["metadata"]["resourceVersion"]}


def test_expired_continue_gives_an_inconsistent_token(kube):
    kube.control("bulk", count=5)
    first = kube.request("GET", f"{SERVICES}?limit=2")
    kube.control("expire-continue")
    with pytest.raises(KubeError) as caught:
        kube.request("GET", f"{SERVICES}?limit=2&continue={first['metadata']['continue']}")
    assert caught.value.status == 410 and caught.value.body["reason"] == "Expired"
    kube.control("bulk", verb="delete", start=3, count=1)
    rest = kube.request("GET", f"{SERVICES}?continue={caught.value.body['metadata']['continue']}")
    assert [i["metadata"]["name"] for i in rest["items"]] == ["bulk-2", "bulk-4", "kubernetes"]


def test_watch_replays_and_goes_on(kube):
    start = revision_of(kube)
    made = kube.create("services", service("a"))
    with kube.watch(watch_path(start)) as next_event:
        assert next_event() == {"type": "ADDED", "object": made}
        kube.request(
            "PATCH",
            kube.path("services", name="a"),
            {"metadata": {"labels": {"x": "y"}}},
            "application/merge-patch+json",
        )
        assert next_event()["type"] == "MODIFIED"
        kube.delete("services", "a")
        last = next_event()
        assert last["type"] == "DELETED" and int(last["object"]["metadata"]["resourceVersion"]) == int(start) + 3


def test_watch_without_a_revision_begins_with_what_there_is(kube):
    with kube.watch(f"{SERVICES}?watch=1") as next_event:
        assert next_event()["object"]["metadata"]["name"] == "kubernetes"


def test_watch_ends_after_its_timeout(kube):
    with kube.watch(watch_path(revision_of(kube), timeoutSeconds=1)) as next_event:
        assert next_event() is None


def test_watch_with_a_selector_sees_objects_enter_and_leave(kube):
    start = revision_of(kube)
    kube.create("services", service("a"))
    for labels in ({"in": "yes"}, {"in": "no"}):
        kube.request(
            "PATCH",
            kube.path("services", name="a"),
            {"metadata": {"labels": labels}},
            "application/merge-patch+json",
        )
    with kube.watch(watch_path(start, labelSelector="in%3Dyes")) as next_event:
        assert [next_event()["type"] for _ in range(2)] == ["ADDED", "DELETED"]
    with kube.watch(watch_path(start, fieldSelector="metadata.name%3Da")) as next_event:
        assert [next_event()["type"] for _ in range(3)] == ["ADDED", "MODIFIED", "MODIFIED"]


def test_bookmarks(start_apiserver):
    kube = start_apiserver("--bookmark-interval", "0.05")
    start = revision_of(kube)
    kube.create_namespace("elsewhere")
    with kube.watch(watch_path(start, allowWatchBookmarks="true")) as next_event:
        bookmark = next_event()
        assert bookmark["type"] == "BOOKMARK" and bookmark["object"]["kind"] == "Service"
        assert int(bookmark["object"]["metadata"]["resourceVersion"]) == int(start) + 1


def test_expired_history_is_410_inside_a_200(kube):
    start = revision_of(kube)
    kube.control("expire-history", resource="services")
    with kube.watch(watch_path(start)) as next_event:
        event = next_event()
        assert event["type"] == "ERROR" and event["object"]["code"] == 410
        assert next_event() is None


def test_history_is_bounded(start_apiserver):
    kube = start_apiserver("--history", "10")
    start = revision_of(kube)
    kube.control("bulk", count=40)
    with kube.watch(watch_path(start)) as next_event:
        assert next_event()["object"]["code"] == 410


def test_a_future_revision_is_silence(start_apiserver):
    kube = start_apiserver("--bookmark-interval", "0.05")
    future = int(revision_of(kube)) + 2
    with kube.watch(watch_path(future, allowWatchBookmarks="true", timeoutSeconds=1)) as next_event:
        kube.create("services", service("early"))
        assert next_event() is None


def test_drop_cut_silence_malformed_duplicate(kube):
    start = revision_of(kube)
    with kube.watch(watch_path(start)) as next_event:
        kube.control("silence")
        kube.create("services", service("a"))
        kube.control("malformed", resource="services", line="no json")
        with pytest.raises(json.JSONDecodeError):
            next_event()
        kube.control("silence", on=False)
        assert next_event()["object"]["metadata"]["name"] == "a"
        kube.control("malformed", resource="services")
        assert next_event()["object"]["spec"] == 17
        kube.control("duplicate", resource="services")
        assert next_event()["object"]["metadata"]["name"] == "a"
        kube.control("cut-watch", resource="services")
        kube.create("services", service("b"))
        with pytest.raises((json.JSONDecodeError, http.client.IncompleteRead)):
            next_event()
    with kube.watch(watch_path(start)) as next_event:
        assert next_event()["object"]["metadata"]["name"] == "a"
        assert kube.control("drop-watches")["dropped"] == 1
        assert next_event()["object"]["metadata"]["name"] == "b"
        assert next_event() is None


def test_failing_delayed_and_hung_up_requests(kube):
    kube.control("fail", status=503, count=2, match="/services")
    assert [status_of(kube.get, "services", "kubernetes") for _ in range(2)] == [503, 503]
    kube.get("services", "kubernetes")
    kube.control("delay", seconds=0.2, match="/services")
    before = time.monotonic()
    kube.get("services", "kubernetes")
    assert time.monotonic() - before >= 0.2
    kube.control("hang-up", match="/services")
    with pytest.raises(ConnectionError):
        kube.get("services", "kubernetes")
    kube.get("services", "kubernetes")


def test_refuse_and_accept(kube):
    number = int(kube.url.rsplit(":", 1)[1])
    kube.control("refuse")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", number))
    kube.control("accept")
    socket.create_connection(("127.0.0.1", number)).close()


def test_bulk_changes(kube):
    made = kube.control("bulk", count=250, start=10, net=198, salt=5, stamps=True)
    stamps = made["stamps_ns"]
    assert len(stamps) == 250 and stamps == sorted(stamps)
    assert (made["first_ns"], made["last_ns"]) == (stamps[0], stamps[-1])
    assert kube.get("services", "bulk-259")["spec"]["clusterIP"] == "198.0.1.8"
    kube.control("bulk", verb="replace", count=1, start=10, net=198, salt=6)
    assert kube.get("services", "bulk-10")["spec"]["clusterIP"] == "198.0.0.16"
    kube.control("bulk", verb="delete", count=250, start=10)
    assert [i["metadata"]["name"] for i in kube.request("GET", SERVICES)["items"]] == ["kubernetes"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl(kube, tmp_path):
    """Everyday commands, with no flag but the server's address."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def kubectl(*arguments: str) -> str:
        command = ["kubectl", "--server", kube.url, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert kubectl("create", "service", "clusterip", "web", "--tcp=80:80") == "service/web created\n"
    lines = [line.split()[:6] for line in kubectl("get", "svc", "-A").splitlines()]
    assert lines[0] == ["NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)"]
    assert lines[2] == ["default", "web", "ClusterIP", "10.96.0.2", "<none>", "80/TCP"]
    manifest = tmp_path / "db.json"
    for number, word in ((5432, "created"), (5432, "unchanged"), (5433, "configured")):
        manifest.write_text(json.dumps(headless("db", port(number, "pg"))))
        assert kubectl("apply", "-f", str(manifest)) == f"service/db {word}\n"
    assert [p["port"] for p in kube.get("services", "db")["spec"]["ports"]] == [5433]
    kubectl("create", "namespace", "team")
    kubectl("-n", "team", "create", "service", "clusterip", "none", "--clusterip=None")
    assert kube.get("services", "none", "team")["spec"]["clusterIP"] == "None"
    kubectl("delete", "service", "web", "db")
    assert status_of(kube.get, "services", "web") == 404


def test_token(start_apiserver):
    kube = start_apiserver("--token", "secret")
    assert status_of(kube.get, "services", "kubernetes") == 401
    kube.token = "secret"
    kube.get("services", "kubernetes")


@pytest.mark.parametrize("text", [b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"A" * 70000])
def test_malformed_http_ends_the_connection_only(kube, text):
    with socket.create_connection(("127.0.0.1", int(kube.url.rsplit(":", 1)[1])), timeout=20) as client:
        client.sendall(text)
        assert client.recv(4096).startswith(b"HTTP/1.1 400 ")
    kube.get("services", "kubernetes")


def test_watch_speed(kube, capsys):
    """20,000 events to one watcher: each once and in order. Prints the speed: benchmarks rely on 10,000 a second."""
    count = 20_000
    start = revision_of(kube)
    number = int(kube.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", number), timeout=20) as reader:
        reader.sendall(f"GET {watch_path(start)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = []
        bulk = threading.Thread(target=lambda: answer.append(kube.control("bulk", count=count)))
        bulk.start()
        received, seen, mark = bytearray(), 0, b'{"type":"ADDED"'
        while seen < count:
            looked_at = max(0, len(received) - len(mark) + 1)
            part = reader.recv(1 << 20)
            assert part, "the watch ended"
            received += part
            seen += received.count(mark, looked_at)
        end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        bulk.join()
    lines = [line for line in bytes(received).split(b"\n") if line.startswith(mark)]
    names = [
        json.loads(line)["object"]["metadata"]["name"] for line in lines[:-1]
    ]  # the last may be incomplete
    assert names == [f"bulk-{n}" for n in range(count - 1)]
    rate = count / ((end_ns - answer[0]["first_ns"]) / 1e9)
    with capsys.disabled():
        print(f" [{rate:,.0f} events/s to one watcher] ", end="")

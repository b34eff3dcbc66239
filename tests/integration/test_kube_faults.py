"""Faults between kube2sky and the API server, injected by the project's own server."""

import pytest
from kube import BASES, endpoints, headless, port, service
from programs import wait_until
from records import SVC, service_records, value
from test_pipeline import kubernetes_records


_SERVERS = {"protobuf": [], "json": ["--json-only"], "event-lists": ["--event-lists"]}


@pytest.fixture(params=_SERVERS)
def bed(request, bare_bed):
    bare_bed.start_etcd()
    bare_bed.start_apiserver(*_SERVERS[request.param])
    return bare_bed


def appears(bed, name: str) -> None:
    """A Service created now gets its keys: kube2sky follows the API (again)."""
    made = bed.kube.create("services", service(name))
    bed.wait_records(f"{SVC}/default/{name}/", service_records(name, made["spec"]["clusterIP"]))


def endpoints_kind(bed) -> str:
    """The resource with the addresses, once it is watched."""
    watches = bed.kube.control("state")["watches"]
    return "endpointslices" if watches["endpointslices"] else "endpoints"


def watches_open(bed) -> None:
    def are_open() -> bool:
        watches = bed.kube.control("state")["watches"]
        return watches["services"] == 1 and watches["endpoints"] + watches["endpointslices"] == 1

    wait_until(are_open, "the watches are open")


def lists(bed) -> int:
    requests = bed.kube.control("state")["requests"]
    return requests.get("list services", 0) + requests.get("list-as-events services", 0)


def test_dropped_watches_go_on_where_they_were(bed):
    bed.start_kube2sky()
    watches_open(bed)
    before = lists(bed)
    for number in range(3):
        bed.kube.control("drop-watches")
        appears(bed, f"web-{number}")
        watches_open(bed)
    assert lists(bed) == before, "a watch that ends needs no new list"


def test_a_watch_cut_in_the_middle_of_an_object(bed):
    bed.start_kube2sky()
    watches_open(bed)
    bed.kube.control("cut-watch", resource="services")
    appears(bed, "web")
    appears(bed, "web-2")


def test_history_expired_means_a_new_list(bed):
    bed.start_kube2sky()
    bed.kube.create("services", service("gone"))
    appears(bed, "web")
    watches_open(bed)
    before = lists(bed)
    bed.kube.control("silence")
    bed.kube.delete("services", "gone")
    bed.kube.control("expire-history")
    bed.kube.control("silence", on=False)
    bed.kube.control("drop-watches")
    bed.wait_records(f"{SVC}/default/gone/", {})
    appears(bed, "web-2")
    assert lists(bed) > before


def test_a_watch_refused_as_too_old_means_a_new_list(bed):
    """410 as the status of the reply this time, not inside the stream."""
    bed.start_kube2sky()
    watches_open(bed)
    before = lists(bed)
    bed.kube.control("fail", status=410, match="/services?watch")
    bed.kube.control("drop-watches", resource="services")
    appears(bed, "web")
    assert lists(bed) == before + 1


def test_a_server_restarted_with_a_compacted_history(bed):
    """Objects change while the server is away; it returns without history: stale keys go, nothing else is written."""
    bed.kube.create("services", service("gone", port(80, "http")))
    kept = bed.kube.create("services", service("kept", port(80, "http")))
    bed.start_kube2sky()
    watches_open(bed)
    bed.kube.control("refuse")
    bed.kube.delete("services", "gone")
    made = bed.kube.create("services", service("web"))
    bed.kube.control("expire-history")
    before = bed.etcd.get_prefix(f"{SVC}/default/kept/")
    bed.kube2sky.wait_line(r"^(warn|error) ")
    bed.kube.control("accept")
    bed.wait_records(f"{SVC}/default/gone/", {})
    bed.wait_records(f"{SVC}/default/web/", service_records("web", made["spec"]["clusterIP"]))
    assert bed.etcd.get_prefix(f"{SVC}/default/kept/") == before
    assert len(before) == 2 and kept["spec"]["clusterIP"] in str(before)


def test_a_server_back_from_a_backup(bed):
    """Its revisions are behind those kube2sky knows, and it has no history: the list shows everything."""
    bed.start_kube2sky()
    appears(bed, "before")
    bed.kube.control("backup")
    appears(bed, "lost")
    bed.kube.delete("services", "before")
    bed.wait_records(f"{SVC}/default/before/", {})
    watches_open(bed)
    bed.kube.control("restore")
    bed.kube.control("bulk", count=10)  # uses the same revisions a second time
    bed.kube.control("expire-history")
    bed.kube.control("drop-watches")
    bed.wait_records(f"{SVC}/default/lost/", {})
    bed.wait_records(f"{SVC}/default/bulk-9/", service_records("bulk-9", "172.0.0.9", ("tcp", "http", 80)))
    assert bed.etcd.values(f"{SVC}/default/before/")


def test_a_store_restored_unnoticed(bed):
    """Its history says nothing. The Services' version has gone back; that of endpoints is overtaken at once, so that
    their watch goes on as if nothing had happened.
    """
    bed.start_kube2sky()
    bed.kube.create("services", headless("db", port(80, "http")))
    bed.kube.create("endpoints", endpoints("db", ["10.9.0.1"], port(80, "http")))
    prefix = f"{SVC}/default/db/"
    bed.kube2sky.wait_ready(lambda: "10.9.0.1" in str(bed.etcd.values(prefix)), "the endpoint")
    before = bed.etcd.values(prefix)
    bed.kube.control("backup")
    bed.kube.replace("endpoints", endpoints("db", ["10.9.0.1", "10.9.0.2"], port(80, "http")))
    bed.kube2sky.wait_ready(lambda: bed.etcd.values(prefix) != before, "another endpoint")
    for number in range(20):
        appears(bed, f"lost-{number}")
    watches_open(bed)
    since = len(bed.kube2sky.lines)
    bed.kube.control("restore")
    bed.kube.control("bulk", count=10)
    bed.kube2sky.wait_ready(lambda: bed.etcd.values(prefix) == before, "the endpoints of the backup")
    bed.kube2sky.wait_ready(lambda: not bed.etcd.values(f"{SVC}/default/lost-"), "the Services of the backup")
    bed.wait_records(f"{SVC}/default/bulk-9/", service_records("bulk-9", "172.0.0.9", ("tcp", "http", 80)))
    bed.kube2sky.wait_line("the API server's data is older than before", since)


def test_bookmarks_move_the_watch_on(bare_bed):
    """A kind without events resumes from a bookmark despite a short history: no 410, no new list."""
    bed = bare_bed
    bed.start_etcd()
    bed.start_apiserver("--history", "10", "--bookmark-interval", "0.05")
    bed.start_kube2sky()
    watches_open(bed)
    bed.kube.control("bulk", count=100)
    bed.wait_records(f"{SVC}/default/bulk-99/", service_records("bulk-99", "172.0.0.99", ("tcp", "http", 80)))
    kind = endpoints_kind(bed)
    before = bed.kube.control("state")["requests"][f"list {kind}"]
    revision = bed.kube.control("expire-history", resource=kind)["revision"]
    # After two bookmarks on our own watch, kube2sky's watch has had one of that revision, too.
    path = f"{BASES.get(kind, '/api/v1')}/{kind}?watch=1&allowWatchBookmarks=1&resourceVersion={revision}"
    with bed.kube.watch(path) as next_event:
        for _ in range(2):
            assert next_event()["type"] == "BOOKMARK"
    bed.kube.control("drop-watches")
    watches_open(bed)
    appears(bed, "web")
    assert bed.kube.control("state")["requests"][f"list {kind}"] == before


def test_malformed_events_between_good_ones(bed):
    bed.start_kube2sky()
    watches_open(bed)
    for resource in ("services", endpoints_kind(bed)):
        bed.kube.control("malformed", resource=resource)
        appears(bed, f"after-{resource}")
        bed.kube.control("malformed", resource=resource, line='{"type":"ADDED","object":')
        appears(bed, f"after-line-{resource}")
        bed.kube.control("malformed", resource=resource, line='{"type":"NONSENSE","object":{}}')
        appears(bed, f"after-type-{resource}")
    bed.kube2sky.wait_line(r"default/malformed")


def test_malformed_objects_in_a_list(bed):
    """They are skipped and logged by name; everything else continues, also after a restart."""
    for name, spec in {
        "bad-spec": 17,
        "bad-ports": {"clusterIP": "10.0.0.7", "ports": "x"},
        "bad-ip": {"clusterIP": "x", "ports": []},
        "bad-port": {"clusterIP": "10.0.0.8", "ports": [{"port": 70000, "name": "p"}]},
    }.items():
        bed.kube.control(
            "put",
            resource="services",
            object={"metadata": {"name": name, "namespace": "default"}, "spec": spec},
        )
    bed.kube.control(
        "put",
        resource="endpoints",
        object={"metadata": {"name": "bad", "namespace": "default"}, "subsets": 17},
    )
    appears_before = bed.kube.create("services", service("web"))
    bed.start_kube2sky()
    assert bed.etcd.values(f"{SVC}/default/web/") == service_records("web", appears_before["spec"]["clusterIP"])
    for name in ("bad-spec", "bad-ports", "bad-ip"):
        bed.kube2sky.wait_line(rf"[/=]{name}\b")
    appears(bed, "web-2")


def test_a_known_object_that_becomes_malformed_keeps_its_records(bed):
    made = bed.kube.create("services", service("web"))
    bed.start_kube2sky()
    right = service_records("web", made["spec"]["clusterIP"])
    bed.kube.control("put", resource="services", object={"metadata": made["metadata"], "spec": 17})
    appears(bed, "after")
    assert bed.etcd.values(f"{SVC}/default/web/") == right
    bed.kube.control("expire-history")
    bed.kube.control("drop-watches")
    appears(bed, "after-list")
    assert bed.etcd.values(f"{SVC}/default/web/") == right


def test_duplicated_events_write_nothing(bed):
    bed.start_kube2sky()
    for number in range(3):
        appears(bed, f"web-{number}")
    watches_open(bed)
    before = bed.etcd.get_prefix(SVC)
    bed.kube.control("duplicate", resource="services", count=3)
    appears(bed, "after")
    after = bed.etcd.get_prefix(SVC)
    assert {k: after[k] for k in before} == before


@pytest.mark.parametrize("way", ["reordered", "again and backwards"])
def test_events_out_of_order(bed, way):
    """Events of many objects, some with several events: the last version of each wins."""
    bed.start_kube2sky()
    appears(bed, "first")
    watches_open(bed)
    bed.kube.control("silence")
    if way == "reordered":
        bed.kube.control("reorder", resource="services")
    for salt in range(3):
        bed.kube.control("bulk", verb="replace", count=20, salt=salt)
    bed.kube.control("bulk", verb="delete", count=5)
    bed.kube.control("silence", on=False)
    if way != "reordered":
        bed.kube.control("duplicate", resource="services", count=65, is_reversed=True)
    appears(bed, "after")
    bed.wait_records(
        f"{SVC}/default/bulk-",
        {
            key: text
            for number in range(5, 20)
            for key, text in service_records(
                f"bulk-{number}", f"172.0.0.{number + 2}", ("tcp", "http", 80)
            ).items()
        },
    )


def test_an_object_of_five_megabytes(bed):
    """In a list, and as an event among others."""

    def put(name: str, ip: str) -> None:
        meta = {"name": name, "namespace": "default"}
        spec = {"clusterIP": ip, "clusterIPs": [ip], "ports": [port(80, "http")]}
        bed.kube.control("put", resource="services", object={"metadata": meta, "spec": spec}, pad_bytes=5 << 20)

    put("listed", "10.0.0.7")
    bed.start_kube2sky()
    watches_open(bed)
    put("watched", "10.0.0.8")
    appears(bed, "after")
    for name, ip in (("listed", "10.0.0.7"), ("watched", "10.0.0.8")):
        assert bed.etcd.values(f"{SVC}/default/{name}/") == service_records(name, ip, ("tcp", "http", 80))
    appears(bed, "still")


def test_a_server_that_ignores_the_limit(bed):
    bed.kube.control("ignore-limit")
    bed.kube.control("bulk", count=2000)
    bed.start_kube2sky()
    assert len(bed.etcd.get_prefix(f"{SVC}/default/bulk-")) == 4000
    assert lists(bed) == 1
    appears(bed, "web")


def test_the_server_learns_and_forgets_protobuf(bed):
    """An upgrade, and its rollback: each reply names its own encoding."""
    bed.start_kube2sky()
    for number, is_known in enumerate((False, True, False)):
        watches_open(bed)
        bed.kube.control("protobuf", on=is_known)
        appears(bed, f"web-{number}")
    bed.kube.control("expire-history")
    bed.kube.control("protobuf")
    appears(bed, "after-a-list")


def test_short_pages_and_an_expired_continue(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.start_apiserver("--page-max", "7")
    bed.kube.control("bulk", count=50)
    bed.kube.control("expire-continue")
    bed.start_kube2sky()
    assert len(bed.etcd.get_prefix(SVC)) == 50 * 2 + len(kubernetes_records(bed.kube))
    assert lists(bed) > 8


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_refused_lists_are_asked_again(bed, status):
    """Remote failures are states: readiness names the reason, nothing exits, and afterwards everything is right."""
    bed.etcd.put(f"{SVC}/default/orphan/x", value("10.0.0.1"))
    bed.kube.control("fail", status=status, count=2, match="/services")
    bed.start_kube2sky()
    assert bed.etcd.values(SVC) == kubernetes_records(bed.kube)


def test_a_list_that_is_no_list_is_asked_again(bed):
    bed.etcd.put(f"{SVC}/default/orphan/x", value("10.0.0.1"))
    for body in ("", "<html>", '{"kind":"Status"}', "[]"):
        bed.kube.control("fail", status=200, body=body, match="/services")
    bed.start_kube2sky()
    assert bed.etcd.values(SVC) == kubernetes_records(bed.kube)


def test_requests_hung_up(bed):
    bed.kube.control("hang-up", count=3)
    bed.start_kube2sky()
    bed.kube.control("hang-up", count=2, match="watch")
    bed.kube.control("drop-watches")
    appears(bed, "web")


def test_api_server_away_at_start(bed):
    """Without an answer nothing is deleted, and readiness names what is missing."""
    orphan = f"{SVC}/default/orphan/x"
    bed.etcd.put(orphan, value("10.0.0.1"))
    bed.kube.control("refuse")
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_line(r"^(warn|error).*127\.0\.0\.1")
    status, body = bed.kube2sky.wait_ready(bed.readiness, "answers")
    assert status == 503 and body.strip()
    assert orphan in bed.etcd.get_prefix(SVC)
    bed.kube.control("accept")
    wait_until(lambda: bed.readiness()[0] == 200, "ready")
    assert bed.etcd.values(SVC) == kubernetes_records(bed.kube)


def test_api_server_away_and_back(bed):
    made = bed.kube.create("services", service("web"))
    bed.start_kube2sky()
    bed.start_skydns()
    watches_open(bed)
    wait_until(lambda: "/kube2sky/cluster.local/store" in bed.etcd.values("/kube2sky/"), "the store key, which comes last")
    before = bed.etcd.revision()
    bed.kube.control("refuse")
    bed.kube2sky.wait_line(r"^(warn|error).*(127\.0\.0\.1|services|endpoint)")
    assert bed.readiness()[0] == 200
    assert bed.dns.answers("web.default.svc.cluster.local") == [made["spec"]["clusterIP"]]
    assert bed.etcd.revision() == before
    bed.kube.control("accept")
    appears(bed, "web-2")


def test_without_the_kubernetes_service_nothing_is_deleted(bed):
    """A list without default/kubernetes is incomplete."""
    bed.kube.delete("services", "kubernetes")
    bed.kube.create("services", service("web", port(80, "http")))
    orphan = f"{SVC}/default/orphan/x"
    bed.etcd.put(orphan, value("10.0.0.1"))
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_ready(lambda: lists(bed), "lists")
    status, body = bed.kube2sky.wait_ready(bed.readiness, "answers")
    assert status == 503 and body.strip()
    assert orphan in bed.etcd.get_prefix(SVC)
    bed.kube.create("services", service("kubernetes", port(443, "https")))
    wait_until(lambda: bed.readiness()[0] == 200, "ready")
    assert orphan not in bed.etcd.get_prefix(SVC)

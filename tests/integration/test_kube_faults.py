"""What goes wrong between kube2sky and the API server, made to happen by the project's own server."""

import pytest
from kube import port, service
from programs import wait_until
from records import SVC, service_records, value
from test_pipeline import kubernetes_records


def appears(bed, name: str) -> None:
    """A Service made now gets its keys: kube2sky follows the API (again)."""
    made = bed.kube.create("services", service(name))
    bed.wait_records(f"{SVC}/default/{name}/", service_records(name, made["spec"]["clusterIP"]))


def watches_open(bed) -> None:
    def are_open() -> bool:
        watches = bed.kube.control("state")["watches"]
        return watches["services"] == 1 and watches["endpoints"] == 1

    wait_until(are_open, "both watches are open")


def lists(bed) -> int:
    return bed.kube.control("state")["requests"]["list services"]


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
    """As the status of the reply this time, not inside the stream."""
    bed.start_kube2sky()
    watches_open(bed)
    before = lists(bed)
    bed.kube.control("fail", status=410, match="/services?watch")
    bed.kube.control("drop-watches", resource="services")
    appears(bed, "web")
    assert lists(bed) == before + 1


def test_bookmarks_move_the_watch_on(bare_bed):
    """A kind without events of its own resumes from a bookmark when its history is short: no 410, no new
    list.
    """
    bed = bare_bed
    bed.start_etcd()
    bed.start_apiserver("--history", "10", "--bookmark-interval", "0.05")
    bed.start_kube2sky()
    watches_open(bed)
    bed.kube.control("bulk", count=100)
    bed.wait_records(f"{SVC}/default/bulk-99/", service_records("bulk-99", "172.0.0.99", ("tcp", "http", 80)))
    before = bed.kube.control("state")["requests"]["list endpoints"]
    revision = bed.kube.control("expire-history", resource="endpoints")["revision"]
    # Two bookmarks of a probe of ours from now: kube2sky's watch has had one of that revision, too.
    with bed.kube.watch(
        f"/api/v1/endpoints?watch=1&allowWatchBookmarks=1&resourceVersion={revision}"
    ) as next_event:
        for _ in range(2):
            assert next_event()["type"] == "BOOKMARK"
    bed.kube.control("drop-watches")
    watches_open(bed)
    appears(bed, "web")
    assert bed.kube.control("state")["requests"]["list endpoints"] == before


def test_malformed_events_between_good_ones(bed):
    bed.start_kube2sky()
    watches_open(bed)
    for resource in ("services", "endpoints"):
        bed.kube.control("malformed", resource=resource)
        appears(bed, f"after-{resource}")
        bed.kube.control("malformed", resource=resource, line='{"type":"ADDED","object":')
        appears(bed, f"after-line-{resource}")
        bed.kube.control("malformed", resource=resource, line='{"type":"NONSENSE","object":{}}')
        appears(bed, f"after-type-{resource}")
    bed.kube2sky.wait_line(r"default/malformed")


def test_malformed_objects_in_a_list(bed):
    """They are skipped and named; everything else goes on, now and after a restart."""
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
    assert bed.etcd.values(f"{SVC}/default/web/") == service_records(
        "web", appears_before["spec"]["clusterIP"]
    )
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
    """Remote failures are states: readiness names the reason, nothing exits, and once it is over
    everything is right.
    """
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


def test_api_server_away_and_back(bed):
    made = bed.kube.create("services", service("web"))
    bed.start_kube2sky()
    bed.start_skydns()
    watches_open(bed)
    before = bed.etcd.revision()
    bed.kube.control("refuse")
    bed.kube2sky.wait_line(r"^(warn|error).*(127\.0\.0\.1|services|endpoints)")
    assert bed.readiness()[0] == 200
    assert bed.dns.answers("web.default.svc.cluster.local") == [made["spec"]["clusterIP"]]
    assert bed.etcd.revision() == before
    bed.kube.control("accept")
    appears(bed, "web-2")


def test_without_the_kubernetes_service_nothing_is_deleted(bed):
    """A list that lacks default/kubernetes is not the whole truth."""
    bed.kube.delete("services", "kubernetes")
    bed.kube.create("services", service("web", port(80, "http")))
    orphan = f"{SVC}/default/orphan/x"
    bed.etcd.put(orphan, value("10.0.0.1"))
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_ready(lambda: bed.kube.control("state")["requests"].get("list endpoints"), "lists")
    status, body = bed.kube2sky.wait_ready(bed.readiness, "answers")
    assert status == 503 and body.strip()
    assert orphan in bed.etcd.get_prefix(SVC)
    bed.kube.create("services", service("kubernetes", port(443, "https")))
    wait_until(lambda: bed.readiness()[0] == 200, "ready")
    assert orphan not in bed.etcd.get_prefix(SVC)

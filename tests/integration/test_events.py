"""kube2sky --events: Warning events about objects that cannot be written as they are."""

import json

from kube import endpoint, endpoint_slice, headless, port, service
from programs import http_get, reserve_port, wait_until
from prometheus import Page

TOO_LONG = "a" * 63  # a port's name for the API; with its underscore no label of DNS
ZONES = "--override-zones=example.com,shop.example.org@prod"


def events(bed, reason: str = "") -> list[dict]:
    return [e for e in bed.kube.items("events") if reason in ("", e["reason"])]


def wait_events(bed, *reasons: str) -> list[dict]:
    def found() -> list[dict] | None:
        have = events(bed)
        return have if sorted(e["reason"] for e in have) == sorted(reasons) else None

    return wait_until(found, f"events {reasons}, not {[e['reason'] for e in events(bed)]}")


def metric(bed, name: str, port_number: int = 0) -> float:
    text = http_get(f"http://127.0.0.1:{port_number or bed.readiness_port}/metrics")[1]
    return Page(text, "kube2sky_").get(name)


def requests(bed, verb: str) -> int:
    return bed.kube.control("state")["requests"].get(f"{verb} events", 0)


def broken(name: str, namespace: str = "default") -> dict:
    return service(name, port(80, "http"), port(81, TOO_LONG), namespace=namespace)


def aliased(value: dict, names: str) -> dict:
    value["metadata"]["annotations"] = {"dns.kube2sky/aliases": names}
    return value


def test_an_event_says_what_the_log_says(bed):
    made = bed.kube.create("services", broken("web"))
    bed.start_kube2sky("--events")
    [event] = wait_events(bed, "InvalidPort")
    assert event["type"] == "Warning" and event["note"] == f"port name `{TOO_LONG}`: cannot be part of a key"
    regarding = {"apiVersion": "v1", "kind": "Service", "namespace": "default", "name": "web"}
    assert event["regarding"] == regarding | {"uid": made["metadata"]["uid"]}
    assert event["metadata"]["namespace"] == "default" and event["metadata"]["name"].startswith("web.")
    assert event["reportingController"] == "kube2sky" and event["reportingInstance"] and event["action"]
    assert event["eventTime"].endswith("Z") and "series" not in event
    wait_until(lambda: metric(bed, "events_written_total") == 1, "it is counted")  # once the API server has said so
    assert metric(bed, "events_waiting") == 0

    # Nothing more while it is as it was; and after a restart the same event goes on.
    bed.kube2sky.stop()
    bed.start_kube2sky("--events")
    again = wait_until(lambda: [e for e in events(bed) if "series" in e], "its series")
    assert [e["metadata"]["name"] for e in again] == [event["metadata"]["name"]]
    assert again[0]["series"]["count"] >= 2 and len(events(bed)) == 1


def test_all_reasons(bed):
    for namespace in ("prod", "test"):
        bed.kube.create_namespace(namespace)
    bed.kube.create("services", aliased(service("web", namespace="prod"), "a.example.com, not/a/name"))
    bed.kube.create("services", aliased(service("late", namespace="test"), "a.example.com"))
    bed.kube.create("services", aliased(service("else", namespace="test"), "shop.example.org"))
    many = [port(n, f"p{n}") for n in range(1, 60)]
    bed.kube.create("services", service("many", *many, namespace="test"))
    rule = {"host": "b.example.net", "http": {"paths": []}}
    ingress = {"metadata": {"name": "shop", "namespace": "test"}, "spec": {"rules": [rule]}}
    ingress["spec"]["ingressClassName"] = "nginx"
    bed.kube.create("ingresses", ingress)
    bed.start_kube2sky("--events", ZONES, "--max-owner-keys=50", "--ingress=nginx=prod/web")
    found = wait_events(bed, "InvalidAnnotation", "AliasTaken", "AliasNotAllowed", "AliasNotAllowed", "TooManyRecords")
    notes = {(e["regarding"]["kind"], e["regarding"]["name"], e["reason"]): e["note"] for e in found}
    assert notes[("Service", "web", "InvalidAnnotation")] == (
        "external name `not/a/name` is no name like app.example.com"
    )
    assert "external name is another object's or writer's, left alone: a.example.com" in (
        notes.get(("Service", "late", "AliasTaken"), notes.get(("Service", "web", "AliasTaken")))
    )
    assert notes[("Service", "else", "AliasNotAllowed")] == (
        "external name `shop.example.org` is in a zone that --override-zones gives to other namespaces"
    )
    assert notes[("Ingress", "shop", "AliasNotAllowed")] == (
        "external name `b.example.net` is in no zone of --override-zones"
    )
    assert "expected at most 50" in notes[("Service", "many", "TooManyRecords")]


def test_of_what_is_left_out_when_decoded(bed):
    """The API would not take the Ingress's annotation: a server of an older version, or without checks."""
    bed.kube.create("services", aliased(service("web"), "a.example.com," * 1200 + "b.example.com"))
    meta = {"name": "shop", "namespace": "default", "uid": "1", "annotations": {"kubernetes.io/ingress.class": 7}}
    bed.kube.control("put", resource="ingresses", object={"metadata": meta, "spec": {"rules": []}})
    slices = endpoint_slice("db-1", "db", [endpoint("10.1.0.1")], {"name": "sql", "protocol": "TCP", "port": 70000})
    bed.kube.create("services", headless("db", port(5432, "sql")))
    bed.kube.control("put", resource="endpointslices", object=slices)
    bed.start_kube2sky("--events", "--override-zones=example.com", "--ingress=nginx=default/web")
    found = wait_events(bed, "InvalidAnnotation", "InvalidAnnotation", "InvalidPort")
    notes = {(e["regarding"]["kind"], e["regarding"]["name"]): e["note"] for e in found}
    assert notes[("Service", "web")].startswith("annotation dns.kube2sky/aliases: 16813 bytes: expected at most")
    assert "ingress.class: expected a string" in notes[("Ingress", "shop")]
    assert notes[("Service", "db")].startswith("endpoints db-1: ports[0]: port: expected a number")


def test_a_namespace_without_room(bed):
    many = [port(n, f"p{n}") for n in range(1, 30)]
    bed.kube.create("services", service("many", *many))
    bed.start_kube2sky("--events", "--max-namespace-keys=20")
    [event] = wait_events(bed, "TooManyRecords")
    assert event["note"] == "namespace has as many keys as it may, its new ones wait"


def test_a_reverse_name_of_another_namespace(bed):
    """The event does not say whose it is."""
    bed.kube.create_namespace("secret")
    for namespace in ("default", "secret"):
        entries = [endpoint("10.1.0.1")]
        bed.kube.create("services", headless("db", port(80, "http"), namespace=namespace))
        value = endpoint_slice("db-1", "db", entries, port(80, "http"), namespace=namespace)
        bed.kube.create("endpointslices", value)
    bed.start_kube2sky("--events")
    [event] = wait_events(bed, "ReverseNameTaken")
    assert event["note"] == "the reverse name of 10.1.0.1 belongs to another namespace"
    assert "secret" not in event["note"]


def test_an_ingress_that_claims_nothing_any_more(bed):
    """Its fault is forgotten, although it is still there."""
    bed.kube.control("fail", status=503, count=1, match="/namespaces/default/events")
    rule = {"host": "b.example.net", "http": {"paths": []}}
    value = {"metadata": {"name": "shop", "namespace": "default"}}
    bed.kube.create("services", service("web"))
    bed.kube.create("ingresses", value | {"spec": {"ingressClassName": "nginx", "rules": [rule]}})
    bed.start_kube2sky("--events", "--override-zones=example.com", "--ingress=nginx=default/web")
    bed.kube2sky.wait_line("events cannot be written, retrying")
    bed.kube.replace("ingresses", value | {"spec": {"ingressClassName": "other", "rules": [rule]}})
    wait_until(lambda: metric(bed, "events_waiting") == 0, "forgotten")


def test_a_reverse_name_of_another_writer(bed):
    bed.etcd.put("/skydns/arpa/in-addr/10/96/0/77", json.dumps({"host": "printer.example.com"}))
    bed.kube.create("services", service("web", clusterIP="10.96.0.77"))
    bed.start_kube2sky("--events")
    [event] = wait_events(bed, "ReverseNameTaken")
    assert event["note"].startswith("another writer owns a reverse key, left alone: /skydns/arpa/")


def test_a_thousand_broken_services(bed):
    namespaces = [f"team-{i}" for i in range(10)]
    for namespace in namespaces:
        bed.kube.create_namespace(namespace)
    for i in range(1000):
        bed.kube.create("services", broken(f"web-{i}", namespaces[i % 10]))
    bed.start_kube2sky("--events")
    wait_until(lambda: len(events(bed)) >= 60, "60 events")
    by_namespace = {n: sum(e["metadata"]["namespace"] == n for e in events(bed)) for n in namespaces}
    assert all(1 <= count <= 10 for count in by_namespace.values()), by_namespace
    bed.kube.create("services", service("one-more"))
    bed.wait_model()
    wait_until(lambda: metric(bed, "events_waiting") == 940, "the API server has said that it has all 60")
    assert requests(bed, "create") == 60 and requests(bed, "patch") == 0
    assert metric(bed, "events_left_out_total") == 0


def test_without_permission(bed):
    bed.kube.control("forbid", resource="events")
    bed.start_kube2sky("--events")
    for i in range(5):
        bed.kube.create("services", broken(f"web-{i}"))
    line = "events are refused, trying again rarely"
    bed.kube2sky.wait_line(line)
    bed.kube.create("services", broken("later"))
    bed.wait_model()
    assert requests(bed, "forbidden") == 1 and sum(line in text for text in bed.kube2sky.lines) == 1
    assert metric(bed, "event_failures_total") == 1
    bed.kube.control("forbid", resource="events", on=False)
    assert events(bed) == []


def test_while_the_api_is_away(bed):
    bed.start_kube2sky("--events")
    bed.kube.control("fail", status=503, count=2, match="/namespaces/default/events")
    bed.kube.create("services", broken("web"))
    wait_events(bed, "InvalidPort")
    assert metric(bed, "event_failures_total") == 2
    bed.kube2sky.wait_line("events are written again")
    assert bed.kube2sky.log_text(1000).count("events cannot be written, retrying") == 1


def test_a_fault_that_is_gone_is_forgotten(bed):
    bed.kube.control("fail", status=503, count=1, match="/namespaces/default/events")
    bed.kube.create("services", broken("web"))
    bed.start_kube2sky("--events")
    bed.kube2sky.wait_line("events cannot be written, retrying")
    bed.kube.replace("services", service("web", port(80, "http")))
    wait_until(lambda: metric(bed, "events_waiting") == 0, "forgotten")
    assert events(bed) == []


def test_only_the_leader_writes(bed):
    bed.kube.create("services", broken("web"))
    bed.start_kube2sky("--leader-elect")
    bed.wait_model()
    health_port = reserve_port()
    standby = bed.command(
        "kube2sky",
        "--domain=cluster.local",
        f"--etcd-server={bed.etcd_urls[0]}",
        f"--healthz-port={health_port}",
        "--leader-elect",
        "--events",
        *bed.kube_flags,
    )
    standby.start()
    standby.wait_ready(lambda: http_get(f"http://127.0.0.1:{health_port}/readiness")[0] == 200, "ready")
    wait_until(lambda: metric(bed, "events_waiting", health_port) == 1, "it knows the fault")
    assert requests(bed, "create") == 0
    bed.kube2sky.stop()
    wait_events(bed, "InvalidPort")


def test_off_by_default(bed):
    bed.kube.create("services", broken("web"))
    bed.kube.create("services", headless("other"))
    bed.start_kube2sky()
    bed.wait_model()
    assert events(bed) == [] and requests(bed, "create") == 0


def test_a_real_server_takes_them(bare_bed, server):
    """The oldest with events.k8s.io/v1 is 1.19; it checks each field."""
    bare_bed.start_etcd()
    bare_bed.use_kube(server.kube, server.flags)
    server.kube.create("services", broken("web"))

    def ours() -> list[dict]:
        return [e for e in events(bare_bed) if e["reportingController"] == "kube2sky"]

    bare_bed.start_kube2sky("--events")
    [event] = wait_until(ours, "the event")
    assert event["reason"] == "InvalidPort" and event["type"] == "Warning"
    bare_bed.kube2sky.restart()
    wait_until(lambda: [e for e in ours() if (e.get("series") or {}).get("count", 0) >= 2], "its series")
    assert len(ours()) == 1

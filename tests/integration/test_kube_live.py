"""kube2sky's page, GET /, and its figures, GET /live."""

import http.client
import json
from contextlib import contextmanager

from kube import endpoint, endpoint_slice, headless, port, service
from programs import wait_until


@contextmanager
def live(bed):
    """A function that returns the next event."""
    connection = http.client.HTTPConnection("127.0.0.1", bed.readiness_port, timeout=20)
    try:
        connection.request("GET", "/live")
        reply = connection.getresponse()
        assert reply.status == 200 and reply.getheader("content-type") == "text/event-stream"
        assert reply.getheader("cache-control") == "no-store"
        assert reply.getheader("access-control-allow-origin") is None

        def event() -> dict:
            line = reply.readline()
            while not line.startswith(b"data: "):
                assert line, "the stream has ended"
                line = reply.readline()
            return json.loads(line[len(b"data: ") :])

        yield event
    finally:
        connection.close()


def ask(bed, method: str, path: str):
    connection = http.client.HTTPConnection("127.0.0.1", bed.readiness_port, timeout=20)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply, reply.read().decode()
    finally:
        connection.close()


def test_the_page(bed):
    bed.start_kube2sky()
    reply, text = ask(bed, "GET", "/")
    assert reply.status == 200 and reply.getheader("content-type").startswith("text/html")
    assert reply.getheader("content-security-policy").startswith("default-src 'none';")
    assert reply.getheader("access-control-allow-origin") is None
    assert "<title>kube2sky</title>" in text and "innerHTML" not in text
    assert ask(bed, "POST", "/")[0].status == 405


def test_figures(bed):
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_model()
    with live(bed) as event:

        def settled() -> dict | None:
            """kube2sky hears of its keys after etcd has them."""
            now = event()
            owners = now["owners"]
            return now if now["keys"]["present"] == 6 and owners["waiting"] + owners["in_flight"] == 0 else None

        first = wait_until(settled, "kube2sky has seen its keys in etcd")
    assert (first["program"], first["domain"], first["ready"], first["reason"]) == ("kube2sky", "cluster.local.", True, "")
    assert first["leader"] == {"is_leader": True, "id": ""}
    kinds = {kind["kind"]: kind for kind in first["kinds"]}
    assert kinds["services"]["count"] == 2 and kinds["services"]["followed"] and kinds["services"]["reason"] == ""
    assert first["etcd"]["connected"] and first["etcd"]["endpoint"] == bed.etcd_urls[0] and first["etcd"]["away_s"] == 0
    assert first["keys"]["wanted"] == first["keys"]["present"] == len(bed.etcd.values("/skydns/"))
    assert first["transactions"]["count"] >= 2 and first["skipped"] == []
    change = first["changes"][0]
    assert change["owner"] == "svc/default/web" and (change["puts"], change["deletes"]) == (3, 0)
    assert change["api_to_plan_us"] >= 0 and change["plan_to_etcd_us"] > 0 and change["revision"] <= bed.etcd.revision()


def test_an_object_that_appears(bed):
    bed.start_kube2sky()
    with live(bed) as event:
        assert event()["kinds"][0]["count"] == 1
        bed.kube.create("services", service("web"))

        def seen() -> bool:
            return {"services": 2}.items() <= {kind["kind"]: kind["count"] for kind in event()["kinds"]}.items()

        wait_until(seen, "the Service")


def test_slices_in_the_place_of_endpoints(bed):
    """The row of endpoints has the number of what is followed, and its faults."""
    bed.kube.create("services", headless("db", port(80, "http")))
    for i in range(3):
        made = endpoint_slice(f"db-{i}", "db", [endpoint(f"10.1.0.{i}")], port(80, "http"))
        bed.kube.create("endpointslices", made)
    made = endpoint_slice("db-x", "db", [endpoint("www.example.org")], port(80, "http"), family="FQDN")
    bed.kube.create("endpointslices", made)
    for flags, resource in (([], "endpointslices"), (["--endpoints=endpoints"], "endpoints")):
        bed.start_kube2sky(*flags)
        objects = len(bed.kube.items(resource))
        with live(bed) as event:

            def followed() -> dict | None:
                (row,) = [kind for kind in event()["kinds"] if kind["kind"] == "endpoints"]
                return row if row["followed"] else None

            row = wait_until(followed, "what is listed is watched, too")
        faults = 1 if resource == "endpointslices" else 0
        assert (row["resource"], row["count"], row["faults"]) == (resource, objects, faults)
        bed.kube2sky.stop()
        bed.kube2sky = None


def test_etcd_that_is_away(bed):
    bed.start_kube2sky("--etcd-mutation-timeout=300ms")
    bed.wait_model()
    with live(bed) as event:
        assert event()["etcd"]["connected"]
        bed.etcd_program.kill()

        def away() -> dict | None:
            now = event()
            return now if not now["etcd"]["connected"] and now["reason"] else None

        now = wait_until(away, "etcd is away")
    assert now["ready"] and now["etcd"]["reason"] and now["etcd"]["away_s"] >= 0

"""/wait: what is true after it, how it ends otherwise, and what it leaves to others."""

import json
import re

import pytest
from held import Held
from kube import endpoint, endpoint_slice, headless, port, service
from programs import Program, http_get, reserve_port, wait_until

SERVICES = 1000
WAITERS_MAX = 32


@pytest.fixture
def pages(bed):
    """kube2sky and skydns with their pages: the URLs of both."""
    http_port = reserve_port()
    bed.start_kube2sky()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{http_port}")
    return f"http://127.0.0.1:{bed.readiness_port}", f"http://127.0.0.1:{http_port}"


def version_of(value: dict) -> str:
    return value["metadata"]["resourceVersion"]


def wait_service(url: str, name: str, version: str, timeout: str = "20s") -> tuple[int, str]:
    return Held(url, "/wait", service=f"default/{name}", resourceVersion=version, timeout=timeout).result()


def wait_revision(url: str, revision: int, timeout: str = "20s") -> tuple[int, str]:
    return Held(url, "/wait", revision=revision, timeout=timeout).result()


def waits(url: str) -> int:
    return int(re.search(r"_waits_open (\d+)", http_get(url + "/metrics")[1])[1])


# ---- What is true after it ----


def test_each_created_service_answers(bed, pages):
    """Created, waited for, asked once: none of them is NXDOMAIN."""
    writer, reader = pages
    for i in range(SERVICES):
        made = bed.kube.create("services", service(f"s{i}"))
        status, text = wait_service(writer, f"s{i}", version_of(made))
        assert status == 200, text
        revision = json.loads(text)["revision"]
        status, text = wait_revision(reader, revision)
        assert status == 200 and json.loads(text)["revision"] >= revision, text
        assert bed.dns.answers(f"s{i}.default.svc.cluster.local") == [made["spec"]["clusterIP"]]


def test_a_deleted_service_has_no_records(bed, pages):
    writer, reader = pages
    made = bed.kube.create("services", service("web"))
    wait_revision(reader, json.loads(wait_service(writer, "web", version_of(made))[1])["revision"])
    assert bed.dns.answers("web.default.svc.cluster.local") == [made["spec"]["clusterIP"]]
    bed.kube.delete("services", "web")
    later = bed.kube.create("services", service("other"))
    status, text = wait_service(writer, "web", version_of(later))
    assert status == 200 and json.loads(text)["exists"] is False
    assert wait_revision(reader, json.loads(text)["revision"])[0] == 200
    assert bed.dns.query("web.default.svc.cluster.local").rcode() == 3


def test_a_headless_service_waits_for_its_slices(bed, pages):
    """The Service alone is not enough: the watch of slices has not reached its version."""
    writer, reader = pages
    made = bed.kube.create("services", headless("db", port(80, "http")))
    waiting = Held(writer, "/wait", service="default/db", resourceVersion=version_of(made), timeout="60s")
    wait_until(
        lambda: "endpoints at resourceVersion" in wait_service(writer, "db", version_of(made), "0s")[1],
        "the Service seen, and its slices not",
    )
    assert not waiting.is_answered()
    bed.kube.create("endpointslices", endpoint_slice("db-1", "db", [endpoint("10.1.0.1")], port(80, "http")))
    status, text = waiting.result()
    assert status == 200, text
    assert wait_revision(reader, json.loads(text)["revision"])[0] == 200
    assert bed.dns.answers("db.default.svc.cluster.local") == ["10.1.0.1"]


def test_a_bookmark_is_enough(bare_bed):
    """Of slices that do not change."""
    bare_bed.start_etcd()
    bare_bed.start_apiserver("--bookmark-interval=0.2")
    bare_bed.start_kube2sky()
    made = bare_bed.kube.create("services", headless("db", port(80, "http")))
    status, text = wait_service(f"http://127.0.0.1:{bare_bed.readiness_port}", "db", version_of(made))
    assert status == 200, text


def test_nothing_is_true_while_etcd_is_away(bed, pages):
    writer, reader = pages
    made = bed.kube.create("services", service("web"))
    revision = json.loads(wait_service(writer, "web", version_of(made))[1])["revision"]
    assert wait_revision(reader, revision)[0] == 200
    bed.etcd_program.kill()
    wait_until(lambda: wait_service(writer, "web", version_of(made), "0s")[0] == 504, "etcd known to be lost")
    wait_until(lambda: wait_revision(reader, revision, "0s")[0] == 504, "etcd known to be lost")
    assert "etcd is not followed" in wait_revision(reader, revision, "0s")[1]
    with Held(reader, "/wait", revision=revision, timeout="60s") as waiting:
        assert http_get(reader + "/readiness")[0] == 200
        bed.etcd_program.start()
        assert waiting.result()[0] == 200, "etcd is back"


def test_a_standby_answers_too(bed, pages):
    """From what it sees in etcd; it writes nothing itself."""
    writer, _ = pages
    number = reserve_port()
    bed.kube2sky.stop()
    bed.kube2sky.argv.append("--leader-elect")
    bed.start_kube2sky()
    standby = bed._add(Program("standby", [*bed.kube2sky.argv, f"--healthz-port={number}"])).start()
    url = f"http://127.0.0.1:{number}"
    standby.wait_ready(lambda: http_get(url + "/readiness")[0] == 200, "ready")
    made = bed.kube.create("services", service("web"))
    status, text = wait_service(url, "web", version_of(made))
    assert status == 200, text
    assert wait_service(writer, "web", version_of(made))[0] == 200
    bed.kube2sky.kill()  # its lease ends later: nothing is written until then
    made = bed.kube.create("services", service("new"))
    status, text = wait_service(url, "new", version_of(made), "0s")
    assert status == 504 or json.loads(text)["revision"], text
    assert wait_service(url, "new", version_of(made), "60s")[0] == 200


# ---- How it ends otherwise ----


def test_timeouts(bed, pages):
    writer, reader = pages
    status, text = wait_revision(reader, 10**9, "100ms")
    assert status == 504 and re.fullmatch(r"revision 1000000000: etcd's latest change of our keys is \d+\n", text)
    status, text = wait_service(writer, "web", str(10**9), "100ms")
    assert status == 504 and "Services at resourceVersion 1000000000" in text


@pytest.mark.parametrize(
    "path, named",
    [
        ("/wait", "revision ``: expected a revision of etcd"),
        ("/wait?revision=0", "revision `0`: expected"),
        ("/wait?revision=-1", "revision `-1`: expected"),
        ("/wait?revision=9223372036854775808", "revision `9223372036854775808`: expected"),
        ("/wait?revision=1x", "revision `1x`: expected"),
        ("/wait?revision=1&timeout=61s", "timeout `61s`: expected a time from 0 to 60s"),
        ("/wait?revision=1&timeout=-1s", "timeout `-1s`: expected"),
        ("/wait?revision=1&timeout=5", "timeout `5`: expected"),
    ],
)
def test_bad_requests_of_skydns(running, path, named):
    status, text = http_get(running["skydns"].url + path)
    assert status == 400 and text.startswith(named) and text.count("\n") == 1, text


@pytest.mark.parametrize(
    "path, status, named",
    [
        ("/wait", 400, "service ``: expected NAMESPACE/SERVICE"),
        ("/wait?service=web&resourceVersion=1", 400, "service `web`: expected NAMESPACE/SERVICE"),
        ("/wait?service=default/web", 400, "resourceVersion ``: expected a resource version"),
        ("/wait?service=default/web&resourceVersion=0", 400, "resourceVersion `0`: expected"),
        ("/wait?service=default/web&resourceVersion=1a", 400, "resourceVersion `1a`: expected"),
        ("/wait?service=default/web&resourceVersion=" + "1" * 41, 400, "resourceVersion `1"),
        ("/wait?service=default/web&resourceVersion=1&timeout=1h", 400, "timeout `1h`: expected"),
    ],
)
def test_bad_requests_of_kube2sky(running, path, status, named):
    got, text = http_get(running["kube2sky"].url + path)
    assert got == status and text.startswith(named) and text.count("\n") == 1, text


def test_namespaces_that_are_not_followed(bed):
    bed.start_kube2sky("--namespaces=default")
    status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/wait?service=kube-system/dns&resourceVersion=1")
    assert status == 404 and "none of --namespaces" in text


# ---- What it leaves to others ----


@pytest.mark.parametrize("which", (0, 1))
def test_as_many_as_may_wait(bed, pages, which):
    """One client's waits leave room for another's, and for probes."""
    url = pages[which]
    arguments = {"revision": 10**9} if which else {"service": "default/web", "resourceVersion": 10**9}

    def ask(source: str = "127.0.0.1") -> Held:
        return Held(url, "/wait", source, timeout="60s", **arguments)

    held = [ask() for _ in range(WAITERS_MAX)]
    wait_until(lambda: waits(url) == WAITERS_MAX, "all wait")
    further = ask()
    assert further.reply().status == 503 and further.reply().headers["Retry-After"] == "1"
    for _ in range(200):  # more than the connections that the server has
        assert http_get(url + "/healthz")[0] == 200
    other = ask("127.0.0.2")
    ended = wait_until(lambda: [wait for wait in held if wait.is_answered()], "one gives way")
    assert len(ended) == 1 and ended[0].result()[0] == 503
    assert not other.is_answered()
    other.close()
    wait_until(lambda: waits(url) == WAITERS_MAX - 1, "a client that goes leaves its place")
    for wait in held:
        wait.close()
    wait_until(lambda: waits(url) == 0, "all have gone")


def test_head_has_no_body(bed, pages):
    _, reader = pages
    with Held(reader, "/wait", method="HEAD", revision=10**9, timeout="10ms") as waiting:
        assert waiting.reply().status == 504 and waiting.reply().read() == b""
        assert waiting.socket.recv(1) == b"", "the end"

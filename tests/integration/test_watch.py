"""/watch: a stream has the answer and each later one, as /explain would give it to the client; others are left alone."""

import re
import select

import pytest
from held import Held, Stream
from programs import http_get, reserve_port, wait_until
from records import value

DOMAIN = "/skydns/local/cluster"
NAMES = 1000
CLIENT_MAX = 128
STREAMS_MAX = 1024


@pytest.fixture
def url(bare_bed):
    """skydns with an etcd and pages."""
    bare_bed.start_etcd()
    return start(bare_bed)


def start(bed, *flags: str) -> str:
    port = reserve_port()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{port}", *flags)
    return f"http://127.0.0.1:{port}"


def figure(url: str, name: str) -> int:
    return int(re.search(rf"^skydns_{name} (\d+)", http_get(url + "/metrics")[1], re.M)[1])


def key(name: str) -> str:
    return f"{DOMAIN}/svc/default/{name}"


# ---- Answers ----


def test_an_answer_and_each_change(bare_bed, url):
    name = "web.default.svc.cluster.local"
    with Stream(url, "/watch", name=name, type="A") as stream:
        kind, data = stream.event()
        assert stream.reply().headers["Content-Type"] == "text/event-stream"
        assert (kind, data["status"], data.get("answer", [])) == ("message", "NXDOMAIN", [])
        revision = bare_bed.etcd.put(key("web/a"), value("10.0.0.1"))
        kind, data = stream.event()
        assert data["status"] == "NOERROR" and data["revision"] == revision
        assert len(data["answer"]) == 1 and data["answer"][0].split()[0] == name + "." and data["answer"][0].endswith(" A 10.0.0.1")
        bare_bed.etcd.put(key("web/b"), value("10.0.0.2"))
        assert stream.answer() == ["10.0.0.1", "10.0.0.2"]
        bare_bed.etcd.put(key("other/a"), value("10.0.0.9"))  # no event: another name
        bare_bed.etcd.delete_prefix(key("web/"))
        assert stream.event()[1]["status"] == "NXDOMAIN"


def test_names_that_depend_on_others(bare_bed, url):
    """Wildcards, a CNAME's target, and what exists below a name."""
    bare_bed.etcd.put(key("alias"), value("web.default.svc.cluster.local"))
    wait_until(lambda: bare_bed.dns.query("alias.default.svc.cluster.local", "CNAME").answer, "the alias")
    with (
        Stream(url, "/watch", name="alias.default.svc.cluster.local") as alias,
        Stream(url, "/watch", name="*.default.svc.cluster.local") as wildcard,
        Stream(url, "/watch", name="new.default.svc.cluster.local", type="TXT") as parent,
    ):
        assert alias.answer() == wildcard.answer() == []
        assert parent.event()[1]["status"] == "NXDOMAIN"
        bare_bed.etcd.put(key("web"), value("10.0.0.1"))
        assert "10.0.0.1" in alias.answer()
        assert "10.0.0.1" in wildcard.answer()
        bare_bed.etcd.put(key("new/below"), value("10.0.0.2"))
        assert parent.event()[1]["status"] == "NOERROR"


def test_a_rollout_is_seen_by_all(bare_bed, url):
    """Each of a thousand watchers of different names ends with the answer that the threads serve, once those do."""
    held = [
        Stream(url, "/watch", f"127.0.1.{i // CLIENT_MAX + 1}", name=f"w{i}.default.svc.cluster.local") for i in range(NAMES)
    ]
    for stream in held:
        assert stream.event()[1]["status"] == "NXDOMAIN"
    assert figure(url, "watch_streams") == NAMES
    for generation in range(3):  # in between, versions may be merged
        for begin in range(0, NAMES, 100):
            bare_bed.etcd.put_all({key(f"w{i}"): value(f"10.{generation}.{i // 256}.{i % 256}") for i in range(begin, begin + 100)})
    status, text = Held(url, "/wait", revision=bare_bed.etcd.revision(), timeout="60s").result()
    assert status == 200, text
    for i, stream in enumerate(held):
        answers = [stream.answer()]
        while answers[-1] != [f"10.2.{i // 256}.{i % 256}"]:
            answers.append(stream.answer())
        assert answers == sorted(answers), "none goes back"
    for stream in held:
        stream.close()
    wait_until(lambda: figure(url, "watch_streams") == 0, "all have gone")


def test_visibility(bare_bed):
    """A stream shows what its client may see, and follows changes of that."""
    bare_bed.start_etcd()
    bare_bed.etcd.put(f"{DOMAIN}/pod/blue/10-1-0-1/a", value("10.1.0.1"))
    bare_bed.etcd.put(f"{DOMAIN}/svc/default/kubernetes/k", value("10.0.0.9"))
    bare_bed.etcd.put(f"{DOMAIN}/svc/red/web/w", value("10.0.0.1"))
    url = start(bare_bed, "-visibility=own")
    name = "web.red.svc.cluster.local"
    with Stream(url, "/watch", name=name, client="10.1.0.1") as stream, Stream(url, "/watch", name=name) as everything:
        assert everything.answer() == ["10.0.0.1"]
        assert stream.event()[1].get("answer", []) == []
        bare_bed.etcd.put("/kube2sky/cluster.local/visible/red", "blue")
        while not (shown := stream.answer()):
            pass
        assert shown == ["10.0.0.1"]
        bare_bed.etcd.put(f"{DOMAIN}/svc/red/web/w", value("10.0.0.2"))
        assert stream.answer() == everything.answer() == ["10.0.0.2"]
        bare_bed.etcd.delete("/kube2sky/cluster.local/visible/red")
        assert stream.answer() == []


def test_who_may_not_query(bare_bed):
    bare_bed.start_etcd()
    url = start(bare_bed, "-allow=10.0.0.0/8,127.0.0.0/8")
    bare_bed.etcd.put(key("web"), value("10.0.0.1"))
    bare_bed.wait_answers("web.default.svc.cluster.local", "A", ["10.0.0.1"])
    with Stream(url, "/watch", name="web.default.svc.cluster.local", client="192.0.2.1") as stream:
        data = stream.event()[1]
        assert data["status"] == "REFUSED" and "answer" not in data


def test_too_many_records_to_watch(bare_bed, url):
    for begin in range(0, 20000, 100):
        bare_bed.etcd.put_all({key(f"many/{i}"): value(f"10.{i // 65536}.{i // 256 % 256}.{i % 256}") for i in range(begin, begin + 100)})
    assert Held(url, "/wait", revision=bare_bed.etcd.revision(), timeout="60s").result()[0] == 200
    status, text = http_get(f"{url}/watch?name=many.default.svc.cluster.local&type=SRV")
    assert status == 400 and text.endswith("has more than 16384 records, too many to watch\n")
    with Stream(url, "/watch", name="many.default.svc.cluster.local") as stream:
        assert 1000 < len(stream.answer()) < 20000, "as many as a response over TCP has"
    with Stream(url, "/watch", name="7.many.default.svc.cluster.local") as stream:
        assert stream.answer() == ["10.0.0.7"]


# ---- Readers ----


def test_a_slow_reader_is_cut_off(bare_bed, url):
    """It is told so by the last event; others go on."""
    for begin in range(0, 400, 100):
        bare_bed.etcd.put_all({key(f"big/{i}"): value(f"10.0.{i // 256}.{i % 256}") for i in range(begin, begin + 100)})
    assert Held(url, "/wait", revision=bare_bed.etcd.revision(), timeout="60s").result()[0] == 200
    slow = Stream(url, "/watch", buffer=4096, name="big.default.svc.cluster.local")
    with Stream(url, "/watch", name="big.default.svc.cluster.local") as quick:
        slow.event()
        changes, count = 0, len(quick.answer())

        def change() -> bool:
            nonlocal changes
            changes += 1
            bare_bed.etcd.put(key("big/0"), value(f"10.9.{changes // 256}.{changes % 256}"))
            assert len(quick.answer()) == count
            return figure(url, "watch_cut_off_total") == 1

        wait_until(change, "cut off", timeout_s=60)
        event = slow.event()
        while event[0] == "message":
            event = slow.event()
        assert event == ("end", {"reason": "the reader is too slow"})
        assert slow.event() == ("", {})
        assert not change() or figure(url, "watch_cut_off_total") == 1
    wait_until(lambda: figure(url, "watch_streams") == 0, "both have ended")


def test_shares(bare_bed, url):
    """1,024 streams, 128 a client; probes answer."""
    name, held = "web.default.svc.cluster.local", []
    for host in range(STREAMS_MAX // CLIENT_MAX):
        source = f"127.0.1.{host + 1}"
        held += [Stream(url, "/watch", source, name=name) for _ in range(CLIENT_MAX)]
        for stream in held[-CLIENT_MAX:]:
            assert stream.event()[1]["status"] == "NXDOMAIN"
        if host == 0:
            further = Held(url, "/watch", source, name=name)
            assert further.reply().headers["Retry-After"] == "1"
            status, text = further.result()
            assert status == 503 and "128 streams" in text
    status, text = Held(url, "/watch", "127.0.1.100", name=name).result()
    assert status == 503 and "as many streams are open as may be" in text
    for _ in range(200):
        assert http_get(url + "/readiness")[0] == 200
    bare_bed.etcd.put(key("web"), value("10.0.0.1"))
    for stream in held:
        assert stream.answer() == ["10.0.0.1"]
    assert figure(url, "watch_refused_total") == 2
    held.pop().close()
    wait_until(lambda: figure(url, "watch_streams") == STREAMS_MAX - 1, "one has gone")
    with Stream(url, "/watch", "127.0.1.100", name=name) as stream:
        assert stream.answer() == ["10.0.0.1"]
    for stream in held:
        stream.close()


def test_streams_end_with_the_program(bare_bed, url):
    with Stream(url, "/watch", name="web.default.svc.cluster.local") as stream:
        stream.event()
        bare_bed.skydns.stop()
        assert select.select([stream.socket], [], [], 20)[0]


# ---- Bad requests ----


@pytest.mark.parametrize(
    "query, named",
    [
        ("", "name ``: expected one like"),
        ("?name=a..b", "name `a..b`: expected one like"),
        ("?name=www.example.com", "name `www.example.com`: expected one of our domains"),
        ("?name=web.default.svc.cluster.local&type=NOTHING", "type `NOTHING`: expected one like A"),
        ("?name=web.default.svc.cluster.local&client=web", "client `web`: expected an address"),
    ],
)
def test_bad_requests(running, query, named):
    status, text = http_get(running["skydns"].url + "/watch" + query)
    assert status == 400 and text.startswith(named) and text.count("\n") == 1, text


def test_other_methods(running):
    url = running["skydns"].url
    with Held(url, "/watch", method="HEAD", name="web.default.svc.cluster.local") as head:
        assert head.reply().status == 200 and head.reply().headers["Content-Type"] == "text/event-stream"
    assert Held(url, "/watch", method="POST", name="web.default.svc.cluster.local").reply().status == 405

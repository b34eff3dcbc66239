"""/history: how the records of a name changed, out of etcd's history."""

import json
import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from programs import http_get, wait_until
from records import SVC, value
from test_at import ask, asked, past_bed, start, two_asked, wait_next_second, wait_revision

__all__ = ["past_bed"]

WEB = f"{SVC}/default/web"
NAME = "web.default.svc.cluster.local"


def history(bed, name: str = NAME, **arguments: object) -> dict:
    status, text = ask(bed, "history", name=name, **arguments)
    assert status == 200, (status, text)
    return json.loads(text)


def told(page: dict) -> list[tuple[int, str, str | None, str | None]]:
    return [(c["revision"], c["key"], c.get("before"), c.get("after")) for c in page["changes"]]


def test_changes(past_bed):
    """Of the name's key and those below it, but of no key beside it; the newest first, with both values."""
    bed = past_bed
    first = bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed)
    wait_revision(bed, first)
    wait_next_second()  # so that the changes have marks of their own
    a, b, c = value("10.0.0.1"), value("10.0.0.2"), "no JSON \x01 \u20ac"
    right = []

    def put(key: str, before: str | None, after: str) -> None:
        right.append((bed.etcd.put(key, after), key, before, after))

    put(f"{WEB}/a", a, b)
    bed.etcd.put(f"{WEB}-2/a", a)
    put(f"{WEB}/_tcp/_http/b", None, b)
    put(WEB, None, c)
    bed.etcd.put(f"{SVC}/default/webber", a)
    bed.etcd.delete(f"{WEB}/a")
    right.append((bed.etcd.revision(), f"{WEB}/a", b, None))
    put(f"{WEB}/a", None, a)
    put(f"{WEB}/a", a, a)
    bed.etcd.delete_prefix(f"{SVC}/default/")
    gone = bed.etcd.revision()
    right += [(gone, WEB, c, None), (gone, f"{WEB}/_tcp/_http/b", b, None), (gone, f"{WEB}/a", a, None)]
    wait_revision(bed, gone)
    page = history(bed, since=first)
    assert page["name"] == f"{NAME}." and page["from"]["revision"] == first and page["to"] >= gone
    assert sorted(told(page)) == sorted(right)
    assert [change[0] for change in told(page)] == sorted((change[0] for change in right), reverse=True)
    assert "cut" not in page and "more" not in page
    for change in page["changes"]:
        assert abs(change["time_ms"] / 1000 - time.time()) < 60 and change["time"].endswith("Z")
    # Another name, above and below; in any case of letters; and one of which nothing ever was.
    assert len(told(history(bed, "default.svc.cluster.local", since=first))) > len(right)
    assert [c[1] for c in told(history(bed, f"_TCP.{NAME}.", since=first))] == [f"{WEB}/_tcp/_http/b"] * 2
    assert told(history(bed, "nothing.cluster.local", since=first)) == []
    assert told(history(bed, since=gone)) == []


def test_since(past_bed):
    """An hour by default; never before this server's first mark, which it says."""
    bed = past_bed
    first = bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed)
    wait_next_second()
    second = bed.etcd.put(f"{WEB}/a", value("10.0.0.2"))
    wait_revision(bed, second)
    wait_next_second()
    between = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time()))
    wait_next_second()
    third = bed.etcd.put(f"{WEB}/a", value("10.0.0.3"))
    wait_revision(bed, third)
    page = history(bed)
    assert page["since"] == "1h" and page["cut"] == "unmarked" and page["from"]["revision"] == first
    assert [change[0] for change in told(page)] == [third, second]
    page = history(bed, since=between)
    assert [change[0] for change in told(page)] == [third] and page["from"]["revision"] == second
    assert [change[0] for change in told(history(bed, since=1))] == [third, second, first]
    assert "time" not in history(bed, since=1)["from"]
    for arguments, why in (({"name": ""}, "expected one like web"), ({"name": "."}, "expected one like web"),
                           ({"name": "a..b"}, "expected one like web"),
                           ({"name": NAME, "since": "x"}, "since: `x`: expected a revision like 1234")):  # fmt: skip
        status, text = ask(bed, "history", **arguments)
        assert status == 400 and why in text, text
    status, text = ask(bed, "history", name=NAME, since=third + 100)
    assert status == 400 and "is still to come" in text


def test_compacted(past_bed):
    """Begins where etcd's history does, and says so."""
    bed = past_bed
    first = bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed)
    second = bed.etcd.put(f"{WEB}/a", value("10.0.0.2"))
    bed.etcd.compact()
    third = bed.etcd.put(f"{WEB}/a", value("10.0.0.3"))
    wait_revision(bed, third)
    page = history(bed, since=first)
    assert page["cut"] == "compacted" and page["from"]["revision"] == second
    assert told(page) == [(third, f"{WEB}/a", value("10.0.0.2"), value("10.0.0.3"))]


def test_many_changes(past_bed):
    """The newest hundred; the others are counted."""
    bed = past_bed
    first = bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed)
    for n in range(2500):
        last = bed.etcd.put(f"{WEB}/a", value(f"10.1.{n // 250}.{n % 250}"))
    wait_revision(bed, last)
    page = history(bed, since=first)
    assert [change[0] for change in told(page)] == list(range(last, last - 100, -1))
    assert page["more"] == 2400


def test_too_many_bytes(past_bed):
    """etcd tells 1,000 revisions at once, so that each message is small enough; together they are too much."""
    bed = past_bed
    first = bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed)
    text = json.dumps({"host": "10.0.0.1", "text": "x" * 20000})
    with ThreadPoolExecutor(8) as writers:
        revisions = list(writers.map(lambda _: bed.etcd.put(f"{WEB}/a", text), range(1800)))
    wait_revision(bed, max(revisions))
    status, reason = ask(bed, "history", name=NAME, since=first)
    assert status == 507 and "more than 100000 changes, or 32 MiB of them" in reason
    page = history(bed, since=max(revisions) - 50)
    assert len(told(page)) == 50 and bed.dns.answers(NAME, "A") == ["10.0.0.1"]


def test_random_changes(past_bed):
    """As a watch of the test's own tells them."""
    bed = past_bed
    rng = random.Random("history")
    keys = [f"{WEB}{rest}" for rest in ("", "/a", "/b", "/_tcp/_http/a", "-2", "2/a")]
    since = bed.etcd.put(keys[0], value("10.0.0.1"))
    start(bed)
    held = {keys[0]: value("10.0.0.1")}
    for _ in range(5):
        right = []
        for _ in range(60):
            key = rng.choice(keys)
            if rng.random() < 0.4:
                bed.etcd.delete(key)
            else:
                bed.etcd.put(key, value(f"10.0.0.{rng.randrange(250)}"))
        for revision, key, after in bed.etcd.changes(since + 1, "/skydns/"):
            if key == WEB or key.startswith(WEB + "/"):
                right.append((revision, key, held.get(key), after))
            held[key] = after
            if after is None:
                del held[key]
        page = history(bed, since=since)
        assert told(page) == right[::-1][:100]
        since = page["to"]


def test_one_at_a_time_and_not_without_etcd(past_bed):
    bed = past_bed
    bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed, "-no-rec")
    wait_until(lambda: ask(bed, "history", name=NAME)[0] == 200, "an answer, once etcd is followed")
    bed.etcd_program.signal(signal.SIGSTOP)
    first, second, text = two_asked(bed, f"/history?name={NAME}")
    assert (second.status, text) == (503, b"another question about the past is being answered; try again\n")
    assert bed.dns.answers(NAME, "A") == ["10.0.0.1"]
    reply = first.getresponse()
    assert reply.status == 503 and reply.read().endswith(b"; try again\n")
    bed.etcd_program.signal(signal.SIGCONT)
    wait_until(lambda: ask(bed, "history", name=NAME)[0] == 200, "an answer, as etcd is back")
    # A client that goes makes room for another.
    bed.etcd_program.signal(signal.SIGSTOP)
    asked(bed, f"/history?name={NAME}").close()
    asked(bed, f"/history?name={NAME}").close()
    bed.etcd_program.signal(signal.SIGCONT)
    wait_until(lambda: ask(bed, "history", name=NAME)[0] == 200, "an answer after the other client is gone")
    bed.etcd_program.kill()
    wait_until(lambda: "etcd is away" in ask(bed, "history", name=NAME)[1], "a refusal")


def test_another_data_set(past_bed):
    """An etcd that lost its data has another history; nothing is told of the former."""
    bed = past_bed
    bed.etcd.put(f"{WEB}/a", value("10.0.0.1"))
    start(bed, "-no-rec", "-stale-max=1s")
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")
    bed.start_etcd()
    first = bed.etcd.put(f"{WEB}/a", value("10.0.1.1"))
    last = bed.etcd.put(f"{WEB}/a", value("10.0.1.2"))
    bed.wait_answers(NAME, "A", ["10.0.1.2"])
    wait_until(lambda: ask(bed, "history", name=NAME, since=first)[0] == 200, "the new history")
    assert told(history(bed, since=first)) == [(last, f"{WEB}/a", value("10.0.1.1"), value("10.0.1.2"))]


@pytest.mark.parametrize("path", ["history?name=a.b", "explain?name=a.b&at=1m"])
def test_only_for_few(past_bed, path):
    """Other clients than those on loopback need -http-allow."""
    bed = past_bed
    bed.start_skydns(f"-http-addr=0.0.0.0:{bed.http_port}", "-no-rec")
    address = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    if not address:
        pytest.skip("no address beside loopback")
    status, text = http_get(f"http://{address[0]}:{bed.http_port}/{path}")
    assert status == 403 and "-http-allow" in text
    assert http_get(f"http://127.0.0.1:{bed.http_port}/{path}")[0] in (200, 410)

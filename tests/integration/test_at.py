"""/explain?at= and skydns -explain -at: the answer as it was at a revision, a time or an age, out of etcd's history."""

import http.client
import json
import random
import re
import shutil
import signal
import subprocess
import time
import urllib.parse

import pytest
from bed import BIN_DIR
from programs import http_get, reserve_port, wait_until
from records import SVC, value

# Of today alone, in a live explanation.
LIVE_ONLY = {"etcd", "near", "tree", "search", "serial", "signed", "known_s", "change", "at"}


@pytest.fixture
def past_bed(bare_bed):
    """etcd and skydns with HTTP at bare_bed.http_port."""
    bare_bed.start_etcd()
    bare_bed.http_port = reserve_port()
    return bare_bed


def start(bed, *flags: str) -> None:
    bed.start_skydns(f"-http-addr=127.0.0.1:{bed.http_port}", "-round-robin=false", *(flags or ("-no-rec",)))


def ask(bed, page: str, **arguments: object) -> tuple[int, str]:
    query = urllib.parse.urlencode(arguments)
    return http_get(f"http://127.0.0.1:{bed.http_port}/{page}?{query}")


def asked(bed, path: str) -> http.client.HTTPConnection:
    """A request whose handler has been called."""
    connection = http.client.HTTPConnection("127.0.0.1", bed.http_port, timeout=60)
    connection.request("GET", path)
    assert http_get(f"http://127.0.0.1:{bed.http_port}/healthz")[0] == 200  # in a later turn of its loop
    return connection


def two_asked(bed, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse, bytes]:
    """While etcd does not answer: a request that waits, and the response of another one beside it. Again, if the first
    had waited for its 4 s before the other came.
    """
    while True:
        first = asked(bed, path)
        second = asked(bed, path).getresponse()
        text = second.read()
        if b"etcd took longer" not in text:
            return first, second, text


def explain(bed, name: str, **arguments: object) -> dict:
    status, text = ask(bed, "explain", name=name, **arguments)
    assert status == 200, (status, text)
    return json.loads(text)


def wait_revision(bed, revision: int) -> None:
    wait_until(lambda: explain(bed, "cluster.local")["revision"] >= revision, f"revision {revision}")


def wait_next_second() -> None:
    """There is one mark for each second."""
    now = int(time.time())
    wait_until(lambda: int(time.time()) > now, "the next second")


def comparable(part: object) -> object:
    """What a live explanation and one of the past have in common. An SOA's serial is today's."""
    if isinstance(part, dict):
        if "broken" in part:  # the oldest first, as they were seen
            part = part | {"broken": sorted(part["broken"], key=lambda broken: broken["key"])}
        return {name: comparable(value) for name, value in part.items() if name not in LIVE_ONLY}
    if isinstance(part, list):
        return [comparable(item) for item in part]
    return re.sub(r" SOA .*", " SOA", part) if isinstance(part, str) else part


def test_revisions_times_and_ages(past_bed):
    bed = past_bed
    key = f"{SVC}/default/web/a"
    first = bed.etcd.put(key, value("10.0.0.1"))
    start(bed)
    before = time.time()
    wait_next_second()
    second = bed.etcd.put(key, value("10.0.0.2"))
    wait_revision(bed, second)
    wait_next_second()
    bed.etcd.delete(key)
    third = bed.etcd.revision()
    wait_revision(bed, third)
    name = "web.default.svc.cluster.local"
    for revision, addresses in ((first, ["10.0.0.1"]), (second, ["10.0.0.2"]), (third, None)):
        told = explain(bed, name, at=revision)
        assert told["at"]["asked"] == str(revision) and told["at"]["revision"] == told["revision"] == revision
        assert told["status"] == ("NOERROR" if addresses else "NXDOMAIN"), json.dumps((told, explain(bed, name)))
        assert [line.split()[-1] for line in told.get("answer", [])] == (addresses or [])
    mark = explain(bed, name, at=first)["at"]["mark"]
    assert mark["revision"] == first and mark["time_ms"] / 1000 <= time.time()
    # A moment before anything was there, by an age and by a time.
    told = explain(bed, name, at="0s")
    assert told["at"]["mark"]["revision"] == told["revision"] == third
    asked = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(before - 3600))
    for moment in ("1h", asked):
        status, text = ask(bed, "explain", name=name, at=moment)
        gone = json.loads(text)
        assert status == 410 and gone["error"] == "gone" and gone["oldest"]["revision"] == 1
        assert gone["oldest"]["time_ms"] == mark["time_ms"], gone
    for moment, why in (("x", "at: `x`: expected a revision like 1234"), ("0", "expected a revision"),
                        ("9999-01-01T00:00:00Z", "still to come"), ("", "expected a revision")):  # fmt: skip
        status, text = ask(bed, "explain", name=name, at=moment)
        assert status == 400 and why in text
    status, text = ask(bed, "explain", name=name, at=third + 1000)
    assert (status, text) == (400, f"revision {third + 1000} is still to come: etcd is at {third}\n")
    assert ask(bed, "explain", name="..", at=third)[0] == 400


def test_the_command(past_bed):
    bed = past_bed
    revision = bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    start(bed)
    bed.etcd.delete_prefix("/skydns/")
    wait_revision(bed, revision + 1)
    base = [str(BIN_DIR / "skydns"), f"-http-addr=127.0.0.1:{bed.http_port}"]

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([*base, *arguments], capture_output=True, text=True, timeout=60)

    done = run("-explain", "web.default.svc.cluster.local", "-at", str(revision))
    assert done.returncode == 0 and not done.stderr
    first, second = done.stdout.splitlines()[:2]
    assert first == f"web.default.svc.cluster.local. A: NOERROR, answers: 1; etcd revision {revision}"
    assert second.startswith(f"past       the answer as of {revision}: revision {revision}, by the mark of 20")
    assert second.endswith("; settings are those of today")
    assert f"revision {revision}\n" in done.stdout and "known for" not in done.stdout
    done = run("-explain", "web.default.svc.cluster.local", "-at", "100h")
    assert done.returncode == 1 and not done.stdout
    assert re.fullmatch(
        r"skydns: `100h` is gone: the oldest that can be had is revision 1, the oldest time 20\S+Z\n", done.stderr
    ), done.stderr
    done = run("-explain", "web.default.svc.cluster.local", "-at", "soon")
    assert done.returncode == 2 and "at: `soon`: expected a revision like 1234" in done.stderr
    done = run("-at", "10m")
    assert done.returncode == 2 and "flag -at: `10m`: expected -explain with it" in done.stderr


def test_what_differs_between_two_moments(past_bed):
    bed = past_bed
    key = f"{SVC}/default/web"
    first = bed.etcd.put(f"{key}/a", value("10.0.0.1"))
    start(bed)
    same = bed.etcd.put(f"{SVC}/default/db/a", value("10.0.0.9"))
    second = bed.etcd.put(f"{key}/b", value("10.0.0.2"))
    bed.etcd.delete_prefix(key)
    gone = bed.etcd.revision()
    wait_revision(bed, gone)

    def compare(moments: str) -> subprocess.CompletedProcess:
        command = [str(BIN_DIR / "skydns"), f"-http-addr=127.0.0.1:{bed.http_port}", "-explain",
                   "web.default.svc.cluster.local", "-at", moments]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    lines = compare(f"{first}..{second}").stdout.splitlines()
    assert lines[0] == f"< web.default.svc.cluster.local. A: NOERROR, answers: 1; etcd revision {first}"
    assert lines[1].startswith(f"< past       the answer as of {first}: revision {first}, ")
    rest = [line for line in lines if "etcd revision" not in line and "past       " not in line]
    assert rest == [
        "< web.default.svc.cluster.local. exists; keys at or below it: 1",
        "> answer     web.default.svc.cluster.local. 30 A 10.0.0.2",
        "> web.default.svc.cluster.local. exists; keys at or below it: 2",
        f">   + {key}/b = 10.0.0.2",
        f">       revision {second}",
    ]
    lines = compare(f"{second}..0s").stdout.splitlines()
    assert "< answer     web.default.svc.cluster.local. 30 A 10.0.0.1" in lines
    assert "> web.default.svc.cluster.local. does not exist: no key at or below it" in lines
    lines = compare(f"{first}..{same}").stdout.splitlines()
    assert len(lines) == 5 and lines[-1] == "no difference: both answers come from the same records"
    done = compare(f"{first}..{gone + 50}")
    assert (done.returncode, done.stdout) == (2, "") and f"revision {gone + 50} is still to come" in done.stderr
    bed.etcd.compact()
    done = compare(f"{first}..{gone}")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith(f"skydns: `{first}` is gone: ")
    for moments in ("5..", "..5"):
        done = compare(moments)
        assert done.returncode == 2 and f"flag -at: `{moments}`: expected two moments like 5..6" in done.stderr


def test_metrics(past_bed):
    """How many questions ended how, and how far back times are known."""
    bed = past_bed
    first = bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    start(bed)

    def metrics() -> dict[str, float]:
        lines = http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1].splitlines()
        told = (line.rpartition(" ") for line in lines if line.startswith("skydns_past_"))
        return {name.removeprefix("skydns_past_"): float(number) for name, _, number in told}

    before = metrics()
    assert before.pop("marks") == 1 and 0 <= before.pop("oldest_mark_seconds") < 60
    assert set(before.values()) == {0} and len(before) == 12
    wait_next_second()
    second = bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.2"))
    wait_revision(bed, second)
    name = "web.default.svc.cluster.local"
    asked = [
        (200, "explain", {"at": first}), (200, "explain", {"at": "0s"}), (410, "explain", {"at": "1h"}),
        (400, "explain", {"at": "x"}), (400, "explain", {"at": second + 100}), (200, "history", {}),
        (400, "history", {"since": "x"}),
    ]  # fmt: skip
    for status, page, arguments in asked:
        assert ask(bed, page, name=name, **arguments)[0] == status
    assert ask(bed, "explain", name="..", at=first)[0] == 400
    bed.etcd.compact()
    assert ask(bed, "explain", name=name, at=first)[0] == 410
    bed.etcd_program.kill()
    wait_until(lambda: ask(bed, "history", name=name)[0] == 503, "etcd to be away")
    after = metrics()
    assert after.pop("marks") == 2 and after.pop("oldest_mark_seconds") >= 0
    assert after.pop('questions_total{page="history",result="busy"}') + after.pop(
        'questions_total{page="history",result="failed"}'
    ) == 1
    assert {name: number for name, number in after.items() if number > 0} == {
        'questions_total{page="explain",result="answered"}': 2,
        'questions_total{page="explain",result="gone"}': 2,
        'questions_total{page="explain",result="bad"}': 3,
        'questions_total{page="history",result="answered"}': 1,
        'questions_total{page="history",result="bad"}': 1,
    }


NAMES = [
    *(f"{service}.{space}.svc.cluster.local" for service in ("web", "db", "alias", "far") for space in ("a", "b")),
    "a.svc.cluster.local", "svc.cluster.local", "cluster.local", "x1.web.a.svc.cluster.local",
    "_http._tcp.web.a.svc.cluster.local", "*.a.svc.cluster.local", "web.*.svc.cluster.local",
    "nothing.at.all.cluster.local", "ns.dns.cluster.local", "1.0.0.10.in-addr.arpa", "0.10.in-addr.arpa",
    "www.example.com", "below.wild.example.com", "chain.example.com", "example.net", "host.of.alias.test",
]  # fmt: skip
TYPES = ["A", "SRV", "TXT", "PTR", "NS", "SOA", "CNAME"]
KEYS = [
    *(f"{SVC}/{space}/{service}/{leaf}" for space in ("a", "b") for service in ("web", "db") for leaf in ("x1", "x2")),
    f"{SVC}/a/web", f"{SVC}/a/web/_tcp/_http/x1", f"{SVC}/a/alias", f"{SVC}/b/alias", f"{SVC}/a/far", f"{SVC}/b/far/y",
    "/skydns/local/cluster/dns/ns/n1", "/skydns/arpa/in-addr/10/0/0/1", "/skydns/com/example/www",
    "/skydns/com/example/wild/*", "/skydns/com/example/chain/3f2a", "/skydns/com/example/www2",
]  # fmt: skip


def random_value(rng: random.Random, key: str) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        return '{"host":5}'  # unusable
    if kind == 1:
        return '{"text":"hello"}'
    targets = ["web.a.svc.cluster.local.", "db.b.svc.cluster.local.", "alias.b.svc.cluster.local.",
               "alias.a.svc.cluster.local.", "www.example.com.", "elsewhere.test."]  # fmt: skip
    wants_name = "alias" in key or "far" in key or "arpa" in key or "example" in key
    host = rng.choice(targets) if wants_name and kind > 3 else f"10.0.{rng.randrange(4)}.{rng.randrange(250)}"
    record = {"host": host, "priority": 10, "weight": 10, "ttl": rng.choice((5, 30, 0))}
    if "_tcp" in key:
        record["port"] = rng.randrange(1, 1000)
    if key.endswith("3f2a"):
        record["targetstrip"] = 1
    if kind == 2:
        record["group"] = rng.choice("gh")
    return json.dumps(record)


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_it_is_the_answer_of_then(past_bed, schema):
    """Whatever was explained live at a revision is explained the same afterwards."""
    bed = past_bed
    rng = random.Random(f"at {schema}")
    bed.etcd.put(f"{SVC}/a/web/x1", value("10.0.0.1"))
    start(bed, f"-schema={schema}", "-overrides", "-reverse-zones=10.0.0.0/8", "-nameservers=127.0.0.1:1",
          "-rcache=0", "-alias=*.of.alias.test=web.a.svc.cluster.local")  # fmt: skip
    seen: dict[tuple[int, str, str], object] = {}
    for _ in range(60):
        for key in rng.sample(KEYS, rng.randrange(1, 4)):
            if rng.random() < 0.3:
                bed.etcd.delete(key)
            else:
                bed.etcd.put(key, random_value(rng, key))
        revision = bed.etcd.put("/skydns/local/cluster/beat", value("10.9.9.9"))
        wait_revision(bed, revision)
        for name in rng.sample(NAMES, 8):
            rdtype = rng.choice(TYPES) if rng.random() < 0.5 else "A"
            told = explain(bed, name, type=rdtype)
            assert told["revision"] == revision
            seen[revision, name, rdtype] = comparable(told)
    assert len(seen) > 400
    for (revision, name, rdtype), live in seen.items():
        past = comparable(explain(bed, name, type=rdtype, at=revision))
        assert past == live, (revision, name, rdtype)


def test_compacted(past_bed):
    bed = past_bed
    key = f"{SVC}/default/web/a"
    first = bed.etcd.put(key, value("10.0.0.1"))
    start(bed)
    second = bed.etcd.put(key, value("10.0.0.2"))
    wait_revision(bed, second)
    wait_next_second()
    bed.etcd.compact()
    name = "web.default.svc.cluster.local"
    status, text = ask(bed, "explain", name=name, at=first)
    assert status == 410
    oldest = json.loads(text)["oldest"]
    assert oldest["revision"] == second
    assert explain(bed, name, at=oldest["revision"])["answer"][0].endswith(" 10.0.0.2")
    told = explain(bed, name, at=oldest["time"])
    assert told["revision"] == second and told["at"]["mark"]["time"] == oldest["time"]
    status, text = ask(bed, "explain", name=name, at=first, text="")
    assert status == 410 and text.startswith(f"`{first}` is gone: the oldest that can be had is revision {second}, ")


def test_only_one_at_a_time_and_not_without_etcd(past_bed):
    bed = past_bed
    revision = bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    start(bed, "-no-rec", "-etcd-timeout=2s")
    name = "web.default.svc.cluster.local"
    wait_until(lambda: ask(bed, "explain", name=name, at=revision)[0] == 200, "an answer, once etcd is followed")
    bed.etcd_program.signal(signal.SIGSTOP)
    first, second, text = two_asked(bed, f"/explain?name={name}&at={revision}")
    assert (second.status, second.headers["Retry-After"]) == (503, "1")
    assert text == b"another question about the past is being answered; try again\n"
    # Live explanations and answers go on meanwhile.
    assert explain(bed, name)["status"] == "NOERROR"
    assert bed.dns.answers(name, "A") == ["10.0.0.1"]
    reply = first.getresponse()
    assert reply.status == 503 and reply.read().endswith(b"; try again\n")
    bed.etcd_program.signal(signal.SIGCONT)
    wait_until(lambda: ask(bed, "explain", name=name, at=revision)[0] == 200, "an answer, as etcd is back")
    bed.etcd_program.kill()
    wait_until(lambda: "etcd is away" in ask(bed, "explain", name=name, at=revision)[1], "a refusal")


def test_another_data_set_has_another_past(past_bed):
    """Marks of an etcd that lost its data do not lead into the history of the next one."""
    bed = past_bed
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    start(bed, "-no-rec", "-stale-max=1s")
    name = "web.default.svc.cluster.local"
    wait_next_second()
    moment = time.time()
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")
    bed.start_etcd()
    for n in range(20):
        last = bed.etcd.put(f"{SVC}/default/web/a", value(f"10.0.1.{n}"))
    bed.wait_answers(name, "A", ["10.0.1.19"])
    wait_until(lambda: ask(bed, "explain", name=name, at=last)[0] == 200, "the new past")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    status, text = ask(bed, "explain", name=name, at=at)
    assert status == 410, text
    assert explain(bed, name, at=3)["answer"][0].endswith(" 10.0.1.1")


def test_marks_outlive_the_process(snapshots):
    """With -snapshot, times of before the restart still have their revisions."""
    s = snapshots
    key = f"{SVC}/default/web/a"
    s.bed.etcd.put(key, value("10.0.0.1"))
    s.start()
    s.wait_followed()
    s.bed.http_port = s.watched.port
    mark = explain(s.bed, "web.default.svc.cluster.local", at="0s")["at"]["mark"]
    wait_next_second()
    s.skydns.stop()
    s.bed.etcd.put(key, value("10.0.0.2"))
    s.start()
    s.wait_followed()
    s.bed.http_port = s.watched.port
    told = explain(s.bed, "web.default.svc.cluster.local", at=mark["time"])
    assert told["at"]["mark"] == mark and told["answer"][0].endswith(" 10.0.0.1")
    assert explain(s.bed, "web.default.svc.cluster.local", at="0s")["answer"][0].endswith(" 10.0.0.2")

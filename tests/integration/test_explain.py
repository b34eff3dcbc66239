"""/cache and /explain of skydns, and skydns -explain."""

import http.client
import json
import re
import time

import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
from programs import http_get, reserve_port, wait_until
from prometheus import parse
from records import SVC, value
from upstream import PATIENT, Upstream


@pytest.fixture
def told_bed(bare_bed):
    """etcd and skydns with HTTP at bare_bed.http_port."""
    bare_bed.start_etcd()
    bare_bed.http_port = reserve_port()
    return bare_bed


def start(bed, *flags: str) -> None:
    bed.start_skydns(f"-http-addr=127.0.0.1:{bed.http_port}", *(flags or ("-no-rec",)))


def get_json(bed, path: str) -> dict:
    status, text = http_get(f"http://127.0.0.1:{bed.http_port}{path}")
    assert status == 200, text
    return json.loads(text)


def test_cache(told_bed):
    bed = told_bed
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.etcd.put("/skydns/local/cluster/all", json.dumps({
        "host": "FD00::1", "port": 80, "priority": 5, "weight": 6, "text": 'a "text"\u20ac', "mail": True,
        "ttl": 7, "targetstrip": 1, "group": "g"}))  # fmt: skip
    bed.etcd.put("/skydns/local/cluster/bad", '{"port":"80"}')
    bed.etcd.put("/skydns/local/cluster//x", "{}")
    start(bed)
    page = get_json(bed, "/cache")
    assert page["revision"] == bed.etcd.revision()
    records = {record.pop("key"): record for record in page["records"]}
    assert len(records) == len(page["records"]) == 2
    assert 0 <= records[f"{SVC}/default/web/a"].pop("known_s") < 60
    assert records[f"{SVC}/default/web/a"]["revision"] == 2
    del records["/skydns/local/cluster/all"]["known_s"]
    assert records["/skydns/local/cluster/all"] == {
        "host": "FD00::1", "port": 80, "priority": 5, "weight": 6, "text": 'a "text"\u20ac', "mail": True,
        "ttl": 7, "targetstrip": 1, "group": "g", "revision": 3}  # fmt: skip
    broken = {entry["key"]: entry for entry in page["broken"]}
    assert set(broken) == {"/skydns/local/cluster/bad", "/skydns/local/cluster//x"}
    assert "`port`" in broken["/skydns/local/cluster/bad"]["reason"]
    assert broken["/skydns/local/cluster/bad"]["revision"] == 4
    bed.etcd.put("/skydns/local/cluster/bad", '{"port":80}')
    bed.wait_answers("bad.cluster.local", "TXT", [])
    assert len(get_json(bed, "/cache")["records"]) == 3


def test_an_empty_cache(told_bed):
    start(told_bed)
    page = get_json(told_bed, "/cache")
    assert (page["records"], page["broken"]) == ([], [])


def test_cache_is_streamed_while_records_change(told_bed):
    """More than one chunk, read slowly: each record that existed all the time appears once."""
    bed = told_bed
    steady = {f"{SVC}/default/steady/{n}": value(f"10.1.{n // 250}.{n % 250}") for n in range(1500)}
    for key, text in steady.items():
        bed.etcd.put(key, text)
    start(bed)
    connection = http.client.HTTPConnection("127.0.0.1", bed.http_port, timeout=30)
    connection.request("GET", "/cache")
    reply = connection.getresponse()
    assert reply.getheader("Content-Length") is None
    text = reply.read(1000)
    for n in range(50):
        bed.etcd.put(f"{SVC}/default/new/{n}", value("10.2.0.1"))
    text += reply.read()
    connection.close()
    keys = [record["key"] for record in json.loads(text)["records"]]
    assert len(keys) == len(set(keys))
    assert set(steady) <= set(keys)


def test_search(told_bed):
    bed = told_bed
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.etcd.put(f"{SVC}/default/db/a", '{"host":"web.default.svc.cluster.local."}')
    start(bed)
    page = get_json(bed, "/search?q=WEB")
    assert (page["q"], page["scanned"], page["matches"], page["revision"]) == ("web", 2, 2, bed.etcd.revision())
    assert [(record["name"], record["match"], record["key"]) for record in page["records"]] == [
        ("a.web.default.svc.cluster.local.", "label", f"{SVC}/default/web/a"),
        ("a.db.default.svc.cluster.local.", "value", f"{SVC}/default/db/a"),
    ]
    assert page["records"][0]["revision"] == 2 and 0 <= page["records"][0]["known_s"] < 60
    assert get_json(bed, "/search?q=nothing")["records"] == []
    status, text = http_get(f"http://127.0.0.1:{bed.http_port}/search")
    assert status == 400 and "expected a part of" in text
    bed.etcd.put(f"{SVC}/default/website", value("10.0.0.2"))
    wait_until(lambda: get_json(bed, "/search?q=website")["matches"] == 1, "a new record is found")


def rules(page: dict, name: int = 0) -> dict[str, str]:
    """The outcome of each key of a name, by the last part of the key."""
    return {key["key"].rsplit("/", 1)[1]: key["rule"] for key in page["names"][name].get("keys", [])}


def explain(bed, name: str, rdtype: str = "A") -> dict:
    return get_json(bed, f"/explain?name={name}&type={rdtype}")


def test_what_became_of_each_key(told_bed):
    bed = told_bed
    at = "/skydns/local/cluster/x"
    for key, text in {
        "a": '{"host":"10.0.0.1","ttl":30}',
        "b": '{"host":"10.0.0.1"}',
        "c": '{"host":"fd00::1"}',
        "d": '{"host":"a.y.cluster.local."}',
        "e": '{"host":"nowhere.cluster.local."}',
        "f": '{"text":"only"}',
        "g": '{"host":"a..b"}',
        "h": '{"host":"10.0.0.8","port":"80"}',
        "i": '{"host":"10.0.0.1","port":81}',
        "_tcp/_http/j": '{"host":"x.cluster.local.","port":80}',
    }.items():
        bed.etcd.put(f"{at}/{key}", text)
    bed.etcd.put("/skydns/local/cluster/y/a", value("10.0.0.2"))
    start(bed)
    page = explain(bed, "X.cluster.local")
    assert page["status"] == "NOERROR" and page["revision"] == bed.etcd.revision()
    # b equals a; a and i differ only in the port, and one of them gave the record
    got = rules(page)
    assert {got.pop("a"), got.pop("i")} == {"gave", "duplicate"}
    assert got == {"b": "duplicate", "c": "family", "d": "gave", "e": "target", "f": "no-host",
                   "g": "bad-host", "j": "hidden"}  # fmt: skip
    assert {entry["key"] for entry in page["names"][0]["broken"]} == {f"{at}/g", f"{at}/h"}
    names = {entry["name"]: entry for entry in page["names"]}
    assert names["a.y.cluster.local."]["host_of"] == f"{at}/d"
    assert names["a.y.cluster.local."]["keys"][0]["rule"] == "gave"
    assert names["nowhere.cluster.local."]["exists"] is False
    assert all(key["known_s"] < 600 and key["revision"] > 1 for key in page["names"][0]["keys"])

    page = explain(bed, "x.cluster.local", "AAAA")
    assert rules(page)["c"] == "gave" and rules(page)["a"] == "family"
    page = explain(bed, "x.cluster.local", "TXT")
    assert rules(page)["f"] == "gave" and rules(page)["a"] == "no-text"
    page = explain(bed, "x.cluster.local", "MX")
    assert rules(page)["a"] == "no-mail"
    page = explain(bed, "d.x.cluster.local", "CNAME")
    assert rules(page) == {"d": "gave"}
    page = explain(bed, "x.cluster.local", "CNAME")
    assert rules(page)["d"] == "below"
    page = explain(bed, "a.x.cluster.local", "CNAME")
    assert rules(page) == {"a": "address"}
    page = explain(bed, "*.y.cluster.local", "HTTPS")
    assert page["answer" if "answer" in page else "authority"] and rules(page) == {"a": "type"}
    page = explain(bed, "_http._tcp.x.cluster.local", "SRV")
    assert rules(page) == {"j": "gave"} and page["names"][1]["name"] == "x.cluster.local."


def test_groups(told_bed):
    bed = told_bed
    for key, group in {"a": "g1", "sub/b": "g2", "sub/c": "g1"}.items():
        bed.etcd.put(f"/skydns/local/cluster/g/{key}", f'{{"host":"10.0.0.{ord(key[-1])}","group":"{group}"}}')
    start(bed)
    assert rules(explain(bed, "g.cluster.local")) == {"a": "gave", "b": "group", "c": "gave"}


@pytest.mark.parametrize(
    ("name", "closest", "near"),
    [
        ("wbe.default.svc.cluster.local", "default.svc.cluster.local.", ["web.default.svc.cluster.local."]),
        ("web.defualt.svc.cluster.local", "svc.cluster.local.", ["web.default.svc.cluster.local."]),
        ("wbe.defualt.svc.cluster.local", "svc.cluster.local.", ["web.default.svc.cluster.local."]),
        ("web.default.scv.cluster.local", "cluster.local.", ["web.default.svc.cluster.local."]),
        ("web.svc.default.cluster.local", "cluster.local.", ["web.default.svc.cluster.local."]),
        ("web.other.svc.cluster.local", "other.svc.cluster.local.", ["web.default.svc.cluster.local."]),
        ("web.default.cluster.local", "cluster.local.", ["web.default.svc.cluster.local."]),
        ("nothing.alike.cluster.local", "cluster.local.", []),
    ],
)
def test_near_misses(near_bed, name, closest, near):
    page = explain(near_bed, name)
    assert page["status"] == "NXDOMAIN"
    entry = page["names"][0]
    assert (entry["exists"], entry["closest"], entry["near"]) == (False, closest, near)


@pytest.fixture(scope="module")
def near_bed(tmp_path_factory):
    from bed import Bed

    bed = Bed(tmp_path_factory.mktemp("near"))
    bed.start_etcd()
    bed.http_port = reserve_port()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.etcd.put(f"{SVC}/other/db/a", value("10.0.0.2"))
    bed.etcd.put(f"{SVC}/default/ext", '{"host":"db.example.com."}')
    bed.etcd.put("/skydns/arpa/in-addr/10/0/0/1", '{"host":"web.default.svc.cluster.local."}')
    start(bed, "-nameservers=127.0.0.1:9", "-rtimeout=100ms")
    yield bed
    bed.close()


@pytest.mark.parametrize(
    ("name", "rdtype", "status", "why"),
    [
        ("cluster.local", "SOA", "NOERROR", "configuration"),
        ("ns.dns.cluster.local", "A", "NOERROR", "own name"),
        ("www.example.com", "A", "not from here", "an upstream is queried"),
        ("single", "A", "NXDOMAIN", "-ndots"),
        ("single", "DS", "not from here", "an upstream is queried"),
        ("cluster.local", "ANY", "REFUSED", "-any"),
        ("1.0.0.10.in-addr.arpa", "PTR", "NOERROR", "reverse name"),
        ("2.0.0.10.in-addr.arpa", "PTR", "not from here", "an upstream is queried"),
    ],
)
def test_answers_without_keys(near_bed, name, rdtype, status, why):
    page = explain(near_bed, name, rdtype)
    assert page["status"] == status and why in page["why"], page


def test_what_nameservers_are_asked(near_bed):
    page = explain(near_bed, "ext.default.svc.cluster.local")
    assert page["external"] == ["db.example.com. A"]
    assert rules(page) == {"ext": "external"}


def test_questions_that_cannot_be_read(near_bed):
    for query in ("", "?name=a..b", "?name=a&type=NOPE", "?name=a&type=TYPE70000"):
        status, text = http_get(f"http://127.0.0.1:{near_bed.http_port}/explain{query}")
        assert status == 400 and "expected one like" in text, (query, text)


def run_explain(bed, *arguments: str):
    client = bed.command("skydns", f"-http-addr=127.0.0.1:{bed.http_port}", "-explain", *arguments)
    client.start()
    return client.wait(), "\n".join(client.lines)


def test_the_command(near_bed):
    status, text = run_explain(near_bed, "web.default.svc.cluster.local")
    assert status == 0
    for line in [
        "web.default.svc.cluster.local. A: NOERROR, answers: 1; etcd revision",
        "answer     web.default.svc.cluster.local. ",
        "web.default.svc.cluster.local. exists; keys at or below it: 1",
        f"  + {SVC}/default/web/a = 10.0.0.1",
        "      revision 2, known for ",
    ]:
        assert line in text, text
    status, text = run_explain(near_bed, "wbe.default.svc.cluster.local", "srv")
    assert status == 0
    assert "SRV: NXDOMAIN" in text and "did you mean: web.default.svc.cluster.local." in text
    status, text = run_explain(near_bed, "a..b")
    assert status == 2 and text == "skydns: name `a..b`: expected one like web.default.svc.cluster.local"


def test_the_command_without_a_server(bare_bed):
    bare_bed.http_port = reserve_port()
    status, text = run_explain(bare_bed, "web.cluster.local")
    assert status == 1 and "-http-addr must be that of a running skydns" in text
    assert f"127.0.0.1:{bare_bed.http_port}" in text


def test_the_schema_of_kubernetes(told_bed):
    bed = told_bed
    at = f"{SVC}/default/web"
    bed.etcd.put(f"{at}/a", value("10.0.0.1"))
    bed.etcd.put(f"{at}/_tcp/_http/a", '{"host":"web.default.svc.cluster.local.","port":80}')
    start(bed, "-no-rec", "-schema=kubernetes", "-pods=insecure")
    keys = {key["key"]: key["rule"] for key in explain(bed, "default.svc.cluster.local")["names"][0]["keys"]}
    assert keys == {f"{at}/a": "schema", f"{at}/_tcp/_http/a": "hidden"}
    keys = {key["key"]: key["rule"] for key in explain(bed, "web.default.svc.cluster.local", "SRV")["names"][0]["keys"]}
    assert keys == {f"{at}/a": "schema", f"{at}/_tcp/_http/a": "gave"}
    keys = {key["key"]: key["rule"] for key in explain(bed, "web.default.svc.cluster.local", "AAAA")["names"][0]["keys"]}
    assert keys == {f"{at}/a": "family", f"{at}/_tcp/_http/a": "hidden"}
    bed.etcd.put(f"{SVC}/other/alias", value("default.svc.cluster.local"))
    bed.wait_answers("alias.other.svc.cluster.local", "A", ["default.svc.cluster.local."])
    target = explain(bed, "alias.other.svc.cluster.local")["names"][1]
    assert {key["key"]: key["rule"] for key in target["keys"]} == {f"{at}/a": "schema", f"{at}/_tcp/_http/a": "hidden"}
    for name, rdtype, why in (
        ("dns-version.cluster.local", "TXT", "version"),
        ("10-0-0-1.x.pod.cluster.local", "A", "-pods=insecure"),
    ):
        page = explain(bed, name, rdtype)
        assert why in page["why"] and page["answer"] and page["names"] == []


# ---- Names of other domains ----


def foreign_reply(query: dns.message.Message) -> dns.message.Message | None:
    """An address for five minutes; names beginning with `now.` have TTL 0, `nx.` does not exist."""
    name = query.question[0].name
    reply = dns.message.make_response(query, recursion_available=True)
    if name.labels[0] == b"nx":
        reply.set_rcode(dns.rcode.NXDOMAIN)
        zone = dns.name.Name(name.labels[1:])
        soa = f"ns.{zone} h.{zone} 1 7200 1800 86400 60"
        reply.authority.append(dns.rrset.from_text(zone, 300, "IN", "SOA", soa))
    else:
        ttl_s = 0 if name.labels[0] == b"now" else 300
        reply.answer.append(dns.rrset.from_text(name, ttl_s, "IN", "A", "192.0.2.7"))
    return reply


@pytest.fixture(scope="module")
def foreign_bed(tmp_path_factory):
    """With general nameservers, one of a stub zone, a dead one, and a hosts file."""
    from bed import Bed

    bed = Bed(tmp_path_factory.mktemp("foreign"))
    general, stub = Upstream(foreign_reply), Upstream(foreign_reply)
    bed.general, bed.stub = f"127.0.0.1:{general.port}", f"127.0.0.1:{stub.port}"
    bed.dead = f"127.0.0.1:{reserve_port()}"
    bed.start_etcd()
    bed.http_port = reserve_port()
    bed.etcd.put(f"{SVC}/default/ext", '{"host":"db.example.com."}')
    hosts = bed.folder / "hosts"
    hosts.write_text("192.0.2.9 printer.office printer\n")
    flags = [f"-nameservers={bed.general}", f"-stub=acme.test={bed.stub}", f"-stub=gone.test={bed.dead}"]
    start(bed, *flags, f"-hosts={hosts}", PATIENT)
    bed.wait_answers("ext.default.svc.cluster.local", "A", ["192.0.2.7", "db.example.com."])
    yield bed
    bed.close()
    general.close()
    stub.close()


def keep(bed, name: str, right: list[str]) -> None:
    """Has it kept: a client has its reply a moment earlier."""
    assert bed.dns.answers(name) == right
    wait_until(lambda: explain(bed, name)["source"] == "cache", f"{name} is kept")


def counted(bed) -> dict[str, float]:
    """What the cache counts."""
    page = parse(http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1])
    return {
        f"{name}{labels}": value
        for name, metric in page.items()
        if name.startswith("skydns_cache_") and name.endswith("_total")
        for labels, value in metric.samples.items()
    }


@pytest.mark.parametrize(("name", "source", "server"), [
    ("www.example.org", "nameserver", "general"),
    ("www.acme.test", "stub", "stub"),
])  # fmt: skip
def test_a_foreign_name_before_and_after_it_is_kept(foreign_bed, name, source, server):
    bed = foreign_bed
    page = explain(bed, name)
    assert (page["source"], page["nameserver"], page["status"]) == (source, getattr(bed, server), "not from here")
    assert "kept_s" not in page and "ttl_s" not in page
    keep(bed, name, ["192.0.2.7"])
    before = counted(bed)
    page = explain(bed, name.upper())
    assert (page["source"], page["nameserver"], page["status"]) == ("cache", getattr(bed, server), "NOERROR")
    assert 0 <= page["kept_s"] < 60 and 240 < page["ttl_s"] <= 300 and page["kept"] == "fresh"
    [record] = page["answer"]
    assert re.fullmatch(rf"{re.escape(name)}\. \d+ A 192\.0\.2\.7", record, re.I)
    assert counted(bed) == before  # it was not asked for by a client
    assert page.get("zone") == ("acme.test." if source == "stub" else None)
    assert page["nameservers"] == [{"address": getattr(bed, server), "state": "ok", "asked": True}]


def test_a_kept_denial(foreign_bed):
    keep(foreign_bed, "nx.acme.test", ["NXDOMAIN"])
    page = explain(foreign_bed, "nx.acme.test")
    assert (page["source"], page["status"]) == ("cache", "NXDOMAIN") and "answer" not in page
    assert 0 < page["ttl_s"] <= 60
    assert len(page["authority"]) == 1 and " SOA " in page["authority"][0]


def test_why_a_reply_is_not_kept(foreign_bed):
    assert foreign_bed.dns.answers("now.example.org") == ["192.0.2.7"]
    wait_until(lambda: "not_kept" in explain(foreign_bed, "now.example.org"), "it is known why")
    page = explain(foreign_bed, "now.example.org")
    assert page["source"] == "nameserver"
    assert page["not_kept"]["reason"] == "no-time" and page["not_kept"]["nameserver"] == foreign_bed.general


def test_a_dead_stub_zone(foreign_bed):
    bed = foreign_bed
    bed.wait_answers("www.gone.test", "A", ["SERVFAIL"])
    page = explain(bed, "www.gone.test")
    # The question is asked again after a second.
    assert page["source"] in ("cache", "stub") and page["zone"] == "gone.test."
    wait_until(lambda: bed.dns.answers("more.gone.test") == ["SERVFAIL"] and
               explain(bed, "other.gone.test")["nameservers"][0]["state"] == "dead",
               "the nameserver is dead")  # fmt: skip
    page = http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1]
    assert 'skydns_stub_nameservers_dead{zone="gone.test."} 1\n' in page
    assert 'skydns_stub_nameservers_dead{zone="acme.test."} 0\n' in page


def test_a_name_of_a_hosts_file(foreign_bed):
    page = explain(foreign_bed, "printer.office")
    assert (page["source"], page["status"], page["ttl_s"]) == ("hosts", "NOERROR", 30)
    assert page["answer"] == ["printer.office. 30 A 192.0.2.9"] and "-hosts" in page["why"]
    assert explain(foreign_bed, "9.2.0.192.in-addr.arpa", "PTR")["source"] == "hosts"


def test_a_kept_target(foreign_bed):
    ask = "ext.default.svc.cluster.local"
    wait_until(lambda: explain(foreign_bed, ask)["targets"][0]["source"] == "cache", "the target is kept")
    [target] = explain(foreign_bed, "ext.default.svc.cluster.local")["targets"]
    assert (target["name"], target["source"], target["nameserver"]) == ("db.example.com.", "cache", foreign_bed.general)


def test_the_command_shows_a_kept_reply(foreign_bed):
    keep(foreign_bed, "www.acme.test", ["192.0.2.7"])
    status, text = run_explain(foreign_bed, "www.acme.test")
    assert status == 0
    for line in [
        "www.acme.test. A: NOERROR, answers: 1; etcd revision",
        "cached     for ",
        "\nanswer     www.acme.test. ",
        "\nstub zone  acme.test., from the flag",
        f"\nupstream   {foreign_bed.stub}",
    ]:
        assert line in text, text


MISTYPED = [
    "web.default.svc.cluster.locl",
    "web.default.svc.clustr.local",
    "web.defualt.svc.cluster.local",
    "web.default.scv.cluster.local",
    "web.svc.default.cluster.local",
    "wbe.default.svc.cluster.local",
    "web.default.cluster.local",
    "web.default.svc",
    "web.default.svc.cluster.local.default.svc.cluster.local",
    "web.other.svc.cluster.local",
]


@pytest.mark.parametrize("name", MISTYPED)
def test_suggestions_resolve(near_bed, name):
    page = explain(near_bed, name)
    near = page["near"] if "near" in page else page["names"][0]["near"]
    assert near == ["web.default.svc.cluster.local."]
    assert [near_bed.dns.answers(right) for right in near] == [["10.0.0.1"]]
    status, text = run_explain(near_bed, name, "A")
    assert status == 0 and "did you mean: web.default.svc.cluster.local.\n" in text + "\n"


def test_suggestions_have_records_of_the_type(near_bed):
    """`web` has no text, so there is nothing to suggest."""
    for name in MISTYPED:
        page = explain(near_bed, name, "TXT")
        assert not page.get("near") and not any(entry.get("near") for entry in page["names"]), page


def test_the_order_of_the_command_line(near_bed):
    name = "web.default.svc.cluster.local"
    http = f"-http-addr=127.0.0.1:{near_bed.http_port}"
    for arguments in [
        ["-explain", name, http],
        ["-explain", name, "A", http],
        [http, "-explain", name, "A"],
        ["-explain", name, "A", "-client", "10.0.0.9", http],
        [http, "-explain", name, "-client", "10.0.0.9", "A"],
        ["-client=10.0.0.9", f"-explain={name}", http, "a"],
    ]:
        client = near_bed.command("skydns", *arguments)
        client.start()
        assert client.wait() == 0 and f"{name}. A: NOERROR" in "\n".join(client.lines), (arguments, client.lines)
    client = near_bed.command("skydns", http, "-explain", name, "A", "AAAA")
    client.start()
    assert client.wait() == 2 and "unexpected argument `AAAA`" in "\n".join(client.lines)


def test_the_search_list_of_a_short_name(near_bed):
    search = explain(near_bed, "web")["search"]
    assert (search["namespace"], search["assumed"]) == ("default", True)
    assert [(entry["name"], entry["outcome"]) for entry in search["names"]] == [
        ("web.default.svc.cluster.local.", "answers"),
        ("web.svc.cluster.local.", "no-name"),
        ("web.cluster.local.", "no-name"),
        ("web.", "too-short"),
    ]
    for entry in search["names"][:3]:
        expected = ["10.0.0.1"] if entry["outcome"] == "answers" else ["NXDOMAIN"]
        assert near_bed.dns.answers(entry["name"]) == expected
    assert "search" not in explain(near_bed, "web.default.svc.cluster.local")


def test_while_etcd_is_away(told_bed):
    bed = told_bed
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    start(bed)
    bed.wait_answers("web.default.svc.cluster.local", "A", ["10.0.0.1"])

    def etcd() -> dict:
        return explain(bed, "web.default.svc.cluster.local")["etcd"]

    wait_until(lambda: etcd() == {"connected": True, "age_s": 0}, "etcd has just been heard")
    bed.etcd_program.kill()
    wait_until(lambda: not etcd()["connected"], "etcd is away")
    page = explain(bed, "web.default.svc.cluster.local")
    assert page["status"] == "NOERROR" and page["domain"] == "cluster.local."
    assert page["etcd"]["away_s"] >= 0 and page["etcd"]["age_s"] >= 0 and page["etcd"]["reason"]
    status, text = run_explain(bed, "web.default.svc.cluster.local")
    assert status == 0
    assert re.search(r"^etcd       away for .+: .+; answers come from records of .+ ago$", text, re.M), text


def test_before_etcd_was_read(bare_bed):
    bare_bed.http_port = reserve_port()
    bare_bed.start_skydns(f"-http-addr=127.0.0.1:{bare_bed.http_port}", "-no-rec", is_waiting=False)
    bare_bed.skydns.wait_line("skydns started")
    page = explain(bare_bed, "web.cluster.local")
    assert page["etcd"]["connected"] is False and page["etcd"]["away_s"] >= 0 and "age_s" not in page["etcd"]
    assert page["status"] == "SERVFAIL" and page["why"] == "nothing has been read from etcd yet"


def test_clients_that_may_not_ask(told_bed):
    bed = told_bed
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    nameserver = Upstream(foreign_reply)
    try:
        start(bed, "-allow=127.0.0.0/8,10.1.0.0/16", "-allow-recursion=127.0.0.0/8",
              f"-nameservers=127.0.0.1:{nameserver.port}", PATIENT)  # fmt: skip
        ours, foreign = "web.default.svc.cluster.local", "www.example.org"

        def as_client(name: str, address: str) -> dict:
            return get_json(bed, f"/explain?name={name}&client={address}")

        page = as_client(ours, "10.1.0.7")
        assert page["status"] == "NOERROR"
        assert (page["client"]["allowed"], page["client"]["allowed_by"]) == (True, "10.1.0.0/16")
        assert "recursion" not in page["client"]
        page = as_client(ours, "10.2.0.7")
        assert page["status"] == "REFUSED" and page["client"]["allowed"] is False
        page = as_client(foreign, "10.1.0.7")
        assert page["status"] == "REFUSED" and page["client"]["recursion"] is False
        page = as_client(foreign, "127.0.0.1")
        assert page["status"] == "not from here"
        assert (page["client"]["recursion"], page["client"]["recursion_by"]) == (True, "127.0.0.0/8")
        [server] = page["nameservers"]
        assert (server["state"], server["asked"]) == ("ok", False)
        assert bed.dns.answers(foreign) == ["192.0.2.7"]
        status, text = run_explain(bed, foreign, "A", "-client", "10.1.0.7")
        assert status == 0 and "in no network of -allow-recursion" in text and "A: REFUSED" in text
        assert f"upstream   127.0.0.1:{nameserver.port}, up" in text
    finally:
        nameserver.close()


def test_what_a_client_has_left_of_its_rate(told_bed):
    bed = told_bed
    start(bed, "-no-rec", "-rate=1/50")
    get = "/explain?name=x.cluster.local&client="
    assert get_json(bed, f"{get}10.0.0.9")["client"]["left"] == 50
    for _ in range(45):
        bed.dns.answers("x.cluster.local")
    client = get_json(bed, f"{get}127.0.0.1")["client"]
    assert (client["rate"], client["burst"]) == (1, 50)
    assert 0 <= client["left"] < 50  # for 45 seconds
    assert " are left now" in run_explain(bed, "x.cluster.local", "-client", "127.0.0.1")[1]


def test_a_nameserver_that_is_down(foreign_bed):
    bed = foreign_bed
    wait_until(lambda: bed.dns.answers("www.gone.test") == ["SERVFAIL"] and
               explain(bed, "www.gone.test")["nameservers"][0]["state"] == "dead", "the nameserver is dead")  # fmt: skip
    [server] = explain(bed, "www.gone.test")["nameservers"]
    assert server["address"] == bed.dead and server["asked"] is True
    assert server["since_s"] >= 0 and server["failed_s"] >= 0
    status, text = run_explain(bed, "www.gone.test")
    assert status == 0
    assert re.search(rf"^upstream   {bed.dead}, does not respond \(for .+\), last failed .+ ago$", text, re.M), text


def test_the_latest_change(told_bed):
    bed = told_bed
    bed.etcd.put(f"{SVC}/default/old/a", value("10.0.0.1"))
    start(bed)
    name = "web.default.svc.cluster.local"
    assert "change" not in explain(bed, "old.default.svc.cluster.local")["names"][0]["keys"][0]
    before_ms = time.time() * 1000
    bed.etcd.put(f"{SVC}/default/web", value("10.0.0.2"))
    bed.wait_answers(name, "A", ["10.0.0.2"])

    def change() -> dict:
        entry = explain(bed, name)["names"][0]
        return entry["keys"][0].get("change", {}) if entry["exists"] else entry.get("change", {})

    wait_until(lambda: "took_us" in change(), "all threads see it")
    put = change()
    assert (put["kind"], put["key"], put["revision"]) == ("put", f"{SVC}/default/web", bed.etcd.revision())
    assert before_ms - 1000 < put["time_ms"] < time.time() * 1000 + 1000 and put["took_us"] >= 0
    bed.etcd.delete(f"{SVC}/default/web")
    bed.wait_answers(name, "A", ["NXDOMAIN"])
    assert change()["kind"] == "delete" and change()["name"] == f"{name}."
    status, text = run_explain(bed, name)
    assert status == 0 and "its key was deleted " in text
    wait_until(lambda: "skydns_change_seconds_count 2\n" in
               http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1], "both are measured")  # fmt: skip

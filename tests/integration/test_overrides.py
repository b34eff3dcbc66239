"""External names that lead inside: overrides in etcd (-overrides) and aliases (-alias), beside an upstream that says of
each name what the test tells it."""

import json

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from dns_client import TIMEOUT_S
from programs import http_get, reserve_port, wait_until
from records import SVC, value
from scripted import Nameserver, reply, soa
from upstream import PATIENT

EXAMPLE = "/skydns/com/example"
CLEVER = dns.flags.RD | dns.flags.CD | dns.flags.AD
NXDOMAIN = reply(rcode="NXDOMAIN", authority=(soa("example.com."),))


def note(host: str, strip: int = 1, **more) -> str:
    """As external-dns writes it."""
    text = '"heritage=external-dns,external-dns/owner=default"'
    return json.dumps({"host": host, "text": text, "targetstrip": strip} | more)


@pytest.fixture
def upstream():
    server = Nameserver()
    yield server
    server.close()


@pytest.fixture
def start(bare_bed, upstream):
    """Starts etcd with these keys, and skydns with -overrides and these flags."""

    def start(keys: dict[str, str], *flags: str, schema: str = "kubernetes"):
        bed = bare_bed
        bed.http = reserve_port()
        bed.start_etcd()
        for key, text in ({f"{SVC}/prod/web/w": value("10.0.0.1")} | keys).items():
            bed.etcd.put(key, text)
        bed.start_skydns(
            *("-overrides", f"-schema={schema}", f"-nameservers=127.0.0.1:{upstream.port}", PATIENT),
            *(f"-http-addr=127.0.0.1:{bed.http}", *flags),
        )
        return bed

    return start


WEB = "web.prod.svc.cluster.local."


def shown(bed, name: str, rdtype: str = "A", **options) -> tuple[str, int | None, list[str]]:
    """The rcode, the TTL, and the data, of which no other name is the owner."""
    answer = bed.dns.query(name, rdtype, **options)
    data = []
    for rrset in answer.answer:
        assert rrset.name == answer.question[0].name
        data += [f"{dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()}" for rdata in rrset]
    assert len({rrset.ttl for rrset in answer.answer}) <= 1
    ttl_s = answer.answer[0].ttl if answer.answer else None
    return dns.rcode.to_text(answer.rcode()), ttl_s, sorted(data)


@pytest.mark.parametrize("schema", ["kubernetes", "skydns"])
@pytest.mark.parametrize("tcp", [False, True])
def test_owners_and_types(start, upstream, schema, tcp):
    bed = start(
        {
            f"{EXAMPLE}/www/3f2a": note("192.0.2.1"),
            f"{EXAMPLE}/www/9c1b": note("192.0.2.2", ttl=60),
            f"{EXAMPLE}/six": value("fd00::1"),
            f"{EXAMPLE}/deep/a/b/_c": note("192.0.2.3", strip=3),
            f"{EXAMPLE}/below/x": value("192.0.2.4"),
            f"{EXAMPLE}/app/7d": note(WEB, ttl=10),
            f"{EXAMPLE}/rr": json.dumps({"rr": ['CAA 0 issue "ca.test"', "HTTPS 1 ."], "ttl": 99}),
            f"{EXAMPLE}/txt": json.dumps({"text": "hello"}),
            f"{EXAMPLE}/far": value("lb.example.net."),
        },
        schema=schema,
    )
    upstream.tell("lb.example.net.", "A", reply("lb.example.net. 25 CNAME z.example.net.", "z.example.net. 300 A 198.51.100.9"))
    for name in ("www.example.com.", "six.example.com.", "app.example.com.", "rr.example.com."):
        for rdtype in ("MX", "TXT", "CAA"):
            upstream.tell(name, rdtype, NXDOMAIN)
    ask = lambda name, rdtype="A": shown(bed, name, rdtype, tcp=tcp)  # noqa: E731
    assert ask("WWW.example.com") == ("NOERROR", 30, ["A 192.0.2.1", "A 192.0.2.2"])
    assert ask("six.example.com", "AAAA") == ("NOERROR", 30, ["AAAA fd00::1"])
    assert ask("deep.example.com") == ("NOERROR", 30, ["A 192.0.2.3"])
    assert ask("app.example.com") == ("NOERROR", 10, ["A 10.0.0.1"])
    assert ask("x.below.example.com") == ("NOERROR", 30, ["A 192.0.2.4"])
    assert ask("rr.example.com", "CAA") == ("NOERROR", 99, ['CAA 0 issue "ca.test"'])
    assert ask("txt.example.com", "TXT") == ("NOERROR", 30, ['TXT "hello"'])
    assert ask("far.example.com") == ("NOERROR", 25, ["A 198.51.100.9"])
    # No data, without a word of the upstream.
    for name, rdtype in (("www.example.com", "AAAA"), ("six.example.com", "A"), ("app.example.com", "AAAA")):
        answer = bed.dns.query(name, rdtype, tcp=tcp)
        assert answer.rcode() == 0 and not answer.answer
        assert answer.authority[0].rdtype == dns.rdatatype.SOA and answer.authority[0][0].minimum in (5, 60)
        assert answer.authority[0].ttl == answer.authority[0][0].minimum
    assert {name.to_text() for name, _ in upstream.counts()} <= {"lb.example.net.", "."}
    # Types that it does not have: the upstream's, for which the name exists; a note is no TXT.
    for name, rdtype in (("www.example.com", "TXT"), ("www.example.com", "MX"), ("app.example.com", "CAA")):
        for _ in range(2):  # asked, and from the cache
            assert bed.dns.query(name, rdtype, tcp=tcp).rcode() == 0
        assert upstream.asked(f"{name}.", rdtype) == 1
    upstream.tell("six.example.com.", "MX", reply("six.example.com. 60 MX 5 mail.example.com."))
    assert ask("six.example.com", "MX") == ("NOERROR", 60, ["MX 5 mail.example.com."])
    # Above owners, and below them, nothing is overridden.
    for name in ("below.example.com", "3f2a.www.example.com", "b.deep.example.com", "example.com"):
        assert ask(name) == ("NOERROR", 300, ["A 192.0.2.7"]), name
    flags = bed.dns.query("www.example.com", tcp=tcp).flags
    assert flags & dns.flags.RA and not flags & (dns.flags.AA | dns.flags.AD)
    flags = bed.dns.query("www.example.com", tcp=tcp, want_dnssec=True, flags=CLEVER).flags
    assert flags & dns.flags.CD and not flags & (dns.flags.AA | dns.flags.AD)


def test_changes(start, upstream):
    """Followed like any record; the owner moves with targetstrip; a running server turns them on and off."""
    bed = start({f"{EXAMPLE}/www/a": note("192.0.2.1")})
    assert bed.dns.answers("www.example.com") == ["192.0.2.1"]
    bed.etcd.put(f"{EXAMPLE}/www/b", note("192.0.2.2"))
    bed.wait_answers("www.example.com", "A", ["192.0.2.1", "192.0.2.2"])
    bed.etcd.put(f"{EXAMPLE}/www/a", note("192.0.2.1", strip=0))
    bed.wait_answers("www.example.com", "A", ["192.0.2.2"])
    assert bed.dns.answers("a.www.example.com") == ["192.0.2.1"]
    bed.etcd.delete(f"{EXAMPLE}/www/b")
    bed.wait_answers("www.example.com", "A", ["192.0.2.7"])
    bed.etcd.put("/skydns/config", '{"overrides":false}')
    bed.wait_answers("a.www.example.com", "A", ["192.0.2.7"])
    bed.etcd.put("/skydns/config", '{"ttl":45}')
    bed.wait_answers("a.www.example.com", "A", ["192.0.2.1"])
    wait_until(lambda: shown(bed, "a.www.example.com")[1] == 45, "the document's ttl")
    bed.etcd.put("/skydns/config", '{"domain":"cluster.local,example.com"}')
    wait_until(lambda: bed.dns.query("a.www.example.com").flags & dns.flags.AA, "a domain of ours")
    assert "skydns_overrides 0\n" in http_get(f"http://127.0.0.1:{bed.http}/metrics")[1]


def test_chains(start, upstream):
    """Overrides lead to overrides, and to aliases of ours; what never ends is SERVFAIL."""
    keys = {f"{EXAMPLE}/n{i}": value(f"n{i + 1}.example.com.") for i in range(1, 12)}
    keys |= {f"{EXAMPLE}/n12": value("192.0.2.12"), f"{EXAMPLE}/ring": value("ring.example.com.")}
    keys |= {f"{EXAMPLE}/r1": value("r2.example.com."), f"{EXAMPLE}/r2": value("r1.example.com.")}
    keys |= {f"{EXAMPLE}/out": value("ext.prod.svc.cluster.local."), f"{SVC}/prod/ext": value("app.example.com.")}
    keys |= {f"{EXAMPLE}/app": note(WEB, strip=0)}
    bed = start(keys)
    assert shown(bed, "n4.example.com") == ("NOERROR", 30, ["A 192.0.2.12"])  # through eight names
    for name in ("n3.example.com", "ring.example.com", "r1.example.com"):
        answer = bed.dns.query(name, use_edns=0)
        assert dns.rcode.to_text(answer.rcode()) == "SERVFAIL", name
        assert [option.code for option in answer.options if option.otype == 15] == [0]
    assert shown(bed, "out.example.com") == ("NOERROR", 30, ["A 10.0.0.1"])
    # A name of ours that leads outside finds the override there.
    answer = bed.dns.query("ext.prod.svc.cluster.local")
    assert [rrset.to_text().split()[-1] for rrset in answer.answer] == ["app.example.com.", "10.0.0.1"]
    # A target without the name: the override exists, without data.
    bed.etcd.put(f"{EXAMPLE}/gone", value("gone.prod.svc.cluster.local."))
    wait_until(lambda: bed.dns.query("gone.example.com").authority, "no data")
    assert bed.dns.query("gone.example.com").rcode() == 0


def test_wildcards(start, upstream):
    """RFC 4592; the longer of wildcard and stub zone."""
    stub = Nameserver()
    keys = {
        f"{EXAMPLE}/apps/*": value(WEB),
        f"{EXAMPLE}/apps/own": value("192.0.2.1"),
        f"{EXAMPLE}/apps/a/b": value("192.0.2.2"),
        "/skydns/com/*": value("192.0.2.3"),
    }
    bed = start(keys, f"-stub=stub.apps.example.com=127.0.0.1:{stub.port}", f"-stub=org=127.0.0.1:{stub.port}")
    stub.tell("x.stub.apps.example.com.", "A", reply("x.stub.apps.example.com. 60 A 203.0.113.1"))
    for name in ("x.apps.example.com", "y.x.apps.example.com", "*.apps.example.com"):
        assert shown(bed, name) == ("NOERROR", 30, ["A 10.0.0.1"]), name
        assert shown(bed, name, "AAAA") == ("NOERROR", None, []), name
    assert bed.dns.answers("own.apps.example.com") == ["192.0.2.1"]
    assert bed.dns.answers("b.a.apps.example.com") == ["192.0.2.2"]
    for name in ("x.own.apps.example.com", "a.apps.example.com", "x.a.apps.example.com", "apps.example.com", "com"):
        if name != "com":
            assert bed.dns.answers(name) == ["192.0.2.7"], name
    assert bed.dns.answers("other.com") == ["192.0.2.3"]
    assert bed.dns.answers("x.stub.apps.example.com") == ["203.0.113.1"]
    stub.close()


def test_precedence(start, upstream, bare_bed):
    """-alias, hosts files, overrides; neither -ndots nor -no-rec applies."""
    hosts = bare_bed.folder / "hosts"
    hosts.write_text("198.18.0.1 a.example.com h.example.com\n")
    keys = {f"{EXAMPLE}/{name}": value("192.0.2.1") for name in ("a", "h", "o")} | {"/skydns/short": value("192.0.2.9")}
    bed = start(keys, "-alias=a.example.com=web.prod.svc.cluster.local", f"-hosts={hosts}", "-no-rec")
    assert shown(bed, "a.example.com") == ("NOERROR", 30, ["A 10.0.0.1"])
    assert bed.dns.answers("h.example.com") == ["198.18.0.1"]
    assert bed.dns.answers("o.example.com") == ["192.0.2.1"]
    assert bed.dns.answers("short.") == ["192.0.2.9"]
    assert shown(bed, "o.example.com", "MX") == ("NOERROR", None, [])
    assert dns.rcode.to_text(bed.dns.query("p.example.com").rcode()) == "SERVFAIL"


def test_aliases(start, upstream):
    bed = start(
        {f"{SVC}/prod/six/s": value("fd00::6")},
        "-alias=app.example.com=web.prod.svc.cluster.local",
        "-alias=*.example.com=six.prod.svc.cluster.local",
        "-alias=*.ns.example.net=*.svc.cluster.local",
        "-alias=far.example.net=lb.example.org",
        "-alias=a.example.net=b.example.net",
        "-alias=b.example.net=a.example.net",
    )
    upstream.tell("lb.example.org.", "A", reply("lb.example.org. 7 A 198.51.100.1", "lb.example.org. 7 A 198.51.100.2"))
    upstream.tell("app.example.com.", "MX", reply("app.example.com. 60 MX 5 mail.example.com."))
    upstream.tell("app.example.com.", "TXT", NXDOMAIN)
    assert shown(bed, "app.example.com") == ("NOERROR", 30, ["A 10.0.0.1"])
    assert shown(bed, "x.y.example.com", "AAAA") == ("NOERROR", 30, ["AAAA fd00::6"])
    assert shown(bed, "web.prod.ns.example.net") == ("NOERROR", 30, ["A 10.0.0.1"])
    assert shown(bed, "far.example.net") == ("NOERROR", 7, ["A 198.51.100.1", "A 198.51.100.2"])
    assert shown(bed, "app.example.com", "MX") == ("NOERROR", 60, ["MX 5 mail.example.com."])
    assert bed.dns.query("app.example.com", "TXT").rcode() == 0
    answer = bed.dns.query("app.example.com", "AAAA")
    assert answer.rcode() == 0 and answer.authority[0].ttl == answer.authority[0][0].minimum == 300
    assert bed.dns.answers("example.com") == ["192.0.2.7"]
    assert dns.rcode.to_text(bed.dns.query("a.example.net").rcode()) == "SERVFAIL"
    bed.etcd.put("/skydns/config", json.dumps({"aliases": {"app.example.com": "lb.example.org"}}))
    bed.wait_answers("app.example.com", "A", ["198.51.100.1", "198.51.100.2"])
    assert bed.dns.answers("x.example.com") == ["192.0.2.7"]
    bed.etcd.put("/skydns/config", json.dumps({"aliases": {"x.cluster.local": "lb.example.org"}}))
    bed.skydns.wait_line("x.cluster.local.*expected a name in none of the domains")
    assert bed.dns.answers("app.example.com") == ["198.51.100.1", "198.51.100.2"]


@pytest.mark.parametrize(
    "wrong",
    ["", "a.test", "=b.test", "a.test=", "a.test=*.b.test", "*.=b.test", "x.cluster.local=b.test", "cluster.local=b.test"],
)
def test_wrong_aliases(bare_bed, wrong):
    program = bare_bed.command("skydns", f"-alias={wrong}", "-domain=cluster.local")
    program.start()
    assert program.wait() == 2
    assert "flag -alias" in program.log_text() and "expected" in program.log_text()


A, B = "127.0.0.5", "127.0.0.6"


def ask_from(bed, source: str, name: str, rdtype: str = "A") -> dns.message.Message:
    question = dns.message.make_query(name, rdtype)
    return dns.query.udp(question, "127.0.0.1", timeout=TIMEOUT_S, port=bed.dns.port, source=source)


def data_from(bed, source: str, name: str) -> list[str]:
    return sorted(rdata.to_text() for rrset in ask_from(bed, source, name).answer for rdata in rrset)


def test_visibility(start, upstream):
    """What leads to a name that the client may not see does not exist for it: the upstream answers."""
    bed = start(
        {
            "/skydns/local/cluster/pod/prod/127-0-0-5/a": value(A),
            "/skydns/local/cluster/pod/dev/127-0-0-6/b": value(B),
            f"{EXAMPLE}/app/x": note(WEB),
            f"{EXAMPLE}/both/x": note(WEB),
            f"{EXAMPLE}/both/y": note("192.0.2.1"),
        },
        "-visibility=own",
        "-alias=alias.example.com=web.prod.svc.cluster.local",
    )
    wait_until(lambda: data_from(bed, A, "web.prod.svc.cluster.local") == ["10.0.0.1"], "clients to be known")
    for name in ("app.example.com", "alias.example.com"):
        assert data_from(bed, A, name) == ["10.0.0.1"]
        assert data_from(bed, B, name) == ["192.0.2.7"]
    assert data_from(bed, A, "both.example.com") == ["10.0.0.1", "192.0.2.1"]
    assert data_from(bed, B, "both.example.com") == ["192.0.2.1"]
    upstream.tell("app.example.com.", "MX", NXDOMAIN)
    hidden = "leads to one that -visibility hides from this client"
    for name in ("app.example.com", "alias.example.com", "both.example.com", "other.example.com"):
        query = f"http://127.0.0.1:{bed.http}/explain?name={name}&client="
        assert hidden not in http_get(query + A)[1]
        assert (hidden in http_get(query + B)[1]) == (name in ("app.example.com", "alias.example.com")), name
    assert ask_from(bed, A, "app.example.com", "MX").rcode() == dns.rcode.NOERROR
    assert ask_from(bed, B, "app.example.com", "MX").rcode() == dns.rcode.NXDOMAIN


def test_recursion(start, upstream):
    """-allow-recursion is about what an upstream says."""
    keys = {f"{EXAMPLE}/far": value("lb.example.net."), f"{EXAMPLE}/near": note(WEB, strip=0)}
    bed = start(keys, f"-allow-recursion={A}/32")
    assert data_from(bed, A, "far.example.com") == ["192.0.2.7"]
    assert dns.rcode.to_text(ask_from(bed, B, "any.example.com").rcode()) == "REFUSED"
    assert dns.rcode.to_text(ask_from(bed, B, "far.example.com").rcode()) == "REFUSED"
    assert data_from(bed, B, "near.example.com") == ["10.0.0.1"]


def test_search_paths(start, upstream):
    """Found at the end of a search list, and in a domain of -search."""
    bed = start(
        {
            "/skydns/local/cluster/pod/prod/127-0-0-5/a": value(A),
            f"{EXAMPLE}/api": note(WEB, strip=0),
            "/skydns/corp/example/tool": value("192.0.2.1"),
            "/skydns/corp/example/wide": value("lb.example.net."),
        },
        *("-autopath", "-search=example.corp"),
    )
    suffix = ".prod.svc.cluster.local"
    upstream.tell("api.example.com.example.corp.", "A", NXDOMAIN)
    wait_until(lambda: data_from(bed, A, "api.example.com" + suffix) == ["10.0.0.1", "api.example.com."], "the path")
    assert data_from(bed, A, "tool" + suffix) == ["192.0.2.1", "tool.example.corp."]
    assert data_from(bed, A, "wide" + suffix) == ["192.0.2.7", "wide.example.corp."]


@pytest.mark.parametrize("autopath", [(), ("-autopath",)])
def test_search_lists(start, upstream, autopath):
    """A pod asks below its search list first: the override is the bare name's, or -autopath's at once; and only for
    clients that may see where it leads, others have the upstream's."""
    bed = start(
        {
            "/skydns/local/cluster/pod/prod/127-0-0-5/a": value(A),
            "/skydns/local/cluster/pod/dev/127-0-0-6/b": value(B),
            f"{EXAMPLE}/api/x": note(WEB),
            f"{EXAMPLE}/apps/*": value(WEB),
        },
        *("-visibility=own", "-alias=alias.example.com=web.prod.svc.cluster.local", *autopath),
    )
    wait_until(lambda: data_from(bed, A, "web.prod.svc.cluster.local") == ["10.0.0.1"], "clients to be known")
    for source, namespace, address in ((A, "prod", "10.0.0.1"), (B, "dev", "192.0.2.7")):
        for name in ("api.example.com", "x.apps.example.com", "alias.example.com"):
            places = [f"{name}.{namespace}.svc.cluster.local", f"{name}.svc.cluster.local", f"{name}.cluster.local"]
            for rdtype, right in (("A", [address]), ("AAAA", [])):
                first = ask_from(bed, source, places[0], rdtype)
                data = [rdata.to_text() for rrset in first.answer for rdata in rrset]
                if autopath:
                    assert (first.rcode(), data) == (dns.rcode.NOERROR, [f"{name}.", *right]), (source, name, rdtype)
                else:
                    assert [ask_from(bed, source, place, rdtype).rcode() for place in places] == [dns.rcode.NXDOMAIN] * 3
                bare = ask_from(bed, source, name, rdtype)
                assert bare.rcode() == dns.rcode.NOERROR
                assert [rdata.to_text() for rrset in bare.answer for rdata in rrset] == right, (source, name, rdtype)


def test_shown(start, upstream):
    bed = start({f"{EXAMPLE}/www/3f2a": note("192.0.2.1")}, "-alias=a.example.com=web.prod.svc.cluster.local")
    page = lambda query: http_get(f"http://127.0.0.1:{bed.http}{query}")[1]  # noqa: E731
    assert "-overrides: " in page("/explain?name=www.example.com&type=A")
    assert "-alias: " in page("/explain?name=a.example.com&type=A")
    for name in ("www.example.com", "a.example.com"):
        assert "this type is its upstream's, whose NXDOMAIN becomes NODATA" in page(f"/explain?name={name}&type=MX")
    metrics = page("/metrics")
    assert "skydns_overrides 1\n" in metrics and "skydns_aliases 1\n" in metrics

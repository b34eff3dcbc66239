"""kube2sky --external-zone: names of Services' external addresses, from the API's objects to the keys, beside keys of others;
then skydns -external-zones."""

import json

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from dns_client import TIMEOUT_S
from dnssec_bed import SECURE, Delv, flag, keygen
from kube import endpoint, endpoint_slice, headless, pod, port, service
from programs import http_get, wait_equal, wait_until
from records import hash_of
from scripted import Nameserver, reply
from test_kube_dry_run import dry_run
from upstream import PATIENT
from watched import Watched

ZONE = "lb.example.com"
TREE = "/skydns/com/example/lb/"
FLAG = f"--external-zone={ZONE}"
WEB = port(80, "http")
PUBLIC = {f"{TREE}dns/public": '{"text":"public"}'}


def value(host: str, number: int = 0, ttl: int = 30) -> str:
    at = f'"port":{number},' if number else ""
    return f'{{"host":"{host}",{at}"priority":10,"weight":10,"ttl":{ttl},"targetstrip":0}}'


def address(name: str, host: str, namespace: str = "default") -> dict[str, str]:
    return {f"{TREE}{namespace}/{name}/{hash_of(value(host))}": value(host)}


def srv(name: str, first: str, number: int = 80, port_name: str = "http", namespace: str = "default", target: str = "") -> dict:
    """The record of a port: its label is that of the address `first`."""
    host = target or f"{name}.{namespace}.{ZONE}."
    key = f"{TREE}{namespace}/{name}/_tcp/_{port_name}/{hash_of(value(first))}"
    return {key: value(host, number)}


def balanced(name: str, *points: str, namespace: str = "default", ports: tuple = (WEB,), **spec) -> dict:
    """A Service with a load balancer at these addresses and host names."""
    result = service(name, *ports, namespace=namespace, type="LoadBalancer", **spec)
    ingress = [{"hostname" if point[-1].isalpha() else "ip": point} for point in points]
    return result | {"status": {"loadBalancer": {"ingress": ingress}}}


def wait_zone(bed, *parts: dict[str, str], tree: str = TREE) -> None:
    right = {key: text for part in parts for key, text in part.items()}
    wait_equal(lambda: bed.etcd.values(tree), right, "the external zone")


def start_again(bed, *flags: str) -> None:
    if bed.kube2sky:
        bed.kube2sky.stop()
        bed.kube2sky = None
    bed.start_kube2sky(*flags)


def test_addresses_hosts_and_ports(bed):
    """Of load balancers and externalIPs, of both families; without the ports of nodes, and without reverse names."""
    kube = bed.kube
    kube.create_namespace("shop")
    kube.create("services", balanced("web", "203.0.113.1", "2001:db8::1", ports=(WEB, port(443, "https"))))
    kube.create("services", balanced("till", "LB.Example.NET", namespace="shop"))
    kube.create("services", balanced("mixed", "lb.example.net", externalIPs=["203.0.113.9", "203.0.113.8"]))
    kube.create("services", service("plain", WEB, externalIPs=["203.0.113.2"]))
    kube.create("services", service("unnamed", port(80), externalIPs=["203.0.113.3"]))
    kube.create("services", service("node", WEB, type="NodePort"))
    kube.create("services", service("inside", WEB))
    kube.create("services", headless("none", WEB))
    bed.start_kube2sky(FLAG)
    till = "lb.example.net."
    right = {
        "web": address("web", "203.0.113.1")
        | address("web", "2001:db8::1")
        | srv("web", "203.0.113.1")
        | srv("web", "203.0.113.1", 443, "https"),
        "till": address("till", till, "shop") | srv("till", till, namespace="shop", target=till),
        "mixed": address("mixed", "203.0.113.9") | address("mixed", "203.0.113.8") | srv("mixed", "203.0.113.9"),
        "plain": address("plain", "203.0.113.2") | srv("plain", "203.0.113.2"),
        "unnamed": address("unnamed", "203.0.113.3"),
    }
    wait_zone(bed, *right.values())
    assert not [key for key in bed.etcd.values("/skydns/arpa/") if "/203/" in key]

    page = f"http://127.0.0.1:{bed.readiness_port}/explain?service=default/mixed"
    explained = json.loads(http_get(page)[1])
    assert {entry["key"] for entry in explained["keys"] if entry["state"] == "present"} > right["mixed"].keys()
    assert {entry["value"] for entry in explained["skipped"]} == {"lb.example.net."}

    metrics = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_").metrics()
    assert metrics.get("external_zone_keys") == sum(len(keys) for keys in right.values())

    # A new address, none, and gone.
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}}
    kube.request("PATCH", "/api/v1/namespaces/default/services/web/status", status, "application/merge-patch+json")
    right["web"] = address("web", "203.0.113.7") | srv("web", "203.0.113.7") | srv("web", "203.0.113.7", 443, "https")
    wait_zone(bed, *right.values())
    kube.patch("services", "plain", {"spec": {"externalIPs": None}})
    del right["plain"]
    kube.delete("services", "till", "shop")
    del right["till"]
    wait_zone(bed, *right.values())


def test_headless(bed):
    """Endpoints of headless Services without external addresses, with the labels that they have in the domain."""
    kube = bed.kube
    kube.create("services", headless("db", WEB))
    kube.create("services", headless("both", WEB, externalIPs=["203.0.113.4"]))
    entries = [endpoint("10.1.0.1", hostname="db-0"), endpoint("10.1.0.2")]
    for name in ("db", "both"):
        kube.create("endpointslices", endpoint_slice(f"{name}-1", name, entries, WEB))
    both = address("both", "203.0.113.4") | srv("both", "203.0.113.4")
    other = hash_of(value("10.1.0.2"))
    right = {
        f"{TREE}default/db/db-0": value("10.1.0.1"),
        f"{TREE}default/db/{other}": value("10.1.0.2"),
        f"{TREE}default/db/_tcp/_http/db-0": value(f"db-0.db.default.{ZONE}.", 80),
        f"{TREE}default/db/_tcp/_http/{other}": value(f"{other}.db.default.{ZONE}.", 80),
    }
    bed.start_kube2sky(FLAG, "--external-zone-headless", "--endpoints=slices")
    wait_zone(bed, both, right)
    kube.replace("endpointslices", endpoint_slice("db-1", "db", entries[:1], WEB))
    wait_zone(bed, both, {key: text for key, text in right.items() if other not in key})
    # Without the flag they go.
    start_again(bed, FLAG, "--endpoints=slices")
    wait_zone(bed, both)


def test_keys_of_others(bed):
    """Stale keys of ours go, whatever their TTL; keys in another form stay, as do those of names that readers take for
    something else, and of other zones."""
    kube = bed.kube
    for name in ("dns", "pod", "svc"):
        kube.create_namespace(name)
        kube.create("services", balanced("ns", "203.0.113.66", namespace=name))
        kube.create("services", balanced("stub", "203.0.113.66", namespace=name))
    kube.create("services", balanced("web", "203.0.113.1"))
    gone = address("old", "203.0.113.5") | srv("old", "203.0.113.5") | srv("old", "lb.test.", target="lb.test.")
    late = f"{TREE}default/old/{hash_of(value('203.0.113.5', ttl=99))}"
    kept = {
        f"{TREE}dns/ns/a": '{"host":"192.0.2.1"}',
        f"{TREE}dns/ns/{hash_of(value('203.0.113.66'))}": value("203.0.113.66"),
        f"{TREE}default/old/{hash_of('other')}": value("203.0.113.5"),
        f"{TREE}default/old/word/deep/er": value("203.0.113.5"),
        f"{TREE}default/old": value("203.0.113.5"),
        f"{TREE}default/web/txt": '{"text":"a person\'s"}',
        "/skydns/com/example/default/web/c88f1059": value("10.0.0.1"),
    }
    stale = {late: value("203.0.113.5", ttl=99)} | PUBLIC
    bed.etcd.put_all(gone | kept | stale)
    bed.start_kube2sky(FLAG)
    wait_zone(bed, kept, address("web", "203.0.113.1"), srv("web", "203.0.113.1"), tree="/skydns/com/")


def test_public(bed):
    """The key that tells skydns so comes and goes with the flag."""
    bed.kube.create("services", balanced("web", "203.0.113.1"))
    right = address("web", "203.0.113.1") | srv("web", "203.0.113.1")
    for flags, more in ((["--external-zone-public"], PUBLIC), ([], {})):
        start_again(bed, FLAG, *flags)
        wait_zone(bed, right, more)


def test_namespaces(bed):
    """--namespaces bounds what is written, and owned."""
    kube = bed.kube
    for name in ("a", "b"):
        kube.create_namespace(name)
        kube.create("services", balanced("web", "203.0.113.1", namespace=name))
    theirs = address("old", "203.0.113.6", "b")
    bed.etcd.put_all(theirs | address("old", "203.0.113.6", "a"))
    bed.start_kube2sky(FLAG, "--namespaces=a")
    wait_zone(bed, theirs, address("web", "203.0.113.1", "a"), srv("web", "203.0.113.1", namespace="a"))


def test_namespace_labels(bed):
    """A namespace that loses its label loses its names, and gets them back with it."""
    kube = bed.kube
    names = {}
    for name in ("a", "b"):
        kube.create_namespace(name)
        kube.patch("namespaces", name, {"metadata": {"labels": {"team": name}}})
        kube.create("services", balanced("web", "203.0.113.1", namespace=name))
        names[name] = address("web", "203.0.113.1", name) | srv("web", "203.0.113.1", namespace=name)
    bed.start_kube2sky(FLAG, "--namespace-labels=team=a")
    wait_zone(bed, names["a"])
    kube.patch("namespaces", "b", {"metadata": {"labels": {"team": "a"}}})
    wait_zone(bed, names["a"], names["b"])
    kube.patch("namespaces", "a", {"metadata": {"labels": {"team": None}}})
    wait_zone(bed, names["b"])


def test_room(bed):
    """The names count into the namespace's keys: with as many as it may have, further ones wait, of this namespace alone."""
    kube = bed.kube
    for name, count in (("a", 9), ("b", 1)):
        kube.create_namespace(name)
        kube.create("services", service("web", WEB, namespace=name, externalIPs=[f"203.0.113.{i}" for i in range(1, count + 1)]))
    bed.start_kube2sky(FLAG, "--max-namespace-keys=6")
    b = address("web", "203.0.113.1", "b") | srv("web", "203.0.113.1", namespace="b")
    wait_zone(bed, b, tree=f"{TREE}b/")

    def taken() -> int:
        return len(bed.etcd.values(f"{TREE}a/")) + len(bed.etcd.values("/skydns/local/cluster/svc/a/"))

    wait_equal(taken, 6, "the namespace's keys")
    kube.patch("services", "web", {"spec": {"externalIPs": ["203.0.113.1"]}}, "a")
    wait_zone(bed, address("web", "203.0.113.1", "a"), srv("web", "203.0.113.1", namespace="a"), tree=f"{TREE}a/")


@pytest.mark.parametrize(
    "flags, words",
    [
        (["--external-zone=x.cluster.local"], "`x.cluster.local`: expected a zone outside -domain, -multicluster-domain and arpa"),
        (["--external-zone=local"], "`local`: expected a zone outside -domain, -multicluster-domain and arpa that contains neither"),
        (["--external-zone=a.onion"], "`a.onion`: expected a zone outside -domain, -multicluster-domain and arpa"),
        (["--external-zone=2.0.192.in-addr.arpa"], "expected a zone outside -domain, -multicluster-domain and arpa"),
        (["--external-zone=*.example.com"], "`*.example.com`: expected a zone like lb.example.com"),
        (["--external-zone=."], "`.`: expected a zone like lb.example.com"),
        (["--external-zone-public"], "flag -external-zone-public: expected -external-zone with it"),
        (["--external-zone-headless"], "flag -external-zone-headless: expected -external-zone with it"),
        ([FLAG, "--override-zones=a.lb.example.com"], "`a.lb.example.com.`: expected a zone outside -external-zone"),
    ],
)
def test_refused(bare_bed, flags, words):
    program = bare_bed.command("kube2sky", *flags).start()
    assert program.wait() == 2
    assert len(program.lines) == 1 and words in program.lines[0]


# ---- skydns ----

READER = ("-schema=kubernetes", f"-external-zones={ZONE}", "-no-rec")
A, B, NOBODY = "127.0.0.5", "127.0.0.6", "127.0.0.7"


def start_both(bed, *flags: str, writer: tuple = (FLAG,)) -> None:
    bed.start_kube2sky(*writer)
    bed.start_skydns(*READER, *flags)


def shown(bed, name: str, rdtype: str, source: str | None = None) -> tuple[str, list[str]]:
    question = dns.message.make_query(name, rdtype)
    reply = dns.query.udp(question, "127.0.0.1", timeout=TIMEOUT_S, port=bed.dns.port, source=source)
    assert reply.flags & dns.flags.AA or reply.rcode() == dns.rcode.SERVFAIL
    data = [
        f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()}".removeprefix(f"{name}. ")
        for rrset in reply.answer
        for rdata in rrset
    ]
    if not data and reply.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        assert [rrset.name.to_text() for rrset in reply.authority] == [f"{ZONE}."]
    return dns.rcode.to_text(reply.rcode()), sorted(data)


def test_answers(bed):
    kube = bed.kube
    kube.create_namespace("shop")
    kube.create("services", balanced("web", "203.0.113.1", "2001:db8::1", ports=(WEB, port(443, "https"))))
    kube.create("services", balanced("till", "lb.example.net", namespace="shop"))
    kube.create("services", service("inside", WEB))
    start_both(bed, "-require-store-key")  # the domain's
    web, till = f"web.default.{ZONE}", f"till.shop.{ZONE}"
    wait_until(lambda: shown(bed, web, "A")[1], "the first record")
    right = {
        (web, "A"): ["A 203.0.113.1"],
        (web, "AAAA"): ["AAAA 2001:db8::1"],
        (web, "SRV"): [f"SRV 10 50 443 {web}.", f"SRV 10 50 80 {web}."],
        (web, "TXT"): [],
        (f"_http._tcp.{web}", "SRV"): [f"SRV 10 100 80 {web}."],
        (f"_http._tcp.{web}", "A"): [],
        (f"_tcp.{web}", "SRV"): [],
        (till, "A"): ["CNAME lb.example.net."],
        (till, "CNAME"): ["CNAME lb.example.net."],
        (till, "SRV"): ["CNAME lb.example.net."],
        (f"_http._tcp.{till}", "SRV"): ["SRV 10 100 80 lb.example.net."],
        (f"default.{ZONE}", "A"): [],
        (f"default.{ZONE}", "SRV"): [],
        (ZONE, "A"): [],
        (ZONE, "NS"): [f"NS ns.dns.{ZONE}."],
        (f"ns.dns.{ZONE}", "A"): ["A 127.0.0.1"],
        (f"inside.default.{ZONE}", "A"): None,
        (f"none.{ZONE}", "A"): None,
        (f"dns-version.{ZONE}", "TXT"): None,
        (f"web.default.svc.{ZONE}", "A"): None,
    }
    for (name, rdtype), data in right.items():
        assert shown(bed, name, rdtype) == (("NXDOMAIN", []) if data is None else ("NOERROR", data)), (name, rdtype)
    rcode, [soa] = shown(bed, ZONE, "SOA")
    assert soa.startswith(f"SOA ns.dns.{ZONE}. hostmaster.")
    extra = bed.dns.query(f"_http._tcp.{web}", "SRV").additional
    assert {rdata.to_text() for rrset in extra for rdata in rrset} == {"203.0.113.1", "2001:db8::1"}
    # What changes in the API changes here.
    kube.delete("services", "web")
    wait_until(lambda: shown(bed, web, "A") == ("NXDOMAIN", []), "the deletion")


def test_far_host(bed):
    """The addresses of a load balancer's host name are asked of the upstream."""
    upstream = Nameserver()
    upstream.tell("lb.example.net.", "A", reply("lb.example.net. 9 A 198.51.100.1"))
    bed.kube.create("services", balanced("till", "lb.example.net"))
    bed.start_kube2sky(FLAG)
    bed.start_skydns(*READER[:2], f"-nameservers=127.0.0.1:{upstream.port}", PATIENT)
    name = f"till.default.{ZONE}"
    right = ("NOERROR", ["CNAME lb.example.net.", "lb.example.net. A 198.51.100.1"])
    wait_until(lambda: shown(bed, name, "A") == right, "the far host")
    upstream.close()


def zone_of(bed, source: str = "127.0.0.1") -> set[str]:
    messages = dns.query.xfr("127.0.0.1", ZONE, port=bed.dns.port, relativize=False, source=source, timeout=TIMEOUT_S)
    return {
        f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()}"
        for message in messages
        for rrset in message.answer
        for rdata in rrset
        if rrset.rdtype != dns.rdatatype.SOA
    }


def test_transfer(bed):
    """AXFR of the zone has what queries get; its serial has the base of the domain's and moves with the zone alone."""
    kube = bed.kube
    kube.create("services", balanced("web", "203.0.113.1"))
    kube.create("services", balanced("till", "lb.example.net"))
    start_both(bed, "-transfer-to=127.0.0.0/8")
    web, till = f"web.default.{ZONE}.", f"till.default.{ZONE}."
    right = {
        f"{ZONE}. NS ns.dns.{ZONE}.",
        f"ns.dns.{ZONE}. A 127.0.0.1",
        f"{web} A 203.0.113.1",
        f"{web} SRV 10 100 80 {web}",
        f"_http._tcp.{web} SRV 10 100 80 {web}",
        f"{till} CNAME lb.example.net.",
        f"_http._tcp.{till} SRV 10 100 80 lb.example.net.",
    }
    label = hash_of(value("203.0.113.1"))

    def without_labels() -> set[str]:
        """A port's record answers at its label, too."""
        return {line for line in zone_of(bed) if not line.startswith((f"{label}.", hash_of(value("lb.example.net."))))}

    wait_equal(without_labels, right, "the whole zone")

    def serial(zone: str) -> int:
        return bed.dns.query(zone, "SOA").answer[0][0].serial

    before, home = serial(ZONE), serial("cluster.local")
    base = int(bed.etcd.values("/kube2sky/cluster.local/serial")["/kube2sky/cluster.local/serial"])
    assert before >= base
    bed.etcd.put(f"{TREE}default/hand/abcdef12", value("203.0.113.9"))  # in no form of kube2sky's
    wait_until(lambda: f"hand.default.{ZONE}. A 203.0.113.9" in zone_of(bed), "the record by hand")
    wait_until(lambda: serial(ZONE) > before, "a later serial")
    assert serial("cluster.local") == home


@pytest.mark.parametrize("schema", ["kubernetes", "skydns"])
def test_visibility(bed, schema):
    """A namespace's names are hidden there as in the domain, unless kube2sky says that they are public."""
    kube = bed.kube
    for name, ip in (("team-a", A), ("team-b", B)):
        kube.create_namespace(name)
        kube.put_pod(pod("client", ip, namespace=name))
        kube.create("services", balanced("web", f"203.0.113.{ip[-1]}", namespace=name))
    kube.create("services", balanced("web", "203.0.113.1"))
    bed.start_kube2sky(FLAG)
    bed.start_skydns(f"-schema={schema}", *READER[1:], "-visibility=own")
    mine = {A: "team-a", B: "team-b", NOBODY: ""}
    wait_until(lambda: shown(bed, f"web.team-a.{ZONE}", "A", A)[1], "the first record")

    def seen() -> dict:
        return {
            (source, ns): shown(bed, f"web.{ns}.{ZONE}", "A", source)
            for source in mine
            for ns in ("default", "team-a", "team-b")
        }

    def right(is_public: bool) -> dict:
        address = {"default": "203.0.113.1", "team-a": "203.0.113.5", "team-b": "203.0.113.6"}
        return {
            (source, ns): ("NOERROR", [f"A {address[ns]}"]) if is_public or ns in ("default", mine[source]) else ("NXDOMAIN", [])
            for source in mine
            for ns in address
        }

    wait_equal(seen, right(False), "what each sees")
    assert shown(bed, f"_http._tcp.web.team-b.{ZONE}", "SRV", A) == ("NXDOMAIN", [])
    assert shown(bed, f"team-b.{ZONE}", "A", A) == ("NXDOMAIN", [])
    if schema == "skydns":  # a name stands for all below it
        assert shown(bed, ZONE, "A", A) == ("NOERROR", ["A 203.0.113.1", "A 203.0.113.5"])
    start_again(bed, FLAG, "--external-zone-public")
    wait_equal(seen, right(True), "what each sees of a public zone")
    start_again(bed, FLAG)
    wait_equal(seen, right(False), "what each sees again")


def test_no_client_by_external_names(bed):
    """A namespace called pod cannot say whose an address is."""
    kube = bed.kube
    for name in ("pod", "team-a"):
        kube.create_namespace(name)
    kube.create("services", balanced("web", "203.0.113.5", namespace="team-a"))
    bed.etcd.put(f"{TREE}pod/team-a/127-0-0-6/{hash_of(value(B))}", value(B))
    start_both(bed, "-visibility=own")
    kube.put_pod(pod("client", A, namespace="team-a"))
    wait_until(lambda: shown(bed, f"web.team-a.{ZONE}", "A", A)[1], "the first record")
    assert shown(bed, f"web.team-a.{ZONE}", "A", B) == ("NXDOMAIN", [])


@pytest.mark.parametrize(
    "zones, words",
    [
        ("x.cluster.local", "`x.cluster.local.`: expected a zone outside"),
        ("local", "`local.`: expected a zone outside"),
        ("a.test,b.a.test", "`b.a.test.`: expected a zone outside"),
        ("10.in-addr.arpa", "`10.in-addr.arpa.`: expected a zone outside"),
        ("a..b", "`a..b`: expected a zone like lb.example.com"),
        ("a.test,b.test,c.test,d.test,e.test", "expected at most 4 zones"),
    ],
)
def test_zones_refused(bare_bed, zones, words):
    program = bare_bed.command("skydns", "-domain=cluster.local", f"-external-zones={zones}").start()
    assert program.wait() == 2
    assert words in "\n".join(program.lines)


def test_document(bed):
    """A running server takes the zone from its document; one that overlaps is refused."""
    bed.kube.create("services", balanced("web", "203.0.113.1"))
    bed.start_kube2sky(FLAG)
    bed.start_skydns("-schema=kubernetes", "-no-rec")
    web = f"web.default.{ZONE}"
    assert bed.dns.query(web).rcode() == dns.rcode.SERVFAIL
    bed.etcd.put("/skydns/config", json.dumps({"external_zones": ZONE}))
    bed.wait_answers(web, "A", ["203.0.113.1"])
    bed.etcd.put("/skydns/config", json.dumps({"external_zones": "local"}))
    bed.skydns.wait_line("field `external_zones`: `local.`: expected a zone outside")
    assert bed.dns.answers(web) == ["203.0.113.1"]
    bed.etcd.put("/skydns/config", "{}")
    wait_until(lambda: bed.dns.query(web).rcode() == dns.rcode.SERVFAIL, "no zone again")


def test_signed(bed):
    """A validator agrees with what is there, and with what is not."""
    key = keygen(bed.folder, ZONE)
    bed.kube.create("services", balanced("web", "203.0.113.1"))
    start_both(bed, flag(key))
    web = f"web.default.{ZONE}"
    bed.wait_answers(web, "A", ["203.0.113.1"])
    judge = Delv(bed.folder, bed.dns.port, [key])
    for name, rdtype in [(web, "A"), (web, "AAAA"), (web, "SRV"), (f"_http._tcp.{web}", "SRV"), (ZONE, "SOA"), (ZONE, "A")]:
        verdict, text = judge.judge(name, rdtype)
        assert verdict == SECURE, (name, rdtype, verdict, text)
    for name in (f"default.{ZONE}", f"none.default.{ZONE}", f"x.{web}"):
        verdict, text = judge.judge(name, "A")
        assert verdict == SECURE, (name, verdict, text)


def test_dry_run(bed):
    """It prints the keys of the zone, and what is stale there."""
    bed.kube.create("services", balanced("web", "203.0.113.1"))
    bed.etcd.put_all(address("old", "203.0.113.5"))
    result = dry_run(bed, FLAG)
    assert result.returncode == 3
    for key in address("web", "203.0.113.1") | srv("web", "203.0.113.1"):
        assert f"+ {key} " in result.stdout, result.stdout
    assert f"- {next(iter(address('old', '203.0.113.5')))}" in result.stdout


def test_an_alias_that_is_left_in_the_zone_goes(bed):
    """--override-zones wrote it, before the zone became the external one."""
    text = value("web.default.svc.cluster.local.")
    bed.etcd.put(f"{TREE}x/y/{hash_of('default/web')}", text)
    bed.etcd.put(f"{TREE}x/y/mine", text)
    bed.kube.create("services", balanced("web", "203.0.113.1", ports=()))
    bed.start_kube2sky(FLAG)
    wait_zone(bed, address("web", "203.0.113.1"), {f"{TREE}x/y/mine": text})


def test_it_is_complete_as_the_first_domain_is(bed):
    """Though another one of -domain has more labels, and nobody fills it."""
    bed.kube.create("services", balanced("web", "203.0.113.1", ports=()))
    bed.start_kube2sky(FLAG)
    bed.start_skydns("-no-rec", "-schema=kubernetes", "-domain=cluster.local.,nobody.cluster.example.",
                     f"-external-zones={ZONE}", "-require-store-key", is_waiting=False)  # fmt: skip
    bed.wait_answers(f"web.default.{ZONE}", "A", ["203.0.113.1"])
    gone = f"gone.default.{ZONE}"
    wait_until(lambda: bed.dns.query(gone, "A").rcode() == dns.rcode.NXDOMAIN, f"{gone} does not exist")
    assert bed.dns.query("gone.nobody.cluster.example.", "A").rcode() == dns.rcode.SERVFAIL

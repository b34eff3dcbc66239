"""kube2sky --external-zone: names of Services' external addresses, from the API's objects to the keys, beside keys of others;
then skydns -external-zones."""

import json

import pytest
from kube import endpoint, endpoint_slice, headless, port, service
from programs import http_get, wait_equal
from records import hash_of

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
    kube = bed.kube
    for name in ("a", "b"):
        kube.create_namespace(name)
        kube.create("services", balanced("web", "203.0.113.1", namespace=name))
    bed.start_kube2sky(FLAG, "--namespace-labels=kubernetes.io/metadata.name=a")
    wait_zone(bed, address("web", "203.0.113.1", "a"), srv("web", "203.0.113.1", namespace="a"))


@pytest.mark.parametrize(
    "flags, words",
    [
        (["--external-zone=x.cluster.local"], "`x.cluster.local`: expected a zone outside -domain and arpa"),
        (["--external-zone=local"], "`local`: expected a zone outside -domain and arpa that does not contain -domain"),
        (["--external-zone=a.onion"], "`a.onion`: expected a zone outside -domain and arpa"),
        (["--external-zone=2.0.192.in-addr.arpa"], "expected a zone outside -domain and arpa"),
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

"""kube2sky --multicluster: ServiceImports and their EndpointSlices, by the multicluster API's DNS specification 1.0.0."""

import signal
import time
from contextlib import suppress

import dns.query
import dns.rcode
import dns.xfr
import dns.zone
import pytest
from kube import endpoint, endpoint_slice, headless, import_slice, pod, port, service, service_import
from programs import http_get, reserve_port, wait_equal, wait_until
from records import hash_of, value
from test_kube_dry_run import dry_run
from test_kube_sources import lists_of
from test_stores import wipe
from test_visibility import Clients

FLAG = "--multicluster"
DOMAIN = "clusterset.local"
TREE = "/skydns/local/clusterset/"
WRITER = "/kube2sky/clusterset.local/"
BOTH = f"-domain=cluster.local.,{DOMAIN}."
HTTP = port(80, "http")


def ip(namespace_service: str, address: str) -> dict[str, str]:
    text = value(address)
    return {f"{TREE}svc/{namespace_service}/{hash_of(text)}": text}


def imports(bed) -> dict[str, str]:
    """The records of imports, without the version."""
    return {k: v for k, v in bed.etcd.values(TREE).items() if k.startswith(f"{TREE}svc/")}


def wait_imports(bed, *parts: dict[str, str]) -> None:
    right = {key: text for part in parts for key, text in part.items()}
    wait_equal(lambda: imports(bed), right, "the records of imports")


def reverse(bed, address: str) -> str | None:
    return bed.etcd.values("/skydns/arpa/").get("/skydns/arpa/in-addr/" + address.replace(".", "/"))


def host(name: str) -> str:
    return value(f"{name}.svc.{DOMAIN}.")


@pytest.fixture
def mcs(bed):
    """The API has the kinds of the multicluster API."""
    bed.kube.control("imports")
    return bed


def put(bed, resource: str, *objects: dict) -> None:
    for made in objects:
        bed.kube.control("put", resource=resource, object=made)


def put_world(bed) -> None:
    """The Services of CoreDNS's tests, in their meaning."""
    put(
        bed,
        "serviceimports",
        service_import("svc1", HTTP, ips=("10.0.0.1",)),
        service_import("svc6", HTTP, ips=("1234:abcd::1",)),
        service_import("dual", HTTP, ips=("10.0.0.3", "10::3")),
        service_import("hdls1", HTTP),
        service_import("hdlsprtls"),
        service_import("empty", HTTP),
    )
    put(
        bed,
        "endpointslices",
        import_slice("hdls1-a", "hdls1", "clusterid", [
            endpoint("172.0.0.2"), endpoint("172.0.0.4", hostname="dup-name"), endpoint("172.0.0.5", hostname="dup-name"),
            endpoint("172.0.0.6", ready=False),
        ], HTTP),
        import_slice("hdls1-b", "hdls1", "clusterid", [endpoint("5678:abcd::1")], HTTP, family="IPv6"),
        import_slice("hdls1-c", "hdls1", "other", [endpoint("172.1.0.4", hostname="dup-name")], port(81, "http")),
        import_slice("hdlsprtls-a", "hdlsprtls", "clusterid", [endpoint("172.0.0.20")]),
        import_slice("svc1-a", "svc1", "clusterid", [endpoint("172.0.0.30", hostname="hidden")], HTTP),
    )  # fmt: skip


@pytest.fixture
def answering(mcs):
    """Both programs, with the world of CoreDNS's tests, and CoreDNS's names of endpoints."""
    put_world(mcs)
    mcs.start_kube2sky(FLAG, "--endpoint-names=address")
    wait_until(lambda: WRITER + "store" in mcs.etcd.values(WRITER), "the domain is complete")
    mcs.start_skydns("-no-rec", BOTH, "-schema=kubernetes")
    return mcs


A_OF_HEADLESS = ["172.0.0.2", "172.0.0.4", "172.0.0.5", "172.1.0.4"]


ANSWERS = [
    ("svc1.default.svc", "A", ["10.0.0.1"]),
    ("svc1.default.svc", "AAAA", []),
    ("svc6.default.svc", "AAAA", ["1234:abcd::1"]),
    ("dual.default.svc", "A", ["10.0.0.3"]),
    ("dual.default.svc", "AAAA", ["10::3"]),
    ("_http._tcp.svc1.default.svc", "SRV", ["svc1.default.svc.clusterset.local. 80"]),
    ("_http._tcp.svc6.default.svc", "SRV", ["svc6.default.svc.clusterset.local. 80"]),
    ("svc1.default.svc", "SRV", ["svc1.default.svc.clusterset.local. 80"]),
    ("dual.default.svc", "SRV", ["dual.default.svc.clusterset.local. 80"]),
    ("hidden.clusterid.svc1.default.svc", "A", "NXDOMAIN"),
    ("clusterid.svc1.default.svc", "A", "NXDOMAIN"),
    ("hdls1.default.svc", "A", A_OF_HEADLESS),
    ("hdls1.default.svc", "AAAA", ["5678:abcd::1"]),
    ("hdlsprtls.default.svc", "A", ["172.0.0.20"]),
    ("172-0-0-20.clusterid.hdlsprtls.default.svc", "A", ["172.0.0.20"]),
    ("172-0-0-2.clusterid.hdls1.default.svc", "A", ["172.0.0.2"]),
    ("dup-name.clusterid.hdls1.default.svc", "A", ["172.0.0.4", "172.0.0.5"]),
    ("dup-name.other.hdls1.default.svc", "A", ["172.1.0.4"]),
    ("5678-abcd--1.clusterid.hdls1.default.svc", "AAAA", ["5678:abcd::1"]),
    ("172-0-0-6.clusterid.hdls1.default.svc", "A", "NXDOMAIN"),
    ("_http._tcp.hdls1.default.svc", "SRV", [
        "172-0-0-2.clusterid.hdls1.default.svc.clusterset.local. 80",
        "5678-abcd--1.clusterid.hdls1.default.svc.clusterset.local. 80",
        "dup-name.clusterid.hdls1.default.svc.clusterset.local. 80",
        "dup-name.other.hdls1.default.svc.clusterset.local. 81",
    ]),
    ("hdls1.default.svc", "SRV", [
        "172-0-0-2.clusterid.hdls1.default.svc.clusterset.local. 80",
        "5678-abcd--1.clusterid.hdls1.default.svc.clusterset.local. 80",
        "dup-name.clusterid.hdls1.default.svc.clusterset.local. 80",
        "dup-name.other.hdls1.default.svc.clusterset.local. 81",
    ]),
    ("clusterid.hdls1.default.svc", "A", ["172.0.0.2", "172.0.0.4", "172.0.0.5"]),
    ("other.hdls1.default.svc", "A", ["172.1.0.4"]),
    ("third.hdls1.default.svc", "A", "NXDOMAIN"),
    ("_http._udp.hdls1.default.svc", "SRV", "NXDOMAIN"),
    ("_http._tcp.hdlsprtls.default.svc", "SRV", "NXDOMAIN"),
    ("empty.default.svc", "A", "NXDOMAIN"),
    ("svc0.default.svc", "A", "NXDOMAIN"),
    ("svc0.other.svc", "A", "NXDOMAIN"),
    ("bogus.clusterid.hdls1.default.svc", "A", "NXDOMAIN"),
    ("default.svc", "A", []),
    ("svc", "A", []),
    ("dns-version", "TXT", ['"1.0.0"']),
    ("dns-version", "A", []),
]


def answer(bed, name: str, rdtype: str) -> list[str] | str:
    reply = bed.dns.query(f"{name}.{DOMAIN}", rdtype)
    if reply.rcode() != dns.rcode.NOERROR:
        return dns.rcode.to_text(reply.rcode())
    found = [rdata for rrset in reply.answer for rdata in rrset]
    return sorted(f"{r.target} {r.port}" if rdtype == "SRV" else r.to_text() for r in found)


def test_answers(answering):
    """Conformance, in the meaning of CoreDNS's tests and of KEP-1645's specification."""
    got = {(name, rdtype): answer(answering, name, rdtype) for name, rdtype, _ in ANSWERS}
    assert got == {(name, rdtype): right for name, rdtype, right in ANSWERS}


def test_versions_of_both_domains(answering):
    assert answering.dns.answers("dns-version.cluster.local", "TXT") == ['"1.1.0"']
    assert answering.dns.answers(f"dns-version.{DOMAIN}", "TXT") == ['"1.0.0"']


def test_transfer(answering):
    """The whole zone, with its own version."""
    answering.skydns.stop()
    answering.skydns.argv.append("-transfer-to=127.0.0.1")
    answering.skydns.start()
    wait_until(lambda: answering.dns.answers(DOMAIN, "SOA") != ["no answer"], "skydns answers")

    def transfer() -> dns.zone.Zone | None:
        """None: SERVFAIL while zones are not ready."""
        with suppress(dns.xfr.TransferError):
            return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", DOMAIN, port=answering.dns.port, timeout=20))

    zone = wait_until(transfer, "a transfer")
    texts = {name.to_text(): data.to_text() for name, _, data in zone.iterate_rdatas("TXT")}
    assert texts == {"dns-version": '"1.0.0"'}
    found = {name.to_text() for name, _, _ in zone.iterate_rdatas("A")}
    assert {"svc1.default.svc", "dup-name.other.hdls1.default.svc"} <= found


def test_keys(mcs):
    """As the contract has them; they go with their objects, and a cluster's with its slices."""
    put(mcs, "serviceimports", service_import("web", HTTP, ips=("10.42.0.1",)), service_import("db", HTTP))
    east = import_slice("db-east", "db", "east", [endpoint("10.8.0.1", hostname="db-0"), endpoint("10.8.0.2")], HTTP)
    west = import_slice("db-west", "db", "west", [endpoint("10.9.0.1", hostname="db-0")], HTTP)
    put(mcs, "endpointslices", east, west)
    mcs.start_kube2sky(FLAG)
    web = ip("default/web", "10.42.0.1")
    label = next(iter(web)).rsplit("/", 1)[1]
    hashed = hash_of(value("10.8.0.2"))
    db = f"{TREE}svc/default/db"
    of_web = web | {f"{TREE}svc/default/web/_tcp/_http/{label}": value(f"web.default.svc.{DOMAIN}.", 80)}
    of_east = {
        f"{db}/east/db-0": value("10.8.0.1"),
        f"{db}/east/{hashed}": value("10.8.0.2"),
        f"{db}/_tcp/_http/east/db-0": value(f"db-0.east.db.default.svc.{DOMAIN}.", 80),
        f"{db}/_tcp/_http/east/{hashed}": value(f"{hashed}.east.db.default.svc.{DOMAIN}.", 80),
    }
    of_west = {
        f"{db}/west/db-0": value("10.9.0.1"),
        f"{db}/_tcp/_http/west/db-0": value(f"db-0.west.db.default.svc.{DOMAIN}.", 80),
    }
    wait_imports(mcs, of_web, of_east, of_west)
    mcs.kube.delete("endpointslices", "db-west")
    wait_imports(mcs, of_web, of_east)
    put(mcs, "serviceimports", service_import("web", HTTP))  # headless now
    wait_imports(mcs, of_east)
    mcs.kube.delete("serviceimports", "db")
    wait_imports(mcs)


def test_headless_after_an_address(mcs):
    """Slices whose content was not needed are listed again."""
    put(mcs, "serviceimports", service_import("db", ips=("10.42.0.1",)))
    put(mcs, "endpointslices", import_slice("db-east", "db", "east", [endpoint("10.8.0.1", hostname="db-0")]))
    mcs.start_kube2sky(FLAG)
    wait_imports(mcs, ip("default/db", "10.42.0.1"))
    put(mcs, "serviceimports", service_import("db"))
    wait_imports(mcs, {f"{TREE}svc/default/db/east/db-0": value("10.8.0.1")})


def test_headless_again_and_again(mcs):
    """All slices are listed at most every five seconds, whatever somebody does with an import; others do not wait."""
    slices = import_slice("db-east", "db", "east", [endpoint("10.8.0.1", hostname="db-0")])
    put(mcs, "serviceimports", service_import("db", ips=("10.42.0.1",)))
    put(mcs, "endpointslices", slices)
    mcs.start_kube2sky(FLAG)
    wait_imports(mcs, ip("default/db", "10.42.0.1"))
    before, began_s = lists_of(mcs, "endpointslices"), time.monotonic()
    for number in range(20):
        put(mcs, "serviceimports", service_import("db"))
        put(mcs, "serviceimports", service_import("db", ips=(f"10.42.1.{number}",)))
        wait_imports(mcs, ip("default/db", f"10.42.1.{number}"))
    put(mcs, "serviceimports", service_import("db"))
    wait_imports(mcs, {f"{TREE}svc/default/db/east/db-0": value("10.8.0.1")})
    assert lists_of(mcs, "endpointslices") - before <= 2 + (time.monotonic() - began_s) / 5


def test_strays_are_removed(mcs):
    stray = {f"{TREE}svc/default/gone/c88f1059": value("10.0.0.1"), f"{TREE}other/key": value("10.0.0.2")}
    mcs.etcd.put_all(stray)
    put(mcs, "serviceimports", service_import("web", ips=("10.42.0.1",)))
    mcs.start_kube2sky(FLAG)
    wait_imports(mcs, ip("default/web", "10.42.0.1"))
    assert f"{TREE}other/key" in mcs.etcd.values(TREE)


def test_reverse_names_only_where_there_is_none(mcs):
    """A Service's name comes first, whatever came earlier; the import's takes over when it goes."""
    put(mcs, "serviceimports", service_import("web", ips=("10.96.7.1",)), service_import("db"))
    put(mcs, "endpointslices", import_slice("db-east", "db", "east", [endpoint("10.8.0.1", hostname="db-0")]))
    mcs.start_kube2sky(FLAG)
    wait_equal(lambda: reverse(mcs, "10.96.7.1"), host("web.default"), "the import's name")
    wait_equal(lambda: reverse(mcs, "10.8.0.1"), host("db-0.east.db.default"), "its endpoint's")
    mcs.kube.create("services", service("local", clusterIP="10.96.7.1"))
    mcs.kube.create("services", headless("peers"))
    mcs.kube.create("endpointslices", endpoint_slice("peers-1", "peers", [endpoint("10.8.0.1", hostname="zz")]))
    wait_equal(lambda: reverse(mcs, "10.96.7.1"), value("local.default.svc.cluster.local."), "the Service's name")
    wait_equal(lambda: reverse(mcs, "10.8.0.1"), value("zz.peers.default.svc.cluster.local."), "the endpoint's name")
    mcs.kube.delete("services", "local")
    mcs.kube.delete("services", "peers")
    wait_equal(lambda: reverse(mcs, "10.96.7.1"), host("web.default"), "the import's name again")
    wait_equal(lambda: reverse(mcs, "10.8.0.1"), host("db-0.east.db.default"), "its endpoint's again")
    mcs.kube.delete("serviceimports", "web")
    wait_equal(lambda: reverse(mcs, "10.96.7.1"), None, "none")


def test_a_missing_kind_is_an_outage_of_it_alone(bed):
    """One line; the other names are written, imports' keys stay, and the domain gets its store key. Then it comes."""
    kept = ip("default/kept", "10.42.0.9")
    bed.etcd.put_all(kept)
    bed.kube.create("services", service("web", clusterIP="10.96.0.11"))
    put(bed, "pods", pod("p", "10.1.0.1"))
    bed.start_kube2sky(FLAG)
    bed.kube2sky.wait_line("API cannot be followed, retrying kind=serviceimports")
    wait_until(lambda: WRITER + "store" in bed.etcd.values(WRITER), "the domain is complete")
    wait_imports(bed, kept)
    assert http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict") == (200, "ok\n")
    lines = [line for line in bed.kube2sky.lines if "cannot be followed" in line and "kind=serviceimports" in line]
    assert len(lines) == 1
    bed.kube.control("imports")
    put(bed, "serviceimports", service_import("web", ips=("10.42.0.1",)))
    bed.kube2sky.signal(signal.SIGHUP)  # asks again what was refused
    wait_imports(bed, ip("default/web", "10.42.0.1"))


def test_namespaces(mcs):
    """Only theirs, as of Services."""
    mcs.kube.create_namespace("team")
    made = service_import("web", ips=("10.42.0.1",))
    put(mcs, "serviceimports", made, service_import("web", ips=("10.42.0.2",), namespace="team"))
    others = ip("default/other", "10.42.0.9")
    mcs.etcd.put_all(others)
    mcs.start_kube2sky(FLAG, "--namespaces=team")
    wait_imports(mcs, others, ip("team/web", "10.42.0.2"))
    mcs.kube.delete("serviceimports", "web", "team")
    wait_imports(mcs, others)


def test_namespace_labels(mcs):
    for name, state in (("team", "on"), ("crew", "off")):
        mcs.kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {"dns": state}}})
    for name, address in (("team", "10.42.0.1"), ("crew", "10.42.0.2")):
        put(mcs, "serviceimports", service_import("web", ips=(address,), namespace=name))
    mcs.start_kube2sky(FLAG, "--namespace-labels=dns=on")
    team, crew = ip("team/web", "10.42.0.1"), ip("crew/web", "10.42.0.2")
    wait_imports(mcs, team)
    mcs.kube.patch("namespaces", "crew", {"metadata": {"labels": {"dns": "on"}}}, "")
    wait_imports(mcs, team, crew)
    mcs.kube.patch("namespaces", "team", {"metadata": {"labels": {"dns": None}}}, "")
    wait_imports(mcs, crew)


def test_visibility(mcs):
    """The domain has the namespaces' lists, and skydns hides what they do not show."""
    kube = mcs.kube
    for name, address in (("team-a", "127.0.0.5"), ("team-b", "127.0.0.6")):
        kube.create_namespace(name)
        put(mcs, "pods", pod("p", address, namespace=name))
    put(mcs, "serviceimports", service_import("web", ips=("10.42.0.1",), namespace="team-a"))
    mcs.start_kube2sky(FLAG, "--namespace-visibility")
    wait_imports(mcs, ip("team-a/web", "10.42.0.1"))
    mcs.start_skydns("-no-rec", BOTH, "-visibility=own")
    clients = Clients(mcs)
    name = f"web.team-a.svc.{DOMAIN}"
    clients.wait("127.0.0.5", name, ["10.42.0.1"])
    assert clients.answers("127.0.0.6", name) == ["NXDOMAIN"]
    kube.annotate_namespace("team-a", visible_to="team-b")
    clients.wait("127.0.0.6", name, ["10.42.0.1"])
    assert mcs.etcd.values(WRITER + "visible/") == {WRITER + "visible/team-a": "team-b"}
    kube.annotate_namespace("team-a", visible_to=None)
    clients.wait("127.0.0.6", name, ["NXDOMAIN"])
    wait_equal(lambda: mcs.etcd.values(WRITER + "visible/"), {}, "no list")


def test_marks_of_the_domain(mcs):
    """A store key and a serial of its own; the store key stays over a restart, and the serial grows."""
    mcs.start_kube2sky(FLAG)
    wait_until(lambda: WRITER + "store" in mcs.etcd.values(WRITER), "the store key")
    before = mcs.etcd.get_prefix(WRITER)
    assert set(before) == {WRITER + "store", WRITER + "serial"}
    home = "/kube2sky/cluster.local/"
    wait_until(lambda: home + "store" in mcs.etcd.values(home), "the store key of the cluster's domain")
    assert before[WRITER + "store"].value != mcs.etcd.values(home)[home + "store"]
    mcs.kube2sky.stop()
    mcs.kube2sky.start()
    wait_until(lambda: mcs.etcd.get_prefix(WRITER)[WRITER + "serial"] != before[WRITER + "serial"], "a new serial")
    assert mcs.etcd.get_prefix(WRITER)[WRITER + "store"] == before[WRITER + "store"]
    version = f"{TREE}dns-version"
    right = mcs.etcd.values(version)
    assert list(right) == [version]
    mcs.etcd.delete_prefix(version)
    wait_equal(lambda: mcs.etcd.values(version), right, "the version again")


def test_etcd_wiped(mcs):
    """Everything is written again, then the marks: the domain of the other data set has another store key."""
    put(mcs, "serviceimports", service_import("web", ips=("10.42.0.1",)))
    mcs.start_kube2sky(FLAG)
    wait_until(lambda: WRITER + "store" in mcs.etcd.values(WRITER), "the store key")
    before = mcs.etcd.values(WRITER)[WRITER + "store"]
    wipe(mcs)
    mcs.start_etcd()
    wait_imports(mcs, ip("default/web", "10.42.0.1"))
    wait_until(lambda: mcs.etcd.values(WRITER).get(WRITER + "store", before) != before, "another store key")
    assert f"{TREE}dns-version" in mcs.etcd.values(TREE)


def test_one_leads(mcs):
    """A standby writes none of the domain's keys; when the leader goes, it does, and the store key stays."""
    put(mcs, "serviceimports", service_import("web", ips=("10.42.0.1",)))
    flags = (FLAG, "--leader-elect", "--leader-elect-lease-duration=2s")
    mcs.start_kube2sky(*flags)
    wait_until(lambda: WRITER + "store" in mcs.etcd.values(WRITER), "the store key")
    before = mcs.etcd.get_prefix(WRITER)
    port_number = reserve_port()
    standby = mcs.command(
        "kube2sky", f"--etcd-server={mcs.etcd_urls[0]}", f"--healthz-port={port_number}", *mcs.kube_flags, *flags
    ).start()
    standby.wait_ready(lambda: http_get(f"http://127.0.0.1:{port_number}/readiness")[0] == 200, "ready")
    assert mcs.etcd.get_prefix(WRITER) == before
    mcs.kube2sky.stop()
    put(mcs, "serviceimports", service_import("more", ips=("10.42.0.2",)))
    wait_imports(mcs, ip("default/web", "10.42.0.1"), ip("default/more", "10.42.0.2"))
    wait_until(lambda: mcs.etcd.get_prefix(WRITER)[WRITER + "serial"] != before[WRITER + "serial"], "its serial")
    assert mcs.etcd.get_prefix(WRITER)[WRITER + "store"] == before[WRITER + "store"]


def test_one_name_of_many_clusters_counts_once(mcs):
    """The limit of one owner's records holds over all clusters together."""
    put(mcs, "serviceimports", service_import("db", HTTP))
    for i in range(4):
        entries = [endpoint(f"10.{i}.0.{j}", hostname=f"h{j}") for j in range(1, 4)]
        put(mcs, "endpointslices", import_slice(f"db-{i}", "db", f"c{i}", entries, HTTP))
    mcs.start_kube2sky(FLAG, "--max-owner-keys=20")
    mcs.kube2sky.wait_line("too many records for one owner, its keys are unchanged owner=mcs/default/db")
    assert imports(mcs) == {}
    mcs.kube.delete("endpointslices", "db-3")
    wait_until(lambda: len(imports(mcs)) == 18, "the records of three clusters")


def test_room_is_shared_with_services(mcs):
    """Imports take their namespace's room, not another."""
    mcs.kube.create("services", service("web", clusterIP="10.96.0.11"))
    mcs.start_kube2sky(FLAG, "--max-namespace-keys=3", "--pods=disabled")
    for i in range(4):
        put(mcs, "serviceimports", service_import(f"i{i}", ips=(f"10.42.0.{i}",)))
    mcs.kube2sky.wait_line("namespace has as many keys as it may, its new ones wait namespace=default")

    def taken() -> int:
        return len(imports(mcs) | mcs.etcd.values("/skydns/local/cluster/svc/default/"))

    wait_until(lambda: taken() >= 3, "as many as there is room for")  # the line comes when they are planned
    assert taken() == 3


def test_another_domain_and_only_written(mcs):
    """--own-only-written recognizes the keys of endpoints in clusters."""
    tree = "/skydns/example/set/svc/default/"
    mine = {
        f"{tree}db/east/db-0": value("10.8.0.1"),
        f"{tree}db/_tcp/_http/east/db-0": value("db-0.east.db.default.svc.set.example.", 80),
    }
    person = {f"{tree}db/east/mine": '{"host":"10.8.0.9"}'}
    mcs.etcd.put_all(mine | person)
    mcs.start_kube2sky(FLAG, "--multicluster-domain=set.example", "--own-only-written")
    wait_equal(lambda: mcs.etcd.values(tree), person, "only the person's key")


def test_dry_run(mcs):
    put(mcs, "serviceimports", service_import("web", ips=("10.42.0.1",)))
    run = dry_run(mcs, FLAG)
    assert run.returncode == 3
    assert next(iter(ip("default/web", "10.42.0.1"))) in run.stdout


def test_dry_run_without_the_kind(bed):
    """It ends, and would touch no import's key."""
    bed.etcd.put_all(ip("default/kept", "10.42.0.9"))
    run = dry_run(bed, FLAG)
    assert run.returncode == 3
    assert TREE not in run.stdout


@pytest.mark.parametrize(("flags", "told"), [
    ([FLAG, "--multicluster-domain=-x"], "flag -multicluster-domain: `-x`: expected a domain name like clusterset.local"),
    ([FLAG, "--multicluster-domain=a.cluster.local"], "flag -multicluster-domain: `a.cluster.local`: expected a domain that"),
    ([FLAG, "--multicluster-domain=local"], "flag -multicluster-domain: `local`: expected a domain that is neither in -domain"),
    ([FLAG, "--override-zones=a.clusterset.local"], "flag -override-zones: `a.clusterset.local.`: expected a zone outside"),
])  # fmt: skip
def test_wrong_flags(bed, flags, told):
    program = bed.command("kube2sky", "--domain=cluster.local", *flags).start()
    assert program.wait() == 2
    assert told in program.log_text()

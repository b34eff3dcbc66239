"""-visibility=own: clients see their own namespace's names and public ones. Clients are 127.0.0.x, as pods' addresses."""

import json

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from dns_client import TIMEOUT_S
from dnssec_bed import flag, keygen
from programs import wait_until
from records import SVC, value
from upstream import Upstream

POD = "/skydns/local/cluster/pod"
VISIBLE = "/kube2sky/cluster.local/visible"
NODE_ADDRESS = "/kube2sky/cluster.local/node-address"
CONFIG = "/skydns/config"
A, B, NOBODY = "127.0.0.5", "127.0.0.6", "127.0.0.7"

KEYS = {
    f"{POD}/team-a/127-0-0-5/a": value(A),
    f"{POD}/team-b/127-0-0-6/b": value(B),
    f"{SVC}/default/kubernetes/k": value("10.0.0.1"),
    f"{SVC}/team-a/web/w": value("10.0.1.1"),
    f"{SVC}/team-a/web/_tcp/_http/w": value("web.team-a.svc.cluster.local.", 80),
    f"{SVC}/team-a/there/_tcp/_http/w": value("web.team-b.svc.cluster.local.", 80),
    f"{SVC}/team-b/web/w": value("10.0.2.1"),
    "/skydns/arpa/in-addr/10/0/1/1": value("web.team-a.svc.cluster.local."),
    "/skydns/arpa/in-addr/10/0/2/1": value("web.team-b.svc.cluster.local."),
}
WEB_A, WEB_B = "web.team-a.svc.cluster.local", "web.team-b.svc.cluster.local"


class Clients:
    def __init__(self, bed):
        self.bed = bed

    def ask(self, source: str, name: str, rdtype: str = "A", tcp: bool = False, **options) -> dns.message.Message:
        ask = dns.query.tcp if tcp else dns.query.udp
        question = dns.message.make_query(name, rdtype, **options)
        return ask(question, "127.0.0.1", timeout=TIMEOUT_S, port=self.bed.dns.port, source=source)

    def answers(self, source: str, name: str, rdtype: str = "A", tcp: bool = False) -> list[str]:
        reply = self.ask(source, name, rdtype, tcp)
        if reply.rcode() != dns.rcode.NOERROR:
            return [dns.rcode.to_text(reply.rcode())]
        return sorted(rdata.to_text() for rrset in reply.answer for rdata in rrset)

    def wait(self, source: str, name: str, right: list[str]) -> None:
        wait_until(lambda: self.answers(source, name) == right, f"{name} for {source}: {right}")


@pytest.fixture
def start(bare_bed):
    """Starts etcd with KEYS and skydns with -visibility=own and these flags, and knows its clients."""

    def start(*flags: str) -> Clients:
        bare_bed.start_etcd()
        for key, text in KEYS.items():
            bare_bed.etcd.put(key, text)
        bare_bed.start_skydns("-visibility=own", *(flags or ("-no-rec",)))
        clients = Clients(bare_bed)
        clients.wait(A, WEB_A, ["10.0.1.1"])
        return clients

    return start


def test_own_public_and_hidden(start):
    clients = start()
    for tcp in (False, True):
        assert clients.answers(A, WEB_A, tcp=tcp) == ["10.0.1.1"]
        assert clients.answers(B, WEB_A, tcp=tcp) == ["NXDOMAIN"]
        assert clients.answers(B, "WEB.Team-B.svc.cluster.local", tcp=tcp) == ["10.0.2.1"]
        assert clients.answers(NOBODY, WEB_A, tcp=tcp) == ["NXDOMAIN"]
        for source in (A, B, NOBODY):
            assert clients.answers(source, "kubernetes.default.svc.cluster.local", tcp=tcp) == ["10.0.0.1"]
        assert clients.answers(A, "*.svc.cluster.local", tcp=tcp) == ["10.0.0.1", "10.0.1.1"]
        assert clients.answers(B, "svc.cluster.local", tcp=tcp) == ["10.0.0.1", "10.0.2.1"]
        assert clients.answers(A, "127-0-0-6.team-b.pod.cluster.local", tcp=tcp) == ["NXDOMAIN"]
        assert clients.answers(A, "1.1.0.10.in-addr.arpa", "PTR", tcp=tcp) == [f"{WEB_A}."]
        absent = clients.answers(B, "1.9.0.10.in-addr.arpa", "PTR", tcp=tcp)
        assert clients.answers(B, "1.1.0.10.in-addr.arpa", "PTR", tcp=tcp) == absent == ["SERVFAIL"]


def test_a_target_is_shown_and_its_addresses_are_not(start):
    clients = start()
    reply = clients.ask(A, "_http._tcp.there.team-a.svc.cluster.local", "SRV")
    assert [rdata.target.to_text() for rdata in reply.answer[0]] == [f"{WEB_B}."]
    assert reply.additional == []
    assert clients.ask(A, f"_http._tcp.{WEB_A}", "SRV").additional != []


def test_namespaces_list_who_sees_them(start):
    clients = start()
    etcd = clients.bed.etcd
    etcd.put(f"{VISIBLE}/team-b", "team-x, team-a")
    clients.wait(A, WEB_B, ["10.0.2.1"])
    assert clients.answers(B, WEB_A) == ["NXDOMAIN"]
    assert clients.answers(NOBODY, WEB_B) == ["NXDOMAIN"]
    etcd.put(f"{VISIBLE}/team-b", "*")
    clients.wait(NOBODY, WEB_B, ["10.0.2.1"])
    etcd.delete(f"{VISIBLE}/team-b")
    clients.wait(NOBODY, WEB_B, ["NXDOMAIN"])
    assert clients.answers(A, WEB_B) == ["NXDOMAIN"]


def test_nothing_is_denied_before_it_is_known_who_asks(bare_bed):
    """Else a client's own names would stay NXDOMAIN in its cache. Here the user may never read node addresses."""
    bare_bed.start_etcd()
    for key, text in KEYS.items():
        bare_bed.etcd.put(key, text)
    bare_bed.etcd.add_reader("reader", "secret", "/skydns/")
    bare_bed.etcd.enable_authentication("root")
    bare_bed.start_skydns("-visibility=own", "-no-rec", "-username=reader", "-password=secret")
    bare_bed.skydns.wait_line("cannot read which addresses pods share with nodes: no client is identified")
    clients = Clients(bare_bed)
    for tcp in (False, True):
        for name in (WEB_A, WEB_B, "absent.default.svc.cluster.local"):
            assert clients.answers(A, name, tcp=tcp) == ["SERVFAIL"]
        assert clients.answers(A, "kubernetes.default.svc.cluster.local", tcp=tcp) == ["10.0.0.1"]


def test_pods_come_and_go(start):
    clients = start()
    etcd = clients.bed.etcd
    etcd.put(f"{POD}/team-b/127-0-0-7/c", value(NOBODY))
    clients.wait(NOBODY, WEB_B, ["10.0.2.1"])
    etcd.put(f"{POD}/team-a/127-0-0-7/c", value(NOBODY))  # pods of two namespaces: nobody's
    clients.wait(NOBODY, WEB_B, ["NXDOMAIN"])
    assert clients.answers(NOBODY, WEB_A) == ["NXDOMAIN"]
    etcd.delete(f"{POD}/team-b/127-0-0-7/c")
    clients.wait(NOBODY, WEB_A, ["10.0.1.1"])
    etcd.put(f"{NODE_ADDRESS}/127-0-0-7", json.dumps({"host": NOBODY}))
    clients.wait(NOBODY, WEB_A, ["NXDOMAIN"])


def test_unknown_clients_and_public_namespaces(start):
    clients = start("-no-rec", "-visibility-unknown=all", "-public-namespaces=team-b")
    assert clients.answers(NOBODY, WEB_A) == ["10.0.1.1"]
    assert clients.answers(A, WEB_B) == ["10.0.2.1"]
    assert clients.answers(A, "kubernetes.default.svc.cluster.local") == ["NXDOMAIN"]
    assert clients.answers(B, WEB_A) == ["NXDOMAIN"]


def test_the_document_changes_it(start):
    clients = start()
    assert clients.answers(B, WEB_A) == ["NXDOMAIN"]
    clients.bed.etcd.put(CONFIG, json.dumps({"visibility": "all"}))
    clients.wait(B, WEB_A, ["10.0.1.1"])
    clients.bed.etcd.put(CONFIG, json.dumps({"visibility": "own", "public_namespaces": ["team-a"]}))
    clients.wait(B, "kubernetes.default.svc.cluster.local", ["NXDOMAIN"])
    assert clients.answers(B, WEB_A) == ["10.0.1.1"]
    clients.bed.etcd.delete(CONFIG)
    clients.wait(B, WEB_A, ["NXDOMAIN"])


def elsewhere(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.flags |= dns.flags.RA
    rdtype = query.question[0].rdtype
    if rdtype == dns.rdatatype.PTR:
        reply.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "PTR", "elsewhere.test."))
    return reply


def test_hidden_names_are_not_forwarded(start):
    upstream = Upstream(elsewhere)
    try:
        server = f"127.0.0.1:{upstream.port}"
        clients = start(f"-nameservers={server}", f"-stub=stub.team-b.svc.cluster.local={server}")
        for tcp in (False, True):
            assert clients.answers(A, WEB_B, tcp=tcp) == ["NXDOMAIN"]
            assert clients.answers(A, "x.stub.team-b.svc.cluster.local", tcp=tcp) == ["NXDOMAIN"]
        assert upstream.seen == []
        assert clients.answers(B, "x.stub.team-b.svc.cluster.local") == []
        assert len(upstream.seen) == 1
    finally:
        upstream.close()


# ---- Hidden and absent look alike ----

TYPES = ("A", "AAAA", "SRV", "TXT", "MX", "CNAME", "NS", "SOA", "PTR", "ANY", "DS", "NSEC", "TYPE65", "TYPE257")
HIDDEN = (
    "team-b.svc.cluster.local", "web.team-b.svc.cluster.local", "x.web.team-b.svc.cluster.local",
    "_http._tcp.web.team-b.svc.cluster.local", "*.team-b.svc.cluster.local", "any.web.team-b.svc.cluster.local",
    "web.team-b.*.cluster.local", "team-b.pod.cluster.local", "127-0-0-6.team-b.pod.cluster.local",
    "1.2.0.10.in-addr.arpa", "x.1.2.0.10.in-addr.arpa", "2.0.10.in-addr.arpa",
)  # fmt: skip


def absent_of(name: str) -> str:
    """As long, and as far from what there is."""
    return name.replace("team-b", "team-z").replace(".2.0.10.", ".9.0.10.").replace("2.0.10.", "9.0.10.")


def shape(reply: dns.message.Message) -> tuple:
    """All that does not depend on the labels that differ; signatures are as long as each other."""
    sections = [
        [(len(rrset.name), rrset.ttl, rrset.rdtype, str(getattr(rrset[0], "windows", "")), len(rrset)) for rrset in section]
        for section in (reply.answer, reply.authority, reply.additional)
    ]
    return dns.rcode.to_text(reply.rcode()), int(reply.flags), sections


@pytest.mark.parametrize("schema, zones", [("skydns", ""), ("kubernetes", "10.0.0.0/8")])
def test_what_is_hidden_looks_like_what_is_not_there(start, tmp_path, schema, zones):
    """Over both transports, signed or not, asked once and again, which the cache answers."""
    upstream = Upstream(elsewhere)
    try:
        key = keygen(tmp_path, "cluster.local", sep=False)
        flags = [f"-nameservers=127.0.0.1:{upstream.port}", f"-schema={schema}", flag(key)]
        clients = start(*flags, *([f"-reverse-zones={zones}"] if zones else []))
        for name in HIDDEN:
            for rdtype in TYPES:
                for tcp, is_signed in ((False, False), (True, True), (False, True)):
                    before = len(upstream.seen)
                    hidden = shape(clients.ask(A, name, rdtype, tcp, want_dnssec=is_signed))
                    asked = len(upstream.seen)
                    absent = shape(clients.ask(A, absent_of(name), rdtype, tcp, want_dnssec=is_signed))
                    assert hidden == absent, f"{name} {rdtype} tcp={tcp} do={is_signed}"
                    assert asked - before == len(upstream.seen) - asked, f"{name} {rdtype} forwarded"
    finally:
        upstream.close()


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_targets_that_are_hidden_look_like_those_that_are_not_there(start, schema):
    clients = start("-no-rec", f"-schema={schema}")
    for label, target in (("to-b", WEB_B), ("to-z", absent_of(WEB_B))):
        clients.bed.etcd.put(f"{SVC}/team-a/as-{label}", value(f"{target}."))
        clients.bed.etcd.put(f"{SVC}/team-a/{label}/_tcp/_http/w", value(f"{target}.", 80))  # the last one is waited for
    clients.wait(A, "_http._tcp.to-z.team-a.svc.cluster.local", [])
    for start_of in ("_http._tcp.", "as-", ""):
        for rdtype in TYPES:
            hidden, absent = (
                shape(clients.ask(A, f"{start_of}to-{last}.team-a.svc.cluster.local", rdtype)) for last in "bz"
            )
            assert hidden == absent, f"{start_of} {rdtype}"

"""Who asks: skydns_namespace_queries_total and GET /clients. Clients are 127.0.0.x, as pods' addresses."""

import json

import dns.message
import dns.query
import dns.rcode
import pytest
from dns_client import TIMEOUT_S
from foreign_server import Server
from programs import wait_until
from records import SVC, value
from scripted import ADDRESS, reply, soa

POD = "/skydns/local/cluster/pod"
A, B, NOBODY = "127.0.0.5", "127.0.0.6", "127.0.0.7"
KEYS = {
    f"{POD}/team-a/127-0-0-5/a": value(A),
    f"{POD}/team-b/127-0-0-6/b": value(B),
    f"{SVC}/team-a/web/w": value("10.0.1.1"),
}
WEB, TYPO = "web.team-a.svc.cluster.local", "wbe.team-a.svc.cluster.local"
EXTERNAL = "www.example.com"
CANDIDATES = [f"{EXTERNAL}.{suffix}" for suffix in ("team-a.svc.cluster.local", "svc.cluster.local", "cluster.local")]
RESULTS = ("limited", "failed", "external", "nxdomain", "nodata", "answered")


class Counted:
    def __init__(self, bed, *flags: str, keys: dict[str, str] | None = None, is_known: bool = True):
        bed.start_etcd()
        bed.etcd.put_all(KEYS if keys is None else keys)
        self.bed, self.server = bed, Server(bed, "-workers=2", *flags)
        self.server.nameserver.tell(EXTERNAL, "A", reply(f"{EXTERNAL}. 300 A {ADDRESS}"))
        self.server.nameserver.tell("absent.example.com", "A", reply(rcode="NXDOMAIN", authority=[soa("example.com.")]))
        if is_known:
            self.server.watched.wait_metric(2, "client_addresses", state="known")

    def ask(self, source: str, name: str, rdtype: str = "A", tcp: bool = False) -> str:
        ask = dns.query.tcp if tcp else dns.query.udp
        question = dns.message.make_query(name, rdtype)
        answer = ask(question, "127.0.0.1", timeout=TIMEOUT_S, port=self.bed.dns.port, source=source)
        return dns.rcode.to_text(answer.rcode())

    def counts(self, namespace: str) -> dict[str, int]:
        """Of the metric: results that are not 0."""
        page = self.server.watched.metrics()
        name, counts = "skydns_namespace_queries_total", {}
        for result in RESULTS:
            labels = (("namespace", namespace), ("result", result))
            counts[result] = page.metrics[name].samples.get((name, labels), 0)
        return {result: int(count) for result, count in counts.items() if count}

    def page(self) -> dict:
        status, text = self.server.watched.ask("/clients")
        assert status == 200, text
        return json.loads(text)

    def client(self, address: str) -> dict | None:
        return next((client for client in self.page()["clients"] if client["address"] == address), None)


def test_each_query_counts_once_for_its_namespace(bare_bed):
    counted = Counted(bare_bed)
    assert counted.counts("") == {}
    for tcp in (False, True):
        for name in (WEB, WEB, WEB, EXTERNAL, "absent.example.com"):
            counted.ask(A, name, tcp=tcp)
        assert counted.ask(A, WEB, "AAAA", tcp) == "NOERROR"
        assert counted.ask(A, TYPO, tcp=tcp) == "NXDOMAIN"
        assert counted.ask(A, WEB, "ANY", tcp) == "REFUSED"
        assert counted.ask(B, WEB, tcp=tcp) == "NOERROR"
        assert counted.ask(NOBODY, WEB, tcp=tcp) == "NOERROR"
    assert counted.counts("team-a") == {"answered": 6, "external": 4, "nodata": 2, "nxdomain": 2, "failed": 2}
    assert counted.counts("team-b") == {"answered": 2}
    assert counted.counts("") == {"answered": 2}
    bare_bed.etcd.delete(f"{POD}/team-a/127-0-0-5/a")  # its label stays, and its counts do
    counted.server.watched.wait_metric(1, "client_addresses", state="known")
    counted.ask(A, WEB)
    assert counted.counts("team-a") == {"answered": 6, "external": 4, "nodata": 2, "nxdomain": 2, "failed": 2}
    assert counted.counts("") == {"answered": 3}


def test_what_a_search_list_costs(bare_bed):
    counted = Counted(bare_bed)
    assert counted.counts("") == {}
    for name in (*CANDIDATES, EXTERNAL) * 5:
        counted.ask(A, name)
    for _ in range(10):
        counted.ask(B, WEB)
    page = counted.page()
    [a, b] = page["clients"]
    assert (a["address"], a["namespace"], a["queries"], a["lacks"]) == (A, "team-a", 20, 0)
    assert (a["nxdomain_share"], a["external_share"], a["miss_share"]) == (0.75, 0.25, 0.75)
    assert (b["address"], b["namespace"], b["queries"], b["miss_share"]) == (B, "team-b", 10, 0)
    assert a["per_s"] == pytest.approx(20 / page["window_s"], rel=0.6)
    [bill_a, bill_b] = page["namespaces"]
    assert bill_a["namespace"] == "team-a" and bill_a["clients"] == 1
    assert (bill_a["queries"], bill_a["external"], bill_a["misses"]) == (20, 5, 15)
    assert bill_a["ndots1_saves"] == bill_a["autopath_saves"] == 15
    assert page["cpu_us_per_query"] > 0 and bill_a["autopath_saves_cpu_ms"] > 0
    assert bill_b["misses"] == bill_b["ndots1_saves"] == bill_b["autopath_saves"] == 0


def test_a_client_record_names_the_pod(bare_bed):
    record = {"namespace": "team-c", "pod": "web-0", "node": "n1"}
    counted = Counted(
        bare_bed, keys={"/kube2sky/cluster.local/client/127-0-0-7": json.dumps(record)}, is_known=False
    )
    counted.server.watched.wait_metric(1, "client_addresses", state="known")
    assert counted.counts("") == {}
    counted.ask(NOBODY, WEB)
    assert (counted.client(NOBODY)["namespace"], counted.client(NOBODY)["pod"]) == ("team-c", "web-0")
    assert counted.counts("team-c") == {"nxdomain": 1}


def test_so_many_namespaces_have_labels(bare_bed):
    counted = Counted(bare_bed, "-namespace-metrics=1")
    assert counted.counts("") == {}
    for source, queries in ((A, 3), (B, 9)):
        for _ in range(queries):
            counted.ask(source, WEB)
        counted.counts("")
    labelled = {namespace: counted.counts(namespace) for namespace in ("team-a", "team-b", "")}
    assert labelled == {"team-a": {"answered": 3}, "team-b": {}, "": {"answered": 9}}
    assert {bill["namespace"] for bill in counted.page()["namespaces"]} == {"team-a", "team-b"}


def test_limited(bare_bed):
    counted = Counted(bare_bed, "-rate=1/2")
    assert counted.counts("") == {}
    replies = 0
    for _ in range(20):
        try:
            question = dns.message.make_query(WEB, "A")
            dns.query.udp(question, "127.0.0.1", timeout=0.05, port=bare_bed.dns.port, source=A)
            replies += 1
        except dns.exception.Timeout:
            pass
    metrics = counted.server.watched.metrics()
    limited = sum(metrics.get("rate_limited_total", reply=reply) for reply in ("truncated", "dropped"))
    assert limited > 0 and counted.counts("team-a") == {"answered": 20 - limited, "limited": limited}


def test_nobody_is_known(bare_bed):
    """No series and no counts; whoever reads /clients starts them, without namespaces."""
    counted = Counted(bare_bed, keys={f"{SVC}/team-a/web/w": value("10.0.1.1")}, is_known=False)
    counted.ask(A, WEB)
    assert "skydns_namespace_queries_total" not in counted.server.watched.ask("/metrics")[1]
    assert counted.page()["clients"] == []
    counted.ask(A, WEB)
    wait_until(lambda: (counted.client(A) or {}).get("queries") == 1, "it is counted")
    assert "namespace" not in counted.client(A)
    assert counted.counts("") == {"answered": 1}


def test_no_metric(bare_bed):
    counted = Counted(bare_bed, "-namespace-metrics=0", is_known=False)
    assert counted.page()["clients"] == []
    counted.ask(A, WEB)
    wait_until(lambda: counted.client(A), "it is counted")
    assert "skydns_namespace_queries_total" not in counted.server.watched.ask("/metrics")[1]

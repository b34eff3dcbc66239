"""GET /missing: what pods ask for that does not exist, and what they may have meant. Clients are 127.0.0.x, as pods' addresses."""

import json
import socket

import dns.message
import dns.rcode
from programs import http_get, reserve_port, wait_until
from records import SVC, value
from upstream import IMPATIENT, Upstream
from test_http_allow import Server
from test_top import terminal  # noqa: F401: a fixture
from test_visibility import A, B, Clients, POD

KEYS = {
    f"{POD}/prod/127-0-0-5/a": value(A),
    f"{POD}/shop/127-0-0-6/b": value(B),
    f"{SVC}/default/kubernetes/k": value("10.0.0.1"),
    f"{SVC}/prod/web/w": value("10.0.1.1"),
    f"{SVC}/prod/old/w": value("10.0.1.2"),
    f"{SVC}/prod/gone": '{"host":"nowhere.example.com."}',
    f"{SVC}/shop/cart/w": value("10.0.2.1"),
}
TIMES = 50  # at least two samples: one in 8 to 24, by one thread


def deny(query: dns.message.Message) -> dns.message.Message:
    reply = dns.message.make_response(query)
    reply.set_rcode(dns.rcode.NXDOMAIN)
    return reply


class Missing:
    def __init__(self, bed, *flags: str):
        self.bed, self.port = bed, reserve_port()
        bed.start_etcd()
        for key, text in KEYS.items():
            bed.etcd.put(key, text)
        bed.start_skydns("-schema=kubernetes", "-visibility=own", "-workers=1", f"-http-addr=127.0.0.1:{self.port}", *flags)
        self.clients = Clients(bed)
        self.clients.wait(A, "web.prod.svc.cluster.local", ["10.0.1.1"])

    def ask(self, source: str, *names: str, times: int = TIMES, rcode: int = dns.rcode.NXDOMAIN) -> None:
        for _ in range(times):
            for name in names:
                assert self.clients.ask(source, name).rcode() == rcode, name

    def page(self) -> dict:
        status, text = http_get(f"http://127.0.0.1:{self.port}/missing")
        assert status == 200, text
        return json.loads(text)

    def rows(self, field: str = "names") -> dict[tuple[str, str], dict]:
        return {(row["name"], row.get("namespace", "")): row for row in self.page()[field]}


def test_typos(bare_bed):
    missing = Missing(bare_bed, "-no-rec")
    missing.ask(A, "WBE.prod.svc.cluster.local")
    missing.ask(B, "cart.prod.svc.cluster.local")
    row = missing.rows()[("wbe.prod.svc.cluster.local.", "prod")]
    assert (row["type"], row["why"], row["near"]) == ("A", "spelling", "web.prod.svc.cluster.local.")
    assert 16 * 2 <= row["queries"] <= 16 * 7
    # The client in shop may not see prod's names; whoever reads the page may.
    row = missing.rows()[("cart.prod.svc.cluster.local.", "shop")]
    assert (row["why"], row["near"]) == ("namespace", "cart.shop.svc.cluster.local.")
    missing.ask(B, "web.prod.svc.cluster.local")
    row = missing.rows()[("web.prod.svc.cluster.local.", "shop")]
    assert row["why"] == "hidden" and "near" not in row
    page = missing.page()
    assert (page["sampled"], page["aliases"], page["upstreams"], page["dropped"]) == (16, [], [], 0)
    assert 0 <= page["span_s"] < 3600


def test_a_deleted_service(bare_bed):
    missing = Missing(bare_bed, "-no-rec")
    bare_bed.etcd.delete(f"{SVC}/prod/old/w")
    missing.clients.wait(A, "old.prod.svc.cluster.local", ["NXDOMAIN"])
    missing.ask(A, "old.prod.svc.cluster.local")
    row = missing.rows()[("old.prod.svc.cluster.local.", "prod")]
    gone = row["deleted"]
    assert row["why"] == "deleted" and gone.pop("time_ms") > 1700000000000
    assert gone == {"name": "old.prod.svc.cluster.local.", "service": "prod/old", "address": "10.0.1.2"}


def test_expansions_are_no_mistakes(bare_bed):
    """What a search list makes of external and of existing names is left out; of a typo's candidates one is shown."""
    upstream = Upstream(dns.message.make_response)
    try:
        missing = Missing(bare_bed, f"-nameservers=127.0.0.1:{upstream.port}", "-rcache=0")
        suffixes = ("prod.svc.cluster.local", "svc.cluster.local", "cluster.local")
        missing.ask(A, *(f"api.example.com.{suffix}" for suffix in suffixes), times=TIMES * 4)
        missing.ask(A, "kubernetes.default.prod.svc.cluster.local", "web.prod.svc.cluster.local.prod.svc.cluster.local")
        assert missing.rows() == {}
        assert missing.page()["expansions"] >= 16
        missing.ask(A, *(f"wbe.{suffix}" for suffix in suffixes), times=TIMES * 4)
        (row,) = missing.page()["names"]
        assert (row["name"], row["near"]) == ("wbe.prod.svc.cluster.local.", "web.prod.svc.cluster.local.")
    finally:
        upstream.close()


def test_aliases_and_upstreams(bare_bed):
    upstream = Upstream(deny)
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    try:
        stub = f"-stub=slow.test=127.0.0.1:{silent.getsockname()[1]}"
        missing = Missing(bare_bed, f"-nameservers=127.0.0.1:{upstream.port}", stub, IMPATIENT)
        missing.ask(A, "gone.prod.svc.cluster.local", rcode=dns.rcode.NOERROR)  # a CNAME alone
        row = missing.rows("aliases")[("gone.prod.svc.cluster.local.", "prod")]
        assert row["target"] == "nowhere.example.com." and missing.page()["names"] == []
        missing.ask(A, "a.slow.test", times=1, rcode=dns.rcode.SERVFAIL)
        wait_until(lambda: missing.page()["upstreams"], "the upstream that times out")
        (server,) = missing.page()["upstreams"]
        assert (server["zone"], server["address"]) == ("slow.test.", f"127.0.0.1:{silent.getsockname()[1]}")
        assert server["timeouts"] >= 1 and server["timeouts"] <= server["failures"] <= server["queries"]
    finally:
        silent.close()
        upstream.close()


def test_in_a_terminal(bare_bed, terminal):  # noqa: F811
    missing = Missing(bare_bed, "-no-rec")
    missing.ask(A, "wbe.prod.svc.cluster.local")
    view = terminal("skydns", "-top", f"-http-addr=127.0.0.1:{missing.port}", width=200, height=60)
    view.wait_text("Missing names", "wbe.prod.svc.cluster.local.", "web.prod.svc.cluster.local.", "by prod")


def test_who_may_read_it(bare_bed):
    server = Server(bare_bed)
    status, text = server.status("127.0.0.1", "/missing")
    assert status == 200 and json.loads(text)["names"] == []
    status, text = server.status("10.1.0.1", "/missing")
    assert status == 403 and "names" not in text

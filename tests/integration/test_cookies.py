"""DNS cookies as clients use them, -rate and -allow as they are seen on the wire."""

import contextlib
import re
import select
import socket
import time

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import prometheus
import pytest
from nameservers import needs
from programs import http_get, output, reserve_port, wait_until
from records import value
from transports import KINDS, Listeners

NAME = "web.default.svc.cluster.local"
KEY = "/skydns/local/cluster/svc/default/web"
COOKIE = 10
CLIENT = bytes.fromhex("0123456789abcdef")
BADCOOKIE = 23
PROHIBITED = 18
OVER = ("udp", "tcp", *KINDS)


class Server:
    """skydns with one record."""

    def __init__(self, bed, *flags: str):
        self.bed, self.http, self.listeners = bed, reserve_port(), Listeners(bed.folder)
        bed.start_etcd()
        bed.etcd.put(KEY, value("10.0.0.1"))
        bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{self.http}", *self.listeners.flags(bed.dns.port), *flags)

    def configure(self, document: str) -> None:
        self.bed.etcd.put("/skydns/config", document)

    def metric(self, name: str, **labels: str) -> float:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        return page[f"skydns_{name}"].samples[(f"skydns_{name}", tuple(sorted(labels.items())))]

    def udp_totals(self) -> tuple[float, float]:
        """Queries that are counted, and of these, those with a reply."""
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        samples = page["skydns_queries_total"].samples
        verdicts = {dict(labels)["verdict"]: v for (_, labels), v in samples.items() if ("transport", "udp") in labels}
        return sum(verdicts.values()), verdicts["answered"] + self.metric("rate_limited_total", reply="truncated")

    def wait_ready(self) -> None:
        """Over TCP, which no rate limits."""
        wait_until(lambda: self.ask(over="tcp").answer, "the record")

    def ask(self, cookie: bytes = b"", over: str = "udp", source: str = "127.0.0.1"):
        query = dns.message.make_query(NAME, "A", use_edns=0, options=options_of(cookie))
        if over in KINDS:
            with contextlib.closing(self.listeners.asker(over, source_address=(source, 0))) as asker:
                return dns.message.from_wire(asker.exchange(query.to_wire()))
        ask = dns.query.tcp if over == "tcp" else dns.query.udp
        return ask(query, "127.0.0.1", timeout=20, port=self.bed.dns.port, source=source)


def options_of(cookie: bytes) -> list:
    return [dns.edns.GenericOption(COOKIE, cookie)] if cookie else []


def cookie_of(reply) -> bytes:
    [option] = [option for option in reply.options if option.otype == COOKIE]
    return option.to_wire()


def ask_many(server: Server, count: int, sources: list[str], cookie: bytes = b"", sockets: int = 1) -> dict[str, list]:
    """Sends so many queries from each source at once; returns the replies that skydns says it sent."""
    query = dns.message.make_query(NAME, "A", use_edns=0, options=options_of(cookie))
    clients = [connect(server, source) for source in sources for _ in range(sockets)]
    before, sent = server.udp_totals(), 0
    for number in range(count * len(sources)):
        query.id = number
        clients[number % len(clients)].send(query.to_wire())
        sent += 1
    wait_until(lambda: server.udp_totals()[0] >= before[0] + sent, "all queries to be counted")
    expected = server.udp_totals()[1] - before[1]
    replies: dict[str, list] = {source: [] for source in sources}
    while sum(map(len, replies.values())) < expected:
        readable, _, _ = select.select(clients, [], [], 5)
        assert readable, "replies are missing"
        for client in readable:
            replies[client.getsockname()[0]].append(dns.message.from_wire(client.recv(4096)))
    for client in clients:
        client.close()
    return replies


def connect(server: Server, source: str) -> socket.socket:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.bind((source, 0))
    client.connect(("127.0.0.1", server.bed.dns.port))
    return client


def kinds(replies: list) -> tuple[int, int]:
    """How many have the answer, and how many are empty and truncated."""
    whole = [reply for reply in replies if reply.answer and not reply.flags & dns.flags.TC]
    empty = [reply for reply in replies if not reply.answer and reply.flags & dns.flags.TC]
    assert len(whole) + len(empty) == len(replies)
    assert all(reply.flags & dns.flags.RA and reply.rcode() == 0 and reply.edns == 0 for reply in empty)
    return len(whole), len(empty)


# ---- Cookies ----


@pytest.fixture
def server(bare_bed):
    server = Server(bare_bed)
    server.wait_ready()
    return server


def test_dig_and_kdig_are_content(server):
    dns_port, ports = server.bed.dns.port, server.listeners.ports
    for number, *transport in (dns_port,), (dns_port, "+tcp"), (ports["tls"], "+tls"), (ports["https"], "+https"):
        port = str(number)
        text = output(needs("dig"), "-p", port, "@127.0.0.1", NAME, "A", "+cookie", *transport)
        cookie = re.search(r"; COOKIE: ([0-9a-f]{48}) \(good\)", text)
        assert cookie and "10.0.0.1" in text and "mismatch" not in text
        text = output(needs("dig"), "-p", port, "@127.0.0.1", NAME, "A", f"+cookie={cookie[1]}", *transport)
        assert f"; COOKIE: {cookie[1]} (good)" in text and "10.0.0.1" in text  # the same, as it is new
        text = output(needs("kdig"), "-p", port, "@127.0.0.1", NAME, "A", "+cookie", *transport)
        assert re.search(r"COOKIE: [0-9A-Fa-f]{16,}", text) and "10.0.0.1" in text and "mismatch" not in text
        again = output(needs("kdig"), "-p", port, "@127.0.0.1", NAME, "A", f"+cookie={cookie[1]}", *transport)
        assert "10.0.0.1" in again and "mismatch" not in again


def test_only_who_sends_a_cookie_gets_one(server):
    for over in OVER:
        assert not server.ask(over=over).options
        first = cookie_of(server.ask(CLIENT, over))
        assert len(first) == 24 and first[:8] == CLIENT and first[8] == 1
        assert cookie_of(server.ask(first, over)) == first
        forged = first[:-1] + bytes([first[-1] ^ 1])
        answer = server.ask(forged, over)
        assert answer.answer and cookie_of(answer) not in (first[:0], forged)
        for length in (1, 7, 9, 15, 41):
            assert server.ask(bytes(length), over).rcode() == dns.rcode.FORMERR


def test_secrets_are_replaced(bare_bed):
    """The first makes cookies, the others are accepted; what cannot be used changes nothing."""
    old, new = "e5e973e5a6b2a43f48e7dc849e37bfcf", "445536bcd2513298075a5d379663c962"
    file = bare_bed.folder / "secrets"
    file.write_text(old + "\n")
    server = Server(bare_bed, f"-cookie-secret={file}", "-rate=1000000")
    server.wait_ready()

    def is_exempt(cookie: bytes) -> bool:
        before = server.metric("rate_exempt_total")
        assert server.ask(cookie).answer
        return server.metric("rate_exempt_total") > before

    first = cookie_of(server.ask(CLIENT))
    assert cookie_of(server.ask(first)) == first and is_exempt(first)
    file.write_text(f"{new}\n{old}\n")
    wait_until(lambda: cookie_of(server.ask(first)) != first, "the new secret makes cookies")
    second = cookie_of(server.ask(first))
    assert is_exempt(first) and is_exempt(second)
    file.write_text(f"{new}\n")
    wait_until(lambda: not is_exempt(first), "the old secret is forgotten")
    file.write_text(f"{new}\n{old[:-1]}\n")
    wait_until(lambda: server.metric("config_refused", source="cookies") == 1, "the file is refused")
    assert cookie_of(server.ask(second)) == second and not is_exempt(first)
    assert old[:8] not in server.bed.skydns.log_text(1000)


# ---- Rates ----


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sockets", [1, 15])
def test_a_rate_is_exact(bare_bed, workers, sockets):
    """Whatever the number of workers and of source ports; each client has its own."""
    server = Server(bare_bed, f"-workers={workers}")
    server.wait_ready()
    server.configure('{"rate": "1/20"}')
    server.bed.skydns.wait_line(r"configuration changed.*rate")
    begun = time.monotonic()
    replies = ask_many(server, 60, ["127.0.0.2", "127.0.0.3"], sockets=sockets)
    more = time.monotonic() - begun  # one for each second
    for source in replies:
        whole, empty = kinds(replies[source])
        assert 20 <= whole <= 20 + more and abs(empty - (60 - whole) / 2) <= 0.5
    limited = server.metric("rate_limited_total", reply="truncated")
    dropped = server.metric("rate_limited_total", reply="dropped")
    whole = sum(kinds(replies[source])[0] for source in replies)
    assert limited + dropped == 120 - whole and limited - dropped in (0, 1, 2)
    assert server.metric("queries_total", transport="udp", verdict="limited") == 120 - whole


def test_streams_and_valid_cookies_are_not_limited(bare_bed):
    server = Server(bare_bed, "-rate=1/1")
    server.wait_ready()
    source = "127.0.0.2"
    cookie = cookie_of(server.ask(CLIENT, "tcp", source=source))
    assert len(ask_many(server, 3, [source])[source]) == 2  # the answer, an empty one, and none
    assert kinds(ask_many(server, 40, [source], cookie)[source]) == (40, 0)
    assert server.metric("rate_exempt_total") == 40
    streams = [server.ask(over=over, source=source) for over in OVER[1:] for _ in range(3)]
    assert kinds(streams) == (len(streams), 0)
    # A cookie of its own is none of ours, and another client's is wrong.
    alone = ask_many(server, 41, [source], CLIENT)[source]
    assert kinds(alone)[1] >= 19 and all(len(cookie_of(reply)) == 24 for reply in alone)
    other = ask_many(server, 41, ["127.0.0.3"], cookie)["127.0.0.3"]
    bad = [reply for reply in other if reply.rcode() == BADCOOKIE]
    assert len(bad) >= 18 and not any(reply.flags & dns.flags.TC or reply.answer for reply in bad)
    good = cookie_of(bad[0])
    assert kinds(ask_many(server, 20, ["127.0.0.3"], good)["127.0.0.3"]) == (20, 0)
    assert server.metric("replies_total", transport="udp", rcode="BADCOOKIE") == len(bad)


def test_clients_follow_tc(bare_bed):
    """dig goes on over TCP, as the resolvers of C libraries do."""
    server = Server(bare_bed, "-rate=1/1")
    server.wait_ready()
    for _ in range(4):
        text = output(needs("dig"), "-p", str(server.bed.dns.port), "@127.0.0.1", NAME, "A", "+nocookie", "+timeout=1",
                      "+tries=5")  # fmt: skip
        assert "10.0.0.1" in text


# ---- Who may ask ----


def test_only_those_of_allow_may_ask(bare_bed):
    server = Server(bare_bed, "-allow=127.0.0.1,127.1.0.0/16")
    server.wait_ready()
    for over in OVER:
        assert server.ask(over=over).answer and server.ask(over=over, source="127.1.2.3").answer
        refused = server.ask(CLIENT, over, source="127.0.0.2")
        assert refused.rcode() == dns.rcode.REFUSED and not refused.answer
        assert [option.code for option in refused.options if option.otype == dns.edns.EDE] == [PROHIBITED]
        assert len(cookie_of(refused)) == 24
    assert server.metric("not_allowed_total") == len(OVER)
    server.bed.skydns.wait_line(r"refusing queries from clients outside -allow.*127\.0\.0\.2")
    server.configure('{"allow": "127.0.0.2"}')
    wait_until(lambda: server.ask(source="127.0.0.2").answer, "the new list")
    assert server.ask(source="127.1.2.3").rcode() == dns.rcode.REFUSED
    server.configure('{"allow": "none"}')
    wait_until(lambda: server.ask(source="127.0.0.2").rcode() == dns.rcode.REFUSED, "nobody's list")
    assert server.bed.skydns.log_text(1000).count("outside -allow") == 1

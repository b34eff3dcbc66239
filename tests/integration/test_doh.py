"""DNS over HTTPS and over HTTP (RFC 8484), by both versions of HTTP: every status and field, order, keep-alive."""

import base64
import email.utils
import http.client
import json
import socket
import threading
import time

import dns.flags
import dns.message
import dns.rcode
import h2.config
import h2.connection
import h2.events
import pytest
import tls_bed
from bed import Bed
from doh_client import HTTP1, HTTP2, Client
from records import SVC, value
from scripted import ADDRESS, Nameserver, reply
from transports import PATH, TYPE, Listeners, get_path

WEB = "web.default.svc.cluster.local"
ALIAS = "alias.cluster.local"
ALL = HTTP1 + HTTP2


def query(name: str = WEB, rdtype: str = "A", **options) -> bytes:
    return dns.message.make_query(name, rdtype, **{"id": 0, **options}).to_wire()


@pytest.fixture(scope="module")
def nameserver():
    server = Nameserver()
    yield server
    server.close()


@pytest.fixture(scope="module")
def listeners(tmp_path_factory):
    return Listeners(tmp_path_factory.mktemp("listeners"))


@pytest.fixture(scope="module")
def dns_bed(tmp_path_factory, listeners, nameserver):
    bed = Bed(tmp_path_factory.mktemp("dns"))
    bed.start_etcd()
    bed.start_skydns(*listeners.flags(bed.dns.port), f"-nameservers=127.0.0.1:{nameserver.port}", "-rtimeout=20s")
    put = bed.etcd.put
    put(f"{SVC}/default/web/a", value("10.0.0.1"))
    put("/skydns/local/cluster/alias", json.dumps({"host": f"{WEB}.", "ttl": 12}))
    put("/skydns/local/cluster/last", value("10.3.0.1"))
    bed.wait_answers("last.cluster.local", "A", ["10.3.0.1"])
    yield bed
    bed.close()


@pytest.fixture(params=ALL)
def client(request, dns_bed, listeners):
    with Client(listeners, request.param) as client:
        yield client


def max_age(reply) -> int:
    name, _, seconds = reply.fields["cache-control"].partition("=")
    assert name == "max-age"
    return int(seconds)


# ---- Replies ----


def test_each_method(client):
    wire = query()
    got = client.get(wire)
    [rrset] = got.message.answer
    assert rrset[0].address == "10.0.0.1" and rrset.ttl == 30
    assert int(got.fields["content-length"]) == len(got.body)
    assert max_age(got) == 30
    date = email.utils.parsedate_to_datetime(got.fields["date"]).timestamp()
    assert abs(date - time.time()) < 60
    assert client.post(wire).body == got.body
    head = client.head(wire)
    assert (head.status, head.body) == (200, b"")
    for name in ("content-type", "content-length", "cache-control"):
        assert head.fields[name] == got.fields[name]
    assert client.get(query(id=77)).message.id == 77


def test_the_target(client):
    """Other parameters, escapes, an absolute form for HTTP/1.1 only."""
    text = get_path(query()).partition("=")[2]
    escaped = "".join(f"%{ord(c):02x}" for c in text)
    for path in (f"{PATH}?ct=x&dns={text}&y", f"{PATH}?dns={escaped}"):
        assert client.request("GET", path).message.answer


def test_the_type_is_compared_without_case_or_parameters(client):
    for sent in ("Application/DNS-Message", TYPE + "; charset=utf-8", TYPE + " ;x"):
        assert client.request("POST", PATH, {"content-type": sent}, query()).message.answer


def test_negative_replies(client):
    """As long as the SOA says: the smaller of its TTL and its minimum."""
    for name, rcode in ((WEB, dns.rcode.NOERROR), (f"none.{WEB}", dns.rcode.NXDOMAIN)):
        got = client.get(query(name, "AAAA"))
        message = got.message
        assert message.rcode() == rcode and not message.answer
        [soa] = message.authority
        assert max_age(got) == min(soa.ttl, soa[0].minimum) > 0


def test_aliases(client):
    """The smallest TTL; without data behind them, also of the SOA."""
    got = client.get(query(ALIAS))
    assert {rrset.ttl for rrset in got.message.answer} >= {12}
    assert max_age(got) == 12
    got = client.get(query(ALIAS, "AAAA"))
    ttls = [rrset.ttl for rrset in got.message.answer]
    ttls += [min(rrset.ttl, rrset[0].minimum) for rrset in got.message.authority]
    assert max_age(got) == min(ttls)


def test_the_soa_as_an_answer(client):
    got = client.get(query("cluster.local", "SOA"))
    [soa] = got.message.answer
    assert max_age(got) == soa.ttl


def test_failures_are_not_kept(client, nameserver):
    nameserver.tell("failing.test", "A", reply(rcode="SERVFAIL"))
    got = client.get(query("failing.test"))
    assert got.message.rcode() == dns.rcode.SERVFAIL
    assert max_age(got) == 0


def test_foreign_names(client, nameserver):
    nameserver.tell("www.other.test", "A", reply("www.other.test. 44 A 192.0.2.1", "www.other.test. 44 A 192.0.2.2"))
    got = client.post(query("www.other.test", use_edns=0))
    assert len(got.message.answer[0]) == 2
    assert 0 < max_age(got) <= 44
    assert max_age(got) == got.message.answer[0].ttl


def test_long_replies(client, nameserver):
    """No truncation: as over TCP."""
    lines = [f"big.test. 60 A 10.{n // 256}.{n % 256}.1" for n in range(3000)]
    nameserver.tell("big.test", "A", reply(*lines))
    got = client.get(query("big.test"))
    assert not got.message.flags & dns.flags.TC
    assert len(got.body) > 48000 and len(got.message.answer[0]) == 3000


# ---- Statuses ----


REPLY = query()[:2] + b"\x81" + query()[3:]
NO_QUESTION = query()[:4] + bytes(8)


REFUSED = [
    ("GET", "/", {}, b"", 404),
    ("GET", "/dns-query/?dns=AAAA", {}, b"", 404),
    ("POST", "/resolve", {"content-type": TYPE}, query(), 404),
    ("PUT", PATH, {"content-type": TYPE}, query(), 405),
    ("DELETE", PATH, {}, b"", 405),
    ("OPTIONS", PATH, {}, b"", 405),
    ("POST", PATH, {}, query(), 415),
    ("POST", PATH, {"content-type": "text/plain"}, query(), 415),
    ("POST", PATH, {"content-type": "application/dns-json"}, query(), 415),
    ("POST", PATH, {"content-type": TYPE}, bytes(65536), 413),
    ("POST", PATH, {"content-type": TYPE}, b"", 400),
    ("POST", PATH, {"content-type": TYPE}, b"x", 400),
    ("POST", PATH, {"content-type": TYPE}, REPLY, 400),
    ("POST", PATH, {"content-type": TYPE}, NO_QUESTION, 400),
    ("POST", PATH, {"content-type": TYPE}, query()[:-3], 400),
    ("GET", PATH, {}, b"", 400),
    ("GET", f"{PATH}?dns=", {}, b"", 400),
    ("GET", f"{PATH}?other=AAAA", {}, b"", 400),
    ("GET", f"{PATH}?dns=AAAA", {}, b"", 400),
    ("GET", f"{PATH}?dns=***", {}, b"", 400),
    ("GET", f"{PATH}?dns=" + base64.urlsafe_b64encode(REPLY).decode().rstrip("="), {}, b"", 400),
    ("GET", get_path(query()) + "=", {}, b"", 400),
    ("GET", get_path(query()) + "&dns=AAAA", {}, b"", 400),
]


@pytest.mark.parametrize(
    ("method", "path", "fields", "body", "status"),
    REFUSED,
    ids=[f"{number}-{case[0]}-{case[-1]}" for number, case in enumerate(REFUSED)],
)
def test_refused(client, method, path, fields, body, status):
    got = client.request(method, path, fields, body)
    assert got.status == status
    assert got.fields["content-type"].startswith("text/plain")
    assert got.fields.get("allow") == ("GET, POST, HEAD" if status == 405 else None)
    assert int(got.fields["content-length"]) == len(got.body) > 0
    assert max_age(got) == 0
    assert client.get(query()).message.answer  # the connection lives on


def test_errors_of_dns_are_replies(client):
    """What is a query gets DNS's own answer, with 200."""
    assert client.post(query()[:-2] + b"\0\x04").message.rcode() != dns.rcode.NOERROR  # another class
    assert client.post(query() + b"x").message.rcode() == dns.rcode.FORMERR


def test_the_longest_query(client):
    wire = query(use_edns=0)
    option = 65535 - len(wire) - 4
    wire = wire[:-2] + (option + 4).to_bytes(2, "big") + b"\xff\xf0" + option.to_bytes(2, "big") + bytes(option)
    assert len(wire) == 65535
    assert client.post(wire).message.answer


def test_long_heads(client):
    for fields in ({f"x-{n}": 60 * "y" for n in range(10)}, {"cookie": 4000 * "z"}):
        assert client.request("GET", get_path(query()), fields).message.answer
    got = client.request("GET", get_path(query()), {f"x-{n}": 300 * "y" for n in range(60)})
    assert got.status == 431


def test_many_on_one_connection(client):
    for number in range(300):
        ask = client.get if number % 2 else client.post
        assert ask(query(WEB if number % 3 else f"x{number}.{WEB}")).status == 200


def test_a_client_that_is_always_wrong(client):
    """64 refused requests more than right ones end the connection, politely."""
    for _ in range(64):
        got = client.request("GET", "/")
        assert got.status == 404 and "connection" not in got.fields
    got = client.request("GET", "/")
    assert got.status == 404
    assert client.has_ended()


# ---- HTTP/1.1 ----


def read_all(sock) -> bytes:
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def head(method: str = "GET", version: str = "HTTP/1.1", *lines: str, path: str | None = None) -> bytes:
    return "\r\n".join([f"{method} {path or get_path(query())} {version}", "Host: x", *lines, "", ""]).encode()


@pytest.fixture(params=HTTP1)
def sock(request, dns_bed, listeners):
    with listeners.connect(request.param) as sock:
        yield sock


@pytest.mark.parametrize("kind", HTTP1)
def test_chunked(dns_bed, listeners, kind):
    with Client(listeners, kind) as client:
        wire = query()
        fields = {"content-type": TYPE, "transfer-encoding": "chunked"}
        for parts in ([wire], [wire[:5], wire[5:]], [bytes([byte]) for byte in wire]):
            got = client.request("POST", PATH, fields, iter(parts), encode_chunked=True)
            assert got.message.answer
        got = client.request("POST", PATH, fields, iter([bytes(60000), bytes(60000)]), encode_chunked=True)
        assert got.status == 413
        assert got.fields["connection"] == "close"


@pytest.mark.parametrize(
    ("request_bytes", "last"),
    [
        (head("GET", "HTTP/1.1", "Connection: close"), b"Connection: close"),
        (head("GET", "HTTP/1.0"), b"Connection: close"),
        (head("GET", "HTTP/1.0", "Connection: keep-alive") + head("GET", "HTTP/1.0"), b"Connection: close"),
    ],
)
def test_the_end_that_the_client_wants(sock, request_bytes, last):
    sock.sendall(request_bytes)
    got = read_all(sock)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n") and last in got
    assert got.count(b"Connection: keep-alive\r\n") == request_bytes.count(b"keep-alive")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (head().replace(b"\r\n", b"\n"), 400),
        (head().replace(b"Host: x\r\n", b""), 400),
        (head("GET", "HTTP/1.1", "Host: y"), 400),
        (head("POST", "HTTP/1.1", "Content-Length: 5", "Content-Length: 6"), 400),
        (head("POST", "HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked"), 400),
        (head("GET", "HTTP/2.0"), 505),
        (head("POST", "HTTP/1.1", "Transfer-Encoding: gzip"), 501),
        (head("POST", "HTTP/1.1", f"Content-Type: {TYPE}", "Content-Length: 3000000", path=PATH), 413),
        (head("POST", "HTTP/1.1", "Expect: the unexpected"), 417),
        (b"GET /" + 16384 * b"a", 414),
    ],
)
def test_what_ends_a_connection(sock, request_bytes, status):
    sock.sendall(request_bytes)
    got = read_all(sock)
    assert got.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nConnection: close\r\n" in got


def test_continue(sock):
    sock.sendall(head("POST", "HTTP/1.1", f"Content-Type: {TYPE}", f"Content-Length: {len(query())}",
                      "Expect: 100-continue", "Connection: close", path=PATH))  # fmt: skip
    assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    sock.sendall(query())
    assert read_all(sock).startswith(b"HTTP/1.1 200 OK\r\n")


def test_byte_by_byte(sock):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in head("GET", "HTTP/1.1", "Connection: close"):
        sock.sendall(bytes([byte]))
    assert read_all(sock).startswith(b"HTTP/1.1 200 OK\r\n")


class Gate:
    """A nameserver's answer that waits until the test says so."""

    def __init__(self, nameserver, name: str, address: str = ADDRESS):
        self._open = threading.Event()
        self._reply = reply(f"{name}. 60 A {address}")
        nameserver.tell(name, "A", self._answer)

    def _answer(self, message, transport):
        assert self._open.wait(60)
        return self._reply(message, transport)

    def __enter__(self):
        return self

    def __exit__(self, *exc) -> None:
        self._open.set()

    open = __exit__


def split_replies(stream: bytes) -> list[bytes]:
    """The bodies."""
    bodies = []
    while stream:
        fields, _, rest = stream.partition(b"\r\n\r\n")
        length = next(int(line[16:]) for line in fields.split(b"\r\n") if line.startswith(b"Content-Length: "))
        bodies.append(rest[:length])
        stream = rest[length:]
    return bodies


@pytest.mark.parametrize("kind", HTTP1)
def test_pipelined_in_order(dns_bed, listeners, nameserver, kind):
    """A late answer holds up those behind it, which are ready before it; nothing of them is sent."""
    name = f"held-{kind}.test".replace("1.1", "11")
    with Gate(nameserver, name) as gate, listeners.connect(kind) as sock:
        names = [WEB, name, f"none.{WEB}", WEB]
        requests = [head(path=get_path(query(name))) for name in names]
        sock.sendall(b"".join(requests) + head("GET", "HTTP/1.1", "Connection: close"))
        first = b""
        while len(split_replies(first)) < 1:
            first += sock.recv(65536)
        assert len(split_replies(first)) == 1
        gate.open()
        messages = [dns.message.from_wire(body) for body in split_replies(first + read_all(sock))]
    assert [str(message.question[0].name).rstrip(".") for message in messages] == [*names, WEB]
    assert [message.rcode() for message in messages] == [0, 0, dns.rcode.NXDOMAIN, 0, 0]


# ---- HTTP/2 ----


@pytest.mark.parametrize("kind", HTTP2)
def test_replies_as_they_are_ready(dns_bed, listeners, nameserver, kind):
    name = f"held-{kind}2.test"
    with Gate(nameserver, name) as gate, listeners.connect(kind) as sock:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        connection.initiate_connection()
        streams = {}
        for asked in (name, WEB, f"none.{WEB}"):
            stream = connection.get_next_available_stream_id()
            streams[stream] = asked
            fields = [(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", get_path(query(asked)))]
            connection.send_headers(stream, fields, end_stream=True)
        sock.sendall(connection.data_to_send())
        ended = []
        while len(ended) < 3:
            for event in connection.receive_data(sock.recv(65536)):
                if isinstance(event, h2.events.StreamEnded):
                    ended.append(streams[event.stream_id])
            if len(ended) == 2:
                gate.open()
        assert ended == [WEB, f"none.{WEB}", name]


def test_the_same_port_speaks_both(dns_bed, listeners):
    """In the clear: told apart by the first bytes. Over TLS: by ALPN, and without ALPN by the same bytes."""
    for kind in ALL:
        with Client(listeners, kind) as client:
            assert client.get(query()).message.answer
    context = listeners.context()
    context.set_alpn_protocols([])
    with socket.create_connection(("127.0.0.1", listeners.ports["https"]), 20) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            sock.sendall(head("GET", "HTTP/1.1", "Connection: close"))
            assert read_all(sock).startswith(b"HTTP/1.1 200 OK\r\n")


# ---- The end ----


def test_skydns_stops(bare_bed, listeners, nameserver, tmp_path):
    """Requests in hand are answered, idle connections closed, and clients of HTTP/2 are told."""
    bare_bed.start_etcd()
    own = Listeners(tmp_path)
    bare_bed.start_skydns(*own.flags(bare_bed.dns.port), f"-nameservers=127.0.0.1:{nameserver.port}", "-rtimeout=20s")
    clients = [Client(own, kind) for kind in ALL]
    for client in clients:
        assert client.get(query("www.some.test")).message.answer
    bare_bed.skydns.stop()
    for client in clients:
        assert client.has_ended()


# ---- Behind a proxy ----


def test_nobody_says_who_it_is_by_a_field(bare_bed, tmp_path):
    """-allow goes by the address of the connection, whatever Forwarded says."""
    server = tls_bed.Server(bare_bed, tmp_path, "http").start("-allow=127.0.0.1")
    path = get_path(dns.message.make_query(tls_bed.NAME, "A").to_wire())
    for source, other, rcode in (("127.0.0.1", "127.0.0.2", dns.rcode.NOERROR), ("127.0.0.2", "127.0.0.1", dns.rcode.REFUSED)):
        connection = http.client.HTTPConnection("127.0.0.1", server.ports["http"], source_address=(source, 0))
        fields = {"forwarded": f"for={other}", "x-forwarded-for": other, "x-real-ip": other}
        connection.request("GET", path, headers={"accept": TYPE, **fields})
        assert dns.message.from_wire(connection.getresponse().read()).rcode() == rcode
        connection.close()

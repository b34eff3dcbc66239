"""Nameservers over TLS: connections are kept and shared, certificates are checked, nothing goes in the clear."""

import concurrent.futures
import json
import urllib.request

import dns.message
import dns.query
import dns.rcode
import nameservers
import pytest
from certificates import Authority
from programs import reserve_port, wait_until
from scripted import Nameserver
from tls_nameserver import (ADDRESS, PlainNameserver, TlsNameserver, answers, closes_after_each, in_reverse, is_silent,
                            resets)
from watched import Watched

HOST = "dns.example"
PATIENT = "-rtimeout=20s"
# The first of two is silent: the second is asked after 2.7 s, and has until 8 s.
FOR_SILENCE = "-rtimeout=4s"


class Tls:
    """An authority, and a skydns that trusts it."""

    def __init__(self, bed, folder):
        self.bed, self.folder = bed, folder
        self.authority = Authority(folder, "ca")
        self.good = self.authority.sign("good", host=HOST)
        self.watched = None

    def server(self, script=answers, files=None) -> TlsNameserver:
        return TlsNameserver(*(files or self.good), script)

    def start(self, nameservers: str, *flags: str, has_system_ca: bool = False, rtimeout: str = PATIENT) -> None:
        self.port, ca = reserve_port(), self.authority.certificate
        self.bed.start_etcd()
        trust = "-nameservers-ca=" + ("" if has_system_ca else ca)
        self.bed.start_skydns(f"-nameservers={nameservers}", trust, f"-http-addr=127.0.0.1:{self.port}", rtimeout,
                              *flags, prefix=("env", f"SSL_CERT_FILE={ca}") if has_system_ca else ())
        self.watched = Watched(self.bed.skydns, self.port, "skydns_")

    def ask(self, name: str, rdtype: str = "A") -> dns.message.Message:
        return self.bed.dns.query(name, rdtype)

    def answers(self, name: str) -> list[str]:
        return self.bed.dns.answers(name)

    def rcode(self, name: str) -> str:
        return dns.rcode.to_text(self.ask(name).rcode())

    def ask_at_once(self, count: int, prefix: str = "n") -> list[list[str]]:
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            return list(pool.map(self.answers, [f"{prefix}{n}.example.com" for n in range(count)]))

    def metric(self, name: str, **labels: str) -> float:
        return self.watched.metrics().get(name, **labels) or 0

    def handshakes(self, result: str) -> float:
        return self.metric("upstream_tls_handshakes_total", result=result)

    def lines(self, text: str) -> list[str]:
        return [line for line in list(self.bed.skydns.lines) if text in line]


@pytest.fixture
def tls(bare_bed, tmp_path):
    return Tls(bare_bed, tmp_path)


def url(server, name: str = HOST) -> str:
    return f"tls://127.0.0.1:{server.port}" + (f"#{name}" if name else "")


def test_one_connection_is_kept_and_shared(tls):
    server = tls.server()
    tls.start(url(server), "-rcache=0")
    for n in range(20):
        assert tls.answers(f"www{n}.example.com") == [ADDRESS]
    assert len(server.handshakes) == 1 == tls.handshakes("full")
    assert tls.metric("upstream_tls_connections") == 1 and tls.handshakes("failed") == 0
    # Padded (RFC 8467), with ids that nobody can guess.
    assert {len(query) % 128 for query in server.queries} == {0}
    assert len({query[:2] for query in server.queries}) > 10
    tls.bed.skydns.wait_line(url(server))
    with urllib.request.urlopen(f"http://127.0.0.1:{tls.port}/explain?name=www.example.com&type=A&format=json") as page:
        explained = json.load(page)
    assert explained["nameserver"] == url(server)


def test_by_the_address(tls):
    server = tls.server(files=tls.authority.sign("address"))
    tls.start(url(server, name=""))
    assert tls.answers("www.example.com") == [ADDRESS]


def test_replies_in_any_order(tls):
    server = tls.server(in_reverse(4))
    tls.start(url(server), "-rcache=0")
    assert tls.ask_at_once(4) == 4 * [[ADDRESS]]
    assert len(server.handshakes) == 1


def test_a_server_that_closes_after_each_reply(tls):
    server = tls.server(closes_after_each)
    tls.start(url(server), "-rcache=0")
    assert tls.ask_at_once(12) == 12 * [[ADDRESS]]
    assert tls.handshakes("failed") == 0
    assert tls.metric("nameservers_dead") == 0


def test_sessions_are_resumed(tls):
    server = tls.server()
    server.keepalive_ds = 1
    tls.start(url(server), "-rcache=0")
    assert tls.answers("first.example.com") == [ADDRESS]
    wait_until(lambda: server.open == 0, "the idle connection is closed, as the server wants")
    assert tls.answers("second.example.com") == [ADDRESS]
    assert True in server.handshakes and tls.handshakes("resumed") >= 1


def reason(tls, text: str) -> None:
    """The log says so once, however often it is asked; never in the clear, and the client gets SERVFAIL."""
    for n in range(3):
        assert tls.rcode(f"www{n}.example.com") == "SERVFAIL"
    tls.bed.skydns.wait_line(text)
    wait_until(lambda: tls.handshakes("failed") >= 2, "another attempt")
    told = tls.lines("no TLS with upstream")
    assert len(told) == 1 and text in told[0]


CERTIFICATES = {
    "another name": (lambda tls: tls.authority.sign("other", host="other.example"), "other.example"),
    "no name": (lambda tls: tls.authority.sign("address"), "127.0.0.1"),
    "expired": (lambda tls: tls.authority.sign("old", host=HOST, days=-1), "expired"),
    "another authority": (lambda tls: Authority(tls.folder, "stranger").sign("strange", host=HOST), "ca.crt"),
}


@pytest.mark.parametrize("what", CERTIFICATES)
def test_a_wrong_certificate(tls, what):
    make, text = CERTIFICATES[what]
    server = tls.server(files=make(tls))
    tls.start(url(server), "-rcache=0")
    reason(tls, text)
    assert not server.queries and not server.handshakes
    # It is found out when the nameserver shows a good one.
    server.show(*tls.good)
    tls.bed.skydns.wait_line("upstream responds over TLS")
    wait_until(lambda: tls.metric("nameservers_dead") == 0, "it is used again")
    assert tls.answers("www.example.com") == [ADDRESS]


def test_never_in_the_clear(tls):
    plain = PlainNameserver()
    tls.start(url(plain), rtimeout="-rtimeout=1s")
    assert tls.rcode("www.example.com") == "SERVFAIL"
    tls.bed.skydns.wait_line("no TLS connection within")
    assert plain.bytes[:1] == b"\x16" and b"example" not in plain.bytes.replace(HOST.encode(), b"")


def test_nobody_listens(tls):
    port = reserve_port()
    tls.start(f"tls://127.0.0.1:{port}#{HOST}", "-rcache=0")
    reason(tls, "onnection refused")
    server = TlsNameserver(*tls.good, answers, port)
    wait_until(lambda: tls.metric("nameservers_dead") == 0, "a probe is answered")
    assert tls.answers("www.example.com") == [ADDRESS] and server.queries


@pytest.mark.parametrize("script", [is_silent, resets])
def test_another_server_answers(tls, script):
    """A mixed list: one over TLS that does not answer, one in the clear that does."""
    bad, good = tls.server(script), Nameserver()
    tls.start(f"{url(bad)},127.0.0.1:{good.port}", "-rcache=0", "-ns-rotate=false", rtimeout=FOR_SILENCE)
    for n in range(2):
        assert tls.ask(f"www{n}.example.com").rcode() == dns.rcode.NOERROR
    wait_until(lambda: tls.metric("nameservers_dead") == 1, "it is skipped")
    seen = len([name for name in bad.names() if "example.com" in name])
    assert tls.ask("www9.example.com").rcode() == dns.rcode.NOERROR
    assert len([name for name in bad.names() if "example.com" in name]) == seen


def test_a_changed_authority(tls):
    """Its file is read again; connections that the old one vouched for take no more, and sessions are not resumed."""
    server = tls.server()
    tls.start(url(server), "-rcache=0")
    assert tls.answers("first.example.com") == [ADDRESS]
    ca = tls.folder / "ca.crt"
    good = ca.read_text()
    ca.write_text("nothing")
    tls.bed.skydns.wait_line("keeping the certificates for upstreams")
    assert tls.answers("second.example.com") == [ADDRESS]
    ca.write_text(open(Authority(tls.folder, "stranger").certificate).read())
    tls.bed.skydns.wait_line("certificates for upstreams reloaded")
    wait_until(lambda: server.open == 0, "the connection is closed")
    assert tls.rcode("third.example.com") == "SERVFAIL"
    ca.write_text(good)
    tls.bed.skydns.wait_line("upstream responds over TLS")
    wait_until(lambda: tls.metric("nameservers_dead") == 0, "it is used again")
    assert tls.answers("fourth.example.com") == [ADDRESS]


def test_stub_zones_and_the_document(tls):
    zones, general, later = tls.server(), tls.server(), tls.server()
    tls.start(url(general), f"-stub=acme.test={url(zones)}", "-rcache=0")
    assert tls.answers("www.acme.test") == tls.answers("www.example.com") == [ADDRESS]
    assert "www.acme.test." in zones.names() and "www.example.com." in general.names()
    document = {"nameservers": [url(later)], "stubs": {"acme.test": [url(later), "127.0.0.1:9"]}}
    tls.bed.etcd.put("/skydns/config", json.dumps(document))
    tls.bed.skydns.wait_line("configuration")
    wait_until(lambda: tls.answers("again.acme.test") == [ADDRESS] and "again.acme.test." in later.names(), "its zone")
    assert tls.answers("again.example.com") == [ADDRESS] and "again.example.com." in later.names()


def test_unbound(tls):
    """A real one; the CAs are the system's, which an environment variable names."""
    certificate, key = tls.authority.sign("unbound", host=HOST)
    port, tls_port = reserve_port(), reserve_port()
    server = nameservers.unbound(tls.folder, 7, port, f"interface: 127.0.0.1@{tls_port}", f"tls-port: {tls_port}",
                                 f"tls-service-key: {key}", f"tls-service-pem: {certificate}",
                                 "local-zone: . static")
    tls.bed.programs.append(server)
    nameservers.start(server, port)
    tls.start(f"tls://127.0.0.1:{tls_port}#{HOST}", "-rcache=0", has_system_ca=True)
    assert tls.answers("www.real.test") == [nameservers.address(7)]
    assert sorted(rr.to_text() for rr in tls.bed.dns.query("big.real.test", "A", tcp=True).answer[0]) == \
        sorted(nameservers.BIG)
    assert tls.rcode("absent.real.test") == "NXDOMAIN"
    assert tls.ask_at_once(20) == 20 * [["NXDOMAIN"]]
    assert tls.handshakes("full") == 1 and tls.metric("forward_tcp_retries_total") == 0


def test_our_certificate(tls):
    """Shown to an upstream that wants one; another is taken up while running, and with none no handshake succeeds."""
    own = Authority(tls.folder, "own")
    certificate, key = own.sign("client", host="skydns.example")
    server = tls.server()
    server.require_certificate(own.certificate)
    tls.start(url(server), "-rcache=0", f"-nameservers-cert={certificate}", f"-nameservers-key={key}")
    assert tls.answers("www.example.com") == [ADDRESS]
    another = Authority(tls.folder, "another")
    Authority.sign(another, "client", host="skydns.example")
    wait_until(lambda: tls.lines("certificates for upstreams reloaded"), "the other certificate")
    wait_until(lambda: tls.rcode("www.example.com") == "SERVFAIL", "no connection")
    own.sign("client", host="skydns.example")
    wait_until(lambda: tls.rcode("www.example.com") == "NOERROR", "the first one's authority again")


@pytest.mark.parametrize("flag, want", [
    ("-nameservers=tls://dns.example", "-nameservers: `tls://dns.example`: expected tls://IP[:port]#name"),
    ("-nameservers=tls://127.0.0.1#", "expected tls://IP[:port]#name"),
    ("-stub=acme.test=tls://127.0.0.1:0", "expected tls://IP[:port]#name"),
    ("-nameservers=https://127.0.0.1", "or tls://IP[:port]#name"),
    ("-nameservers-ca=/nonexistent", "/nonexistent"),
    ("-nameservers-cert=/c", "flag -nameservers-cert: `/c`: expected -nameservers-key with it"),
    ("-nameservers-key=/k", "flag -nameservers-key: `/k`: expected -nameservers-cert with it"),
])
def test_what_is_refused(bare_bed, flag, want):
    program = bare_bed.command("skydns", f"-addr=127.0.0.1:{reserve_port()}", flag)
    program.start()
    assert program.wait() != 0
    assert want in program.log_text()

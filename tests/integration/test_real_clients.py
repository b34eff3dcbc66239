"""Programs that people ask with over TLS, HTTPS, HTTP and gRPC, each against one skydns: kdig, dig, curl, unbound as a
forwarder, Chromium and grpcio. What a machine lacks is skipped.
"""

import base64
import hashlib
import http.server
import json
import os
import re
import subprocess
import threading

import dns.message
import dns.rcode
import prometheus
import pytest
from bed import Bed
from dns_client import Dns
from nameservers import needs
from programs import Program, http_get, reserve_port
from records import value
from transports import GRPC_PATH, TYPE, Listeners, get_path

NAME, PAGE, PLACE = "web.cluster.local", "page.cluster.test", "page.cluster.local"
MANY, MANY_COUNT = "many.cluster.local", 60
PADDED = 468  # replies to padded queries have a multiple (RFC 8467)
TEXT = "found over HTTPS"


class Server:
    """skydns on every transport, with a few records: Chromium takes names below `local` for multicast DNS."""

    def __init__(self, bed: Bed):
        self.bed, self.listeners, self._http_port = bed, Listeners(bed.folder), reserve_port()
        self.ca = self.listeners.ca
        bed.start_etcd()
        bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
        for key in ("/skydns/test/cluster/page", "/skydns/local/cluster/page"):
            bed.etcd.put(key, value("127.0.0.1"))
        for number in range(MANY_COUNT):
            bed.etcd.put(f"/skydns/local/cluster/many/{number}", value(f"10.2.0.{number}"))
        flags = self.listeners.flags(bed.dns.port)
        metrics = f"-http-addr=127.0.0.1:{self._http_port}"
        bed.start_skydns("-no-rec", "-domain=cluster.local.,cluster.test.", metrics, *flags)

    def port(self, scheme: str) -> str:
        return str(self.listeners.ports[scheme])

    def url(self, scheme: str, path: str = "/dns-query") -> str:
        return f"{scheme}://127.0.0.1:{self.port(scheme)}{path}"

    def answered(self, transport: str) -> float:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self._http_port}/metrics")[1])
        samples = page["skydns_queries_total"].samples
        wanted = {("transport", transport), ("verdict", "answered")}
        (number,) = [number for (_, labels), number in samples.items() if wanted <= set(labels)]
        return number


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    bed = Bed(tmp_path_factory.mktemp("clients"))
    try:
        yield Server(bed)
    finally:
        bed.close()


class Counted:
    """Checks that the queries within came over this transport."""

    def __init__(self, server: Server, transport: str, least: int = 1):
        self._server, self._transport, self._least = server, transport, least

    def __enter__(self) -> None:
        self._before = self._server.answered(self._transport)

    def __exit__(self, *exc) -> None:
        if exc[0] is None:
            assert self._server.answered(self._transport) - self._before >= self._least


def run(*command: str, timeout_s: float = 60, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


# ---- kdig and dig ----


def kdig(server: Server, scheme: str, *arguments: str, name: str = NAME) -> str:
    command = [needs("kdig"), "@127.0.0.1", "-p", server.port(scheme), "+retry=0", "+time=20"]
    return run(*command, f"+tls-ca={server.ca}", "+tls-hostname=127.0.0.1", name, "A", *arguments)


def dig(server: Server, scheme: str, *arguments: str, name: str = NAME) -> str:
    command = [needs("dig"), "@127.0.0.1", "-p", server.port(scheme), "+tries=1", "+timeout=20"]
    return run(*command, name, "A", *arguments)


@pytest.mark.parametrize("flag, scheme", [("+tls", "tls"), ("+https", "https"), ("+https-get", "https")])
def test_kdig(server, flag, scheme):
    with Counted(server, scheme, 2):
        assert kdig(server, scheme, flag, "+short") == "10.0.0.1\n"
        assert "ANSWER: 60;" in kdig(server, scheme, flag, name=MANY)


@pytest.mark.parametrize("flag, scheme", [("+tls", "tls"), ("+https", "https")])
@pytest.mark.parametrize("padding", ["+padding", "+padding=128", "+padding=700"])
@pytest.mark.parametrize("name", [NAME, MANY])
def test_padded_queries_get_padded_replies(server, flag, scheme, padding, name):
    """kdig's `+padding` alone is a length of its choice."""
    output = kdig(server, scheme, flag, "+edns", padding, name=name)
    assert int(re.search(r";; Received (\d+) B", output)[1]) % PADDED == 0, output
    assert "PADDING" in output


@pytest.mark.parametrize("flag, scheme", [("+tls", "tls"), ("+https", "https")])
def test_replies_to_others_are_not_padded(server, flag, scheme):
    output = kdig(server, scheme, flag, "+edns", "+nopadding")
    assert int(re.search(r";; Received (\d+) B", output)[1]) < 100 and "PADDING" not in output


@pytest.mark.parametrize(
    "flag, scheme",
    [
        ("+tls", "tls"),
        ("+https", "https"),
        ("+https-get", "https"),
        ("+http-plain", "http"),
        ("+http-plain-get", "http"),
    ],
)
def test_dig(server, flag, scheme):
    checked = [f"+tls-ca={server.ca}"] if scheme != "http" else []
    with Counted(server, scheme, 2):
        assert dig(server, scheme, flag, *checked, "+short") == "10.0.0.1\n"
        assert "ANSWER: 60," in dig(server, scheme, flag, *checked, name=MANY)


# ---- curl ----


@pytest.mark.parametrize(
    "scheme, version",
    [("https", "--http1.1"), ("https", "--http2"), ("http", "--http1.1"), ("http", "--http2-prior-knowledge")],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_curl(server, scheme, version, method, tmp_path):
    query = dns.message.make_query(NAME, "A", id=0)
    body, fields = tmp_path / "query", tmp_path / "fields"
    body.write_bytes(query.to_wire())
    command = [needs("curl"), "--silent", "--show-error", version, "--cacert", server.ca, "--dump-header", str(fields)]
    if method == "GET":
        command += [server.url(scheme, get_path(query.to_wire()))]
    else:
        command += [server.url(scheme), "--data-binary", f"@{body}", "--header", f"Content-Type: {TYPE}"]
    with Counted(server, scheme):
        done = subprocess.run([*command, "--output", "-"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    reply = dns.message.from_wire(done.stdout)
    assert query.is_response(reply) and reply.answer[0][0].to_text() == "10.0.0.1"
    status, *lines = fields.read_text().lower().splitlines()
    assert status.split()[:2] == ["http/1.1" if version == "--http1.1" else "http/2", "200"]
    assert {f"content-type: {TYPE}", f"content-length: {len(done.stdout)}", "cache-control: max-age=30"} <= set(lines)


class Page(http.server.BaseHTTPRequestHandler):
    """The same page under any name."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"<p>{TEXT}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture(scope="module")
def page():
    """The port of a web server on loopback."""
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", reserve_port()), Page)
    thread = threading.Thread(target=pages.serve_forever)
    thread.start()
    yield pages.server_address[1]
    pages.shutdown()
    thread.join()
    pages.server_close()


def test_curl_resolves_over_https(server, page):
    command = [needs("curl"), "--silent", "--show-error", "--ipv4", "--noproxy", "*", "--cacert", server.ca]
    with Counted(server, "https"):
        assert TEXT in run(*command, "--doh-url", server.url("https"), f"http://{PLACE}:{page}/")


# ---- Chromium ----


def key_pin(certificate: str) -> str:
    """As Chromium wants it: the hash of the public key."""
    text = run("openssl", "x509", "-in", certificate, "-pubkey", "-noout")
    der = base64.b64decode("".join(text.splitlines()[1:-1]))
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def test_chromium_loads_a_page_by_a_name_of_the_cluster(server, page, tmp_path):
    """Its settings are in a folder of its own: `secure` means that it asks nobody else."""
    template = server.url("https", "/dns-query{?dns}")
    settings = {"dns_over_https": {"mode": "secure", "templates": template}}
    (tmp_path / "Local State").write_text(json.dumps(settings))
    command = [needs("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += ["--disable-dev-shm-usage", "--no-proxy-server", f"--user-data-dir={tmp_path}"]
    command += [f"--ignore-certificate-errors-spki-list={key_pin(server.listeners.certificate)}"]
    with Counted(server, "https"):
        address, environment = f"http://{PAGE}:{page}/", os.environ | {"HOME": str(tmp_path)}
        output = run(*command, "--dump-dom", address, timeout_s=180, env=environment)
    assert TEXT in output


# ---- unbound, which forwards over TLS ----


def test_unbound_forwards_over_tls(server, tmp_path):
    port = reserve_port()
    (tmp_path / "unbound.conf").write_text(f"""server:
  interface: 127.0.0.1
  port: {port}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "{tmp_path}"
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  module-config: "iterator"
  tls-cert-bundle: "{server.ca}"
  local-zone: "test." nodefault
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-tls-upstream: yes
  forward-addr: 127.0.0.1@{server.port("tls")}
""")
    unbound = Program("unbound", [needs("unbound"), "-d", "-c", str(tmp_path / "unbound.conf")]).start()
    try:
        resolver = Dns(port)
        unbound.wait_ready(lambda: resolver.answers("version.bind", "TXT") != ["no answer"], "answers")
        with Counted(server, "tls"):
            assert resolver.answers(PAGE) == ["127.0.0.1"]
            assert resolver.answers("absent.cluster.test") == ["NXDOMAIN"]
    finally:
        unbound.kill()


# ---- gRPC ----


@pytest.fixture(scope="module")
def query_service(server):
    """CoreDNS's service over grpcio: a function from DnsPacket's bytes to DnsPacket's bytes."""
    grpc = pytest.importorskip("grpc", reason="no grpcio here")
    with open(server.ca, "rb") as ca:
        credentials = grpc.ssl_channel_credentials(ca.read())
    with grpc.secure_channel(f"127.0.0.1:{server.port('grpc')}", credentials) as channel:

        def call(message: bytes, method: str = GRPC_PATH) -> bytes:
            return channel.unary_unary(method)(message, timeout=20)

        yield call


def field(number: int, content: bytes) -> bytes:
    """A field of bytes in a protobuf message."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def test_grpcio(server, query_service):
    for name, right in ((NAME, dns.rcode.NOERROR), ("absent.cluster.local", dns.rcode.NXDOMAIN)):
        query = dns.message.make_query(name, "A")
        with Counted(server, "grpc"):
            packet = query_service(field(1, query.to_wire()))
        assert packet[:1] == b"\n"
        reply = dns.message.from_wire(packet[-int(packet[1]) :])
        assert query.is_response(reply) and reply.rcode() == right


@pytest.mark.parametrize(
    "message, method, status",
    [
        (field(1, b"short"), GRPC_PATH, "INVALID_ARGUMENT"),
        (b"", GRPC_PATH, "INVALID_ARGUMENT"),
        (b"\xff\xff", GRPC_PATH, "INVALID_ARGUMENT"),
        (field(1, dns.message.make_response(dns.message.make_query(NAME, "A")).to_wire()), GRPC_PATH, "INVALID_ARGUMENT"),
        (b"", "/coredns.dns.DnsService/Watch", "UNIMPLEMENTED"),
        (b"", "/grpc.health.v1.Health/Check", "UNIMPLEMENTED"),
        (b"\n\xff\xff\x07" + bytes(131071), GRPC_PATH, "RESOURCE_EXHAUSTED"),
    ],
    ids=["short", "empty", "no message", "a reply", "another method", "another service", "128 KiB"],
)
def test_errors_as_grpcio_sees_them(query_service, message, method, status):
    import grpc

    with pytest.raises(grpc.RpcError) as caught:
        query_service(message, method)
    assert caught.value.code().name == status, caught.value.details()

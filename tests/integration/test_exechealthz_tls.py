"""exechealthz's probes over TLS and HTTPS, with servers of another TLS library's user, and with skydns."""

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import threading

import dns.message
import dns.rrset
import pytest
from certificates import Authority
from programs import reserve_port, wait_until
from records import SVC, value
from transports import Listeners

NAME = "kubernetes.default.svc.cluster.local"
PROTOCOLS = {"tls": "dot", "https": "http/1.1"}
MEDIA = "application/dns-message"


def answer(query: bytes) -> bytes:
    reply = dns.message.make_response(dns.message.from_wire(query))
    reply.answer.append(dns.rrset.from_text(reply.question[0].name, 30, "IN", "A", "10.0.0.1"))
    return reply.to_wire()


def over_tls(stream, wrap=bytes) -> None:
    """Answers the queries of one connection."""
    while length := stream.read(2):
        reply = answer(stream.read(int.from_bytes(length, "big")))
        stream.write(len(reply).to_bytes(2, "big") + wrap(reply))
        stream.flush()


def http_query(stream) -> bytes:
    assert stream.readline() == b"POST /dns-query HTTP/1.1\r\n"
    headers = http.client.parse_headers(stream)
    assert headers["Content-Type"] == headers["Accept"] == MEDIA and headers["Host"]
    return stream.read(int(headers["Content-Length"]))


def no_reply(stream) -> None:
    """Reads first: to close with something unread is to reset the connection."""
    http_query(stream)


def http_reply(status: str = "200 OK", kind: str = MEDIA, is_chunked: bool = False):
    def over_https(stream) -> None:
        body = answer(http_query(stream))
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
        if is_chunked:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        stream.write(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{framing}\r\n\r\n".encode() + body)
        stream.flush()

    return over_https


class Server:
    """Serves one connection after the other with a function of the stream; its errors end the connection alone, as
    clients that refuse the certificate make them.
    """

    def __init__(self, serve, certificate=None):
        self.serve, self.context = serve, None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
            self.context.set_alpn_protocols(list(PROTOCOLS.values()))
        self.seen = []  # (protocol, whether the session was resumed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return  # closed
            with contextlib.suppress(OSError), connection:
                connection.settimeout(20)  # a probe's timeout is less
                self._converse(connection)

    def _converse(self, connection) -> None:
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
            self.seen.append((connection.selected_alpn_protocol(), connection.session_reused))
        with connection, connection.makefile("rwb") as stream:
            self.serve(stream)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"), "ca")


@pytest.fixture
def serve():
    """A function that starts a server."""
    with contextlib.ExitStack() as servers:

        def start(*arguments) -> Server:
            return servers.enter_context(contextlib.closing(Server(*arguments)))

        yield start


def result(bed, label: str = "x") -> dict:
    connection = http.client.HTTPConnection("127.0.0.1", bed.healthz_port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", f"/healthcheck/{label}")
        reply = connection.getresponse()
        told = json.loads(reply.read())
        assert (reply.status == 200) == told["IsOk"]
        return told


def probe(bed, scheme: str, port: int, suffix: str = "", *flags: str) -> None:
    target = f"--dns=x={NAME},{scheme}://127.0.0.1:{port}{suffix}"
    bed.start_exechealthz(target, "--period=100ms", "--timeout=10s", *flags)


def await_result(bed, text: str) -> None:
    """The empty text: an answer."""
    def is_there() -> bool:
        told = result(bed)
        return text in told["Err"] if text else told["IsOk"]

    wait_until(is_there, text or "an answer")


@pytest.mark.parametrize(("scheme", "handler"), [
    ("tls", over_tls),
    ("https", http_reply()),
    ("https", http_reply(is_chunked=True)),
    ("https", http_reply(kind="Application/DNS-Message; x=y")),
])  # fmt: skip
def test_each_run_is_a_new_connection(bare_bed, serve, authority, scheme, handler):
    server = serve(handler, authority.sign("server"))
    probe(bare_bed, scheme, server.port)
    await_result(bare_bed, "")
    wait_until(lambda: len(server.seen) >= 3, "three runs")
    assert set(server.seen) == {(PROTOCOLS[scheme], False)}
    assert result(bare_bed)["LatencySeconds"] > 0


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_the_name_and_the_ca(bare_bed, serve, authority, scheme):
    server = serve(over_tls if scheme == "tls" else http_reply(), authority.sign("server"))
    probe(bare_bed, scheme, server.port, "#127.0.0.1", f"--dns-ca={authority.certificate}")
    await_result(bare_bed, "")


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_another_name(bare_bed, serve, authority, scheme):
    server = serve(over_tls, authority.sign("server"))
    probe(bare_bed, scheme, server.port, "#dns.example", f"--dns-ca={authority.certificate}")
    await_result(bare_bed, f"handshake with {scheme}://127.0.0.1:{server.port}")
    assert "is for 127.0.0.1, not for `dns.example`" in result(bare_bed)["Err"]


def test_a_ca_that_the_system_does_not_know(bare_bed, serve, authority):
    server = serve(over_tls, authority.sign("server"))
    probe(bare_bed, "tls", server.port, "#127.0.0.1")
    await_result(bare_bed, "is not from a CA in the system's list")


def test_a_replaced_ca_file(bare_bed, serve, authority, tmp_path):
    server = serve(over_tls, authority.sign("server"))
    file = tmp_path / "ca.crt"
    file.write_text((tmp_path / Authority(tmp_path, "other").certificate).read_text())
    probe(bare_bed, "tls", server.port, "#127.0.0.1", f"--dns-ca={file}")
    await_result(bare_bed, "is not from a CA in `")
    with open(authority.certificate) as right:
        file.write_text(right.read())
    await_result(bare_bed, "")


def expired(authority: Authority, folder) -> tuple[str, str]:
    """A certificate that ended in the past."""
    certificate, key = authority.sign("expired")
    again = str(folder / "expired.crt")
    command = ["openssl", "x509", "-in", certificate, "-signkey", key, "-days", "-1", "-out", again]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return again, key


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_an_expired_certificate(bare_bed, serve, authority, tmp_path, scheme):
    """Without a name, too."""
    server = serve(over_tls, expired(authority, tmp_path))
    probe(bare_bed, scheme, server.port)
    await_result(bare_bed, f"handshake with {scheme}://127.0.0.1:{server.port}")
    assert "TLS: the server's certificate expired at 20" in result(bare_bed)["Err"]


@pytest.mark.parametrize(("handler", "expected"), [
    (http_reply("404 Not Found"), "HTTP status 404 Not Found"),
    (http_reply("503 Service Unavailable"), "HTTP status 503 Service Unavailable"),
    (http_reply(kind="text/html"), "content type `text/html`, expected application/dns-message"),
    (no_reply, "closed the connection without a response"),
])  # fmt: skip
def test_http_that_is_no_answer(bare_bed, serve, authority, handler, expected):
    server = serve(handler, authority.sign("server"))
    probe(bare_bed, "https", server.port)
    await_result(bare_bed, f"response of https://127.0.0.1:{server.port}/dns-query: ")
    assert expected in result(bare_bed)["Err"]


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_no_tls(bare_bed, serve, scheme):
    def in_the_clear(stream) -> None:
        stream.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        stream.flush()

    probe(bare_bed, scheme, serve(in_the_clear).port)
    await_result(bare_bed, "the server does not speak TLS")


def test_silence_fails_at_the_timeout_and_names_the_step(bare_bed, serve, authority):
    """Nothing after accept, nothing after the handshake; and nobody there."""
    deaf, mute = serve(lambda stream: stream.read()), serve(lambda stream: stream.read(), authority.sign("server"))
    targets = {"deaf": deaf.port, "mute": mute.port, "gone": reserve_port()}
    flags = [f"--dns={label}={NAME},tls://127.0.0.1:{port}" for label, port in targets.items()]
    bare_bed.start_exechealthz(*flags, "--period=100ms", "--timeout=2s")
    steps = {"deaf": "handshake with tls://", "mute": "no response from tls://", "gone": "connect to tls://"}
    for label, step in steps.items():
        wait_until(lambda: result(bare_bed, label)["Err"].startswith(step), step)
    assert "refused" in result(bare_bed, "gone")["Err"].lower()


def test_files_that_cannot_be_read(bare_bed, tmp_path):
    program = bare_bed.command(
        "exechealthz", f"--dns=x={NAME},tls://127.0.0.1#a.b", f"--dns-ca={tmp_path}/none.crt"
    ).start()
    assert program.wait() == 1
    assert "none.crt" in program.lines[0] and "No such file" in program.lines[0]


def test_follows_skydns(bare_bed, tmp_path):
    """Over TLS and HTTPS, with its own certificate."""
    bed = bare_bed
    listeners = Listeners(tmp_path)
    tls, https = listeners.ports["tls"], listeners.ports["https"]
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/kubernetes/x", value("10.0.0.1"))
    bed.start_skydns("-no-rec", *listeners.flags(bed.dns.port))
    bed.start_exechealthz(
        f"--dns=tls={NAME},tls://127.0.0.1:{tls}#127.0.0.1",
        f"--dns=https={NAME},https://127.0.0.1:{https}#127.0.0.1",
        f"--dns=none=nothing.default.svc.cluster.local,https://127.0.0.1:{https}",
        f"--dns-ca={listeners.ca}",
        "--period=100ms",
        "--timeout=20s",
    )
    for label in ("tls", "https"):
        wait_until(lambda: result(bed, label)["IsOk"], label)
    wait_until(lambda: "NXDOMAIN" in result(bed, "none")["Err"], "the reason")
    bed.skydns.stop()
    for label in ("tls", "https"):
        wait_until(lambda: f"connect to {label}://" in result(bed, label)["Err"], label)

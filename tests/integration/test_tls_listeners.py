"""DNS over TLS as clients use it, and the files it needs: replaced, unusable, ended, shared. What the other
transports share with it is here, too; their own rules are tested in test_doh.py and test_grpc.py.
"""

import re
import signal
import socket
import ssl
import struct
import subprocess
import time

import dns.message
import dns.query
import pytest
from nameservers import needs
from programs import reserve_port, wait_until
from records import value
from systemd_sockets import pass_sockets
from tls_bed import ADDRESS, IN_USE_S, KEY, NAME, Connection, Secret, Server


@pytest.fixture
def server(bare_bed, tmp_path):
    return Server(bare_bed, tmp_path, "tls")


# ---- Answers ----


def test_answers(server):
    server.start()
    query = dns.message.make_query(NAME, "A")
    reply = dns.query.tls(
        query,
        "127.0.0.1",
        timeout=20,
        port=server.ports["tls"],
        ssl_context=server.context(),
        server_hostname="127.0.0.1",
    )
    assert [rr.to_text() for rrset in reply.answer for rr in rrset] == [ADDRESS]
    with server.connect() as connection:
        assert connection.socket.version() == "TLSv1.3"
        for number in range(100):
            assert connection.ask(number) == [ADDRESS]
        assert connection.ask(200, f"none.{NAME}") == []
        server.wait_metric(1, "connections", transport="tls")
    server.wait_metric(0, "connections", transport="tls")
    assert server.metric("queries_total", transport="tls", verdict="answered") == 102
    assert server.metric("replies_total", transport="tls", rcode="NOERROR") == 101
    assert server.metric("replies_total", transport="tls", rcode="NXDOMAIN") == 1
    assert server.metric("tls_handshakes_total", result="full") == 2
    assert server.metric("connections", transport="https") is None


def test_kdig(server):
    server.start()
    command = [needs("kdig"), "@127.0.0.1", "-p", str(server.ports["tls"]), f"+tls-ca={server.authority.certificate}"]
    command += ["+tls-hostname=127.0.0.1", "+timeout=20", NAME, "A"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "TLS session" in text and "status: NOERROR" in text
    assert re.search(rf"^{re.escape(NAME)}\.\s.*\sA\s+{re.escape(ADDRESS)}$", text, re.M)


def test_the_lines_of_the_start_and_the_end(server):
    server.start()
    tls = f"tls://127.0.0.1:{server.ports['tls']}"
    # The line for UDP, which the start waits for, comes earlier.
    server.skydns.wait_line(rf"skydns: ready for queries on cluster\.local\. for {re.escape(tls)}$")
    assert tls in server.skydns.wait_line("skydns started")
    with server.connect() as connection:
        assert connection.ask() == [ADDRESS]
    server.skydns.stop()
    [line] = [line for line in server.skydns.lines if "streams stopped" in line]
    assert " tls_queries=1 https_queries=0 http_queries=0 grpc_queries=0 handshakes=1 resumed=0 failed=0" in line


def test_only_tls(bare_bed, tmp_path):
    """URLs alone: no UDP and no plain TCP."""
    server = Server(bare_bed, tmp_path, "tls")
    port = server.ports["tls"]
    bare_bed.start_skydns("-no-rec", f"-addr=tls://127.0.0.1:{port}", f"-cert={server.certificate}",
                          f"-key={server.key}", is_waiting=False)
    bare_bed.skydns.wait_line(rf"ready for queries on .* for tls://127\.0\.0\.1:{port}$")
    assert not any("for udp://" in line or "for tcp://" in line for line in bare_bed.skydns.lines)
    with server.connect() as connection:
        assert connection.ask() == [ADDRESS]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", port))  # nobody has it


def test_by_the_document(server):
    """dns_addr of etcd's document may have URLs, too; it counts at the start."""
    server.bed.etcd.put("/skydns/config", f'{{"dns_addr":"{server.addresses()}"}}')
    server.ports = {}
    port = int(server.bed.etcd.values("/skydns/config")["/skydns/config"].rsplit(":", 1)[1].rstrip('"}'))
    server.start()
    server.ports = {"tls": port}
    with server.connect() as connection:
        assert connection.ask() == [ADDRESS]
    since = len(server.skydns.lines)
    server.bed.etcd.put("/skydns/config", f'{{"dns_addr":"127.0.0.1:{server.bed.dns.port}"}}')
    server.skydns.wait_line(r"need a restart settings=dns_addr .*tls://127\.0\.0\.1:\d+ -> ", since)
    with server.connect() as connection:
        assert connection.ask() == [ADDRESS]


def test_no_answer_in_the_clear(server):
    server.start()
    query = dns.message.make_query(NAME, "A").to_wire()
    with socket.create_connection(("127.0.0.1", server.ports["tls"]), timeout=20) as client:
        client.sendall(struct.pack("!H", len(query)) + query)
        got = b""
        try:
            while part := client.recv(4096):
                got += part
        except ConnectionResetError:
            pass
    assert len(got) <= 7 and got[:1] in (b"", b"\x15")  # nothing, or an alert
    server.wait_metric(1, "tls_handshakes_total", result="failed")
    assert server.metric("queries_total", transport="tls", verdict="answered") == 0


# ---- Files that change ----


def test_a_replaced_certificate(server):
    """New handshakes see it, connections that are open live on."""
    server.start()
    with server.connect() as before:
        old = before.serial()
        since, ends = len(server.skydns.lines), server.metric("tls_certificate_expiry_seconds")
        server.authority.sign("server", days=40)
        replaced = time.monotonic()

        def is_new() -> bool:
            with server.connect() as connection:
                assert connection.ask() == [ADDRESS]
                return connection.serial() != old

        server.skydns.wait_ready(is_new, "the new certificate", IN_USE_S)
        assert time.monotonic() - replaced < IN_USE_S
        server.skydns.wait_line(r"certificate reloaded .*ends=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", since)
        assert before.ask(7) == [ADDRESS]
    assert server.metric("tls_certificate_expiry_seconds") == pytest.approx(ends + 38 * 86400, abs=3600)
    assert server.metric("config_refused", source="certificate") == 0


def test_a_secret(server, tmp_path):
    """As a pod has it, where the sandbox of files has to let the new folder be read."""
    secret = Secret(tmp_path / "secret", cert=server.certificate, key=server.key)
    server.certificate, server.key = secret.path("cert"), secret.path("key")
    server.start()
    with server.connect() as connection:
        old = connection.serial()
    certificate, key = server.authority.sign("other")
    secret.replace(cert=certificate, key=key)
    server.skydns.signal(signal.SIGHUP)  # does not wait for the next look
    server.skydns.wait_line("certificate reloaded")
    with server.connect() as connection:
        assert connection.serial() != old
        assert connection.ask() == [ADDRESS]


def test_an_unusable_certificate(server):
    """The old one stays in force; one line says why, however often skydns looks."""
    server.start()
    with server.connect() as connection:
        old = connection.serial()
    since = len(server.skydns.lines)
    (server.folder / "server.crt").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n")
    for _ in range(3):
        before = len(server.skydns.lines)
        server.skydns.signal(signal.SIGHUP)
        server.skydns.wait_line("configuration reloaded", before)
    line = server.skydns.wait_line("cannot use the changed files for TLS, keeping their last good content", since)
    assert "server.crt" in line and line.startswith("error")
    server.wait_metric(1, "config_refused", source="certificate")
    with server.connect() as connection:
        assert connection.serial() == old
        assert connection.ask() == [ADDRESS]
    server.authority.sign("server")
    server.skydns.signal(signal.SIGHUP)
    server.wait_metric(0, "config_refused", source="certificate")
    with server.connect() as connection:
        assert connection.serial() != old
    assert sum("cannot use the changed files" in line for line in server.skydns.lines[since:]) == 1


@pytest.mark.parametrize(
    "days, level, says", [(2, "warn", "expires soon file="), (-1, "error", "has expired, clients refuse")]
)
def test_a_certificate_that_ends(server, days, level, says):
    server.authority.sign("server", days=days)
    server.start()
    line = server.skydns.wait_line(f"the certificate {says}")
    assert line.startswith(level) and "server.crt" in line
    server.authority.sign("server", days=40)
    server.skydns.signal(signal.SIGHUP)
    server.skydns.wait_line("certificate reloaded")
    assert sum("the certificate " in line for line in server.skydns.lines) == 1


# ---- Certificates of clients ----


def test_client_certificates(server):
    others = type(server.authority)(server.folder, "others")
    good, foreign = server.authority.sign("client"), others.sign("foreign")
    server.start(f"-client-ca={server.authority.certificate}")
    with server.connect(server.context(good)) as connection:
        assert connection.ask() == [ADDRESS]
    for certificate in (None, foreign):
        # With TLS 1.3, the client learns of it after its own part of the handshake.
        with pytest.raises((ssl.SSLError, ConnectionError)), server.connect(server.context(certificate)) as connection:
            assert connection.ask() == [ADDRESS]
    server.wait_metric(2, "tls_handshakes_total", result="failed")
    assert server.metric("queries_total", transport="tls", verdict="answered") == 1


# ---- Resumption ----


def session_of(connection: Connection) -> ssl.SSLSession:
    """The ticket comes with the first answer."""
    assert connection.ask() == [ADDRESS]
    return connection.socket.session


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_replicas_resume_each_others_sessions(server, version):
    keys = server.folder / "keys"
    keys.write_text(f"{'5a' * 80}\n")
    flags = (f"-tls-ticket-keys={keys}",)
    server.start(*flags)
    context = server.context()
    context.maximum_version = version
    port = reserve_port()
    second = server.bed.command("skydns", *server.skydns.argv[1:], f"-addr=tls://127.0.0.1:{port}", "-http-addr=")
    second.start()
    second.wait_line(rf"ready for queries on .* for tls://127\.0\.0\.1:{port}")
    with server.connect(context) as connection:
        assert not connection.socket.session_reused
        session = session_of(connection)
    with Connection(port, context, session) as connection:
        assert connection.socket.session_reused
        session = session_of(connection)
    with server.connect(context, session) as connection:
        assert connection.socket.session_reused
        session = session_of(connection)
    server.wait_metric(1, "tls_handshakes_total", result="resumed")
    # The old key goes second, then away.
    keys.write_text(f"{'a5' * 80}\n{'5a' * 80}\n")
    server.skydns.signal(signal.SIGHUP)
    server.skydns.wait_line("certificate reloaded")
    with server.connect(context, session) as connection:
        assert connection.socket.session_reused
    since = len(server.skydns.lines)  # before skydns may look by itself
    keys.write_text(f"{'a5' * 80}\n")
    server.skydns.signal(signal.SIGHUP)
    server.skydns.wait_line("certificate reloaded", since)
    with server.connect(context, session) as connection:
        assert not connection.socket.session_reused


def test_a_session_of_another_process_is_not_resumed(server):
    server.start()
    context = server.context()
    with server.connect(context) as connection:
        session = session_of(connection)
    with server.connect(context, session) as connection:
        assert connection.socket.session_reused
    server.skydns.restart()
    server.wait_ready()
    with server.connect(context, session) as connection:
        assert not connection.socket.session_reused
        assert connection.ask() == [ADDRESS]


# ---- Errors ----


def refused(bed, *flags: str) -> tuple[int, str]:
    program = bed.command("skydns", f"-machines={bed.etcd_urls[0]}", "-no-rec", *flags).start()
    status = program.wait()
    return status, "\n".join(program.lines)


def test_wrong_flags(bare_bed):
    plain = f"-addr=127.0.0.1:{reserve_port()}"
    for flags, status, says in (
        (["-addr=tls://127.0.0.1:853"], 2, "flag -addr: `tls://127.0.0.1:853`: expected -cert and -key with it"),
        ([plain, "-cert=/nowhere"], 2, "flag -cert: `/nowhere`: expected -key with it"),
        (["-addr=tls://localhost", "-cert=/a", "-key=/b"], 2, "`tls://localhost`: expected tls://IP"),
        ([plain, "-cert=/nowhere/a", "-key=/nowhere/b"], 1, "/nowhere/a"),
    ):
        assert refused(bare_bed, *flags)[0] == status
        assert says in refused(bare_bed, *flags)[1]


def test_wrong_files(server):
    key, other = server.key, server.authority.sign("other")[1]
    keys = server.folder / "keys"
    keys.write_text("5a5a\n")
    address = f"-addr=tls://127.0.0.1:{server.ports['tls']}"
    for flags, says in (
        ([f"-key={other}"], "other.key"),
        ([f"-key={server.certificate}"], "server.crt"),
        ([f"-key={key}", f"-client-ca={key}"], "server.key"),
        ([f"-key={key}", f"-tls-ticket-keys={keys}"], str(keys)),
    ):
        status, text = refused(server.bed, address, f"-cert={server.certificate}", *flags)
        assert (status, says in text) == (1, True), text


def test_the_port_is_taken(server):
    with socket.create_server(("127.0.0.1", server.ports["tls"])):
        status, text = refused(server.bed, f"-addr={server.addresses()}", f"-cert={server.certificate}",
                               f"-key={server.key}")
    assert status == 1
    assert f"tls://127.0.0.1:{server.ports['tls']}: " in text and "stop the program that has the port" in text


def test_a_certificate_that_nobody_sees(server):
    server.ports = {}
    server.start()
    assert "server.crt" in server.skydns.wait_line("no address speaks TLS")
    assert server.metric("tls_handshakes_total", result="full") is None


# ---- systemd ----


def test_sockets_of_systemd_by_name(server):
    tls, plain = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    flags = [f"-machines={server.bed.etcd_urls[0]}", "-domain=cluster.local.", "-no-rec"]
    files = [f"-cert={server.certificate}", f"-key={server.key}"]
    named = {"tls": tls, "skydns.socket": plain}
    without = pass_sockets(server.bed, named, *flags).start()
    assert without.wait() == 2
    assert any("-systemd: a socket named `tls` was passed: expected -cert and -key" in line for line in without.lines)
    program = pass_sockets(server.bed, named, *flags, *files).start()
    server.ports["tls"] = tls.getsockname()[1]
    program.wait_line(rf"ready for queries on .* for tls://127\.0\.0\.1:{server.ports['tls']}")
    with server.connect() as connection:
        assert connection.ask() == [ADDRESS]
    reply = dns.query.tcp(dns.message.make_query(NAME, "A"), "127.0.0.1", timeout=20, port=plain.getsockname()[1])
    assert [rr.to_text() for rrset in reply.answer for rr in rrset] == [ADDRESS]
    program.stop()
    for listening in named.values():
        listening.close()


# ---- The end ----


def test_what_has_arrived_is_answered_at_the_end(server):
    server.start()
    count = 50
    with server.connect() as connection, server.connect() as idle:
        assert idle.ask() == connection.ask() == [ADDRESS]
        for number in range(count):
            connection.send(number)
        wait_until(
            lambda: server.metric("queries_total", transport="tls", verdict="answered") == count + 2, "all queries"
        )
        server.skydns.signal(signal.SIGTERM)
        ids = set()
        while reply := connection.receive():
            ids.add(reply.id)
        assert ids == set(range(count))
        assert idle.receive() is None
    assert server.skydns.wait() == 0


def test_still_answering_as_a_lame_duck(server):
    server.start("-lameduck=30s")
    with server.connect() as before:
        assert before.ask() == [ADDRESS]
        server.skydns.signal(signal.SIGTERM)
        server.skydns.wait_line("no longer ready, still answering")
        assert before.ask() == [ADDRESS]
        with server.connect() as after:
            assert after.ask() == [ADDRESS]
        server.skydns.signal(signal.SIGTERM)
        assert server.skydns.wait() == 0


# ---- The other transports ----


def test_changes_are_seen_by_every_transport(bare_bed, tmp_path):
    """The same record over all of them, before and after it changes."""
    server = Server(bare_bed, tmp_path, "tls", "https", "http").start()
    query = dns.message.make_query(NAME, "A", use_edns=0)
    query.id = 0

    def over_http(scheme: str, *flags: str) -> dns.message.Message:
        url = f"{scheme}://127.0.0.1:{server.ports[scheme]}/dns-query"
        command = [needs("curl"), "-sS", "--fail", "--max-time", "20", "--cacert", server.authority.certificate]
        command += ["-H", "content-type: application/dns-message", "--data-binary", "@-", *flags, url]
        done = subprocess.run(command, input=query.to_wire(), capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return dns.message.from_wire(done.stdout)

    for right in (ADDRESS, "10.0.0.2"):
        bare_bed.etcd.put(KEY, value(right))
        wait_until(lambda right=right: bare_bed.dns.answers(NAME, "A") == [right], right)
        with server.connect() as connection:
            assert connection.ask() == [right]
        ways = [("https", []), ("https", ["--http1.1"]), ("http", []), ("http", ["--http2-prior-knowledge"])]
        for scheme, flags in ways:
            reply = over_http(scheme, *flags)
            assert [rr.to_text() for rrset in reply.answer for rr in rrset] == [right], (scheme, flags)
    assert server.metric("queries_total", transport="https", verdict="answered") == 4
    assert server.metric("queries_total", transport="http", verdict="answered") == 4
    assert server.metric("queries_total", transport="grpc", verdict="answered") is None


# ---- Files that are not there ----


@pytest.mark.parametrize(("program", "flags", "told"), [
    ("skydns", ["-addr=tls://127.0.0.1", "-cert=/none", "-key=/none"],
     "-cert, -key, -client-ca, -tls-ticket-keys: TLS: read certificate `/none`"),
    ("skydns", ["-ca-cert=/none"], "-ca-cert, -tls-pem, -tls-key: TLS: read CA certificate `/none`"),
    ("kube2sky", ["--kube-master-url=http://127.0.0.1:9", "--etcd-cafile=/none"],
     "-etcd-cafile, -etcd-certfile, -etcd-keyfile: TLS: read CA certificate `/none`"),
    ("kube2sky", ["--kube-master-url=http://127.0.0.1:9", "--etcd-server=etcd"], "flag -etcd-server: etcd endpoint `etcd`"),
])  # fmt: skip
def test_the_flag_of_a_file_is_named(bare_bed, program, flags, told):
    """Several flags have files of TLS, and the name of a file alone does not say which."""
    started = bare_bed.command(program, *flags).start()
    assert started.wait() in (1, 2)
    assert f"{program}: {told}" in started.log_text()

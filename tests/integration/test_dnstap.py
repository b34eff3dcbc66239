"""-dnstap with fstrm_capture as the sink and dnstap-read as the reader: what is shown, a sink that is away and comes
back, and one that stops reading.
"""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from bed import BIN_DIR
from certificates import Authority
from nameservers import needs
from programs import Program, reserve_port, wait_until
from query_load import QueryLoad, Question
from records import value
from scripted import Nameserver
from tls_nameserver import ADDRESS, TlsNameserver, answers
from transports import Listeners
from watched import Watched

NAME = "web.default.svc.cluster.local"


class Server:
    """skydns with one record, whose messages go to the sink."""

    def __init__(self, bed, sink: str, *flags: str):
        self.bed, port = bed, reserve_port()
        bed.start_etcd()
        bed.etcd.put("/skydns/local/cluster/svc/default/web/c88f1059", value("10.0.0.1"))
        bed.start_skydns(f"-dnstap={sink}", f"-http-addr=127.0.0.1:{port}", *flags)
        bed.wait_answers(NAME, "A", ["10.0.0.1"])
        self.watched = Watched(bed.skydns, port, "skydns_")

    def metric(self, name: str) -> float:
        return self.watched.metrics().get(name) or 0

    def wait_connected(self) -> None:
        wait_until(lambda: self.metric("dnstap_connected") == 1, "the sink")


def capture(folder: Path, sink: str, name: str = "tap") -> Program:
    """fstrm_capture at this address, writing a file, and a line about each message that it has read."""
    kind, _, where = sink.partition(":")
    address = ["-u", where] if kind == "unix" else ["-a", "127.0.0.1", "-p", where.rpartition(":")[2]]
    command = [needs("fstrm_capture"), "-ddddd", "-t", "protobuf:dnstap.Dnstap", "-w", str(folder / name), *address]
    return Program("fstrm_capture", command)


def wait_read(program: Program) -> None:
    """Until it has read everything of a skydns that has ended: SIGTERM loses what is still in the socket."""
    program.wait_line(r"closing \(read \d+ frames")


def read(file: Path) -> list[list[str]]:
    """The lines of dnstap-read, as words: date, time, CQ and the like, from, arrow, to, protocol, size, question."""
    done = subprocess.run([needs("dnstap-read"), str(file)], check=True, capture_output=True, text=True, timeout=60)
    return [line.split() for line in done.stdout.splitlines()]


def sinks(folder: Path) -> dict[str, str]:
    return {"unix": f"unix:{folder}/dnstap.sock", "tcp": f"tcp://127.0.0.1:{reserve_port()}"}


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_what_is_shown(bare_bed, tmp_path, kind):
    bed, sink, nameserver = bare_bed, sinks(tmp_path)[kind], Nameserver()
    listeners = Listeners(tmp_path)
    program = capture(tmp_path, sink).start()
    try:
        server = Server(bed, sink, f"-nameservers=127.0.0.1:{nameserver.port}", *listeners.flags(bed.dns.port))
        server.wait_connected()
        bed.dns.query(NAME, tcp=True)
        listeners.dns("tls").query(NAME)
        bed.dns.query("www.example.com")
        bed.skydns.stop()
        wait_read(program)
    finally:
        program.stop((0,))
    lines = read(tmp_path / "tap")
    ours = f"127.0.0.1:{bed.dns.port}"
    mine = [line for line in lines if line[-1].startswith(f"{NAME}/")]
    for protocol in ("UDP", "TCP"):
        assert {line[2] for line in mine if ours in line and line[6] == protocol} == {"CQ", "CR"}, lines
    # dnstap-read of BIND 9.18 has no word for DOT.
    assert {line[2] for line in mine if f"127.0.0.1:{listeners.ports['tls']}" in line} == {"CQ", "CR"}, lines
    foreign = [line for line in lines if line[-1].startswith("www.example.com/")]
    assert sorted(line[2] for line in foreign) == ["CQ", "CR", "FQ", "FR"], lines
    for line in foreign:
        if line[2].startswith("F"):
            assert f"127.0.0.1:{nameserver.port}" in line, line


def test_a_nameserver_over_tls(bare_bed, tmp_path):
    """What it is asked and replies is shown, and counted."""
    authority = Authority(tmp_path, "ca")
    nameserver = TlsNameserver(*authority.sign("good", host="dns.example"), answers)
    sink = sinks(tmp_path)["unix"]
    program = capture(tmp_path, sink).start()
    try:
        server = Server(bare_bed, sink, f"-nameservers=tls://127.0.0.1:{nameserver.port}#dns.example", "-rtimeout=20s",
                        f"-nameservers-ca={authority.certificate}")  # fmt: skip
        server.wait_connected()
        assert bare_bed.dns.answers("www.example.com") == [ADDRESS]
        at = {"zone": ".", "address": f"127.0.0.1:{nameserver.port}", "transport": "tls"}
        page = server.watched.metrics()
        assert (page.get("upstream_queries_total", **at), page.get("upstream_failures_total", **at)) == (1, 0)
        bare_bed.skydns.stop()
        wait_read(program)
    finally:
        program.stop((0,))
        nameserver.close()
    lines = [line for line in read(tmp_path / "tap") if line[-1].startswith("www.example.com/")]
    assert sorted(line[2] for line in lines) == ["CQ", "CR", "FQ", "FR"], lines
    for line in lines:
        assert (f"127.0.0.1:{nameserver.port}" in line) == line[2].startswith("F"), line


def test_the_sink_is_killed_and_started_again(bare_bed, tmp_path):
    sink = sinks(tmp_path)["unix"]
    server = Server(bare_bed, sink, "-no-rec")
    bare_bed.skydns.wait_line("dnstap's sink is away")
    for name in ("first", "second"):
        before = server.metric("dnstap_messages_total")
        program = capture(tmp_path, sink, name).start()
        server.wait_connected()
        sent = server.metric("dnstap_messages_total")
        bare_bed.dns.answers(NAME)
        wait_until(lambda sent=sent: server.metric("dnstap_messages_total") >= sent + 2, "messages")
        count = server.metric("dnstap_messages_total") - before
        wait_until(lambda: sum("data frame" in line for line in program.lines) >= count, "it has read them")
        program.signal(signal.SIGTERM)
        program.wait()
        wait_until(lambda: server.metric("dnstap_connected") == 0, "the sink is away")
        assert {line[2] for line in read(tmp_path / name)} >= {"CQ", "CR"}
    bare_bed.skydns.stop()


@contextlib.contextmanager
def stuck():
    """A socket that every user may connect to: its address, and the socket."""
    with tempfile.TemporaryDirectory(prefix="dnstap-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = f"{folder}/stuck.sock"
        listener.bind(path)
        os.chmod(folder, 0o755)
        os.chmod(path, 0o666)
        listener.listen()
        yield f"unix:{path}", listener


def _accept(listener: socket.socket) -> socket.socket:
    """Takes part in the handshake of Frame Streams (READY, ACCEPT), and then reads nothing."""
    kind = b"protobuf:dnstap.Dnstap"
    field = (1).to_bytes(4, "big") + len(kind).to_bytes(4, "big") + kind
    body = (1).to_bytes(4, "big") + field
    while True:  # skydns may have given up the first ones
        connection, _ = listener.accept()
        if len(connection.recv(8 + len(body), socket.MSG_WAITALL)) == 8 + len(body):
            connection.sendall(bytes(4) + len(body).to_bytes(4, "big") + body)
            return connection
        connection.close()


@pytest.mark.parametrize("flags", [[], ["-user=65532:65532"]], ids=["as_it_is", "user"])
def test_a_sink_that_stops_reading(bare_bed, flags):
    if flags and os.geteuid() != 0:
        pytest.skip("cannot switch users")
    with stuck() as (sink, listener):
        server = Server(bare_bed, sink, "-no-rec", *flags)
        with _accept(listener):
            server.wait_connected()
            with QueryLoad(bare_bed.dns.port, [Question(NAME, "A", ["10.0.0.1"])], rate=20_000):
                wait_until(lambda: server.metric("dnstap_dropped_total") > 1000, "messages that have no room")
            begun = time.monotonic()
            bare_bed.skydns.stop()
            assert time.monotonic() - begun < 10  # 1 s, and what a busy machine adds


def test_a_wrong_value():
    done = subprocess.run([BIN_DIR / "skydns", "-dnstap=udp://127.0.0.1:1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "flag -dnstap: `udp://127.0.0.1:1`: expected unix:PATH or tcp://IP:port" in done.stderr


def test_who_asks(bare_bed, tmp_path):
    """The field `extra` has the client's namespace, pod and node."""
    bed, sink = bare_bed, sinks(tmp_path)["unix"]

    def is_known() -> bool:
        bed.dns.query(NAME)
        return any("pod=web-0 node=n1" in line for line in bed.skydns.lines)

    program = capture(tmp_path, sink).start()
    try:
        server = Server(bed, sink, "-no-rec", "-query-log=all")
        server.wait_connected()
        bed.etcd.put("/kube2sky/cluster.local/client/127-0-0-1", '{"namespace":"prod","pod":"web-0","node":"n1"}')
        wait_until(is_known, "the client is known")
        bed.skydns.stop()
        wait_read(program)
    finally:
        program.stop((0,))
    shown = (tmp_path / "tap").read_bytes().count(b"namespace=prod pod=web-0 node=n1")
    assert shown >= 2 and shown % 2 == 0  # query and response

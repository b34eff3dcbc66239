"""skydns -top and kube2sky --top in a terminal: figures, outages, hostile content, and how they end."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
from contextlib import suppress

import pytest
from bed import BIN_DIR
from programs import reserve_port
from terminal import Terminal

_HEAD = b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"

_SKYDNS = {
    "program": "skydns", "version": "0.1.0", "time_ms": 1700000000000, "uptime_s": 90061,
    "domains": ["cluster.local."], "ready": True, "reason": "",
    "queries": {"udp": 1000, "tcp": 10}, "rcodes": {"NOERROR": 900, "NXDOMAIN": 110},
    "etcd": {"connected": True, "revision": 42, "lag": 0, "age_ms": 1500, "endpoint": "http://127.0.0.1:2379",
             "away_s": 0, "reason": ""},
    "nameservers": [{"zone": ".", "address": "10.0.0.1:53", "transport": "udp", "state": "down"}],
    "records": 7, "unusable": 0, "changes": [], "clients": {"limited": 0, "refused": 0}, "dropped": 0,
}
_KUBE2SKY = {
    "program": "kube2sky", "version": "0.1.0", "time_ms": 1700000000000, "uptime_s": 5, "domain": "cluster.local.",
    "ready": False, "reason": "services are not known yet",
    "kinds": [{"kind": "services", "count": 12, "followed": True, "away_s": 0, "reason": "", "skipped": 1, "faults": 0},
              {"kind": "pods", "count": 0, "followed": False, "away_s": 61, "reason": "403 Forbidden"}],
    "transactions": {"count": 5, "failed": 0, "operations": 50},
}


class FakeLive:
    """GET /live with the events that the test sends: for outages and for what no program of ours says."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1", head: bytes = _HEAD):
        self.port = port or reserve_port()
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, self.port), family=family)
        self._head = head
        self._event = None
        self._clients = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                self._begin(client)
            except OSError:
                client.close()  # it has ended; it may come again

    def _begin(self, client: socket.socket) -> None:
        if not client.recv(4096).startswith(b"GET /live "):
            client.close()  # another page: as if there were none
            return
        with self._lock:
            client.sendall(self._head)
            if self._event:
                client.sendall(self._event)
            self._clients.append(client)

    def send(self, event) -> None:
        """To those connected, and first of all to those who come."""
        text = event if isinstance(event, bytes) else json.dumps(event).encode()
        with self._lock:
            self._event = b"data: " + text + b"\n\n"
            for client in self._clients:
                with suppress(OSError):  # it has ended
                    client.sendall(self._event)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for client in self._clients:
                client.close()


@pytest.fixture
def fake():
    """A function that opens a FakeLive."""
    opened = []

    def start(*arguments, **keywords) -> FakeLive:
        opened.append(FakeLive(*arguments, **keywords))
        return opened[-1]

    yield start
    for each in opened:
        try:
            each.close()
        except OSError:
            pass  # the test closed it


@pytest.fixture
def terminal():
    """A function that runs a program in a terminal."""
    opened = []

    def start(*command: str, **keywords) -> Terminal:
        opened.append(Terminal(*command, **keywords))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def _later(event: dict, **changes) -> dict:
    return {**event, "time_ms": event["time_ms"] + 1000, "uptime_s": event["uptime_s"] + 1, **changes}


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_rates_are_between_two_events(fake, terminal, size):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}", width=size[0], height=size[1])
    view.wait_text("skydns 0.1.0", "cluster.local.", "up 1d 1h", "22:13:20 UTC", "revision", "10.0.0.1:53", "down")
    assert "- queries/s" in view.text
    server.send(_later(_SKYDNS, queries={"udp": 1250, "tcp": 10}))
    view.wait_text("250.0 queries/s")
    assert max(len(line) for line in view.text.split("\n")) <= size[0]


def test_says_that_the_other_side_is_gone_and_comes_back(fake, terminal):
    port = reserve_port()
    view = terminal("skydns", "-top", f"-http-addr=:{port}")
    view.wait_text(f"skydns at 127.0.0.1:{port} is gone for", "Connection refused", "trying every second")
    server = fake(port=port)
    server.send(_SKYDNS)
    view.wait_text("ready", "revision")
    assert "is gone" not in view.text
    server.close()
    view.wait_text("is gone for", "what is below is old", "revision")
    again = fake(port=port)
    again.send(_SKYDNS)
    view.wait(lambda _: "is gone" not in view.text, "that it is back")
    view.press("q")
    assert view.status() == 0


def test_kube2sky_over_ipv6(fake, terminal):
    server = fake(host="::1")
    server.send(_KUBE2SKY)
    view = terminal("kube2sky", "--top", f"--healthz-port={server.port}", "--healthz-address=::1")
    view.wait_text("kube2sky 0.1.0", "not ready: services are not known yet", "pods: 403 Forbidden", "away for 1m 1s")
    server.send(_later(_KUBE2SKY, transactions={"count": 6, "failed": 0, "operations": 61}))
    view.wait_text("11.0 keys written/s")


@pytest.mark.parametrize("end", ["q", "\x03", signal.SIGTERM, signal.SIGHUP])
def test_ends_with_the_terminal_as_it_was(fake, terminal, end):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}")
    view.wait_text("ready")
    assert view.attributes() != view.before
    if isinstance(end, str):
        view.press(end)
    else:
        view.process.send_signal(end)
    assert view.status() == 0
    assert view.attributes() == view.before
    assert view.output.endswith(b"\x1b[?25h\x1b[?1049l")


def test_stops_and_goes_on(fake, terminal):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}")
    view.wait_text("revision")
    view.process.send_signal(signal.SIGTSTP)
    view.wait(lambda _: os.waitid(os.P_PID, view.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), "that it stops")
    view.wait(lambda _: view.output.endswith(b"\x1b[?1049l"), "the end of the view")
    assert view.attributes() == view.before
    view.screen.reset()
    view.process.send_signal(signal.SIGCONT)
    view.wait_text("ready", "revision")
    view.press("q")
    assert view.status() == 0


def test_follows_the_size_of_the_terminal(fake, terminal):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}", width=200, height=60)
    view.wait_text("Not answered")
    view.resize(1, 1)
    view.process.send_signal(signal.SIGWINCH)
    view.resize(3, 2)
    view.resize(80, 24)
    view.wait_text("revision", "10.0.0.1:53")
    view.press("q")
    assert view.status() == 0


def test_hostile_names_are_shown_escaped(fake, terminal):
    server = fake()
    hostile = "\x1b]0;owned\x07\x1b[31mred\u202egnp.exe\x9b2J\n" + "x" * 5000
    top = [{"name": hostile, "type": hostile, "count": 1}]
    server.send({**_SKYDNS, "reason": hostile, "domains": [hostile], "version": hostile, "top": top,
                 "queries": {hostile: 1e300}, "time_ms": 1e300, "uptime_s": -1e300})
    view = terminal("skydns", "-top", f"-http-addr={server.address}", width=200, height=60)
    view.wait_text("\\x1b]0;owned\\x07\\x1b[31mred\\u{202e}gnp.exe")
    without = re.sub(rb"\x1b\[[?0-9;]*[A-Za-z]", b"", view.output).decode()
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", without)
    assert view.screen.title == ""


@pytest.mark.parametrize("sent,said", [
    (b"not JSON", "an event that is no JSON object"),
    (b"[1]", "an event that is no JSON object"),
    (b'{"program":"' + b"x" * (1024 * 1024) + b'"}', "an event of more than 1 MiB"),
], ids=["text", "array", "long"])
def test_events_that_make_no_sense(fake, terminal, sent, said):
    server = fake()
    server.send(sent)
    view = terminal("skydns", "-top", f"-http-addr={server.address}")
    view.wait_text(said)
    server.send(_SKYDNS)
    view.wait_text("ready", "revision")


@pytest.mark.parametrize("head,said", [
    (b"HTTP/1.0 503 Busy\r\n\r\n256 streams are open\n", "HTTP status 503: 256 streams are open"),
    (b"HTTP/1.0 404 Not Found\r\n\r\n", "HTTP status 404"),
    (b"HTTP/1.0 200 OK\r\ncontent-type: text/html\r\n\r\n", "its /live is no stream of events"),
    (b"SSH-2.0-OpenSSH\r\n", "it does not speak HTTP"),
])
def test_servers_without_figures(fake, terminal, head, said):
    view = terminal("skydns", "-top", f"-http-addr={fake(head=head).address}", width=160)
    view.wait_text(said)


def test_a_peer_that_never_stops_sending(fake, terminal):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}")
    view.wait_text("ready")

    def flood() -> None:
        try:
            while True:
                server.send(b'{"ready":true}' + b"\n\n:\n" * 1000)
        except OSError:
            pass  # the program has ended

    threading.Thread(target=flood, daemon=True).start()
    view.press("q")
    assert view.status() == 0


def test_ascii_and_no_colours(fake, terminal):
    server = fake()
    server.send(_SKYDNS)
    view = terminal("skydns", "-top", f"-http-addr={server.address}", LC_ALL="C", NO_COLOR="1")
    view.wait_text("revision")
    server.send(_later(_SKYDNS, queries={"udp": 1250, "tcp": 10}))
    view.wait_text("# peak 250.0")
    assert view.output.isascii()
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", view.output)


def test_needs_a_terminal(terminal):
    command = [BIN_DIR / "skydns", "-top", "-http-addr=127.0.0.1:1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert "flag -top: stdin is no terminal: expected one" in done.stderr
    view = terminal("kube2sky", "--top", TERM="dumb")
    assert view.status() == 1
    assert "TERM=dumb: expected a terminal with a cursor" in view.text.replace("\n", "")


def test_a_running_skydns(bare_bed, terminal):
    bare_bed.start_etcd()
    port = reserve_port()
    bare_bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{port}")
    view = terminal("skydns", "-top", f"-http-addr=127.0.0.1:{port}")
    view.wait_text("ready", "queries/s", f"http://127.0.0.1:{bare_bed.etcd_port}", "connected", "records")
    bare_bed.etcd.put("/skydns/local/cluster/web", '{"host":"10.0.0.1"}')
    bare_bed.wait_answers("web.cluster.local", "A", ["10.0.0.1"])
    bare_bed.dns.query("none.cluster.local", "A")
    view.wait_text("NOERROR", "NXDOMAIN")
    view.wait(lambda _: re.search(r"records +1\b", view.text), "the record")
    bare_bed.skydns.stop()
    view.wait_text(f"skydns at 127.0.0.1:{port} is gone for", "what is below is old")
    bare_bed.start_skydns()
    view.wait(lambda _: "is gone" not in view.text and "connected" in view.text, "that it is back")
    view.press("q")
    assert view.status() == 0

"""-http-allow: the pages about clients and the past are for loopback and listed networks, whatever a header says. skydns is
in a network namespace of its own, where a client can have other addresses than loopback's.
"""

import json
import os
import subprocess

import pytest
from bed import BIN_DIR
from programs import Program, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")

FEW = ("/clients", "/missing", "/history?name=a.", "/watch?name=a.", "/flush?name=a.", "/explain?name=a.&at=10m", "/%63lients")
ALL = ("/healthz", "/metrics", "/explain?name=a.", "/nothing")
SETUP = "ip link set lo up && ip addr add 10.1.0.1/32 dev lo && ip addr add 10.2.0.1/32 dev lo && ip addr add fd00::1/128 dev lo nodad"
PORT = 8080


class Server:
    def __init__(self, bare_bed, *flags: str):
        command = [str(BIN_DIR / "skydns"), "-machines=http://127.0.0.1:9", "-domain=cluster.local.", "-no-rec", "-addr=127.0.0.1:53",
                   f"-http-addr=[::]:{PORT}", *flags]  # fmt: skip
        self.program = bare_bed._add(Program("skydns", ["unshare", "--net", "sh", "-c", f'{SETUP} && exec "$@"', "sh", *command]))
        self.program.start()
        self.program.wait_line("skydns started")

    def status(self, host: str, path: str, *options: str) -> tuple[int, str]:
        """To an address of the namespace's own, a connection comes from the same one."""
        command = ["nsenter", f"--net=/proc/{self.program.pid}/ns/net", "curl", "-s", "-m", "20", "-w", "\n%{http_code}", *options]
        done = subprocess.run([*command, f"http://{host}:{PORT}{path}"], capture_output=True, text=True, timeout=60)
        text, _, status = done.stdout.rpartition("\n")
        return int(status), text


def test_whose_pages(bare_bed, tmp_path):
    document = tmp_path / "document.json"
    document.write_text("{}")
    server = Server(bare_bed, "-http-allow=10.1.0.0/16", f"-config={document}")
    for path in FEW:
        for host in ("127.0.0.1", "[::1]", "10.1.0.1"):
            assert server.status(host, path)[0] != 403, (host, path)
        for host in ("10.2.0.1", "[fd00::1]"):
            status, text = server.status(host, path)
            assert status == 403 and "-http-allow" in text and text.count("\n") == 1, (host, path, status, text)
    for path in ALL:
        assert server.status("10.2.0.1", path) [0] == server.status("127.0.0.1", path)[0] != 403, path
    forged = ("-H", "X-Forwarded-For: 127.0.0.1", "-H", "Forwarded: for=127.0.0.1", "-H", "X-Real-IP: 127.0.0.1", "-H", "Host: localhost")
    assert server.status("10.2.0.1", "/clients", *forged)[0] == 403
    server.program.wait_line("HTTP request refused, its page is not for this client.* path=/clients client=10.2.0.1")
    document.write_text(json.dumps({"http_allow": ["fd00::/8", "10.2.0.1"]}))
    server.program.wait_line("configuration changed.*http_allow.*10.1.0.0/16 -> fd00::/8,10.2.0.1")
    wait_until(lambda: server.status("10.2.0.1", "/clients")[0] != 403, "the document's networks")
    assert server.status("[fd00::1]", "/clients")[0] != 403
    assert server.status("10.1.0.1", "/clients")[0] == 403
    assert server.status("127.0.0.1", "/clients")[0] != 403
    refused = 2 * len(FEW) + 2
    assert f"\nskydns_http_clients_refused_total {refused}\n" in server.status("127.0.0.1", "/metrics")[1]


def test_without_the_flag(bare_bed):
    server = Server(bare_bed)
    assert server.status("10.1.0.1", "/clients")[0] == 403
    assert server.status("127.0.0.1", "/clients")[0] != 403

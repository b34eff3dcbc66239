"""Common clients get their answers: dig, kdig, drill, nslookup; and the resolvers of C libraries, which read
resolv.conf (in a network namespace, where skydns has port 53; needs root); HAProxy, which balances by SRV records.
"""

import shutil
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bed import BIN_DIR
from nameservers import needs
from programs import Program, http_get, output, reserve_port
from records import value

sys.path.insert(0, str(Path(__file__).parent / "faults"))
from netns import Network, fill_etcd, network_missing  # noqa: E402

WEB = "/skydns/local/cluster/svc/default/web"
KEYS = {
    f"{WEB}/c88f1059": value("10.0.0.1"),
    f"{WEB}/6b86b273": value("10.0.0.2"),
    f"{WEB}/_tcp/_http/c88f1059": value("web.default.svc.cluster.local.", 80),
    "/skydns/local/cluster/svc/default/six/a": value("fd00::1"),
    "/skydns/local/cluster/svc/default/ext": value("web.default.svc.cluster.local."),
    "/skydns/arpa/in-addr/10/0/0/1": value("web.default.svc.cluster.local."),
}
LONG = [f"10.1.0.{n + 1}" for n in range(100)]  # too large for a datagram of 1,232 bytes
KEYS |= {f"/skydns/local/cluster/svc/default/long/x{n}": value(ip) for n, ip in enumerate(LONG)}
NAME = "web.default.svc.cluster.local"

POOL = [f"127.1.0.{n + 1}" for n in range(101)]  # 1 % for each is too much


@pytest.fixture(scope="module")
def served(dns_bed):
    for key, text in KEYS.items():
        dns_bed.etcd.put(key, text)
    last = len(LONG) - 1  # what was written before it is there, too
    dns_bed.wait_answers(f"x{last}.long.default.svc.cluster.local", "A", [LONG[last]])
    return dns_bed


def short(tool: str, port: int, name: str, rdtype: str, *more: str) -> list[str]:
    lines = output(needs(tool), f"-p{port}", "@127.0.0.1", name, rdtype, "+short", *more).split("\n")
    return sorted(line for line in lines if line)


@pytest.mark.parametrize("tool", ["dig", "kdig"])
@pytest.mark.parametrize("more", [[], ["+tcp"], ["+noedns"], ["+dnssec"], ["+bufsize=512"]], ids=str)
def test_dig_and_kdig(served, tool, more):
    port = served.dns.port
    assert short(tool, port, NAME, "A", *more) == ["10.0.0.1", "10.0.0.2"]
    assert short(tool, port, "SIX.default.svc.cluster.local", "AAAA", *more) == ["fd00::1"]
    assert short(tool, port, f"_http._tcp.{NAME}", "SRV", *more) == [f"10 100 80 {NAME}."]
    assert short(tool, port, "1.0.0.10.in-addr.arpa", "PTR", *more) == [f"{NAME}."]
    assert short(tool, port, "ext.default.svc.cluster.local", "CNAME", *more) == [f"{NAME}."]
    assert short(tool, port, "long.default.svc.cluster.local", "A", *more) == sorted(LONG)  # retries over TCP by itself
    assert short(tool, port, "absent.default.svc.cluster.local", "A", *more) == []


def test_drill(served):
    command = [needs("drill"), "-p", str(served.dns.port), "@127.0.0.1"]
    assert "rcode: NOERROR" in output(*command, NAME, "A")
    lines = [line.split() for line in output(*command, NAME, "A").split("\n") if line.startswith(NAME)]
    assert sorted(line[-1] for line in lines) == ["10.0.0.1", "10.0.0.2"]
    assert "rcode: NXDOMAIN" in output(*command, "absent.default.svc.cluster.local", "A")


def test_nslookup_of_bind(served):
    text = output(needs("nslookup"), f"-port={served.dns.port}", NAME, "127.0.0.1")
    assert "10.0.0.1" in text and "10.0.0.2" in text


def test_nslookup_of_busybox(served):
    text = output(needs("busybox"), "nslookup", NAME, f"127.0.0.1:{served.dns.port}")
    assert "10.0.0.1" in text and "10.0.0.2" in text


# ---- The resolvers of C libraries ----

RESOLVE_C = """
#include <netdb.h>
#include <stdio.h>
#include <arpa/inet.h>
int main(int argc, char **argv)
{
    char text[INET6_ADDRSTRLEN];
    struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM};
    int r = argc == 2 ? getaddrinfo(argv[1], NULL, &hints, &list) : EAI_FAIL;
    for (struct addrinfo *i = r == 0 ? list : NULL; i; i = i->ai_next) {
        const void *ip = i->ai_family == AF_INET ? (void *)&((struct sockaddr_in *)i->ai_addr)->sin_addr
                                                 : (void *)&((struct sockaddr_in6 *)i->ai_addr)->sin6_addr;
        puts(inet_ntop(i->ai_family, ip, text, sizeof(text)));
    }
    return r == 0 ? 0 : 2;
}
"""


@pytest.fixture(scope="module")
def inside(tmp_path_factory, served):
    """The command prefix with skydns in resolv.conf."""
    reason = network_missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("inside")
    with Network(count=1) as network:
        conf = folder / "resolv.conf"
        conf.write_text("nameserver 127.0.0.1\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n")
        etcd_port = reserve_port()
        prefix = network.command(0)
        etcd = Program(
            "etcd",
            [*prefix, shutil.which("etcd"), "--data-dir", str(folder / "etcd"), "--log-level", "warn"]
            + [f"--listen-client-urls=http://127.0.0.1:{etcd_port}"]
            + [f"--advertise-client-urls=http://127.0.0.1:{etcd_port}", "--listen-peer-urls=http://127.0.0.1:0"],
        ).start()
        fill_etcd(etcd, prefix, f"http://127.0.0.1:{etcd_port}", KEYS)
        skydns = Program(
            "skydns",
            [*prefix, str(BIN_DIR / "skydns"), "-addr=127.0.0.1:53", "-domain=cluster.local.", "-no-rec"]
            + [f"-machines=http://127.0.0.1:{etcd_port}"],
        ).start()
        skydns.wait_line("ready for queries on .* for udp://")  # with all of them
        bind = f'mount --bind {conf} /etc/resolv.conf && exec "$@"'
        yield [*prefix, "unshare", "-m", "sh", "-c", bind, "sh"]
        skydns.stop()
        etcd.stop(expected=(0, -15))


@pytest.fixture(scope="module", params=["getent of glibc", "musl"])
def resolve(request, inside, tmp_path_factory):
    """A function: name -> addresses."""
    if request.param != "musl":
        return lambda name: sorted(
            {line.split()[0] for line in output(*inside, needs("getent"), "ahosts", name).split("\n") if line}
        )
    folder = tmp_path_factory.mktemp("musl")
    (folder / "resolve.c").write_text(RESOLVE_C)
    output(needs("musl-gcc"), "-static", "-o", str(folder / "resolve"), str(folder / "resolve.c"))
    return lambda name: sorted(set(output(*inside, str(folder / "resolve"), name).split()))


def test_resolvers_of_c_libraries(resolve):
    for name in ("web", "web.default", "web.default.svc", NAME, f"{NAME}."):
        assert resolve(name) == ["10.0.0.1", "10.0.0.2"]
    assert resolve("six") == ["fd00::1"]
    assert resolve("ext") == ["10.0.0.1", "10.0.0.2"]
    with pytest.raises(AssertionError):
        resolve("absent")


def test_a_long_answer_over_tcp(resolve):
    addresses = resolve("long")
    assert set(addresses) <= set(LONG)
    assert len(addresses) >= 29  # this many fit 512 bytes: musl before 1.2.4 has no TCP


# ---- HAProxy ----

HAPROXY_CFG = """
global
    stats socket {folder}/stats
defaults
    mode http
    timeout connect 20s
    timeout client 20s
    timeout server 20s
resolvers skydns
    nameserver skydns tcp@127.0.0.1:{dns_port}
    accepted_payload_size 65535
frontend web
    bind 127.0.0.1:{port}
    default_backend pool
backend pool
    server-template pool {size} _http._tcp.pool.default.svc.cluster.local resolvers skydns
"""


class Endpoint(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoints():
    """The port of servers at all of POOL's addresses."""
    server = ThreadingHTTPServer(("0.0.0.0", reserve_port()), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def haproxy_weights(stats: Path) -> list[int]:
    """Those of the servers that have an address."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(stats))
        client.sendall(b"show servers state pool\n")
        with client.makefile() as lines:
            rows = [line.split() for line in lines]
    address, weight = 4, 7
    return [int(row[weight]) for row in rows if len(row) > weight and row[address] in POOL]


def test_haproxy_sends_to_each_of_101_endpoints(dns_bed, endpoints, tmp_path):
    for number, ip in enumerate(POOL):
        host = f"p{number}.pool.default.svc.cluster.local."
        dns_bed.etcd.put(f"/skydns/local/cluster/svc/default/pool/_tcp/_http/p{number}", value(host, endpoints))
        dns_bed.etcd.put(f"/skydns/local/cluster/svc/default/pool/p{number}", value(ip))
    dns_bed.wait_answers(host, "A", [POOL[-1]])  # what was written before it is there, too
    port, config = reserve_port(), tmp_path / "haproxy.cfg"
    config.write_text(HAPROXY_CFG.format(folder=tmp_path, dns_port=dns_bed.dns.port, port=port, size=len(POOL)))
    haproxy = Program("haproxy", [needs("haproxy"), "-db", "-f", str(config)]).start()
    try:
        stats = tmp_path / "stats"
        haproxy.wait_ready(lambda: stats.exists() and len(haproxy_weights(stats)) == len(POOL), "knows all servers")
        assert all(haproxy_weights(stats))
        assert {http_get(f"http://127.0.0.1:{port}/")[0] for _ in POOL} == {200}
    finally:
        haproxy.kill()

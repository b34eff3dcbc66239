"""As many TCP connections as skydns accepts: with all the descriptors that it wants, and with few."""

import re
import resource
import socket
from pathlib import Path

import dns.message
import dns.rcode
import pytest
from programs import Program, http_get, reserve_port, wait_until
from prometheus import parse
from records import value
from tcp_clients import IDLE_S, Clients

ONE, ONE_RIGHT = "one.cluster.local", ["10.0.0.1"]
OTHER, OTHER_RIGHT = "other.cluster.local", ["10.0.0.2"]

# From skydns(8): connections, and the descriptors wanted for them and everything else, with -http-addr.
CONNECTIONS = 10_000
WANTED = 21_920
# Fewer connections are too few to measure the memory of one.
ENOUGH = 5_000
GOAL_MIB = 32

# A small limit; TCP clients and nameservers each get a quarter of it.
FEW = 256
SHARE = 64
# More than HTTP accepts under that limit.
IDLE_HTTP = 60


class Skydns:
    """skydns with two records and HTTP, started by a shell after `ulimit`."""

    def __init__(self, bed, ulimit: str, *flags: str):
        bed.start_etcd()
        bed.etcd.put("/skydns/local/cluster/one", value(*ONE_RIGHT))
        bed.etcd.put("/skydns/local/cluster/other", value(*OTHER_RIGHT))
        self.http_port = reserve_port()
        shell = ("sh", "-c", f'{ulimit} && exec "$@"', "sh")
        bed.start_skydns(f"-http-addr=127.0.0.1:{self.http_port}", *flags, prefix=shell)
        self.program: Program = bed.skydns
        self._proc = Path(f"/proc/{bed.skydns.pid}")

    def get(self, path: str) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.http_port}{path}", timeout_s=20)

    def metric(self, name: str) -> float:
        (sample,) = parse(self.get("/metrics")[1])[f"skydns_{name}"].samples.values()
        return sample

    def warning(self) -> dict[str, int]:
        """The numbers in the log line about descriptors, which comes before skydns is ready; empty if there is none."""
        lines = [line for line in self.program.lines if "raise LimitNOFILE= or ulimit -n" in line]
        assert len(lines) <= 1 and all(line.startswith("warn ") for line in lines)
        return {key: int(text) for line in lines for key, text in re.findall(r" (\w+)=(\d+)", line)}

    def descriptors(self) -> int:
        return len(list((self._proc / "fd").iterdir()))

    def resident_mib(self) -> float:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", (self._proc / "status").read_text(), re.M)[1]) / 1024


@pytest.fixture
def descriptors():
    """Raises this process's limit to its hard limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield before[1] if before[1] != resource.RLIM_INFINITY else 1 << 30
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def check_full(skydns: Skydns, clients: Clients, count: int, ended: list[int]) -> None:
    """Waits until these have ended and skydns counts the open ones, before the next ones are idle for too long."""

    def is_told() -> bool:
        return skydns.metric("tcp_connections") == count or clients.ended() != ended

    wait_until(is_told, f"{count} connections", IDLE_S / 2)
    clients.check_ended(ended)


def occupy_nameservers(bed, skydns: Skydns) -> None:
    """Queries that no nameserver answers; one more is not forwarded."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.connect(("127.0.0.1", bed.dns.port))
        for number in range(SHARE):
            client.send(dns.message.make_query(f"silent.{number}.example.com", "A").to_wire())
        wait_until(lambda: skydns.metric("forwards_waiting") == SHARE, "all of them wait")
        client.send(dns.message.make_query("silent.more.example.com", "A").to_wire())
        reply = dns.message.from_wire(client.recv(512))
    assert str(reply.question[0].name) == "silent.more.example.com." and reply.rcode() == dns.rcode.SERVFAIL


def test_ten_thousand_idle_connections(bare_bed, descriptors, record_property):
    """One more connection evicts the longest idle one. skydns' initial soft limit does not matter."""
    bed = bare_bed
    skydns = Skydns(bed, f"ulimit -Sn {FEW}", "-no-rec")
    told = skydns.warning()
    assert told.get("limit", WANTED) == min(descriptors, WANTED)
    count = told.get("connections", CONNECTIONS)
    if count < ENOUGH or descriptors < count + FEW:
        pytest.skip(f"a hard limit of {descriptors} descriptors: skydns accepts only {count} connections")
    bed.wait_answers(OTHER, "A", OTHER_RIGHT)
    before_mib = skydns.resident_mib()
    with Clients(bed.dns.port) as clients:
        clients.open(3, ONE, ONE_RIGHT, at_once=1)  # certainly before the others
        clients.open(count - 3, ONE, ONE_RIGHT)
        check_full(skydns, clients, count, [])
        grown_mib = skydns.resident_mib() - before_mib
        clients.ask(range(1, count, 2), OTHER, OTHER_RIGHT)
        clients.check_ended([])
        clients.open(1, OTHER, OTHER_RIGHT)
        clients.check_ended([0])
        clients.open(1, OTHER, OTHER_RIGHT)
        check_full(skydns, clients, count, [0, 2])  # 1 has sent a query since
    wait_until(lambda: skydns.metric("tcp_connections") == 0, "all connections closed")
    assert grown_mib <= GOAL_MIB * count / CONNECTIONS
    record_property("figure", f"skydns: {grown_mib:.1f} MiB for {count} idle TCP connections")


def test_few_descriptors(bare_bed, upstream):
    """TCP clients and silent nameservers use up their shares; everything else continues."""
    bed = bare_bed
    nameserver = f"-nameservers=127.0.0.1:{upstream.port}"
    skydns = Skydns(bed, f"ulimit -n {FEW}", nameserver, "-rtimeout=1m")
    assert skydns.warning() == {"limit": FEW, "wanted": WANTED, "connections": SHARE, "nameserver_queries": SHARE}
    with Clients(bed.dns.port) as clients:
        clients.open(SHARE, ONE, ONE_RIGHT, at_once=1)
        check_full(skydns, clients, SHARE, [])
        for number in range(SHARE + 10):
            clients.open(1, ONE, ONE_RIGHT)
            clients.check_ended(list(range(number + 1)))
        assert bed.dns.answers("www.example.com") == ["192.0.2.7"]
        idle_http = [socket.create_connection(("127.0.0.1", skydns.http_port)) for _ in range(IDLE_HTTP)]
        occupy_nameservers(bed, skydns)
        check_full(skydns, clients, SHARE, list(range(SHARE + 10)))
        assert skydns.descriptors() > 2 * SHARE
        assert bed.dns.answers(ONE) == ONE_RIGHT
        assert bed.dns.query(OTHER, tcp=True).answer[0][0].to_text() == OTHER_RIGHT[0]
        assert skydns.get("/readiness") == (200, "ok")
        bed.etcd_program.stop(expected=(0, -15))
        bed.start_etcd()
        bed.etcd.put("/skydns/local/cluster/one", value("10.0.0.3"))
        bed.wait_answers(ONE, "A", ["10.0.0.3"])
        for connection in idle_http:
            connection.close()
    assert not any("pausing" in line for line in skydns.program.lines)

"""IPv6 addresses with a scope: skydns, its nameservers and a secondary at link-local addresses, which mean nothing without
their interface. All are in one network namespace.
"""

import os
import subprocess
import sys

import pytest
from nameservers import address, needs, unbound
from programs import Program, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")

OURS, GENERAL, STUB, SECONDARY = (f"fe80::{n}%lo" for n in range(1, 5))
# The namespace lives as long as this: programs enter it through its /proc.
HOLDER = "ip link set lo up && for n in 1 2 3 4; do ip addr add fe80::$n/64 dev lo nodad; done && echo up && exec sleep infinity"
# Prints NOTIFY's zone, and answers.
NOTIFIED = """
import signal, socket, sys, dns.message
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(socket.getaddrinfo("%s", 53)[0][4])
print("listens", flush=True)
while True:
    wire, peer = s.recvfrom(4096)
    query = dns.message.from_wire(wire)
    print("notify", query.question[0].name, flush=True)
    s.sendto(dns.message.make_response(query).to_wire(), peer)
"""
# Prints the zone's records, or why there are none.
TRANSFER = """
import sys, dns.query, dns.xfr
try:
    for message in dns.query.xfr(sys.argv[1], "cluster.local", source=sys.argv[2], lifetime=20, relativize=False):
        print(*message.answer)
except dns.query.TransferError as refused:
    print(refused)
"""
STORE = "/skydns/local/cluster/svc/default/web"


class Namespace:
    def __init__(self):
        self.holder = Program("holder", ["unshare", "--net", "sh", "-c", HOLDER]).start()
        self.holder.wait_line("up")
        self.inside = ["nsenter", "--net", "-t", str(self.holder.pid)]

    def close(self) -> None:
        self.holder.kill()

    def start(self, program: Program, line: str = "") -> Program:
        program.argv = [*self.inside, *program.argv]
        program.start()
        program.wait_line(line)
        return program

    def start_etcd(self, bed) -> None:
        self.start(bed.etcd_program)
        self.etcdctl = [*self.inside, needs("etcdctl"), f"--endpoints={bed.etcd_urls[0]}"]
        bed.etcd_program.wait_ready(lambda: subprocess.run([*self.etcdctl, "endpoint", "health"]).returncode == 0, "healthy")

    def put(self, key: str, text: str) -> None:
        subprocess.run([*self.etcdctl, "put", key, text], check=True, timeout=60)

    def run(self, *command: str) -> str:
        done = subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def dig(self, *words: str) -> list[str]:
        return self.run(needs("dig"), f"@{OURS}", "+short", *words).split()

    def transfer(self, source: str) -> str:
        return self.run(sys.executable, "-c", TRANSFER, OURS, source)


@pytest.fixture
def inside():
    namespace = Namespace()
    yield namespace
    namespace.close()


def test_all_addresses_of_servers(inside, bare_bed):
    bed = bare_bed
    inside.start_etcd(bed)
    inside.put(STORE, '{"host":"10.0.0.1"}')
    for number, scoped in ((1, GENERAL), (2, STUB)):
        server = unbound(bed.folder, number, 53, "access-control: ::/0 allow", host=scoped)
        inside.start(bed._add(server), "start of service")
    notified = inside.start(bed._add(Program("secondary", [sys.executable, "-c", NOTIFIED % SECONDARY])), "listens")
    flags = [f"-machines={bed.etcd_urls[0]}", f"-addr=[{OURS}]:53", "-domain=cluster.local.", "-schema=kubernetes"]
    flags += [f"-nameservers=[{GENERAL}]:53", f"-stub=www.real.test=[{STUB}]", f"-transfer-to={SECONDARY}"]
    skydns = inside.start(bed.command("skydns", *flags), "ready for queries on .* for udp://")
    assert inside.dig("www.real.test") == [address(2)]
    assert len(inside.dig("+tcp", "big.real.test")) == 200
    assert inside.dig("web.default.svc.cluster.local") == ["10.0.0.1"]
    inside.put(f"{STORE}/a", '{"host":"10.0.0.2"}')
    notified.wait_line("notify cluster.local.")  # the start's or the change's
    wait_until(lambda: "10.0.0.2" in inside.transfer(SECONDARY), "the change in a transfer")
    assert "REFUSED" in inside.transfer(GENERAL)
    # A document is read while the program runs, confined.
    document = '{"stubs":{"www.real.test":["[%s]:53"]}}' % GENERAL
    inside.put("/skydns/config", document)
    skydns.wait_ready(lambda: inside.dig("www.real.test") == [address(1)], "the document's server")


@pytest.mark.parametrize("percent", ["%25", "%"], ids=["escaped", "bare"])
def test_etcd(bare_bed, inside, percent):
    """In a URL a scope begins with %25 (RFC 6874); people write % as well."""
    bed = bare_bed
    listens = bed.etcd_program.argv.index("--listen-client-urls") + 1
    bed.etcd_program.argv[listens] = f"http://[::]:{bed.etcd_port}"
    inside.start_etcd(bed)
    inside.put(STORE, '{"host":"10.0.0.1"}')
    flags = [f"-machines=http://[fe80::4{percent}lo]:{bed.etcd_port}", f"-addr=[{OURS}]:53", "-domain=cluster.local.", "-no-rec"]
    inside.start(bed.command("skydns", *flags), "ready for queries on .* for udp://")
    assert inside.dig("web.default.svc.cluster.local") == ["10.0.0.1"]


def test_an_interface_that_is_not_there(bare_bed):
    for flag in ("-nameservers=[fe80::1%absent]:53", "-stub=a.test=[fe80::1%absent]", "-transfer-to=fe80::1%absent"):
        done = subprocess.run(bare_bed.command("skydns", flag).argv, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "fe80::1%absent" in done.stderr and "interface" in done.stderr, done.stderr

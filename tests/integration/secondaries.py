"""Secondaries of skydns: NSD, Knot and BIND, each with an address of its own, so that skydns' log tells them
apart; and changes of etcd at random, after which all of them give skydns' answers.
"""

import random
import re
import time
from pathlib import Path

import dns.rcode
import dns.resolver
from dns_client import Dns
from nameservers import needs
from programs import Program, reserve_port, wait_until
from records import value

ZONES = DOMAIN, REVERSE, EXTERNAL = "cluster.local", "10.in-addr.arpa", "lb.example.com"
FLAGS = ("-no-rec", "-schema=kubernetes", "-reverse-zones=10.0.0.0/8", f"-external-zones={EXTERNAL}")  # that have them
TREE, EXTERNAL_TREE = "/skydns/local/cluster/svc/", "/skydns/com/example/lb/"
TYPES = ("A", "AAAA", "CNAME", "SRV", "TXT", "MX", "PTR", "NS")
KEY = "secondary."
SECRET = "MIHmdg5tZ0hRYVpwU2tqZVZtbnA="
TRANSFER = re.compile(r"zone transfer zone=(\S+) client=([\d.]+):\d+ kind=(\w+) key=(\S+) result=(\w+)")


class Secondary:
    def __init__(self, name: str, address: str, program: Program, port: int):
        self.name, self.address, self.program = name, address, program
        self.dns = Dns(port, timeout_s=2)
        self.counts = {"axfr": 0, "ixfr": 0}

    def answers_of(self, name: str, rdtype: str) -> tuple[str, list[str]]:
        return answers_of(self.dns, name, rdtype)


def answers_of(server: Dns, name: str, rdtype: str) -> tuple[str, list[str]]:
    """The rcode and the records, in one order: servers shuffle addresses. TTLs of a name's own records alone: skydns
    levels those of an alias and its target, as SkyDNS did."""
    reply = server.query(name, rdtype)
    is_one = len(reply.answer) == 1
    records = [f"{rrset.name} {rrset.ttl if is_one else ''} {rdata}" for rrset in reply.answer for rdata in rrset]
    return dns.rcode.to_text(reply.rcode()), sorted(text.lower() for text in records)


def nsd(folder: Path, address: str, port: int, *primaries: int) -> Program:
    home = folder / "nsd"
    home.mkdir()
    transfers = "".join(f"  request-xfr: 127.0.0.1@{primary} NOKEY\n" for primary in primaries)
    zones = "".join(
        f'zone:\n  name: "{zone}"\n  zonefile: "{home}/{zone}.zone"\n  allow-notify: 127.0.0.1 NOKEY\n'
        f"{transfers}  provide-xfr: 127.0.0.1 NOKEY\n  outgoing-interface: {address}\n"
        for zone in ZONES
    )
    path = home / "nsd.conf"
    path.write_text(
        f'server:\n  ip-address: 127.0.0.1@{port}\n  username: ""\n  chroot: ""\n  pidfile: ""\n  database: ""\n  logfile: "/dev/stderr"\n'
        f'  zonesdir: "{home}"\n  xfrdfile: "{home}/xfrd.state"\n  zonelistfile: "{home}/zone.list"\n'
        f'  xfrdir: "{home}"\n  server-count: 1\n  verbosity: 2\n  rrl-ratelimit: 0\n  cookie-secret-file: ""\n'
        f"remote-control:\n  control-enable: no\n{zones}"
    )
    return Program("nsd", [needs("nsd"), "-d", "-c", str(path)])


def knot(folder: Path, address: str, port: int, *primaries: int) -> Program:
    home = folder / "knot-secondary"
    home.mkdir()
    path = home / "knot.conf"
    names = ", ".join(f"primary{primary}" for primary in primaries)
    remotes = "".join(
        f"  - id: primary{primary}\n    address: 127.0.0.1@{primary}\n    via: {address}\n" for primary in primaries
    )
    zones = "".join(f"  - domain: {zone}\n    master: [{names}]\n    acl: notify\n" for zone in ZONES)
    path.write_text(
        f"server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n"
        f"log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\n"
        f"remote:\n{remotes}"
        "acl:\n  - id: notify\n    address: 127.0.0.1\n    action: [notify, transfer]\n"
        f"template:\n  - id: default\n    storage: {home}\n    zonefile-sync: -1\n    zonefile-load: none\n"
        f"    journal-content: all\nzone:\n{zones}"
    )
    return Program("knot-secondary", [needs("knotd"), "-c", str(path)])


# BIND holds a zone back in which a name has more records of a type than a hundred.
MANY_RECORDS = "max-records-per-type 0"


def bind(folder: Path, address: str, port: int, *primaries: int, more: tuple[str, ...] = ()) -> Program:
    """Signs what it asks. `more`: options."""
    home = folder / "named-secondary"
    home.mkdir()
    options = [
        f'directory "{home}"',
        'pid-file none; session-keyfile "session.key"; managed-keys-directory "."',
        f"listen-on port {port} {{ 127.0.0.1; }}",
        "listen-on-v6 { none; }",
        "recursion no; allow-query { any; }; allow-transfer { any; }",
        f"transfer-source {address}; notify no",
        "empty-zones-enable no; minimal-responses no; max-refresh-time 20; min-refresh-time 1",
        *more,
    ]
    servers = "".join(f'127.0.0.1 port {primary} key "{KEY}"; ' for primary in primaries)
    zones = "".join(
        f'zone "{zone}" {{ type secondary; file "{zone}.db"; '
        f"primaries {{ {servers}}}; allow-notify {{ 127.0.0.1; }}; }};\n"
        for zone in ZONES
    )
    path = home / "named.conf"
    text = "".join(f"  {option};\n" for option in options)
    logging = "logging { channel here { stderr; severity info; }; category default { here; }; };\n"
    key = f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n'
    path.write_text(f"{key}options {{\n{text}}};\ncontrols {{ }};\n{logging}{zones}")
    return Program("named-secondary", [needs("named"), "-f", "-n", "1", "-c", str(path)])


class World:
    """etcd, skydns and its secondaries, and what etcd holds."""

    KINDS = (("nsd", "127.0.0.2", nsd), ("knot", "127.0.0.3", knot), ("named", "127.0.0.4", bind))

    def __init__(self, bed, seed: int):
        self.bed, self.random = bed, random.Random(seed)
        self.held: dict[str, str] = {}
        self.names: set[str] = {DOMAIN, f"ns.dns.{DOMAIN}", f"dns-version.{DOMAIN}", REVERSE, EXTERNAL}
        self.round = 0
        self.slowest_s = 0.0
        self.seen = 0
        bed.start_etcd()
        self.change()
        ports = [reserve_port() for _ in self.KINDS]
        keys = bed.folder / "tsig.keys"
        keys.write_text(f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n')
        who = [f"127.0.0.1:{port}" for port in ports] + ["127.0.0.2", "127.0.0.3", f"127.0.0.4+key:{KEY}"]
        bed.start_skydns(
            *FLAGS,
            f"-tsig-keys={keys}",
            f"-transfer-to={','.join(who)}",
        )
        self.secondaries = []
        for (name, address, make), port in zip(self.KINDS, ports):
            program = bed._add(make(bed.folder, address, port, bed.dns.port)).start()
            self.secondaries.append(Secondary(name, address, program, port))

    # ---- Changes ----

    def put(self, key: str, text: str) -> None:
        self.bed.etcd.put(key, text)
        self.held[key] = text

    def put_service(self) -> None:
        namespace, service = self.random.choice("abc"), f"web{self.random.randrange(30)}"
        host = f"10.0.{self.random.randrange(3)}.{self.random.randrange(40)}"
        name = f"{service}.{namespace}.svc.{DOMAIN}"
        where = f"{TREE}{namespace}/{service}"
        kind = self.random.randrange(6)
        if kind == 5:
            name = f"{service}.{namespace}.{EXTERNAL}"
            self.put(f"{EXTERNAL_TREE}{namespace}/{service}/c88f1059", value(f"203.0.113.{self.random.randrange(40)}"))
            self.put(f"{EXTERNAL_TREE}{namespace}/{service}/_tcp/_http/c88f1059", value(f"{name}.", port=80))
            self.names |= {name, f"_http._tcp.{name}", f"{namespace}.{EXTERNAL}"}
            return
        if kind < 2:
            self.put(f"{where}/c88f1059", value(host, port=80))
            self.put(f"/skydns/arpa/in-addr/{host.replace('.', '/')}", value(f"{name}."))
            self.names.add(".".join(reversed(host.split("."))) + ".in-addr.arpa")
        elif kind == 2:
            pod = f"pod{self.random.randrange(4)}"
            self.put(f"{where}/{pod}", value(host, port=53))
            self.put(f"{where}/_tcp/_dns/{pod}", value(f"{pod}.{name}.", port=53))
            self.names |= {f"{pod}.{name}", f"_dns._tcp.{name}", f"_tcp.{name}"}
        elif kind == 3 and namespace != "a":  # no circles: of those, each server has an opinion
            self.put(f"{where}/alias", value(f"web{self.random.randrange(30)}.a.svc.{DOMAIN}."))
        else:
            self.put(f"{where}/text", f'{{"host":"{host}","text":"round {self.round}"}}')
        self.names |= {name, f"c88f1059.{name}", f"alias.{name}", f"text.{name}", f"{namespace}.svc.{DOMAIN}"}

    def delete_one(self) -> None:
        if self.held:
            key = self.random.choice(sorted(self.held))
            self.bed.etcd.delete(key)
            del self.held[key]

    def empty(self) -> None:
        self.bed.etcd.delete_prefix("/skydns/")
        self.held.clear()

    def change(self) -> None:
        """One round: a few changes, a burst, or everything gone; and a mark of it, last."""
        self.round += 1
        what = self.random.randrange(20)
        if what == 0:
            self.empty()
        for _ in range(100 if what == 1 else self.random.randrange(1, 6)):
            self.delete_one() if self.random.random() < 0.35 else self.put_service()
        self.put(f"{TREE}marks/mark/now", f'{{"host":"10.0.9.9","text":"mark {self.round}"}}')

    # ---- What secondaries say ----

    def has_mark(self, server: Dns) -> bool:
        return server.answers(f"now.mark.marks.svc.{DOMAIN}", "TXT") == [f'"mark {self.round}"']

    def serial(self, server: Dns, zone: str) -> str:
        return server.answers(zone, "SOA")[0].split()[2]

    def is_caught_up(self, secondary: Secondary) -> bool:
        try:
            return self.has_mark(secondary.dns) and all(
                self.serial(secondary.dns, zone) == self.serial(self.bed.dns, zone) for zone in ZONES
            )
        except (OSError, IndexError, dns.exception.DNSException):
            return False

    def wait_caught_up(self) -> None:
        begun_s = time.monotonic()
        wait_until(lambda: self.has_mark(self.bed.dns), "skydns has the round")
        for secondary in self.secondaries:
            wait_until(lambda: self.is_caught_up(secondary), f"{secondary.name} has round {self.round}")
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun_s)

    def check(self, names: list[str]) -> None:
        for name in names:
            for rdtype in TYPES:
                right = answers_of(self.bed.dns, name, rdtype)
                for secondary in self.secondaries:
                    got = secondary.answers_of(name, rdtype)
                    assert got == right, (secondary.name, self.round, name, rdtype, got, right)

    def count(self) -> dict[str, dict[str, int]]:
        """What each secondary got, by kind, as skydns' log tells. Now and then, one asks from another address."""
        counts = {name: {"axfr": 0, "ixfr": 0} for name, _, _ in self.KINDS}
        names = {address: name for name, address, _ in self.KINDS}
        for line in self.bed.skydns.lines:
            found = TRANSFER.search(line)
            if found and found[5] == "sent" and found[3] in ("axfr", "ixfr") and found[2] in names:
                counts[names[found[2]]][found[3]] += 1
        return counts


def run_rounds(world: World, rounds: int, sample: int) -> None:
    """After each round, all secondaries give skydns' answers, for some names, and at the end for all."""
    world.wait_caught_up()
    world.slowest_s = 0.0
    for _ in range(rounds):
        world.change()
        world.wait_caught_up()
        world.check(world.random.sample(sorted(world.names), min(sample, len(world.names))))
    world.check(sorted(world.names))

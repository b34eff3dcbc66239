"""NSD, Knot and BIND follow two readers through what makes serials go back or stand for other contents: other
settings, and an etcd that was emptied or restored. After each, and after ten more changes, their zones are ours, and
the readers agree about the serials."""

import json
import shutil
import time

import dns.exception
import dns.query
import dns.rdatatype
import pytest
from bed import Bed
from dns_client import Dns
from kube import port, service
from nameservers import needs
from programs import http_get, reserve_port, wait_until
from secondaries import DOMAIN, EXTERNAL, FLAGS, KEY, SECRET, ZONES, bind, knot, nsd
from test_stores import STORE_KEY, wipe

KINDS = {"nsd": ("127.0.0.2", nsd), "knot": ("127.0.0.3", knot), "named": ("127.0.0.4", bind)}


def zone_of(server: int, zone: str) -> set[str]:
    """All records of a zone, with its serial; empty: it gives none now."""
    try:
        messages = list(dns.query.xfr("127.0.0.1", zone, "AXFR", port=server, timeout=5, lifetime=5, relativize=False))
    except (OSError, EOFError, dns.exception.DNSException):
        return set()
    return {
        f"{rrset.name} {rrset.ttl} {dns.rdatatype.to_text(rrset.rdtype)} {rdata}".lower()
        for message in messages
        for rrset in message.answer
        for rdata in rrset
    }


class Reader:
    def __init__(self, world: "World", number: int):
        self.world, self.port, self.http = world, reserve_port(), reserve_port()
        self.file = world.bed.folder / f"reader{number}.json"
        self.file.write_text('{"ttl": 3600}')
        self.program = None

    def start(self, *flags: str) -> None:
        bed = self.world.bed
        self.program = bed.command(
            "skydns",
            f"-machines={bed.etcd_urls[0]}",
            f"-addr=127.0.0.1:{self.port}",
            f"-http-addr=127.0.0.1:{self.http}",
            "-domain=cluster.local.",
            *FLAGS,
            "-stale-max=1s",
            f"-config={self.file}",
            f"-tsig-keys={self.world.keys}",
            f"-transfer-to={self.world.transfer_to}",
            *flags,
        ).start()
        self.program.wait_line("ready for queries on .* for udp")

    def restart(self, *flags: str, **settings) -> None:
        self.program.stop()
        self.file.write_text(json.dumps(settings))
        self.start(*flags)

    def serial(self, zone: str = DOMAIN) -> int:
        """0: it gives none now."""
        try:
            answer = Dns(self.port).query(zone, "SOA").answer
        except dns.exception.Timeout:
            return 0
        return answer[0][0].serial if answer else 0

    def origin(self, zone: str) -> dict:
        return json.loads(http_get(f"http://127.0.0.1:{self.http}/explain?name={zone}&type=SOA")[1])

    def configure(self, **settings) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(settings))
        before = self.serial()
        new.rename(self.file)
        wait_until(lambda: self.serial() > before, "the serial of other settings")


class World:
    def __init__(self, bed: Bed):
        self.bed, self.number = bed, 0
        bed.start_etcd()
        bed.start_apiserver()
        bed.start_kube2sky(f"--external-zone={EXTERNAL}")
        wait_until(lambda: STORE_KEY in bed.etcd.values("/kube2sky/"), "the store key")
        self.keys = bed.folder / "tsig.keys"
        self.keys.write_text(f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n')
        self.ports = {name: reserve_port() for name in KINDS}
        self.transfer_to = ",".join([*(f"127.0.0.1:{port}" for port in self.ports.values()), "127.0.0.0/8", f"key:{KEY}"])
        self.readers = [Reader(self, number) for number in range(2)]
        for reader in self.readers:
            reader.start()
        for name, (address, make) in KINDS.items():
            bed._add(make(bed.folder, address, self.ports[name], *(reader.port for reader in self.readers))).start()
        self.same("at the start")

    def change(self) -> None:
        self.number += 1
        outside = [f"203.0.113.{self.number % 200}"]
        self.bed.kube.create("services", service(f"web-{self.number}", port(80, "http"), externalIPs=outside))
        if self.number % 3 == 0:
            self.bed.kube.delete("services", f"web-{self.number - 1}")

    def name(self) -> str:
        return f"web-{self.number}.default.svc.{DOMAIN}"

    def same(self, when: str) -> None:
        """All servers have the newest change, and equal zones."""
        last: dict[str, set[str]] = {}

        def is_same(zone: str) -> bool:
            last.clear()
            servers = {f"reader{i}": reader.port for i, reader in enumerate(self.readers)} | self.ports
            last.update({name: zone_of(server, zone) for name, server in servers.items()})
            right = last["reader0"]
            is_new = zone != DOMAIN or self.number == 0 or any(line.startswith(self.name()) for line in right)
            return bool(right) and is_new and all(got == right for got in last.values())

        for zone in ZONES:
            try:
                wait_until(lambda zone=zone: is_same(zone), f"equal zones {zone} {when}")
            except AssertionError as error:
                right = last["reader0"]
                differ = {name: (sorted(got - right)[:6], sorted(right - got)[:6]) for name, got in last.items()}
                origins = [reader.origin(zone)["serial"] for reader in self.readers]
                raise AssertionError(f"{error}: {origins} {differ}") from None

    def follow(self, reader: Reader) -> bool:
        right = zone_of(reader.port, DOMAIN)
        return bool(right) and all(zone_of(port, DOMAIN) == right for port in self.ports.values())

    def is_clock_ahead(self) -> bool:
        """Of all serials, but for settings and turns, so that what a store is restored to is known to be behind."""
        serial = self.readers[0].origin(DOMAIN)["serial"]
        return 2**31 + (int(time.time()) - 1767225600) * 16 > serial["base"] + self.bed.etcd.revision() + 64

    def check(self) -> None:
        """After a history, and after ten more changes."""
        self.same("after it")
        for _ in range(10):
            self.change()
        self.same("after ten changes")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    for program in ("nsd", "knotd", "named"):
        needs(program)
    bed = Bed(tmp_path_factory.mktemp("histories"))
    try:
        yield World(bed)
    finally:
        bed.close()


STUB = "-stub=team.svc.cluster.local=127.0.0.1:9"


@pytest.mark.parametrize("flags, ttl", [((), 77), ((), 3600), ((STUB,), 3600), ((), 99), ((), 3600)])
def test_other_settings(world, flags, ttl):
    """One reader after the other starts with them, without memory of the others."""
    for reader in world.readers:
        before = reader.serial()
        reader.restart(*flags, ttl=ttl)
        wait_until(lambda reader=reader, before=before: reader.serial() > before, "a later serial")
    world.check()


def test_the_same_flags(world):
    """Nothing changes: whoever starts gives the serial of before once secondaries have told it of their turn."""
    before = [reader.serial() for reader in world.readers]
    for reader in world.readers:
        reader.restart(ttl=3600)
    wait_until(lambda: [reader.serial() for reader in world.readers] == before, "the serials of before")
    world.check()


def test_configurations_reloaded(world):
    """At different moments, with changes between them that secondaries get from the first; and back."""
    for settings in ({"ttl": 55}, {"ttl": 3600}):
        for reader in world.readers:
            reader.configure(**settings)
            wait_until(lambda reader=reader: world.follow(reader), "all follow the one that was reloaded last")
            world.change()
        world.check()


def test_an_emptied_etcd(world):
    """A reader that has seen many revisions of the lost store, and one that starts later."""
    bed = world.bed
    for number in range(120):
        bed.etcd.put("/elsewhere", str(number))
    world.change()
    world.same("before")
    before = world.readers[0].serial()
    wipe(bed)
    bed.start_etcd()
    wait_until(lambda: STORE_KEY in bed.etcd.values("/kube2sky/"), "the store key")
    wait_until(lambda: world.readers[0].serial() > before, "serials go on")
    world.same("after it")
    world.readers[1].restart(ttl=3600)
    world.check()


def test_a_restored_etcd(world):
    """From a copy, while kube2sky is away: what is written then has other serials than what was lost."""
    bed = world.bed
    wait_until(world.is_clock_ahead, "fewer than 16 revisions a second")
    data, copy = bed.folder / "etcd", bed.folder / "copy"
    bed.etcd_program.kill()
    shutil.copytree(data, copy)
    bed.start_etcd()
    for _ in range(5):
        world.change()
    world.same("before")
    before = world.readers[0].serial()
    bed.kube2sky.stop()
    bed.etcd_program.kill()
    shutil.rmtree(data)
    copy.rename(data)
    bed.start_etcd()
    for _ in range(5):
        world.change()
    bed.start_kube2sky(f"--external-zone={EXTERNAL}")
    world.same("after it")
    wait_until(lambda: world.readers[0].serial() > before, "serials go on")  # kube2sky writes their base last
    world.readers[1].restart(ttl=3600)
    world.check()

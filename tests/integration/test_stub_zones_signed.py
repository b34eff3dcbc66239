"""Signed stub zones, each on a nameserver of its own: a validator that asks skydns alone follows the chain of trust from
the general nameserver's zone into them.
"""

import subprocess

import pytest
from dnssec_bed import SECURE, keygen, unbound
from nameservers import needs
from programs import Program, reserve_port

ZONES = ("corp.example.", "acme.corp.example.", "eu.acme.corp.example.")


class Zone:
    """A zone, signed with one key, on a Knot DNS that knows no other. `below`: delegated in it with their DS."""

    def __init__(self, bed, name: str, below: list["Zone"]):
        self.home = bed.folder / name
        self.home.mkdir()
        self.port = reserve_port()
        self.key = keygen(self.home, name)
        self._sign(name, [f"{zone.key.zone} 77 NS ns.{zone.key.zone}\nns.{zone.key.zone} 77 A 127.0.0.1" for zone in below]
                   + [f"{zone.key.zone} 77 DS {' '.join(zone.key.ds()[-4:])}" for zone in below])
        config = self.home / "knot.conf"
        config.write_text(
            f"server:\n  listen: 127.0.0.1@{self.port}\n  rundir: {self.home}\ndatabase:\n  storage: {self.home}\n"
            f"zone:\n  - domain: {name}\n    file: {self.home}/signed\n    zonefile-sync: -1\n    journal-content: none\n"
        )
        bed._add(Program(f"knot-{name}", [needs("knotd"), "-c", str(config)])).start()

    def _sign(self, name: str, delegations: list[str]) -> None:
        records = [f"{name} 77 SOA ns.{name} hostmaster.{name} 1 3600 600 86400 60", f"{name} 77 NS ns.{name}"]
        records += [f"ns.{name} 77 A 127.0.0.1", f"www.{name} 77 A 192.0.2.1", *delegations, self.key.record.to_text()]
        if name != ZONES[0]:
            records += [f"{label}.{name} 77 CNAME www.{ZONES[0]}" for label in ("out", "*.wild")]
        plain = self.home / "plain"
        plain.write_text("\n".join(records) + "\n")
        command = [needs("dnssec-signzone"), "-q", "-z", "-o", name, "-f", str(self.home / "signed"), "-K", str(self.home), "-d", str(self.home)]
        subprocess.run([*command, str(plain), str(self.key.base)], check=True, capture_output=True)


@pytest.fixture
def zones(bare_bed):
    zones: list[Zone] = []
    for name in reversed(ZONES):
        zones.insert(0, Zone(bare_bed, name, zones[:1]))
    return zones


def test_a_validator_behind_us(bare_bed, zones):
    bed = bare_bed
    bed.start_etcd()
    general, *stubs = zones
    flags = [f"-stub={zone.key.zone}=127.0.0.1:{zone.port}" for zone in stubs]
    bed.start_skydns(f"-nameservers=127.0.0.1:{general.port}", *flags)
    resolver = unbound(bed.folder, bed.dns.port, [general.key]).start()
    try:
        for name in ZONES:
            verdict, reply = resolver.judge(f"www.{name}", "A")
            assert verdict == SECURE and len(reply.answer) == 2, f"{name}: {resolver.complaints()}\n{reply}"
        for name in (f"{label}.{zone}" for zone in ZONES[1:] for label in ("out", "any.wild")):
            for _ in range(2):  # from the nameservers, and from the cache
                verdict, reply = resolver.judge(name, "A")
                assert verdict == SECURE and len(reply.answer) == 4, f"{name}: {resolver.complaints()}\n{reply}"
    finally:
        resolver.stop()

"""A skydns with stub zones, whose nameservers plant records of others' names, and with records of its own."""

import dns.message
from bed import Bed
from foreign_server import Server
from scripted import Nameserver

EVIL = "203.0.113.66"
GOOD = "192.0.2.99"
OURS = "web.default.svc.cluster.local."

_TREE = "/skydns/local/cluster/svc/default"


class Zones:
    """skydns with stub zones one.test, two.test, 10.in-addr.arpa, and gone.test, which has no nameservers."""

    def __init__(self, bed: Bed, *flags: str):
        self.general, self.one, self.two = (Nameserver() for _ in range(3))
        stubs = {"one.test": self.one, "10.in-addr.arpa": self.one, "two.test": self.two}
        hosts = bed.folder / "hosts"
        hosts.write_text("192.0.2.55 known.example\n")
        self.server = Server(
            bed,
            *(f"-stub={zone}=127.0.0.1:{nameserver.port}" for zone, nameserver in stubs.items()),
            "-stub=gone.test=none",
            f"-hosts={hosts}",
            *flags,
            nameserver=self.general,
        )
        self.ask = self.server.ask

    def close(self) -> None:
        for nameserver in (self.general, self.one, self.two):
            nameserver.close()


def zones_with_ours(folder):
    """Yields Zones with OURS, and with aliases of names at one's nameserver and at a general one."""
    bed = Bed(folder)
    bed.start_etcd()
    bed.etcd.put(f"{_TREE}/web/x", '{"host":"10.0.0.7","port":80,"text":"ours"}')
    bed.etcd.put(f"{_TREE}/alias/x", '{"host":"leaves.one.test"}')
    bed.etcd.put(f"{_TREE}/home/x", '{"host":"leads.test"}')
    zones = Zones(bed, "-workers=2")
    yield zones
    zones.close()
    bed.close()


def data(message: dns.message.Message) -> list[str]:
    return [rdata.to_text() for rrset in message.answer for rdata in rrset]

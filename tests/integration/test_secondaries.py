"""NSD, Knot and BIND follow skydns' zones (secondaries.py); faults/test_secondaries_long.py does so for longer."""

import re

import pytest
from dns_client import Dns
from nameservers import needs
from programs import reserve_port
from records import value
from secondaries import DOMAIN, FLAGS, KEY, MANY_RECORDS, SECRET, TREE, World, bind, run_rounds


@pytest.mark.parametrize("seed", [1])
def test_random_rounds(bare_bed, seed):
    for program in ("nsd", "knotd", "named"):
        needs(program)
    world = World(bare_bed, seed)
    rounds = 12
    run_rounds(world, rounds, sample=25)
    for name, counts in world.count().items():
        assert counts["ixfr"] > counts["axfr"], (name, counts)
        assert counts["ixfr"] >= rounds // 2, (name, counts)


@pytest.mark.parametrize("options", [(), (MANY_RECORDS,)])
def test_bind_and_many_records(bare_bed, options):
    """Without the option that docs/operator/configure.md names, BIND refuses the zone, and says so in its own log alone."""
    needs("named")
    bare_bed.start_etcd()
    for number in range(101):
        bare_bed.etcd.put(f"{TREE}default/big/p{number}", value(f"10.0.1.{number}"))
    keys = bare_bed.folder / "tsig.keys"
    keys.write_text(f'key "{KEY}" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n')
    port, address = reserve_port(), "127.0.0.4"
    bare_bed.start_skydns(
        *FLAGS,
        f"-tsig-keys={keys}",
        f"-transfer-to=127.0.0.1:{port},{address}+key:{KEY}",
    )
    program = bare_bed._add(bind(bare_bed.folder, address, port, bare_bed.dns.port, more=options)).start()
    server = Dns(port, timeout_s=2)

    def addresses() -> list[str]:
        reply = server.query(f"big.default.svc.{DOMAIN}", "A", tcp=True)
        return [rdata.address for rrset in reply.answer for rdata in rrset]

    if options:
        program.wait_line(f"zone {re.escape(DOMAIN)}/IN: transferred serial")
        assert len(addresses()) == 101
    else:
        program.wait_line(f"transfer of '{re.escape(DOMAIN)}/IN' .*too many records")
        assert addresses() == []
        bare_bed.skydns.wait_line(f"zone transfer zone={DOMAIN}.* result=sent")

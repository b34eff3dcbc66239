"""A client that asks for random names with DO, each of which needs signatures of its own."""

import dns.rcode
import dns.rdatatype
import pytest
from attack import Attack
from bed import make_signing_key
from churn import STEADY
from dns_client import Dns
from fault_bed import FaultBed, PeakMemory, full
from programs import wait_until

pytestmark = pytest.mark.faults

_ROOM = 2000
_MADE = 5 * _ROOM
_FIRST_NAMES = 200
_WAITING_KIB = 32 << 10  # of the queries that wait, and the signatures kept; a flood's names would take far more


def _signed(client: Dns, name: str, tcp: bool) -> tuple[int, int]:
    """The rcode and how many RRsets have a signature: all of the answer's and the authority's."""
    reply = client.query(name, "A", tcp=tcp, want_dnssec=True)
    sets = {True: set(), False: set()}
    for rrset in reply.answer + reply.authority:
        is_signature = rrset.rdtype == dns.rdatatype.RRSIG
        sets[is_signature].add((rrset.name, rrset.covers if is_signature else rrset.rdtype))
    assert sets[True] == sets[False]
    return reply.rcode(), len(sets[True])


def _metric(bed: FaultBed, name: str, **labels: str) -> float:
    return bed.watched[0].metrics().get(f"dnssec_{name}", **labels)


@pytest.mark.parametrize("algorithm", ["ECDSAP256SHA256", "RSASHA256"])
def test_random_names(fault_bed, tmp_path, algorithm):
    """Others get signatures that are kept, and first ones when it is their turn; without DO, nobody notices."""
    bits = ("-b", "2048") if algorithm == "RSASHA256" else ()
    key = make_signing_key(tmp_path, "-a", algorithm, *bits)
    bed = fault_bed
    bed.skydns_flags = [f"-dnssec={key}", f"-scache={_ROOM}", "-workers=2"]
    bed.start_etcd()
    bed.start()
    client = Dns(bed.dns.port, timeout_s=60)
    with bed.under_load() as load, PeakMemory(bed.skydns) as memory:
        for _ in range(2):  # used again: it stays
            assert _signed(client, full(STEADY), tcp=True) == (dns.rcode.NOERROR, 1)
        attack = Attack(bed.dns.port, "default.svc.cluster.local", want_dnssec=True)
        try:
            for number in range(_FIRST_NAMES):
                rcode, signed = _signed(client, full(f"first-{number}"), tcp=True)
                assert rcode == dns.rcode.NXDOMAIN and signed >= 2
                assert _signed(client, full(STEADY), tcp=True) == (dns.rcode.NOERROR, 1)
            wait_until(lambda: _metric(bed, "signatures_total", result="made") > _MADE, "signatures", 60)
            load.wait_sent(500)
        finally:
            sent = attack.stop()
    assert _metric(bed, "signatures") <= _metric(bed, "signatures_max")
    assert _metric(bed, "signatures_total", result="failed") == 0
    # The name that exists waited once; each other one, too.
    assert 0 < _metric(bed, "deferred_total") <= sent + _FIRST_NAMES + 1
    bed.note(
        f"{sent} random names, {_metric(bed, 'signatures_total', result='made'):.0f} signatures made, "
        f"{_metric(bed, 'refused_total'):.0f} of {_metric(bed, 'deferred_total'):.0f} queries had no place; "
        f"{memory.growth_kib >> 10} MiB"
    )
    assert memory.growth_kib < _WAITING_KIB

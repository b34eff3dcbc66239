"""A client that fills the cache, or the resolver, with names of a nameserver of its own."""

import socket
import sys
from pathlib import Path

import pytest
from attack import Attack
from query_load import Question, QueryLoad
from scripted import ADDRESS, Nameserver, reply

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from answers import kept  # noqa: E402

pytestmark = pytest.mark.faults

VICTIMS = [f"host-{number}.example.test" for number in range(200)]
ROOM = 1000
RANDOM_NAMES, LARGE_NAMES = 20_000, 200


def start(bed, nameserver: Nameserver, *flags: str) -> None:
    bed.skydns_flags = [f"-nameservers=127.0.0.1:{nameserver.port}", "-no-rec=false", *flags]
    bed.start_etcd()
    bed.start()


def right(names: list[str]) -> list[Question]:
    return [Question(name, "A", [ADDRESS]) for name in names]


@pytest.mark.parametrize("kind", ["random", "large"])
def test_filling_the_cache(fault_bed, nameserver, kind):
    """Twenty times as many replies as there is room for, or large ones: the names that others ask for stay."""
    own = kept.Nameserver()
    # Patient with the nameserver, a thread of ours: none of its names is asked twice.
    start(fault_bed, nameserver, f"-rcache={ROOM}", f"-stub=evil.test=127.0.0.1:{own.port}", "-rtimeout=20s")
    many = [f"x{number}.evil.test" for number in range(RANDOM_NAMES)]
    large = [f"big{number}.evil.test" for number in range(LARGE_NAMES)]
    with fault_bed.under_load(), QueryLoad(fault_bed.dns.port, right(VICTIMS), rate=500) as load:
        load.wait_sent(4 * len(VICTIMS))
        before = len(nameserver.seen)
        assert before == len(VICTIMS)
        kept.ask_all(fault_bed.dns.port, [(name, "A") for name in (many if kind == "random" else large)])
        load.wait_sent(2 * len(VICTIMS))
        again = len(nameserver.seen) - before
    reader = fault_bed.watched[0].metrics()
    asked = own.asked()
    own.close()
    fault_bed.note(
        f"{asked} questions to the attacker's nameserver, {reader.get('cache_evictions_total'):.0f} evictions, "
        f"{reader.get('cache_bytes') / 2**20:.1f} MiB; {again} of {len(VICTIMS)} other names asked for again"
    )
    assert reader.get("cache_evictions_total") > 0
    assert asked >= (RANDOM_NAMES if kind == "random" else LARGE_NAMES)
    assert again <= len(VICTIMS) // 50
    assert reader.get("cache_entries") <= ROOM


def test_names_of_a_silent_zone(fault_bed, nameserver):
    """One client has more questions about it than there are places; the others' names, none of them kept, are found."""
    for name in VICTIMS:
        nameserver.tell(name, "A", reply(f"{name}. 0 A {ADDRESS}"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        start(fault_bed, nameserver, f"-stub=silent.test=127.0.0.1:{silent.getsockname()[1]}")
        with fault_bed.under_load(), QueryLoad(fault_bed.dns.port, right(VICTIMS), rate=200) as load:
            load.wait_sent(len(VICTIMS))
            attack = Attack(fault_bed.dns.port, "silent.test")
            load.wait_sent(8 * len(VICTIMS))
            sent = attack.stop()
    fault_bed.note(f"{sent} questions about a silent zone; others: {load.result.text()}")
    assert sent > 10_000
    assert len(nameserver.seen) >= 8 * len(VICTIMS)

"""Somebody deletes 65,000 keys elsewhere below /skydns/ at once. etcd 3.7 would need a minute of CPU to send that to a
watch that asked for fragments; whoever follows it would answer with old records meanwhile.
"""

import time
from pathlib import Path

import pytest
from fault_bed import PATIENCE_S, SLACK
from peers import missing, program
from programs import wait_until

pytestmark = pytest.mark.faults

KEYS, PER_TRANSACTION = 100_000, 128
DELETED = 65_000
NAME, KEY = "late.cluster.local", "/skydns/local/cluster/late"
VISIBLE_S = 3
NEW_ETCD = pytest.param("peer", marks=pytest.mark.skipif(bool(missing("etcd")), reason=missing("etcd") or "built"))


def fill(bed) -> None:
    """Keys of two others, of whom the first has DELETED."""
    for first in range(0, KEYS, PER_TRANSACTION):
        keys = range(first, min(first + PER_TRANSACTION, KEYS))
        bed.etcd.put_all({f"/skydns/test/{'kept' if n >= DELETED else 'gone'}/n{n}": '{"host":"10.9.0.1"}' for n in keys})


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def sessions(watched) -> dict[str, float]:
    """How often everything was read, or the watch begun anew."""
    page = watched.metrics()
    causes = ("compacted", "lag", "uncertain", "another", "complete")
    return {"resumes": page.get("etcd_resumes_total"), **{c: page.get("etcd_reads_total", cause=c) for c in causes}}


@pytest.mark.parametrize("which", ["packaged", NEW_ETCD])
def test_attack_watch_with_a_mass_delete(fault_bed, which):
    """The change after it is answered within 3 s, by the same watch: nothing is read again."""
    bed = fault_bed
    if which == "peer":
        bed.etcd_program.argv[0] = program("etcd", "etcd")
    bed.start_etcd()
    fill(bed)
    bed.start()
    watched = bed.watched[0]
    before, cpu_before_s, began = sessions(watched), cpu_s(bed.etcd_program.pid), time.monotonic()
    bed.etcd.delete_prefix("/skydns/test/gone/")
    bed.etcd.put(KEY, '{"host":"10.9.0.2"}')
    deleted = time.monotonic()
    wait_until(lambda: bed.dns.answers(NAME) == ["10.9.0.2"], "the change after the deletes", PATIENCE_S)
    took_s, after = time.monotonic() - deleted, sessions(watched)
    bed.note(
        f"{DELETED} keys deleted ({which}): etcd took {deleted - began:.1f} s, answers {took_s:.1f} s more, "
        f"etcd's CPU {cpu_s(bed.etcd_program.pid) - cpu_before_s:.1f} s"
    )
    assert took_s < VISIBLE_S * SLACK
    assert after == before
    watched.wait_strict(200)

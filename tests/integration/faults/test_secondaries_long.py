"""80 random rounds of changes, 200 in make check-all, an emptied etcd among them: after each, NSD, Knot and BIND have
all of it within 2 s, and give skydns' answers."""

import os

import pytest
from nameservers import needs
from secondaries import World, run_rounds

ROUNDS = 200 if "CHECK_ALL" in os.environ else 80


@pytest.mark.faults
def test_many_rounds(bare_bed, capsys):
    for program in ("nsd", "knotd", "named"):
        needs(program)
    world = World(bare_bed, 2026)
    run_rounds(world, ROUNDS, sample=15)
    counts = world.count()
    with capsys.disabled():
        print(f"\nslowest round {world.slowest_s:.2f} s, transfers {counts}")
    for name, kinds in counts.items():
        assert kinds["ixfr"] > ROUNDS // 2, (name, kinds)
        assert kinds["ixfr"] > 3 * kinds["axfr"], (name, kinds)  # whole, where that is shorter

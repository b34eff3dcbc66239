"""NSD, Knot and BIND follow skydns' zones (secondaries.py); faults/test_secondaries_long.py does so for longer."""

import pytest
from nameservers import needs
from secondaries import World, run_rounds


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

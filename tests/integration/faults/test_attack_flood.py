"""One client asks as fast as it can; others notice nothing."""

import pytest
from attack import Attack
from churn import STEADY
from fault_bed import full
from others import Others

pytestmark = pytest.mark.faults


def test_attack_flood_of_random_names(single):
    with Others(single, full(STEADY), rcode=3) as others:
        idle = others.measure()
        attack = Attack(single.dns.port, "default.svc.cluster.local")
        attacked = others.measure()
        assert attack.stop() > 0
    others.check(single, "one client's random names", idle, attacked)

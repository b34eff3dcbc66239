"""etcd's address belongs to another server, or to a broken etcd: both programs keep working, in bounded memory, and
use a good etcd as soon as there is one, at the same address or another.
"""

import pytest
from broken_peers import SCRIPTS
from fault_bed import SLACK, FaultBed, PeakMemory
from peer import Peer

# More than both programs buffer of a reply, and far less than the largest script sends.
_GROWTH_MAX_KIB = 64 << 10
_CONNECTIONS = 4
_GOAL_ALONE_S = 2.0
_GOAL_BESIDE_S = 10.0  # as with any member that hangs


class Loaded:
    """One bed and one load for all scripts."""

    def __init__(self, bed: FaultBed, peers: list[Peer], goal_s: float):
        self.bed, self.peers, self.goal_s = bed, peers, goal_s
        self.times_s: list[float] = []

    def meet(self, bad: Peer, script) -> dict[str, list[str]]:
        """Waits for both connections of both programs; returns a change that cannot have arrived."""
        with PeakMemory(self.bed.skydns) as skydns, PeakMemory(self.bed.kube2sky) as kube2sky:
            bad.play(script)
            bad.wait_accepted(_CONNECTIONS)
        assert max(skydns.growth_kib, kube2sky.growth_kib) < _GROWTH_MAX_KIB
        return self.bed.change()

    def wait_over(self, made) -> None:
        self.times_s.append(self.bed.seconds_until_right(made))
        assert self.times_s[-1] < self.goal_s * SLACK


def _run_loaded(folder, name: str, count: int, goal_s: float):
    bed = FaultBed(folder, name)
    bed.start_etcd()
    peers = [Peer(bed.etcd_port) for _ in range(count)]
    bed.etcd_urls = [f"http://127.0.0.1:{peer.port}" for peer in peers]
    loaded = Loaded(bed, peers, goal_s)
    for peer in peers:
        peer.accept()
    try:
        bed.start()
        with bed.under_load(is_restarting=True):
            yield loaded
        slowest_s = max(loaded.times_s)
        bed.note(f"{len(loaded.times_s)} peers, changes visible after {slowest_s:.2f} s (goal {goal_s:g})")
        bed.write_summary()
    finally:
        bed.close()
        for peer in peers:
            peer.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    yield from _run_loaded(tmp_path_factory.mktemp("alone"), "broken_peer", 1, _GOAL_ALONE_S)


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    yield from _run_loaded(tmp_path_factory.mktemp("beside"), "broken_peer_beside", 2, _GOAL_BESIDE_S)


@pytest.mark.faults
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_broken_peer(alone, script, request):
    request.node.fault_bed = alone.bed
    [peer] = alone.peers
    made = alone.meet(peer, script)
    peer.play(None)
    alone.wait_over(made)


@pytest.mark.faults
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_broken_peer_beside_a_good_one(beside, script, request):
    """The broken one stays broken; the good one goes away for a moment, so that both programs try the broken one."""
    request.node.fault_bed = beside.bed
    bad, good = beside.peers
    good.refuse()
    made = beside.meet(bad, script)
    good.accept()
    beside.wait_over(made)

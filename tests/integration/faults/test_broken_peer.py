"""What answers at etcd's address is not etcd, or a broken one: both programs go on, in bounded memory, and use
the real one as soon as it is there.
"""

import pytest
from broken_peers import SCRIPTS
from fault_bed import SLACK, FaultBed, PeakMemory
from peer import Peer

# More than both programs hold of a reply, and far less than what the largest script sends.
_GROWTH_MAX_KIB = 64 << 10
_CONNECTIONS = 4
_GOAL_S = 2.0


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """One bed and one load for all scripts: (bed, peer, seconds until each was over)."""
    bed = FaultBed(tmp_path_factory.mktemp("broken"), "broken_peer")
    bed.start_etcd()
    with Peer(bed.etcd_port) as peer:
        bed.etcd_urls = [f"http://127.0.0.1:{peer.port}"]
        times_s: list[float] = []
        try:
            bed.start()
            with bed.under_load():
                yield bed, peer, times_s
            bed.note(f"{len(times_s)} peers, changes visible after {max(times_s):.2f} s (goal {_GOAL_S:g})")
            bed.write_summary()
        finally:
            bed.close()


@pytest.mark.faults
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_broken_peer(loaded, script, request):
    bed, peer, times_s = loaded
    request.node.fault_bed = bed
    with PeakMemory(bed.skydns) as skydns, PeakMemory(bed.kube2sky) as kube2sky:
        peer.play(script)
        peer.wait_accepted(_CONNECTIONS)
    assert max(skydns.growth_kib, kube2sky.growth_kib) < _GROWTH_MAX_KIB
    made = bed.change()
    peer.play(None)
    times_s.append(bed.seconds_until_right(made))
    assert times_s[-1] < _GOAL_S * SLACK

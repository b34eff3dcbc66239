"""Fixtures of the fault tests. Those that take long or need root are marked `faults` and run by
`make check-faults`; the others are part of `make check`.
"""

import re

import pytest
from clusters import Cluster
from fault_bed import FaultBed
from netns import Network, network_missing
from peer import Peer


def _short(name: str) -> str:
    return re.sub(r"^test_", "", name)


@pytest.fixture
def fault_bed(tmp_path, request):
    """A bed in which nothing runs yet; stops what the test started."""
    bed = FaultBed(tmp_path, _short(request.node.name))
    request.node.fault_bed = bed
    try:
        yield bed
    finally:
        bed.write_summary()
        bed.close()


@pytest.fixture
def single(fault_bed):
    """One etcd and both programs, in sync."""
    fault_bed.start_etcd()
    fault_bed.start()
    return fault_bed


@pytest.fixture
def cluster(fault_bed, tmp_path):
    """Three members, and a bed whose programs know all of them: (bed, cluster)."""
    members = Cluster(tmp_path)
    fault_bed.use_cluster(members)
    members.start()
    fault_bed.start()
    return fault_bed, members


@pytest.fixture
def network_cluster(fault_bed, tmp_path):
    """As `cluster`, each member in a network namespace: (bed, cluster, network)."""
    reason = network_missing()
    if reason:
        pytest.skip(reason)
    with Network(count=3) as network:
        members = Cluster(tmp_path, network)
        fault_bed.use_cluster(members)
        members.start()
        fault_bed.start()
        yield fault_bed, members, network
        fault_bed.close()  # before the namespaces are deleted


@pytest.fixture
def behind_peer(fault_bed):
    """One etcd, and both programs reaching it through a peer that can misbehave: (bed, peer)."""
    fault_bed.start_etcd()
    with Peer(fault_bed.etcd_port) as peer:
        fault_bed.etcd_urls = [f"http://127.0.0.1:{peer.port}"]
        fault_bed.start()
        yield fault_bed, peer
        fault_bed.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the programs' logs after a failure."""
    report = (yield).get_result()
    if report.failed and hasattr(item, "fault_bed"):
        report.sections.append(("logs of the programs", item.fault_bed.log_text()))

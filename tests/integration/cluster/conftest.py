"""Fixtures of the tests on today's Kubernetes with its controllers: run by `make check-cluster`, skipped without the
programs of `make peers`.
"""

import itertools

import pytest
from checks import ClusterBed
from cluster import Cluster, require_peers
from shop import Shop

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """One for all tests, with two nodes: each test has namespaces of its own."""
    require_peers()
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        cluster.add_nodes(2)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def idle_dns(cluster, tmp_path, request):
    """kube2sky, skydns and an etcd of the test's own; nothing runs yet."""
    bed = ClusterBed(tmp_path, cluster)
    request.node.cluster_bed = bed
    try:
        yield bed
    finally:
        bed.close()


@pytest.fixture
def dns(idle_dns):
    """In sync with the cluster."""
    idle_dns.start()
    return idle_dns


@pytest.fixture
def namespace(dns, request):
    """The name of one of the test's own. An earlier run's may still be there, being deleted."""
    name = f"{request.node.originalname.removeprefix('test_').replace('_', '-')[:50]}-{next(_numbers)}"
    dns.kube.create_namespace(name)
    yield name
    dns.kube.delete("namespaces", name)


@pytest.fixture
def shop(dns):
    return Shop(dns)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the programs' logs after a failure."""
    report = (yield).get_result()
    if report.failed and hasattr(item, "cluster_bed"):
        bed = item.cluster_bed
        report.sections.append(("logs of the programs", f"{bed.log_text()}\n{bed.cluster.log_text()}"))

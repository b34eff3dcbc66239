"""Fixtures of the tests on today's Kubernetes with its controllers: run by `make check-cluster`, skipped without the
programs of `make peers`.
"""

import pytest
from cluster import Cluster, require_peers


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

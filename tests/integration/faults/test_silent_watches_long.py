"""Watches that say nothing any more: kube2sky needs minutes to notice."""

import pytest
from bed import Bed
from kube import service
from programs import wait_until
from records import SVC, service_records

PATIENCE_S = 60.0

# A silent watch over HTTP/1.1 is asked again after 75 to 90 s.
FROZEN_MAX_S = 90 + PATIENCE_S
# A server whose revisions lie in the past sends nothing: kube2sky compares versions when it connects again.
FUTURE_MAX_S = PATIENCE_S


@pytest.fixture
def two_beds(tmp_path):
    """Two clusters, tested in parallel since each takes minutes."""
    beds = []
    try:
        for name in ("frozen", "future"):
            folder = tmp_path / name
            folder.mkdir()
            beds.append(Bed(folder))
            beds[-1].start_etcd()
            beds[-1].start_apiserver()
            beds[-1].start_kube2sky()
        yield beds
    finally:
        for bed in beds:
            bed.close()


@pytest.mark.faults
def test_watches_that_fall_silent(two_beds):
    """The connections of one are silently dropped on the way; the other's server was restored from a backup, so
    that kube2sky's revisions lie in the future.
    """
    frozen, future = two_beds
    for bed in two_beds:
        wait_until(lambda bed=bed: bed.kube.control("state")["watches"]["services"] == 1, "watching")
    assert frozen.kube.control("freeze")["frozen"] >= 2
    seen = frozen.kube.create("services", service("web"))
    future.kube.control("backup")
    for number in range(20):
        last = future.kube.create("services", service(f"lost-{number}"))
    wait_records(future, f"lost-{number}", last, PATIENCE_S)
    future.kube.control("restore")
    made = future.kube.create("services", service("web"))
    wait_records(frozen, "web", seen, FROZEN_MAX_S)
    wait_records(future, "web", made, FUTURE_MAX_S)
    assert future.etcd.values(f"{SVC}/default/lost-") == {}


def wait_records(bed, name: str, made: dict, timeout_s: float) -> None:
    right = service_records(name, made["spec"]["clusterIP"])
    bed.kube2sky.wait_ready(lambda: bed.etcd.values(f"{SVC}/default/{name}/") == right, name, timeout_s)

"""Faults that kube2sky needs minutes to notice or to handle."""

import signal
import time
from pathlib import Path

import pytest
from bed import BIN_DIR, Bed
from kube import service
from programs import wait_until
from records import SVC, service_records

PATIENCE_S = 60.0

# Watches last up to 120 s; kube2sky gives up on them 30 s later.
FROZEN_MAX_S = 150 + PATIENCE_S
# A server whose revisions lie in the past sends nothing: after two such watches, kube2sky lists everything.
FUTURE_MAX_S = 2 * 120 + PATIENCE_S

MINUTE_S = 60
CHANGES = 100_000
AT_ONCE = {"services": 6_000, "pods": 2_000, "endpointslices": 2_000}
NETS = {"services": 172, "pods": 10, "endpointslices": 11}
# Always the asan build, whichever variant is under test: `make check-faults` builds it.
LEAK_PROGRAM = BIN_DIR.parent.parent / "asan/bin/kube2sky"


@pytest.mark.faults
def test_stopped_for_a_minute(single):
    """Nothing is written meanwhile; it writes at once when resumed, and rewrites nothing that was right."""
    bed = single
    with bed.under_load(is_restarting=True):
        before = bed.etcd.get_prefix(f"{SVC}/default/stable-")
        bed.kube2sky.signal(signal.SIGSTOP)
        made, over_s = bed.change(), time.monotonic() + MINUTE_S
        wait_until(lambda: time.monotonic() >= over_s, "a minute", MINUTE_S + PATIENCE_S)
        assert not bed.etcd.values(f"{SVC}/default/marker-")
        bed.kube2sky.signal(signal.SIGCONT)
        bed.wait_visible(made, time.monotonic(), "changes visible after", 2)
    assert bed.etcd.get_prefix(f"{SVC}/default/stable-") == before


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


@pytest.mark.faults
@pytest.mark.skipif(not Path(LEAK_PROGRAM).exists(), reason=f"{LEAK_PROGRAM} has not been built")
def test_no_leak_over_100000_changes(fault_bed, monkeypatch):
    """LeakSanitizer checks at exit, and makes the program fail."""
    monkeypatch.setattr("bed.BIN_DIR", LEAK_PROGRAM.parent)
    bed = fault_bed
    bed.start_etcd()
    bed.start_apiserver()
    bed.start_kube2sky()
    started_s, changes = time.monotonic(), 0
    bed.kube.control("bulk", count=AT_ONCE["endpointslices"], prefix="db-", headless=True)
    while changes < CHANGES:
        salt = changes
        for resource, count in AT_ONCE.items():
            prefix = "db-" if resource == "endpointslices" else "bulk-"
            body = {"resource": resource, "prefix": prefix, "net": NETS[resource], "endpoints": 2}
            bed.kube.control("bulk", verb="replace", count=count, salt=salt, **body)
            changes += count
        bed.wait_last_of_bulk(AT_ONCE["services"], salt)
    for prefix in ("bulk-", "db-"):
        bed.kube.control("bulk", verb="delete", count=AT_ONCE["services"], prefix=prefix)
    bed.kube.control("bulk", resource="pods", verb="delete", count=AT_ONCE["pods"] - 1)
    bed.wait_model()
    bed.note(f"{changes} changes in {time.monotonic() - started_s:.1f} s")
    bed.kube2sky.stop()

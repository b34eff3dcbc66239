"""Faults that kube2sky needs minutes to notice or to handle."""

import signal
import time
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import wait_until
from records import SVC

PATIENCE_S = 60.0
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


@pytest.mark.faults
@pytest.mark.skipif(not Path(LEAK_PROGRAM).exists(), reason=f"{LEAK_PROGRAM} has not been built")
def test_no_leak_over_100000_changes(fault_bed, monkeypatch):
    """LeakSanitizer checks at exit, and makes the program fail."""
    monkeypatch.setattr("bed.BIN_DIR", LEAK_PROGRAM.parent)
    bed = fault_bed
    bed.start_etcd()
    bed.start_apiserver()
    bed.start_kube2sky("--etcd-space=8192")  # all in one namespace, in an etcd that nothing compacts
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

"""Two kube2sky without --leader-elect that want different values for the same Services: each would restore its own
as fast as etcd can write, until etcd's quota is exhausted.
"""

import re
import time

import pytest
from fault_bed import SERVICES, full
from programs import reserve_port, wait_until
from query_load import Question, QueryLoad
from watched import Watched

PATIENCE_S = 60.0
# kube2sky/reconcile/conflict_internal.h: restorations without a rest, and the shortest rest, which its jitter halves.
FREE = 5
REST_S = 0.5
MEASURED_S = 3


def written(watched: Watched) -> float:
    return watched.metrics().get("keys_written_total")


def wait_all_contested(*writers: Watched) -> None:
    for one in writers:
        one.program.wait_ready(
            lambda one=one: one.metrics().get("contested_services") >= SERVICES, "contested", PATIENCE_S
        )


@pytest.mark.faults
def test_two_writers_of_different_values(single):
    """The second one differs in --ttl, so that every key and value differs, while every answer stays right."""
    bed, first = single, single.watched[1]
    port = reserve_port()
    flags = [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={port}", "--ttl=60", *bed.kube_flags]
    second = Watched(bed.command("kube2sky", *flags), port, "kube2sky_")
    services = bed.kube.request("GET", "/api/v1/services")["items"]
    questions = [
        Question(full(item["metadata"]["name"]), "A", [item["spec"]["clusterIP"]])
        for item in services
        if item["metadata"]["name"].startswith("stable-")
    ]
    with QueryLoad(bed.dns.port, questions) as load:
        second.program.start()
        wait_all_contested(first, second)
        before, since_s = [written(first), written(second)], time.monotonic()
        wait_until(lambda: time.monotonic() >= since_s + MEASURED_S, "some seconds of the fight")
        after, seconds = [written(first), written(second)], time.monotonic() - since_s
        for old, new in zip(before, after):
            # Two keys for each Service and restoration, at most one restoration in each rest.
            assert new - old <= 2 * len(services) * (FREE + seconds / REST_S), (old, new, seconds)
        rate = sum(after) - sum(before)
        # What is new is written at once all the same.
        made = bed.change()
        bed.wait_right(made)
        for one in (first, second):
            line = one.program.wait_line("another writer keeps changing keys of the service")
            assert re.search(r"owner=svc/default/\S+ writer=\"another kube2sky\" key=\S+ ours=.*theirs=", line), line
            assert "keeps changing keys of" in one.wait_strict(503)
        second.program.stop()
        bed.wait_store()
    bed.note(f"{rate / seconds:.0f} keys/s by both; {load.result.text()}")
    load.result.check()

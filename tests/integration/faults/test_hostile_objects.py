"""Somebody who may edit one namespace writes objects there that make no sense, a hundred of each kind: everybody
else's records stay right and go on changing, also across a restart of kube2sky.
"""

import time

import pytest
from fault_bed import PATIENCE_S
from kube import endpoint, endpoint_slice, headless, port
from model import reverse_key
from programs import wait_until
from records import value

OBJECTS = 100
MAP = "endpoints.beta.kubernetes.io/hostnames-map"


def put(bed, resource: str, made: dict) -> None:
    """Unchecked: an object whose content is no object cannot be created."""
    bed.kube.control("put", resource=resource, object=made)


def write_nonsense(bed) -> None:
    for number in range(OBJECTS):
        put(bed, "services", {"metadata": {"name": f"odd-{number}", "namespace": "evil"}, "spec": 17})
        made = endpoint_slice(f"odd-{number}", "odd", [endpoint(f"10.66.0.{number}")], namespace="evil")
        made["ports"] = [port(70000 + number, "large")]
        made["metadata"]["annotations"] = {MAP: "{oops"}
        put(bed, "endpointslices", made)
        put(bed, "pods", {"metadata": {"name": f"odd-{number}", "namespace": "evil"}, "status": number})
    put(bed, "services", headless("odd", namespace="evil"))


def clean_up(bed) -> None:
    """A server can delete only what it understands."""
    for number in range(OBJECTS):
        put(bed, "services", headless(f"odd-{number}", namespace="evil"))
        bed.kube.delete("services", f"odd-{number}", "evil")
    bed.kube.delete("services", "odd", "evil")


@pytest.mark.faults
def test_objects_that_make_no_sense(single):
    bed = single
    with bed.under_load():
        write_nonsense(bed)
        watched = bed.watched[1]
        watched.wait_metric(2 * OBJECTS, "object_faults_total", kind="endpointslices")
        made = bed.change()
        bed.wait_visible(made, time.monotonic(), "change visible after", 2)
        bed.kube2sky.stop()
        orphan = reverse_key("10.99.99.99")
        bed.etcd.put(orphan, value("gone.default.svc.cluster.local."))
        gone = bed.undo(made)
        since_s = time.monotonic()
        bed.start_kube2sky()
        bed.note_time("ready after a restart", time.monotonic() - since_s, 2)
        bed.wait_visible(gone, since_s, "delete visible after", 2)
        wait_until(lambda: not bed.etcd.get_prefix(orphan), "the orphan's end", PATIENCE_S)
        assert watched.metrics().get("objects_skipped_total", kind="services") == OBJECTS
        clean_up(bed)

"""What the API server refuses is asked less and less, and at once when something else is permitted again."""

import signal

import pytest
from kube import pod, port, service
from programs import wait_until

pytestmark = pytest.mark.faults

# So long that "at once" can be told from it on any machine.
LONG = r"list retry scheduled kind=%s retry_ms=([89]|[1-6]\d)\d{3}\b"


def forbid(bed, *resources: str, on: bool = True) -> None:
    for resource in resources:
        bed.kube.control("forbid", resource=resource, namespace="crew", on=on)


def lists(bed, resource: str) -> int:
    return bed.kube.control("state")["requests"].get(f"list {resource}", 0)


@pytest.mark.parametrize("how", ["a signal", "another kind"])
def test_what_is_refused_is_asked_at_once(bed, how):
    """Pods wait for 8 s at least; Services that are refused later, and permitted, end it."""
    for namespace in ("team", "crew"):
        bed.kube.create_namespace(namespace)
    bed.kube.create("services", service("web", port(80, "http"), namespace="crew"))
    bed.kube.put_pod(pod("web", "10.1.0.1", namespace="crew"))
    forbid(bed, "pods")
    bed.start_kube2sky("--namespaces=team,crew", "--log-level=debug")
    bed.kube2sky.wait_line(LONG % "pods")
    asked = lists(bed, "pods")
    assert asked <= 1 + 12, "more often than its waits allow"
    forbid(bed, "pods", on=False)
    since = len(bed.kube2sky.lines)
    if how == "a signal":
        bed.kube2sky.signal(signal.SIGHUP)
    else:
        forbid(bed, "services")
        bed.kube2sky.wait_line("API cannot be followed, retrying kind=services.*403", since)
        assert lists(bed, "pods") == asked, "nothing has ended its refusal yet"
        forbid(bed, "services", on=False)
    wait_until(lambda: bed.etcd.values("/skydns/local/cluster/pod/crew/"), "the pod's record", timeout_s=6)

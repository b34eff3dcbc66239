"""kube2sky with --namespaces: each namespace has its own state, so that what is refused in one says nothing of the
others.
"""

import pytest
from kube import endpoint, endpoint_slice, headless, pod, port, service
from model import Model
from programs import reserve_port, wait_until
from records import SVC
from watched import Watched

KINDS = ("services", "endpointslices", "endpoints", "pods")
TEAM, CREW = f"{SVC}/team/", f"{SVC}/crew/"


def make(bed, namespace: str, name: str, number: int) -> None:
    """A Service with a cluster IP, a headless one with a slice, and a pod."""
    bed.kube.create("services", service(name, port(80, "http"), namespace=namespace))
    bed.kube.create("services", headless(f"{name}-db", port(5432, "pg"), namespace=namespace))
    entries = [endpoint(f"10.{number}.0.1", ready=True)]
    made = endpoint_slice(f"{name}-db-1", f"{name}-db", entries, port(5432, "pg"), namespace=namespace)
    bed.kube.create("endpointslices", made)
    bed.kube.put_pod(pod(name, f"10.{number}.0.2", namespace=namespace))


def lose(bed, namespace: str, name: str) -> None:
    """The same again, deleted."""
    for resource, gone in (("services", name), ("endpointslices", f"{name}-db-1"), ("services", f"{name}-db"), ("pods", name)):
        bed.kube.delete(resource, gone, namespace)


def permit(bed, namespace: str, is_permitted: bool) -> None:
    for resource in KINDS:
        bed.kube.control("forbid", resource=resource, namespace=namespace, on=not is_permitted)


def of(keys: dict[str, str], namespace: str) -> dict[str, str]:
    return {k: v for k, v in keys.items() if f"/{namespace}/" in k or f".{namespace}.svc." in v}


def right(bed, *namespaces: str) -> dict[str, str]:
    keys = Model().keys(bed.kube.objects())
    return {k: v for namespace in namespaces for k, v in of(keys, namespace).items()}


@pytest.fixture
def empty(bed):
    for namespace in ("team", "crew"):
        bed.kube.create_namespace(namespace)
    return bed


@pytest.fixture
def two(empty):
    """Namespaces team and crew, both written."""
    make(empty, "team", "web", 1)
    make(empty, "crew", "web", 2)
    empty.start_kube2sky("--namespaces=team,crew")
    empty.wait_records("/skydns/", right(empty, "team", "crew"))
    return empty


def test_a_namespace_that_is_refused_holds_up_no_other(two):
    """After its RoleBinding is gone: the other is followed, with deletes, and its own keys stay until it is permitted
    again, and what was deleted meanwhile goes.
    """
    permit(two, "crew", False)
    for resource in KINDS:
        two.kube.control("expire-history", resource=resource)
        two.kube.control("drop-watches", resource=resource)
    two.kube2sky.wait_line(r"API cannot be followed, retrying kind=endpointslices .*/crew/endpointslices: 403")
    kept = right(two, "crew")
    lose(two, "crew", "web")
    make(two, "team", "new", 3)
    two.wait_records("/skydns/", kept | right(two, "team"))
    lose(two, "team", "web")
    two.wait_records("/skydns/", kept | right(two, "team"))
    assert two.readiness()[0] == 200

    permit(two, "crew", True)
    two.wait_records("/skydns/", right(two, "team"))


def test_a_start_while_a_namespace_is_refused(two):
    """It is ready, deletes what is gone in the other, reverse names too, and keeps the keys of this one."""
    two.kube2sky.stop()
    permit(two, "crew", False)
    kept = right(two, "crew")
    lose(two, "crew", "web")
    lose(two, "team", "web")
    make(two, "team", "new", 3)
    two.start_kube2sky()
    two.wait_records("/skydns/", kept | right(two, "team"))
    watched = Watched(two.kube2sky, two.readiness_port, "kube2sky")
    assert watched.metrics().get("_api_up", kind="services") == 0

    permit(two, "crew", True)
    two.wait_records("/skydns/", right(two, "team"))
    watched.wait_metric(1, "_api_up", kind="services")


def test_the_store_key_waits_for_what_is_permitted(empty):
    """A new pod that demands it becomes ready while one namespace of several is refused; not before the permitted one
    is written.
    """
    make(empty, "team", "web", 1)
    make(empty, "crew", "web", 2)
    permit(empty, "crew", False)
    empty.kube.control("delay", seconds=1, match="/team/endpointslices")
    empty.start_kube2sky("--namespaces=team,crew")
    assert empty.etcd.values("/skydns/") == right(empty, "team")
    http = reserve_port()
    empty.start_skydns("-no-rec", "-require-store-key", f"-http-addr=127.0.0.1:{http}")
    Watched(empty.skydns, http, "skydns").wait_strict(200)


def test_a_kind_that_is_refused_everywhere_is_waited_for(empty):
    """One that is permitted in no namespace is a mistake, as without --namespaces."""
    make(empty, "team", "web", 1)
    permit(empty, "crew", False)
    for resource in ("endpointslices", "endpoints"):
        empty.kube.control("forbid", resource=resource, namespace="team")
    empty.start_kube2sky("--namespaces=team,crew", is_waiting=False)
    empty.kube2sky.wait_line(r"API cannot be followed, retrying .*/team/endpoint")
    empty.wait_records(f"{TEAM}web/", {k: v for k, v in right(empty, "team").items() if k.startswith(f"{TEAM}web/")})
    status, text = empty.readiness()
    assert status == 503 and "endpoint" in text


def test_the_reason_names_the_permission_that_lacks_once(two):
    """A role of before the slices' time, or none: the slices of that namespace, first when the watch ends, then when
    the list is asked; never the Endpoints that were tried instead, nor another namespace.
    """
    for resource in ("endpointslices", "endpoints"):
        two.kube.control("forbid", resource=resource, namespace="crew")
    two.kube2sky.wait_line(r"API cannot be followed, retrying kind=endpointslices namespace=crew .*crew/endpointslices: 403")
    wait_until(lambda: two.kube.control("state")["requests"]["list endpointslices"] >= 5, "it is asked again")
    told = [line for line in two.kube2sky.lines if "cannot be followed" in line and ": 403" in line]
    assert len(told) == 1, told

    since = len(two.kube2sky.lines)
    two.kube2sky.stop()
    two.start_kube2sky()
    two.kube2sky.wait_line(r"API cannot be followed, .*/crew/endpointslices: 403", since)
    wait_until(lambda: two.kube.control("state")["requests"].get("list endpoints", 0) >= 3, "it is asked again")
    told = [line for line in two.kube2sky.lines[since:] if "cannot be followed" in line]
    assert len(told) == 1, told

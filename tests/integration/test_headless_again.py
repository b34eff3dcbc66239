"""Services that are deleted and made again as headless while their slices exist: only their endpoints are listed, and
the watches go on.
"""

from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise

import pytest
from kube import endpoint, endpoint_slice, endpoints, headless, port, service
from records import SVC, endpoint_records

AT_ONCE = 20
BYSTANDERS = 50


def name_of(number: int) -> str:
    return f"db-{number}"


def address(number: int, last: int = 1) -> str:
    return f"10.{number + 1}.0.{last}"


def slice_of(number: int, last: int = 1) -> dict:
    entries = [endpoint(address(number, last), ready=True)]
    return endpoint_slice(f"{name_of(number)}-1", name_of(number), entries, port(5432, "pg"))


def records_of(number: int, last: int = 1) -> dict[str, str]:
    return endpoint_records(name_of(number), {address(number, last): ""}, ("tcp", "pg", 5432))


def make_again(bed, number: int) -> None:
    bed.kube.delete("services", name_of(number))
    bed.kube.create("services", headless(name_of(number), port(5432, "pg")))


@contextmanager
def requests(bed):
    """How many of each kind the server gets meanwhile, when it is over."""
    told: dict[str, int] = {}
    before = bed.kube.control("state")["requests"]
    yield told
    after = bed.kube.control("state")["requests"]
    told |= {key: count - before.get(key, 0) for key, count in after.items()}


@pytest.fixture
def services(bed):
    """With cluster IPs and slices, besides those of others."""
    bed.kube.control("bulk", count=BYSTANDERS)
    bed.kube.control("bulk", resource="endpointslices", count=BYSTANDERS)
    for number in range(AT_ONCE):
        bed.kube.create("services", service(name_of(number), port(5432, "pg")))
        bed.kube.create("endpointslices", slice_of(number))
    bed.start_kube2sky("--log-level=debug")
    bed.wait_model()
    return bed


def test_one(services):
    """One small list by label, on whose Service a change comes by the watch, which goes on."""
    with requests(services) as told:
        make_again(services, 0)
        services.wait_records(f"{SVC}/default/db-0/", records_of(0))
        services.kube.replace("endpointslices", slice_of(0, last=2))
        services.wait_records(f"{SVC}/default/db-0/", records_of(0, last=2))
    assert told["list endpointslices"] == 1 and told["watch endpointslices"] == 0
    assert told.get("list services", 0) == told.get("list endpoints", 0) == 0
    services.kube2sky.wait_line(r'listing parts of services .*service-name in \(db-0\)"')
    services.wait_model()


def list_times_s(bed) -> list[float]:
    """When parts of Services were listed."""
    stamps = (line.split()[1] for line in bed.kube2sky.lines if "listing parts of services" in line)
    return [datetime.fromisoformat(stamp).timestamp() for stamp in stamps]


def test_twenty_at_once(services):
    """They share lists: a namespace has at most one a second."""
    with requests(services) as told:
        for number in range(AT_ONCE):
            make_again(services, number)
        services.wait_model()
    times_s = list_times_s(services)
    assert times_s and all(later - earlier > 0.99 for earlier, later in pairwise(times_s)), times_s
    assert told["watch endpointslices"] == 0


def test_changes_while_the_list_is_under_way(services):
    """What the watch says meanwhile is newer: a slice that is changed, deleted, or given to another Service."""
    services.kube.control("delay", seconds=1, match="labelSelector")
    for number in range(4):
        make_again(services, number)
    services.kube2sky.wait_line("listing parts of services")
    services.kube.replace("endpointslices", slice_of(0, last=2))
    services.kube.delete("endpointslices", "db-1-1")
    moved = slice_of(2)
    moved["metadata"]["labels"]["kubernetes.io/service-name"] = name_of(3)
    services.kube.replace("endpointslices", moved)
    services.wait_model()


def test_a_list_that_fails_is_asked_again(services):
    services.kube.control("fail", status=503, match="labelSelector")
    make_again(services, 0)
    services.wait_records(f"{SVC}/default/db-0/", records_of(0))


@pytest.mark.parametrize("kind", ["endpoints", "endpointslices"])
def test_on_any_server(cluster_bed, kind):
    """An ExternalName that becomes headless. Endpoints are listed by name, slices by label, of whatever version."""
    kube = cluster_bed.kube
    is_real = cluster_bed.apiserver is None
    made = service("db", port(5432, "pg"), type="ExternalName", externalName="db.example")
    kube.create("services", made)
    if kind == "endpoints":
        kube.create("endpoints", endpoints("db", ["10.1.0.1"], port(5432, "pg")))
    else:
        version = "discovery.k8s.io/v1beta1" if is_real else "discovery.k8s.io/v1"
        value = endpoint_slice("db-1", "db", [endpoint("10.1.0.1", ready=True)], port(5432, "pg"))
        value["apiVersion"] = version
        kube.request("POST", f"/apis/{version}/namespaces/default/endpointslices", value)
    cluster_bed.start_kube2sky("--log-level=debug", f"--endpoints={kind.replace('endpointslices', 'slices')}")
    kube.patch("services", "db", {"spec": {"type": "ClusterIP", "clusterIP": "None", "externalName": None}})
    right = endpoint_records("db", {"10.1.0.1": ""}, ("tcp", "pg", 5432))
    cluster_bed.wait_records(f"{SVC}/default/db/", right)
    cluster_bed.kube2sky.wait_line(f"listing parts of services kind={kind} namespace=default")

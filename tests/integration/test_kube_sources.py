"""EndpointSlices that are served, forbidden, and served again while kube2sky runs: addresses of headless Services
come from one source or the other, and records equal in both are not written twice.
"""

import pytest
from kube import endpoint, endpoint_slice, endpoints, headless, port, service
from model import ENDPOINTS, Model, reverse_key
from programs import http_get, wait_until
from records import SVC, endpoint_records, label, value
from test_kube_faults import appears

DB = f"{SVC}/default/db/"


@pytest.fixture
def db(bed):
    """A headless Service whose Endpoints the server mirrors to a slice."""
    bed.kube.create("services", headless("db", port(5432, "pg")))
    set_addresses(bed, {"10.1.0.1": "a", "10.1.0.2": ""})
    return bed


def set_addresses(bed, addresses: dict[str, str], is_new: bool = True) -> None:
    value = endpoints("db", [(ip, name) if name else ip for ip, name in addresses.items()], port(5432, "pg"))
    (bed.kube.create if is_new else bed.kube.replace)("endpoints", value)


def add_slice(bed, address: str) -> None:
    entries = [endpoint(address, ready=True)]
    bed.kube.create("endpointslices", endpoint_slice("db-more", "db", entries, port(5432, "pg")))


def wait_addresses(bed, addresses: dict[str, str]) -> None:
    bed.wait_records(DB, endpoint_records("db", addresses, ("tcp", "pg", 5432)))


def wait_source(bed, kind: str) -> None:
    bed.kube2sky.wait_line(rf"source of endpoints changed .*kind={kind}\b")


def list_again(bed) -> None:
    bed.kube.control("expire-history")
    bed.kube.control("drop-watches")


BOTH = {"10.1.0.1": "a", "10.1.0.2": ""}
LOST = f"{SVC}/default/lost/"


def lists_of(bed, resource: str) -> int:
    return bed.kube.control("state")["requests"].get(f"list {resource}", 0)


def allow_slices(bed, way: str, is_allowed: bool) -> None:
    if way == "forbidden":
        bed.kube.control("forbid", resource="endpointslices", on=not is_allowed)
    else:
        bed.kube.control("slices", version="v1" if is_allowed else "")


WAYS = pytest.mark.parametrize("way", ["forbidden", "not served"])


@WAYS
def test_slices_come(db, way):
    """Endpoints are followed as long as slices are refused. Each list begins with a trial of the slices. No change of
    source writes anything, if the refusal was wrong, too; later changes are written from the new one, deletes too.
    """
    db.start_kube2sky()
    wait_addresses(db, BOTH)
    db.kube2sky.stop()
    written = db.etcd.get_prefix(DB)

    allow_slices(db, way, False)
    db.start_kube2sky()
    db.kube2sky.wait_line(r"endpoint slices are refused, following endpoints .*/endpointslices: 40[34] ")
    assert db.etcd.get_prefix(DB) == written
    set_addresses(db, {"10.1.0.3": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.3": ""})

    written = db.etcd.get_prefix(DB)
    allow_slices(db, way, True)
    list_again(db)
    wait_source(db, "endpointslices")
    appears(db, "after-slices")
    assert db.etcd.get_prefix(DB) == written
    set_addresses(db, BOTH, is_new=False)
    wait_addresses(db, BOTH)


@WAYS
def test_slices_that_were_followed_and_are_refused_are_waited_for(db, way):
    """As after a restart of the API server, until its RBAC is warm: an outage, in which nothing is deleted and
    Endpoints are not asked. Slices hold an address that Endpoints lack.
    """
    add_slice(db, "10.1.0.9")
    more = BOTH | {"10.1.0.9": ""}
    db.start_kube2sky("--log-level=debug")
    wait_addresses(db, more)
    written, listed = db.etcd.get_prefix(DB), lists_of(db, "endpoints")

    allow_slices(db, way, False)
    list_again(db)
    db.kube2sky.wait_line(r"API cannot be followed, retrying kind=endpointslices .*/endpointslices: 40[34] ")
    appears(db, "meanwhile")
    for _ in range(3):
        db.kube2sky.wait_line(r"list retry scheduled kind=endpointslices\b", len(db.kube2sky.lines))
    assert db.etcd.get_prefix(DB) == written

    since = len(db.kube2sky.lines)
    allow_slices(db, way, True)
    db.kube2sky.wait_line(r"API is followed .*kind=endpointslices\b", since)
    appears(db, "after")
    assert db.etcd.get_prefix(DB) == written
    assert lists_of(db, "endpoints") == listed


def test_a_start_while_slices_are_forbidden(db):
    """It is ready with Endpoints, and what only slices have stays, until the slices say that it is gone. Endpoints that
    are deleted are gone at once.
    """
    add_slice(db, "10.1.0.9")
    db.kube.create("services", headless("lost", port(80, "http")))
    db.kube.create("endpoints", endpoints("lost", ["10.1.0.8"], port(80, "http")))
    db.start_kube2sky()
    wait_addresses(db, BOTH | {"10.1.0.9": ""})
    db.wait_records(LOST, endpoint_records("lost", {"10.1.0.8": ""}, ("tcp", "http", 80)))
    db.kube2sky.stop()
    written = db.etcd.get_prefix(DB)

    allow_slices(db, "forbidden", False)
    since = len(db.kube2sky.lines)
    db.start_kube2sky()
    db.kube2sky.wait_line("endpoint slices are refused, following endpoints", since)
    appears(db, "meanwhile")
    db.kube.delete("endpoints", "lost")
    db.wait_records(LOST, {})
    assert db.etcd.get_prefix(DB) == written

    allow_slices(db, "forbidden", True)
    db.kube.delete("endpointslices", "db-more")
    list_again(db)
    wait_source(db, "endpointslices")
    appears(db, "after")
    set_addresses(db, {"10.1.0.3": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.3": ""})


def test_slices_forbidden_for_a_moment(db):
    """By a server that permits Endpoints a moment later, when its RBAC is warm: slices are followed before the minute
    in which deletes wait is over, as if they had been permitted at once.
    """
    db.etcd.put_all(endpoint_records("db", {"10.1.0.9": ""}, ("tcp", "pg", 5432)))
    db.kube.control("fail", status=403, match="endpointslices?limit=500")
    db.start_kube2sky()
    wait_source(db, "endpointslices")
    wait_addresses(db, BOTH)


def test_a_server_without_slices_delays_no_delete(cluster_bed):
    """Kubernetes 1.20: complete Endpoints decide alone. What an earlier kube2sky took from slices is gone when this one
    is ready, and what is deleted then goes before slices are tried again, a minute later.
    """
    bed, kube = cluster_bed, cluster_bed.kube
    if bed.apiserver:
        allow_slices(bed, "not served", False)
    for name in ("db", "lost", "gone"):
        kube.create("services", headless(name, port(5432, "pg")))
        kube.create("endpoints", endpoints(name, ["10.1.0.1", "10.1.0.2"], port(5432, "pg")))
    kube.create("services", service("web", port(80, "http")))
    bed.etcd.put_all(endpoint_records("db", {"10.1.0.1": "", "10.1.0.2": "", "10.1.0.9": ""}, ("tcp", "pg", 5432)))
    bed.etcd.put(reverse_key("10.1.0.9"), value(f"{label('10.1.0.9')}.db.default.svc.cluster.local."))
    before = bed.etcd.get_prefix(DB)

    bed.start_kube2sky()
    after = bed.etcd.get_prefix(DB)
    assert after == {key: entry for key, entry in before.items() if label("10.1.0.9") not in key}
    assert bed.etcd.values("/skydns/") == Model(ENDPOINTS).keys(kube.objects())

    set_addresses(bed, {"10.1.0.2": ""}, is_new=False)
    kube.delete("endpoints", "lost")
    for name in ("gone", "web"):
        kube.delete("services", name)
    bed.wait_model(Model(ENDPOINTS))
    plan = f"http://127.0.0.1:{bed.readiness_port}/plan"
    wait_until(lambda: http_get(plan)[1] == "# nothing to do\n", "nothing waits")


def test_slices_of_v1beta1_are_not_taken_unasked(db):
    db.kube.control("slices", version="v1beta1")
    db.start_kube2sky("--endpoints=slices")
    wait_addresses(db, BOTH)
    db.kube2sky.stop()
    db.kube2sky = None
    written = db.etcd.get_prefix(DB)
    db.start_kube2sky()
    appears(db, "after")
    assert db.etcd.get_prefix(DB) == written
    db.kube2sky.wait_line(r"API is followed .*kind=endpoints\b")
    set_addresses(db, {"10.1.0.9": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.9": ""})


def test_without_any_slices_it_waits(db):
    """With =slices there is no fallback to Endpoints: existing keys stay, and Services are written."""
    db.start_kube2sky()
    wait_addresses(db, BOTH)
    db.kube2sky.stop()
    db.kube2sky = None
    written = db.etcd.get_prefix(DB)
    db.kube.control("slices", version="")
    db.start_kube2sky("--endpoints=slices", is_waiting=False)
    db.kube2sky.wait_line(r"API cannot be followed.*404 Not Found")
    appears(db, "after")
    assert db.etcd.get_prefix(DB) == written
    db.kube.control("slices", version="v1")
    db.kube2sky.wait_line(r"API is followed .*kind=endpointslices\b")
    set_addresses(db, {"10.1.0.9": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.9": ""})


def test_slices_that_fail_for_a_while_are_waited_for(db):
    """An error causes no fallback and deletes no key."""
    db.start_kube2sky()
    wait_addresses(db, BOTH)
    before, listed = db.etcd.get_prefix("/skydns/"), lists_of(db, "endpoints")
    db.kube.control("fail", status=500, count=3, match="endpointslices")
    list_again(db)
    appears(db, "after")
    set_addresses(db, {"10.1.0.3": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.3": ""})
    assert lists_of(db, "endpoints") == listed
    after = db.etcd.get_prefix("/skydns/")
    assert all(after[key] == before[key] for key in before if "/kubernetes/" in key)


def test_a_new_source_that_says_otherwise(bare_bed):
    """There are no slices for these Endpoints: the change of source deletes none of their keys at once, but later
    changes count at once.
    """
    bare_bed.start_etcd()
    bare_bed.start_apiserver("--no-mirroring", "--slices", "none")
    bare_bed.kube.create("services", headless("db", port(5432, "pg")))
    set_addresses(bare_bed, BOTH)
    bare_bed.start_kube2sky()
    wait_addresses(bare_bed, BOTH)
    bare_bed.kube.control("slices", version="v1")
    bare_bed.kube.control("fail", status=500, count=2, match="endpointslices?limit=500")
    list_again(bare_bed)
    wait_source(bare_bed, "endpointslices")
    appears(bare_bed, "after")
    wait_addresses(bare_bed, BOTH)
    add_slice(bare_bed, "10.1.0.7")
    wait_addresses(bare_bed, {"10.1.0.7": ""})

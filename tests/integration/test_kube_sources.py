"""EndpointSlices that are served, forbidden, and served again while kube2sky runs: addresses of headless Services
come from one source or the other, and records equal in both are not written twice.
"""

import pytest
from kube import endpoints, headless, port
from records import SVC, endpoint_records
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


def wait_addresses(bed, addresses: dict[str, str]) -> None:
    bed.wait_records(DB, endpoint_records("db", addresses, ("tcp", "pg", 5432)))


def wait_source(bed, kind: str) -> None:
    bed.kube2sky.wait_line(rf"source of endpoints changed .*kind={kind}\b")


def list_again(bed) -> None:
    bed.kube.control("expire-history")
    bed.kube.control("drop-watches")


BOTH = {"10.1.0.1": "a", "10.1.0.2": ""}


@pytest.mark.parametrize("way", ["forbidden", "not served"])
def test_slices_go_and_come(db, way):
    """The change of source writes nothing; later changes are written from the new source."""

    def allow(is_allowed: bool) -> None:
        if way == "forbidden":
            db.kube.control("forbid", resource="endpointslices", on=not is_allowed)
        else:
            db.kube.control("slices", version="v1" if is_allowed else "")

    db.start_kube2sky()
    wait_addresses(db, BOTH)
    written = db.etcd.get_prefix(DB)

    allow(False)
    list_again(db)
    wait_source(db, "endpoints")
    appears(db, "after-endpoints")
    assert db.etcd.get_prefix(DB) == written
    set_addresses(db, {"10.1.0.3": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.3": ""})

    written = db.etcd.get_prefix(DB)
    allow(True)
    list_again(db)
    wait_source(db, "endpointslices")
    appears(db, "after-slices")
    assert db.etcd.get_prefix(DB) == written
    set_addresses(db, BOTH, is_new=False)
    wait_addresses(db, BOTH)


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
    db.kube2sky.wait_line(r"API is followed .*kind=endpoints\b")
    set_addresses(db, {"10.1.0.9": ""}, is_new=False)
    wait_addresses(db, {"10.1.0.9": ""})


def lists_of(bed, resource: str) -> int:
    return bed.kube.control("state")["requests"].get(f"list {resource}", 0)


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


def test_a_new_source_that_says_otherwise_counts_once_it_is_complete(bare_bed):
    """There are no slices for these Endpoints."""
    bare_bed.start_etcd()
    bare_bed.start_apiserver("--no-mirroring", "--slices", "none")
    bare_bed.kube.create("services", headless("db", port(5432, "pg")))
    set_addresses(bare_bed, BOTH)
    bare_bed.start_kube2sky()
    wait_addresses(bare_bed, BOTH)
    bare_bed.kube.control("slices", version="v1")
    bare_bed.kube.control("fail", status=500, count=2, match="endpointslices")
    list_again(bare_bed)
    wait_source(bare_bed, "endpointslices")
    wait_addresses(bare_bed, {})

"""kube2sky --endpoint-names: the labels of endpoints without a hostname, as users of CoreDNS know them."""

import pytest
from kube import endpoint, endpoint_slice, headless, port
from model import Model
from records import SVC, value

ARPA = "/skydns/arpa/in-addr"

ENTRIES = [
    endpoint("10.1.2.3", pod="web-x7k2p", ready=True),
    endpoint("10.1.2.4", pod="db-0", hostname="db-0", ready=True),
    endpoint("10.1.2.5", ready=True),
]
LABELS = {
    "address": ["10-1-2-3", "db-0", "10-1-2-5"],
    "pod": ["web-x7k2p", "db-0", "10-1-2-5"],
}


def own_host(name: str) -> str:
    return f"{name}.default.svc.cluster.local."


def put_web(bed) -> None:
    bed.kube.create("services", headless("web", port(80, "http")))
    bed.kube.create("endpointslices", endpoint_slice("web-1", "web", ENTRIES, port(80, "http")))


def restart(bed, names: str, *flags: str) -> None:
    if bed.kube2sky:
        bed.kube2sky.stop()
        bed.kube2sky = None
    bed.start_kube2sky(f"--endpoint-names={names}", *flags)


@pytest.mark.parametrize("names", ["address", "pod"])
def test_keys_and_reverse_names(bed, names):
    put_web(bed)
    restart(bed, names)
    web, keys = f"{SVC}/default/web", bed.etcd.values("/skydns/")
    for entry, name in zip(ENTRIES, LABELS[names], strict=True):
        ip = entry["addresses"][0]
        assert keys[f"{web}/{name}"] == value(ip)
        assert keys[f"{web}/_tcp/_http/{name}"] == value(own_host(f"{name}.web"), 80)
        assert keys[f"{ARPA}/{ip.replace('.', '/')}"] == value(own_host(f"{name}.web"))
    bed.wait_model(Model(endpoint_names=names))


@pytest.mark.parametrize("flags", [[], ["--own-only-written"]])
def test_a_change_leaves_no_gap(bed, flags):
    """All keys of the Service change in one transaction: at no revision does it lack an address."""
    put_web(bed)
    restart(bed, "hash", *flags)
    bed.wait_model()
    for names in ("address", "hash", "pod"):
        before = bed.etcd.revision()
        restart(bed, names, *flags)
        bed.wait_model(Model(endpoint_names=names))
        changes = bed.etcd.history(before + 1)
        revisions = {revision for revision, key in changes if key.startswith(f"{SVC}/default/web/")}
        assert len(revisions) == 1, changes


def test_a_pod_s_name_may_be_a_copy(bed):
    """With --own-only-written, an address under a word stays beside its new label while it has one, not longer."""
    put_web(bed)
    restart(bed, "pod", "--own-only-written")
    restart(bed, "hash", "--own-only-written")
    web = f"{SVC}/default/web"
    left = {f"{web}/web-x7k2p": value("10.1.2.3")}
    right = Model().keys(bed.kube.objects())
    bed.wait_records(f"{web}/", {k: v for k, v in right.items() if k.startswith(f"{web}/")} | left)
    bed.kube.replace("endpointslices", endpoint_slice("web-1", "web", ENTRIES[1:], port(80, "http")))
    bed.wait_model()


def test_a_hostname_of_before_may_be_a_copy(bed):
    """The same, of one that an endpoint lost while nobody was looking."""
    put_web(bed)
    restart(bed, "hash", "--own-only-written")
    bed.kube2sky.stop()
    bed.kube2sky = None
    unnamed = [ENTRIES[0], endpoint("10.1.2.4", ready=True), ENTRIES[2]]
    bed.kube.replace("endpointslices", endpoint_slice("web-1", "web", unnamed, port(80, "http")))
    bed.start_kube2sky("--own-only-written")
    assert bed.etcd.values(f"{SVC}/default/web/db-0") == {f"{SVC}/default/web/db-0": value("10.1.2.4")}
    bed.kube.replace("endpointslices", endpoint_slice("web-1", "web", [ENTRIES[0], ENTRIES[2]], port(80, "http")))
    bed.wait_model()


def test_an_address_that_begins_with_colons(bed):
    """Its label is one of a host (RFC 1123 2.1), and spells the address again."""
    bed.kube.create("services", headless("web", port(80, "http")))
    made = endpoint_slice("web-1", "web", [endpoint("::1:0:2"), endpoint("::1:2")], port(80, "http"), family="IPv6")
    bed.kube.create("endpointslices", made)
    bed.start_kube2sky("--endpoint-names=address")
    bed.start_skydns()
    targets = [f"10 50 80 {name}.web.default.svc.cluster.local." for name in ("0--1-0-2", "0--1-2")]
    bed.wait_answers("_http._tcp.web.default.svc.cluster.local", "SRV", targets)
    assert bed.dns.answers("0--1-2.web.default.svc.cluster.local", "AAAA") == ["::0.1.0.2"]

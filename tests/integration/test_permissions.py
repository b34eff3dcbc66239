"""The permissions in etcd that docs/operator/install.md says are enough, are."""

import pytest
from etcd_users import add_documented_users
from kube import endpoints, headless, node, pod, port, service
from model import Model
from programs import reserve_port
from watched import Watched

CONFIG_MAP = {
    "metadata": {"name": "kube-dns", "namespace": "kube-system"},
    "data": {"upstreamNameservers": '["192.0.2.53"]', "stubDomains": '{"acme.test":["192.0.2.54"]}'},
}
OPTIONS = (
    ("--nodes", "--pods=verified", "--namespace-visibility", "--client-records"),
    ("-autopath", "-visibility=own", "-visibility-unknown=all", "-transfer-to=127.0.0.1"),
)


@pytest.mark.parametrize("has_options", [False, True])
def test_documented_permissions_are_enough(bed, has_options):
    kube2sky_flags, skydns_flags = OPTIONS if has_options else ((), ())
    bed.kube.create("services", service("web", port(80, "http")))
    bed.kube.create("services", headless("db", port(5432, "sql")))
    bed.kube.create("endpoints", endpoints("db", [("10.1.0.1", "db-0")], port(5432, "sql")))
    bed.kube.control("put", resource="pods", object=pod("one", "10.3.0.1"))
    bed.kube.put_node(node("worker", "192.0.2.1"))
    bed.kube.create("configmaps", CONFIG_MAP)
    add_documented_users(bed.etcd, "secret", has_options)
    bed.etcd.enable_authentication("root")
    bed.etcd.log_in("root", "root")
    file = bed.folder / "password"
    file.write_text("secret\n")
    bed.start_kube2sky(
        "--config-map=kube-dns", "--etcd-username=kube2sky", f"--etcd-password-file={file}", *kube2sky_flags
    )
    bed.wait_model(Model(has_nodes=has_options))
    http = reserve_port()
    bed.start_skydns(
        "-schema=kubernetes", "-username=skydns", f"-password-file={file}", f"-http-addr=127.0.0.1:{http}", *skydns_flags
    )
    bed.skydns.wait_line(r"192\.0\.2\.53")
    address = bed.kube.get("services", "web")["spec"]["clusterIP"]
    bed.wait_answers("web.default.svc.cluster.local", "A", [address])
    Watched(bed.skydns, http, "skydns").wait_strict(200)
    for program in (bed.kube2sky, bed.skydns):
        program.stop()
        assert not [line for line in program.lines if "denied" in line]


def strict_text(bed, permitted: list[str], *skydns_flags: str) -> str:
    """What strict readiness says of a skydns whose user may read the records, and of `/kube2sky/cluster.local/` only
    these; it answers nevertheless.
    """
    bed.start_etcd()
    bed.etcd.add_user("skydns", "secret")
    for keys in ("/skydns/", *(f"/kube2sky/cluster.local/{name}" for name in permitted)):
        bed.etcd.permit("skydns", "READ", keys)
    bed.etcd.enable_authentication("root")
    file = bed.folder / "password"
    file.write_text("secret\n")
    http = reserve_port()
    flags = ["-username=skydns", f"-password-file={file}", f"-http-addr=127.0.0.1:{http}", "-no-rec"]
    bed.start_skydns("-schema=kubernetes", *flags, *skydns_flags)
    watched = Watched(bed.skydns, http, "skydns")
    text = watched.wait_strict(503)
    assert watched.ask("/readiness")[0] == 200
    bed.skydns.stop()
    return text


def test_documents_that_may_not_be_read(bare_bed):
    """skydns answers, and its strict readiness names the keys and why."""
    text = strict_text(bare_bed, ["store", "config"], "-transfer-to=127.0.0.1")
    assert "cannot read /kube2sky/cluster.local/serial: " in text and "permission" in text and "config" not in text


@pytest.mark.parametrize("denied", ["node-address/", "visible/"])
def test_keys_beside_the_records_that_may_not_be_read(bare_bed, denied):
    """The same, of what tells who asks."""
    permitted = [keys for keys in ("node-address/", "visible/", "store", "config") if keys != denied]
    text = strict_text(bare_bed, permitted, "-visibility=own")
    assert f"cannot read /kube2sky/cluster.local/{denied}: " in text and "permission" in text

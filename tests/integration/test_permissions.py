"""The permissions in etcd that OPERATING.md says are enough, are."""

import pytest
from etcd_users import add_documented_users
from kube import endpoints, headless, node, pod, port, service
from model import Model

CONFIG_MAP = {
    "metadata": {"name": "kube-dns", "namespace": "kube-system"},
    "data": {"upstreamNameservers": '["192.0.2.53"]', "stubDomains": '{"acme.test":["192.0.2.54"]}'},
}
OPTIONS = (
    ("--nodes", "--pods=verified", "--namespace-visibility"),
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
    bed.start_skydns("-schema=kubernetes", "-username=skydns", f"-password-file={file}", *skydns_flags)
    bed.skydns.wait_line(r"192\.0\.2\.53")
    address = bed.kube.get("services", "web")["spec"]["clusterIP"]
    bed.wait_answers("web.default.svc.cluster.local", "A", [address])
    for program in (bed.kube2sky, bed.skydns):
        program.stop()
        assert not [line for line in program.lines if "denied" in line]

"""From a failure in the past to the object that caused it: skydns -explain -at, /history, kube2sky --explain."""

import json
import re
import subprocess
import time

from bed import BIN_DIR
from kube import endpoints, headless, port, service
from programs import http_get, reserve_port, wait_until
from records import SVC
from test_aliases import ingress
from test_at import wait_next_second
from test_config_map import config_map


def changes_of(bed, name: str) -> list[dict]:
    status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service={name}")
    assert status in (200, 404), text
    return json.loads(text)["changes"]


def test_objects_behind_changes(bed):
    """Each change names the event's object; what the first list had is no news."""
    bed.kube.create("services", headless("db"))
    bed.kube.create("endpoints", endpoints("db", ["10.1.0.1"]))
    bed.start_kube2sky("--endpoints=endpoints")
    bed.wait_model()
    assert changes_of(bed, "default/db") == []
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_model()
    wait_until(lambda: changes_of(bed, "default/web"), "the cause")
    (change,) = changes_of(bed, "default/web")
    assert (change["kind"], change["object"], change["deleted"]) == ("services", "default/web", False)
    assert change["resource_version"] == made["metadata"]["resourceVersion"]
    assert change["puts"] > 0 and change["deletes"] == 0
    records = bed.etcd.get_prefix(f"{SVC}/default/web/")
    assert {entry.mod_revision for entry in records.values()} == {change["revision"]}
    line = bed.kube2sky.wait_line("records changed, as an object did owner=svc/default/web ")
    for part in ("kind=services", "object=default/web", f"resource_version={change['resource_version']}",
                 f"revision={change['revision']}"):  # fmt: skip
        assert part in line
    made = bed.kube.replace("endpoints", endpoints("db", ["10.1.0.2"]))
    bed.wait_model()
    wait_until(lambda: changes_of(bed, "default/db"), "the cause")
    (change,) = changes_of(bed, "default/db")
    assert (change["kind"], change["object"]) == ("endpoints", "default/db")
    assert change["resource_version"] == made["metadata"]["resourceVersion"]
    bed.kube.delete("services", "web")
    bed.wait_model()
    bed.kube2sky.wait_line("records changed, as an object was deleted owner=svc/default/web ")


def test_objects_behind_external_names(bed):
    """An Ingress that comes, changes and goes; a route, and the ConfigMap that takes a name from it."""
    kube = bed.kube
    kube.create_namespace("infra")
    kube.create("services", service("in", namespace="infra", clusterIP="10.96.0.15"))
    kube.create("ingresses", ingress("first", "first.example.com", ingressClassName="nginx"))
    bed.start_kube2sky("--override-zones=example.com", "--ingress=nginx=infra/in", "--config-map=kube-dns")
    name = "/skydns/com/example/shop/"

    def latest() -> dict:
        status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service=infra/in")
        assert status == 200, text
        return next(iter(json.loads(text)["alias_changes"]), {})

    wait_until(lambda: bed.etcd.values("/skydns/com/example/first/"), "the names of the first list")
    assert latest() == {}
    made = kube.create("ingresses", ingress("shop", "shop.example.com", "b.example.com", ingressClassName="nginx"))
    wait_until(latest, "the cause")
    change = latest()
    assert (change["kind"], change["object"], change["puts"], change["deletes"], change["deleted"]) == (
        "ingresses", "default/shop", 2, 0, False)  # fmt: skip
    assert change["resource_version"] == made["metadata"]["resourceVersion"]
    assert {entry.mod_revision for entry in bed.etcd.get_prefix(name).values()} == {change["revision"]}
    bed.kube2sky.wait_line("records changed, as an object did owner=alias/infra/in kind=ingresses object=default/shop ")
    records = json.dumps({"shop.example.com": {"host": "192.0.2.1"}})
    made = kube.create("configmaps", config_map(records=records))
    wait_until(lambda: latest()["kind"] == "configmaps", "the ConfigMap, which has the name now")
    assert latest()["object"] == "kube-system/kube-dns" and latest()["deletes"] == 1
    assert latest()["resource_version"] == made["metadata"]["resourceVersion"]
    bed.kube2sky.wait_line("records changed, as an object did owner=ConfigMap kind=configmaps object=kube-system/kube-dns ")
    since = len(bed.kube2sky.lines)
    kube.delete("ingresses", "shop")
    bed.kube2sky.wait_line("records changed, as an object was deleted owner=alias/infra/in kind=ingresses ", since)
    assert latest()["deleted"] and latest()["object"] == "default/shop" and latest()["deletes"] == 1
    told = subprocess.run(
        [str(BIN_DIR / "kube2sky"), "--explain=infra/in", f"--healthz-port={bed.readiness_port}"],
        capture_output=True, text=True, timeout=60)  # fmt: skip
    assert re.search(r"^alias keys  20\S+ at revision \d+, 0 puts and 1 deletes, as ingresses default/shop was deleted", told.stdout, re.M)


def test_it_failed_then(bed):
    """The operator's story: which answer was given, what changed, which object did it."""
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky()
    bed.wait_model()
    bed.http_port = reserve_port()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}")
    name = "web.default.svc.cluster.local"
    bed.wait_answers(name, "A", [made["spec"]["clusterIP"]])
    wait_next_second()
    bed.kube.delete("services", "web")
    bed.wait_answers(name, "A", ["NXDOMAIN"])
    wait_next_second()
    failed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time()))
    wait_next_second()
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_answers(name, "A", [made["spec"]["clusterIP"]])

    skydns = [str(BIN_DIR / "skydns"), f"-http-addr=127.0.0.1:{bed.http_port}"]
    then = subprocess.run([*skydns, "-explain", name, "-at", failed], capture_output=True, text=True, timeout=60)
    assert then.returncode == 0 and then.stdout.startswith(f"{name}. A: NXDOMAIN; etcd revision "), then.stdout
    status, text = http_get(f"http://127.0.0.1:{bed.http_port}/history?name={name}&since=10m")
    assert status == 200
    gone = [change for change in json.loads(text)["changes"] if "after" not in change]
    assert gone and all(change["time"] <= failed for change in gone), text
    (revision,) = {change["revision"] for change in gone}
    told = subprocess.run(
        [str(BIN_DIR / "kube2sky"), "--explain=default/web", f"--healthz-port={bed.readiness_port}"],
        capture_output=True, text=True, timeout=60)  # fmt: skip
    line = next(line for line in told.stdout.splitlines() if f"at revision {revision}," in line)
    assert re.search(r"as services default/web was deleted(, resourceVersion \d+)?", line), told.stdout

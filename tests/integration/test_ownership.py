"""Which keys kube2sky deletes, and which it never does: the flags that narrow what it owns or wants."""

import signal

import pytest
from kube import endpoints, headless, pod, port, service
from model import Model
from programs import http_get, wait_until
from records import SVC, label, service_records, value

TREE = "/skydns/local/cluster"
POD = f"{TREE}/pod"
ARPA = "/skydns/arpa/in-addr"


def own_host(name: str, namespace: str = "default") -> str:
    return f"{name}.{namespace}.svc.cluster.local."


# Not kube2sky's: not below the domain's svc/ and pod/, or reverse names of others.
FOREIGN = {
    f"{TREE}/mine": value("10.9.0.1"),
    f"{TREE}/svcs/x": value("10.9.0.1"),
    f"{TREE}/dns/ns/a": value("10.9.0.1"),
    "/skydns/com/example/www": value("10.9.0.1"),
    "/skydns/local/other/svc/default/web/c88f1059": value("10.9.0.1"),
    "/skydns/config": "{}",
    "/other/key": "x",
    f"{ARPA}/192/0/2/1": value("www.example.org."),
    f"{ARPA}/192/0/2/2": value("web.default.svc.other.local."),
    f"{ARPA}/192/0/2/3": value("xsvc.cluster.local."),
    f"{ARPA}/192/0/2/4": "no JSON",
    "/skydns/arpa/x": value("10.9.0.1"),
}
# As kube2sky writes them, for objects that no longer exist.
ORPHANS = {
    f"{SVC}/default/gone/{label('10.9.0.1')}": value("10.9.0.1"),
    f"{SVC}/default/gone/hostname": value("10.9.0.2"),
    f"{SVC}/default/gone/_tcp/_http/{label('10.9.0.1')}": value(own_host("gone"), 80),
    f"{POD}/default/10-9-0-1/{label('10.9.0.1')}": value("10.9.0.1"),
    f"{ARPA}/10/9/0/1": value(own_host("gone")),
}
# Below svc/ and pod/, but not written by kube2sky: not a record, another writer's, or too short.
STRAYS = {
    f"{SVC}/default/hand/text": '{"text":"hello"}',
    f"{SVC}/default/hand/made": value("10.9.0.9").replace('"priority":10', '"priority":20'),
    f"{SVC}/default/kubernetes/x1": value("10.9.0.9", 80),
    f"{SVC}/short": value("10.9.0.9"),
    f"{POD}/default/10-9-0-9/x": value("10.9.0.9"),
    f"{POD}/broken": "no JSON",
}


def put_a_pod(bed) -> None:
    """A list without any pod would not be believed."""
    bed.kube.put_pod(pod("worker", "10.3.0.1"))


def put_all(bed, *groups: dict[str, str]) -> None:
    for group in groups:
        for key, text in group.items():
            bed.etcd.put(key, text)


def kept(bed, group: dict[str, str], before: dict) -> None:
    after = bed.etcd.get_prefix("/")
    assert {key: after.get(key) for key in group} == {key: before[key] for key in group}


def test_orphans_and_strays_go_and_foreign_keys_stay(bed):
    put_all(bed, FOREIGN, ORPHANS, STRAYS)
    put_a_pod(bed)
    before = bed.etcd.get_prefix("/")
    bed.start_kube2sky()
    kept(bed, FOREIGN, before)
    right = Model().keys(bed.kube.objects())
    assert {k: v for k, v in bed.etcd.values("/skydns/").items() if k not in FOREIGN} == right
    put_all(bed, ORPHANS, STRAYS)  # also while it runs
    bed.wait_records("/skydns/", right | {k: v for k, v in FOREIGN.items() if k.startswith("/skydns/")})
    kept(bed, FOREIGN, before)


def test_a_copied_value_is_its_copier_s(bed):
    """With --own-only-written. The original's label is the hash of its address."""
    ip = bed.kube.create("services", service("web", port(80, "http")))["spec"]["clusterIP"]
    web, srv = f"{SVC}/default/web", value(own_host("web"), 80)
    copies = {f"{web}/mine": value(ip), f"{web}/0123abcd": value(ip), f"{web}/_tcp/_http/mine": srv}
    put_all(bed, copies)
    before = bed.etcd.get_prefix("/")
    bed.start_kube2sky("--own-only-written")
    right = service_records("web", ip, ("tcp", "http", 80))
    bed.wait_records(f"{web}/", right | copies)
    kept(bed, copies, before)
    put_all(bed, {f"{web}/late": value(ip), f"{web}/gone": value("10.9.0.9")})
    bed.wait_records(f"{web}/", right | copies | {f"{web}/late": value(ip)})
    # The Service goes, and with it the words, which may be endpoints' hostnames; what cannot be one stays.
    bed.kube.delete("services", "web")
    bed.wait_records(f"{web}/", {key: text for key, text in copies.items() if key != f"{web}/mine"})


def test_own_only_written(bed):
    put_all(bed, FOREIGN, ORPHANS, STRAYS)
    put_a_pod(bed)
    before = bed.etcd.get_prefix("/")
    bed.start_kube2sky("--own-only-written")
    kept(bed, FOREIGN | STRAYS, before)
    left = FOREIGN | STRAYS
    right = Model().keys(bed.kube.objects())
    assert {k: v for k, v in bed.etcd.values("/skydns/").items() if k not in left} == right


def test_keys_that_somebody_deletes_or_spoils_come_back(bed):
    bed.kube.create("services", service("web", port(80, "http")))
    bed.kube.put_pod(pod("worker", "10.3.0.1"))
    bed.start_kube2sky()
    bed.wait_model()
    keys = [key for key in bed.etcd.values("/skydns/") if "kubernetes" not in key]
    assert len(keys) >= 4
    for key in keys:
        bed.etcd.delete(key)
        bed.wait_model()
        bed.etcd.put(key, value("10.9.9.9") if "/arpa/" not in key else value(own_host("stolen")))
        bed.wait_model()
    bed.etcd.delete_prefix("/skydns/")
    bed.wait_model()


def test_a_reverse_name_that_is_anothers_is_left(bed):
    """Two clusters that share an etcd must not delete each other's keys."""
    made = bed.kube.create("services", service("web"))
    ip = made["spec"]["clusterIP"]
    key = f"{ARPA}/{ip.replace('.', '/')}"
    bed.etcd.put(key, value("web.default.svc.other.local."))
    before = bed.etcd.get_prefix(key)
    bed.start_kube2sky()
    bed.kube2sky.wait_line(key.replace(".", r"\."))
    assert bed.etcd.values(f"{SVC}/default/web/") == service_records("web", ip)
    assert bed.etcd.get_prefix(key) == before
    bed.etcd.delete(key)  # the other cluster has not touched it
    bed.wait_model()


def test_a_restart_moves_no_reverse_name(bed):
    """With all objects listed before etcd can be read, the object planned first does not win."""
    bed.kube.create("services", headless("a"))
    bed.kube.create("endpoints", endpoints("a", ["10.96.0.77"]))
    bed.kube.create("services", service("z", clusterIP="10.96.0.77"))
    bed.start_kube2sky()
    bed.wait_model()
    wait_until(lambda: bed.etcd.values("/kube2sky/"), "the store key, which comes last")
    bed.kube2sky.stop()
    records = bed.etcd.get_prefix("/skydns/")
    bed.etcd_program.signal(signal.SIGSTOP)
    since = len(bed.kube2sky.lines)
    bed.start_kube2sky(is_waiting=False)
    for kind in ("services", "endpointslices", "pods"):
        bed.kube2sky.wait_line(f"listed kind={kind}", since)
    bed.etcd_program.signal(signal.SIGCONT)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    assert bed.etcd.get_prefix("/skydns/") == records


def in_namespace(keys: dict[str, str], namespace: str) -> dict[str, str]:
    return {
        k: v
        for k, v in keys.items()
        if k.startswith((f"{SVC}/{namespace}/", f"{POD}/{namespace}/"))
        or k.startswith("/skydns/arpa/")
        and f".{namespace}.svc.cluster.local." in v
    }


def test_namespaces(bed):
    """Keys of the other namespaces are another writer's: neither written nor deleted."""
    for namespace in ("team", "crew"):
        bed.kube.create_namespace(namespace)
    put_all(bed, ORPHANS)
    gone = {
        f"{SVC}/team/gone/{label('10.9.0.2')}": value("10.9.0.2"),
        f"{POD}/crew/10-9-0-2/{label('10.9.0.2')}": value("10.9.0.2"),
        f"{ARPA}/10/9/0/2": value(own_host("gone", "team")),
    }
    put_all(bed, gone)
    bed.kube.delete("services", "kubernetes")  # not theirs, so they do not wait for it
    before = bed.etcd.get_prefix("/")

    def make(name: str) -> None:
        for namespace in ("default", "team", "crew"):
            bed.kube.create("services", service(name, port(80, "http"), namespace=namespace))
            ip = f"10.3.{len(name)}.{len(namespace)}"
            bed.kube.put_pod(pod(name, ip, namespace=namespace))

    def right() -> dict[str, str]:
        keys = Model().keys(bed.kube.objects())
        return ORPHANS | in_namespace(keys, "team") | in_namespace(keys, "crew")

    make("web")
    bed.start_kube2sky("--namespaces=team,crew")
    bed.wait_records("/skydns/", right())
    make("later")
    bed.wait_records("/skydns/", right())
    bed.kube.delete("services", "web", "team")
    bed.kube.delete("services", "web", "default")
    bed.wait_records("/skydns/", right())
    kept(bed, ORPHANS, before)


def test_label_selector(bed):
    """The flag narrows what is wanted, not what is owned."""

    def labelled(name: str, **labels: str) -> dict:
        made = service(name, port(80, "http"))
        return made | {"metadata": made["metadata"] | {"labels": labels}}

    bed.kube.create("services", labelled("yes", dns="on"))
    bed.kube.create("services", labelled("no", dns="off"))
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky("--label-selector=dns=on", "--namespaces=default")

    def right() -> dict[str, str]:
        objects = bed.kube.objects()
        chosen = [s for s in objects["services"] if s["metadata"].get("labels", {}).get("dns") == "on"]
        return Model().keys(objects | {"services": chosen})

    bed.wait_records("/skydns/", right())
    assert bed.etcd.values(f"{SVC}/default/yes/") and not bed.etcd.values(f"{SVC}/default/no/")
    for name, state in (("yes", "off"), ("no", "on")):
        patch = {"metadata": {"labels": {"dns": state}}}
        path = bed.kube.path("services", name=name)
        bed.kube.request("PATCH", path, patch, "application/merge-patch+json")
    bed.wait_records("/skydns/", right())
    assert bed.etcd.values(f"{SVC}/default/no/") and not bed.etcd.values(f"{SVC}/default/yes/")


@pytest.mark.parametrize(
    "flag, model",
    [("--pods=disabled", Model(has_pods=False)), ("--reverse=false", Model(has_reverse=False))],
)
def test_what_is_not_wanted_any_more_goes(bed, flag, model):
    bed.kube.create("services", service("web", port(80, "http")))
    bed.kube.put_pod(pod("worker", "10.3.0.1"))
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube2sky.stop()
    foreign = {k: v for k, v in FOREIGN.items() if k.startswith("/skydns/")}
    put_all(bed, foreign)
    bed.kube2sky = None
    bed.start_kube2sky(flag)
    bed.wait_records("/skydns/", model.keys(bed.kube.objects()) | foreign)
    bed.kube.create("services", service("more", port(80, "http")))
    bed.kube.put_pod(pod("more", "10.3.0.2"))
    bed.wait_records("/skydns/", model.keys(bed.kube.objects()) | foreign)


def test_kinds_that_cannot_be_listed_keep_their_keys(bed):
    """Forbidden Pods do not hold up Services, nor vice versa; none of their keys is deleted."""
    bed.kube.create("services", service("web", port(80, "http")))
    bed.kube.create("services", headless("gone", port(80, "http")))
    bed.kube.put_pod(pod("worker", "10.3.0.1"))
    bed.kube.put_pod(pod("other", "10.3.0.2"))
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube2sky.stop()
    right = bed.etcd.values("/skydns/")
    bed.kube.control("forbid", resource="pods")
    bed.kube.delete("pods", "worker")
    bed.kube.delete("services", "web")
    bed.start_kube2sky(is_waiting=False)
    bed.wait_records(f"{SVC}/default/web/", {})
    assert bed.etcd.values(POD) == {k: v for k, v in right.items() if k.startswith(POD)}
    bed.kube.control("forbid", resource="pods", on=False)
    bed.wait_model()


def test_a_list_without_pods_deletes_none(bed):
    """Such as that of an API server whose store was emptied. /readiness?strict names the reason."""
    bed.kube.put_pod(pod("worker", "10.3.0.1"))
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube2sky.stop()
    right = {k: v for k, v in bed.etcd.values("/skydns/").items() if k.startswith(POD)}
    bed.kube.delete("pods", "worker")
    bed.start_kube2sky()
    status, why = http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")
    assert status == 503 and "the API lists no pod" in why
    assert bed.etcd.values(POD) == right
    bed.kube.put_pod(pod("other", "10.3.0.2"))
    bed.wait_model()


def test_the_store_key_is_written_once_and_last(bed):
    bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky()
    key, serial = "/kube2sky/cluster.local/store", "/kube2sky/cluster.local/serial"
    wait_until(lambda: key in bed.etcd.get_prefix("/kube2sky/"), "the store key")
    beside = bed.etcd.get_prefix("/kube2sky/")
    assert set(beside) == {key, serial} and len(beside[key].value) >= 16
    newest = max(e.mod_revision for e in [*bed.etcd.get_prefix("/skydns/").values(), beside[serial]])
    assert beside[key].create_revision > newest, "nothing may be complete before"
    bed.kube2sky.restart()
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    assert bed.etcd.get_prefix("/kube2sky/")[key] == beside[key]

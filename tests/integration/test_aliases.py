"""kube2sky --override-zones: external names of Services, Ingresses, routes and the ConfigMap in etcd, beside the keys
of others.
"""

import json
import random
import signal
import subprocess
from contextlib import suppress

import pytest
from bed import BIN_DIR
from kube import KubeError, pod, service
from programs import http_get, wait_equal, wait_until
from records import hash_of
from test_config_map import config_map
from test_kube_dry_run import dry_run
from watched import Watched

ANNOTATION = "dns.kube2sky/aliases"
ZONES = "--override-zones=example.com,*.apps.example.com,corp@shop"
WEB = "/skydns/com/example/web/"


def alias_value(name: str, namespace: str = "default", ttl: int = 30) -> str:
    host = f"{name}.{namespace}.svc.cluster.local."
    return f'{{"host":"{host}","priority":10,"weight":10,"ttl":{ttl},"targetstrip":1}}'


def alias(owner: str, service_name: str, namespace: str = "default") -> dict[str, str]:
    labels = "/".join(reversed(owner.split(".")))
    return {f"/skydns/{labels}/{hash_of(f'{namespace}/{service_name}')}": alias_value(service_name, namespace)}


def external(bed) -> dict[str, str]:
    """Every key outside the domain and arpa."""
    inside = ("/skydns/local/cluster/", "/skydns/arpa/")
    return {k: v for k, v in bed.etcd.values("/skydns/").items() if not k.startswith(inside)}


def wait_external(bed, *parts: dict[str, str]) -> None:
    right = {key: value for part in parts for key, value in part.items()}
    wait_equal(lambda: external(bed), right, "the external names")


def aliased(name: str, ip: str, aliases: str, namespace: str = "default") -> dict:
    value = service(name, namespace=namespace, clusterIP=ip)
    value["metadata"]["annotations"] = {ANNOTATION: aliases}
    return value


def page(bed, path: str) -> str:
    status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}{path}")
    assert status == 200, text
    return text


def metric(bed, name: str, **labels: str) -> float:
    return Watched(bed.kube2sky, bed.readiness_port, "kube2sky_").metrics().get(name, **labels)


def test_annotation(bed):
    """Names come and go with the annotation and the Service; what may not be written is not, and /explain says why."""
    kube = bed.kube
    kube.create_namespace("shop")
    names = "Web.Example.com., *.apps.example.com, web.cluster.local, x.corp, a.localhost, *.example.com, -x.example.com"
    kube.create("services", aliased("web", "10.96.0.11", names))
    kube.create("services", aliased("till", "10.96.0.12", "x.corp", namespace="shop"))
    bed.start_kube2sky(ZONES)
    wait_external(bed, alias("web.example.com", "web"), alias("*.apps.example.com", "web"), alias("x.corp", "till", "shop"))
    assert metric(bed, "aliases_refused") == 5
    assert metric(bed, "aliases_taken") == 0
    explained = json.loads(page(bed, "/explain?service=default/web"))["aliases"]
    assert {entry["name"]: entry["state"] for entry in explained} == {
        "Web.Example.com.": "present",
        "*.apps.example.com": "present",
        "web.cluster.local": "refused",
        "x.corp": "refused",
        "a.localhost": "refused",
        "*.example.com": "refused",
        "-x.example.com": "refused",
    }
    kube.patch("services", "web", {"metadata": {"annotations": {ANNOTATION: "new.example.com"}}})
    wait_external(bed, alias("new.example.com", "web"), alias("x.corp", "till", "shop"))
    kube.delete("services", "till", "shop")
    wait_external(bed, alias("new.example.com", "web"))
    kube.patch("services", "web", {"metadata": {"annotations": {ANNOTATION: None}}})
    wait_external(bed)


def test_conflict(bed):
    """The oldest Service has a name, then the next one; the others are in /explain and /plan."""
    kube = bed.kube
    first = aliased("b", "10.96.0.11", "web.example.com")
    first["metadata"]["creationTimestamp"] = "2024-01-01T00:00:00Z"
    second = aliased("a", "10.96.0.12", "web.example.com")
    second["metadata"]["creationTimestamp"] = "2024-01-02T00:00:00Z"
    for value in (second, first):
        kube.control("put", resource="services", object=value)
    bed.start_kube2sky(ZONES)
    wait_external(bed, alias("web.example.com", "b"))
    assert metric(bed, "aliases_taken") == 1
    text = page(bed, "/explain?text&service=default/a")
    assert "web.example.com" in text and "default/b" in text
    assert f"= {WEB}{hash_of('default/a')}" in page(bed, "/plan")
    kube.delete("services", "b")
    wait_external(bed, alias("web.example.com", "a"))
    assert metric(bed, "aliases_taken") == 0


def test_keys_of_others(bed):
    """A name with somebody else's key is left alone until that has gone; stale keys of ours go, in any zone."""
    kube = bed.kube
    others = {
        WEB.rstrip("/"): '{"host":"192.0.2.1"}',
        "/skydns/com/example/dns/3f2a": '{"host":"192.0.2.2","targetstrip":1}',
        "/skydns/com/example/dns/below/x": '{"host":"192.0.2.3"}',
        "/skydns/org/elsewhere/x": '{"host":"web.default.svc.cluster.local."}',
        f"/skydns/org/elsewhere/{hash_of('default/x')}": '{"host":"web.default.svc.cluster.local."}',
    }
    stale = alias("left.other.org", "gone") | alias("left.example.com", "web")
    bed.etcd.put_all(others | stale)
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com, dns.example.com, below.dns.example.com"))
    bed.start_kube2sky(ZONES)
    wait_external(bed, others, alias("below.dns.example.com", "web"))
    assert metric(bed, "aliases_left") == 2
    bed.etcd.delete(WEB.rstrip("/"))
    del others[WEB.rstrip("/")]
    wait_external(bed, others, alias("below.dns.example.com", "web"), alias("web.example.com", "web"))
    late = {WEB + "late": '{"host":"192.0.2.9","targetstrip":1}'}
    bed.etcd.put_all(late)
    wait_external(bed, others, late, alias("below.dns.example.com", "web"))
    bed.etcd.delete(WEB + "late")
    wait_external(bed, others, alias("below.dns.example.com", "web"), alias("web.example.com", "web"))


def test_flag_gone(bed):
    """Without --override-zones nothing of ours is left, and nothing of others is touched."""
    kube = bed.kube
    others = {"/skydns/com/example/mail": '{"host":"192.0.2.1"}'}
    bed.etcd.put_all(others)
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com"))
    bed.start_kube2sky(ZONES)
    wait_external(bed, others, alias("web.example.com", "web"))
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky()
    wait_external(bed, others)


def test_config_map(bed):
    """The ConfigMap's external names come before Services', its lists are one name's; others' keys stay."""
    kube = bed.kube
    records = {
        "web.example.com": {"host": "192.0.2.1"},
        "many.example.com": [{"host": "192.0.2.2"}, {"host": "192.0.2.3"}],
        "theirs.example.com": {"host": "192.0.2.4"},
    }
    others = {"/skydns/com/example/theirs/1": '{"host":"192.0.2.9","targetstrip":1}'}
    bed.etcd.put_all(others)
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com, free.example.com"))
    kube.create("configmaps", config_map(records=json.dumps(records)))
    bed.start_kube2sky(ZONES, "--config-map=kube-dns")
    many = [f'{{"host":"192.0.2.{i}","targetstrip":1}}' for i in (2, 3)]
    asked = {f"/skydns/com/example/many/{hash_of(value)}": value for value in many}
    theirs = {"/skydns/com/example/theirs": '{"host":"192.0.2.4"}'}
    web = {WEB.rstrip("/"): '{"host":"192.0.2.1"}'}
    free = alias("free.example.com", "web")
    wait_external(bed, others, asked, web, free)
    bed.etcd.delete("/skydns/com/example/theirs/1")
    wait_external(bed, asked, web, free, theirs)
    bed.etcd.put_all(others)
    wait_external(bed, asked, web, free, others)
    kube.patch("configmaps", "kube-dns", {"data": {"records": "{}"}}, "kube-system")
    wait_external(bed, others, free, alias("web.example.com", "web"))


def ingress(name: str, *hosts: str, namespace: str = "default", **spec) -> dict:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec | {"rules": [{"host": host} for host in hosts]},
    }


def gateway(name: str, *hosts: str, namespace: str = "infra") -> dict:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"listeners": [{"name": f"l{i}", "hostname": host, "port": 80} for i, host in enumerate(hosts)]},
    }


def route(name: str, *hosts: str, observed: int = 1, accepted: str = "True", section: str = "") -> dict:
    """Of generation 1, in default, at the Gateway public of infra."""
    reference = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra", "name": "public"}
    if section:
        reference["sectionName"] = section
    condition = {"type": "Accepted", "status": accepted, "observedGeneration": observed}
    return {
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"hostnames": list(hosts)},
        "status": {"parents": [{"parentRef": reference, "conditions": [condition]}]},
    }


def test_ingress(bed):
    """Hosts of Ingresses of the class lead to its Service; a Service's own annotation comes first."""
    kube = bed.kube
    kube.create_namespace("infra")
    kube.create("services", service("in", namespace="infra", clusterIP="10.96.0.15"))
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com"))
    old = ingress("old", "old.example.com")
    old["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "nginx"}
    for value in (
        ingress("a", "web.example.com", "a.example.com", "*.apps.example.com", "", ingressClassName="nginx"),
        ingress("b", "b.example.com", ingressClassName="other"),
        ingress("c", "c.elsewhere.org", ingressClassName="nginx"),
        old,
    ):
        kube.create("ingresses", value)
    stale = alias("gone.example.com", "in", "infra")
    bed.etcd.put_all(stale)
    bed.start_kube2sky(ZONES, "--ingress=nginx=infra/in")
    apps = alias("*.apps.example.com", "in", "infra")
    web = alias("web.example.com", "web")
    wait_external(bed, web, apps, alias("a.example.com", "in", "infra"), alias("old.example.com", "in", "infra"))
    assert metric(bed, "aliases_taken") == 1
    assert metric(bed, "aliases_refused") == 1
    assert metric(bed, "objects", kind="ingresses") == 4
    explained = json.loads(page(bed, "/explain?service=infra/in"))["aliases"]
    assert ("web.example.com", "ingress/default/a", "svc/default/web", "taken") in [
        (e["name"], e["claimant"], e["winner"], e["state"]) for e in explained
    ]
    kube.patch("ingresses", "a", {"spec": {"ingressClassName": "other"}})
    wait_external(bed, web, alias("old.example.com", "in", "infra"))
    kube.delete("ingresses", "old")
    wait_external(bed, web)


def test_ingress_not_listed(bed):
    """What leads to the Service of --ingress stays until Ingresses can be listed; others' names do not wait."""
    kube = bed.kube
    kube.create_namespace("infra")
    kube.create("services", service("in", namespace="infra", clusterIP="10.96.0.15"))
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com"))
    kept, gone = alias("kept.example.com", "in", "infra"), alias("gone.example.com", "web")
    bed.etcd.put_all(kept | gone)
    kube.put_pod(pod("any", "10.1.0.1"))  # a list without any is not believed, and /readiness?strict says so
    kube.control("forbid", resource="ingresses")
    bed.start_kube2sky(ZONES, "--ingress=nginx=infra/in")
    wait_external(bed, kept, alias("web.example.com", "web"))
    bed.kube2sky.wait_line("API cannot be followed.*kind=ingresses")
    assert metric(bed, "api_up", kind="ingresses") == 0
    assert http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")[0] == 200
    kube.control("forbid", resource="ingresses", on=False)
    bed.kube2sky.signal(signal.SIGHUP)  # asks again what was refused
    wait_external(bed, alias("web.example.com", "web"))


def test_gateway(bed):
    """Hosts of routes that the Gateway accepts as they are, at its listeners; without the CRDs, their names stay."""
    kube = bed.kube
    kube.create_namespace("infra")
    kube.create("services", service("envoy", namespace="infra", clusterIP="10.96.0.15"))
    kept = alias("kept.example.com", "envoy", "infra")
    bed.etcd.put_all(kept)
    bed.start_kube2sky(ZONES, "--gateway=infra/public=infra/envoy")
    wait_external(bed, kept)
    bed.kube2sky.wait_line("API cannot be followed.*kind=httproutes")  # nothing waits for these, a ready kube2sky neither
    lines = [line for line in bed.kube2sky.lines if "cannot be followed" in line and "kind=httproutes" in line]
    assert len(lines) == 1
    kube.control("gateways")
    for resource, value in (
        ("gateways", gateway("public", "*.apps.example.com", "www.example.com")),
        ("gateways", gateway("other", "*.example.com")),
        ("httproutes", route("one", "x.apps.example.com", "x.example.com")),
        ("httproutes", route("two")),
        ("httproutes", route("three", "*.example.com", section="l1")),
        ("httproutes", route("old", "old.apps.example.com", observed=2)),
        ("httproutes", route("no", "no.apps.example.com", accepted="False")),
    ):
        kube.control("put", resource=resource, object=value)
    bed.kube2sky.signal(signal.SIGHUP)
    envoy = ("envoy", "infra")
    wait_external(
        bed,
        alias("x.apps.example.com", *envoy),
        alias("*.apps.example.com", *envoy),
        alias("www.example.com", *envoy),
    )
    kube.control("put", resource="gateways", object=gateway("public", "*.example.com"))
    kube.delete("httproutes", "two")
    kube.delete("httproutes", "three")
    wait_external(bed, alias("x.apps.example.com", *envoy), alias("x.example.com", *envoy))
    kube.delete("gateways", "public", "infra")
    wait_external(bed)


def test_namespaces(bed):
    """With --namespaces, names of Services elsewhere are somebody else's."""
    kube = bed.kube
    kube.create_namespace("shop")
    kube.create("services", aliased("web", "10.96.0.11", "web.example.com, both.example.com"))
    kube.create("services", aliased("till", "10.96.0.12", "both.example.com, till.example.com", namespace="shop"))
    theirs = alias("web.example.com", "web") | alias("both.example.com", "web")
    bed.etcd.put_all(theirs)
    bed.start_kube2sky(ZONES, "--namespaces=shop")
    wait_external(bed, theirs, alias("till.example.com", "till", "shop"))


def test_real_server(bare_bed, server):
    """Annotations, ages and Ingresses of a real one, whose protobuf and JSON are its own."""
    bed, kube = bare_bed, server.kube
    bed.start_etcd()
    bed.use_kube(kube, server.flags)
    for name in ("zz", "in"):
        value = service(name)
        value["metadata"]["annotations"] = {ANNOTATION: f"{name}.example.com, both.example.com"}
        kube.create("services", value)
        wait_until_older(kube, name)
    kube.create("ingresses", ingress("shop", "shop.example.com", "both.example.com", ingressClassName="nginx"))
    try:
        bed.start_kube2sky(ZONES, "--ingress=nginx=default/in", "--gateway=infra/public=default/in")
        wait_external(
            bed,
            alias("zz.example.com", "zz"),
            alias("both.example.com", "zz"),
            alias("in.example.com", "in"),
            alias("shop.example.com", "in"),
        )
        assert "kind=httproutes" in bed.kube2sky.wait_line("API cannot be followed.*httproutes")
        kube.delete("services", "zz")
        wait_external(bed, *(alias(f"{name}.example.com", "in") for name in ("both", "in", "shop")))
    finally:
        kube.delete("ingresses", "shop")
        for name in ("zz", "in"):
            with suppress(KubeError):
                kube.delete("services", name)


def wait_until_older(kube, name: str) -> None:
    """Until whatever is created now has a later time, of whole seconds, than this Service."""
    created = kube.get("services", name)["metadata"]["creationTimestamp"]

    def has_passed() -> bool:
        probe = kube.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "clock"}})
        return probe["metadata"]["creationTimestamp"] > created

    wait_until(has_passed, "the next second of the server's clock")


def test_beside_external_dns(bed):
    """Another writer cleans and fills names of its own, by prefix and with targetstrip as external-dns does, while
    Services ask for some of them, too: neither writes at a name that the other has.
    """
    kube, chance = bed.kube, random.Random(40)
    kube.create("services", aliased("web", "10.96.0.11", ", ".join(f"n{i}.example.com" for i in range(10))))
    bed.start_kube2sky(ZONES)
    theirs: dict[str, str] = {}
    for _ in range(100):
        key = f"/skydns/com/example/n{chance.randrange(20)}/{chance.randrange(2)}"
        if key in theirs:
            bed.etcd.delete(key)
            del theirs[key]
        else:
            theirs[key] = f'{{"host":"192.0.2.{chance.randrange(200)}","text":"heritage","targetstrip":1}}'
            bed.etcd.put_all({key: theirs[key]})
    for key in [key for key in theirs if key.split("/")[4] in ("n0", "n1", "n2")]:
        bed.etcd.delete(key)
        del theirs[key]
    names = {key.split("/")[4] for key in theirs}
    assert names & {f"n{i}" for i in range(10)}
    free = (alias(f"n{i}.example.com", "web") for i in range(10) if f"n{i}" not in names)
    wait_external(bed, theirs, *free)
    revision = bed.etcd.revision()
    assert metric(bed, "contested_services") == 0
    bed.etcd.put_all({"/skydns/local/cluster/beside": '{"host":"192.0.2.1"}'})
    bed.wait_records("/skydns/local/cluster/beside", {"/skydns/local/cluster/beside": '{"host":"192.0.2.1"}'})
    assert bed.etcd.revision() == revision + 1  # nobody goes on writing


def test_shares(bed):
    """Of more names than the ingress controller's Service may have, each namespace gets as many as the others."""
    kube = bed.kube
    for namespace, count in (("infra", 0), ("many", 6), ("few", 2)):
        kube.create_namespace(namespace)
        hosts = [f"{namespace}{i}.example.com" for i in range(count)]
        if hosts:
            kube.create("ingresses", ingress("shop", *hosts, namespace=namespace, ingressClassName="nginx"))
    kube.create("services", service("in", namespace="infra", clusterIP="10.96.0.15"))
    bed.start_kube2sky(ZONES, "--ingress=nginx=infra/in", "--max-owner-keys=4")

    def shares() -> list[str]:
        return sorted(key.split("/")[4][:3] for key in external(bed))

    wait_equal(shares, ["few", "few", "man", "man"], "the shares")  # a ready kube2sky may not have the Ingresses yet
    wait_until(lambda: metric(bed, "aliases_left") == 4, "the others are left")


def test_dry_run(bed):
    """Tells external names, too, once Ingresses are listed."""
    kube = bed.kube
    kube.create("services", service("in", clusterIP="10.96.0.15"))
    kube.create("ingresses", ingress("a", "a.example.com", ingressClassName="nginx"))
    stale = alias("gone.example.com", "in")
    bed.etcd.put_all(stale)
    kube.control("delay", seconds=0.5, match="ingresses")
    run = dry_run(bed, ZONES, "--ingress=nginx=default/in")
    assert run.returncode == 3, run.stderr
    for key, value in alias("a.example.com", "in").items():
        assert f"+ {key} {value}\n" in run.stdout
    for key in stale:
        assert f"- {key}\n" in run.stdout
    assert external(bed) == stale


def test_many_hosts(bed):
    """10,000 hosts of Ingresses come, and go with their class."""
    kube = bed.kube
    kube.create("services", service("in", clusterIP="10.96.0.15"))
    for i in range(100):
        hosts = [f"h{i}-{j}.example.com" for j in range(100)]
        kube.control("put", resource="ingresses", object=ingress(f"i{i}", *hosts, ingressClassName="nginx"))
    bed.start_kube2sky(ZONES, "--ingress=nginx=default/in")
    wait_until(lambda: len(external(bed)) == 10000, "all hosts", 60)
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky(ZONES, "--ingress=other=default/in")
    wait_until(lambda: not external(bed), "none", 60)


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ("com", "expected namespaces"),
        ("cluster.local", "expected a zone outside -domain"),
        ("example.com,", "expected a zone like"),
        ("example.com@", "expected namespaces like"),
        ("a_b.com", "expected a zone like"),
    ],
)
def test_wrong_flag(zones, expected):
    run = subprocess.run([BIN_DIR / "kube2sky", f"--override-zones={zones}"], capture_output=True, text=True)
    assert run.returncode == 2
    assert "flag -override-zones: `" in run.stderr and expected in run.stderr

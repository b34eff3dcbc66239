"""The Helm chart of docker/helm: the checked-in manifests are what it renders, every value has an effect, a wrong one is
refused by its name, roles follow the flags, and network policies let in what is used. test_manifests_real.py and
cluster/test_chart_objects.py show its objects to real API servers.
"""

import copy
import difflib
import json
import re
import subprocess

import chart
import manifests
import peers
import pytest
import yaml
from certificates import Authority
from kube import port, service
from programs import ETCD, Program, is_etcd_healthy, reserve_port, wait_until

LINTED = [*chart.SCENARIOS, *chart.names()]


def values_of(name: str) -> dict:
    if name in chart.SCENARIOS:
        return chart.SCENARIOS[name]
    return yaml.safe_load((chart.VALUES / f"{name}.yaml").read_text())


def at(value: dict, path: str):
    for part in path.split("."):
        value = value[part]
    return value


def with_value(values: dict, path: str, new) -> dict:
    changed = copy.deepcopy(values)
    inside = changed
    *parents, last = path.split(".")
    for part in parents:
        inside = inside.setdefault(part, {})
    inside[last] = new
    return changed


# ---- The checked-in manifests ----


def test_every_manifest_has_values_except_the_legacy_pod_s():
    rendered = {chart.manifest(name) for name in chart.names()}
    assert rendered >= set(manifests.FOLDER.glob("*.yaml")) - {manifests.FOLDER / "legacy-pod.yaml"}


@pytest.mark.parametrize("name", chart.names())
def test_a_manifest_is_what_the_chart_renders(name):
    """After a change of the chart: make manifests."""
    chart.helm_path()
    done = subprocess.run([chart.RENDER, name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    path = chart.manifest(name)
    lines = [text.splitlines() for text in (path.read_text(), done.stdout)]
    assert path.read_text() == done.stdout, "\n".join(difflib.unified_diff(*lines, str(path), "rendered", lineterm=""))


def test_the_chart_has_the_version():
    version = (manifests.ROOT / "VERSION").read_text().strip()
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (version, version), "make manifests"


@pytest.mark.parametrize("name", LINTED)
def test_helm_has_nothing_against_it(name):
    done = chart.helm("lint", str(chart.CHART), "--strict", "--namespace=kube-system", values=values_of(name))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^\[(?!INFO\] Chart.yaml: icon).*", done.stdout, re.M) == []


def test_it_is_packaged_with_what_its_links_lead_to(tmp_path):
    done = chart.helm("package", str(chart.CHART), f"--destination={tmp_path}")
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.iterdir()
    values = chart.SCENARIOS["everything"]
    done = chart.helm("template", "dns", str(package), "--namespace=kube-system", values=values)
    assert done.returncode == 0, done.stderr
    found = chart.parse(done.stdout)
    assert found == chart.objects(values)
    (rules,) = [one for one in found if one["kind"] == "PrometheusRule"]
    assert rules["spec"] == yaml.safe_load((manifests.ROOT / "docker/monitoring/alerts.yaml").read_text())
    (shown,) = [one for one in found if one["metadata"]["name"] == "cluster-dns-dashboard"]
    (text,) = shown["data"].values()
    ours = (manifests.ROOT / "docker/monitoring/dashboard.json").read_text()
    assert json.loads(text) == json.loads(re.sub(r"\$\{DS_\w+\}", "", ours)), "inputs are for an import"


# ---- Every value ----

_LOCAL = chart.SCENARIOS["link-local"] | {"nodeLocal": {"enabled": True}}
_PROXY = {"etcd": chart.EXTERNAL | chart.PROXY}
_DIGEST = "sha256:" + "1" * 64
_CPU = {"requests": {"cpu": "77m"}}
_POLICY = chart.SCENARIOS["members-node-local"]

# Path of each value: values beside it, another value, a text that only the second rendering has.
EFFECTS = {
    "clusterDomain": ({}, "k8s.example", "-domain=k8s.example."),
    "service.clusterIP": ({}, "fd00::10", "clusterIP: fd00::10"),
    "service.annotations": ({}, {"a.example/b": "c"}, 'a.example/b":"c'),
    "schema": ({}, "skydns", "-schema=skydns"),
    "pods": ({}, "disabled", "- -pods=disabled"),
    "autopath": ({"pods": "verified"}, True, "- -autopath"),
    "externalZone.zone": ({}, "lb.example.com", "-external-zones=lb.example.com."),
    "externalZone.headless": ({"externalZone": {"zone": "lb.example.com"}}, True, "--external-zone-headless"),
    "externalZone.public": ({"externalZone": {"zone": "lb.example.com"}}, True, "--external-zone-public"),
    "placement": ({"etcd": chart.EXTERNAL}, "every-node", "kind: DaemonSet"),
    "replicas": ({}, 7, "replicas: 7"),
    "nodeLocal.enabled": ({"etcd": chart.EXTERNAL}, True, "name: node-local"),
    "nodeLocal.address": (_LOCAL, "169.254.20.11", "-addr=169.254.20.11:53,"),
    "nodeLocal.linkLocalOnly": (_LOCAL, True, "-addr=169.254.20.10:53\n"),
    "nodeLocal.extraFlags": (_LOCAL, ["-log-queries"], '- "-log-queries"'),
    "etcd.mode": ({"etcd": {"endpoints": ["https://a.example:2379"]}}, "external", "--leader-elect"),
    "etcd.version": ({}, "3.5", "etcd:3.5"),
    "etcd.endpoints": ({"etcd": chart.EXTERNAL}, ["https://a.example:2379"], "-machines=https://a.example:2379"),
    "etcd.addresses": ({"etcd": chart.MEMBERS}, ["10.0.0.1", "10.0.0.2", "fd00::3"], "https://[fd00::3]:2379"),
    "etcd.storage.size": ({"etcd": chart.MEMBERS}, "9Gi", "storage: 9Gi"),
    "etcd.storage.className": ({"etcd": chart.MEMBERS}, "fast", "storageClassName: fast"),
    "etcd.secrets.kube2sky": ({"etcd": chart.EXTERNAL}, "other", "secretName: other"),
    "etcd.secrets.skydns": ({"etcd": chart.EXTERNAL}, "other", "secretName: other"),
    "etcd.secrets.members": ({"etcd": chart.MEMBERS}, "other", "secretName: other"),
    "etcd.usernames.kube2sky": ({"etcd": chart.EXTERNAL}, "writer", "--etcd-username=writer"),
    "etcd.usernames.skydns": ({"etcd": chart.EXTERNAL}, "reader", "-username=reader"),
    "etcd.proxy.enabled": ({"etcd": chart.EXTERNAL | {"proxy": {"clusterIP": "10.96.0.11"}}}, True, "grpc-proxy"),
    "etcd.proxy.clusterIP": (_PROXY, "10.96.0.12", "-machines=https://10.96.0.12:2379"),
    "etcd.proxy.replicas": (_PROXY, 9, "replicas: 9"),
    "etcd.proxy.secrets.etcd": (_PROXY, "other", "secretName: other"),
    "etcd.proxy.secrets.readers": (_PROXY, "other", "secretName: other"),
    "etcd.extraFlags": ({}, ["--log-level=error"], '- "--log-level=error"'),
    "etcd.resources": ({}, _CPU, "cpu: 77m"),
    "kube2sky.replicas": ({"etcd": chart.EXTERNAL}, 5, "replicas: 5"),
    "kube2sky.configMap": ({}, "dns/settings", "--config-map=dns/settings"),
    "kube2sky.endpoints": ({}, "auto", "--endpoints=auto"),
    "kube2sky.extraFlags": ({}, ["--ttl=60"], '- "--ttl=60"'),
    "kube2sky.resources": ({}, _CPU, "cpu: 77m"),
    "skydns.extraFlags": ({}, ["-ndots=2"], '- "-ndots=2"'),
    "skydns.files": ({}, [{"flag": "hosts", "configMap": "x", "keys": ["h"]}], "- -hosts=/etc/skydns/files/hosts/x/h\n"),
    "skydns.workers": ({}, 8, "-workers=8"),
    "skydns.lameduck": ({}, 11, "-lameduck=11"),
    "skydns.resources": ({}, _CPU, "cpu: 77m"),
    "exechealthz.extraFlags": ({}, ["-timeout=3s"], '- "-timeout=3s"'),
    "exechealthz.resources": ({}, _CPU, "cpu: 77m"),
    "tls.enabled": ({}, True, "tls://0.0.0.0:853"),
    "tls.secret": ({"tls": {"enabled": True}}, "other", "secretName: other"),
    "settings.kubeDNS.stubDomains": ({}, {"corp.example": ["192.0.2.1"]}, '{"corp.example":["192.0.2.1"]}'),
    "settings.kubeDNS.upstreamNameservers": ({}, ["192.0.2.1"], '["192.0.2.1"]'),
    "settings.kubeDNS.records": ({}, {"a.cluster.local": {"host": "192.0.2.1"}}, '{"host":"192.0.2.1"}'),
    "settings.skydns": ({}, {"ndots": 3}, '"ndots": 3'),
    "images.registry": ({}, "registry.example/", "image: registry.example/skydns:"),
    "images.pullPolicy": ({}, "Never", "imagePullPolicy: Never"),
    "images.pullSecrets": ({}, [{"name": "other"}], "imagePullSecrets:\n      - name: other"),
    "seccompProfile.type": ({}, "Unconfined", "type: Unconfined"),
    "seccompProfile.localhostProfile": ({"seccompProfile": {"type": "Localhost"}}, "a.json", "localhostProfile: a.json"),
    "user": ({}, 4711, "runAsUser: 4711"),
    "nodeSelector": ({}, {"disk": "ssd"}, "disk: ssd"),
    "tolerations": ({}, [{"key": "other", "operator": "Exists"}], "- key: other"),
    "podDisruptionBudget.enabled": ({}, False, None),
    "podDisruptionBudget.minAvailable": ({"replicas": 9}, 8, "minAvailable: 8"),
    "topologySpread": ({}, ["example.com/rack"], "topologyKey: example.com/rack"),
    "networkPolicy.enabled": ({}, True, "kind: NetworkPolicy"),
    "networkPolicy.monitoringNamespace": ({"networkPolicy": {"enabled": True}}, "watch", "name: watch"),
    "networkPolicy.nodes": (_POLICY, ["10.7.0.0/16"], "cidr: 10.7.0.0/16"),
    "monitoring.podMonitor.enabled": ({}, True, "kind: PodMonitor"),
    "monitoring.podMonitor.interval": ({"monitoring": chart.MONITORING}, "7s", "interval: 7s"),
    "monitoring.podMonitor.labels": ({"monitoring": chart.MONITORING}, {"release": "x"}, "release: x"),
    "monitoring.prometheusRule.enabled": ({}, True, "kind: PrometheusRule"),
    "monitoring.prometheusRule.labels": ({"monitoring": chart.MONITORING}, {"release": "x"}, "release: x"),
    "monitoring.prometheusRule.runbooks": ({"monitoring": chart.MONITORING}, "https://a.example/", "https://a.example/docs/"),
    "monitoring.dashboard.enabled": ({}, True, "cluster-dns.json"),
    "monitoring.dashboard.labels": ({"monitoring": chart.MONITORING}, {"grafana": "x"}, "grafana: x"),
    "visibleToPolicy.enabled": ({}, True, "kind: ValidatingAdmissionPolicy\n"),
} | {
    f"images.{name}.{key}": (beside, new, f"{separator}{new}")
    for name, beside in (("kube2sky", {}), ("skydns", {}), ("exechealthz", {}), ("nodeLocal", _LOCAL), ("etcd", {}))
    for key, new, separator in (("repository", "other", "image: "), ("tag", "v9", ":"), ("digest", _DIGEST, "@"))
}  # fmt: skip


def schema() -> dict:
    return json.loads((chart.CHART / "values.schema.json").read_text())


def leaves(value: dict, prefix: str = "") -> list[str]:
    """Paths of the schema's values; one that may have any keys is one."""
    if "$ref" in value:
        value = schema()["definitions"][value["$ref"].rsplit("/", 1)[1]]
    is_open = "properties" not in value or set(value["properties"]) == {"requests", "limits", "claims"}
    if is_open:
        return [prefix]
    return [path for key, inside in value["properties"].items() for path in leaves(inside, f"{prefix}.{key}".lstrip("."))]


def test_every_value_is_tried():
    assert set(EFFECTS) == set(leaves(schema())) - {"global"}  # helm's own


def test_values_yaml_has_every_value_and_no_other():
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    for path in EFFECTS:
        if not path.startswith("settings.kubeDNS.") and path != "seccompProfile.localhostProfile":
            at(values, path)
    assert set(values) == {path.split(".")[0] for path in EFFECTS}


@pytest.mark.parametrize("path", EFFECTS)
def test_a_value_has_an_effect(path):
    beside, new, text = EFFECTS[path]
    before, after = chart.template(beside), chart.template(with_value(beside, path, new))
    assert before != after
    assert text is None or (text in after and text not in before)
    flags = {}
    for value in chart.parse(after):
        for one in (manifests.pod_spec(value) or {}).get("containers", []):
            assert all(isinstance(text, str) for text in [*one.get("args", []), *one.get("command", [])])
            flags[one["name"]] = one
    assert set(flags) >= {"skydns", "kube2sky", "healthz"}


# ---- Wrong values ----


def test_values_of_another_type_are_refused_by_their_names():
    """No value is a list of lists."""
    values = {}
    for path in EFFECTS:
        values = with_value(values, path, [[7]])
    refused = chart.refusal(values)
    assert [path for path in EFFECTS if f"at '/{path.replace('.', '/')}" not in refused] == []


def test_values_that_do_not_exist_are_refused_by_their_names():
    values, parents = {}, {path.rpartition(".")[0] for path in EFFECTS}
    for path in parents:
        values = with_value(values, f"{path}.typo".lstrip("."), 1)
    refused = chart.refusal(values)
    for path in parents:
        where = "/" + path.replace(".", "/") if path else ""
        assert f"at '{where}': additional properties 'typo' not allowed" in refused


@pytest.mark.parametrize("path, value", [
    ("clusterDomain", "cluster.local."),
    ("service.clusterIP", "10.96.0.256"),
    ("service.clusterIP", ""),
    ("schema", "coredns"),
    ("externalZone.zone", "lb.example.com."),
    ("replicas", 0),
    ("etcd.endpoints", ["http://plain.example:2379"]),
    ("etcd.endpoints", ["https://no-port.example"]),
    ("etcd.addresses", ["dns-etcd-0"]),
    ("etcd.version", "2.3"),
    ("kube2sky.extraFlags", ["ttl=60"]),
    ("skydns.extraFlags", ["-ndots", "2"]),
    ("skydns.files", [{"flag": "config", "configMap": "x", "keys": ["a"]}]),
    ("skydns.files", [{"flag": "hosts", "keys": ["a"]}]),
    ("skydns.files", [{"flag": "hosts", "configMap": "x", "secret": "y", "keys": ["a"]}]),
    ("skydns.files", [{"flag": "hosts", "configMap": "x", "keys": ["../a"]}]),
    ("skydns.files", [{"flag": "tsig-keys", "secret": "x", "keys": ["a", "b"]}]),
    ("images.skydns.digest", "sha256:1"),
    ("images.registry", "registry.example"),
    ("monitoring.podMonitor.interval", "often"),
    ("networkPolicy.nodes", ["10.0.0.0"]),
    ("user", 0),
])  # fmt: skip
def test_a_wrong_value_is_refused_by_its_name(path, value):
    assert f"at '/{path.replace('.', '/')}" in chart.refusal(with_value({}, path, value))


@pytest.mark.parametrize("values, text", [
    ({"placement": "per-node"}, "placement: `per-node` needs an etcd outside of the pods"),
    ({"etcd": {"mode": "external"}}, "etcd.endpoints: empty"),
    ({"etcd": {"mode": "statefulset", "addresses": ["10.0.0.1"]}}, "etcd.addresses: 1 given"),
    ({"etcd": chart.PROXY}, "etcd.proxy.enabled: an etcd in each pod"),
    ({"etcd": chart.EXTERNAL | {"proxy": {"enabled": True}}}, "etcd.proxy.clusterIP: empty"),
    ({"etcd": chart.EXTERNAL | chart.PROXY | {"usernames": {"skydns": "x"}}}, "etcd.usernames: a proxy"),
    ({"etcd": {"usernames": {"skydns": "x"}}}, "etcd.usernames: the pod's own etcd has no users"),
    ({"nodeLocal": {"enabled": True}}, "nodeLocal.enabled: needs an etcd outside of the pods"),
    ({"externalZone": {"public": True}}, "externalZone.zone: empty"),
    ({"autopath": True}, "autopath: needs the pods' addresses; pods is `insecure`, expected `verified`"),
    ({"kube2sky": {"configMap": ""}, "settings": {"kubeDNS": {"records": {"a.b": {}}}}}, "settings.kubeDNS: nobody reads it"),
    (_POLICY | {"networkPolicy": {"enabled": True}}, "networkPolicy.nodes: empty"),
    ({"skydns": {"files": [{"flag": "tsig-keys", "secret": name, "keys": ["a"]} for name in "xy"]}},
     "skydns.files: flag `tsig-keys`: given twice"),
    ({"skydns": {"files": [{"flag": "client-ca", "secret": "x", "keys": ["a"]}]}}, "skydns.files: flag `client-ca`: needs listeners"),
])  # fmt: skip
def test_values_that_do_not_go_together_are_refused(values, text):
    assert text in chart.refusal(values)


# ---- Flags and roles ----

_SERVICES, _SLICES = ("", "services"), ("discovery.k8s.io", "endpointslices")
_EXTERNAL = ["--override-zones=example.com"]

# Flags: what they need beside Services and slices, in all namespaces unless it is named.
RIGHTS = {
    (): set(),
    ("--pods=verified",): {("", "pods")},
    ("--nodes",): {("", "nodes")},
    ("--nodes=false", "-events=false"): set(),
    ("-client_records",): {("", "pods"), ("", "nodes")},
    ("--namespace-visibility",): {("", "namespaces")},
    ("--namespace-labels=team=web,!legacy",): {("", "namespaces")},
    ("--endpoints=auto",): {("", "endpoints")},
    (*_EXTERNAL,): set(),
    (*_EXTERNAL, "--ingress=nginx=default/web"): {("networking.k8s.io", "ingresses")},
    (*_EXTERNAL, "--gateway=infra/a=default/web", "--gateway=infra/b=default/web", "--gateway=prod/a=default/web"): {
        ("gateway.networking.k8s.io", "httproutes"),
        ("gateway.networking.k8s.io", "gateways", "infra"), ("gateway.networking.k8s.io", "gateways", "prod"),
    },
    ("--events",): {("events.k8s.io", "events")},
    ("--multicluster",): {("multicluster.x-k8s.io", "serviceimports")},
    ("--multicluster=false",): set(),
    ("--config-map=dns/settings",): {("", "configmaps", "dns")},
    ("--config-map=",): {()},
}  # fmt: skip


def granted(values: dict) -> set[tuple]:
    """(group, resource) in all namespaces, (group, resource, namespace) in one."""
    found = set()
    for one in chart.objects(values):
        if one["kind"] in ("Role", "ClusterRole") and "kube2sky" in one["metadata"]["name"]:
            for rule in one["rules"]:
                expected = ["create", "patch"] if rule["resources"] == ["events"] else ["list", "watch"]
                assert rule["verbs"] == expected and len(set(rule["resources"])) == len(rule["resources"])
                where = (one["metadata"]["namespace"],) if one["kind"] == "Role" else ()
                found |= {(group, name, *where) for group in rule["apiGroups"] for name in rule["resources"]}
                assert rule.get("resourceNames") or rule["resources"] != ["configmaps"]
    return found


@pytest.mark.parametrize("flags", RIGHTS, ids=" ".join)
def test_roles_follow_the_flags(flags):
    config_map = {("", "configmaps", "kube-system")} if not any("config-map" in one for one in flags) else set()
    expected = {_SERVICES, _SLICES} | config_map | RIGHTS[flags]
    assert granted({"kube2sky": {"extraFlags": list(flags)}}) == expected - {()}


@pytest.mark.parametrize("flags", RIGHTS, ids=" ".join)
def test_roles_are_what_kube2sky_asks_with_these_flags(bed, flags):
    """Of the API server of the tests, which counts requests; a kind is listed and then watched."""
    found = chart.objects({"kube2sky": {"extraFlags": list(flags)}})
    (own,) = [one for value in found for one in (manifests.pod_spec(value) or {}).get("containers", [])
              if one["name"] == "kube2sky"]  # fmt: skip
    bed.kube.control("gateways")
    bed.kube.control("imports")
    bed.kube.create("services", service("web", port(80, "http"), port(81, "a" * 63)))  # for an event
    places = ("etcd", "healthz-port", "domain")
    bed.start_kube2sky(*(text for text in own["args"] if not any(place in text for place in places)))
    rules = [rule for one in found if one["kind"] in ("Role", "ClusterRole") for rule in one["rules"]]
    may = {(verb, name) for rule in rules for verb in rule["verbs"] for name in rule["resources"]}
    may.discard(("patch", "events"))  # of an event that goes on: test_events.py

    def asked() -> set[tuple[str, str]]:
        keys = {tuple(key.split(" ")) for key in bed.kube.control("state")["requests"]}
        return {(verb, name) for verb, name in keys if verb in ("list", "watch", "get", "create", "patch")}

    before = {("create", "services")}  # the test's own
    if "--endpoints=auto" in flags:  # while the server has slices
        before |= {("list", "endpoints"), ("watch", "endpoints")}
    wait_until(lambda: asked() | before >= may, "all requests")
    assert asked() | before == may | before


def test_endpoints_in_place_of_slices():
    assert granted({"kube2sky": {"endpoints": "endpoints"}}) == {_SERVICES, ("", "endpoints"), ("", "configmaps", "kube-system")}


@pytest.mark.parametrize(("flags", "expected"), [
    ([], "-domain=cluster.local."),
    (["--multicluster-domain=set.example"], "-domain=cluster.local."),
    (["--multicluster"], "-domain=cluster.local.,clusterset.local."),
    (["--multicluster", "--multicluster-domain=set.example."], "-domain=cluster.local.,set.example."),
])  # fmt: skip
def test_skydns_answers_the_multicluster_domain(flags, expected):
    found = chart.objects({"kube2sky": {"extraFlags": flags}})
    args = [one["args"] for value in found for one in (manifests.pod_spec(value) or {}).get("containers", [])
            if one["name"] == "skydns"]  # fmt: skip
    assert args and all(expected in one for one in args)


def test_namespaces_need_roles_there_alone():
    found = granted(chart.SCENARIOS["some-namespaces"])
    kinds = (_SERVICES, _SLICES, ("networking.k8s.io", "ingresses"), ("gateway.networking.k8s.io", "httproutes"))
    expected = {(*kind, namespace) for kind in kinds for namespace in ("default", "kube-public")}
    expected |= {("", "nodes"), ("gateway.networking.k8s.io", "gateways", "default"), ("", "configmaps", "kube-system")}
    assert found == expected


@pytest.mark.parametrize("name", chart.SCENARIOS)
def test_bindings_lead_from_kube2sky_to_its_roles(name):
    found = chart.objects(chart.SCENARIOS[name], namespace="dns")
    key = lambda one: (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace"))  # noqa: E731
    roles = {key(one) for one in found if one["kind"] in ("Role", "ClusterRole") and "kube2sky" in one["metadata"]["name"]}
    bound = set()
    for one in found:
        if one["kind"].endswith("Binding") and "subjects" in one:
            assert one["subjects"] == [{"kind": "ServiceAccount", "name": "kube2sky", "namespace": "dns"}]
            bound.add((one["roleRef"]["kind"], one["roleRef"]["name"], one["metadata"].get("namespace")))
    assert bound == roles
    assert len({key(one) for one in found}) == len(found)


# ---- Network policies: each port that listens, for those who use it ----

_DNS = {(53, "UDP"), (53, "TCP"), (853, "TCP"), (443, "TCP")}
POLICIES = ["members-node-local", "everything", "members", "external-replicas"]


@pytest.mark.parametrize("name", POLICIES)
def test_every_port_is_open_to_those_who_use_it_and_to_no_other(name):
    values = chart.SCENARIOS[name] | {"networkPolicy": {"enabled": True, "nodes": ["192.0.2.0/24"]}}
    found = chart.objects(values)
    policies = [one["spec"] for one in found if one["kind"] == "NetworkPolicy"]
    assert all(one["policyTypes"] == ["Ingress"] for one in policies), "queries go out, to the nodes' nameservers"
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}

    def pods(name: str) -> dict:
        return {"podSelector": {"matchLabels": {"app.kubernetes.io/name": name}}}

    node = {"ipBlock": {"cidr": "192.0.2.0/24"}}
    has_local, has_proxy = "nodeLocal" in values, "proxy" in values.get("etcd", {})
    readers = [pods("skydns"), *([node] if has_local else [])]
    users = {
        "dns-etcd": {"etcd": [pods("kube2sky"), *([pods("etcd-proxy")] if has_proxy else readers)],
                     "etcd-peer": [pods("dns-etcd")]},
        "etcd-proxy": {"etcd": readers},
    }  # fmt: skip
    owners = [one for one in found if manifests.pod_spec(one) and not manifests.pod_spec(one).get("hostNetwork")]
    assert len(owners) == len(policies), "one for each kind of pod"
    for owner in owners:
        labels = owner["spec"]["template"]["metadata"]["labels"]
        (policy,) = [one for one in policies if one["podSelector"]["matchLabels"].items() <= labels.items()]
        rules = {(one["port"], one["protocol"]): rule.get("from") for rule in policy["ingress"] for one in rule["ports"]}
        for port in [port for one in manifests.pod_spec(owner)["containers"] for port in one["ports"]]:
            if (port["containerPort"], port["protocol"]) in _DNS:
                assert rules.pop((port["containerPort"], port["protocol"])) is None, "for everybody"
            else:
                mine = users.get(labels["app.kubernetes.io/name"], {})
                assert rules.pop((port["name"], port["protocol"])) == mine.get(port["name"], [monitoring])
        assert rules == {}, "ports at which nothing listens"


# ---- The members ----


def test_members_know_each_other_without_dns():
    found = chart.objects(chart.SCENARIOS["members"])
    (owner,) = [one for one in found if one["kind"] == "StatefulSet"]
    pod = manifests.pod_spec(owner)
    aliases = {one["hostnames"][0]: one["ip"] for one in pod["hostAliases"]}
    services = {one["metadata"]["name"]: one["spec"] for one in found if one["kind"] == "Service"}
    (etcd,) = pod["containers"]
    (text,) = [text for text in etcd["command"] if text.startswith("--initial-cluster=")]
    members = dict(one.split("=") for one in text.removeprefix("--initial-cluster=").split(","))
    assert list(members) == [f"dns-etcd-{i}" for i in range(owner["spec"]["replicas"])]
    for name, url in members.items():
        assert f"--initial-advertise-peer-urls={url.replace(name, '$(POD_NAME)', 1)}" in etcd["command"]
        service = services[name]
        assert aliases[url.removeprefix("https://").removesuffix(":2380")] == service["clusterIP"]
        assert service["selector"] == {"statefulset.kubernetes.io/pod-name": name} and service["publishNotReadyAddresses"]
    addresses = ",".join(f"https://{services[name]['clusterIP']}:2379" for name in members)
    given = [text for one in found for inside in (manifests.pod_spec(one) or {}).get("containers", [])
             for text in inside.get("args", [])]  # fmt: skip
    assert f"-machines={addresses}" in given and f"--etcd-server={addresses}" in given


@pytest.mark.parametrize("version, flag", [
    ("3.4", "--experimental-peer-skip-client-san-verification"),
    ("3.5.21", "--experimental-peer-skip-client-san-verification"),
    ("3.6", "--peer-skip-client-san-verification"),
    ("3.7.3", "--peer-skip-client-san-verification"),
])  # fmt: skip
def test_a_flag_of_etcd_has_the_name_of_its_version(version, flag):
    assert f"- {flag}\n" in chart.template({"etcd": chart.MEMBERS | {"version": version}})


def member_etcds() -> list:
    """etcd's programs: the tests' own, and today's."""
    today = peers.missing("etcd")
    return [ETCD, pytest.param("today", marks=pytest.mark.skipif(bool(today), reason=today))]


@pytest.mark.parametrize("etcd", member_etcds())
def test_members_become_a_cluster(tmp_path, etcd):
    """On loopback addresses that only their certificates have: peers come from 127.0.0.1, which none has."""
    etcd = peers.program("etcd", "etcd") if etcd == "today" else etcd
    shown = subprocess.run([etcd, "--version"], capture_output=True, text=True, timeout=60).stdout
    version = re.search(r"etcd Version: (\d+\.\d+)", shown)[1]
    found = chart.objects({"etcd": chart.MEMBERS | {"version": version}})
    (owner,) = [one for one in found if one["kind"] == "StatefulSet"]
    (container,) = manifests.pod_spec(owner)["containers"]
    authority = Authority(tmp_path, "ca")
    places = [{f"127.0.0.{21 + i}:{port}": reserve_port() for port in (2379, 2380)} for i in range(3)]
    health = [reserve_port() for _ in range(3)]

    def argument(i: int, text: str) -> str:
        text = text.replace("$(POD_NAME)", f"dns-etcd-{i}").replace("0.0.0.0:2381", f"127.0.0.1:{health[i]}")
        text = text.replace("0.0.0.0:", f"dns-etcd-{i}.dns-etcd:").replace("/var/etcd/data", str(tmp_path / f"data-{i}"))
        for j, ports in enumerate(places):
            text = text.replace(f"dns-etcd-{j}.dns-etcd:", f"127.0.0.{21 + j}:")
            for place, number in ports.items():
                text = text.replace(place, f"127.0.0.{21 + j}:{number}")
        files = {"ca.crt": authority.certificate, "tls.crt": f"{tmp_path}/m{i}.crt", "tls.key": f"{tmp_path}/m{i}.key"}
        return re.sub(r"/etc/etcd-tls/([a-z.]+)", lambda m: files[m[1]], text)

    members = []
    try:
        for i in range(3):
            authority.sign(f"m{i}", address=f"127.0.0.{21 + i}")
            argv = [etcd, *(argument(i, text) for text in container["command"][1:])]
            members.append(Program(f"member {i}", argv).start())
        for member, number in zip(members, health):
            member.wait_ready(lambda: is_etcd_healthy(number), "healthy")
        members[0].kill()
        assert wait_until(lambda: is_etcd_healthy(health[1]), "two of three")
        members[0].start().wait_ready(lambda: is_etcd_healthy(health[0]), "back")
    finally:
        for member in members:
            member.kill()


# ---- What helm is told when it installs ----


def test_a_digest_wins_over_a_tag():
    values = {"images": {"registry": "r.example/", "skydns": {"tag": "1", "digest": _DIGEST}}}
    assert f"image: r.example/skydns@{_DIGEST}\n" in chart.template(values)


@pytest.mark.parametrize("name", ["members-node-local", "everything"])
def test_all_listens_on_ipv6_where_the_service_s_address_is(name):
    values = with_value(chart.SCENARIOS[name], "service.clusterIP", "fd00::10")
    text = chart.template(values)
    assert "=0.0.0.0" not in text and "//0.0.0.0" not in text and "-addr=[::]:53" in text
    if name == "members-node-local":
        assert "-addr=169.254.20.10:53,[fd00::10]:53\n" in text and "node-local on 169.254.20.10,fd00::10\n" in text


@pytest.mark.parametrize("version, values, text", [
    ("1.21.0", {}, ">=1.22.0-0"),
    ("1.33.9", {"etcd": chart.EXTERNAL, "placement": "per-node"}, "placement: `per-node` needs trafficDistribution"),
    ("1.29.3", {"visibleToPolicy": {"enabled": True}}, "visibleToPolicy.enabled: needs ValidatingAdmissionPolicy"),
])  # fmt: skip
def test_a_too_old_kubernetes_is_refused(version, values, text):
    done = chart.helm("template", "dns", str(chart.CHART), f"--kube-version={version}", values=values)
    assert done.returncode != 0 and text in done.stderr

"""docker/helm's objects with a current kube-apiserver: each would be created, its pods too, in a namespace of the Pod
Security level that they claim; kube2sky works with the chart's roles for all of its flags. And the way of helm itself:
install, upgrade, rollback, uninstall.
"""

import json
import subprocess

import chart
import manifests
import pytest
from asking import PATIENCE_S
from checks import ClusterBed
from kube import port, service
from programs import http_get, wait_until

pytestmark = pytest.mark.cluster

OPERATOR = {"PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}
GATEWAYS = {"Gateway": "gateways", "HTTPRoute": "httproutes"}


def definition(group: str, kind: str, plural: str, version_name: str = "v1") -> dict:
    """As little as the API server takes: of any content."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    meta = {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}}
    version = {"name": version_name, "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta,
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }  # fmt: skip


def write_list(folder, values: list[dict]) -> str:
    """The path of a file with these objects."""
    file = folder / "list.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": values}))
    return str(file)


@pytest.fixture(scope="module")
def definitions(cluster, tmp_path_factory):
    """The kinds of Prometheus Operator, the Gateway API and the multicluster API, while these tests run."""
    made = [definition("monitoring.coreos.com", kind, plural) for kind, plural in OPERATOR.items()]
    made += [definition("gateway.networking.k8s.io", kind, plural) for kind, plural in GATEWAYS.items()]
    made.append(definition("multicluster.x-k8s.io", "ServiceImport", "serviceimports", "v1alpha1"))
    file = write_list(tmp_path_factory.mktemp("definitions"), made)
    cluster.kubectl("apply", "-f", file)
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", file)
    yield
    cluster.kubectl("delete", "-f", file)


def dry_run(cluster, folder, *values: dict) -> subprocess.CompletedProcess:
    file = write_list(folder, list(values))
    return cluster.command("kubectl", "apply", "--dry-run=server", "-f", file)  # kube2sky's roles are there


@pytest.mark.parametrize("name", [*chart.SCENARIOS, *chart.names()])
def test_every_object_would_be_created(cluster, definitions, tmp_path, name):
    if name in chart.SCENARIOS:
        found = chart.objects(chart.SCENARIOS[name])
    else:
        found = chart.parse(chart.manifest(name).read_text())
    done = dry_run(cluster, tmp_path, *found)
    assert done.returncode == 0 and done.stdout.count("(server dry run)") == len(found), done.stderr


# ---- Pod Security ----


@pytest.fixture(scope="module")
def restricted(cluster):
    """A namespace that takes only pods of the level `restricted` of the newest version."""
    name = "dns-restricted"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    for account in ("default", "kube2sky"):
        command = ("-n", name, "create", "serviceaccount", account)
        cluster.command("kubectl", *command)  # the first one exists, or will in a moment
    wait_until(lambda: cluster.command("kubectl", "-n", name, "get", "serviceaccount", "default").returncode == 0, "it")
    yield name
    cluster.kubectl("delete", "namespace", name)


@pytest.mark.parametrize("name", [*chart.SCENARIOS, *chart.names()])
def test_every_pod_is_restricted_but_node_local_s(cluster, restricted, tmp_path, name):
    values = chart.SCENARIOS.get(name)
    found = chart.objects(values, restricted) if values else chart.parse(chart.manifest(name).read_text())
    for value in (one for one in found if manifests.pod_spec(one)):
        done = dry_run(cluster, tmp_path, manifests.trial_pod(value, restricted))
        if value["metadata"]["name"] == "node-local":
            assert done.returncode != 0 and 'violates PodSecurity "restricted:latest"' in done.stderr
            for reason in ("host namespaces", '"hostPath"', "unrestricted capabilities", "runAsUser=0"):
                assert reason in done.stderr
        else:
            assert done.returncode == 0, done.stderr
        for one in manifests.pod_spec(value)["containers"]:
            assert one["securityContext"]["readOnlyRootFilesystem"] is True


# ---- kube2sky with every flag that reads something ----

ALL_FLAGS = chart.SCENARIOS["everything"]["kube2sky"]["extraFlags"]


def test_roles_are_enough_for_every_flag_and_no_more(cluster, definitions, tmp_path, tmp_path_factory):
    """By the audit log. The cluster's own roles of kube2sky come back afterwards."""
    found = chart.objects(chart.SCENARIOS["everything"])
    roles = [one for one in found if one["apiVersion"].startswith("rbac") and "kube2sky" in one["metadata"]["name"]]
    file = write_list(tmp_path_factory.mktemp("roles"), roles)
    known = {one["auditID"] for one in cluster.audit()}
    bed = ClusterBed(tmp_path, cluster)
    cluster.kubectl("apply", "-f", file)
    try:
        flags = [flag for flag in bed.kube_flags if not flag.startswith("--pods")]
        bed.use_kube(bed.kube, [*flags, "--pods=verified", *ALL_FLAGS])
        bed.start_etcd()
        bed.kube.create("services", service("for-an-event", port(80, "http"), port(81, "a" * 63)))
        bed.start_kube2sky()
        rules = [rule for one in roles if one["kind"].endswith("Role") for rule in one["rules"]]
        may = {name for rule in rules for name in rule["resources"]}

        def new() -> list[dict]:
            return [one for one in cluster.audit() if one["auditID"] not in known and "objectRef" in one]

        wait_until(lambda: {one["objectRef"]["resource"] for one in new()} >= may, "all kinds asked for", PATIENCE_S)
        assert {one["objectRef"]["resource"] for one in new()} == may
        assert [one for one in new() if one.get("responseStatus", {}).get("code") == 403] == []
        strict = f"http://127.0.0.1:{bed.readiness_port}/readiness?strict"
        wait_until(lambda: http_get(strict)[0] == 200, "everything followed", PATIENCE_S)
    finally:
        bed.close()
        cluster.kubectl("delete", "-f", file)
        cluster.restore_account()
        cluster.kubectl("delete", "service", "for-an-event")


# ---- helm's own way ----

RELEASE, NAMESPACE = "dns", "helm-dns"
PATIENT = ("--wait", "--timeout=120s")


def helm(cluster, *arguments: str, values: dict | None = None) -> str:
    """Its output; it must succeed."""
    where = (f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}")
    done = chart.helm(*arguments, *where, values=values, home=cluster.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def left(cluster) -> set[str]:
    """What there is of a release: kind/name of its objects."""
    kinds = "serviceaccounts,roles,rolebindings,services,deployments,daemonsets,configmaps,poddisruptionbudgets,networkpolicies"
    listed = json.loads(cluster.kubectl("-n", NAMESPACE, "get", kinds, "-o", "json"))["items"]
    own = {"kube-root-ca.crt", "default"}
    return {f"{one['kind']}/{one['metadata']['name']}" for one in listed if one["metadata"]["name"] not in own}


@pytest.fixture
def no_roles(cluster):
    """The cluster's own roles of kube2sky give way to a release's, and come back. The release's namespace is there."""
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", "kube2sky")
    cluster.kubectl("-n", "kube-system", "delete", "role,rolebinding", "kube2sky")
    cluster.kubectl("create", "namespace", NAMESPACE)
    yield
    where = (f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}")
    chart.helm("uninstall", RELEASE, *where, home=cluster.folder)  # if the test has failed
    cluster.kubectl("delete", "namespace", NAMESPACE)
    cluster.restore_account()


def test_install_upgrade_rollback_uninstall(cluster, no_roles):
    """kwok plays the containers."""
    values = {"service": {"clusterIP": "10.96.77.10"}, "networkPolicy": {"enabled": True}}
    command = (RELEASE, str(chart.CHART), *PATIENT)
    helm(cluster, "install", *command, values=values)
    before = left(cluster)
    assert {"Deployment/skydns", "Service/kube-dns", "NetworkPolicy/skydns", "ServiceAccount/kube2sky"} <= before
    other = {"replicas": 3, "pods": "verified", "kube2sky": {"extraFlags": ["--events"]}}
    helm(cluster, "upgrade", *command, values=values | other)
    assert role(cluster)["rules"][0]["resources"] == ["services", "pods"]
    cluster.kubectl("get", "clusterrole", "kube2sky-events")
    helm(cluster, "rollback", RELEASE, "1", *PATIENT)
    assert left(cluster) == before and role(cluster)["rules"][0]["resources"] == ["services"]
    assert cluster.command("kubectl", "get", "clusterrole", "kube2sky-events").returncode != 0
    helm(cluster, "uninstall", RELEASE, *PATIENT)
    wait_until(lambda: left(cluster) == set(), "nothing left", PATIENCE_S)
    for kind in ("clusterrole", "clusterrolebinding"):
        assert "kube2sky" not in cluster.kubectl("get", kind, "-o", "name")


def test_a_service_of_another_is_taken_over_and_left(cluster, no_roles, tmp_path):
    """CoreDNS's, by the flags and the annotation that docs/operator/install.md names."""
    text = (chart.ROOT / "docs/operator/install.md").read_text()
    flags = ("--take-ownership", "--force-conflicts")
    keep = {"helm.sh/resource-policy": "keep"}
    assert all(f"`{flag}`" in text for flag in flags) and "`helm.sh/resource-policy: keep`" in text
    file = tmp_path / "service.json"
    ports = [{"name": name, "port": number, "protocol": protocol, "targetPort": number}
             for name, number, protocol in (("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP"))]  # fmt: skip
    spec = {"selector": {"k8s-app": "kube-dns"}, "clusterIP": "10.96.77.11", "ports": ports}
    meta = {"name": "kube-dns", "namespace": NAMESPACE, "labels": {"k8s-app": "kube-dns"}}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}))
    cluster.kubectl("create", "-f", str(file))
    values = {"service": {"clusterIP": "10.96.77.11", "annotations": keep}}
    helm(cluster, "install", RELEASE, str(chart.CHART), *flags, *PATIENT, values=values)
    assert {one["name"] for one in dns_service(cluster)["ports"]} == {"dns", "dns-tcp", "metrics", "skydns-metrics"}
    helm(cluster, "uninstall", RELEASE, *PATIENT)
    wait_until(lambda: left(cluster) == {"Service/kube-dns"}, "the Service alone left", PATIENCE_S)
    assert dns_service(cluster)["clusterIP"] == "10.96.77.11"


def dns_service(cluster) -> dict:
    return json.loads(cluster.kubectl("-n", NAMESPACE, "get", "service", "kube-dns", "-o", "json"))["spec"]


def role(cluster) -> dict:
    return json.loads(cluster.kubectl("get", "clusterrole", "kube2sky", "-o", "json"))

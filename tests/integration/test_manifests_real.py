"""docker/manifests with a real kube-apiserver: a dry-run creation of every object, and kube2sky with the rights of its
role and without each of them. Skipped unless KUBE_APISERVER names a starter of one (CONTRIBUTING.md).
"""

import copy
import json
import re
import subprocess
from pathlib import Path

import chart
import manifests
import pytest
import yaml
from bed import BIN_DIR
from dns_client import Dns
from kube import Kube, endpoint, endpoint_slice, headless, port, service
from manifests import AUTOPATH, EXTERNAL_ETCD, KUBE_DNS, TLS, Pod
from programs import Program, http_get, reserve_port, wait_until
from real_apiserver import RealApiserver

OURS = [KUBE_DNS, AUTOPATH, TLS, EXTERNAL_ETCD]
NEWER_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")  # of Kubernetes 1.30
BETA_SLICES = "/apis/discovery.k8s.io/v1beta1"


# ---- Dry-run creation of objects ----


def kubectl(server: RealApiserver, value: dict, *arguments: str) -> subprocess.CompletedProcess:
    config = server.flags[0].replace("--kubecfg-file", "--kubeconfig")
    # Its cache is keyed by address and port, which another test's server may have had.
    command = ["kubectl", config, f"--cache-dir={server.folder}/cache", *arguments, "-f", "-"]
    return subprocess.run(command, input=json.dumps(value), capture_output=True, text=True, timeout=60)


def has(server: RealApiserver, value: dict) -> bool:
    """Whether the server has this kind in this version."""
    version = value["apiVersion"]
    status, _, text = server.kube.send("GET", f"/apis/{version}" if "/" in version else f"/api/{version}", None, {})
    assert status in (200, 404)
    if status == 404:  # of an unknown group not as JSON
        return False
    return any(one["kind"] == value["kind"] for one in json.loads(text)["resources"])


def knows_traffic_distribution(server: RealApiserver) -> bool:
    """Whether its Services have the field of Kubernetes 1.30; PreferSameNode is of 1.34."""
    spec = server.kube.request("GET", "/openapi/v2")["definitions"]["io.k8s.api.core.v1.ServiceSpec"]
    return "trafficDistribution" in spec["properties"]


def knows_max_surge(server: RealApiserver) -> bool:
    """Whether its DaemonSets have the field of Kubernetes 1.22."""
    update = server.kube.request("GET", "/openapi/v2")["definitions"]["io.k8s.api.apps.v1.RollingUpdateDaemonSet"]
    return "maxSurge" in update["properties"]


def check_objects(server: RealApiserver, values: list[dict]) -> None:
    """For a kind that this server does not know, test_manifests.py and cluster/test_chart_objects.py check the fields."""
    unknown = set()
    for value in values:
        if has(server, value):
            if value["kind"] == "Service" and not knows_traffic_distribution(server):
                value["spec"].pop("trafficDistribution", None)
            if value["kind"] == "DaemonSet" and not knows_max_surge(server):
                value["spec"].pop("updateStrategy", None)
            done = kubectl(server, value, "create", "--dry-run=server")
            assert done.returncode == 0 and "(server dry run)" in done.stdout, done.stderr
        else:
            unknown.add((value["apiVersion"], value["kind"]))
    policies = {("admissionregistration.k8s.io/v1", kind) for kind in NEWER_POLICIES}
    operator = {("monitoring.coreos.com/v1", kind) for kind in ("PodMonitor", "PrometheusRule")}
    assert unknown <= {("policy/v1", "PodDisruptionBudget"), *policies, *operator}


@pytest.mark.parametrize("name", manifests.names())
def test_every_object_would_be_created(server, name):
    check_objects(server, manifests.objects(name))


@pytest.mark.parametrize("name", chart.SCENARIOS)
def test_every_object_and_pod_of_the_chart_would_be_created(server, name):
    found = copy.deepcopy(chart.objects(chart.SCENARIOS[name]))
    check_objects(server, found)
    for value in found:
        if manifests.pod_spec(value):
            done = kubectl(server, manifests.trial_pod(value), "create", "--dry-run=server")
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", OURS)
def test_a_budget_would_be_created_in_the_version_before(server, name):
    """policy/v1beta1 had the same fields."""
    for value in manifests.of_kind(name, "PodDisruptionBudget"):
        done = kubectl(server, value | {"apiVersion": "policy/v1beta1"}, "create", "--dry-run=server")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [*OURS, "node-local.yaml", "per-node.yaml"])
def test_every_pod_would_be_admitted(server, name):
    """A Deployment is accepted unchecked, even if its pods name, for example, an unknown priority class."""
    owners = [one for one in manifests.objects(name) if "template" in one.get("spec", {})]
    assert owners
    for value in owners:
        done = kubectl(server, manifests.trial_pod(value), "create", "--dry-run=server")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [
    ("spec", "template", "spec", "dnsPolicies"),
    ("spec", "template", "spec", "containers", 0, "readyProbe"),
])  # fmt: skip
def test_a_field_that_does_not_exist_is_found(server, path):
    (value,) = manifests.of_kind(KUBE_DNS, "Deployment")
    at = value
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = "x"
    done = kubectl(server, value, "create", "--dry-run=server")
    assert done.returncode != 0 and path[-1] in done.stderr


# ---- Rights ----


def command_line_with_port(secure_port: str) -> list[str]:
    """The command line of the running API server with this --secure-port."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_text().split("\0")[:-1]
        except OSError:
            continue
        if f"--secure-port={secure_port}" in argv and "kube-apiserver" in argv[0]:
            return argv
    pytest.skip("the starter's API server is not among the processes here")


class Guarded:
    """A second API server on the first one's store, which enforces roles: starters allow everything."""

    def __init__(self, server: RealApiserver, folder: Path):
        self.server, self.folder = server, folder
        number = reserve_port()
        argv = command_line_with_port(server.kube.url.rsplit(":", 1)[1])
        changes = {"--secure-port": str(number), "--authorization-mode": "RBAC"}
        argv = [f"{flag}={changes.get(flag, value)}" if value else flag for flag, _, value in
                (one.partition("=") for one in argv)]  # fmt: skip
        self.url = f"https://127.0.0.1:{number}"
        self.program = Program("kube-apiserver", argv).start()
        self.program.wait_ready(lambda: self._client().send("GET", "/readyz", None, {})[0] == 200, "ready", 90)
        self.kube = self._client()

    def _client(self) -> Kube:
        return Kube(self.url, self.server.kube.token, self.server.kube.ca_file)

    def put(self, value: dict) -> None:
        done = kubectl(self.server, value, "apply")
        assert done.returncode == 0, done.stderr

    def token_of(self, account: dict) -> str:
        """A new one of this service account."""
        meta = account["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{meta['name']}/token"
        wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return self.kube.request("POST", path, wish)["status"]["token"]

    def status(self, token: str, verb: str, resource: str) -> int:
        """Of a request that needs this right."""
        base = BETA_SLICES if resource == "endpointslices" else "/api/v1"
        query = "?watch=true&timeoutSeconds=1" if verb == "watch" else "?limit=1"
        if resource == "configmaps":
            base, query = f"{base}/namespaces/kube-system", query + "&fieldSelector=metadata.name%3Dkube-dns"
        return Kube(self.url, token, self.kube.ca_file).send("GET", f"{base}/{resource}{query}", None, {})[0]

    def kubeconfig(self, token: str) -> str:
        cluster = {"server": self.url, "certificate-authority": self.kube.ca_file}
        config = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = self.folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return str(file)


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    guarded = Guarded(server, tmp_path_factory.mktemp("guarded"))
    yield guarded
    guarded.program.kill()


def single_rights(role: dict) -> list[tuple[str, str]]:
    return [(verb, resource) for rule in role["rules"] for verb in rule["verbs"] for resource in rule["resources"]]


def without(role: dict, verb: str, resource: str) -> dict:
    """The role without this one right."""
    rules = []
    for rule in role["rules"]:
        others = [one for one in rule["resources"] if one != resource]
        rules += [rule | {"resources": others}] if others else []
        if resource in rule["resources"]:
            rules.append(rule | {"resources": [resource], "verbs": [one for one in rule["verbs"] if one != verb]})
    return role | {"rules": rules}


def rights(name: str) -> list[dict]:
    """Of kube2sky in this manifest: the objects that give them."""
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    return [value for kind in kinds for (value,) in [manifests.of_kind(name, kind)]]


def arguments(name: str) -> list[str]:
    """Of kube2sky in this manifest, but for those about etcd."""
    (container,) = [one for one in manifests.containers(name) if one.program == "kube2sky"]
    return [text for text in container.arguments if "etcd" not in text]


def test_over_tls_kube2sky_does_the_same_with_the_same_rights():
    """So what holds for the one holds for the other."""
    assert rights(TLS) == rights(KUBE_DNS) and arguments(TLS) == arguments(KUBE_DNS)


@pytest.mark.parametrize("name", [name for name in OURS if name != TLS])
def test_kube2sky_has_the_rights_it_needs_and_no_other(bare_bed, guarded, name):
    """It works with the role's rights; without any one of them it reports which is missing, until it is restored."""
    bed = bare_bed
    for value in rights(name):
        guarded.put(value)
    roles = [value for value in rights(name) if value["kind"] in ("ClusterRole", "Role")]
    (account,) = manifests.of_kind(name, "ServiceAccount")
    bed.start_etcd()
    plain = arguments(name)
    token = guarded.token_of(account)
    bed.use_kube(guarded.kube, [f"--kubecfg-file={guarded.kubeconfig(token)}"])
    bed.start_kube2sky(*(text for text in plain if "healthz-port" not in text and "domain" not in text))
    check_is_followed(bed, guarded, f"first-{name.split('.')[0]}")

    for role, verb, resource in [(role, *right) for role in roles for right in single_rights(role)]:
        guarded.put(without(role, verb, resource))
        # It applies a changed role a moment later, and does not check again a watch that it has allowed.
        wait_until(lambda: guarded.status(token, verb, resource) == 403, f"no {verb} of {resource}")
        bed.kube2sky.stop()
        since = len(bed.kube2sky.lines)
        bed.start_kube2sky(is_waiting=False)
        said = bed.kube2sky.wait_line(rf"API cannot be followed.* kind={resource} ", since)
        assert re.search(rf'cannot {verb} resource \\?"{resource}\\?"', said), said
        guarded.put(role)
        bed.kube2sky.wait_line(rf"API is followed.* kind={resource} ", since, timeout_s=60)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    check_is_followed(bed, guarded, f"last-{name.split('.')[0]}")
    everywhere = Kube(guarded.url, token, guarded.kube.ca_file)
    assert everywhere.send("GET", "/api/v1/namespaces/kube-system/configmaps", None, {})[0] == 403
    for resource in ("secrets", "nodes"):
        assert guarded.status(token, "list", resource) == 403


def check_is_followed(bed, guarded: Guarded, name: str) -> None:
    """From now on, new objects arrive by the watches."""
    made = guarded.kube.create("services", service(name, port(80, "http")))
    guarded.kube.create("services", headless(f"{name}-db", port(80, "http")))
    value = endpoint_slice(f"{name}-db", f"{name}-db", [endpoint("10.1.0.1", hostname="db-0")], port(80, "http"))
    value["apiVersion"] = BETA_SLICES.removeprefix("/apis/")
    guarded.kube.request("POST", f"{BETA_SLICES}/namespaces/default/endpointslices", value)
    prefix = f"/skydns/local/cluster/svc/default/{name}"
    wait_until(
        lambda: any(made["spec"]["clusterIP"] in one for one in bed.etcd.values(f"{prefix}/").values())
        and f"{prefix}-db/db-0" in bed.etcd.values(f"{prefix}-db/"),
        f"the keys of {name}",
    )


def test_kube_dns_answers_for_a_real_cluster(bare_bed, server):
    """The pod's containers as in the manifest, except for the credentials."""
    bed = bare_bed
    pod = Pod(manifests.containers(KUBE_DNS), bed.folder, BIN_DIR)
    pod.programs["kube2sky"].argv += server.flags
    bed.programs += pod.programs.values()
    pod.start(60)
    address = server.kube.get("services", "kubernetes")["spec"]["clusterIP"]
    assert Dns(pod.port(53)).answers("kubernetes.default.svc.cluster.local") == [address]
    assert all(http_get(url)[0] == 200 for name in pod.programs for url in pod.probe_urls(name))

"""docs/operator/migrate-from-coredns.md: its commands, one after the other, on a real kube-apiserver that has
what kubeadm creates. No controller runs there, so the test says what one would: that the pods are up. Skipped unless
KUBE_APISERVER names a starter (CONTRIBUTING.md) and kubectl is there.
"""

import copy
import os
import re
import shutil
from pathlib import Path

import manifests
import pytest
import yaml
from bed import BIN_DIR
from chapters import FROM_COREDNS, blocks, chapter, run_in
from manifests import Container, Pod

ROOT = Path(__file__).resolve().parents[2]
COREDNS = Path(__file__).parent / "coredns.yaml"
SYSTEM = "/namespaces/kube-system"
LABELS = {"k8s-app": "kube-dns"}


class Cluster:
    """kubectl as an administrator has it, in a folder with this tree's docker/."""

    def __init__(self, server, folder: Path):
        self.kube, self.folder = server.kube, folder
        config = server.flags[0].removeprefix("--kubecfg-file=")
        shutil.copytree(ROOT / "docker", folder / "docker")
        self.answering: Pod | None = None
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        script = bin_folder / "kubectl"
        script.write_text(
            f'#!/bin/sh\nexec {shutil.which("kubectl")} --kubeconfig={config} --cache-dir={folder}/cache "$@"\n'
        )
        script.chmod(0o755)
        self._environment = os.environ | {"PATH": f"{bin_folder}:{BIN_DIR}:{os.environ['PATH']}"}
        self._environment.pop("KUBECONFIG", None)
        self._use_served_versions()

    def _use_served_versions(self) -> None:
        """An API server before 1.21 has budgets only in the version before, with the same fields."""
        groups = self.kube.request("GET", "/apis")["groups"]
        versions = {one["groupVersion"] for group in groups for one in group["versions"]}
        for path in (self.folder / "docker/manifests").glob("*.yaml"):
            if "policy/v1" not in versions:
                path.write_text(path.read_text().replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n"))

    def run(self, *lines: str) -> str:
        return run_in(self.folder, self._environment, *lines)

    def get(self, path: str) -> dict:
        return self.kube.request("GET", path)

    def exists(self, path: str) -> bool:
        return self.kube.send("GET", path, None, {})[0] == 200

    def deployment(self, name: str) -> dict:
        return self.get(f"/apis/apps/v1{SYSTEM}/deployments/{name}")

    def service(self) -> dict:
        return self.get(f"/api/v1{SYSTEM}/services/kube-dns")

    def roll_out(self, name: str) -> None:
        """What the controllers would say of a Deployment whose pods are ready."""
        value = self.deployment(name)
        count = value["spec"]["replicas"]
        kinds = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
        status = {kind: count for kind in kinds} | {"observedGeneration": value["metadata"]["generation"]}
        path = f"/apis/apps/v1{SYSTEM}/deployments/{name}/status"
        self.kube.request("PATCH", path, {"status": status}, "application/merge-patch+json")


def what_people_set(value: dict) -> dict:
    """Without what the API server changes at each write."""
    value = copy.deepcopy(value)
    for field in ("resourceVersion", "managedFields", "generation"):
        value["metadata"].pop(field, None)
    value.pop("status", None)
    return value


@pytest.fixture
def cluster(server, tmp_path):
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    made = Cluster(server, tmp_path)
    made.run(f"kubectl create -f {COREDNS}")  # as kubeadm, which leaves no annotation of kubectl apply
    yield made
    made.run(
        f"kubectl delete --ignore-not-found --grace-period=0 -f {COREDNS}",
        "kubectl delete --ignore-not-found -f docker/manifests/kube-dns.yaml",
    )


def run_block(cluster: Cluster, lines: list[str], pod: Pod | None = None) -> str:
    """As one shell, but stopped where a controller would act, and dig asks the pod on its ports here."""
    done, so_far = "", []
    for line in lines:
        rollout = re.fullmatch(r"kubectl .* rollout status deployment/(\S+)", line)
        if rollout:
            done += cluster.run(*so_far)
            so_far = []
            cluster.roll_out(rollout[1])
        if pod:
            line = line.replace("@<pod ip>", f"@127.0.0.1 -p {pod.port(53)} +tries=1")
        so_far.append(line)
    return done + cluster.run(*so_far)


def ports(service: dict) -> dict[str, int]:
    return {port["name"]: port["port"] for port in service["spec"]["ports"]}


def applied_pod(bed, cluster: Cluster, server) -> Pod:
    """The pod of the Deployment in the cluster, with the credentials of the test."""
    value = cluster.deployment("skydns")
    spec = value["spec"]["template"]["spec"]
    of = [Container("applied", "Deployment/skydns", one, spec) for one in spec["containers"]]
    pod = Pod(of, bed.folder, BIN_DIR)
    pod.programs["kube2sky"].argv += server.flags
    # Nobody answers there; and there is nobody to wait for at the end.
    pod.programs["skydns"].argv += ["-nameservers=127.0.0.1:9", "-lameduck=0"]
    bed.programs += pod.programs.values()
    pod.start(60)
    return pod


def test_the_chapter_there_and_back(bare_bed, cluster, server):
    look, apply, query, stop, back, remove = blocks(chapter(*FROM_COREDNS))
    before = cluster.service()
    deployment = cluster.deployment("coredns")
    others = [
        f"/api/v1{SYSTEM}/configmaps/coredns",
        f"/api/v1{SYSTEM}/serviceaccounts/coredns",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:coredns",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:coredns",
    ]
    kept = {path: cluster.get(path) for path in others}

    printed = run_block(cluster, look)
    assert "--endpoint-names=address" in printed and "Without a counterpart" not in printed

    run_block(cluster, apply)
    during = cluster.service()
    assert during["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert during["spec"]["selector"] == LABELS
    assert ports(during) == {"dns": 53, "dns-tcp": 53, "metrics": 9153, "skydns-metrics": 10055}
    skydns = cluster.deployment("skydns")
    assert LABELS.items() <= skydns["spec"]["template"]["metadata"]["labels"].items()

    pod = applied_pod(bare_bed, cluster, server)
    answers = run_block(cluster, query, pod)
    address = cluster.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
    assert re.search(rf"^kubernetes\.default\.svc\.cluster\.local\.\s+30\s+IN\s+A\s+{address}$", answers, re.M)
    assert answers.count("status: NOERROR") == 1 and answers.count("status: SERVFAIL") == 1

    run_block(cluster, stop)
    assert cluster.deployment("coredns")["spec"]["replicas"] == 0
    run_block(cluster, back)
    assert cluster.deployment("skydns")["spec"]["replicas"] == 0
    run_block(cluster, remove)
    assert what_people_set(cluster.service()) == what_people_set(before)
    assert what_people_set(cluster.deployment("coredns")) == what_people_set(deployment)
    assert {path: cluster.get(path) for path in others} == kept
    for value in manifests.objects("kube-dns.yaml"):
        if value["kind"] != "Service":
            assert not exists(cluster, value), value["kind"]


def exists(cluster: Cluster, value: dict) -> bool:
    place = f"-n {value['metadata']['namespace']} " if "namespace" in value["metadata"] else ""
    kind, name = value["kind"].lower(), value["metadata"]["name"]
    return cluster.run(f"kubectl {place}get {kind} {name} --ignore-not-found -o name") != ""


def mounts_of_skydns(cluster: Cluster) -> list[dict]:
    containers = cluster.deployment("skydns")["spec"]["template"]["spec"]["containers"]
    return next(one["volumeMounts"] for one in containers if one["name"] == "skydns")


def test_the_settings_of_a_running_pod(cluster):
    """The commands of that chapter give the file to skydns, and its flag the path where it is; what was mounted
    before stays."""
    cluster.run("kubectl apply -f docker/manifests/kube-dns.yaml")
    before = mounts_of_skydns(cluster)
    ((commands),) = blocks(chapter("configure.md", "Settings of a running pod"))
    cluster.run(*commands)
    pod = cluster.deployment("skydns")["spec"]["template"]["spec"]
    (skydns,) = [one for one in pod["containers"] if one["name"] == "skydns"]
    assert before and [one for one in skydns["volumeMounts"] if one in before] == before
    (mount,) = [one for one in skydns["volumeMounts"] if one not in before]
    (volume,) = [one for one in pod["volumes"] if one["name"] == mount["name"]]
    settings = cluster.get(f"/api/v1{SYSTEM}/configmaps/{volume['configMap']['name']}")["data"]
    (flag,) = [text for text in skydns["args"] if text.startswith("-config=")]
    assert flag in [f"-config={mount['mountPath']}/{name}" for name in settings]
    cluster.run("kubectl delete -f docker/manifests/settings.yaml")


@pytest.mark.parametrize("name", ["kube-dns.yaml", "external-etcd.yaml"])
def test_the_manifests_apply_to_coredns_s_service(cluster, name):
    """Twice, too: what was applied is then a patch of what kubectl remembers."""
    (service,) = manifests.of_kind(name, "Service")
    (cluster.folder / "service.yaml").write_text(yaml.safe_dump(service))
    for _ in range(2):
        cluster.run("kubectl apply -f service.yaml")
        assert {"metrics": 9153, "skydns-metrics": 10055}.items() <= ports(cluster.service()).items()


def test_a_second_port_called_metrics_is_refused(cluster):
    """Why the manifests' port has a name of its own."""
    (service,) = manifests.of_kind("kube-dns.yaml", "Service")
    service["spec"]["ports"][-1]["name"] = "metrics"
    (cluster.folder / "service.yaml").write_text(yaml.safe_dump(service))
    with pytest.raises(AssertionError, match="Duplicate value"):
        cluster.run("kubectl apply -f service.yaml")

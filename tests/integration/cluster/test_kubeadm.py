"""docs/operator/migrate-from-coredns.md, with the real kubeadm: its commands before, in between and after."""

import json
import os
import shutil
import socket

import peers
import pytest
from bed import BIN_DIR
from chapters import FROM_COREDNS, blocks, chapter, run_in
from cluster import ROOT, Cluster, require_peers
from programs import wait_equal

pytestmark = pytest.mark.cluster

# Dual stack, as the cluster's flags: the first net has the address of the DNS Service.
CONFIG = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  criSocket: unix:///run/none.sock
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: {version}
networking:
  serviceSubnet: 10.96.0.0/16,fd00:10:96::/108
"""


class Administrator:
    """With kubeadm, kubectl and skydns in the path, in a folder with this tree's docker/."""

    def __init__(self, cluster: Cluster):
        self.cluster, self.folder = cluster, cluster.folder / "administrator"
        shutil.copytree(ROOT / "docker", self.folder / "docker")
        path = f"{peers.folder_of('kubernetes')}:{BIN_DIR}:{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "HOME": str(self.folder), "KUBECONFIG": cluster.kubeconfig}
        self.version = self.run("kubeadm version -o short").strip()
        (self.folder / "kubeadm.yaml").write_text(CONFIG.format(version=self.version))

    def run(self, *lines: str) -> str:
        return run_in(self.folder, self._environment, *lines)

    def init_coredns(self) -> None:
        self.run(f"kubeadm init phase addon coredns --config=kubeadm.yaml --kubeconfig={self.cluster.kubeconfig}")

    def plan_upgrade(self) -> None:
        """With an API server that is no static Pod, by any user."""
        ignored = "StaticPodManifest,IsPrivilegedUser"
        said = self.run(
            f"kubeadm upgrade plan {self.version} --kubeconfig={self.cluster.kubeconfig}"
            f" --ignore-preflight-errors={ignored}"
        )
        assert "Latest version in the" in said

    def replicas(self, name: str) -> int:
        return self.cluster.kube.get("deployments", name, "kube-system")["spec"]["replicas"]

    def service(self) -> dict:
        value = self.cluster.kube.get("services", "kube-dns", "kube-system")
        for field in ("resourceVersion", "managedFields", "generation"):
            value["metadata"].pop(field, None)
        return value

    def pods(self) -> set[str]:
        """The Deployments whose ready Pods the Service leads to."""
        slices = json.loads(self.run(
            "kubectl -n kube-system get endpointslices -l kubernetes.io/service-name=kube-dns -o json"
        ))["items"]  # fmt: skip
        ready = [one for item in slices for one in item["endpoints"] or [] if one["conditions"]["ready"]]
        return {one["targetRef"]["name"].split("-")[0] for one in ready}


@pytest.fixture
def administrator(tmp_path):
    """Of a cluster of the test's own, as kubeadm leaves it: this host is one of its nodes, and there are the Pods of
    the control plane, from which kubeadm reads its version.
    """
    require_peers()
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.start()
        cluster.add_nodes(2)
        cluster.add_node(socket.gethostname().lower())
        made = Administrator(cluster)
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"):
            cluster.kube.create("pods", {
                "metadata": {"name": f"{name}-node-0", "namespace": "kube-system",
                             "labels": {"component": name, "tier": "control-plane"}},
                "spec": {"hostNetwork": True, "nodeName": "node-0",
                         "containers": [{"name": name, "image": f"registry.k8s.io/{name}:{made.version}"}]},
            })  # fmt: skip
        made.run(f"kubeadm init phase upload-config all --config=kubeadm.yaml --kubeconfig={cluster.kubeconfig}")
        made.init_coredns()
        made.run("kubectl -n kube-system rollout status deployment/coredns")
        yield made
    finally:
        cluster.stop()


def test_kubeadm_takes_no_deployment_of_ours_for_coredns(administrator):
    look, apply, _, stop, back, remove = blocks(chapter(*FROM_COREDNS))
    before = administrator.service()
    administrator.plan_upgrade()
    printed = administrator.run(*look)
    assert "--endpoint-names=address" in printed and "Without a counterpart" not in printed
    administrator.run(*apply)
    wait_equal(administrator.pods, {"coredns", "skydns"}, "the slices of Pods that are rolled out")
    applied = administrator.service()
    administrator.run(*stop)
    administrator.run("kubectl -n kube-system wait --for=delete pod -l k8s-app=kube-dns,app.kubernetes.io/name!=skydns")
    wait_equal(administrator.pods, {"skydns"}, "the slices without the Pods that are gone")

    administrator.init_coredns()  # as `kubeadm upgrade apply` does
    administrator.plan_upgrade()
    assert administrator.replicas("coredns") == 0
    assert administrator.pods() == {"skydns"}
    administrator.run("kubectl apply -f kube-dns.yaml")
    again = administrator.service()
    assert again["spec"]["ports"] == applied["spec"]["ports"]

    administrator.run(*back)
    administrator.run(*remove)
    assert administrator.replicas("coredns") == 2
    administrator.plan_upgrade()
    administrator.init_coredns()
    after = administrator.service()
    assert (after["spec"], after["metadata"]["labels"]) == (before["spec"], before["metadata"]["labels"])

"""docker/manifests/node-local.yaml run by podman, on a node that is a network namespace with an etcd: the Service's address
comes, follows skydns's health, and is gone after the pod.
"""

import json
import os
import subprocess

import pytest
import yaml
from podman import IMAGES, ROOT, Podman
from private_space import PrivateSpace
from programs import Program, etcd, reserve_port, wait_equal

pytestmark = pytest.mark.pod

_POD = "node-local"
_LINK_LOCAL, _SERVICE = "169.254.20.10", "10.96.0.10"
_KUBERNETES = "/skydns/local/cluster/svc/default/kubernetes/a"
# Answers of the manifest's probes are enough: nobody fills this etcd.
_CHANGED_FLAGS = ("-machines=", "-ca-cert=", "-tls-pem=", "-tls-key=", "-require-store-key")


class NodeLocalPod:
    def __init__(self, podman: Podman, space: PrivateSpace, state: str):
        self._podman, self._space, self._state = podman, space, state

    def play(self, machines: str) -> None:
        daemon_set = yaml.safe_load((ROOT / "docker/manifests/node-local.yaml").read_text())
        spec = daemon_set["spec"]["template"]["spec"]
        state = {"name": "skydns-state", "hostPath": {"path": self._state, "type": "Directory"}}
        probes = f"{self._state}/probes"  # a kubelet's emptyDir is open to the pod's users, podman's is not
        os.mkdir(probes)
        os.chmod(probes, 0o777)
        spec["volumes"] = [state, {"name": "probes", "hostPath": {"path": probes, "type": "Directory"}}]
        for container in (*spec["initContainers"], *spec["containers"]):
            container["image"] = IMAGES[container["image"].partition(":")[0]]
            container["volumeMounts"] = [
                m for m in container.get("volumeMounts", []) if m["name"] in ("skydns-state", "probes")
            ]
            container.pop("readinessProbe", None)  # podman has only liveness probes, and these only when asked
            container.pop("livenessProbe", None)
        skydns = spec["containers"][0]
        skydns["args"] = [f"-machines={machines}", *(f for f in skydns["args"] if not f.startswith(_CHANGED_FLAGS))]
        # podman removes init containers of its type `once` when they end, and fails if it sees one still ending.
        metadata = {"name": _POD, "annotations": {"io.podman.annotations.init.container.type": "always"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self._podman.run("play", "kube", _written(self._state, pod))

    def log_text(self) -> str:
        logs = [self._podman.call("logs", "--tail", "40", f"{_POD}-{name}") for name in ("skydns", "healthz")]
        return "\n".join(done.stdout + done.stderr for done in logs)

    def addresses(self) -> list[str]:
        show = ["ip", "-json", "addr", "show", "dev", "skydns"]
        done = subprocess.run([*self._space.inside, *show], capture_output=True, text=True, timeout=60)
        return sorted(one["local"] for link in json.loads(done.stdout or "[]") for one in link["addr_info"])

    def answer(self, server: str) -> str:
        dig = ["dig", f"@{server}", "kubernetes.default.svc.cluster.local", "+short", "+timeout=2", "+tries=1"]
        return subprocess.run([*self._space.inside, *dig], capture_output=True, text=True, timeout=60).stdout.strip()


def _written(folder: str, pod: dict) -> str:
    path = f"{folder}/pod.json"
    with open(path, "w") as file:
        json.dump(pod, file)
    return path


@pytest.fixture
def machines(space, tmp_path):
    """The URL of an etcd on the node, with the name that the probes ask for."""
    port = reserve_port()
    url = f"http://127.0.0.1:{port}"
    plain = etcd(str(tmp_path / "etcd"), port, reserve_port())
    inside = Program("etcd", [*space.inside, *plain.argv])
    inside.start()
    try:
        wait_equal(lambda: space.http_status(f"{url}/health"), 200, "etcd")
        space.output(["etcdctl", f"--endpoints={url}", "put", _KUBERNETES, '{"host":"10.96.0.1"}'])
        yield url
    finally:
        inside.kill()


def test_the_pod_of_a_node(podman, space, machines, tmp_path, note):
    state = tmp_path / "state"
    state.mkdir()
    pod = NodeLocalPod(podman, space, str(state))
    try:
        pod.play(machines)
        wait_equal(pod.addresses, sorted([_SERVICE, _LINK_LOCAL]), "healthy")
        assert pod.answer(_SERVICE) == pod.answer(_LINK_LOCAL) == "10.96.0.1"
        assert "notrack" in space.output(["nft", "list", "table", "inet", "skydns"])
        assert podman.run("exec", f"{_POD}-healthz", "node-local", "check", f"{_LINK_LOCAL},{_SERVICE}") == ""
        podman.run("kill", "--signal=STOP", f"{_POD}-skydns")
        wait_equal(pod.addresses, [_LINK_LOCAL], "the Service's address is kube-proxy's")
        podman.run("kill", "--signal=CONT", f"{_POD}-skydns")
        wait_equal(pod.addresses, sorted([_SERVICE, _LINK_LOCAL]), "healthy again")
        for name in ("skydns", "healthz"):
            process = podman.inspect("container", f"{_POD}-{name}")["State"]["Pid"]
            note(f"node-local's {name}: resident {_resident_kib(process) / 1024:.1f} MiB")
        podman.run("pod", "stop", "-t", "60", _POD)
        assert pod.addresses() == [] and "skydns" not in space.output(["nft", "list", "ruleset"])
        assert (state / "snapshot").stat().st_uid == 65533
    except AssertionError:
        print(pod.log_text())
        raise
    finally:
        podman.call("pod", "rm", "-f", "-t", "0", _POD)


def _resident_kib(process: int) -> int:
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

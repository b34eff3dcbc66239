"""A node of a real cluster whose kubelet is podman: Pods that the scheduler gives it run as containers, each Pod in a network
namespace of its own with the address that the API shows, and are ready when their probes say so.

Real: the API server, scheduler, controllers, ServiceAccount tokens, images, containers and all that runs in them. Played: what
a kubelet does is here; kube-proxy is one rule for each port of the DNS Service. Liveness probes do not run.
"""

import datetime
import json
import subprocess
import threading
import time
from pathlib import Path

from cluster import Cluster
from kube import KubeError
from namespace_relay import NamespaceRelay
from podman import Podman
from private_space import PrivateSpace
from programs import Program, reserve_port, wait_until

NAME = "node-0"
API, DNS = "10.96.0.1", "10.96.0.10"
_GATEWAY, _ADDRESS = "10.244.0.1", "192.0.2.10"
_LEASE_S = 5.0
_PERIOD_S = 0.3


class ClusterOfPodman(Cluster):
    """kwok plays no node in it."""

    def _programs(self) -> dict[str, Program]:
        made = super()._programs()
        flags = made["kwok"].argv
        flags[flags.index("--manage-all-nodes")] = "--manage-nodes-with-label-selector=kwok.test/never"
        return made


class _Pod:
    """One that runs, or begins to."""

    def __init__(self, name: str, address: str, folder: Path, space: PrivateSpace):
        self.name, self.address, self.folder = name, address, folder
        folder.mkdir()
        folder.chmod(0o755)
        link = f"pod{address.rpartition('.')[2]}"
        script = (
            "ip link set lo up && ip link set eth0 up && "
            f"ip addr add {address}/24 dev eth0 && ip route add default via {_GATEWAY} && "
            # The Pod's sysctl, which podman does not set with hostNetwork.
            "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start && echo here && exec sleep infinity"
        )
        wait = "echo apart; until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done"
        self.holder = Program(link, [*space.inside, "unshare", "--net", "sh", "-c", f"{wait}; {script}"])
        self.holder.start()
        self.holder.wait_line("^apart$")
        for command in (
            ["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid)],
            ["ip", "link", "set", link, "master", "cni0", "up"],
        ):
            space.output(command)
        self.holder.wait_line("^here$")
        self.inside = [*space.apart, f"--net=/proc/{self.holder.pid}/ns/net"]
        self.forwards: dict[int, NamespaceRelay] = {}

    def close(self) -> None:
        for relay in self.forwards.values():
            relay.close()
        self.holder.kill()


class PodmanNode:
    """Of a cluster that runs. profiles: a kubelet's folder of seccomp profiles."""

    def __init__(self, folder: Path, cluster: Cluster, podman: Podman, space: PrivateSpace, profiles: Path):
        self._folder, self._cluster, self._podman, self._space = folder, cluster, podman, space
        self._profiles = profiles
        self._pid = int(space.apart[1].partition("=")[2])
        self._pods: dict[str, _Pod] = {}
        self._numbers = 1
        self._kube = cluster.connect()  # its thread's
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.errors: list[str] = []

    def start(self) -> None:
        self._space.output(["sh", "-ec", (
            f"ip addr add {API}/32 dev lo; ip link add cni0 type bridge; ip addr add {_GATEWAY}/24 dev cni0; "
            "ip link set cni0 up; ip route add default dev cni0"
        )])  # fmt: skip
        host, _, port = self._cluster.url.removeprefix("https://").partition(":")
        self._api = NamespaceRelay(self._pid, (API, 443), None, (host, int(port)))
        self._cluster.kube.create("nodes", {"metadata": {"name": NAME, "labels": {"kubernetes.io/hostname": NAME}}})
        self._report()
        self._thread.start()
        wait_until(lambda: not self._cluster.kube.get("nodes", NAME)["spec"].get("taints"), "the node is ready", 60)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        for name in list(self._pods):
            self._remove(name)
        self._api.close()
        # Other tests use this space.
        rules = "nft delete table ip services; " if self._has_rules() else ""
        self._space.output(["sh", "-ec", f"{rules}ip link del cni0; ip addr del {API}/32 dev lo"])

    # ---- For its users ----

    def exec_commands(self) -> dict[str, list[str]]:
        """For each Pod, by its name, the start of a command; a container's name and a program follow. In the Pod's network:
        podman thinks that it is the host's.
        """
        known = ("CONTAINERS_", "STORAGE_")
        environment = [f"{key}={value}" for key, value in self._podman.environment.items() if key.startswith(known)]
        return {pod.name: ["env", *environment, *pod.inside, "podman", "exec"] for pod in self._pods.values()}

    def ports(self) -> dict[str, int]:
        """This machine's ports that lead to those of its Pods: POD:PORT -> port."""
        return {f"{pod.name}:{number}": relay.port for pod in self._pods.values() for number, relay in pod.forwards.items()}

    def containers(self) -> list[str]:
        """Of all Pods; those of podman itself, which hold a Pod, are called after its id."""
        listed = self._podman.run("ps", "-a", "--format={{.Names}}").split()
        return [one for one in listed if any(one.startswith(f"{name}-") for name in self._pods)]

    def lead_dns(self) -> None:
        """The DNS Service's address leads to its ready endpoints, as kube-proxy would make it."""
        path = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices?labelSelector=kubernetes.io/service-name%3Dkube-dns"
        slices = self._cluster.kube.request("GET", path)["items"]
        ready = [one["addresses"][0] for each in slices for one in each["endpoints"] or [] if one["conditions"]["ready"]]
        targets = ", ".join(f"{number} : {address}" for number, address in enumerate(ready))
        lines = [f"{chain} ip daddr {DNS} {protocol} dport 53 dnat to numgen inc mod {len(ready)} map {{ {targets} }}"
                 for chain in ("output", "prerouting") for protocol in ("udp", "tcp")]  # fmt: skip
        rules = "table ip services\nflush table ip services\n" if self._has_rules() else ""
        rules += "".join(
            f"add table ip services\nadd chain ip services {chain} {{ type nat hook {chain} priority -100; }}\n"
            for chain in ("output", "prerouting")
        )
        rules += "".join(f"add rule ip services {line}\n" for line in lines)
        file = self._folder / "rules"
        file.write_text(rules)
        self._space.output(["nft", "-f", str(file)])

    def _has_rules(self) -> bool:
        return "table ip services" in self._space.output(["nft", "list", "tables"])

    def log_text(self) -> str:
        logs = [(name, self._podman.call("logs", "--tail", "30", name)) for name in self.containers()]
        return "\n".join([*self.errors, *(f"==> {name}\n{done.stdout}{done.stderr}" for name, done in logs)])

    # ---- A kubelet's work ----

    def _follow(self) -> None:
        reported_s = time.monotonic()
        while not self._stopped.wait(_PERIOD_S):
            try:
                if time.monotonic() - reported_s > _LEASE_S:
                    self._report(self._kube)
                    reported_s = time.monotonic()
                self._sync()
            except (AssertionError, OSError, KubeError, subprocess.SubprocessError) as error:
                self.errors.append(f"node: {error!r}")

    def _report(self, kube=None) -> None:
        """The node is there."""
        now = _now()
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now}
        resources = {"cpu": "8", "memory": "16Gi", "pods": "20"}
        status = {
            "conditions": [condition], "allocatable": resources, "capacity": resources,
            "addresses": [{"type": "InternalIP", "address": _ADDRESS}],
        }  # fmt: skip
        self._patch(kube or self._cluster.kube, f"/api/v1/nodes/{NAME}/status", status)

    @staticmethod
    def _patch(kube, path: str, status: dict) -> None:
        kube.request("PATCH", path, {"status": status}, "application/merge-patch+json")

    def _sync(self) -> None:
        listed = self._kube.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NAME}")["items"]
        for value in listed:
            name = value["metadata"]["name"]
            if value["metadata"].get("deletionTimestamp"):
                self._remove(name)
                path = self._kube.path("pods", value["metadata"]["namespace"], name)
                self._kube.request("DELETE", path, {"gracePeriodSeconds": 0})
            elif name not in self._pods:
                self._run(value)
            else:
                self._probe(value)

    def _remove(self, name: str) -> None:
        pod = self._pods.pop(name, None)
        if pod:
            self._podman.call("pod", "rm", "-f", "-t", "1", name)
            pod.close()

    def _run(self, value: dict) -> None:
        self._numbers += 1
        name = value["metadata"]["name"]
        pod = _Pod(name, f"10.244.0.{self._numbers}", self._folder / name, self._space)
        self._pods[name] = pod
        file = pod.folder / "pod.json"
        file.write_text(json.dumps(self._bent(value, pod)))
        command = [*pod.inside, "podman", "play", "kube", f"--seccomp-profile-root={self._profiles}", str(file)]
        done = subprocess.run(command, env=self._podman.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        pod.forwards = {
            port["containerPort"]: NamespaceRelay(
                None, ("127.0.0.1", reserve_port()), pod.holder.pid, ("127.0.0.1", port["containerPort"])
            )
            for one in value["spec"]["containers"] for port in one.get("ports", []) if port["protocol"] == "TCP"
        }  # fmt: skip
        self._probe(value)

    def _bent(self, value: dict, pod: _Pod) -> dict:
        """What podman lacks is done in a kubelet's way here."""
        spec = json.loads(json.dumps(value["spec"]))
        security = spec["securityContext"]
        security.pop("sysctls", None)
        profile = security.pop("seccompProfile")
        annotations = {}
        if profile["type"] == "Localhost":
            annotations["seccomp.security.alpha.kubernetes.io/pod"] = f"localhost/{profile['localhostProfile']}"
        volumes = []
        for one in spec["volumes"]:
            folder = pod.folder / one["name"]
            folder.mkdir()
            if "emptyDir" in one:
                folder.chmod(0o777)
            else:
                self._write_token(value, folder)
            volumes.append({"name": one["name"], "hostPath": {"path": str(folder), "type": "Directory"}})
        for one in spec["containers"]:
            one["imagePullPolicy"] = "Never"
            for key in ("ports", "readinessProbe", "livenessProbe", "terminationMessagePath", "terminationMessagePolicy"):
                one.pop(key, None)
            # Its CPU shares need a control group that this machine may not have.
            one["resources"] = {"limits": {"memory": one["resources"]["limits"]["memory"]}}
            one["env"] = [{"name": "KUBERNETES_SERVICE_HOST", "value": API}, {"name": "KUBERNETES_SERVICE_PORT", "value": "443"}]
        kept = ("containers", "securityContext", "restartPolicy")
        spec = {key: spec[key] for key in kept} | {"volumes": volumes, "hostNetwork": True}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod.name, "annotations": annotations}, "spec": spec}

    def _write_token(self, value: dict, folder: Path) -> None:
        """Bound to the Pod, as the kubelet asks for it."""
        meta = value["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{value['spec']['serviceAccountName']}/token"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
        (folder / "token").write_text(self._kube.request("POST", path, wish)["status"]["token"])
        authority = self._kube.get("configmaps", "kube-root-ca.crt", meta["namespace"])["data"]["ca.crt"]
        (folder / "ca.crt").write_text(authority)
        (folder / "token").chmod(0o644)

    def _probe(self, value: dict) -> None:
        """Reports the Pod's state, if it has changed."""
        meta, pod = value["metadata"], self._pods[value["metadata"]["name"]]
        ready = {one["name"]: self._is_ready(one, pod) for one in value["spec"]["containers"]}
        before = {one["name"]: one["ready"] for one in value["status"].get("containerStatuses", [])}
        if ready == before:
            return
        now, status = _now(), str(all(ready.values()))
        conditions = [{"type": kind, "status": status, "lastTransitionTime": now} for kind in ("Ready", "ContainersReady")]
        self._patch(self._kube, self._kube.path("pods", meta["namespace"], meta["name"]) + "/status", {
            "phase": "Running", "hostIP": _ADDRESS, "podIP": pod.address, "podIPs": [{"ip": pod.address}],
            "startTime": meta["creationTimestamp"],
            "conditions": [{"type": "Initialized", "status": "True", "lastTransitionTime": now}, *conditions],
            "containerStatuses": [
                {"name": one["name"], "image": one["image"], "imageID": "", "ready": ready[one["name"]],
                 "restartCount": 0, "state": {"running": {"startedAt": now}}}
                for one in value["spec"]["containers"]
            ],
        })  # fmt: skip

    def _is_ready(self, container: dict, pod: _Pod) -> bool:
        probe = container.get("readinessProbe", {}).get("httpGet")
        if not probe:
            return True
        ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        return self._space.http_status(f"http://{pod.address}:{ports[probe['port']]}{probe['path']}") == 200


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

"""docker/manifests/legacy-pod.yaml run by podman, with only the changes that podman and the machine require."""

import json
import re
from datetime import datetime
from pathlib import Path

import yaml
from kubelet import Kubelet
from podman import IMAGES, ROOT, Podman
from private_space import PrivateSpace
from programs import wait_until
from real_apiserver import RealApiserver

MANIFEST = ROOT / "docker/manifests/legacy-pod.yaml"
NAMES = ("etcd", "kube2sky", "skydns", "healthz")
_POD = "kube-dns"
_HEALTH, _READINESS = "http://127.0.0.1:8080/healthz", "http://127.0.0.1:8081/readiness"

# Far longer than anything here takes on a busy machine.
PATIENCE_S = 180.0

# The log line with which each starts its work.
_AT_WORK = {
    "etcd": "ready to serve client requests",
    "kube2sky": "in sync",
    "skydns": r"ready for queries on cluster\.local\. for udp:",
    "healthz": " started ",
}
_NANOSECONDS = 10**9


def image_of(name: str) -> str:
    return IMAGES["exechealthz" if name == "healthz" else name]


def _liveness_probe(healthcheck: dict) -> dict:
    """An image's HEALTHCHECK as a kubelet's probe."""
    assert healthcheck["Test"][0] == "CMD"
    return {
        "exec": {"command": healthcheck["Test"][1:]},
        "initialDelaySeconds": 1,  # podman ignores earlier failures; the tests wait until the pod is up
        "periodSeconds": healthcheck["Interval"] // _NANOSECONDS,
        # Not the image's: the checks time out by themselves within 4 s, but podman also counts their process start.
        "timeoutSeconds": 60,
        "failureThreshold": healthcheck["Retries"],
    }


def _bend(container: dict, healthcheck: dict, kubeconfig: Path) -> None:
    container["image"] = image_of(container["name"])
    container.pop("ports", None)  # rejected with hostNetwork, where they are the same anyway
    # podman would run curl and wget in the container for httpGet, and never restarts a container without a probe.
    container.pop("readinessProbe", None)
    container["livenessProbe"] = _liveness_probe(healthcheck)
    if container["name"] == "kube2sky":
        container["args"].append(f"--kubecfg-file={kubeconfig}")
        folder = str(kubeconfig.parent)
        container["volumeMounts"] = [{"name": "api", "mountPath": folder, "readOnly": True}]
    if container["name"] == "healthz":
        # podman runs a probe as a process in the container: with 10m its start alone takes most of its time.
        container["resources"]["limits"]["cpu"] = "100m"


class LegacyPod:
    """The pod, not yet started."""

    def __init__(self, folder: Path, podman: Podman, space: PrivateSpace, apiserver: RealApiserver):
        self._manifest = folder / "pod.json"
        self._podman = podman
        self._space = space
        self._kubeconfig = Path(apiserver.flags[0].partition("=")[2])
        self._services = 0
        self.probe_s = 0.0  # time in which the probe gets a hung container restarted
        self._periods: dict[str, float] = {}

    def play(self) -> None:
        controller = yaml.safe_load(MANIFEST.read_text())
        spec = controller["spec"]["template"]["spec"]
        spec["hostNetwork"] = True
        for container in spec["containers"]:
            image = self._podman.inspect("image", image_of(container["name"]))
            _bend(container, image["Healthcheck"], self._kubeconfig)
            self._take_times(container)
        folder = str(self._kubeconfig.parent)
        spec["volumes"].append({"name": "api", "hostPath": {"path": folder, "type": "Directory"}})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": _POD}, "spec": spec}
        self._manifest.write_text(json.dumps(pod))
        self._podman.run("play", "kube", str(self._manifest))

    def remove(self) -> None:
        """Gives its ports back to the tests that follow."""
        self._podman.call("pod", "rm", "-f", "-t", "0", _POD)

    def _take_times(self, container: dict) -> None:
        probe = container["livenessProbe"]
        grace_s = 10  # podman's, between SIGTERM and SIGKILL
        check_s = 5
        whole_s = probe["periodSeconds"] * probe["failureThreshold"] + check_s + grace_s
        self._periods[f"{_POD}-{container['name']}"] = probe["periodSeconds"]
        self.probe_s = max(self.probe_s, whole_s)

    def kubelet(self) -> Kubelet:
        return Kubelet(self._podman, self._periods)

    # ---- Its containers ----

    def _state(self, name: str) -> dict:
        return self._podman.inspect("container", f"{_POD}-{name}")["State"]

    def pids(self) -> dict[str, int]:
        """0 for a container that is not running."""
        return {name: self._state(name)["Pid"] for name in NAMES}

    def wait_restarted(self, name: str, before: dict[str, int]) -> None:
        def is_another() -> bool:
            pid = self._state(name)["Pid"]
            return pid not in (0, before[name])

        wait_until(is_another, f"{name} runs again", PATIENCE_S)

    def run_in(self, name: str, *command: str) -> tuple[int, str]:
        """Exit status and output of a command in a container."""
        done = self._podman.call("exec", f"{_POD}-{name}", *command)
        return done.returncode, done.stdout + done.stderr

    def etcd_data(self) -> Path:
        """The folder of its emptyDir."""
        mounts = self._podman.inspect("container", f"{_POD}-etcd")["Mounts"]
        return next(Path(mount["Source"]) for mount in mounts if mount["Destination"] == "/var/etcd/data")

    def log_text(self) -> str:
        logs = [(name, self._podman.call("logs", "--tail", "40", f"{_POD}-{name}")) for name in NAMES]
        return "\n".join(f"==> {name}\n{done.stdout}{done.stderr}" for name, done in logs)

    def seconds_to_work(self, name: str) -> float:
        """From the container's start to its _AT_WORK line."""
        done = self._podman.call("logs", "-t", f"{_POD}-{name}")
        line = next(each for each in (done.stdout + done.stderr).splitlines() if re.search(_AT_WORK[name], each))
        # Python does not parse nanoseconds.
        at_work, started = (
            datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", text.replace("Z", "+00:00")))
            for text in (line.split()[0], self._state(name)["StartedAt"])
        )
        return (at_work - started).total_seconds()

    def resident_kib(self, name: str) -> tuple[int, int]:
        """Total, and anonymous memory."""
        text = Path(f"/proc/{self._state(name)['Pid']}/status").read_text()
        return tuple(int(re.search(rf"^{field}:\s+(\d+) kB", text, re.M)[1]) for field in ("VmRSS", "RssAnon"))

    # ---- Its users ----

    def _kubectl(self, *arguments: str) -> str:
        return self._space.output(["kubectl", "--kubeconfig", str(self._kubeconfig), *arguments])

    def make_service(self) -> tuple[str, str]:
        """Creates a Service; returns its name and address."""
        self._services += 1
        name = f"web-{self._services}"
        self._kubectl("create", "service", "clusterip", name, "--tcp=80:80")
        return name, self._kubectl("get", "service", name, "-o", "jsonpath={.spec.clusterIP}")

    def is_answered(self, name: str, address: str) -> bool:
        """Queries with nslookup in the healthz container."""
        status, output = self.run_in("healthz", "nslookup", f"{name}.default.svc.cluster.local", "127.0.0.1")
        return status == 0 and re.search(rf"^Address.*{re.escape(address)}$", output, re.M) is not None

    def keys(self, service: str) -> list[str]:
        """Reads with etcdctl in the etcd container."""
        prefix = f"/skydns/local/cluster/svc/default/{service}/"
        status, output = self.run_in("etcd", "etcdctl", "get", "--prefix", "--keys-only", prefix)
        return output.split() if status == 0 else []

    def health(self) -> int:
        return self._space.http_status(_HEALTH)

    def wait_healthy(self) -> None:
        """Waits for both HTTP probes of the manifest."""
        wait_until(lambda: self.health() == 200, "health 200", PATIENCE_S)
        wait_until(lambda: self._space.http_status(_READINESS) == 200, "readiness 200", PATIENCE_S)

    def wait_right(self, service: tuple[str, str]) -> None:
        name, address = service
        wait_until(lambda: self.is_answered(name, address), f"{name} is answered with {address}", PATIENCE_S)
        wait_until(lambda: self.keys(name), f"keys of {name}", PATIENCE_S)

    def wait_well(self) -> tuple[str, str]:
        """Waits until all four work, for a new Service; returns it."""
        service = self.make_service()
        self.wait_right(service)
        self.wait_healthy()
        return service

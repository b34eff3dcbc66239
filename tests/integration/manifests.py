"""The manifests of docker/manifests, for the tests: their objects, their containers, and a pod's containers
run as processes on the test's own loopback ports.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml
from programs import ETCD, Program, http_get, reserve_port

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docker/manifests"
KUBE_DNS, EXTERNAL_ETCD, AUTOPATH = "kube-dns.yaml", "external-etcd.yaml", "kube-dns-autopath.yaml"
TLS = "kube-dns-tls.yaml"
PROGRAMS = ("kube2sky", "skydns", "exechealthz")


def names() -> list[str]:
    return sorted(path.name for path in FOLDER.glob("*.yaml"))


def objects(name: str) -> list[dict]:
    with open(FOLDER / name) as file:
        return [value for value in yaml.safe_load_all(file) if value]


def of_kind(name: str, kind: str) -> list[dict]:
    return [value for value in objects(name) if value["kind"] == kind]


def pod_spec(value: dict) -> dict | None:
    """The spec of a Pod, or of the pods that an object creates."""
    if value["kind"] == "Pod":
        return value["spec"]
    return value.get("spec", {}).get("template", {}).get("spec")


def trial_pod(value: dict, namespace: str = "kube-system") -> dict:
    """The first Pod that a Deployment, DaemonSet or StatefulSet creates: the API checks those only then."""
    pod = dict(pod_spec(value))
    claims = [one["metadata"]["name"] for one in value["spec"].get("volumeClaimTemplates", [])]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-trial"}} for name in claims]
    pod["volumes"] = [*pod.get("volumes", []), *volumes]
    meta = value["spec"]["template"]["metadata"] | {"name": "trial", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}


def program_of(image: str) -> str:
    """`registry/path/skydns:1.0` is skydns; the image of node-local starts exechealthz."""
    name = image.rsplit("/", 1)[-1].split(":", 1)[0]
    return "exechealthz" if name == "node-local" else name


@dataclass
class Container:
    manifest: str
    owner: str  # kind/name
    value: dict
    pod: dict

    @property
    def program(self) -> str:
        return program_of(self.value["image"])

    @property
    def arguments(self) -> list[str]:
        """The program's arguments; the first word of an etcd's command is the program itself."""
        return [*self.value.get("command", [])[1:], *self.value.get("args", [])]

    @property
    def ports(self) -> dict[str, int]:
        return {port["name"]: port["containerPort"] for port in self.value.get("ports", [])}

    def probes(self) -> list[dict]:
        """The httpGet of each probe."""
        kinds = ("livenessProbe", "readinessProbe", "startupProbe")
        return [self.value[kind]["httpGet"] for kind in kinds if kind in self.value]


def containers(name: str) -> list[Container]:
    found = []
    for value in objects(name):
        pod = pod_spec(value)
        owner = f"{value['kind']}/{value['metadata']['name']}"
        for one in (pod or {}).get("containers", []):
            found.append(Container(name, owner, one, pod))
    return found


# Client port of the pod's etcd; the manifest declares no port for it.
_ETCD_PORT = 2379
_ETCD_DATA = "/var/etcd/data"
STATE = "/var/lib/skydns"
TLS_FILES = "/etc/skydns/tls"
# test_orders.py tests that the containers may start in any order.
_ORDER = ("etcd", *PROGRAMS)


class Pod:
    """Containers as processes. Ports are replaced by the test's own, and every address by 127.0.0.1."""

    def __init__(self, of: list[Container], folder: Path, bin_dir: Path, edit: Callable[[str], str] = str):
        """edit: changes each argument, to replace what else exists only in a cluster."""
        self._containers = sorted(of, key=lambda one: _ORDER.index(one.program))
        declared = {number for one in of for number in one.ports.values()}
        self._numbers = {number: reserve_port() for number in sorted(declared | {_ETCD_PORT})}
        alternatives = "|".join(str(number) for number in self._numbers)
        self._state = folder / "pod-skydns"
        self._state.mkdir(mode=0o700, exist_ok=True)
        self._port = re.compile(rf"(?<=[:=])({alternatives})(?![\w.])")
        self.programs: dict[str, Program] = {}
        for one in self._containers:
            arguments = [self._here(edit(text)) for text in one.arguments]
            if one.program == "etcd":
                arguments = [text.replace(_ETCD_DATA, str(folder / "pod-etcd")) for text in arguments]
                arguments.append(f"--listen-peer-urls=http://127.0.0.1:{reserve_port()}")
            path = ETCD if one.program == "etcd" else str(bin_dir / one.program)
            self.programs[one.program] = Program(one.program, [path, *arguments])

    def _here(self, text: str) -> str:
        text = text.replace("0.0.0.0", "127.0.0.1").replace(f"={STATE}/", f"={self._state}/")
        return self._port.sub(lambda m: str(self._numbers[int(m[1])]), text)

    def port(self, number: int) -> int:
        """The test's port for a port of the manifest."""
        return self._numbers[number]

    def probe_urls(self, program: str) -> list[str]:
        """URLs of its container's probes, as the kubelet would request them."""
        asked = [(probe, one) for one in self._containers if one.program == program for probe in one.probes()]
        # A probe may name a port of its own container, or give any number.
        numbers = [one.ports.get(probe["port"], probe["port"]) for probe, one in asked]
        return [
            f"http://127.0.0.1:{self.port(number)}{probe['path']}" for number, (probe, _) in zip(numbers, asked)
        ]

    def start(self, timeout_s: float = 20.0) -> None:
        """Starts each program once every probe of the previous one succeeds."""
        for name, program in self.programs.items():
            program.start()
            for url in self.probe_urls(name):
                program.wait_ready(lambda: http_get(url)[0] == 200, url, timeout_s)

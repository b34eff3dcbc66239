"""Both servers beside each other: kube2sky and skydns, and CoreDNS, follow one cluster and forward to one nameserver."""

from pathlib import Path

import differential_outside
from bed import Bed
from cluster import ACCOUNT
from dns_client import Dns
from kube import Kube, endpoint, endpoint_slice, headless, service
from differential_view import PATHS, SERVICE_NAME, View
from differential_world import World
from programs import Program, http_get, reserve_port, wait_until

SETTLE_S = 60.0  # only ends a hang
_NS = "settled"


def _corefile(port: int, ready: int, upstream: int, kubeconfig: str, pods: str, names: str) -> str:
    """kubeadm's, without `cache`, which would hide changes for 30 s, and without `loop`, which asks for names."""
    more = "endpoint_pod_names" if names == "pod" else ""
    return f""".:{port} {{
    bind 127.0.0.1
    errors
    ready 127.0.0.1:{ready}
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods {pods}
        {more}
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
    forward . 127.0.0.1:{upstream} {{
        max_fails 0
    }}
    loadbalance
}}
"""


class Pair:
    """The two servers. cluster: started; coredns: the program's path; pods: verified, insecure or disabled; names:
    address or pod."""

    def __init__(self, folder: Path, cluster, coredns: str, pods: str, names: str):
        self.cluster, self.pods, self.names = cluster, pods, names
        self.kube: Kube = cluster.kube
        self.bed = Bed(folder)
        self._outside_port = reserve_port()
        self._ready_port = reserve_port()
        self.theirs = Dns(reserve_port())
        self.ours = self.bed.dns
        text = _corefile(self.theirs.port, self._ready_port, self._outside_port, cluster.kubeconfig, pods, names)
        text += differential_outside.write(folder, self._outside_port)
        (folder / "Corefile").write_text(text)
        self._coredns = Program("coredns", [coredns, "-conf", str(folder / "Corefile")])
        self._round = 0

    @property
    def ports(self) -> tuple[int, int]:
        return self.ours.port, self.theirs.port

    def start(self) -> None:
        _permit_pods(self.kube)
        self.bed.start_etcd()
        self.bed.use_kube(self.kube, self.cluster.kube2sky_flags())
        self._coredns.start()
        has_pods = "verified" if self.pods == "verified" else "disabled"
        self.bed.start_kube2sky(f"--endpoint-names={self.names}", f"--pods={has_pods}")
        self.bed.start_skydns(
            f"-nameservers=127.0.0.1:{self._outside_port}", "-rtimeout=20s", "-schema=kubernetes", f"-pods={self.pods}",
            "-hostmaster=hostmaster@cluster.local",
        )  # fmt: skip
        url = f"http://127.0.0.1:{self._ready_port}/ready"
        self._coredns.wait_ready(lambda: http_get(url)[0] == 200, "ready", SETTLE_S)

    def close(self) -> None:
        self._coredns.kill()
        self.bed.close()

    def log_text(self) -> str:
        return self.bed.log_text() + "\n" + self._coredns.log_text()

    # ---- Until both know everything ----

    def objects(self) -> dict[str, list[dict]]:
        return {name: self.kube.request("GET", path)["items"] for name, path in PATHS.items()}

    def view(self) -> View:
        return View(self.objects(), self.pods, self.names)

    def settle(self) -> View:
        """Waits until the controllers have nothing to do, and both servers have the last objects of each kind; what they
        then have."""
        wait_until(lambda: _are_slices_made(self.objects(), self.kube), "the controllers' slices", SETTLE_S)
        self._round += 1
        name = f"n-{self._round}"
        self._put_last_objects(name)
        for host, right in self._last_names(name).items():
            for server in (self.ours, self.theirs):
                wait_until(lambda: server.answers(host) == right, f"{host} -> {right}", SETTLE_S)
        host = f"{_NS}-{name}.svc.cluster.local"  # a name at CoreDNS only: skydns knows no Namespaces
        wait_until(lambda: self.theirs.answers(host) == [], f"{host} exists", SETTLE_S)
        plan = f"http://127.0.0.1:{self.bed.readiness_port}/plan"
        wait_until(lambda: "# nothing to do" in http_get(plan)[1], "kube2sky has nothing to do", SETTLE_S)
        # Revisions reach skydns in order: with this one, it has all earlier ones.
        self.bed.etcd.put(f"/skydns/local/cluster/{_NS}/{name}", '{"text":"seen"}')
        self.bed.wait_answers(f"{name}.{_NS}.cluster.local", "TXT", ['"seen"'])
        self.bed.etcd.delete(f"/skydns/local/cluster/{_NS}/{name}")
        self.bed.wait_answers(f"{name}.{_NS}.cluster.local", "TXT", ["NXDOMAIN"])
        return self.view()

    def _put_last_objects(self, name: str) -> None:
        """One of each kind; each server reads a kind's changes in order."""
        if self._round == 1:
            self.kube.create_namespace(_NS)
        self.kube.create("services", service(f"ip-{name}", namespace=_NS, clusterIP=f"10.96.200.{self._round}"))
        self.kube.create("services", headless(f"h-{name}", namespace=_NS))
        one = endpoint_slice(f"h-{name}", f"h-{name}", [endpoint(f"10.250.0.{self._round}")], namespace=_NS)
        self.kube.create("endpointslices", one)
        self.kube.put_pod(World.pod(_NS, name, f"10.251.0.{self._round}"))
        self.kube.create_namespace(f"{_NS}-{name}")

    def _last_names(self, name: str) -> dict[str, list[str]]:
        """Name → addresses, at both."""
        base = f"{_NS}.svc.cluster.local"
        found = {
            f"ip-{name}.{base}": [f"10.96.200.{self._round}"],
            f"h-{name}.{base}": [f"10.250.0.{self._round}"],
        }
        if self.pods == "verified":
            found[f"10-251-0-{self._round}.{_NS}.pod.cluster.local"] = [f"10.251.0.{self._round}"]
        return found


def _permit_pods(kube: Kube) -> None:
    """The manifest's role has no Pods, since its kube2sky writes none."""
    base, meta = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": "kube2sky-pods"}}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
    kube.request("POST", f"{base}/clusterroles", meta | {"rules": [rule]})
    subject = {"kind": "ServiceAccount", "namespace": ACCOUNT[0], "name": ACCOUNT[1]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kube2sky-pods"}
    kube.request("POST", f"{base}/clusterrolebindings", meta | {"roleRef": role, "subjects": [subject]})


def _are_slices_made(objects: dict[str, list[dict]], kube: Kube) -> bool:
    """Whether the slices are those of the Pods and of the Endpoints, and no Namespace is on its way out."""
    if any(value["status"]["phase"] != "Active" for value in objects["namespaces"]):
        return False
    if any("nodeName" in value["spec"] and "podIP" not in value["status"] for value in objects["pods"]):
        return False
    made: dict[tuple[str, str], set] = {}
    for value in objects["endpointslices"]:
        meta = value["metadata"]
        key = meta["namespace"], (meta.get("labels") or {}).get(SERVICE_NAME, "")
        for one in value.get("endpoints") or []:
            made.setdefault(key, set()).update((ip, one["conditions"].get("ready")) for ip in one["addresses"])
    for value in objects["services"]:
        meta, spec = value["metadata"], value["spec"]
        has = made.get((meta["namespace"], meta["name"]), set())
        if spec.get("selector") and has != _selected(value, objects["pods"]):
            return False
    for value in kube.request("GET", "/api/v1/endpoints")["items"]:
        meta = value["metadata"]
        is_mirrored = not (meta.get("labels") or {}).get("endpoints.kubernetes.io/managed-by")
        if is_mirrored and not _mirrored(value) <= made.get((meta["namespace"], meta["name"]), set()):
            return False
    return True


def _selected(value: dict, pods: list[dict]) -> set[tuple[str, bool]]:
    """(address, is ready) of the endpoints that the controller makes of the Service's Pods."""
    spec, found = value["spec"], set()
    if spec["type"] == "ExternalName":
        return found
    for pod in pods:
        meta, status = pod["metadata"], pod["status"]
        is_ours = spec["selector"].items() <= (meta.get("labels") or {}).items()
        is_ours = is_ours and meta["namespace"] == value["metadata"]["namespace"]
        if not is_ours or status["phase"] in ("Succeeded", "Failed"):
            continue
        is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", ()))
        is_ready = spec.get("publishNotReadyAddresses", False) or is_ready and "deletionTimestamp" not in meta
        families = {"IPv4": ".", "IPv6": ":"}
        for entry in status.get("podIPs", ()):
            if any(families[family] in entry["ip"] for family in spec["ipFamilies"]):
                found.add((entry["ip"], is_ready))
    return found


def _mirrored(value: dict) -> set[tuple[str, bool]]:
    return {
        (address["ip"], is_ready)
        for subset in value.get("subsets", ())
        for field, is_ready in (("addresses", True), ("notReadyAddresses", False))
        for address in subset.get(field, ())
    }

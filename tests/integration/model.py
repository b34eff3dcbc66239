"""What etcd must hold, computed naively from all objects of the API each time: the contract of the keys in
Python, independent of kube2sky's code. Slow and stateless, so that it is easy to trust.
"""

import ipaddress
import json
import re
from dataclasses import dataclass, field
from functools import cache

from records import DOMAIN, hash_of, label, value

SLICES = "endpointslices"
ENDPOINTS = "endpoints"

_LABEL = re.compile(r"[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?")
_HOSTNAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOSTNAMES_MAP = "endpoints.beta.kubernetes.io/hostnames-map"
_TOLERATE = "service.alpha.kubernetes.io/tolerate-unready-endpoints"
_SERVICE_NAME = "kubernetes.io/service-name"

# Rank of a claim on a reverse name: the smaller rank wins, then the smaller name.
_CLUSTER_IP, _HOSTNAME_RANK, _HASH = range(3)


@cache
def canonical(ip: str) -> str:
    """RFC 5952."""
    return str(ipaddress.ip_address(ip))


@cache
def reverse_key(ip: str) -> str:
    address = ipaddress.ip_address(ip)
    if address.version == 4:
        return "/skydns/arpa/in-addr/" + str(address).replace(".", "/")
    return "/skydns/arpa/ip6/" + "/".join(address.exploded.replace(":", ""))


def pod_label(ip: str) -> str:
    text = canonical(ip).replace(".", "-").replace(":", "-")
    return "0" * text.startswith("-") + text + "0" * text.endswith("-")


@dataclass
class Address:
    ip: str
    hostname: str = ""
    generated: str = ""  # the label without a hostname
    ports: set[tuple[str, str, int]] = field(default_factory=set)  # protocol, name, number

    def label(self) -> str:
        return self.hostname or self.generated


class Model:
    """One state of the cluster. source: the resource with the addresses of headless Services."""

    def __init__(
        self,
        source: str = SLICES,
        domain: str = DOMAIN,
        has_pods: bool = True,
        has_reverse: bool = True,
        endpoint_names: str = "hash",
        has_nodes: bool = False,
    ):
        self.has_nodes = has_nodes
        self.endpoint_names = endpoint_names
        self.source, self.domain = source, domain
        self.has_pods, self.has_reverse = has_pods, has_reverse
        self._base = "/skydns/" + "/".join(reversed(domain.split(".")))

    def keys(self, objects: dict[str, list[dict]]) -> dict[str, str]:
        """objects: resource -> items of its list. Sets self.open: reverse keys that several namespaces may have, since
        none of their pods has the address -> the values that are right, of which the one in etcd stays.
        """
        self._keys: dict[str, str] = {}
        self._claims: dict[str, list[tuple[int, str, str]]] = {}
        self._pods_at: dict[str, set[str]] = {}
        self.open: dict[str, set[str]] = {}
        for service in objects["services"]:
            self._add_service(service, objects)
        if self.has_pods:
            for pod in objects["pods"]:
                self._add_pod(pod)
        if self.has_nodes:
            for node in objects["nodes"]:
                self._add_node(node, [other["metadata"]["name"] for other in objects["nodes"]])
        if self.has_reverse:
            for key, claims in self._claims.items():
                self._decide(key, claims)
        return self._keys

    def adopt(self, right: dict[str, str], stored: dict[str, str]) -> dict[str, str]:
        """What is right if etcd holds `stored`."""
        chosen = {key: stored[key] for key, values in self.open.items() if stored.get(key) in values}
        return right | chosen

    def may_hold(self, key: str, namespace: str) -> bool:
        """Whether a namespace may have the reverse name: no cluster IP has the address, nor do only others' pods."""
        is_allocated = any(claim[0] == _CLUSTER_IP for claim in self._claims.get(key, []))
        return not is_allocated and namespace in self._pods_at.get(key, {namespace})

    def _decide(self, key: str, claims: list[tuple[int, str, str]]) -> None:
        pods = self._pods_at.get(key, set())
        allocated = [claim for claim in claims if claim[0] == _CLUSTER_IP]
        may = allocated or [claim for claim in claims if not pods or claim[2] in pods]
        best = {claim[2]: claim for claim in sorted(may, reverse=True)}
        if may:
            self._keys[key] = value(min(may)[1])
        if len(best) > 1 and not allocated:
            self.open[key] = {value(claim[1]) for claim in best.values()}

    def covers(self, key: str) -> bool:
        """Whether the key is in a tree that keys() fills."""
        return (
            key.startswith(self._base + "/svc/")
            or self.has_pods
            and key.startswith(self._base + "/pod/")
            or self.has_nodes
            and key.startswith(self._base + "/node/")
            or self.has_reverse
            and key.startswith("/skydns/arpa/")
        )

    def _put(self, labels: list[str], host: str, port: int = 0) -> None:
        if all(_LABEL.fullmatch(text) for text in labels):
            self._keys["/".join([self._base, *labels])] = value(host, port)

    def _claim(self, ip: str, rank: int, host: str) -> None:
        """host ends in ".<namespace>.svc.<domain>."."""
        namespace = host.removesuffix(f".svc.{self.domain}.").rsplit(".", 1)[1]
        self._claims.setdefault(reverse_key(ip), []).append((rank, host, namespace))

    # ---- Services ----

    def _add_service(self, service: dict, objects: dict[str, list[dict]]) -> None:
        meta, spec = service["metadata"], service["spec"]
        path = ["svc", meta["namespace"], meta["name"]]
        host = f"{meta['name']}.{meta['namespace']}.svc.{self.domain}."
        if spec.get("type") == "ExternalName":
            self._put(path, spec["externalName"].lower().rstrip(".") + ".")
        elif spec.get("clusterIP") == "None":
            self._add_headless(path, host, self._addresses(service, objects))
        elif spec.get("clusterIP"):
            ips = [canonical(ip) for ip in spec.get("clusterIPs") or [spec["clusterIP"]]]
            for ip in ips:
                self._put([*path, label(ip)], ip)
                self._claim(ip, _CLUSTER_IP, host)
            self._add_ports(path, label(ips[0]), host, _ports(spec.get("ports")))

    def _add_ports(self, path: list[str], name: str, host: str, ports: set[tuple[str, str, int]], taken=()) -> None:
        """taken: (protocol, port name, label) of all endpoints."""
        seen = set()
        for protocol, port_name, number in sorted(ports):
            if protocol and port_name:
                last = f"{name}-{number}" if (protocol, port_name) in seen else name
                if len(last) > 63 or last != name and (protocol, port_name, last) in taken:
                    last = hash_of(value(host, number))
                seen.add((protocol, port_name))
                self._put([*path, "_" + protocol, "_" + port_name, last], host, number)

    def _add_headless(self, path: list[str], host: str, addresses: list[Address]) -> None:
        by_label: dict[str, list[Address]] = {}
        for address in addresses:
            by_label.setdefault(address.label(), []).append(address)
        taken = {(*port[:2], one.label()) for one in addresses for port in one.ports}
        for name, group in by_label.items():
            for address in group:
                last = [name] if len(group) == 1 else [name, label(address.ip)]
                self._put([*path, *last], address.ip)
                self._claim(address.ip, _HOSTNAME_RANK if address.hostname else _HASH, f"{name}.{host}")
            self._add_ports(path, name, f"{name}.{host}", set().union(*(a.ports for a in group)), taken)

    # ---- Ready addresses ----

    def _addresses(self, service: dict, objects: dict[str, list[dict]]) -> list[Address]:
        meta = service["metadata"]
        is_all = service["spec"].get("publishNotReadyAddresses", False)
        is_all = is_all or (meta.get("annotations") or {}).get(_TOLERATE) == "true"
        found: dict[tuple[str, str], Address] = {}

        def add(ip: str, hostname: str, target: dict | None, ports: list[dict]) -> None:
            hostname = hostname.lower() if _HOSTNAME.fullmatch(hostname.lower()) else ""
            generated = self._generated(ip, target or {})
            new = Address(canonical(ip), hostname, generated)
            one = found.setdefault((canonical(ip), new.label()), new)
            one.hostname = one.hostname or hostname  # equal to the other's generated label
            one.ports |= _ports(ports)

        for obj in objects[self.source]:
            other = obj["metadata"]
            if other["namespace"] != meta["namespace"]:
                continue
            if self.source == SLICES and (other.get("labels") or {}).get(_SERVICE_NAME) == meta["name"]:
                _read_slice(obj, is_all, add)
            if self.source == ENDPOINTS and other["name"] == meta["name"]:
                _read_endpoints(obj, is_all, add)
        return list(found.values())

    def _generated(self, ip: str, target: dict) -> str:
        if self.endpoint_names == "hash":
            return label(canonical(ip))
        is_pod = self.endpoint_names == "pod" and target.get("kind") == "Pod"
        name = target.get("name", "") if is_pod else ""
        return name if _HOSTNAME.fullmatch(name) else pod_label(ip)

    # ---- Pods ----

    def _add_pod(self, pod: dict) -> None:
        status = pod.get("status") or {}
        if status.get("phase") in ("Succeeded", "Failed"):
            return
        ips = [entry["ip"] for entry in status.get("podIPs") or []]
        for ip in ips or [status["podIP"]] if status.get("podIP") or ips else []:
            self._put(["pod", pod["metadata"]["namespace"], pod_label(ip), label(ip)], canonical(ip))
            self._pods_at.setdefault(reverse_key(ip), set()).add(pod["metadata"]["namespace"])

    # ---- Nodes ----

    def _add_node(self, node: dict, names: list[str]) -> None:
        """The longer of two names of which one ends with the other gives way."""
        name = node["metadata"]["name"]
        if any(name.endswith("." + other) for other in names):
            return
        for address in (node.get("status") or {}).get("addresses") or []:
            if address["type"] == "InternalIP":
                ip = address["address"]
                self._put(["node", *reversed(name.split(".")), label(ip)], canonical(ip))


def _ports(ports: list[dict] | None) -> set[tuple[str, str, int]]:
    """Ports without a number are ignored (slices may have them)."""
    return {
        ((p.get("protocol") or "").lower(), (p.get("name") or "").lower(), p["port"])
        for p in ports or []
        if p.get("port")
    }


def _read_slice(obj: dict, is_all: bool, add) -> None:
    if obj.get("addressType") not in ("IPv4", "IPv6"):
        return
    for endpoint in obj.get("endpoints") or []:
        if is_all or (endpoint.get("conditions") or {}).get("ready") in (None, True):
            for ip in endpoint["addresses"]:
                add(ip, endpoint.get("hostname") or "", endpoint.get("targetRef"), obj.get("ports") or [])


def _read_endpoints(obj: dict, is_all: bool, add) -> None:
    annotation = (obj["metadata"].get("annotations") or {}).get(_HOSTNAMES_MAP, "{}")
    names = {ip: entry.get("HostName", "") for ip, entry in json.loads(annotation).items()}
    for subset in obj.get("subsets") or []:
        fields = ["addresses", "notReadyAddresses"] if is_all else ["addresses"]
        for name in fields:
            for address in subset.get(name) or []:
                hostname = address.get("hostname") or names.get(address["ip"], "")
                add(address["ip"], hostname, address.get("targetRef"), subset.get("ports") or [])

"""What a real API server fills in and checks when an object is written: names, defaults, cluster IPs."""

import ipaddress
import re

from kubeapi.resources import ENDPOINTS, NAMESPACES, PODS, SERVICES, Resource
from kubeapi.store import Key

_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_SERVICE_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")


class Invalid(Exception):
    """The object breaks a rule: 422. (field, message)"""


class AddressPool:
    """Cluster IPs of one family: requested ones are claimed, others assigned in turn."""

    def __init__(self, network: str):
        self.network = ipaddress.ip_network(network)
        self._owners: dict[str, Key] = {}
        self._next = 1

    def claim(self, text: str, owner: Key) -> None:
        if ipaddress.ip_address(text) not in self.network:
            raise Invalid(
                "spec.clusterIPs",
                f"failed to allocate IP {text}: the provided IP is not in the valid range {self.network}",
            )
        if self._owners.get(text, owner) != owner:
            raise Invalid("spec.clusterIPs", f"failed to allocate IP {text}: provided IP is already allocated")
        self._owners[text] = owner

    def allocate(self, owner: Key) -> str:
        size = self.network.num_addresses
        for _ in range(size):
            text = str(self.network[self._next])
            self._next = self._next % (size - 2) + 1
            if text not in self._owners:
                self._owners[text] = owner
                return text
        raise Invalid("spec.clusterIP", "range is full")

    def release(self, text: str, owner: Key) -> None:
        if self._owners.get(text) == owner:
            del self._owners[text]


class Admission:
    def __init__(self, service_cidrs: list[str]):
        self._pools = {ipaddress.ip_network(c).version: AddressPool(c) for c in service_cidrs}
        self._families = [f"IPv{ipaddress.ip_network(c).version}" for c in service_cidrs]
        self._next_node_port = 30000

    def admit(self, resource: Resource, value: dict, old: dict | None) -> None:
        """Completes the value in place; raises Invalid if it breaks a rule. old: the version it replaces."""
        check_name(resource, value["metadata"]["name"])
        if resource is SERVICES:
            self._admit_service(value, old)
        elif resource is ENDPOINTS:
            for subset in value.get("subsets") or []:
                for port in subset.get("ports") or []:
                    port.setdefault("protocol", "TCP")
        elif resource is PODS and old is None:
            value["status"] = {"phase": "Pending"}  # only the status subresource changes it
        elif resource is NAMESPACES:
            value["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = value["metadata"]["name"]
            value.setdefault("spec", {"finalizers": ["kubernetes"]})
            value["status"] = {"phase": "Active"}

    def release(self, value: dict) -> None:
        """A Service was deleted: its cluster IPs are free again."""
        self._release_others(_key(value), _cluster_ips(value.get("spec", {})), [])

    def _admit_service(self, value: dict, old: dict | None) -> None:
        spec = value.setdefault("spec", {})
        value.setdefault("status", {"loadBalancer": {}})
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        for port in spec.get("ports") or []:
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port["port"])
            if spec["type"] in ("NodePort", "LoadBalancer") and "nodePort" not in port:
                port["nodePort"] = self._next_node_port
                self._next_node_port += 1
        _check_ports(spec)

        key, held = _key(value), _cluster_ips(old.get("spec", {})) if old else []
        if spec["type"] == "ExternalName":
            if not spec.get("externalName"):
                raise Invalid("spec.externalName", "Required value")
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
            self._release_others(key, held, [])
            return
        spec.setdefault("internalTrafficPolicy", "Cluster")
        wanted = _cluster_ips(spec) or held
        if held and _cluster_ips(spec) and held[0] != wanted[0]:
            raise Invalid("spec.clusterIPs[0]", "may not change once set")
        families = self._families_of(spec, wanted)
        if wanted != ["None"]:
            wanted = self._claim(key, wanted, families)
        self._release_others(key, held, wanted)
        spec |= {"clusterIP": wanted[0], "clusterIPs": wanted, "ipFamilies": families}

    def _families_of(self, spec: dict, wanted: list[str]) -> list[str]:
        families = list(
            spec.get("ipFamilies")
            or [f"IPv{ipaddress.ip_address(ip).version}" for ip in wanted if ip != "None"]
        )
        policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if len(families) > 1 else "SingleStack")
        families = families or self._families[:1]
        if policy != "SingleStack":
            families += [f for f in self._families if f not in families]
        if any(f not in self._families for f in families):
            raise Invalid("spec.ipFamilies", "not configured on this cluster")
        return families

    def _claim(self, key: Key, wanted: list[str], families: list[str]) -> list[str]:
        ips = []
        for place, family in enumerate(families):
            pool = self._pools[int(family[-1])]
            if place < len(wanted):
                pool.claim(wanted[place], key)
                ips.append(wanted[place])
            else:
                ips.append(pool.allocate(key))
        return ips

    def _release_others(self, key: Key, held: list[str], kept: list[str]) -> None:
        for ip in held:
            if ip != "None" and ip not in kept:
                self._pools[ipaddress.ip_address(ip).version].release(ip, key)


def check_name(resource: Resource, name: str) -> None:
    rule = _SERVICE_NAME if resource is SERVICES else _LABEL if resource is NAMESPACES else _SUBDOMAIN
    if not isinstance(name, str) or not rule.match(name):
        raise Invalid("metadata.name", f"Invalid value: {name!r}")


def _check_ports(spec: dict) -> None:
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        raise Invalid("spec.ports", "Required value")
    for index, port in enumerate(ports):
        if not 1 <= port["port"] <= 65535:
            raise Invalid(f"spec.ports[{index}].port", f"Invalid value: {port['port']}")
        if len(ports) > 1 and not port.get("name"):
            raise Invalid(f"spec.ports[{index}].name", "Required value")


def _cluster_ips(spec: dict) -> list[str]:
    if spec.get("clusterIPs"):
        return list(spec["clusterIPs"])
    return [spec["clusterIP"]] if spec.get("clusterIP") else []


def _key(value: dict) -> Key:
    return (value["metadata"].get("namespace", ""), value["metadata"]["name"])

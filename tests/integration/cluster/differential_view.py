"""The cluster as both servers see it, for questions and for the accepted differences: its objects, and where in it a
name lies.
"""

import ipaddress
import json
from collections.abc import Iterator
from dataclasses import dataclass

from answer_model import AnswerModel, Key
from model import Model, reverse_key

DOMAIN = "cluster.local."
SERVICE_NAME = "kubernetes.io/service-name"
PATHS = {
    "namespaces": "/api/v1/namespaces",
    "services": "/api/v1/services",
    "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices",
    "pods": "/api/v1/pods",
}


@dataclass(frozen=True)
class Endpoint:
    """One address of a slice."""

    service: str  # "web.shop"; it need not exist
    ip: str
    label: str  # CoreDNS's: hostname, the pod's name if asked for, or the address with dashes
    hostname: str
    pod: str
    is_ready: bool
    is_name: bool  # of a slice of type FQDN
    ports: tuple[tuple[str, str, int | None], ...]  # protocol, name, number; none: the slice has no ports

    @property
    def name(self) -> str:
        return f"{self.label}.{self.service}.svc.{DOMAIN}"


@dataclass(frozen=True)
class Service:
    namespace: str
    name: str
    kind: str  # "ip", "headless", "external"
    ips: tuple[str, ...]
    external: str
    ports: tuple[tuple[str, str, int], ...]
    has_all: bool  # publishNotReadyAddresses
    endpoints: tuple[Endpoint, ...]

    @property
    def host(self) -> str:
        return f"{self.name}.{self.namespace}.svc.{DOMAIN}"

    @property
    def ready(self) -> tuple[Endpoint, ...]:
        return tuple(one for one in self.endpoints if one.is_ready)


@dataclass(frozen=True)
class Place:
    """kind: external, apex, dns, version, svc, pods, namespace, pod-namespace, service, below (a Service), pod,
    below-pod, too-long, other (in the domain, but nowhere), reverse, reverse-zone."""

    kind: str
    namespace: str = ""
    name: str = ""  # the Service's or pod's label
    below: tuple[str, ...] = ()  # labels below a Service or pod, the nearest first
    service: Service | None = None
    has_namespace: bool = False
    ip: str = ""


def _ports(values: list[dict] | None) -> tuple:
    return tuple((p.get("protocol", "TCP").lower(), p.get("name") or "", p.get("port")) for p in values or [])


def dashed(ip: str) -> str:
    text = ip.replace(".", "-").replace(":", "-")
    return "0" * text.startswith("-") + text + "0" * text.endswith("-")


class View:
    """objects: resource → items of its list. pods: verified, insecure or disabled; names: address or pod."""

    def __init__(self, objects: dict[str, list[dict]], pods: str, names: str):
        self.objects, self.pods, self.names = objects, pods, names
        self.namespaces = {value["metadata"]["name"] for value in objects["namespaces"]}
        self._slices: dict[tuple[str, str], list[dict]] = {}
        for value in objects["endpointslices"]:
            meta = value["metadata"]
            owner = (meta.get("labels") or {}).get(SERVICE_NAME, "")
            self._slices.setdefault((meta["namespace"], owner), []).append(value)
        self.services = {}
        for value in objects["services"]:
            one = self._service(value)
            self.services[one.namespace, one.name] = one
        self._by_ip: dict[str, list[Endpoint]] = {}
        for key in self._slices:
            for endpoint in self._endpoints(*key):
                self._by_ip.setdefault(endpoint.ip, []).append(endpoint)
        writer = Model(endpoint_names=names, has_pods=pods == "verified")
        made = writer.keys(objects)
        self._open = writer.open
        keys = [_VERSION, *(_key(path, text) for path, text in made.items())]
        self._model = AnswerModel(keys, "kubernetes")
        paths = [_NS, *(key.path for key in keys)]
        self._paths = {path[:count] for path in paths for count in range(1, len(path) + 1)}
        self._modelled: dict[tuple[str, str], tuple[str, list]] = {}
        self._hosts = {key.path: key.host for key in keys}

    # ---- Objects ----

    def versions(self) -> dict[tuple[str, str, str], str]:
        """The resource versions of all objects: equal if nothing has changed."""
        metas = [(resource, value["metadata"]) for resource, values in self.objects.items() for value in values]
        return {(kind, one.get("namespace", ""), one["name"]): one["resourceVersion"] for kind, one in metas}

    def _service(self, value: dict) -> Service:
        meta, spec = value["metadata"], value["spec"]
        kind = "external" if spec["type"] == "ExternalName" else "headless" if spec["clusterIP"] == "None" else "ip"
        return Service(
            namespace=meta["namespace"],
            name=meta["name"],
            kind=kind,
            ips=tuple(spec.get("clusterIPs", ())) if kind == "ip" else (),
            external=spec.get("externalName", "").lower() if kind == "external" else "",
            ports=_ports(spec.get("ports")),
            has_all=spec.get("publishNotReadyAddresses", False),
            endpoints=tuple(self._endpoints(meta["namespace"], meta["name"])),
        )

    def _endpoints(self, namespace: str, name: str) -> Iterator[Endpoint]:
        service = f"{name}.{namespace}"
        for value in self._slices.get((namespace, name), ()):
            ports = _ports(value.get("ports"))
            for one in value.get("endpoints") or []:
                target = (one.get("targetRef") or {}).get("name", "")
                is_ready = (one.get("conditions") or {}).get("ready") in (None, True)
                for ip in one["addresses"]:
                    label = one.get("hostname") or (target if self.names == "pod" and len(target) < 64 else "")
                    yield Endpoint(
                        service=service,
                        ip=ip,
                        label=label or dashed(ip),
                        hostname=one.get("hostname") or "",
                        pod=target,
                        is_ready=is_ready,
                        is_name=value["addressType"] == "FQDN",
                        ports=ports,
                    )

    def pods_with(self, namespace: str, ip: str) -> list[dict]:
        """All in the namespace that have the address, whatever their state."""
        return [
            value
            for value in self.objects["pods"]
            if value["metadata"]["namespace"] == namespace
            and any(entry["ip"] == ip for entry in value["status"].get("podIPs", ()))
        ]

    def claims(self, ip: str) -> list[Endpoint]:
        """The ready endpoints with this address, CoreDNS's way: also of Services with a cluster IP, and of none."""
        return [one for one in self._by_ip.get(ip, ()) if one.is_ready]

    def published(self, ip: str) -> list[Service]:
        """The Services that have an endpoint with this address, ready or not."""
        names = {one.service for one in self._by_ip.get(ip, ())}
        return [one for one in self.services.values() if f"{one.name}.{one.namespace}" in names]

    def reverse_hosts(self, ip: str) -> set[str]:
        """The names that ours may give the address: one of several that no pod decides between, or none."""
        key = reverse_key(ip)
        host = self._hosts.get(_path(ipaddress.ip_address(ip).reverse_pointer + "."))
        return {_key(key, text).host.lower() for text in self._open.get(key, ())} or ({host.lower()} if host else set())

    # ---- Names ----

    def has_name(self, name: str) -> bool:
        """Whether ours has a key at the name or below it."""
        return _path(name) in self._paths

    def model(self, name: str, rdtype: str) -> tuple[str, list]:
        """What skydns must answer by its own model: rcode, and records (owner, ttl, type, data)."""
        key = name.lower(), rdtype
        if key not in self._modelled:
            self._modelled[key] = self._model_of(*key)
        return self._modelled[key]

    def _model_of(self, name: str, rdtype: str) -> tuple[str, list]:
        place = self.place(name)
        if self.pods == "insecure" and place.kind in ("pods", "pod-namespace", "pod"):
            if place.kind == "pod" and not place.ip:
                return "NXDOMAIN", []
            is_this = place.ip and rdtype == ("AAAA" if ":" in place.ip else "A")
            return "NOERROR", [(name, 3600, rdtype, (place.ip,))] if is_this else []
        if place.kind == "dns" and self.has_name(name):
            return "NOERROR", [(name, 3600, "A", ("127.0.0.1",))] if place.below and rdtype == "A" else []
        if place.kind == "reverse":
            host = self._hosts.get(_path(name)) if rdtype == "PTR" else None
            return "NOERROR", [(name, 30, "PTR", (host,))] if host else []
        return self._model.answer(name, rdtype)

    def chain(self, name: str) -> list[str]:
        """The name and what its aliases lead to, in the domain and one name beyond; a loop ends where it closes."""
        names = [name.lower()]
        while True:
            place = self.place(names[-1])
            if place.kind != "service" or place.service is None or place.service.kind != "external":
                return names
            target = place.service.external.rstrip(".") + "."
            if target in names:
                return names
            names.append(target)

    def place(self, name: str) -> Place:
        lower = name.lower()
        if lower == DOMAIN:
            return Place("apex")
        if lower.endswith("." + DOMAIN):
            return self._inside(lower[: -len(DOMAIN) - 1].split("."))
        for zone in ("in-addr.arpa.", "ip6.arpa."):
            if lower == zone or lower.endswith("." + zone):
                ip = _reverse_ip(lower)
                return Place("reverse", ip=ip) if ip else Place("reverse-zone")
        return Place("external")

    def _inside(self, labels: list[str]) -> Place:
        """labels: those left of the domain, as in the name."""
        *front, top = labels
        if top == "dns-version" and not front:
            return Place("version")
        if top == "dns":
            return Place("dns", below=tuple(reversed(front)))
        if top not in ("svc", "pod"):
            return Place("other")
        if not front:
            return Place("svc" if top == "svc" else "pods")
        *front, namespace = front
        has = namespace in self.namespaces
        if not front:
            return Place("namespace" if top == "svc" else "pod-namespace", namespace, has_namespace=has)
        *front, name = front
        below = tuple(reversed(front))
        if top == "pod":
            return Place("below-pod" if below else "pod", namespace, name, below, has_namespace=has, ip=_pod_ip(name))
        service = self.services.get((namespace, name))
        kind = "service" if not below else "below" if len(below) <= 3 else "too-long"
        return Place(kind, namespace, name, below, service, has)


# Names that skydns answers without a key.
_VERSION = Key(("local", "cluster", "dns-version"), text="1.1.0")
_NS = ("local", "cluster", "dns", "ns")


def _path(name: str) -> tuple[str, ...]:
    return tuple(reversed(name.lower().rstrip(".").split(".")))


def _key(path: str, text: str) -> Key:
    value = json.loads(text)
    return Key(
        tuple(path.removeprefix("/skydns/").split("/")),
        host=value["host"],
        port=value.get("port", 0),
        priority=value["priority"],
        weight=value["weight"],
        ttl=value["ttl"],
        targetstrip=value["targetstrip"],
    )


def _valid(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _pod_ip(label: str) -> str:
    """The address that a pod's label spells, or nothing."""
    if label.count("-") == 3 and "--" not in label:
        return _valid(label.replace("-", "."))
    return _valid(label.replace("-", ":"))


def _reverse_ip(name: str) -> str:
    labels = name.rstrip(".").split(".")
    front = labels[:-2][::-1]
    if labels[-2:] == ["in-addr", "arpa"] and len(front) == 4:
        return _valid(".".join(front))
    if labels[-2:] == ["ip6", "arpa"] and len(front) == 32 and all(len(one) == 1 for one in front):
        digits = "".join(front)
        return _valid(":".join(digits[i : i + 4] for i in range(0, 32, 4)))
    return ""

"""Tables, which `kubectl get` requests and prints: columns and cells for each resource."""

import calendar
import time

from kubeapi.encodings import JsonEncoding
from kubeapi.http1 import chunk
from kubeapi.resources import Resource
from kubeapi.store import Event, Object, encode


def wants_table(accept: str) -> bool:
    return "as=Table" in accept and "v=v1;" in accept + ";"


def table(resource: Resource, objects: list[Object], meta: dict) -> bytes:
    names, cells = _COLUMNS[resource.plural]
    columns = [
        {
            "name": n.rstrip("+"),
            "type": "string",
            "format": "name" if n == "Name" else "",
            "description": "",
            "priority": 1 if n.endswith("+") else 0,
        }
        for n in ("Name", *names, "Age")
    ]
    rows = []
    for obj in objects:
        value = obj.value()
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]}
        rows.append({"cells": [obj.name, *cells(value), _age(value)], "object": partial})
    return encode(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": columns,
            "rows": rows,
        }
    )


class TableEncoding(JsonEncoding):
    """Objects as tables; everything else as JSON."""

    def object(self, obj: Object) -> bytes:
        return self.list(obj.resource, {"resourceVersion": str(obj.revision)}, [obj])

    def list(self, resource: Resource, meta: dict, objects: list[Object]) -> bytes:
        return table(resource, objects, meta)

    def event(self, event: Event) -> bytes:
        return self.event_of(event.kind, event.object)

    def event_of(self, kind: str, obj: Object) -> bytes:
        return chunk(b'{"type":"%s","object":%s}\n' % (kind.encode(), self.object(obj)))


TABLE = TableEncoding()


def _age(value: dict) -> str:
    created = value["metadata"].get("creationTimestamp")
    if not created:
        return "<unknown>"
    seconds = max(0, int(time.time() - calendar.timegm(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ"))))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _join(items: list[str], limit: int = 3) -> str:
    if not items:
        return "<none>"
    return ",".join(items[:limit]) + (f" + {len(items) - limit} more..." if len(items) > limit else "")


def _service(value: dict) -> list[str]:
    spec = value.get("spec", {})
    ports = []
    for p in spec.get("ports") or []:
        node_port = f":{p['nodePort']}" if p.get("nodePort") else ""
        ports.append(f"{p['port']}{node_port}/{p.get('protocol', 'TCP')}")
    selector = [f"{k}={v}" for k, v in (spec.get("selector") or {}).items()]
    return [
        spec.get("type", ""),
        spec.get("clusterIP") or "<none>",
        spec.get("externalName") or "<none>",
        _join(ports, len(ports)),
        _join(selector, len(selector)),
    ]


def _endpoints(value: dict) -> list[str]:
    pairs = []
    for subset in value.get("subsets") or []:
        for address in subset.get("addresses") or []:
            ip = f"[{address['ip']}]" if ":" in address["ip"] else address["ip"]
            pairs += [f"{ip}:{port['port']}" for port in subset.get("ports") or []] or [address["ip"]]
    return [_join(pairs)]


def _pod(value: dict) -> list[str]:
    status = value.get("status", {})
    states = status.get("containerStatuses") or []
    count = len(value.get("spec", {}).get("containers") or [])
    return [
        f"{sum(bool(s.get('ready')) for s in states)}/{count}",
        status.get("phase", ""),
        "0",
        status.get("podIP", "<none>"),
    ]


def _node(value: dict) -> list[str]:
    addresses = value.get("status", {}).get("addresses") or []
    return [_join([a.get("address", "") for a in addresses if a.get("type") == "InternalIP"])]


def _slice(value: dict) -> list[str]:
    ports = [str(p.get("port", "")) for p in value.get("ports") or []]
    addresses = [a for e in value.get("endpoints") or [] for a in e.get("addresses") or []]
    return [value.get("addressType", ""), _join(ports), _join(addresses)]


_COLUMNS = {
    "services": (("Type", "Cluster-IP", "External-IP", "Port(s)", "Selector+"), _service),
    "endpoints": (("Endpoints",), _endpoints),
    "pods": (("Ready", "Status", "Restarts", "IP+"), _pod),
    "nodes": (("Internal-IP",), _node),
    "namespaces": (("Status",), lambda value: [value.get("status", {}).get("phase", "")]),
    "endpointslices": (("AddressType", "Ports", "Endpoints"), _slice),
}

"""Endpoints to EndpointSlices, as the mirroring controller of real clusters does for Endpoints that no controller
made: one slice for each subset, address family and hundred addresses.

Called within the change of the Endpoints, so that a client sees both at once.
"""

import ipaddress
import json
from typing import Iterator

from kubeapi.resources import ENDPOINT_SLICES
from kubeapi.store import Object, Store, encode

SERVICE_NAME = "kubernetes.io/service-name"
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLER = "endpointslicemirroring-controller.k8s.io"
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
# The default limit of a real controller.
_ENDPOINTS_MAX = 100


def mirror_endpoints(store: Store, endpoints: Object, kind: str) -> None:
    wanted = {}
    if kind != "DELETED" and endpoints.labels.get(_SKIP) != "true":
        try:
            wanted = {value["metadata"]["name"]: value for value in _slices(endpoints.value())}
        except (AttributeError, KeyError, TypeError):
            return  # malformed on purpose: a controller could not read it
    for old in _existing(store, endpoints):
        if old.name not in wanted:
            store.delete(old)
    for name, value in wanted.items():
        old = store.get(ENDPOINT_SLICES, endpoints.namespace, name)
        if old is None:
            store.create(ENDPOINT_SLICES, value)
        elif _content(old.value()) != _content(value):
            kept = {k: old.value()["metadata"][k] for k in ("uid", "creationTimestamp")}
            store.put(ENDPOINT_SLICES, value | {"metadata": value["metadata"] | kept})


def _existing(store: Store, endpoints: Object) -> list[Object]:
    def is_mirror(obj: Object) -> bool:
        return (
            obj.namespace == endpoints.namespace
            and obj.labels.get(SERVICE_NAME) == endpoints.name
            and obj.labels.get(_MANAGED_BY) == _CONTROLLER
        )

    return [o for o in store.collections[ENDPOINT_SLICES].objects.values() if is_mirror(o)]


def _content(value: dict) -> bytes:
    meta = {k: value["metadata"].get(k) for k in ("labels", "annotations")}
    return encode(value | {"metadata": meta})


def _slices(endpoints: dict) -> Iterator[dict]:
    meta = endpoints["metadata"]
    subsets = endpoints.get("subsets")
    for number, subset in enumerate(subsets if isinstance(subsets, list) else []):
        for family in ("IPv4", "IPv6"):
            entries = [_endpoint(a, True) for a in _addresses(subset, "addresses", family)]
            entries += [_endpoint(a, False) for a in _addresses(subset, "notReadyAddresses", family)]
            for first in range(0, len(entries), _ENDPOINTS_MAX):
                name = f"{meta['name']}-{number}-{family.lower()}-{first // _ENDPOINTS_MAX}"
                labels = {SERVICE_NAME: meta["name"], _MANAGED_BY: _CONTROLLER}
                yield {
                    "metadata": {
                        "name": name,
                        "namespace": meta["namespace"],
                        "labels": {**(meta.get("labels") or {}), **labels},
                        "annotations": dict(meta.get("annotations") or {}),
                    },
                    "addressType": family,
                    "endpoints": entries[first : first + _ENDPOINTS_MAX],
                    "ports": json.loads(json.dumps(subset.get("ports") or [])),
                }


def _addresses(subset: dict, field: str, family: str) -> list[dict]:
    return [a for a in subset.get(field) or [] if _family(a.get("ip")) == family]


def _family(text) -> str:
    try:
        return f"IPv{ipaddress.ip_address(text).version}"
    except ValueError:
        return ""  # no slice can have it


def _endpoint(address: dict, is_ready: bool) -> dict:
    value = {"addresses": [address["ip"]], "conditions": {"ready": is_ready}}
    return value | {k: address[k] for k in ("hostname", "nodeName", "targetRef") if k in address}

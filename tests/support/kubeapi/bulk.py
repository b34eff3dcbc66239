"""Thousands of changes at the store's own speed, or at a given rate, for /_test/bulk."""

import asyncio
import time
import types

from kubeapi.mirroring import SERVICE_NAME
from kubeapi.resources import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES

# Objects made before the event loop may send: long enough to batch, short enough (2 ms) to stream.
_SLICE = 100
_COUNT_MAX = 1_000_000


class Bulk:
    def __init__(self, app):
        self._app = app
        self._makers = {SERVICES.plural: _service, PODS.plural: _pod, ENDPOINT_SLICES.plural: _slice}

    async def run(self, body: dict) -> dict:
        verb, count, start = body.get("verb", "create"), int(body.get("count", 1)), int(body.get("start", 0))
        namespace, prefix = body.get("namespace", "default"), body.get("prefix", "bulk-")
        if not 1 <= count <= _COUNT_MAX:
            raise ValueError(f"count must be 1 to {_COUNT_MAX}")
        change = {"create": self._put, "replace": self._put, "delete": self._delete}[verb]
        if self._app.store.get(NAMESPACES, "", namespace) is None:
            self._app.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        pace, stamps = _Pace(float(body.get("rate", 0))), []
        for number in range(start, start + count):
            await pace.wait(len(stamps))
            change(namespace, f"{prefix}{number}", number, body)
            stamps.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        answer = {"count": count, "first_ns": stamps[0], "last_ns": stamps[-1], "revision": self._app.store.revision}
        return answer | ({"stamps_ns": stamps} if body.get("stamps") else {})

    def _put(self, namespace: str, name: str, number: int, body: dict) -> None:
        resource = _resource(body)
        salt = int(body.get("salt", 0))
        meta = {
            "name": name,
            "namespace": namespace,
            "uid": f"{number:08x}-0000-4000-8000-{salt:012x}",
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "labels": {"app": name},
        }
        value = self._makers[resource.plural](name, number + salt, body)
        self._app.store.put(resource, value | {"metadata": meta | value.get("metadata", {})})

    def _delete(self, namespace: str, name: str, number: int, body: dict) -> None:
        obj = self._app.store.get(_resource(body), namespace, name)
        if obj is not None:
            self._app.store.delete(obj)


class _Pace:
    """Yields to the event loop between changes: after every few, or as the rate demands."""

    def __init__(self, rate: float):
        self._rate = rate
        self._loop = asyncio.get_running_loop()
        self._start_s = self._loop.time()

    async def wait(self, done: int) -> None:
        if self._rate > 0:
            due = self._loop.create_future()
            self._loop.call_at(self._start_s + done / self._rate, due.set_result, None)
            await due
        elif done % _SLICE == 0:
            await _loop_turn()


@types.coroutine
def _loop_turn():
    """Lets all other ready callbacks run once."""
    yield


def _resource(body: dict):
    plural = body.get("resource", SERVICES.plural)
    known = {r.plural: r for r in (SERVICES, PODS, ENDPOINT_SLICES)}
    if plural not in known:
        raise ValueError(f"no bulk of {plural}")
    return known[plural]


def _address(host: int, body: dict) -> str:
    host %= 1 << 24
    return f"{int(body.get('net', 172))}.{host >> 16}.{host >> 8 & 255}.{host & 255}"


def _service(name: str, host: int, body: dict) -> dict:
    ip = "None" if body.get("headless") else _address(host, body)
    spec = {
        "type": "ClusterIP",
        "clusterIP": ip,
        "clusterIPs": [ip],
        "selector": {"app": name},
        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}],
    }
    return {"spec": spec, "status": {"loadBalancer": {}}}


def _pod(name: str, host: int, body: dict) -> dict:
    ip = _address(host, body)
    return {
        "spec": {"containers": [{"name": "main", "image": "app"}], "nodeName": f"node-{host % 100}"},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]},
    }


def _slice(name: str, number: int, body: dict) -> dict:
    """A slice of the headless Service of the same name, with `endpoints` addresses."""
    count = int(body.get("endpoints", 10))
    addresses = [_address(number * count + place, body) for place in range(count)]
    return {
        "metadata": {"labels": {SERVICE_NAME: name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ip], "conditions": {"ready": True}} for ip in addresses],
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
    }

"""Faults and bulk changes, by HTTP under /_test/: what there is stands at the top of ../apiserver.py."""

import asyncio
import time
import types
from dataclasses import dataclass
from typing import Callable

from kubeapi.http1 import Connection, Request, chunk
from kubeapi.resources import NAMESPACES, RESOURCES, SERVICES, Resource, by_plural
from kubeapi.store import encode, event_chunk

# Objects made before the loop gets its turn to send: long enough to batch, short enough (2 ms) to stream.
_BULK_SLICE = 100
_BULK_MAX = 1_000_000


@dataclass
class _Rule:
    match: str
    count: int
    act: Callable[[Connection, Callable[[], None]], None]


class Faults:
    """What is to go wrong next. Asked by the server at the places where it can."""

    def __init__(self):
        self.is_silent = False
        self._rules: list[_Rule] = []
        self._cuts: dict[str, int] = {}
        self._expired_continues = 0

    def take(self, target: str):
        """What to do instead of answering this request: a function of the connection and the answer;
        None: nothing.
        """
        for rule in self._rules:
            if rule.match in target:
                rule.count -= 1
                if rule.count == 0:
                    self._rules.remove(rule)
                return rule.act
        return None

    def take_cut(self, plural: str) -> bool:
        if not self._cuts.get(plural):
            return False
        self._cuts[plural] -= 1
        return True

    def take_expired_continue(self) -> bool:
        if self._expired_continues == 0:
            return False
        self._expired_continues -= 1
        return True

    def add_rule(self, match: str, count: int, act) -> None:
        self._rules.append(_Rule(match, count, act))

    def add_cut(self, plural: str, count: int) -> None:
        self._cuts[plural] = self._cuts.get(plural, 0) + count

    def add_expired_continues(self, count: int) -> None:
        self._expired_continues += count


class Control:
    def __init__(self, app):
        self._app = app
        self.listener = None  # of the running server, for refuse and accept
        self._tasks: set[asyncio.Task] = set()

    def handle(self, connection: Connection, request: Request) -> None:
        name = request.path.removeprefix("/_test/").replace("-", "_")
        function = getattr(self, "do_" + name, None)
        try:
            if function is None:
                raise ValueError(f"no such control: {request.path}")
            answer = function(connection, request.json())
        except (ValueError, TypeError, KeyError) as error:
            connection.reply(400, encode({"error": str(error)}) + b"\n")
            return
        if asyncio.iscoroutine(answer):
            task = asyncio.ensure_future(self._reply_later(connection, answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            connection.reply(200, encode(answer or {}) + b"\n")

    async def _reply_later(self, connection: Connection, answer) -> None:
        try:
            connection.reply(200, encode(await answer or {}) + b"\n")
        except Exception as error:
            connection.reply(500, encode({"error": repr(error)}) + b"\n")

    def _watches(self, body: dict) -> list:
        resources = [_resource(body)] if "resource" in body else RESOURCES
        return [w for r in resources for w in list(self._app.store.collections[r].watches)]

    # ---- One function for each path ----

    def do_state(self, connection, body):
        collections = self._app.store.collections
        return {
            "revision": self._app.store.revision,
            "objects": {r.plural: len(c.objects) for r, c in collections.items()},
            "watches": {r.plural: len(c.watches) for r, c in collections.items()},
            "requests": self._app.requests,
            "connections": len(self._app.connections),
        }

    def do_drop_watches(self, connection, body):
        watches = self._watches(body)
        for watch in watches:
            watch.drop()
        return {"dropped": len(watches)}

    def do_cut_watch(self, connection, body):
        self._app.faults.add_cut(_resource(body).plural, _count(body))

    def do_expire_history(self, connection, body):
        for resource in [_resource(body)] if "resource" in body else RESOURCES:
            self._app.store.expire_history(resource)
        return {"revision": self._app.store.revision}

    def do_expire_continue(self, connection, body):
        self._app.faults.add_expired_continues(_count(body))

    def do_fail(self, connection, body):
        status, message = int(body["status"]), body.get("message", "injected")
        reason = {
            401: "Unauthorized",
            403: "Forbidden",
            404: "NotFound",
            410: "Expired",
            429: "TooManyRequests",
        }
        document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason.get(status, "InternalError"),
            "code": status,
        }
        text = body["body"].encode() if "body" in body else encode(document)
        headers = "Retry-After: 1\r\n" if status == 429 else ""
        self._app.faults.add_rule(
            body.get("match", ""), _count(body), lambda c, answer: c.reply(status, text, headers=headers)
        )

    def do_delay(self, connection, body):
        delay_s = float(body["seconds"])
        loop = asyncio.get_running_loop()
        self._app.faults.add_rule(
            body.get("match", ""), _count(body), lambda c, answer: loop.call_later(delay_s, answer)
        )

    def do_hang_up(self, connection, body):
        self._app.faults.add_rule(body.get("match", ""), _count(body), lambda c, answer: c.cut())

    def do_silence(self, connection, body):
        self._app.faults.is_silent = bool(body.get("on", True))
        if not self._app.faults.is_silent:
            for watch in self._watches({}):
                watch.schedule()

    async def do_refuse(self, connection, body):
        await self.listener.stop()
        for other in list(self._app.connections):
            if other is not connection:
                other.cut()

    async def do_accept(self, connection, body):
        await self.listener.start()

    def do_malformed(self, connection, body):
        resource = _resource(body)
        wrong = {
            "metadata": {
                "name": "malformed",
                "namespace": "default",
                "resourceVersion": str(self._app.store.revision),
            },
            "spec": 17,
            "subsets": 17,
        }
        chunks = event_chunk("ADDED", resource.type_prefix + encode(wrong)[1:])
        if "line" in body:
            chunks = chunk(body["line"].encode() + b"\n")
        watches = self._watches(body)
        for watch in watches:
            watch.inject(chunks)
        return {"sent": len(watches)}

    def do_put(self, connection, body):
        value = body["object"]
        obj = self._app.store.put(_resource(body), value)
        return {"revision": obj.revision}

    def do_duplicate(self, connection, body):
        events = self._app.store.collections[_resource(body)].events[-_count(body) :]
        watches = self._watches(body)
        for watch in watches:
            watch.inject(b"".join(e.chunk for e in events))
        return {"events": len(events), "watches": len(watches)}

    async def do_bulk(self, connection, body):
        """See the paths' description. Written straight to the store, so that its speed is the store's and
        the watches'.
        """
        verb, count = body.get("verb", "create"), _count(body, _BULK_MAX)
        namespace, prefix, start = (
            body.get("namespace", "default"),
            body.get("prefix", "bulk-"),
            int(body.get("start", 0)),
        )
        make = {"create": self._bulk_put, "replace": self._bulk_put, "delete": self._bulk_delete}[verb]
        if self._app.store.get(NAMESPACES, "", namespace) is None:
            self._app.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        stamps = []
        for number in range(start, start + count):
            make(namespace, f"{prefix}{number}", number, body)
            stamps.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
            if len(stamps) % _BULK_SLICE == 0:
                await _loop_turn()
        answer = {
            "count": count,
            "first_ns": stamps[0],
            "last_ns": stamps[-1],
            "revision": self._app.store.revision,
        }
        return answer | ({"stamps_ns": stamps} if body.get("stamps") else {})

    def _bulk_put(self, namespace: str, name: str, number: int, body: dict) -> None:
        salt = int(body.get("salt", 0))
        host = (number + salt) % (1 << 24)
        ip = f"{int(body.get('net', 172))}.{host >> 16}.{host >> 8 & 255}.{host & 255}"
        value = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"{number:08x}-0000-4000-8000-{salt:012x}",
                "creationTimestamp": "2020-01-01T00:00:00Z",
                "labels": {"app": name},
            },
            "spec": {
                "type": "ClusterIP",
                "clusterIP": ip,
                "clusterIPs": [ip],
                "selector": {"app": name},
                "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}],
            },
            "status": {"loadBalancer": {}},
        }
        self._app.store.put(SERVICES, value)

    def _bulk_delete(self, namespace: str, name: str, number: int, body: dict) -> None:
        obj = self._app.store.get(SERVICES, namespace, name)
        if obj is not None:
            self._app.store.delete(obj)


@types.coroutine
def _loop_turn():
    """Lets everything else that is ready run once."""
    yield


def _resource(body: dict) -> Resource:
    resource = by_plural(body["resource"])
    if resource is None:
        raise ValueError(f"no such resource: {body['resource']}")
    return resource


def _count(body: dict, limit: int = 10_000) -> int:
    count = int(body.get("count", 1))
    if not 1 <= count <= limit:
        raise ValueError(f"count must be 1 to {limit}")
    return count

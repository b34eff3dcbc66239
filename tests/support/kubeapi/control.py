"""Faults and bulk changes, by HTTP under /_test/: ../apiserver.py lists them at its top."""

import asyncio
from dataclasses import dataclass
from typing import Callable

from kubeapi.bulk import Bulk
from kubeapi.http1 import Connection, Request
from kubeapi.resources import ENDPOINT_SLICES, GATEWAY_RESOURCES, IMPORTS, RESOURCES, SLICE_VERSIONS, Resource, by_plural
from kubeapi.store import Object, encode


@dataclass
class _Rule:
    match: str
    count: int
    act: Callable[[Connection, Callable[[], None]], None]


class Faults:
    """The faults to inject next. The server asks at each place where a fault can occur."""

    def __init__(self):
        self.is_silent = False
        self.is_ignoring_limit = False
        self._forbidden: set[tuple[str, str]] = set()  # resource, namespace; "": all
        self._reorderings: dict[str, int] = {}
        self._rules: list[_Rule] = []
        self._cuts: dict[str, int] = {}
        self._expired_continues = 0

    def take(self, target: str):
        """What to do instead of answering this request: a function of the connection and the answer;
        None: answer as usual.
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

    def take_reordering(self, plural: str, count: int) -> bool:
        """Whether to send these events in reverse."""
        if count < 2 or not self._reorderings.get(plural):
            return False
        self._reorderings[plural] -= 1
        return True

    def is_forbidden(self, plural: str, namespace: str) -> bool:
        return not self._forbidden.isdisjoint({(plural, ""), (plural, namespace)})

    def forbid(self, plural: str, namespace: str, is_forbidden: bool) -> None:
        (self._forbidden.add if is_forbidden else self._forbidden.discard)((plural, namespace))

    def take_expired_continue(self) -> bool:
        if self._expired_continues == 0:
            return False
        self._expired_continues -= 1
        return True

    def add_rule(self, match: str, count: int, act) -> None:
        self._rules.append(_Rule(match, count, act))

    def add_cut(self, plural: str, count: int) -> None:
        self._cuts[plural] = self._cuts.get(plural, 0) + count

    def add_reorderings(self, plural: str, count: int) -> None:
        self._reorderings[plural] = self._reorderings.get(plural, 0) + count

    def add_expired_continues(self, count: int) -> None:
        self._expired_continues += count


class Control:
    def __init__(self, app):
        self._app = app
        self.listener = None  # of the running server, for refuse and accept
        self._bulk = Bulk(app)
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
        reason = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired", 429: "TooManyRequests"}
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

    def do_freeze(self, connection, body):
        watches = self._watches(body)
        for watch in watches:
            watch.freeze()
        return {"frozen": len(watches)}

    def do_forbid(self, connection, body):
        resource, is_forbidden = _resource(body), bool(body.get("on", True))
        self._app.faults.forbid(resource.plural, body.get("namespace", ""), is_forbidden)
        if is_forbidden:
            for watch in self._watches(body):
                if body.get("namespace", "") in ("", watch.namespace):
                    watch.drop()

    def do_token(self, connection, body):
        self._app.options.token = str(body["token"])

    def do_ignore_limit(self, connection, body):
        self._app.faults.is_ignoring_limit = bool(body.get("on", True))

    def do_protobuf(self, connection, body):
        self._app.options.has_protobuf = bool(body.get("on", True))
        return self.do_drop_watches(connection, {})

    def do_slices(self, connection, body):
        version = body["version"]
        if version not in SLICE_VERSIONS:
            raise ValueError(f"no such version of EndpointSlices: {version}")
        self.do_expire_history(connection, {"resource": ENDPOINT_SLICES.plural})
        dropped = self.do_drop_watches(connection, {"resource": ENDPOINT_SLICES.plural})
        ENDPOINT_SLICES.version = version
        self._app.describe()
        return dropped

    def do_gateways(self, connection, body):
        is_on = bool(body.get("on", True))
        for resource in GATEWAY_RESOURCES:
            self.do_drop_watches(connection, {"resource": resource.plural})
            resource.version = "v1" if is_on else ""
        self._app.describe()

    def do_imports(self, connection, body):
        self.do_drop_watches(connection, {"resource": IMPORTS.plural})
        IMPORTS.version = "v1alpha1" if body.get("on", True) else ""
        self._app.describe()

    def do_backup(self, connection, body):
        self._app.backup()
        return {"revision": self._app.store.revision}

    def do_restore(self, connection, body):
        self._app.restore()
        self._cut_others(connection)
        return {"revision": self._app.store.revision}

    async def do_refuse(self, connection, body):
        await self.listener.stop()
        self._cut_others(connection)

    def _cut_others(self, connection) -> None:
        for other in list(self._app.connections):
            if other is not connection:
                other.cut()

    async def do_accept(self, connection, body):
        await self.listener.start()

    def do_malformed(self, connection, body):
        resource = _resource(body)
        meta = {"name": "malformed", "namespace": "default", "resourceVersion": str(self._app.store.revision)}
        wrong = {"metadata": meta, "spec": 17, "subsets": 17, "endpoints": 17, "status": 17}
        obj = Object(resource, wrong, self._app.store.revision)
        watches = self._watches(body)
        for watch in watches:
            if "line" in body:
                watch.inject(lambda encoding: encoding.raw_event(body["line"].encode()))
            else:
                watch.inject(lambda encoding: encoding.event_of("ADDED", obj))
        return {"sent": len(watches)}

    def do_put(self, connection, body):
        value = body["object"]
        if "pad_bytes" in body:
            value["metadata"].setdefault("annotations", {})["pad"] = "x" * int(body["pad_bytes"])
        obj = self._app.store.put(_resource(body), value)
        return {"revision": obj.revision}

    def do_duplicate(self, connection, body):
        events = self._app.store.collections[_resource(body)].events[-_count(body) :]
        if body.get("is_reversed"):
            events = events[::-1]
        watches = self._watches(body)
        for watch in watches:
            watch.inject(lambda encoding: b"".join([encoding.event(e) for e in events]))
        return {"events": len(events), "watches": len(watches)}

    def do_reorder(self, connection, body):
        self._app.faults.add_reorderings(_resource(body).plural, _count(body))

    def do_bulk(self, connection, body):
        return self._bulk.run(body)


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

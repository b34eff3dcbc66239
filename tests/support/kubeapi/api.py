"""The Kubernetes API over the store: paths, verbs, list pages, Status errors."""

import base64
import binascii
import json
import secrets
import sys
import traceback
from collections import OrderedDict
from dataclasses import dataclass, field

from kubeapi import protobuf
from kubeapi import resources as res
from kubeapi.encodings import JSON, negotiate
from kubeapi.admission import Admission, Invalid
from kubeapi.control import Control, Faults
from kubeapi.http1 import Connection, Request
from kubeapi.mirroring import mirror_endpoints
from kubeapi.patch import merge, strategic_merge
from kubeapi.resources import EVENTS, NAMESPACES, RESOURCES, SERVICES, Resource
from kubeapi.selectors import compile_selectors
from kubeapi.store import Backup, Object, Store, encode
from kubeapi.tables import TABLE, wants_table
from kubeapi.watch import Watch, status_document

# Lists being paged through. A client has one or two at a time, and fetches its pages within seconds.
_SNAPSHOTS_MAX = 64
# If the client requests none; real servers choose 30 to 60 minutes.
_WATCH_TIMEOUT_S = 2400


class ApiError(Exception):
    def __init__(self, code: int, reason: str, message: str, **extra):
        super().__init__(message)
        self.status = status_document(code, reason, message, **extra)


def forbidden(verb: str, resource: Resource, namespace: str) -> ApiError:
    where = f' in the namespace "{namespace}"' if namespace else ""
    message = f'{resource.plural} is forbidden: User "test" cannot {verb} resource "{resource.plural}"{where}'
    return ApiError(403, "Forbidden", message, details={"group": resource.group, "kind": resource.plural})


def not_found(resource: Resource, name: str) -> ApiError:
    group = f".{resource.group}" if resource.group else ""
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return ApiError(404, "NotFound", f'{resource.plural}{group} "{name}" not found', details=details)


@dataclass
class Options:
    service_cidrs: list[str] = field(default_factory=lambda: ["10.96.0.0/12", "fd00:10:96::/112"])
    token: str = ""  # "" = none required
    history_max: int = 100_000  # events kept for each resource, as the real server's largest watch cache
    page_max: int = 0  # the largest page, whatever limit is requested; 0 = as requested
    bookmark_interval_s: float = 60.0
    has_protobuf: bool = True  # else only JSON
    has_event_lists: bool = False  # lists as events (sendInitialEvents), as new servers
    is_mirroring: bool = True  # Endpoints to EndpointSlices, as a controller does in real clusters
    is_logging: bool = False


@dataclass
class Target:
    resource: Resource
    namespace: str
    name: str
    subresource: str


class ApiServer:
    def __init__(self, options: Options):
        self.options = options
        self.connections: set[Connection] = set()
        self.faults = Faults()
        self.store = Store(RESOURCES, options.history_max, self._on_change)
        self.admission = Admission(options.service_cidrs)
        self.requests: dict[str, int] = {}  # "list services" -> number of requests
        self.control = Control(self)
        # Of each: its revision, its objects, and how many of them were on the pages before. Pages share the list.
        self._snapshots: OrderedDict[str, tuple[int, list[Object], int]] = OrderedDict()
        self._backup: Backup | None = None
        self._documents: dict[str, bytes] = {}
        self.describe()
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.create(NAMESPACES, "", {"metadata": {"name": name}})
        self._create_kubernetes_service()

    def describe(self) -> None:
        """Rebuilds discovery after a change of a resource's version."""
        self._documents = {path: encode(value) for path, value in res.discovery_documents().items()}

    def log(self, message: str) -> None:
        if self.options.is_logging:
            print(message, file=sys.stderr, flush=True)

    # ---- Entry, from http1.Connection ----

    def handle(self, connection: Connection, request: Request) -> None:
        self.log(f"{request.method} {request.target}")
        if request.path.startswith("/_test/"):
            self.control.handle(connection, request)
            return
        try:
            fault = self.faults.take(request.target)
            if fault is None:
                self._answer(connection, request)
            else:
                fault(connection, lambda: self._guarded(connection, request))
        except Exception as error:
            self._reply_error(connection, request, error)

    def _guarded(self, connection: Connection, request: Request) -> None:
        try:
            self._answer(connection, request)
        except Exception as error:
            self._reply_error(connection, request, error)

    def encoding_for(self, request: Request):
        accept = request.headers.get("accept", "")
        if wants_table(accept):
            return TABLE
        return negotiate(accept) if self.options.has_protobuf else JSON

    def _reply_error(self, connection: Connection, request: Request, error: Exception) -> None:
        if isinstance(error, Invalid):
            error = ApiError(422, "Invalid", ": ".join(error.args))
        elif isinstance(error, (ValueError, TypeError, KeyError, AttributeError)):
            self.log(traceback.format_exc())
            error = ApiError(400, "BadRequest", f"the request cannot be understood: {error!r}")
        elif not isinstance(error, ApiError):
            traceback.print_exc()
            error = ApiError(500, "InternalError", repr(error))
        encoding = self.encoding_for(request)
        connection.reply(error.status["code"], encoding.status(error.status), encoding.content_type)

    def _answer(self, connection: Connection, request: Request) -> None:
        if request.path in ("/healthz", "/readyz", "/livez"):
            connection.reply(200, b"ok", "text/plain; charset=utf-8")
            return
        if self.options.token and request.headers.get("authorization") != f"Bearer {self.options.token}":
            raise ApiError(401, "Unauthorized", "Unauthorized")
        document = self._documents.get(request.path.rstrip("/"))
        if document is not None:
            connection.reply(200, document)
            return
        if request.path == "/openapi/v2":
            if "protobuf" in request.headers.get("accept", ""):
                connection.reply(200, res.OPENAPI_V2_PROTOBUF, res.OPENAPI_V2_TYPE)
            else:
                connection.reply(200, encode(res.OPENAPI_V2_JSON))
            return
        target = parse_target(request.path)
        if target is None:
            raise ApiError(404, "NotFound", "the server could not find the requested resource", details={})
        self._dispatch(connection, request, target)

    def _dispatch(self, connection: Connection, request: Request, target: Target) -> None:
        method, query, encoding = request.method, request.query, self.encoding_for(request)
        if method != "GET" and query.get("dryRun"):
            raise ApiError(400, "BadRequest", "dryRun is not supported")
        if method == "GET" and not target.name:
            verb = "watch" if query.get("watch") in ("1", "true") else "list"
            self._count(self._purpose(verb, query), target)
            if self.faults.is_forbidden(target.resource.plural, target.namespace):
                raise forbidden(verb, target.resource, target.namespace)
            if verb == "watch":
                self._watch(connection, request, target, encoding)
            else:
                connection.reply(200, self._list(request, target, encoding), encoding.content_type)
            return
        if target.resource is EVENTS and self.faults.is_forbidden("events", target.namespace):
            self._count("forbidden", target)
            raise forbidden("create" if method == "POST" else "patch", target.resource, target.namespace)
        handlers = {"GET": self._get, "PUT": self._replace, "PATCH": self._patch}
        if method == "POST" and not target.name:
            self._count("create", target)
            obj = self.create(target.resource, target.namespace, _body_value(request))
            connection.reply(201, encoding.object(obj), encoding.content_type)
        elif method == "DELETE" and target.name:
            self._count("delete", target)
            connection.reply(200, encoding.status(self._delete(request, target)), encoding.content_type)
        elif method in handlers and target.name:
            self._count(method.lower(), target)
            obj = handlers[method](request, target)
            connection.reply(200, encoding.object(obj), encoding.content_type)
        else:
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def _purpose(self, verb: str, query: dict) -> str:
        """What a list or watch is counted as."""
        if query.get("sendInitialEvents") == "true":
            return "list-as-events" if self.options.has_event_lists else "refused"
        if query.get("limit") == "1" and query.get("fieldSelector", "").startswith("metadata.name="):
            return "check"  # kube2sky asks for the version
        return verb

    def _count(self, verb: str, target: Target) -> None:
        key = f"{verb} {target.resource.plural}"
        self.requests[key] = self.requests.get(key, 0) + 1

    # ---- Reading ----

    def _existing(self, target: Target) -> Object:
        obj = self.store.get(target.resource, target.namespace, target.name)
        if obj is None:
            raise not_found(target.resource, target.name)
        return obj

    def _get(self, request: Request, target: Target) -> Object:
        return self._existing(target)

    def _watch(self, connection: Connection, request: Request, target: Target, encoding) -> None:
        query, resource = request.query, target.resource
        predicate = compile_selectors(query.get("labelSelector", ""), query.get("fieldSelector", ""))
        revision = query.get("resourceVersion", "")
        if revision and not revision.isdigit():
            raise ApiError(400, "BadRequest", f"invalid resource version {revision!r}")
        timeout_s = float(query.get("timeoutSeconds") or _WATCH_TIMEOUT_S)
        has_bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
        is_list = query.get("sendInitialEvents") == "true"
        if is_list and not self.options.has_event_lists:
            raise Invalid("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for watch")
        watch = Watch(self, connection, self.store.collections[resource], target.namespace, predicate, encoding)
        watch.start(revision, has_bookmarks, timeout_s, is_list)

    def _list(self, request: Request, target: Target, encoding) -> bytes:
        query, resource = request.query, target.resource
        limit = 0 if self.faults.is_ignoring_limit else int(query.get("limit") or 0)
        if self.options.page_max:
            limit = min(limit or self.options.page_max, self.options.page_max)
        first = 0
        if query.get("continue"):
            revision, objects, first = self._resume_snapshot(target, query["continue"])
        else:
            revision = self.store.revision
            wanted = query.get("resourceVersion", "")
            if wanted and int(wanted) > revision:
                raise ApiError(504, "Timeout", f"Too large resource version: {wanted}, current: {revision}")
            objects = self.store.collections[resource].sorted_objects(target.namespace)
        predicate = compile_selectors(query.get("labelSelector", ""), query.get("fieldSelector", ""))
        if predicate:
            objects, first = [o for o in objects[first:] if predicate(o)], 0
        meta, end = {"resourceVersion": str(revision)}, first + limit
        if limit and len(objects) > end:
            meta["continue"] = self._keep_snapshot(revision, objects, end)
            if predicate is None:
                meta["remainingItemCount"] = len(objects) - end
            return encoding.list(resource, meta, objects[first:end])
        return encoding.list(resource, meta, objects[first:])

    def _keep_snapshot(self, revision: int, objects: list[Object], first: int) -> str:
        """The token for the rest of a list. Objects are immutable, so the list stays as of its revision."""
        name = secrets.token_hex(8)
        self._snapshots[name] = (revision, objects, first)
        while len(self._snapshots) > _SNAPSHOTS_MAX:
            self._snapshots.popitem(last=False)
        return _encode_token({"rv": revision, "start": objects[first].key, "snapshot": name})

    def _resume_snapshot(self, target: Target, token: str) -> tuple[int, list[Object], int]:
        try:
            value = json.loads(base64.urlsafe_b64decode(token))
            start, revision = tuple(value["start"]), value["rv"]
        except (binascii.Error, ValueError, KeyError, TypeError):
            raise ApiError(400, "BadRequest", "continue key is not valid") from None
        if revision == -1:  # the inconsistent token: the rest of the list as of now
            objects = self.store.collections[target.resource].sorted_objects(target.namespace)
            return self.store.revision, [o for o in objects if o.key >= start], 0
        snapshot = self._snapshots.get(value["snapshot"])
        if snapshot is None or self.faults.take_expired_continue():
            message = "The provided continue parameter is too old to display a consistent list result."
            raise ApiError(410, "Expired", message, metadata={"continue": _encode_token({"rv": -1, "start": start})})
        return snapshot

    # ---- A server restored from a backup ----

    def backup(self) -> None:
        self._backup = self.store.backup()

    def restore(self) -> None:
        if self._backup is None:
            raise ValueError("there is no backup")
        self.store.restore(self._backup)
        self._snapshots.clear()

    # ---- Writing ----

    def create(self, resource: Resource, namespace: str, value: dict) -> Object:
        meta = value.setdefault("metadata", {})
        if "generateName" in meta and not meta.get("name"):
            meta["name"] = meta["generateName"] + secrets.token_hex(3)
        if not meta.get("name"):
            raise Invalid("metadata.name", "Required value: name or generateName is required")
        _check_address(resource, namespace, value)
        if resource.is_namespaced:
            meta["namespace"] = namespace
            if self.store.get(NAMESPACES, "", namespace) is None:
                raise not_found(NAMESPACES, namespace)
        if self.store.get(resource, namespace, meta["name"]) is not None:
            details = {"name": meta["name"], "kind": resource.plural}
            raise ApiError(409, "AlreadyExists", f'{resource.plural} "{meta["name"]}" already exists', details=details)
        self.admission.admit(resource, value, None)
        return self.store.create(resource, value)

    def _replace(self, request: Request, target: Target) -> Object:
        return self._update(target, _body_value(request))

    def _patch(self, request: Request, target: Target) -> Object:
        content_type = request.headers.get("content-type", "").split(";")[0].strip()
        functions = {"application/merge-patch+json": merge, "application/strategic-merge-patch+json": strategic_merge}
        if content_type not in functions:
            raise ApiError(
                415,
                "UnsupportedMediaType",
                f"the body of the request was in an unknown format: {content_type}",
            )
        return self._update(target, functions[content_type](self._existing(target).value(), request.json()))

    def _update(self, target: Target, value: dict) -> Object:
        old_object = self._existing(target)
        old = old_object.value()
        meta = value.setdefault("metadata", {})
        _check_address(target.resource, target.namespace, value)
        wanted = meta.get("resourceVersion")
        if wanted and wanted != str(old_object.revision):
            message = (
                f'Operation cannot be fulfilled on {target.resource.plural} "{target.name}": '
                "the object has been modified; please apply your changes to the latest version and try again"
            )
            raise ApiError(409, "Conflict", message, details={"name": target.name, "kind": target.resource.plural})
        if target.subresource == "status":
            value = old | {"status": value.get("status", {})}
        else:
            meta["name"] = target.name
            if target.resource.is_namespaced:
                meta["namespace"] = target.namespace
            for kept in ("uid", "creationTimestamp"):
                if kept in old["metadata"]:
                    meta[kept] = old["metadata"][kept]
            if target.resource.has_status and "status" in old:
                value["status"] = old["status"]
            self.admission.admit(target.resource, value, old)
        value["metadata"]["resourceVersion"] = str(old_object.revision)
        value = {k: v for k, v in value.items() if k not in ("kind", "apiVersion")}
        if encode(value) == old_object.text:
            return old_object  # no change uses no revision, as in the real server
        return self.store.put(target.resource, value)

    def _delete(self, request: Request, target: Target) -> dict:
        obj = self._existing(target)
        preconditions = request.json().get("preconditions") or {}
        if preconditions.get("uid", obj.uid) != obj.uid:
            raise ApiError(409, "Conflict", "Precondition failed: UID in precondition differs")
        self.store.delete(obj)
        details = {"name": obj.name, "group": target.resource.group, "kind": target.resource.plural, "uid": obj.uid}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    def _on_change(self, obj: Object, kind: str) -> None:
        if obj.resource is res.ENDPOINTS and self.options.is_mirroring:
            mirror_endpoints(self.store, obj, kind)
        if kind != "DELETED":
            return
        if obj.resource is SERVICES:
            self.admission.release(obj.value())
            endpoints = self.store.get(res.ENDPOINTS, obj.namespace, obj.name)
            if endpoints:
                self.store.delete(endpoints)
        elif obj.resource is NAMESPACES:
            for resource in RESOURCES:
                for inside in self.store.collections[resource].sorted_objects(obj.name):
                    if self.store.get(resource, *inside.key):  # not already deleted with its Service
                        self.store.delete(inside)

    def _create_kubernetes_service(self) -> None:
        labels = {"component": "apiserver", "provider": "kubernetes"}
        port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}
        self.create(
            SERVICES,
            "default",
            {"metadata": {"name": "kubernetes", "labels": labels}, "spec": {"ports": [port]}},
        )
        subset = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}
        self.create(res.ENDPOINTS, "default", {"metadata": {"name": "kubernetes"}, "subsets": [subset]})


def _body_value(request: Request) -> dict:
    if request.headers.get("content-type", "").startswith(protobuf.CONTENT_TYPE):
        return protobuf.decode_object(request.body)
    return request.json()


def _encode_token(value: dict) -> str:
    return base64.urlsafe_b64encode(encode({"v": "meta.k8s.io/v1"} | value)).decode()


def _check_address(resource: Resource, namespace: str, value: dict) -> None:
    """The body must match the path."""
    if value.get("kind", resource.kind) != resource.kind:
        raise ApiError(400, "BadRequest", f"{value['kind']} in the body, {resource.kind} in the URL")
    if value["metadata"].get("namespace", namespace) != namespace:
        raise ApiError(400, "BadRequest", "the namespace of the object does not match the namespace on the request")


def parse_target(path: str) -> Target | None:
    base = next((r.base_path for r in res.served() if path.startswith(r.base_path + "/")), None)
    if base is None:
        return None
    parts = path[len(base) + 1 :].rstrip("/").split("/")
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    resource = next((r for r in res.served() if r.base_path == base and r.plural == parts[0]), None)
    if resource is None or len(parts) > 3 or "" in parts:
        return None
    name, subresource = (parts + ["", ""])[1:3]
    if subresource and not (subresource == "status" and resource.has_status):
        return None
    if resource.is_namespaced and name and not namespace:
        return None
    return Target(resource, namespace, name, subresource)

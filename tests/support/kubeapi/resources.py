"""The table of resources served, and their discovery documents."""

from dataclasses import dataclass


@dataclass(eq=False)
class Resource:
    group: str  # "" = core
    version: str  # may change while the server runs, as in an upgrade; "" = not served
    plural: str
    kind: str
    singular: str
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    has_status: bool = False

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base_path(self) -> str:
        return f"/apis/{self.group_version}" if self.group else f"/api/{self.version}"

    @property
    def type_prefix(self) -> bytes:
        """Put before an object's text where its type is needed."""
        return b'{"kind":"%s","apiVersion":"%s",' % (self.kind.encode(), self.group_version.encode())


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", "namespace", False, ("ns",), True)
NODES = Resource("", "v1", "nodes", "Node", "node", False, ("no",), True)
SERVICES = Resource("", "v1", "services", "Service", "service", True, ("svc",), True)
ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints", "endpoints", True, ("ep",))
PODS = Resource("", "v1", "pods", "Pod", "pod", True, ("po",), True)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", "configmap", True, ("cm",))
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "endpointslice")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress", "ingress", True, ("ing",), True)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", "event", True, ("ev",))
# Custom resources: not served until they are installed.
GATEWAYS = Resource("gateway.networking.k8s.io", "", "gateways", "Gateway", "gateway", True, (), True)
HTTP_ROUTES = Resource("gateway.networking.k8s.io", "", "httproutes", "HTTPRoute", "httproute", True, (), True)
GATEWAY_RESOURCES = (GATEWAYS, HTTP_ROUTES)
IMPORTS = Resource("multicluster.x-k8s.io", "", "serviceimports", "ServiceImport", "serviceimport", True, ("svcim",), True)
RESOURCES = (
    NAMESPACES,
    NODES,
    SERVICES,
    ENDPOINTS,
    PODS,
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    INGRESSES,
    EVENTS,
    *GATEWAY_RESOURCES,
    IMPORTS,
)

VERSION = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.0",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


# Of EndpointSlices, in servers of the last years; "" before them.
SLICE_VERSIONS = ("v1", "v1beta1", "")


def served() -> list[Resource]:
    return [r for r in RESOURCES if r.version]


def by_plural(plural: str) -> Resource | None:
    return next((r for r in RESOURCES if r.plural == plural), None)


def _resource_list(group_version: str) -> dict:
    entries = []
    for r in served():
        if r.group_version != group_version:
            continue
        verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
        entry = {
            "name": r.plural,
            "singularName": r.singular,
            "namespaced": r.is_namespaced,
            "kind": r.kind,
            "verbs": verbs,
        }
        if r.short_names:
            entry["shortNames"] = list(r.short_names)
        entries.append(entry)
        if r.has_status:
            entries.append(
                {
                    "name": r.plural + "/status",
                    "singularName": "",
                    "namespaced": r.is_namespaced,
                    "kind": r.kind,
                    "verbs": ["get", "patch", "update"],
                }
            )
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def _group_list() -> dict:
    groups = []
    for group_version in sorted({r.group_version for r in served() if r.group}):
        version = {"groupVersion": group_version, "version": group_version.split("/")[1]}
        groups.append({"name": group_version.split("/")[0], "versions": [version], "preferredVersion": version})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _openapi_v3(base_path: str) -> dict:
    """No schemas: only the sign that `kubectl apply` looks for, that the server validates fields itself."""
    paths = {}
    for r in served():
        if r.base_path != base_path:
            continue
        scope = "/namespaces/{namespace}" if r.is_namespaced else ""
        operation = {
            "operationId": f"patch{r.kind}",
            "parameters": [
                {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            ],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-group-version-kind": {"group": r.group, "version": r.version, "kind": r.kind},
        }
        paths[f"{base_path}{scope}/{r.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.32.0"}, "paths": paths, "components": {}}


def discovery_documents() -> dict[str, dict]:
    """Path -> JSON document, for everything that depends only on the resources' versions."""
    core = "/api/v1"
    bases = sorted({r.base_path for r in served()})
    documents = {
        "/version": VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": _group_list(),
        core: _resource_list("v1"),
        "/openapi/v3": {"paths": {b[1:]: {"serverRelativeURL": "/openapi/v3" + b} for b in bases}},
    }
    for r in served():
        if r.group:
            documents[r.base_path] = _resource_list(r.group_version)
    for base in bases:
        documents["/openapi/v3" + base] = _openapi_v3(base)
    return documents


# Older kubectl validates against /openapi/v2 in protobuf. This is gnostic's Document with its required
# parts only (swagger = "2.0", info = {title, version}): the client does not check what has no definition.
OPENAPI_V2_PROTOBUF = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.32.0"
# The requested type ends in "@v1.0+protobuf", which Go's parser rejects in a reply: real servers of that time did so.
OPENAPI_V2_TYPE = "application/octet-stream"
OPENAPI_V2_JSON = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.32.0"},
    "paths": {},
    "definitions": {},
}

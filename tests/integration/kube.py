"""A client of the Kubernetes API for the tests: the objects they write, and the faults of the project's own
server.
"""

import http.client
import json
import select
import ssl
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

BASES = {
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "deployments": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "events": "/apis/events.k8s.io/v1",
    "ingresses": "/apis/networking.k8s.io/v1",
    "gateways": "/apis/gateway.networking.k8s.io/v1",
    "httproutes": "/apis/gateway.networking.k8s.io/v1",
    "serviceimports": "/apis/multicluster.x-k8s.io/v1alpha1",
}
CLUSTER_SCOPED = ("nodes", "namespaces")


class KubeError(Exception):
    def __init__(self, status: int, body: dict):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status
        self.body = body


def _read_line(reply) -> dict | None:
    line = reply.readline()
    return json.loads(line) if line else None


class Kube:
    """One keep-alive connection; not for several threads."""

    def __init__(self, url: str, token: str = "", ca_file: str | None = None):
        self.url, self.token, self.ca_file = url, token, ca_file
        self._http = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=self.ca_file)
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=20, context=context)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)

    def request(self, method: str, path: str, body=None, content_type: str = "application/json") -> dict:
        headers = {}
        if body is not None:
            headers["Content-Type"] = content_type
        status, _, text = self.send(method, path, None if body is None else json.dumps(body), headers)
        value = json.loads(text) if text else {}
        if status >= 400:
            raise KubeError(status, value)
        return value

    def send(self, method: str, path: str, body: str | None, headers: dict) -> tuple[int, str, bytes]:
        """Status, content type and body, also of errors."""
        if self._is_ended():
            self._http.close()  # the request connects again
        try:
            self._http.request(method, path, body, headers | self._authorization())
            reply = self._http.getresponse()
        except (OSError, http.client.HTTPException):
            self._http.close()
            raise
        return reply.status, reply.headers.get("Content-Type", ""), reply.read()

    def _authorization(self) -> dict:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _is_ended(self) -> bool:
        """By the server: it has been restarted, or the connection was idle for a minute and a half."""
        return self._http.sock is not None and bool(select.select([self._http.sock], [], [], 0)[0])

    def path(self, resource: str, namespace: str = "default", name: str = "") -> str:
        where = "" if resource in CLUSTER_SCOPED else f"/namespaces/{namespace}"
        return f"{BASES.get(resource, '/api/v1')}{where}/{resource}" + (f"/{name}" if name else "")

    def create(self, resource: str, value: dict) -> dict:
        return self.request("POST", self.path(resource, value["metadata"].get("namespace", "default")), value)

    def replace(self, resource: str, value: dict) -> dict:
        meta = value["metadata"]
        return self.request("PUT", self.path(resource, meta.get("namespace", "default"), meta["name"]), value)

    def get(self, resource: str, name: str, namespace: str = "default") -> dict:
        return self.request("GET", self.path(resource, namespace, name))

    def patch(self, resource: str, name: str, changes: dict, namespace: str = "default") -> dict:
        """A merge patch."""
        path = self.path(resource, namespace, name)
        return self.request("PATCH", path, changes, "application/merge-patch+json")

    def delete(self, resource: str, name: str, namespace: str = "default") -> None:
        self.request("DELETE", self.path(resource, namespace, name))

    def items(self, resource: str) -> list[dict]:
        """Of all namespaces, in as many pages as the server makes of them."""
        path, found, token = f"{BASES.get(resource, '/api/v1')}/{resource}", [], ""
        while True:
            page = self.request("GET", path + (f"?continue={quote(token)}" if token else ""))
            found += page["items"]
            token = page["metadata"].get("continue")
            if not token:
                return found

    def create_namespace(self, name: str) -> None:
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def objects(self) -> dict[str, list[dict]]:
        """All objects that have keys, by resource."""
        found = {"endpointslices": [], "nodes": []}
        for resource in ("services", "endpoints", "pods", "nodes", "endpointslices"):
            try:
                found[resource] = self.items(resource)
            except KubeError as error:
                if resource not in ("endpointslices", "nodes") or error.status not in (403, 404):
                    raise
        return found

    def put_pod(self, value: dict) -> None:
        """Creates or replaces a pod with its status, on any server."""
        meta = value["metadata"]
        try:
            self.create("pods", value)
        except KubeError as error:
            if error.status != 409:
                raise
        status_path = self.path("pods", meta["namespace"], meta["name"]) + "/status"
        self.request("PATCH", status_path, {"status": value["status"]}, "application/merge-patch+json")

    def put_node(self, value: dict) -> None:
        """Creates a node or replaces its status, on any server."""
        try:
            self.create("nodes", value)
        except KubeError as error:
            if error.status != 409:
                raise
        status_path = self.path("nodes", name=value["metadata"]["name"]) + "/status"
        # Addresses are merged by type, unless the patch replaces the list.
        self.request("PATCH", status_path, {"status": value["status"]}, "application/merge-patch+json")

    def annotate_namespace(self, name: str, **annotations: str | None) -> None:
        """None removes one. The names: visible_to for dns.kube2sky/visible-to."""
        changes = {f"dns.kube2sky/{key.replace('_', '-')}": text for key, text in annotations.items()}
        body = {"metadata": {"annotations": changes}}
        self.request("PATCH", self.path("namespaces", name=name), body, "application/merge-patch+json")

    def control(self, name: str, **body) -> dict:
        """A control path of tests/support/apiserver.py."""
        return self.request("POST", f"/_test/{name}", body)

    @contextmanager
    def watch(self, path: str, accept: str = "application/json", read_event=_read_line):
        """An open watch on its own connection: a function that returns the next event, None at the end."""
        connection = self._connect()
        try:
            connection.request("GET", path, headers={"Accept": accept} | self._authorization())
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            yield lambda: read_event(reply)
        finally:
            connection.close()


# ---- Objects ----


def port(number: int, name: str = "", protocol: str = "TCP") -> dict:
    value = {"port": number, "protocol": protocol}
    return value | {"name": name} if name else value


def service(name: str, *ports: dict, namespace: str = "default", **spec) -> dict:
    """Default port: 80/TCP without a name."""
    spec.setdefault("ports", list(ports) or [port(80)])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def headless(name: str, *ports: dict, namespace: str = "default", **spec) -> dict:
    return service(name, *ports, namespace=namespace, clusterIP="None", **spec)


def endpoints(name: str, addresses: list, *ports: dict, not_ready: list = (), namespace: str = "default") -> dict:
    """Addresses as text, or (text, hostname)."""

    def address(entry) -> dict:
        return {"ip": entry} if isinstance(entry, str) else {"ip": entry[0], "hostname": entry[1]}

    subset = {"addresses": [address(a) for a in addresses], "ports": list(ports)}
    if not_ready:
        subset["notReadyAddresses"] = [address(a) for a in not_ready]
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}


def endpoint(*addresses: str, hostname: str = "", pod: str = "", **conditions: bool) -> dict:
    """An endpoint of a slice; conditions: ready, serving, terminating."""
    value = {"addresses": list(addresses), "conditions": conditions}
    if hostname:
        value["hostname"] = hostname
    if pod:
        value["targetRef"] = {"kind": "Pod", "name": pod, "namespace": "default"}
    return value


def endpoint_slice(
    name: str, of: str, entries: list[dict], *ports: dict, family: str = "IPv4", namespace: str = "default"
) -> dict:
    meta = {"name": name, "namespace": namespace, "labels": {"kubernetes.io/service-name": of}}
    value = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta}
    return value | {"addressType": family, "endpoints": entries, "ports": list(ports)}


def service_import(name: str, *ports: dict, ips: tuple[str, ...] = (), namespace: str = "default") -> dict:
    """Headless without addresses."""
    spec = {"type": "ClusterSetIP", "ips": list(ips)} if ips else {"type": "Headless"}
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ServiceImport",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec | {"ports": list(ports)},
    }


def import_slice(name: str, of: str, cluster: str, entries: list[dict], *ports: dict, **options) -> dict:
    """Endpoints of an import in one cluster."""
    value = endpoint_slice(name, of, entries, *ports, **options)
    prefix = "multicluster.kubernetes.io"
    value["metadata"]["labels"] = {f"{prefix}/service-name": of, f"{prefix}/source-cluster": cluster}
    return value


def node(name: str, *ips: str) -> dict:
    addresses = [{"type": "InternalIP", "address": ip} for ip in ips]
    addresses.append({"type": "Hostname", "address": name})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"addresses": addresses}}


def pod(name: str, *ips: str, phase: str = "Running", namespace: str = "default") -> dict:
    """With its status, as the control `put` accepts it: the API needs a second request for the status."""
    status = {"phase": phase}
    if ips:
        status |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
    spec = {"containers": [{"name": "main", "image": "app"}]}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

"""A client of the Kubernetes API for the tests: what they write, and the faults of the project's own
server.
"""

import http.client
import json
import ssl
from contextlib import contextmanager
from urllib.parse import urlsplit

BASES = {"endpointslices": "/apis/discovery.k8s.io/v1"}


class KubeError(Exception):
    def __init__(self, status: int, body: dict):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status
        self.body = body


class Kube:
    """One keep-alive connection; not for several threads."""

    def __init__(self, url: str, token: str = "", ca_file: str | None = None):
        self.url, self.token, self.ca_file = url, token, ca_file
        parts = urlsplit(url)
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self._http = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=20, context=context)
        else:
            self._http = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)

    def request(self, method: str, path: str, body=None, content_type: str = "application/json") -> dict:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            self._http.request(method, path, None if body is None else json.dumps(body), headers)
            reply = self._http.getresponse()
        except (ConnectionError, http.client.HTTPException):
            self._http.close()
            raise
        text = reply.read()
        value = json.loads(text) if text else {}
        if reply.status >= 400:
            raise KubeError(reply.status, value)
        return value

    def path(self, resource: str, namespace: str = "default", name: str = "") -> str:
        return f"{BASES.get(resource, '/api/v1')}/namespaces/{namespace}/{resource}" + (
            f"/{name}" if name else ""
        )

    def create(self, resource: str, value: dict) -> dict:
        return self.request("POST", self.path(resource, value["metadata"].get("namespace", "default")), value)

    def replace(self, resource: str, value: dict) -> dict:
        meta = value["metadata"]
        return self.request("PUT", self.path(resource, meta.get("namespace", "default"), meta["name"]), value)

    def get(self, resource: str, name: str, namespace: str = "default") -> dict:
        return self.request("GET", self.path(resource, namespace, name))

    def delete(self, resource: str, name: str, namespace: str = "default") -> None:
        self.request("DELETE", self.path(resource, namespace, name))

    def create_namespace(self, name: str) -> None:
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def control(self, name: str, **body) -> dict:
        """A control path of tests/support/apiserver.py."""
        return self.request("POST", f"/_test/{name}", body)

    @contextmanager
    def watch(self, path: str):
        """An open watch on a connection of its own: a function that gives the next event, None at the end."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()

            def next_event():
                line = reply.readline()
                return json.loads(line) if line else None

            yield next_event
        finally:
            connection.close()


# ---- Objects ----


def port(number: int, name: str = "", protocol: str = "TCP") -> dict:
    value = {"port": number, "protocol": protocol}
    return value | {"name": name} if name else value


def service(name: str, *ports: dict, namespace: str = "default", **spec) -> dict:
    """Ports default to one without a name, 80/TCP."""
    spec.setdefault("ports", list(ports) or [port(80)])
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def headless(name: str, *ports: dict, namespace: str = "default", **spec) -> dict:
    return service(name, *ports, namespace=namespace, clusterIP="None", **spec)


def endpoints(
    name: str, addresses: list, *ports: dict, not_ready: list = (), namespace: str = "default"
) -> dict:
    """Addresses as text, or (text, hostname)."""

    def address(entry) -> dict:
        return {"ip": entry} if isinstance(entry, str) else {"ip": entry[0], "hostname": entry[1]}

    subset = {"addresses": [address(a) for a in addresses], "ports": list(ports)}
    if not_ready:
        subset["notReadyAddresses"] = [address(a) for a in not_ready]
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}

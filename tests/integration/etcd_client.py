"""etcd for the tests: over its own JSON gateway, so that none of our code is involved."""

import base64
import http.client
import json
import ssl
from typing import NamedTuple


class Entry(NamedTuple):
    value: str
    mod_revision: int
    create_revision: int


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _prefix_end(prefix: str) -> str:
    raw = prefix.encode()
    return base64.b64encode(raw[:-1] + bytes([raw[-1] + 1])).decode()


def _authorization(token: str) -> dict[str, str]:
    return {"Authorization": token} if token else {}


class EtcdClient:
    def __init__(self, port: int, host: str = "127.0.0.1"):
        self.port = port
        self.host = host
        self._tls: ssl.SSLContext | None = None
        self._login: dict | None = None

    def use_tls(self, ca_file: str, certificate: str, key: str) -> None:
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._tls.load_cert_chain(certificate, key)

    def log_in(self, name: str, password: str) -> None:
        """Logs in again for every request: tokens may live for only a second."""
        self._login = {"name": name, "password": password}

    def enable_authentication(self, password: str) -> None:
        """From now on everybody has to log in; root may do everything."""
        self._post("auth/user/add", {"name": "root", "password": password})
        self._post("auth/role/add", {"name": "root"})
        self._post("auth/user/grant", {"user": "root", "role": "root"})
        self._post("auth/enable", {})

    def add_user(self, name: str, password: str) -> None:
        """Before authentication is enabled; with a role of its own, that permits nothing yet."""
        self._post("auth/user/add", {"name": name, "password": password})
        self._post("auth/role/add", {"name": name})
        self._post("auth/user/grant", {"user": name, "role": name})

    def add_reader(self, name: str, password: str, keys: str) -> None:
        """A user who may read these keys."""
        self.add_user(name, password)
        self.permit(name, "READ", keys)

    def add_writer(self, name: str, password: str, *keys: str) -> None:
        """A user who may read all keys and write these."""
        self.add_reader(name, password, "/")
        for one in keys:
            self.permit_writer(name, one)

    def permit_writer(self, name: str, keys: str) -> None:
        self.permit(name, "READWRITE", keys)

    def permit(self, role: str, kind: str, keys: str) -> None:
        """kind: READ, WRITE or READWRITE. keys: one, or with a / at its end all below."""
        perm = {"permType": kind, "key": _encode(keys)}
        if keys.endswith("/"):
            perm["range_end"] = _prefix_end(keys)
        self._post("auth/role/grant", {"name": role, "perm": perm}, self._own_token())

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=20, context=self._tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=20)

    def _call(self, method: str, body: dict) -> dict:
        return self._post(f"kv/{method}", body, self._own_token())

    def _own_token(self) -> str:
        return self.token() if self._login else ""

    def token(self) -> str:
        return self._post("auth/authenticate", self._login)["token"]

    def revision_by(self, token: str) -> int:
        """With an earlier token; an AssertionError with etcd's reply if the token is invalid."""
        reply = self._post("kv/range", {"key": _encode("/")}, token)
        return int(reply["header"]["revision"])

    def _post(self, path: str, body: dict, token: str = "") -> dict:
        connection = self._connect()
        try:
            connection.request("POST", f"/v3/{path}", json.dumps(body), _authorization(token))
            reply = connection.getresponse()
            value = json.loads(reply.read())
            assert reply.status == 200, value
            return value
        finally:
            connection.close()

    def get_prefix(self, prefix: str) -> dict[str, Entry]:
        reply = self._call("range", {"key": _encode(prefix), "range_end": _prefix_end(prefix)})
        return {
            base64.b64decode(kv["key"]).decode(): Entry(
                base64.b64decode(kv.get("value", "")).decode(),
                int(kv["mod_revision"]),
                int(kv["create_revision"]),
            )
            for kv in reply.get("kvs", [])
        }

    def values(self, prefix: str) -> dict[str, str]:
        return {key: entry.value for key, entry in self.get_prefix(prefix).items()}

    def put(self, key: str, value: str, lease: int = 0) -> int:
        """Returns the revision."""
        reply = self._call("put", {"key": _encode(key), "value": _encode(value), "lease": str(lease)})
        return int(reply["header"]["revision"])

    def put_all(self, records: dict[str, str]) -> None:
        """In one transaction."""
        puts = [{"request_put": {"key": _encode(key), "value": _encode(text)}} for key, text in records.items()]
        self._call("txn", {"success": puts})

    def delete(self, key: str) -> None:
        self._call("deleterange", {"key": _encode(key)})

    def delete_prefix(self, prefix: str) -> None:
        self._call("deleterange", {"key": _encode(prefix), "range_end": _prefix_end(prefix)})

    def revision(self) -> int:
        return int(self._call("range", {"key": _encode("/")})["header"]["revision"])

    def compact(self) -> None:
        self._call("compaction", {"revision": str(self.revision()), "physical": True})

    def history(self, since: int) -> list[tuple[int, str]]:
        """(revision, key) of every change of every key, from a revision until now."""
        return [(revision, key) for revision, key, _ in self.changes(since)]

    def changes(self, since: int, *prefixes: str) -> list[tuple[int, str, str | None]]:
        """The same with the value; None: deleted. prefixes: only of keys with one of these."""
        mark = "/history/mark"
        until = self.put(mark, "")
        create = {"key": _encode("/"), "range_end": _encode("0"), "start_revision": str(since)}
        connection = self._connect()
        try:
            connection.request("POST", "/v3/watch", json.dumps({"create_request": create}), _authorization(self._own_token()))
            reply, changes = connection.getresponse(), []
            while True:
                for event in json.loads(reply.readline())["result"].get("events", []):
                    key = base64.b64decode(event["kv"]["key"]).decode()
                    revision = int(event["kv"]["mod_revision"])
                    if revision == until:
                        return changes
                    if key == mark or not key.startswith(prefixes or ("",)):
                        continue
                    is_deleted = event.get("type") == "DELETE"
                    value = None if is_deleted else base64.b64decode(event["kv"].get("value", "")).decode()
                    changes.append((revision, key, value))
        finally:
            connection.close()

    def file_bytes(self) -> int:
        return int(self._post("maintenance/status", {})["dbSize"])

    def raise_no_space(self, on: bool) -> None:
        """As if its quota were reached: it refuses all but deletes, until it is told that there is space."""
        status = self._post("maintenance/status", {})
        member = status["header"]["member_id"]
        action = "ACTIVATE" if on else "DEACTIVATE"
        self._post("maintenance/alarm", {"action": action, "memberID": member, "alarm": "NOSPACE"})

    # ---- Leases ----

    def grant_lease(self, ttl_s: int) -> int:
        return int(self._post("lease/grant", {"TTL": str(ttl_s)})["ID"])

    def keep_lease_alive(self, lease: int) -> None:
        self._post("lease/keepalive", {"ID": str(lease)})

    def lease_left(self, lease: int) -> int:
        """Seconds; 0 or less if it is gone."""
        return int(self._post("lease/timetolive", {"ID": str(lease)}).get("TTL", 0))

    def revoke_lease(self, lease: int) -> None:
        self._post("lease/revoke", {"ID": str(lease)})

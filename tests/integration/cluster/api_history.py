"""What the API's objects demanded at each moment: every state of the Services and their slices since a start, in the
order of their changes, from the API's own etcd; and the records of each by model.py.
"""

import json
from collections.abc import Iterator

from etcd_client import EtcdClient
from model import Model

_SERVICES, _SLICES = "/registry/services/specs/", "/registry/endpointslices/"


class ApiHistory:
    """Begins now."""

    def __init__(self, etcd: EtcdClient):
        self._etcd = etcd
        self._next = etcd.revision() + 1
        self._first = etcd.values(_SERVICES) | etcd.values(_SLICES)
        self._changes: list[tuple[str, str | None]] = []

    def read(self) -> None:
        """Up to now. Needed before the API's etcd is compacted."""
        changes = self._etcd.changes(self._next, _SERVICES, _SLICES)
        if changes:
            self._next = changes[-1][0] + 1
        self._changes += [(key, value) for _, key, value in changes]

    def states(self, model: Model) -> Iterator[dict[str, str]]:
        """The keys that etcd had to hold at each moment so far. One that equals the state before is left out."""
        objects = {key: json.loads(value) for key, value in self._first.items()}
        last = _records(model, objects)
        yield last
        for key, value in self._changes:
            if value is None:
                objects.pop(key, None)
            else:
                objects[key] = json.loads(value)
            new = _records(model, objects)
            if new != last:
                yield new
            last = new


def _records(model: Model, objects: dict[str, dict]) -> dict[str, str]:
    return dict(model.keys({
        "services": [value for key, value in objects.items() if key.startswith(_SERVICES)],
        "endpointslices": [value for key, value in objects.items() if key.startswith(_SLICES)],
    }))  # fmt: skip

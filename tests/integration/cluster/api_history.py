"""What the API's objects demanded at each moment: every state of the objects that have records, since a start, in the
order of their changes, from the API's own etcd; and the records of each by model.py.
"""

import json
from collections.abc import Iterator

from etcd_client import EtcdClient
from model import Model

_PLACES = {
    "services": "/registry/services/specs/",
    "endpointslices": "/registry/endpointslices/",
    "pods": "/registry/pods/",
    "nodes": "/registry/minions/",
}


def kinds_of(model: Model) -> list[str]:
    """The resources that the model's records come from."""
    optional = {"pods": model.has_pods, "nodes": model.has_nodes}
    return [kind for kind in _PLACES if optional.get(kind, True)]


class ApiHistory:
    """Begins now."""

    def __init__(self, etcd: EtcdClient, model: Model):
        self._etcd, self._model = etcd, model
        self._places = {kind: _PLACES[kind] for kind in kinds_of(model)}
        self._next = etcd.revision() + 1
        self._first: dict[str, str] = {}
        for place in self._places.values():
            self._first |= etcd.values(place)
        self._changes: list[tuple[str, str | None]] = []

    def read(self) -> None:
        """Up to now. Needed before the API's etcd is compacted, while nobody else writes there."""
        until = self._etcd.revision()
        changes = self._etcd.changes(self._next, *self._places.values())
        self._next = max([until, *(revision for revision, _, _ in changes)]) + 1
        self._changes += [(key, value) for _, key, value in changes]

    def states(self) -> Iterator[dict[str, str]]:
        """The keys that etcd had to hold at each moment so far. One that equals the state before is left out."""
        objects = {key: json.loads(value) for key, value in self._first.items()}
        last = self._records(objects)
        yield last
        for key, value in self._changes:
            if value is None:
                objects.pop(key, None)
            else:
                objects[key] = json.loads(value)
            new = self._records(objects)
            if new != last:
                yield new
            last = new

    def _records(self, objects: dict[str, dict]) -> dict[str, str]:
        return dict(self._model.keys({
            kind: [value for key, value in objects.items() if key.startswith(place)]
            for kind, place in self._places.items()
        }))  # fmt: skip

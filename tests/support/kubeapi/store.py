"""The objects, their revisions and the bounded history from which watches are served.

An object is stored as the JSON text that lists and watches send, encoded once; it is decoded only where a
patch, a table or its protobuf form needs its fields. Objects are immutable: a change makes a new one with a
new revision, so pages of an old list and events in the history never change. One revision counter for all
resources, as in etcd.
"""

import bisect
import json
import time
import uuid
from dataclasses import dataclass
from typing import Callable

from kubeapi.resources import Resource

Key = tuple[str, str]  # namespace ("" if it has none) and name


def encode(value) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def now_rfc3339() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Object:
    """One version of an object. `text` lacks kind and apiVersion, as the items of a list do; `message` is the
    same in protobuf, once requested.
    """

    __slots__ = ("resource", "namespace", "name", "uid", "revision", "labels", "text", "message")

    def __init__(self, resource: Resource, value: dict, revision: int):
        meta = value["metadata"]
        self.resource = resource
        self.namespace = meta.get("namespace", "")
        self.name = meta["name"]
        self.uid = meta.get("uid", "")
        self.labels = meta.get("labels") or {}
        self.revision = revision
        self.text = encode(value)
        self.message: bytes | None = None

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def full_text(self) -> bytes:
        return self.resource.type_prefix + self.text[1:]

    def value(self) -> dict:
        return json.loads(self.text)


class Event:
    """One step of the history. `previous` is the version before, for selectors that an object may enter
    or leave. The chunks are what watches send, set by the first watch that sends the event.
    """

    __slots__ = ("revision", "kind", "object", "previous", "json_chunk", "protobuf_chunk")

    def __init__(self, kind: str, obj: Object, previous: Object | None):
        self.revision = obj.revision
        self.kind = kind
        self.object = obj
        self.previous = previous
        self.json_chunk: bytes | None = None
        self.protobuf_chunk: bytes | None = None


class Collection:
    """All objects of one resource, and its recent events numbered by `first_index` + position."""

    def __init__(self, resource: Resource, history_max: int):
        self.resource = resource
        self.objects: dict[Key, Object] = {}
        self.events: list[Event] = []
        self.first_index = 0
        self.expired_revision = 0  # a watch from an older revision gets 410
        self.watches: set = set()
        self._history_max = history_max

    def add_event(self, event: Event) -> None:
        self.events.append(event)
        # Drops half at a time, so that the amortised cost of an event stays constant.
        if len(self.events) >= 2 * self._history_max:
            self.drop_events(len(self.events) - self._history_max)
        for watch in self.watches:
            watch.schedule()

    def drop_events(self, count: int) -> None:
        if count:
            self.expired_revision = max(self.expired_revision, self.events[count - 1].revision)
            del self.events[:count]
            self.first_index += count

    def index_after(self, revision: int) -> int:
        """The number of the first event later than a revision."""
        return self.first_index + bisect.bisect_right(self.events, revision, key=lambda e: e.revision)

    def sorted_objects(self, namespace: str) -> list[Object]:
        return [o for key, o in sorted(self.objects.items()) if not namespace or key[0] == namespace]


@dataclass
class Backup:
    revision: int
    objects: dict[Resource, dict[Key, Object]]


class Store:
    def __init__(
        self, resources: tuple[Resource, ...], history_max: int, on_change: Callable[[Object, str], None]
    ):
        """Calls on_change(object, kind) after each change, for its effects on other objects."""
        self.revision = 1
        self.collections = {r: Collection(r, history_max) for r in resources}
        self._on_change = on_change

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        return self.collections[resource].objects.get((namespace, name))

    def create(self, resource: Resource, value: dict) -> Object:
        """Sets uid, time and revision of the value. The object must not exist."""
        meta = value["metadata"]
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = now_rfc3339()
        return self.put(resource, value)

    def put(self, resource: Resource, value: dict) -> Object:
        """Stores a version unchanged except for the revision, whether or not the object exists."""
        collection = self.collections[resource]
        self.revision += 1
        value["metadata"]["resourceVersion"] = str(self.revision)
        value.pop("kind", None)
        value.pop("apiVersion", None)
        obj = Object(resource, value, self.revision)
        previous = collection.objects.get(obj.key)
        collection.objects[obj.key] = obj
        self._changed(collection, "MODIFIED" if previous else "ADDED", obj, previous)
        return obj

    def delete(self, obj: Object) -> Object:
        """Returns its last version, with the deletion's revision."""
        collection = self.collections[obj.resource]
        self.revision += 1
        value = obj.value()
        value["metadata"]["resourceVersion"] = str(self.revision)
        last = Object(obj.resource, value, self.revision)
        del collection.objects[obj.key]
        self._changed(collection, "DELETED", last, obj)
        return last

    def expire_history(self, resource: Resource) -> None:
        """As after a compaction: a watch from any revision so far gets 410. Open watches continue."""
        self.revision += 1
        collection = self.collections[resource]
        collection.drop_events(len(collection.events))
        collection.expired_revision = self.revision

    # ---- Restore from a backup ----

    def backup(self) -> Backup:
        return Backup(self.revision, {r: dict(c.objects) for r, c in self.collections.items()})

    def restore(self, backup: Backup) -> None:
        """Resets objects and revision to the backup, without history, as on a server whose etcd was restored
        from a backup. Clients may know later revisions than the current one.
        """
        self.revision = backup.revision
        for resource, objects in backup.objects.items():
            collection = self.collections[resource]
            collection.objects = dict(objects)
            collection.drop_events(len(collection.events))
            collection.expired_revision = self.revision

    def _changed(self, collection: Collection, kind: str, obj: Object, previous: Object | None) -> None:
        collection.add_event(Event(kind, obj, previous))
        self._on_change(obj, kind)

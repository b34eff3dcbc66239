"""The two encodings of lists, objects and watches: JSON and protobuf. Only this module depends on the encoding;
the API and its watches get one of the two.
"""

import json

from kubeapi import protobuf
from kubeapi.http1 import chunk
from kubeapi.resources import Resource
from kubeapi.store import Event, Object, encode


def list_kind(resource: Resource) -> str:
    return resource.kind + "List"


class JsonEncoding:
    content_type = "application/json"
    watch_content_type = "application/json"

    def object(self, obj: Object) -> bytes:
        return obj.full_text

    def list(self, resource: Resource, meta: dict, objects: list[Object]) -> bytes:
        head = {"kind": list_kind(resource), "apiVersion": resource.group_version, "metadata": meta}
        return encode(head)[:-1] + b',"items":[' + b",".join([o.text for o in objects]) + b"]}\n"

    def event(self, event: Event) -> bytes:
        """A chunk of the watch, cached for other watches."""
        if event.json_chunk is None:
            event.json_chunk = self.event_of(event.kind, event.object)
        return event.json_chunk

    def event_of(self, kind: str, obj: Object) -> bytes:
        return _json_chunk(kind, obj.full_text)

    def bookmark(self, resource: Resource, revision: int, annotations: dict) -> bytes:
        meta = {"metadata": {"resourceVersion": str(revision), "creationTimestamp": None} | annotations}
        return _json_chunk("BOOKMARK", resource.type_prefix + encode(meta)[1:])

    def status(self, document: dict) -> bytes:
        return encode(document) + b"\n"

    def error_event(self, document: dict) -> bytes:
        return _json_chunk("ERROR", encode(document))

    def raw_event(self, data: bytes) -> bytes:
        """Any bytes in the place of an event."""
        return chunk(data + b"\n")


class ProtobufEncoding:
    content_type = protobuf.CONTENT_TYPE
    watch_content_type = protobuf.WATCH_CONTENT_TYPE

    def object(self, obj: Object) -> bytes:
        return protobuf.envelope(obj.resource.group_version, obj.resource.kind, _message(obj))

    def list(self, resource: Resource, meta: dict, objects: list[Object]) -> bytes:
        message = protobuf.list_message(meta, [_message(o) for o in objects])
        return protobuf.envelope(resource.group_version, list_kind(resource), message)

    def event(self, event: Event) -> bytes:
        if event.protobuf_chunk is None:
            event.protobuf_chunk = self.event_of(event.kind, event.object)
        return event.protobuf_chunk

    def event_of(self, kind: str, obj: Object) -> bytes:
        return chunk(protobuf.event_frame(kind, self.object(obj)))

    def bookmark(self, resource: Resource, revision: int, annotations: dict) -> bytes:
        value = {"metadata": {"resourceVersion": str(revision)} | annotations}
        message = protobuf.encode_object(resource.kind, value)
        return chunk(
            protobuf.event_frame("BOOKMARK", protobuf.envelope(resource.group_version, resource.kind, message))
        )

    def status(self, document: dict) -> bytes:
        return protobuf.envelope("v1", "Status", protobuf.encode_object("Status", document))

    def error_event(self, document: dict) -> bytes:
        return chunk(protobuf.event_frame("ERROR", self.status(document)))

    def raw_event(self, data: bytes) -> bytes:
        return chunk(len(data).to_bytes(4, "big") + data)


JSON = JsonEncoding()
PROTOBUF = ProtobufEncoding()


def negotiate(accept: str):
    """The first supported type of the header; JSON if none is, as with kubectl's `*/*`."""
    for part in accept.split(","):
        media_type, *parameters = [p.strip() for p in part.split(";")]
        if media_type == protobuf.CONTENT_TYPE and not any(p.startswith("as=") for p in parameters):
            return PROTOBUF
        if media_type == JSON.content_type:
            return JSON
    return JSON


def _json_chunk(kind: str, object_text: bytes) -> bytes:
    return chunk(b'{"type":"%s","object":%s}\n' % (kind.encode(), object_text))


def _message(obj: Object) -> bytes:
    if obj.message is None:
        obj.message = protobuf.encode_object(obj.resource.kind, json.loads(obj.text))
    return obj.message

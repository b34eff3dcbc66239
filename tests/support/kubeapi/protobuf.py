"""Kubernetes' protobuf encoding of objects, lists and watch events, and its decoding: what kube2sky asks for,
and what newer versions of `kubectl create` send.

Objects are dictionaries with the structure of their JSON; protobuf_types has the messages. Fields unknown
there are not encoded, and skipped when decoding. A value of the wrong type is encoded as its own type, so
that an object malformed in JSON is malformed in protobuf, too.
"""

import calendar
import functools
import json
import time
from typing import Callable, Iterator

from kubeapi.protobuf_types import INT_OR_STRING, KINDS, LIST_META, MAP_ENTRY, TIME, TYPE_META, UNKNOWN

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
WATCH_CONTENT_TYPE = CONTENT_TYPE + ";stream=watch"

MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

Encoder = Callable[[object], bytes]  # for a field: the value -> its bytes, including the tag


# ---- Encoding ----


def encode_object(kind: str, value: dict) -> bytes:
    """The bare message."""
    return _MESSAGES[kind](value)


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """The body of a reply, or the object of an event: the prefix and the message in an Unknown."""
    return _envelope_head(api_version, kind) + _field(2, message) + _ENVELOPE_TAIL


def list_message(meta: dict, items: list[bytes]) -> bytes:
    return _field(1, _LIST_META(meta)) + b"".join([_field(2, item) for item in items])


def event_frame(event_type: str, enveloped: bytes) -> bytes:
    """As a watch sends it: four bytes of length and a WatchEvent."""
    event = _field(1, event_type.encode()) + _field(2, _field(1, enveloped))
    return len(event).to_bytes(4, "big") + event


# contentEncoding and contentType, which Go writes even when empty.
_ENVELOPE_TAIL = b"\x1a\0\x22\0"


@functools.cache
def _envelope_head(api_version: str, kind: str) -> bytes:
    return MAGIC + _field(1, _TYPE_META({"apiVersion": api_version, "kind": kind}))


_SHORT = [bytes([number]) for number in range(128)]


def _encode_varint(value: int) -> bytes:
    if 0 <= value < 128:
        return _SHORT[value]
    value &= 2**64 - 1  # negative values have 64 bits, whatever the field's type
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return _SHORT[number << 3 | _BYTES] + _encode_varint(len(data)) + data


def _misfit(number: int, value) -> bytes:
    """A value of the wrong type for its field."""
    if isinstance(value, int):
        return _encode_varint(number << 3 | _VARINT) + _encode_varint(value)
    return _encode_varint(number << 3 | _BYTES) + _sized(
        value.encode() if isinstance(value, str) else json.dumps(value).encode()
    )


def _sized(data: bytes) -> bytes:
    size = len(data)
    return (_SHORT[size] if size < 128 else _encode_varint(size)) + data


def _message_encoder(message: dict) -> Callable[[dict], bytes]:
    fields = {name: _field_encoder(number, kind) for number, (name, kind) in message.items()}

    def encode(value: dict) -> bytes:
        out = []
        for name, inner in value.items():
            function = fields.get(name)
            if function is not None and inner is not None:
                out.append(function(inner))
        return b"".join(out)

    return encode


def _field_encoder(number: int, kind) -> Encoder:
    if isinstance(kind, list):
        return _repeated_encoder(number, kind[0])
    if kind == "map":
        return _map_encoder(number)
    if kind in (int, bool, "bool"):
        tag = _encode_varint(number << 3 | _VARINT)
        return lambda v: tag + _encode_varint(v) if isinstance(v, int) else _misfit(number, v)
    tag = _encode_varint(number << 3 | _BYTES)
    if kind is str:
        return lambda v: tag + _sized(v.encode()) if isinstance(v, str) else _misfit(number, v)
    if kind == "int or string":
        return lambda v: tag + _sized(_int_or_string(v))
    if kind == "time":
        return lambda v: tag + _sized(_encode_time(v)) if isinstance(v, str) else _misfit(number, v)
    encode = _message_encoder(kind)
    return lambda v: tag + _sized(encode(v)) if isinstance(v, dict) else _misfit(number, v)


def _repeated_encoder(number: int, kind) -> Encoder:
    one = _field_encoder(number, kind)
    return lambda v: b"".join([one(item) for item in v]) if isinstance(v, list) else _misfit(number, v)


def _map_encoder(number: int) -> Encoder:
    entry = _message_encoder(MAP_ENTRY)

    def encode(value) -> bytes:
        if not isinstance(value, dict):
            return _misfit(number, value)
        return b"".join([_field(number, entry({"key": k, "value": v})) for k, v in value.items()])

    return encode


def _int_or_string(value) -> bytes:
    # Go writes all three.
    if isinstance(value, str):
        return _INT_OR_STRING({"type": 1, "int": 0, "string": value})
    return _INT_OR_STRING({"type": 0, "int": value, "string": ""})


@functools.lru_cache(maxsize=4096)
def _encode_time(text: str) -> bytes:
    return _TIME({"seconds": calendar.timegm(time.strptime(text, _TIME_FORMAT)), "nanos": 0})


_INT_OR_STRING = _message_encoder(INT_OR_STRING)
_TIME = _message_encoder(TIME)
_TYPE_META = _message_encoder(TYPE_META)
_LIST_META = _message_encoder(LIST_META)
_MESSAGES = {kind: _message_encoder(message) for kind, message in KINDS.items()}


# ---- Decoding ----


def decode_object(body: bytes) -> dict:
    """The object or list, with the structure of its JSON; ValueError if its kind is not supported here."""
    if not body.startswith(MAGIC):
        raise ValueError("protobuf without its prefix")
    unknown = _decode(body[len(MAGIC) :], UNKNOWN)
    type_meta, raw = unknown.get("typeMeta", {}), unknown.get("raw", b"")
    kind = type_meta.get("kind", "")
    if kind in KINDS:
        return type_meta | _decode(raw, KINDS[kind])
    if kind.removesuffix("List") in KINDS:
        items = KINDS[kind.removesuffix("List")]
        return type_meta | _decode(raw, {1: ("metadata", LIST_META), 2: ("items", [items])})
    raise ValueError(f"protobuf of kind {kind!r} is not supported here, send JSON")


def decode_list_meta(body: bytes) -> dict:
    """The metadata of a list; skips its items."""
    unknown = _decode(body[len(MAGIC) :], UNKNOWN)
    return _decode(unknown["raw"], {1: ("metadata", LIST_META)})["metadata"]


def decode_event(frame: bytes) -> dict:
    """One WatchEvent, without its length prefix."""
    event = _decode(frame, {1: ("type", str), 2: ("object", {1: ("raw", bytes)})})
    return {"type": event["type"], "object": decode_object(event["object"]["raw"])}


def _decode(data: bytes, message: dict) -> dict:
    result = {}
    for number, raw in _fields(data):
        if number not in message:
            continue
        name, kind = message[number]
        if isinstance(kind, list):
            result.setdefault(name, []).append(_value(raw, kind[0]))
        elif kind == "map":
            entry = _decode(raw, MAP_ENTRY)
            result.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
        elif kind == "bool":
            result[name] = bool(raw)
        else:
            value = _value(raw, kind)
            if value not in ("", False, None):  # Go writes empty fields that JSON leaves out
                result[name] = value
    return result


def _value(raw, kind):
    if kind is str:
        return raw.decode()
    if kind is bytes:
        return raw
    if kind is int:
        return raw or None
    if kind is bool:
        return bool(raw)
    if kind == "int or string":
        either = _decode(raw, INT_OR_STRING)
        return either.get("string" if either.get("type") else "int")
    if kind == "time":
        return time.strftime(_TIME_FORMAT, time.gmtime(_decode(raw, TIME).get("seconds", 0)))
    return _decode(raw, kind)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        wire = tag & 7
        if wire == _VARINT:
            value, place = _varint(data, place)
        elif wire == _BYTES:
            size, place = _varint(data, place)
            value, place = data[place : place + size], place + size
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
            value, place = data[place : place + size], place + size
        else:
            raise ValueError("malformed protobuf")
        if place > len(data):
            raise ValueError("malformed protobuf")
        yield tag >> 3, value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise ValueError("malformed protobuf")
        value |= (data[place] & 0x7F) << shift
        place += 1
        if data[place - 1] < 0x80:
            return value, place
    raise ValueError("malformed protobuf")

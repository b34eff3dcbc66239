"""Kubernetes' protobuf encoding of what `kubectl create` sends so: newer ones write no JSON for types
they know.

Only decoding, only the fields these commands set (numbers as in k8s.io/api/core/v1/generated.proto);
others are skipped. Answers stay JSON, which every client takes.
"""

from typing import Iterator

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# Message = {number: (JSON name, kind)}; kind is str, int, bool, a message, [kind] when repeated, "map" or
# "int or string".
_INT_OR_STRING = {1: ("type", int), 2: ("int", int), 3: ("string", str)}
_ENTRY = {1: ("key", str), 2: ("value", str)}
_OBJECT_META = {
    1: ("name", str),
    2: ("generateName", str),
    3: ("namespace", str),
    6: ("resourceVersion", str),
    11: ("labels", "map"),
    12: ("annotations", "map"),
}
_SERVICE_PORT = {
    1: ("name", str),
    2: ("protocol", str),
    3: ("port", int),
    4: ("targetPort", "int or string"),
    5: ("nodePort", int),
    6: ("appProtocol", str),
}
_SERVICE_SPEC = {
    1: ("ports", [_SERVICE_PORT]),
    2: ("selector", "map"),
    3: ("clusterIP", str),
    4: ("type", str),
    5: ("externalIPs", [str]),
    7: ("sessionAffinity", str),
    10: ("externalName", str),
    13: ("publishNotReadyAddresses", bool),
    17: ("ipFamilyPolicy", str),
    18: ("clusterIPs", [str]),
    19: ("ipFamilies", [str]),
    22: ("internalTrafficPolicy", str),
}
_NAMESPACE_SPEC = {1: ("finalizers", [str])}
_KINDS = {
    "Service": {1: ("metadata", _OBJECT_META), 2: ("spec", _SERVICE_SPEC)},
    "Namespace": {1: ("metadata", _OBJECT_META), 2: ("spec", _NAMESPACE_SPEC)},
}
_TYPE_META = {1: ("apiVersion", str), 2: ("kind", str)}


def decode_object(body: bytes) -> dict:
    """The object as its JSON would be; ValueError when it is none that can be decoded here."""
    if not body.startswith(_MAGIC):
        raise ValueError("protobuf without its prefix")
    fields = dict(_fields(body[len(_MAGIC) :]))
    type_meta = _decode(fields.get(1, b""), _TYPE_META)
    if type_meta.get("kind") not in _KINDS:
        raise ValueError(f"protobuf of kind {type_meta.get('kind')!r} is not supported here, send JSON")
    return type_meta | _decode(fields.get(2, b""), _KINDS[type_meta["kind"]])


def _decode(data: bytes, message: dict) -> dict:
    result = {}
    for number, raw in _fields(data):
        if number not in message:
            continue
        name, kind = message[number]
        if isinstance(kind, list):
            result.setdefault(name, []).append(_value(raw, kind[0]))
        elif kind == "map":
            entry = _decode(raw, _ENTRY)
            result.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
        else:
            value = _value(raw, kind)
            if value not in ("", False, None):  # Go writes empty fields that JSON leaves out
                result[name] = value
    return result


def _value(raw, kind):
    if kind is str:
        return raw.decode()
    if kind is int:
        return raw or None
    if kind is bool:
        return bool(raw)
    if kind == "int or string":
        either = _decode(raw, _INT_OR_STRING)
        return either.get("string" if either.get("type") else "int")
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

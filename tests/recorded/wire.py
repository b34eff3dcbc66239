"""DNS messages of a recording: queries as bytes, with EDNS, cookies and TSIG, and responses taken apart again.

Knows nothing of the program. What it reads may be anything: a message that cannot be taken apart is Unreadable.
"""

import hashlib
import hmac
import ipaddress
import struct
from dataclasses import dataclass, field

TYPES = {
    "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "HINFO": 13, "AAAA": 28, "SRV": 33,
    "DNAME": 39,
    "OPT": 41, "DS": 43, "RRSIG": 46, "NSEC": 47, "DNSKEY": 48, "CDS": 59, "CDNSKEY": 60, "HTTPS": 65, "TSIG": 250,
    "IXFR": 251, "AXFR": 252,
    "ANY": 255, "CAA": 257,
}  # fmt: skip
CLASSES = {"IN": 1, "CH": 3, "NONE": 254, "ANY": 255}
QR, AA, TC, RD, RA, AD, CD = 0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0020, 0x0010

# EDNS options
SUBNET, COOKIE, KEEPALIVE, PADDING, STUB = 8, 10, 11, 12, 65011

# Types whose data begins or ends with names, which messages may compress: (bytes before, names).
NAMES_IN_DATA = {
    2: (0, 1), 5: (0, 1), 6: (0, 2), 12: (0, 1), 15: (2, 1), 33: (6, 1), 39: (0, 1), 46: (18, 1), 47: (0, 1),
}  # fmt: skip


class Unreadable(Exception):
    pass


# ---- Writing ----


def name_wire(text: str) -> bytes:
    labels = [label.encode("latin-1") for label in text.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def option(code: int, data: bytes) -> bytes:
    return struct.pack(">HH", code, len(data)) + data


def opt_record(size: int, options: bytes = b"", dnssec_ok: bool = False, version: int = 0) -> bytes:
    flags = 0x8000 if dnssec_ok else 0
    return b"\0" + struct.pack(">HHBBHH", TYPES["OPT"], size, 0, version, flags, len(options)) + options


def query(ident: int, flags: int, question: bytes, additional: bytes = b"", count: int = 0) -> bytes:
    return struct.pack(">HHHHHH", ident, flags, 1, 0, 0, count) + question + additional


def subnet_option(address: str, prefix: int) -> bytes:
    ip = ipaddress.ip_address(address)
    family = 1 if ip.version == 4 else 2
    return option(SUBNET, struct.pack(">HBB", family, prefix, 0) + ip.packed[: (prefix + 7) // 8])


def siphash24(key: bytes, data: bytes) -> bytes:
    """SipHash-2-4 of Aumasson and Bernstein, as RFC 9018 uses it."""
    mask = (1 << 64) - 1
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & mask

    def rounds(count: int):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[1] = turn(v[1], 13) ^ v[0]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = turn(v[1], 17) ^ v[2]
            v[2] = turn(v[2], 32)

    padded = data + b"\0" * (7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return struct.pack("<Q", v[0] ^ v[1] ^ v[2] ^ v[3])


def server_cookie(secret: bytes, client_cookie: bytes, client: str, at_s: int) -> bytes:
    head = client_cookie + struct.pack(">BxxxL", 1, at_s & 0xFFFFFFFF)
    return head[8:] + siphash24(secret, head + ipaddress.ip_address(client).packed)


def signed(message: bytes, key: str, secret: bytes, at_s: int, is_good: bool = True) -> bytes:
    """The message with a TSIG record, HMAC-SHA256."""
    fudge, algorithm = 300, name_wire("hmac-sha256")
    time = struct.pack(">HLH", at_s >> 32, at_s & 0xFFFFFFFF, fudge)
    variables = name_wire(key.lower()) + struct.pack(">HL", CLASSES["ANY"], 0) + algorithm + time + b"\0\0\0\0"
    mac = hmac.new(secret, message + variables, hashlib.sha256).digest()
    if not is_good:
        mac = mac[:-1] + bytes([mac[-1] ^ 1])
    data = algorithm + time + struct.pack(">H", len(mac)) + mac + message[:2] + b"\0\0\0\0"
    record = name_wire(key) + struct.pack(">HHLH", TYPES["TSIG"], CLASSES["ANY"], 0, len(data)) + data
    (count,) = struct.unpack(">H", message[10:12])
    return message[:10] + struct.pack(">H", count + 1) + message[12:] + record


# ---- Reading ----


@dataclass(order=True, frozen=True)
class Rr:
    owner: bytes  # decompressed, case as it stands there
    type: int
    rclass: int
    ttl_s: int
    data: bytes  # decompressed


@dataclass
class Message:
    header: bytes  # id and flags
    question: bytes
    sections: list[list[Rr]] = field(default_factory=list)  # answer, authority, additional
    rest: bytes = b""


def read_name(message: bytes, at: int) -> tuple[bytes, int]:
    """The name in full, and where it ends there."""
    labels, end, jumps = [], None, 0
    while True:
        if at >= len(message):
            raise Unreadable("a name leaves the message")
        size = message[at]
        if size >= 0xC0:
            if at + 1 >= len(message) or jumps > 64:
                raise Unreadable("a pointer")
            end = end if end is not None else at + 2
            at = (size & 0x3F) << 8 | message[at + 1]
            jumps += 1
        elif size >= 0x40 or at + 1 + size > len(message):
            raise Unreadable("a label")
        else:
            labels.append(message[at : at + 1 + size])
            at += 1 + size
            if size == 0:
                return b"".join(labels), end if end is not None else at


def read_data(message: bytes, at: int, size: int, rtype: int) -> bytes:
    """As it stands there if it has no names, or not those that it should have."""
    end, whole = at + size, message[at : at + size]
    before, names = NAMES_IN_DATA.get(rtype, (0, 0))
    parts, at = [message[at : at + before]], at + before
    try:
        for _ in range(names):
            name, at = read_name(message, at)
            parts.append(name)
    except Unreadable:
        return whole
    return b"".join(parts) + message[at:end] if at <= end else whole


def read_rr(message: bytes, at: int) -> tuple[Rr, int]:
    owner, at = read_name(message, at)
    if at + 10 > len(message):
        raise Unreadable("a record leaves the message")
    rtype, rclass, ttl_s, size = struct.unpack(">HHLH", message[at : at + 10])
    at += 10
    if at + size > len(message):
        raise Unreadable("a record's data leaves the message")
    return Rr(owner, rtype, rclass, ttl_s, read_data(message, at, size, rtype)), at + size


def read_message(message: bytes) -> Message:
    if len(message) < 12:
        raise Unreadable("no header")
    questions, *counts = struct.unpack(">4H", message[4:12])
    at = 12
    for _ in range(questions):
        _, at = read_name(message, at)
        at += 4
    read = Message(message[:4], message[12:at])
    for count in counts:
        section = []
        for _ in range(count):
            rr, at = read_rr(message, at)
            section.append(rr)
        read.sections.append(section)
    read.rest = message[at:]
    return read

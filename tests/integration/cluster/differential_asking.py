"""The differential test's questions and answers: what is sent, over UDP and TCP, many at a time, and what came back in
a form in which two servers can be compared.
"""

import select
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype

IN, CH = 1, 3
RD, AD, CD = dns.flags.RD, dns.flags.AD, dns.flags.CD
OPT = dns.rdatatype.OPT
COOKIE, KEEPALIVE, EDE = 10, 11, 15  # EDNS options

_UDP_AT_ONCE = 64  # fits in any socket buffer
_TCP_AT_ONCE = 100  # CoreDNS ends a connection after 128
_AGAIN_S = 2.0  # a datagram was lost, or an upstream is slow
_TRIES = 10  # only ends a hang


@dataclass(frozen=True)
class Edns:
    payload: int = 1232
    is_do: bool = False
    version: int = 0
    options: tuple[tuple[int, bytes], ...] = ()

    def option(self, code: int) -> bytes | None:
        return dict(self.options).get(code)

    @property
    def codes(self) -> set[int]:
        return {code for code, _ in self.options}

    def wire(self) -> bytes:
        data = b"".join(struct.pack("!HH", code, len(text)) + text for code, text in self.options)
        flags = self.version << 16 | self.is_do << 15
        return b"\0" + struct.pack("!HHIH", OPT, self.payload, flags, len(data)) + data


@dataclass(frozen=True)
class Question:
    name: str  # absolute, in the case in which it is sent
    rdtype: int
    rdclass: int = IN
    opcode: int = dns.opcode.QUERY
    flags: int = RD
    edns: Edns | None = None
    is_tcp: bool = False

    def wire(self, number: int) -> bytes:
        labels = [label.encode() for label in self.name.split(".")[:-1] if label]
        name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
        head = struct.pack("!6H", number, self.opcode << 11 | self.flags, 1, 0, 0, int(self.edns is not None))
        return head + name + struct.pack("!HH", self.rdtype, self.rdclass) + (self.edns.wire() if self.edns else b"")

    def __str__(self) -> str:
        said = [self.name, dns.rdatatype.to_text(self.rdtype), "tcp" if self.is_tcp else "udp"]
        if self.rdclass != IN:
            said.append(f"class={self.rdclass}")
        if self.opcode:
            said.append(dns.opcode.to_text(self.opcode))
        said.append(dns.flags.to_text(self.flags) or "no-RD")
        if self.edns:
            said.append(f"edns={self.edns.payload}{' DO' * self.edns.is_do}{' v1' * (self.edns.version == 1)}")
            said += [f"option {code}={text.hex()}" for code, text in self.edns.options]
        return " ".join(said)


@dataclass(frozen=True, order=True)
class Record:
    owner: str
    ttl: int
    rdtype: str
    data: str

    def words(self) -> list[str]:
        return self.data.split()

    def __str__(self) -> str:
        return f"{self.owner} {self.ttl} {self.rdtype} {self.data}"


@dataclass(frozen=True)
class Answer:
    """One server's. Records are sorted: their order is the servers' own affair, but that of a chain is not one."""

    rcode: str
    flags: frozenset[str]
    question: str
    answer: tuple[Record, ...] = ()
    authority: tuple[Record, ...] = ()
    additional: tuple[Record, ...] = ()
    edns: Edns | None = None
    size: int = field(default=0, compare=False)

    @property
    def is_nodata(self) -> bool:
        return self.rcode == "NOERROR" and not self.answer

    def of(self, rdtype: str) -> tuple[Record, ...]:
        return tuple(record for record in self.answer if record.rdtype == rdtype)

    def of_all(self, rdtype: str) -> tuple[Record, ...]:
        """In answer and authority."""
        return tuple(record for record in (*self.answer, *self.authority) if record.rdtype == rdtype)

    def is_part_of(self, right: set[Record]) -> bool:
        """Has all of the records, or some and TC. TTLs do not count, nor priorities and weights of SRV."""
        told = {(one.owner, *one.words()[-2:]) for one in self.answer if one.rdtype != "CNAME"}
        whole = {(one.owner, *one.words()[-2:]) for one in right if one.rdtype != "CNAME"}
        return told <= whole and (told == whole or "TC" in self.flags)

    def lines(self) -> Iterator[str]:
        yield f"{self.rcode} {' '.join(sorted(self.flags))}"
        for section in ("answer", "authority", "additional"):
            yield from (f"{section}: {record}" for record in getattr(self, section))
        if self.edns:
            yield f"opt: {self.edns}"


NO_ANSWER = Answer("no answer", frozenset(), "")


def _records(section: list) -> tuple[Record, ...]:
    """Names in lower case: which case a server repeats where is not compared, but in the question."""
    return tuple(
        sorted(
            Record(str(rrset.name).lower(), rrset.ttl, dns.rdatatype.to_text(rrset.rdtype), _data_text(rdata))
            for rrset in section
            for rdata in rrset
        )
    )


def _data_text(rdata) -> str:
    text = rdata.to_text()
    return text if rdata.rdtype == dns.rdatatype.TXT else text.lower()


def parse(wire: bytes) -> Answer:
    if not wire:
        return NO_ANSWER
    message = dns.message.from_wire(wire)
    edns = None
    if message.edns >= 0:
        options = tuple((int(option.otype), option.to_wire()) for option in message.options)
        edns = Edns(message.payload, bool(message.ednsflags & dns.flags.DO), message.edns, options)
    questions = [f"{one.name} {dns.rdatatype.to_text(one.rdtype)} {int(one.rdclass)}" for one in message.question]
    return Answer(
        rcode=dns.rcode.to_text(message.rcode()),
        flags=frozenset(dns.flags.to_text(message.flags).split()) - {"QR"},
        question="; ".join(questions),
        answer=_records(message.answer),
        authority=_records(message.authority),
        additional=_records(message.additional),
        edns=edns,
        size=len(wire),
    )


# ---- Many at a time ----


def _ask_udp(port: int, wires: dict[int, bytes]) -> dict[int, bytes]:
    """By number, which is the message's ID."""
    got: dict[int, bytes] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        waiting, left, tries = {}, list(reversed(wires.items())), 0
        while waiting or left:
            while left and len(waiting) < _UDP_AT_ONCE:
                number, wire = left.pop()
                waiting[number] = wire
                sock.send(wire)
            if select.select([sock], [], [], _AGAIN_S)[0]:
                reply = sock.recv(65535)
                number = struct.unpack("!H", reply[:2])[0]
                if waiting.pop(number, None):
                    got[number], tries = reply, 0
                continue
            tries += 1
            if tries == _TRIES:
                break
            for wire in waiting.values():
                sock.send(wire)
    return got


def _read_exactly(stream, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data


def _ask_tcp(port: int, wires: dict[int, bytes]) -> dict[int, bytes]:
    """A server that ends the connection has no answer to the first question that lacks one."""
    got: dict[int, bytes] = {}
    left = list(wires.items())
    while left:
        some, left = left[:_TCP_AT_ONCE], left[_TCP_AT_ONCE:]
        waiting = dict(some)
        with socket.create_connection(("127.0.0.1", port), timeout=_AGAIN_S * _TRIES) as sock:
            sock.sendall(b"".join(struct.pack("!H", len(wire)) + wire for wire in waiting.values()))
            stream = sock.makefile("rb")
            try:
                while waiting:
                    reply = _read_exactly(stream, struct.unpack("!H", _read_exactly(stream, 2))[0])
                    number = struct.unpack("!H", reply[:2])[0]
                    del waiting[number]
                    got[number] = reply
            except (EOFError, ConnectionError, TimeoutError):
                lost = next(iter(waiting))
                got[lost] = b""
                del waiting[lost]
                left = list(waiting.items()) + left
    return got


def _ask_one_server(port: int, wires: list[bytes], is_tcp: list[bool]) -> list[bytes]:
    udp = {number: wire for number, wire in enumerate(wires) if not is_tcp[number]}
    tcp = {number: wire for number, wire in enumerate(wires) if is_tcp[number]}
    got = _ask_udp(port, udp) | _ask_tcp(port, tcp)
    return [got.get(number, b"") for number in range(len(wires))]


def ask_all(ports: tuple[int, int], questions: list[Question]) -> list[tuple[Answer, Answer]]:
    """The answers of both servers, which are asked at the same time."""
    pairs = []
    for start in range(0, len(questions), 60_000):  # IDs have 16 bits
        some = questions[start : start + 60_000]
        wires = [question.wire(number) for number, question in enumerate(some)]
        is_tcp = [question.is_tcp for question in some]
        with ThreadPoolExecutor(len(ports)) as pool:
            ours, theirs = pool.map(lambda port: _ask_one_server(port, wires, is_tcp), ports)
        pairs += [(parse(one), parse(other)) for one, other in zip(ours, theirs)]
    return pairs

"""The queries of a recording, and the file in which record_answers.c finds them.

Each configuration with each version of the records has one sequence, in which time goes on and the response cache
fills; the wire corpora of the fuzz targets go to each sequence, too.
"""

import ipaddress
import itertools
import random
import struct
from dataclasses import dataclass
from pathlib import Path

import wire
import worlds
from choices import CLIENTS, LOCALS, SCRIPTS, TRANSPORTS, Choice, choose, complete
from keys import COOKIE_SECRET, OTHER_COOKIE_SECRET, TSIG_KEY, TSIG_SECRET
from wire import CLASSES, TYPES

QUERIES = 60_000
BATCH = 8
BEGIN_S, BEGIN_MS = 1_760_704_496, 5_000_000  # 17 October 2025

# ---- Bytes ----


def spelled(rng: random.Random, name: str, case: str) -> str:
    if case == "mixed":
        return "".join(rng.choice((letter.upper(), letter)) for letter in name)
    return name.upper() if case == "upper" else name


def subnet_of(kind: str) -> bytes:
    if kind == "broken":
        return wire.option(wire.SUBNET, b"\0\1\x40\0abc")
    return wire.subnet_option(*{"v4": ("198.51.100.0", 24), "v6": ("2001:db8::", 56), "zero": ("0.0.0.0", 0)}[kind])


def cookie_of(choice: Choice, now_s: int) -> bytes:
    client = b"recorded"
    if choice["cookie"] == "client":
        return client
    if choice["cookie"] == "broken":
        return client + b"short"
    secret = COOKIE_SECRET if choice["cookie"] != "foreign" else OTHER_COOKIE_SECRET
    age_s = 2000 if choice["cookie"] == "old" else 10
    return client + wire.server_cookie(secret, client, str(choice["client"]), now_s - age_s)


def options_of(choice: Choice, now_s: int) -> bytes:
    options = b""
    if choice["subnet"]:
        options += subnet_of(str(choice["subnet"]))
    if choice["cookie"]:
        options += wire.option(wire.COOKIE, cookie_of(choice, now_s))
    if choice["keepalive"]:
        options += wire.option(wire.KEEPALIVE, b"")
    if choice["stub"]:
        options += wire.option(wire.STUB, b"\1")
    if choice["padding"] is not None:
        options += wire.option(wire.PADDING, bytes(int(choice["padding"])))
    return options


def question_of(rng: random.Random, choice: Choice) -> bytes:
    name = wire.name_wire(spelled(rng, str(choice["name"]), str(choice["case"])))
    return name + struct.pack(">HH", TYPES.get(choice["type"], choice["type"]), CLASSES[choice["class"]])


def deformed(message: bytes, shape: str, question: bytes) -> bytes:
    head = bytearray(message[:12])
    if shape == "response":
        head[2] |= 0x80
    elif shape == "opcode":
        head[2] |= 0x28  # UPDATE
    elif shape == "questions":
        head[5] = 2
        return bytes(head) + question + message[12:]
    elif shape == "no-question":
        head[5] = 0
        return bytes(head) + message[12 + len(question) :]
    elif shape == "junk":
        return message + b"junk"
    elif shape == "short":
        return message[: len(message) * 2 // 3]
    return bytes(head) + message[12:]


def bytes_of(rng: random.Random, choice: Choice, now_s: int) -> bytes:
    question = question_of(rng, choice)
    flags = wire.RD * choice["rd"] | wire.AD * choice["ad"] | wire.CD * choice["cd"]
    opt = b""
    if choice["edns"] is not None:
        version = 1 if choice["shape"] == "version" else 0
        opt = wire.opt_record(int(choice["edns"]), options_of(choice, now_s), bool(choice["do"]), version)
    count = 2 if opt and choice["shape"] == "two-opt" else 1 if opt else 0
    message = wire.query(rng.randrange(65536), flags, question, opt * count, count)
    if choice["tsig"]:
        key = "another.key" if choice["tsig"] == "unknown" else TSIG_KEY
        at_s = now_s - (1000 if choice["tsig"] == "late" else 0)
        message = wire.signed(message, key, TSIG_SECRET, at_s, choice["tsig"] != "bad")
    return deformed(message, str(choice["shape"]), question)


# ---- Sequences ----


@dataclass
class Query:
    transport: str
    script: str
    client: str
    local: str | None
    now_s: int
    now_ms: int
    random: int
    wire: bytes
    what: str  # for people


@dataclass
class Sequence:
    configuration: str
    records: str  # a version's name
    queries: list[Query]


class Clock:
    """Stands while queries come together; else goes on, now and then so far that cache entries expire."""

    STEPS_MS = (1, 5, 50, 300, 1000, 1500, 4000)
    LEAP_MS = 400_000

    def __init__(self, rng: random.Random):
        self.rng, self.ms = rng, 0

    def go_on(self):
        self.ms += self.LEAP_MS if self.rng.random() < 0.02 else self.rng.choice(self.STEPS_MS)

    @property
    def now(self) -> tuple[int, int]:
        return BEGIN_S + self.ms // 1000, BEGIN_MS + self.ms


WIRE_CORPORA = (
    "query", "query_parse", "tsig", "transfer_query", "tcp_frames", "upstream_frames", "rr_text",
    "relay", "cache_image", "external", "signer", "nsec", "notify", "dns_reply", "dname", "dnsgrpc",
    "http_response",
)  # fmt: skip


def corpus_entries(folder: Path) -> list[tuple[str, bytes]]:
    """As they are, and without the first byte, which selects a case in some of them."""
    entries = []
    for corpus in WIRE_CORPORA:
        files = sorted((folder / corpus).iterdir())
        for file in files:
            data = file.read_bytes()[:65535]
            entries += [(f"{corpus}/{file.name}", data), (f"{corpus}/{file.name}[1:]", data[1:])]
    return entries


def text_of(choice: Choice) -> str:
    plain = {axis: value for axis, value in choice.items() if value not in (None, False, "plain")}
    return " ".join(f"{axis}={value}" for axis, value in plain.items() if axis not in ("configuration", "records"))


def sequence_of(rng: random.Random, configuration: str, version: str, choices: list[Choice], corpora) -> Sequence:
    """Queries of one transport come together, as many as a batch has."""
    clock, queries = Clock(rng), []
    choices = sorted(choices, key=lambda choice: TRANSPORTS.index(choice["transport"]))
    groups = [list(group) for _, group in itertools.groupby(choices, key=lambda choice: choice["transport"])]
    batches = [group[i : i + BATCH] for group in groups for i in range(0, len(group), BATCH)]
    rng.shuffle(batches)
    for batch in batches:
        clock.go_on()
        for choice in batch:
            queries.append(Query(
                choice["transport"], choice["script"], choice["client"], choice["local"], *clock.now,
                rng.getrandbits(32), bytes_of(rng, choice, clock.now[0]), text_of(choice),
            ))  # fmt: skip
    for i in range(0, len(corpora), BATCH):
        clock.go_on()
        transport = TRANSPORTS[(i // BATCH + rng.randrange(2)) % len(TRANSPORTS)]
        queries += [
            Query(transport, "good", CLIENTS[0], LOCALS[0], *clock.now, rng.getrandbits(32), data, what)
            for what, data in corpora[i : i + BATCH]
        ]
    return Sequence(configuration, version, queries)


@dataclass
class Plan:
    seed: int
    pair_count: int
    sequences: list[Sequence]

    @property
    def query_count(self) -> int:
        return sum(len(sequence.queries) for sequence in self.sequences)


def make_plan(seed: int, corpora_folder: Path, queries: int = QUERIES) -> Plan:
    rng = random.Random(seed)
    choices = [choose(rng, {}) for _ in range(queries)]
    pair_count = complete(rng, choices)
    corpora = corpus_entries(corpora_folder)
    by_world: dict[tuple[str, str], list[Choice]] = {}
    for choice in choices:
        version = rng.choice(("none", "empty")) if choice["records"] == "none" else str(choice["records"])
        by_world.setdefault((str(choice["configuration"]), version), []).append(choice)
    sequences = [sequence_of(rng, *world, of_world, corpora) for world, of_world in sorted(by_world.items())]
    return Plan(seed, pair_count, sequences)


# ---- The file ----


def strings(texts: list[str]) -> bytes:
    encoded = [text.encode() for text in texts]
    return struct.pack("<L", len(encoded)) + b"".join(struct.pack("<L", len(e)) + e + b"\0" for e in encoded)


def flat(pairs: list[tuple[str, str]]) -> bytes:
    return strings([text for pair in pairs for text in pair])


def address(text: str | None, port: int) -> bytes:
    packed = ipaddress.ip_address(text).packed if text else b""
    return struct.pack("<B16sH", len(packed), packed, port)


def encode_query(query: Query) -> bytes:
    return (
        struct.pack("<BB", TRANSPORTS.index(query.transport), SCRIPTS.index(query.script))
        + address(query.client, 40000)
        + address(query.local, 53)
        + struct.pack("<qqLL", query.now_s, query.now_ms, query.random, len(query.wire))
        + query.wire
    )


def write_plan(plan: Plan, file: Path, folder: Path):
    """The files that configurations name are in the folder."""
    worlds.write_files(folder)
    configurations, versions = worlds.configurations(folder), worlds.versions()
    with file.open("wb") as out:
        out.write(b"RECPLAN1" + struct.pack("<L", len(configurations)))
        for c in configurations:
            out.write(strings(c.flags) + flat(c.pods) + flat(c.listed))
        out.write(struct.pack("<L", len(versions)))
        for v in versions:
            out.write(struct.pack("<B", v.records is None) + flat(v.records or []))
        out.write(struct.pack("<L", len(plan.sequences)))
        for sequence in plan.sequences:
            configuration = [c.name for c in configurations].index(sequence.configuration)
            version = [v.name for v in versions].index(sequence.records)
            out.write(struct.pack("<LLL", configuration, version, len(sequence.queries)))
            out.writelines(encode_query(query) for query in sequence.queries)

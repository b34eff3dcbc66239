"""Compares two recordings of one plan.

First by bytes. What differs is taken apart: names are decompressed, RRsets sorted, and what remains different has a
kind, or several:

    verdict                        a response, none, or a transfer
    deferral                       what the query waited for
    upstream                       the bytes of a query to an upstream
    unreadable                     one of the responses cannot be taken apart
    id, flags, rcode, truncation   of the header
    question                       its bytes
    answer, authority, additional  data of the section's RRsets
    ttl, case, signature           of RRsets whose data is otherwise the same
    order                          of records or options
    opt, options                   of the OPT record
    tsig, padding, compression     only where nothing else differs, since they follow from the rest

Each difference must be in a class of classes.py, which says why it may be; any other is a failure.
"""

import collections
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import wire
from plan import Plan, Query, Sequence
from wire import TYPES, Message, Rr

MODES = ("alone", "batch")  # in this order, of each sequence
ENDS = "RNT"  # the steps that end a query, as side.h has them
EXAMPLES, LINE_MAX = 3, 240

Steps = list[tuple[str, bytes]]


class Broken(Exception):
    """Not a recording of this plan."""


@dataclass
class Difference:
    sequence: Sequence
    mode: str
    query: Query
    ours: Steps
    theirs: Steps
    kinds: frozenset[str] = frozenset()


@dataclass
class Class:
    """Differences that may be: of these kinds and no other, where `where` says so."""

    name: str
    kinds: set[str]
    reason: str
    where: object = field(default=lambda difference: True)

    def has(self, difference: Difference) -> bool:
        return difference.kinds <= self.kinds and self.where(difference)


# ---- Reading recordings ----


def read_steps(data: bytes, at: int) -> tuple[Steps, int]:
    steps = []
    count, at = data[at], at + 1
    for _ in range(count):
        step, size = struct.unpack_from("<BL", data, at)
        at += 5
        steps.append((chr(step), data[at : at + size]))
        at += size
    if not steps or steps[-1][0] not in ENDS or at > len(data):
        raise Broken("a query without an end")
    return steps, at


def recorded(plan: Plan) -> Iterator[tuple[Sequence, str, Query]]:
    """What recordings have a record of, in their order."""
    for sequence in plan.sequences:
        for mode in MODES:
            for query in sequence.queries:
                yield sequence, mode, query


def differences(plan: Plan, ours: bytes, theirs: bytes) -> Iterator[Difference]:
    at_ours = at_theirs = 0
    for sequence, mode, query in recorded(plan):
        if at_ours >= len(ours) or at_theirs >= len(theirs):
            raise Broken("it ends early")
        our_steps, end_ours = read_steps(ours, at_ours)
        their_steps, end_theirs = read_steps(theirs, at_theirs)
        if ours[at_ours:end_ours] != theirs[at_theirs:end_theirs]:
            difference = Difference(sequence, mode, query, our_steps, their_steps)
            difference.kinds = frozenset(kinds_of(our_steps, their_steps))
            yield difference
        at_ours, at_theirs = end_ours, end_theirs
    if at_ours != len(ours) or at_theirs != len(theirs):
        raise Broken("it has more queries than the plan")


# ---- Kinds ----


def kinds_of(ours: Steps, theirs: Steps) -> set[str]:
    kinds = set()
    if [step for step, _ in ours[:-1]] != [step for step, _ in theirs[:-1]]:
        kinds.add("deferral")
    elif ours[:-1] != theirs[:-1]:
        kinds.add("upstream")
    if ours[-1][0] != theirs[-1][0]:
        kinds.add("verdict")
    elif ours[-1] != theirs[-1]:
        kinds |= message_kinds(ours[-1][1], theirs[-1][1])
    return kinds


def message_kinds(ours: bytes, theirs: bytes) -> set[str]:
    try:
        a, b = wire.read_message(ours), wire.read_message(theirs)
    except wire.Unreadable:
        return {"unreadable"}
    kinds = header_kinds(a.header, b.header)
    if a.question != b.question:
        kinds.add("case" if a.question.lower() == b.question.lower() else "question")
    if a.rest != b.rest:
        kinds.add("unreadable")
    for name, x, y in itertools.zip_longest(("answer", "authority", "additional"), a.sections, b.sections):
        kinds |= section_kinds(name, plain(x), plain(y))
    kinds |= opt_kinds(special(a, "OPT"), special(b, "OPT"))
    if special(a, "TSIG") != special(b, "TSIG"):
        kinds.add("tsig")
    return kinds - {"tsig", "padding"} or kinds or {"compression"}


def header_kinds(ours: bytes, theirs: bytes) -> set[str]:
    (id_a, flags_a), (id_b, flags_b) = struct.unpack(">HH", ours), struct.unpack(">HH", theirs)
    changed = flags_a ^ flags_b
    found = {"id": id_a != id_b, "rcode": changed & 15, "truncation": changed & wire.TC}
    found["flags"] = changed & ~(15 | wire.TC)
    return {kind for kind, is_so in found.items() if is_so}


def plain(section: list[Rr]) -> list[Rr]:
    return [rr for rr in section if rr.type not in (TYPES["OPT"], TYPES["TSIG"])]


def special(message: Message, name: str) -> list[Rr]:
    return [rr for section in message.sections for rr in section if rr.type == TYPES[name]]


def section_kinds(name: str, ours: list[Rr], theirs: list[Rr]) -> set[str]:
    if ours == theirs:
        return set()
    if sorted(ours) == sorted(theirs):
        return {"order"}
    changes = {
        "ttl": lambda rr: Rr(rr.owner, rr.type, rr.rclass, 0, rr.data),
        "case": lambda rr: Rr(rr.owner.lower(), rr.type, rr.rclass, rr.ttl_s, rr.data.lower()),
        "signature": without_signature,
    }
    # The fewest of them that explain it.
    for count in range(1, len(changes) + 1):
        for kinds in itertools.combinations(changes, count):
            a, b = ours, theirs
            for kind in kinds:
                a, b = [changes[kind](rr) for rr in a], [changes[kind](rr) for rr in b]
            if sorted(a) == sorted(b):
                return {*kinds} if a == b else {*kinds, "order"}
    return {name}


def without_signature(rr: Rr) -> Rr:
    """The data of an RRSIG up to the signer's name."""
    if rr.type != TYPES["RRSIG"]:
        return rr
    try:
        _, end = wire.read_name(rr.data, 18)
    except wire.Unreadable:  # a nameserver's nonsense
        return rr
    return Rr(rr.owner, rr.type, rr.rclass, rr.ttl_s, rr.data[:end])


def options_of(rr: Rr) -> list[tuple[int, bytes]]:
    options, at = [], 0
    while at + 4 <= len(rr.data):
        code, size = struct.unpack_from(">HH", rr.data, at)
        options.append((code, rr.data[at + 4 : at + 4 + size]))
        at += 4 + size
    return options


def opt_kinds(ours: list[Rr], theirs: list[Rr]) -> set[str]:
    if ours == theirs:
        return set()
    heads = [[(rr.owner, rr.rclass, rr.ttl_s) for rr in rrs] for rrs in (ours, theirs)]
    if heads[0] != heads[1]:
        return {"opt"}
    a, b = ([o for rr in rrs for o in options_of(rr) if o[0] != wire.PADDING] for rrs in (ours, theirs))
    if a == b:
        return {"padding"}
    return {"order"} if sorted(a) == sorted(b) else {"options"}


# ---- Text ----


def rr_text(rr: Rr) -> str:
    names = {number: name for name, number in TYPES.items()}
    owner = ".".join(label.decode("latin-1") for label in labels_of(rr.owner)) + "."
    return f"{owner} {rr.ttl_s} {names.get(rr.type, rr.type)} {rr.data.hex()}"


def labels_of(name: bytes) -> Iterator[bytes]:
    at = 0
    while name[at]:
        yield name[at + 1 : at + 1 + name[at]]
        at += 1 + name[at]


def steps_text(steps: Steps) -> list[str]:
    lines = [f"{step} {data.hex()}".rstrip() for step, data in steps[:-1]]
    step, data = steps[-1]
    try:
        message = wire.read_message(data) if step == "R" else None
    except wire.Unreadable:
        message = None
    if message is None:
        return [*lines, f"{step} {data.hex()}".rstrip()]
    lines.append(f"{step} {len(data)} bytes, header {message.header.hex()}, question {message.question.hex()}")
    for name, section in zip(("=", "!", "+"), message.sections, strict=True):
        lines += [f"{name} {rr_text(rr)}" for rr in section]
    return lines


def lines_of(difference: Difference) -> Iterator[str]:
    """What they have and we have not, and the reverse."""
    ours, theirs = steps_text(difference.ours), steps_text(difference.theirs)
    only_ours, only_theirs = [collections.Counter(ours), collections.Counter(theirs)]
    only_ours, only_theirs = only_ours - only_theirs, only_theirs - only_ours
    sequence = difference.sequence
    yield f"  {sequence.configuration}, {sequence.records}, {difference.mode}: {difference.query.what}"
    yield f"    query {difference.query.wire.hex()[:LINE_MAX]}"
    if not only_ours and not only_theirs:
        yield f"    - {difference.theirs[-1][1].hex()[:LINE_MAX]}"
        yield f"    + {difference.ours[-1][1].hex()[:LINE_MAX]}"
    for sign, lines in (("-", only_theirs), ("+", only_ours)):
        for line in list(lines.elements())[:8]:
            yield f"    {sign} {line[:LINE_MAX]}"


def judge(found: list[Difference], classes: list[Class]) -> tuple[list[str], bool]:
    """Lines for people, and whether every difference is in a class."""
    by_class: dict[str, list[Difference]] = {}
    reasons = {}
    is_good = True
    for difference in found:
        listed = next((c for c in classes if c.has(difference)), None)
        name = listed.name if listed else "UNLISTED " + "+".join(sorted(difference.kinds))
        reasons[name] = listed.reason if listed else "in no class of tests/recorded/classes.py"
        is_good = is_good and listed is not None
        by_class.setdefault(name, []).append(difference)
    lines = []
    for name, members in sorted(by_class.items()):
        lines.append(f"{len(members)} {name}: {reasons[name]}")
        for difference in members[:EXAMPLES]:
            lines += lines_of(difference)
    return lines, is_good

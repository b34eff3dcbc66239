"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

import wire
from compare import Class, Difference
from plan import Query

TYPES = wire.TYPES


def replies_of(difference: Difference) -> tuple[wire.Message, wire.Message] | None:
    """Ours and theirs, if both answer last."""
    (step, ours), (their_step, theirs) = difference.ours[-1], difference.theirs[-1]
    return (wire.read_message(ours), wire.read_message(theirs)) if step == their_step == "R" else None


def flags_of(message: wire.Message) -> int:
    return int.from_bytes(message.header[2:], "big")


def is_signed_choice(difference: Difference) -> bool:
    """Whether a stream's answer has some records of theirs, signed and without TC."""
    replies = replies_of(difference)
    if not replies or difference.query.transport == "udp" or flags_of(replies[0]) & wire.TC:
        return False
    ours, theirs = (
        {rr.data for rr in message.sections[0] if rr.type != TYPES["RRSIG"]} for message in replies
    )
    return 500 < len(ours) < len(theirs) and any(rr.type == TYPES["RRSIG"] for rr in replies[0].sections[0])


def has_no_additionals(difference: Difference) -> bool:
    """Whether ours has none, and theirs signed ones of more than 12 RRsets."""
    replies = replies_of(difference)
    if not replies:
        return False
    signed_sets = {(rr.owner.lower(), rr.data[:2]) for rr in replies[1].sections[2] if rr.type == TYPES["RRSIG"]}
    ours = [rr for rr in replies[0].sections[2] if rr.type not in (TYPES["OPT"], TYPES["TSIG"])]
    return not ours and len(signed_sets) > 12


def asks_any_class(query: Query) -> bool:
    try:
        _, end = wire.read_name(query.wire, 12)
    except wire.Unreadable:
        return False
    return query.wire[end + 2 : end + 4] == b"\0\xff"


def is_in_any_class(difference: Difference) -> bool:
    """Whether they refuse a question for its class, ANY, and we do not and are not authoritative."""
    replies = replies_of(difference)
    refused, authoritative = 5, 0x0400
    return asks_any_class(difference.query) and (
        not replies or (flags_of(replies[1]) & 15 == refused and not flags_of(replies[0]) & authoritative)
    )


def follows_any_class(difference: Difference) -> bool:
    """Whether a query before it asked in class ANY, so that nameservers were asked about its targets earlier."""
    queries = difference.sequence.queries
    before = queries[: next(i for i, query in enumerate(queries) if query is difference.query)]
    return any(asks_any_class(query) for query in before)


def is_refused_loop(difference: Difference) -> bool:
    """Whether a server of stub zones asks, and we refuse what they drop."""
    (step, ours), (their_step, _) = difference.ours[-1], difference.theirs[-1]
    is_refused = step == "R" and flags_of(wire.read_message(ours)) & 15 == 5
    return "stub=True" in difference.query.what.split() and their_step == "N" and is_refused


def has_cd(difference: Difference) -> bool:
    """Whether only ours has CD, and not AA."""
    replies = replies_of(difference)
    cd, authoritative = 0x0010, 0x0400
    return bool(replies) and flags_of(replies[0]) ^ flags_of(replies[1]) == cd and (
        flags_of(replies[0]) & (cd | authoritative) == cd
    )


def has_junk_behind_tsig(difference: Difference) -> bool:
    words = difference.query.what.split()
    return "shape=junk" in words and any(word.startswith("tsig=") for word in words)


def is_from_stub(query: Query) -> bool:
    return "stub=True" in query.what.split()


def leaves_target(difference: Difference) -> bool:
    """Whether a server of stub zones asks, and ours has no record that theirs has not, or theirs fails."""
    replies = replies_of(difference)
    if not is_from_stub(difference.query) or not replies:
        return False
    ours, theirs = ({rr.data for section in message.sections[::2] for rr in section} for message in replies)
    return ours <= theirs or flags_of(replies[1]) & 15 == 2


def follows_left_target(difference: Difference) -> bool:
    """Whether it is about the stub zone, and a server of stub zones asked before: targets that we left to it are not
    cached, and the nameserver may say something else now.
    """
    queries = difference.sequence.queries
    before = queries[: next(i for i, query in enumerate(queries) if query is difference.query)]
    return b"\4stub" in difference.query.wire.lower() and any(is_from_stub(query) for query in before)


CLASSES: list[Class] = [
    Class(
        "junk behind TSIG", {"verdict", "deferral", "upstream", "rcode", "flags", "truncation", "answer", "authority",
                             "additional", "ttl", "compression", "options", "padding", "tsig", "order", "case"},
        "bytes behind a TSIG record make a query malformed, as they do without one",
        has_junk_behind_tsig,
    ),
    Class(
        "CNAMEs into stub zones", {"deferral", "upstream", "rcode", "flags", "truncation", "answer", "authority",
                                   "additional", "ttl", "compression", "options", "padding", "tsig", "signature",
                                   "order"},
        "a server of stub zones that asks us follows them itself",
        leaves_target,
    ),
    Class(
        "CD", {"flags", "options", "padding", "tsig"},
        "a response without AA repeats the query's CD, also SERVFAIL and REFUSED of our own",
        has_cd,
    ),
    Class(
        "loops of stub zones", {"verdict"}, "a question about a stub zone from a server of stub zones is REFUSED",
        is_refused_loop,
    ),
    Class(
        "class ANY", {"verdict", "deferral", "upstream", "rcode", "flags", "truncation", "answer", "authority",
                      "additional", "ttl", "compression", "options", "padding", "tsig", "order", "case"},
        "of names of ours it is class IN, without AA, where it was REFUSED",
        is_in_any_class,
    ),
    Class(
        "what CNAMEs into stub zones left", {"verdict", "deferral", "upstream", "rcode", "flags", "truncation", "answer",
                                             "authority", "additional", "ttl", "compression", "options", "padding",
                                             "tsig", "signature", "order", "case"},
        "targets that were left to a server of stub zones are not cached",
        follows_left_target,
    ),
    Class(
        "what class ANY left", {"answer", "authority", "additional", "deferral", "upstream"},
        "targets that an earlier query in class ANY led to are cached, from what the nameserver said then",
        follows_any_class,
    ),
    Class(
        "signed choices", {"answer", "truncation", "signature", "ttl", "compression", "options", "padding", "tsig"},
        "of an RRset that is too large for validators or a message, some records are signed over streams",
        is_signed_choice,
    ),
    Class(
        "few signed additionals", {"additional", "truncation", "compression", "options", "padding", "tsig"},
        "additional records are left out beyond 12 signed RRsets",
        has_no_additionals,
    ),
]  # fmt: skip

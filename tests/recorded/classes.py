"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

import wire
from compare import Class, Difference

TYPES = wire.TYPES


def follows_exempt_nonsense(difference: Difference) -> bool:
    """Whether the client has sent a valid cookie beside a network that makes no sense before."""
    queries = difference.sequence.queries
    before = queries[: next(i for i, query in enumerate(queries) if query is difference.query)]
    return difference.sequence.configuration == "rate" and any(
        query.client == difference.query.client and {"subnet=broken", "cookie=valid"} <= set(query.what.split())
        for query in before
    )


def without_signing(message: wire.Message) -> list:
    """Its records, but for when signatures were made and the capitals of owners that are compressed."""
    fields = 8  # of RRSIG, before its times
    kept = [rr for section in message.sections for rr in section if rr.type not in (TYPES["OPT"], TYPES["TSIG"])]
    return [
        (rr.owner.lower(), rr.type, rr.ttl_s, rr.data[:fields] if rr.type == TYPES["RRSIG"] else rr.data) for rr in kept
    ]


def signs_the_same(difference: Difference) -> bool:
    """Whether both sign the same records, or only ours had room for them."""
    (step, ours), (their_step, theirs) = difference.ours[-1], difference.theirs[-1]
    if step != "R" or their_step != "R":
        return False
    a, b = wire.read_message(ours), wire.read_message(theirs)
    is_cut, was_cut = (bool(int.from_bytes(message.header[2:], "big") & wire.TC) for message in (a, b))
    records = without_signing(a)
    is_signed = is_cut or any(rtype == TYPES["RRSIG"] for _, rtype, *_ in records)
    return is_signed and (was_cut or records == without_signing(b))


CLASSES: list[Class] = [
    Class(
        "names of signed answers", {"compression", "padding", "tsig", "case", "answer", "authority", "additional",
                                    "truncation", "deferral"},
        "the encoder compresses owners of NSEC and RRSIG records as all others: answers are shorter, more of them fit, "
        "and signatures are made for other answers first, so at another time",
        signs_the_same,
    ),
    Class(
        "a cookie that ends like an OPT record", {"options"},
        "it gets one back: a look at the query's last bytes does not pass it over any more",
        lambda difference: difference.query.what.startswith("query_parse/looks_plain"),
    ),
    Class(
        "what a rate leaves after nonsense", {"verdict", "deferral", "upstream", "flags", "options", "rcode",
                                              "truncation", "answer", "authority", "additional"},
        "a query that makes no sense is not exempt from the rate for its cookie any more, so that less is left",
        follows_exempt_nonsense,
    ),
]  # fmt: skip

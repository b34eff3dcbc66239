"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

from compare import Class, Difference


def follows_exempt_nonsense(difference: Difference) -> bool:
    """Whether the client has sent a valid cookie beside a network that makes no sense before."""
    queries = difference.sequence.queries
    before = queries[: next(i for i, query in enumerate(queries) if query is difference.query)]
    return difference.sequence.configuration == "rate" and any(
        query.client == difference.query.client and {"subnet=broken", "cookie=valid"} <= set(query.what.split())
        for query in before
    )


CLASSES: list[Class] = [
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

"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

from compare import Class

CLASSES: list[Class] = [
    Class(
        "a cookie that ends like an OPT record", {"options"},
        "it gets one back: a look at the query's last bytes does not pass it over any more",
        lambda difference: difference.query.what.startswith("query_parse/looks_plain"),
    ),
]  # fmt: skip

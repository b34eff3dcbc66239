"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

from compare import Class

CLASSES: list[Class] = []

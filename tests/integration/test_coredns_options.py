"""docs/operator/coredns-options.md names every plugin and option that corefile-to-skydns knows."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r'\{"([a-z0-9_]+)",?\s+(?:\.|NONE|TO_|[A-Z]+\()')


def test_all_are_named():
    page = (ROOT / "docs/operator/coredns-options.md").read_text()
    named = {word for span in re.findall(r"`([^`]+)`", page) for word in re.split(r"[^a-z0-9_]+", span)}
    known = {m[1] for path in (ROOT / "skydns/corefile").glob("translat*.c") for m in _ROW.finditer(path.read_text())}
    # kubernetes, forward and cache have headings.
    assert len(known) > 100 and known - named - {"kubernetes", "forward", "cache"} == set()

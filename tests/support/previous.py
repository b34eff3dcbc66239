"""Builds the programs of the previous release, for the tests of version skew (`make previous`).

    previous.py --build build [--ref COMMIT]     into build/previous/<commit>/tree/build/release/bin
    previous.py --build build --find             prints that folder; exit status 1 if nothing is built

Without --ref: the newest tag of a release that is no part of VERSION, by git's order of versions.
"""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/recorded"))

from check_recorded import Failed, checked_out, run  # noqa: E402


def newest_release() -> str:
    """A tag such as v0.1.0 or 0.1.0. Raises Failed if there is none."""
    version = (ROOT / "VERSION").read_text().strip()
    for tag in run(["git", "tag", "--list", "--sort=-version:refname", "v[0-9]*", "[0-9]*"], ROOT).split():
        if tag.removeprefix("v") != version:
            return tag
    raise Failed("no tag of an earlier release; expected one, or SKEW_REF=<commit>")


def find_previous(build: Path) -> Path | None:
    """The folder of the programs that were built last."""
    found = [path.parent for path in (build / "previous").glob("*/tree/build/release/bin/kube2sky")]
    return found[0] if len(found) == 1 else None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--ref", default="")
    parser.add_argument("--find", action="store_true")
    options = parser.parse_args()
    below = options.build.resolve()
    if options.find:
        found = find_previous(below)
        print(found or "previous: not built")
        return 0 if found else 1
    try:
        side = checked_out(options.ref or newest_release(), below / "previous")
        run(["make", f"-j{os.cpu_count()}", "programs"], side.tree)
    except Failed as failed:
        print(f"previous: {failed}", file=sys.stderr)
        return 1
    print(f"previous: {side.name} in {find_previous(below)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

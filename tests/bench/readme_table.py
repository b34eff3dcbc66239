#!/usr/bin/python3
"""Writes the last results of `make bench` into the documents (`make bench-readme`): one table into README.md, all
figures into tests/bench/README.md, each between its two marks, and the plot beside the benchmarks.

Only what a quiet machine measured is published. A run on a busy machine is refused whole, and so is one without a
quiet figure for README.md: exit status 1, nothing written. Of other runs, noisy columns and figures are left out.
"""

import argparse
import json
import sys
from pathlib import Path

from measuring import TESTS

from answers import summary, tables

README, FIGURES, PLOT = "README.md", "tests/bench/README.md", "tests/bench/results.svg"
BEGIN, END = "<!-- make bench-readme writes from here -->\n", "<!-- to here -->\n"


def with_table(document: str, table: str) -> str:
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"readme_table: expected {BEGIN.strip()} and {END.strip()} in the document")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write(root: Path, results: dict) -> int:
    """Exit status. All documents are made before the first is written."""
    told = summary.summarise(results["runs"], results["values"], results["busy"])
    versions = results.get("versions", {})
    table, image = tables.compact(told, results["head"], versions), tables.svg(told, results["machine"])
    if told.noise:
        print("readme_table: not quiet, left out:", file=sys.stderr)
        print("".join(f"  {reason}\n" for reason in told.noise), end="", file=sys.stderr)
    if told.is_busy or not table or not image:
        print("readme_table: nothing written: the results have no quiet figure of UDP", file=sys.stderr)
        return 1
    documents = {
        README: with_table((root / README).read_text(), table),
        FIGURES: with_table((root / FIGURES).read_text(), tables.markdown(told, results["head"], versions)),
        PLOT: image,
    }
    for name, text in documents.items():
        (root / name).write_text(text)
    print(f"written: {', '.join(documents)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", required=True, type=Path, help="folder of the results")
    arguments = parser.parse_args()
    try:
        results = json.loads((arguments.results / "results.json").read_text())
    except FileNotFoundError as error:
        raise SystemExit(f"readme_table: {error.filename}: run `make bench` first") from None
    return write(TESTS.parent, results)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Puts the last results of `make bench` into the README (`make bench-readme`): the tables between its two
marks, and the plot beside the benchmarks."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLOT = ROOT / "tests/bench/results.svg"
BEGIN, END = "<!-- make bench-readme writes from here -->\n", "<!-- to here -->\n"


def with_table(readme: str, table: str) -> str:
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"readme_table: expected {BEGIN.strip()} and {END.strip()} in the README")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", required=True, type=Path, help="folder of the results")
    results = parser.parse_args().results
    try:
        table, plot = (results / "table.md").read_text(), (results / "results.svg").read_text()
    except FileNotFoundError as error:
        raise SystemExit(f"readme_table: {error.filename}: run `make bench` before") from None
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(), table))
    PLOT.write_text(plot)
    print(f"written: {readme.name}, {PLOT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Writes the last results of `make bench` into the documents (`make bench-readme`): one table into README.md, all
figures into tests/bench/README.md, each between its two marks, and the plot beside the benchmarks.

Refuses a noisy run, with exit status 1 and nothing written. With --force it writes that, too, and marks with `?`
what is not to be trusted.
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration")]

from answers import report, summary  # noqa: E402

README, FIGURES, PLOT = "README.md", "tests/bench/README.md", "tests/bench/results.svg"
BEGIN, END = "<!-- make bench-readme writes from here -->\n", "<!-- to here -->\n"


def with_table(document: str, table: str) -> str:
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"readme_table: expected {BEGIN.strip()} and {END.strip()} in the document")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write(root: Path, results: dict, is_forced: bool) -> int:
    """Exit status. All documents are made before the first is written."""
    told = summary.summarise(results["runs"], results["values"], results["busy"])
    if told.noise and not is_forced:
        print("readme_table: the run was too noisy, nothing written (--force writes it):", file=sys.stderr)
        print("".join(f"  {reason}\n" for reason in told.noise), end="", file=sys.stderr)
        return 1
    table = report.compact(told, results["head"])
    if not table:
        print("readme_table: the results have no figures of UDP, nothing written", file=sys.stderr)
        return 1
    documents = {
        README: with_table((root / README).read_text(), table),
        FIGURES: with_table((root / FIGURES).read_text(), report.markdown(told, results["head"])),
        PLOT: report.svg(told, results["machine"]),
    }
    for name, text in documents.items():
        (root / name).write_text(text)
    print(f"written: {', '.join(documents)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", required=True, type=Path, help="folder of the results")
    parser.add_argument("--force", action="store_true", help="write a noisy run, too")
    arguments = parser.parse_args()
    try:
        results = json.loads((arguments.results / "results.json").read_text())
    except FileNotFoundError as error:
        raise SystemExit(f"readme_table: {error.filename}: run `make bench` first") from None
    return write(ROOT, results, arguments.force)


if __name__ == "__main__":
    sys.exit(main())

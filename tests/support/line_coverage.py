"""Which lines the unit tests and fuzz corpora run, of a build with VARIANT=cov (`make coverage`).

    line_coverage.py --build build/cov --reset      forgets what ran before
    line_coverage.py --build build/cov [--files PATTERN...]

Prints the percentage of lines run for each folder and each program, and for --files (shell patterns,
`skydns/pages/*`) each file's lines that did not run. Exit status 1 when a program is below its floor in
coverage_floors. main.c counts like any other file, although only integration tests run it.

Counts of programs that run at the same time add up: each locks a .gcda file while it merges its own, and threads
of one count atomically (gcc's -fprofile-update=prefer-atomic, which -pthread implies). A program that a signal kills,
or that calls _exit, never writes its counts.
"""
import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOORS = pathlib.Path(__file__).resolve().with_name("coverage_floors")
GCOV = os.environ.get("GCOV", "gcov")  # of the same version as the compiler


def read_floors():
    rows = (line.split() for line in FLOORS.read_text().splitlines() if line and not line.startswith("#"))
    return {program: int(percent) for program, percent in rows}


def notes_of(root, build, programs):
    """The compiler's notes on each source file, whether it ran or not."""
    sources = [source for program in programs for source in sorted((root / program).rglob("*.c"))]
    notes = [build / source.relative_to(root).with_suffix(".gcno") for source in sources]
    missing = [str(path) for path in notes if not path.is_file()]
    if missing:
        sys.exit(f"line_coverage: not built with VARIANT=cov: {' '.join(missing)}")
    return notes


def count_lines(root, build, programs):
    """{file: {line number: times run}}. A header's lines count once, whoever includes it."""
    result = subprocess.run([GCOV, "--json-format", "--stdout", *map(str, notes_of(root, build, programs))],
                            cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"line_coverage: {GCOV}: {result.stderr}")
    lines = collections.defaultdict(collections.Counter)
    for document in result.stdout.splitlines():
        for entry in json.loads(document)["files"]:
            if entry["file"].split("/")[0] in programs:
                for line in entry["lines"]:
                    lines[entry["file"]][line["line_number"]] += line["count"]
    return lines


class Share:
    def __init__(self):
        self.run = 0
        self.all = 0

    def add(self, counts):
        self.run += sum(count > 0 for count in counts.values())
        self.all += len(counts)

    def percent(self):
        return 100 * self.run / self.all if self.all else 100.0

    def line(self, name):
        return f"{name:22} {self.percent():5.1f} %  {self.run:5} of {self.all:5} lines"


def shares_by(lines, key):
    shares = collections.defaultdict(Share)
    for file, counts in sorted(lines.items()):
        shares[key(file)].add(counts)
    return shares


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3, 7"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def print_files(lines, patterns):
    for file, counts in sorted(lines.items()):
        if any(fnmatch.fnmatch(file, pattern) for pattern in patterns):
            share = Share()
            share.add(counts)
            missed = sorted(number for number, count in counts.items() if count == 0)
            print(f"{file}: {share.percent():.1f} %" + (f", not run: {ranges(missed)}" if missed else ""))


def below_floor(programs, floors):
    return [f"{program}: {programs[program].percent():.1f} % of its lines run, below its floor of {floor} % "
            f"({FLOORS.relative_to(ROOT)})"
            for program, floor in floors.items() if programs[program].percent() < floor]


def reset(build):
    for counts in build.rglob("*.gcda"):
        counts.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/cov", type=pathlib.Path)
    parser.add_argument("--reset", action="store_true")
    parser.add_argument("--files", nargs="+", default=[], metavar="PATTERN")
    options = parser.parse_args()
    build = options.build.resolve()
    if options.reset:
        reset(build)
        return 0
    floors = read_floors()
    lines = count_lines(ROOT, build, list(floors))
    programs = shares_by(lines, lambda file: file.split("/")[0])
    for folder, share in shares_by(lines, lambda file: file.rpartition("/")[0]).items():
        print(share.line(folder))
    print()
    for program in floors:
        print(f"{programs[program].line(program)}, floor {floors[program]} %")
    print_files(lines, options.files)
    wrong = below_floor(programs, floors)
    print("".join(f"{line}\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""The counting of `make coverage` (tests/support/line_coverage.py): lines of files that ran, of files that did not, of
headers in several files, of programs that ran at the same time; and what is said when a program is below its floor.
"""

import subprocess

import line_coverage
import pytest

HEADER = """\
static inline int twice(int x)
{
    return 2 * x;
}
"""
RUN = """\
#include "common/twice.h"
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        return twice(0);
    }
    return 0;
}
"""
NOT_RUN = """\
#include "common/twice.h"
int quadruple(int x);
int quadruple(int x)
{
    return twice(twice(x));
}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A program built for counting, of which no run has been counted."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("common", "tool", "build/common", "build/tool"):
        (root / folder).mkdir(parents=True)
    (root / "common/twice.h").write_text(HEADER)
    (root / "common/four.c").write_text(NOT_RUN)
    (root / "tool/main.c").write_text(RUN)
    for name in ("common/four", "tool/main"):
        subprocess.run(["gcc", "-O0", "--coverage", "-I.", "-c", f"{name}.c", "-o", f"build/{name}.o"], cwd=root, check=True)
    subprocess.run(["gcc", "--coverage", "build/common/four.o", "build/tool/main.o", "-o", "build/tool/tool"],
                   cwd=root, check=True)  # fmt: skip
    return root


def run(tree, *arguments):
    return subprocess.Popen([str(tree / "build/tool/tool"), *arguments])


def count(tree):
    return line_coverage.count_lines(tree, tree / "build", ["common", "tool"])


def test_counts(tree):
    line_coverage.reset(tree / "build")
    assert run(tree).wait() == 0
    lines = count(tree)
    assert dict(lines["tool/main.c"]) == {2: 1, 5: 1, 6: 0, 8: 1}
    assert set(lines["common/four.c"].values()) == {0}
    assert dict(lines["common/twice.h"]) == {1: 0, 3: 0}  # in two files, once each
    programs = line_coverage.shares_by(lines, lambda file: file.split("/")[0])
    assert programs["tool"].percent() == 75
    assert programs["common"].percent() == 0
    assert line_coverage.below_floor(programs, {"common": 0, "tool": 75}) == []
    below = line_coverage.below_floor(programs, {"common": 1, "tool": 76})
    assert [line.split(":")[0] for line in below] == ["common", "tool"]


def test_runs_at_the_same_time_add_up(tree):
    line_coverage.reset(tree / "build")
    processes = [run(tree, "x") for _ in range(20)]
    assert [process.wait() for process in processes] == [0] * 20
    lines = count(tree)
    assert dict(lines["tool/main.c"]) == {2: 20, 5: 20, 6: 20, 8: 0}
    assert dict(lines["common/twice.h"]) == {1: 20, 3: 20}


def test_a_file_that_was_not_built_is_named(tree, tmp_path):
    with pytest.raises(SystemExit, match=r"tool/main\.gcno"):
        line_coverage.count_lines(tree, tmp_path, ["tool"])


def test_ranges():
    assert line_coverage.ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert line_coverage.ranges([]) == ""


def test_every_program_has_a_floor():
    assert set(line_coverage.read_floors()) == {"common", "kube2sky", "skydns", "exechealthz"}

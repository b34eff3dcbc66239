"""That `make bench-instructions` fails when an answer takes more instructions than its ceiling, or when something was
not counted; and that its driver answers all kinds of questions right. Nothing is counted here.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from bed import BIN_DIR

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.append(str(BENCH))

import instructions  # noqa: E402
from instructions import CEILINGS, NotMeasured, Row, judge, read_answers, read_dump  # noqa: E402

DRIVERS = [BIN_DIR.parent / "tests/bench" / name for name in ("instructions/bench_instructions", "kube2sky/bench_decode")]
ANSWERS = 64

# In valgrind's place: dumps of as many instructions as it is told.
VALGRIND = """#!/bin/sh
for word; do case $word in --callgrind-out-file=*) out=${word#*=} ;; esac; done
number=0
while read -r kind instructions; do
  number=$((number + 1))
  {
    echo "desc: Trigger: Client Request: $kind"
    printf 'calls=0 313\\n442 9\\n'
    echo "totals: $instructions"
  } >"$out.$number"
  echo "$kind ANSWERS"
done <"%s"
exit %d
"""


def costs(**more: int) -> dict[str, int]:
    """All answers at their ceilings, but for these, which take so much more."""
    return {kind: (ceiling + more.get(kind.replace("-", "_"), 0)) * ANSWERS for kind, ceiling in CEILINGS.items()}


def run(tmp_path, instructions_of: dict[str, int] | None, status: int = 0) -> subprocess.CompletedProcess:
    """The script, with a valgrind that counts these; None: without valgrind."""
    (tmp_path / "bin").mkdir()
    if instructions_of is not None:
        lines = "".join(f"{kind} {counted}\n" for kind, counted in instructions_of.items())
        (tmp_path / "counts").write_text(lines)
        valgrind = tmp_path / "bin/valgrind"
        valgrind.write_text((VALGRIND % (tmp_path / "counts", status)).replace("ANSWERS", str(ANSWERS)))
        valgrind.chmod(0o755)
    command = [sys.executable, str(BENCH / "instructions.py"), "--bench", "/bench", "--out", str(tmp_path / "out")]
    environment = {"PATH": str(tmp_path / "bin")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def on_its_machine():
    if instructions.platform.machine() != instructions.MACHINE:
        pytest.skip(f"the ceilings are for {instructions.MACHINE}")


# ---- Verdicts ----


@pytest.mark.parametrize("instructions_of, is_missed", [(99.0, False), (100.0, False), (100.1, True), (200.0, True)])
def test_more_than_the_ceiling_is_missed(instructions_of, is_missed):
    row = Row("a", instructions_of, 100)
    assert row.is_missed == is_missed
    assert ("MISSED" in row.text()) == is_missed


def test_a_loose_ceiling_is_told():
    assert "lower the ceiling to 82" in Row("a", 80.0, 100).text()
    assert "lower" not in Row("a", 97.0, 100).text()


def test_each_kind_is_judged_by_its_own_ceiling():
    rows = judge({"a": 6400, "b": 6464}, {"a": 64, "b": 64}, {"a": 100, "b": 100})
    assert [(row.kind, row.instructions, row.is_missed) for row in rows] == [("a", 100, False), ("b", 101, True)]


@pytest.mark.parametrize(
    "counted, answers, why",
    [
        ({"a": 1}, {"a": 1, "b": 1}, "b was not counted"),
        ({"a": 1, "b": 0}, {"a": 1, "b": 1}, "b was not counted"),
        ({"a": 1, "b": 1}, {"a": 1}, "b was not answered"),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1}, "c has no ceiling"),
    ],
)
def test_what_is_missing_is_an_error(counted, answers, why):
    with pytest.raises(NotMeasured, match=why):
        judge(counted, answers, {"a": 100, "b": 100})


@pytest.mark.parametrize(("kind", "other"), instructions.RATIOS)
def test_a_share_of_another_kind(kind, other):
    """Below its ceiling, and too much beside the other one."""
    ratio = instructions.RATIOS[kind, other]
    for cost, is_missed in ((int(100 * ratio), False), (int(100 * ratio) + 1, True)):
        rows = judge({kind: cost * 64, other: 6400}, {kind: 64, other: 64}, {kind: 200, other: 200})
        assert [(row.kind, row.is_missed) for row in rows] == [(kind, is_missed), (other, False)]


def test_a_dump_without_a_count_is_an_error():
    assert read_dump("desc: Trigger: Client Request: miss-a\nsummary: 7\n\ntotals: 12\n") == ("miss-a", 12)
    at_end = "desc: Trigger: Program termination\ntotals: 0\n"
    for text in ("", "totals: 12\n", "desc: Trigger: Client Request: miss-a\n", at_end):
        with pytest.raises(NotMeasured):
            read_dump(text)


# ---- The script ----


def test_all_met(tmp_path, on_its_machine):
    done = run(tmp_path, costs())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"0 of {len(CEILINGS)} ceilings missed\n") and "MISSED" not in done.stdout
    assert "calls=0" not in (tmp_path / "out/miss-a").read_text()


@pytest.mark.parametrize("kind", CEILINGS)
def test_one_missed(tmp_path, on_its_machine, kind):
    done = run(tmp_path, costs(**{kind.replace("-", "_"): 1}))
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if "MISSED" in line]
    assert line.startswith(f"{kind} ")


def test_not_measured(tmp_path, on_its_machine):
    for number, (counted, status, why) in enumerate(
        [
            (None, 0, "valgrind is not installed"),
            (costs(), 1, "exit status 1"),
            (dict(list(costs().items())[:-1]), 0, f"{list(CEILINGS)[-1]} was not counted"),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = run(folder, counted, status)
        assert done.returncode == 2 and why in done.stderr


# ---- The driver ----


def test_all_kinds_are_answered_right():
    """Without valgrind; the drivers check each reply, and count the objects."""
    answers: dict[str, int] = {}
    for driver in DRIVERS:
        done = subprocess.run([str(driver)], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (0, "")
        answers |= read_answers(done.stdout)
    assert answers.keys() == CEILINGS.keys()
    assert all(count >= ANSWERS for count in answers.values())

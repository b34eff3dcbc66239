"""That `make check-recorded` finds what it is for: the driver answers the same twice, a change of the program planted
in it is reported, and so is each kind of difference between two responses; a listed class passes, any other fails.
"""

import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from bed import BIN_DIR

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/recorded"))

import check_recorded  # noqa: E402
import choices  # noqa: E402
import compare  # noqa: E402
import plan as plans  # noqa: E402
import wire  # noqa: E402
from wire import name_wire, opt_record, option  # noqa: E402

QUERIES = 2000
CORPORA = ROOT / "tests/fuzz/corpus"

# Wherever it stands in the program: the TTL of what is answered from a record.
PLANTED = (".ttl_s = rrsynth_ttl_s(config, record)", ".ttl_s = rrsynth_ttl_s(config, record) + 1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def plan(folder):
    plan = plans.make_plan(1, CORPORA, QUERIES)
    plans.write_plan(plan, folder / "plan", folder / "files")
    return plan


@pytest.fixture(scope="module")
def side():
    return check_recorded.Side("this tree", ROOT, BIN_DIR.parent)


@pytest.fixture(scope="module")
def objects(folder, side):
    return check_recorded.compile_driver(side, folder / "driver")


@pytest.fixture(scope="module")
def driver(folder, side, objects):
    check_recorded.link_driver(side, objects, folder / "record_answers")
    return folder / "record_answers"


@pytest.fixture(scope="module")
def recording(folder, plan, driver):
    check_recorded.record([(driver, folder / "recording")], folder / "plan")
    return (folder / "recording").read_bytes()


# ---- The driver ----


def test_the_same_program_answers_the_same(folder, plan, driver, recording):
    check_recorded.record([(driver, folder / "again")], folder / "plan")
    assert (folder / "again").read_bytes() == recording
    assert not list(compare.differences(plan, recording, recording))


def test_every_kind_of_step_is_recorded(plan, recording):
    """Otherwise a plan asks for less than it should."""
    at, seen = 0, set()
    for _ in compare.recorded(plan):
        steps, at = compare.read_steps(recording, at)
        seen |= {step for step, _ in steps}
    assert seen >= set("LBFXWSRN")


def planted_object(folder: Path, side) -> Path:
    """The one file of the program that has the planted words, changed."""
    sources = [path for path in (ROOT / "skydns").rglob("*.c") if PLANTED[0] in path.read_text()]
    assert len(sources) == 1, "PLANTED is to be words that one file has"
    changed = folder / sources[0].name
    changed.write_text(sources[0].read_text().replace(*PLANTED))
    compiler, cpp_flags, c_flags, _ = check_recorded.flags_of(side)
    target = changed.with_suffix(".o")
    subprocess.run([*compiler, *cpp_flags, *c_flags, "-c", changed, "-o", target], cwd=ROOT, check=True, timeout=300)
    return target


def test_a_change_of_the_program_is_reported(folder, plan, side, objects, recording):
    changed = folder / "changed"
    check_recorded.link_driver(side, [*objects, planted_object(folder, side)], changed)
    check_recorded.record([(changed, folder / "changed-recording")], folder / "plan")
    found = list(compare.differences(plan, (folder / "changed-recording").read_bytes(), recording))
    lines, is_good = compare.judge(found, [])
    assert not is_good
    assert any(re.match(r"\d+ UNLISTED ttl:", line) for line in lines)
    assert {difference.mode for difference in found} == set(compare.MODES)


def test_a_plan_that_the_driver_cannot_use(folder, driver):
    (folder / "broken").write_bytes(b"RECPLAN1\1\0\0\0")
    with pytest.raises(check_recorded.Failed, match="the plan ends early"):
        check_recorded.record([(driver, folder / "nothing")], folder / "broken")


# ---- The plan ----


def test_all_pairs_of_values_are_in_a_plan(plan):
    made, wanted = [], choices.all_pairs()
    assert choices.complete(random.Random(1), made) == plan.pair_count == len(wanted)
    assert wanted == set().union(*(choices.pairs_of(choice) for choice in made))
    assert plan.query_count >= QUERIES + len(plan.sequences) * len(plans.corpus_entries(CORPORA))
    assert {sequence.configuration for sequence in plan.sequences} == set(choices.AXES["configuration"])


def test_a_seed_makes_the_same_plan():
    one, same, other = (plans.make_plan(seed, CORPORA, 100).sequences[0].queries for seed in (5, 5, 6))
    assert one == same != other


# ---- Kinds of differences ----

OWNER = name_wire("Web.example")
QUESTION = OWNER + struct.pack(">HH", 1, 1)


def rr(rtype: int, data: bytes, owner: bytes = OWNER, ttl_s: int = 30) -> bytes:
    return owner + struct.pack(">HHLH", rtype, 1, ttl_s, len(data)) + data


def response(answers: list[bytes], additionals: list[bytes] = (), flags: int = 0x8400, question=QUESTION) -> bytes:
    head = struct.pack(">HHHHHH", 7, flags, 1, len(answers), 0, len(additionals))
    return head + question + b"".join(answers) + b"".join(additionals)


ONE, TWO = rr(1, b"\x0a\0\0\1"), rr(1, b"\x0a\0\0\2")
RRSIG = struct.pack(">HBBLLLH", 1, 13, 2, 30, 2, 1, 7) + name_wire("example")


@pytest.mark.parametrize(
    "ours, theirs, kinds",
    [
        (response([ONE, TWO]), response([TWO, ONE]), {"order"}),
        (response([ONE]), response([rr(1, b"\x0a\0\0\1", ttl_s=29)]), {"ttl"}),
        (response([ONE, TWO]), response([TWO, rr(1, b"\x0a\0\0\1", ttl_s=29)]), {"ttl", "order"}),
        (response([ONE]), response([TWO]), {"answer"}),
        (response([ONE]), response([ONE, TWO]), {"answer"}),
        (response([ONE]), response([rr(1, b"\x0a\0\0\1", b"\xc0\x0c")]), {"compression"}),
        (response([ONE]), response([rr(1, b"\x0a\0\0\1", OWNER.lower())]), {"case"}),
        (response([ONE]), response([ONE], flags=0x8403), {"rcode"}),
        (response([ONE]), response([ONE], flags=0x8600), {"truncation"}),
        (response([ONE]), response([ONE], flags=0x8000), {"flags"}),
        (response([ONE]), response([ONE], question=QUESTION.lower()), {"case"}),
        (response([ONE]), response([ONE], [TWO]), {"additional"}),
        (response([rr(46, RRSIG + b"1")]), response([rr(46, RRSIG + b"2")]), {"signature"}),
        (response([], [opt_record(1232)]), response([], [opt_record(4096)]), {"opt"}),
        (response([], [opt_record(1232, option(15, b"\0\3"))]), response([], [opt_record(1232)]), {"options"}),
        (response([], [opt_record(1232, option(12, b"\0"))]), response([], [opt_record(1232)]), {"padding"}),
        (response([], [opt_record(1232, option(12, b""))]), response([], [opt_record(1232), TWO]), {"additional"}),
        (response([], [rr(250, b"1")]), response([], [rr(250, b"2")]), {"tsig"}),
        (response([ONE], [rr(250, b"1")]), response([TWO], [rr(250, b"2")]), {"answer"}),
        (response([ONE]), response([ONE]) + b"x", {"unreadable"}),
        (response([ONE]), response([ONE])[:-1], {"unreadable"}),
    ],
)
def test_kinds_of_responses(ours, theirs, kinds):
    assert compare.message_kinds(ours, theirs) == kinds == compare.message_kinds(theirs, ours)


@pytest.mark.parametrize(
    "ours, theirs, kinds",
    [
        ([("N", b"")], [("R", response([]))], {"verdict"}),
        ([("F", b"a"), ("R", b"x")], [("R", b"x")], {"deferral"}),
        ([("F", b"a"), ("R", b"x")], [("F", b"b"), ("R", b"x")], {"upstream"}),
        ([("W", b""), ("N", b"")], [("S", b""), ("T", b"")], {"deferral", "verdict"}),
    ],
)
def test_kinds_of_steps(ours, theirs, kinds):
    assert compare.kinds_of(ours, theirs) == kinds


def flipped(recording: bytes, plan) -> bytes:
    """Another TTL in the first answer that has one."""
    at = 0
    for _ in compare.recorded(plan):
        steps, end = compare.read_steps(recording, at)
        data = steps[-1][1]
        if steps[-1][0] == "R" and data[7] > 0 and (message := wire.read_message(data)).sections[0]:
            record = message.sections[0][0]
            head = struct.pack(">HHL", record.type, record.rclass, record.ttl_s)
            begins = recording.index(head, end - len(data))
            return recording[: begins + 7] + bytes([recording[begins + 7] ^ 1]) + recording[begins + 8 :]
        at = end
    raise AssertionError("no answer has a TTL")


def test_a_listed_class_passes_and_no_other(plan, recording):
    (found,) = compare.differences(plan, flipped(recording, plan), recording)
    assert found.kinds == {"ttl"}
    listed = compare.Class("leases", {"ttl", "order"}, "a reason")
    assert compare.judge([found], [listed])[1]
    assert "1 leases: a reason" in compare.judge([found], [listed])[0]
    for other in (
        compare.Class("too little", {"order"}, ""),
        compare.Class("elsewhere", {"ttl"}, "", lambda difference: difference.query.transport == "carrier pigeon"),
    ):
        assert not compare.judge([found], [other])[1]


def test_a_recording_that_ends_early_is_no_difference(plan, recording):
    steps, end = compare.read_steps(recording, 0)
    assert steps
    with pytest.raises(compare.Broken):
        list(compare.differences(plan, recording, recording[:end]))


# ---- The script ----


def test_a_commit_that_does_not_exist(tmp_path):
    command = [sys.executable, str(ROOT / "tests/recorded/check_recorded.py"), "--ref", "no-such-commit"]
    done = subprocess.run([*command, "--build", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no-such-commit" in done.stderr

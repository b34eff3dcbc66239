"""tests/support/check.py: what it makes of tests that fail, that fail once, and that do not run; and its last lines."""

import os
import subprocess
import sys

import check
import pytest

# Fails as often as the file `left` beside it says, then passes.
FAILS_SOMETIMES = """\
import pathlib
import pytest

class TestRace:
    @pytest.mark.parametrize("kind", ["a-b c"])
    def test_race(self, kind):
        path = pathlib.Path(__file__).with_name("left")
        left = int(path.read_text())
        path.write_text(str(left - 1))
        assert left <= 0

def test_steady():
    pass
"""
UNIT = """\
#!/bin/sh
left=$(cat "$0.left")
echo $((left - 1)) >"$0.left"
[ "$left" -gt 0 ] || exit 0
[ -n "$TEST_FILTER" ] || cat >"$(echo "$CMOCKA_XML_FILE" | sed s/%g/group/)" <<EOT
<testsuites><testsuite><testcase name="test_race" time="1.5"><failure>too late</failure></testcase>
<testcase name="test_steady" time="0.5"/></testsuite></testsuites>
EOT
exit 1
"""


@pytest.fixture
def pytest_file(tmp_path):
    def write(failures: int):
        (tmp_path / "left").write_text(str(failures))
        path = tmp_path / "test_sometimes.py"
        path.write_text(FAILS_SOMETIMES)
        return [str(path)]

    return write


def run_file(paths, tmp_path):
    with open(tmp_path / "output", "wb") as output:
        totals, problem = check.run_pytest(tmp_path, "not slow", paths, output)
    assert problem == ""
    return totals


@pytest.mark.parametrize("failures, line", [
    (0, "2 passed, 0 failed"),
    (1, "1 passed, 0 failed, 1 flaky"),
    (2, "1 passed, 1 failed"),
    (3, "1 passed, 1 failed"),
])
def test_a_race_is_told_from_a_fault(pytest_file, tmp_path, failures, line):
    totals = run_file(pytest_file(failures), tmp_path)
    totals.retry_failed()
    assert totals.line() == line


@pytest.mark.parametrize("failures, line", [(1, "1 passed, 0 failed, 1 flaky"), (3, "1 passed, 1 failed")])
def test_one_test_of_a_program_runs_again(tmp_path, failures, line):
    program = tmp_path / "test_program"
    program.write_text(UNIT)
    program.chmod(0o755)
    (tmp_path / "test_program.left").write_text(str(failures))
    totals, problem, output = check.run_unit(str(program))
    assert problem == "" and "too late" in output
    assert totals.cases == [(1.5, "test_race"), (0.5, "test_steady")]
    totals.retry_failed()
    assert totals.line() == line


def test_a_program_that_breaks_fails(tmp_path):
    program = tmp_path / "test_program"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    totals, problem, _ = check.run_unit(str(program))
    assert problem == "killed by SIGSEGV"
    totals.retry_failed()
    assert totals.line() == "0 passed, 1 failed"


def test_what_is_broken_runs_only_once():
    ran = []
    totals = check.Totals()
    for number in range(check.RERUN_MAX + 1):
        totals.fail(f"test_{number}", lambda: ran.append(1) or True)
    totals.retry_failed()
    assert ran == [] and totals.line() == f"0 passed, {check.RERUN_MAX + 1} failed"


def test_the_lists_name_files_that_exist():
    for name in check.TIMING_TESTS + check.SMOKE_TESTS + check.TOOL_TESTS:
        assert (check.INTEGRATION / f"test_{name}.py").is_file()
    assert not set(check.TIMING_TESTS) & set(check.TOOL_TESTS)


def test_shares_leave_nothing_out():
    everything = set(check.integration_files(None))
    assert everything == set(check.integration_files("asan")) | set(check.integration_files("release"))


def test_last_lines(tmp_path):
    """As .ci/run reads them. A folder without programs: every unit program failed, since it is not built."""
    done = subprocess.run(
        ["/usr/bin/python3", "tests/support/check.py", "--build", tmp_path, "--only", "unit"],
        cwd=check.ROOT, capture_output=True, text=True, timeout=120,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[-1].startswith("0 passed, ") and lines[-1].endswith(" failed")
    assert lines[-2].endswith(" s of CPU") and "not built" in done.stdout


def test_make_one_runs_a_test_with_a_marker(tmp_path):
    """Without the peers it is skipped, and not left out."""
    one = [sys.executable, str(check.ROOT / "tests/support/one.py"), "--build", str(tmp_path), "test_cluster_rights.py"]
    environment = os.environ | {"PEERS_CACHE": str(tmp_path)}
    done = subprocess.run(one, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "make peers" in done.stdout, done.stdout

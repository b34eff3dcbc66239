"""Runs the built tests: unit programs, fuzz corpora, integration tests (`make check`), and those of the
integration tests that take long or need root (`make check-faults`), podman (`make check-pod`) or Chromium
(`make check-page`). For
`make check-tsan`: unit programs, corpora and those integration tests in which threads meet.

    check.py --build build/release [--only unit|integration|tsan|faults|pod|page]

The list of tests comes from the sources, so that a program that failed to build counts as failed. Unit
programs and corpora run three at a time, and so do the parts of tests/integration, which pytest runs with
BIN_DIR set to the folder of the programs; faults.txt and pod.txt next to that folder get those tests'
figures. Ends with `N passed, N failed`, and `, N skipped` if any; exit status 1 if a test failed or none ran.
"""
import argparse
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Far longer than the slowest program takes under a sanitizer on a busy machine: they only end a hang.
UNIT_TIMEOUT_S = 900
INTEGRATION_TIMEOUT_S = 3600
GRACE_S = 20

# Unit programs that start an etcd, and integration tests, mostly wait: with three, two cores are busy two thirds of the
# time.
AT_ONCE = 3

# Of the integration tests: whoever has ended one takes the next, so that both end at about the same time. More would
# start pytest more often, for half a second each.
PARTS = 16


def set_sanitizer_options():
    """A report ends the program, which fails the test: asan does so by itself, tsan goes on without the option."""
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1")


# Workers answer while the main thread changes the store or the settings, or ends them; the resolver's thread
# forwards for them; a look-up of a name has a thread of its own. kube2sky and exechealthz have no other thread.
TSAN_TESTS = ("answers_random", "cache", "cache_threads", "clients", "config", "dns", "explain", "forwarding",
              "lameduck", "leases", "nameservers", "poisoning", "socket_buffers", "sockets", "tcp_capacity")


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = []  # (name, reason)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {len(self.skipped)} skipped" if self.skipped else "")


def run(command, timeout_s, **options):
    """Exit status (negative for a signal, None for a timeout) and the output, if captured. The command
    gets its own process group; on a timeout it is interrupted first, so that it can end its children,
    then killed."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **options)
    try:
        output, _ = process.communicate(timeout=timeout_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, end(process)
    except KeyboardInterrupt:
        end(process)
        raise


def end(process):
    """The rest of its output."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def run_captured(command, environment):
    status, output = run(command, UNIT_TIMEOUT_S, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return status, output.decode(errors="backslashreplace")


def status_text(status, timeout_s):
    if status is None:
        return f"no exit after {timeout_s} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def read_junit(text):
    """The totals of one XML report, cmocka's or pytest's, and the text of the failures."""
    totals = Totals()
    failures = ""
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            totals.failed += 1
            failures += f"{name}: {failure.text or ''}\n"
        elif skipped is not None:
            totals.skipped.append((name, skipped.get("message") or "no reason given"))
        else:
            totals.passed += 1
    return totals, failures


class Report:
    """One line for each program, followed by its whole output if it failed."""

    def __init__(self):
        self.totals = Totals()

    def add(self, name, totals, seconds, problem="", output=""):
        self.totals.add(totals)
        failed = totals.failed > 0
        print(f"{'FAIL' if failed else 'ok':4} {name}: {totals.line()} ({seconds:.1f} s)"
              + (f": {problem}" if problem else ""))
        if failed:
            print("".join(f"     | {line}\n" for line in output.splitlines()), end="")
        sys.stdout.flush()


def failed_once():
    totals = Totals()
    totals.failed = 1
    return totals


def run_unit(program, report_folder):
    """A cmocka program: (totals, problem, output)."""
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="XML",
                       CMOCKA_XML_FILE=str(report_folder / "%g.xml"), TEST_FILTER="")
    status, output = run_captured([program], environment)
    totals = Totals()
    for path in report_folder.glob("*.xml"):
        text = path.read_text(errors="backslashreplace")
        try:
            part, failures = read_junit(text)
            totals.add(part)
            output += failures
        except xml.etree.ElementTree.ParseError:
            output += text  # a message with bytes not allowed in XML
    problem = ""
    if totals.failed == 0 and status != 0:  # a crash, a sanitizer's report at exit, a group's set-up
        problem = status_text(status, UNIT_TIMEOUT_S)
    elif totals.failed + totals.passed + len(totals.skipped) == 0:
        problem = "no test in it"
    if problem:
        totals.failed += 1
    return totals, problem, output


def run_corpus(program, corpus):
    """A fuzz target over its corpus, one test: (totals, problem, output)."""
    if not corpus.is_dir():
        return failed_once(), f"no corpus {corpus.relative_to(ROOT)}", ""
    status, output = run_captured([program, str(corpus)], os.environ)
    if status != 0:
        return failed_once(), status_text(status, UNIT_TIMEOUT_S), output
    totals = Totals()
    totals.passed = 1
    return totals, "", output


def run_program(source, build):
    """(name, totals, seconds, problem, output) of one unit test or fuzz target."""
    relative = source.relative_to(ROOT / "tests").with_suffix("")
    program = build / "tests" / relative
    start = time.monotonic()
    if not program.is_file():
        result = failed_once(), "not built", ""
    elif relative.parts[0] == "fuzz":
        parser = relative.name.removeprefix("fuzz_")
        result = run_corpus(str(program), ROOT / "tests/fuzz/corpus" / parser)
    else:
        with tempfile.TemporaryDirectory(prefix="check-") as folder:
            result = run_unit(str(program), pathlib.Path(folder))
    totals, problem, output = result
    return str(relative), totals, time.monotonic() - start, problem, output


def check_unit(build, report):
    sources = sorted((ROOT / "tests/unit").rglob("test_*.c"))
    sources += sorted((ROOT / "tests/fuzz").glob("*/fuzz_*.c"))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for result in pool.map(lambda source: run_program(source, build), sources):
            report.add(*result)


def run_pytest(build, marker, paths, output):
    """(totals, problem)."""
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        junit = pathlib.Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marker,
                   f"--junit-xml={junit}", "-o", "junit_family=xunit1", f"--basetemp={folder}/tmp", *paths]
        status, _ = run(command, INTEGRATION_TIMEOUT_S, stdout=output, stderr=subprocess.STDOUT,
                        env=dict(os.environ, BIN_DIR=str(build / "bin"), PYTHONDONTWRITEBYTECODE="1"))
        totals = read_junit(junit.read_text())[0] if junit.is_file() else Totals()
    problem = ""
    if status != 0 and totals.failed == 0:
        totals.failed = 1
        problem = status_text(status, INTEGRATION_TIMEOUT_S)
    return totals, problem


def check_integration(build, report, files):
    """In parts, each with files from all over the alphabet; what pytest says of one is shown when it has ended."""
    files = sorted(map(str, files))
    parts = min(PARTS, len(files))

    def run_part(number):
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            totals, problem = run_pytest(build, "not faults and not pod and not page", files[number::parts], output)
            output.seek(0)
            told = output.read().decode(errors="backslashreplace")
        return f"integration {number + 1} of {parts}", totals, time.monotonic() - start, problem, told

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, totals, seconds, problem, told in pool.map(run_part, range(parts)):
            print(told, end="")
            report.add(name, totals, seconds, problem)


def check_folder(build, report, name, folder_name):
    """The tests of a folder that has its own marker."""
    start = time.monotonic()
    # pytest's output passes through unbuffered: it names the failures and shows their logs.
    totals, problem = run_pytest(build, name, [folder_name], None)
    report.add(name, totals, time.monotonic() - start, problem)


def print_figures(figures):
    if figures.is_file():
        print(figures.read_text(), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path,
                        help="folder of the variant to test (default %(default)s)")
    parser.add_argument("--only", choices=["unit", "integration", "tsan", "faults", "pod", "page"])
    options = parser.parse_args()
    build = options.build.resolve()
    set_sanitizer_options()

    report = Report()
    integration = ROOT / "tests/integration"
    if options.only in (None, "unit", "tsan"):
        check_unit(build, report)
    if options.only in (None, "integration"):
        check_integration(build, report, integration.rglob("test_*.py"))
    if options.only == "tsan":
        check_integration(build, report, (integration / f"test_{name}.py" for name in TSAN_TESTS))
    if options.only == "faults":
        check_folder(build, report, "faults", "tests/integration/faults")
        print_figures(build / "faults.txt")
    if options.only == "pod":
        (build / "pod.txt").unlink(missing_ok=True)
        check_folder(build, report, "pod", "tests/integration/pod")
        print_figures(build / "pod.txt")
    if options.only == "page":
        check_folder(build, report, "page", "tests/integration/page")
    totals = report.totals
    for name, reason in totals.skipped:
        print(f"skipped {name}: {reason}")
    print(totals.line())
    # Where containers do not work, or there is no Chromium, all tests are skipped.
    none_ran = not totals.passed and not (options.only in ("pod", "page") and totals.skipped)
    return 1 if totals.failed or none_ran else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the built tests: unit programs, fuzz corpora, integration tests (`make check`), and those of the
integration tests that take long or need root (`make check-faults`), podman (`make check-pod`), Chromium
(`make check-page`) or a real Kubernetes (`make check-cluster`). For `make check-tsan`: unit programs that say
UNIT_TESTS_HAVE_THREADS and those integration tests in which threads meet; with CHECK_ALL all unit programs and corpora.

    check.py --build build/release [--only unit|integration|tsan|faults|pod|page|cluster] [--share release|asan]

The list of tests comes from the sources, so that a program that failed to build counts as failed. Unit programs and
corpora run three at a time, and so do parts of the integration tests, which pytest runs with BIN_DIR set to the
folder of the programs; faults.txt and pod.txt next to that folder get those tests' figures. EMULATOR names a command
that runs unit programs and corpora of another architecture: qemu-aarch64.

--share leaves out what another step of .ci/run does: `asan` the tests of tools; `release` unit programs and corpora,
which `make coverage` runs, and all integration tests but those of tools, of timing and a dozen others.

A test that failed runs again alone, twice. If it passes both times it is flaky: a race to find, which does not fail
this run unless more than FLAKY_MAX are. Shows the slowest tests and ends with `N passed, N failed`, with `, N flaky`
and `, N skipped` if any; exit status 1 if a test failed or none ran.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INTEGRATION = ROOT / "tests/integration"

# Far longer than the slowest program takes under a sanitizer on a busy machine: they only end a hang.
UNIT_TIMEOUT_S = 900
INTEGRATION_TIMEOUT_S = 3600
GRACE_S = 20

# Unit programs that start an etcd, and integration tests, mostly wait: with three, two cores are busy two thirds of the
# time.
AT_ONCE = 3

# Of the integration tests: whoever has ended one takes the next, so that all end at about the same time. More would
# start pytest more often, for half a second each.
PARTS = 16

# Fixtures of conftest.py that share one real API server among all tests of a part.
REAL_API = re.compile(r"\b(cluster_bed|real_apiserver)[,)]")
REAL_API_PARTS = 2

# With more failures than this the cause is no race: none runs again.
RERUN_MAX = 10
RERUN_COUNT = 2
FLAKY_MAX = 3
SLOWEST_COUNT = 10

# Workers answer while the main thread changes the store or the settings, or ends them; the resolver's thread
# forwards for them; a look-up of a name has a thread of its own. kube2sky and exechealthz have no other thread.
TIMING_TESTS = ("answers_random", "cache", "cache_threads", "clients", "config", "dns", "explain", "forwarding",
                "lameduck", "leases", "nameservers", "poisoning", "socket_buffers", "sockets", "tcp_capacity")

# One of each kind of use, on the programs that users get.
SMOKE_TESTS = ("config_map", "dnssec", "doh", "exechealthz", "kube_objects", "legacy_keys", "orders", "pipeline",
               "recovery", "snapshot", "tls_listeners", "transfers", "visibility")

# They try tools, documents, manifests and installed files, or measure memory: a sanitizer in the programs would find
# nothing that other tests do not show it.
TOOL_TESTS = ("apiserver", "apiserver_protobuf", "bench", "bench_clients", "bench_instructions", "bench_nodes",
              "bench_published", "bench_scale", "bench_start", "chart", "check", "completion", "coredns_options", "deps",
              "dist", "documents", "install", "kubectl_dns", "line_coverage", "man_pages", "manifests", "manifests_nodes",
              "manifests_real", "manual", "monitoring", "overrides_memory", "release", "rooms", "run", "run_cluster",
              "runbooks")

# Unit programs that EMULATOR cannot run, and why.
NOT_EMULATED = {
    "unit/common/base/test_process_metrics": "qemu-user makes up /proc/self/stat",
    "unit/exechealthz/test_probe": "qemu-user has no PR_SET_CHILD_SUBREAPER",
}

# Folders of tests/integration whose tests have a marker of their own, and how many of their files run at a time.
FOLDERS = {"faults": 3, "pod": 1, "page": 1, "cluster": 1}
NO_FOLDER = " and ".join(f"not {name}" for name in FOLDERS)


def set_sanitizer_options():
    """A report ends the program, which fails the test: asan does so by itself, tsan goes on without the option."""
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1")


# A test that ran: seconds, and what runs it again, a function of no arguments that says whether it passes.
Case = collections.namedtuple("Case", "name seconds passes_again")


class Totals:
    def __init__(self):
        self.passed = 0
        self.failed = []  # cases
        self.flaky = []  # cases
        self.skipped = []  # (name, reason)
        self.cases = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.cases += other.cases

    def fail(self, name, passes_again=None):
        self.failed.append(Case(name, 0, passes_again))

    def line(self):
        parts = [f"{self.passed} passed, {len(self.failed)} failed"]
        parts += [f"{len(self.flaky)} flaky"] if self.flaky else []
        parts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        return ", ".join(parts)

    def retry_failed(self):
        """Moves to `flaky` what passes when it runs again alone."""
        if len(self.failed) > RERUN_MAX:
            return
        for case in list(self.failed):
            if case.passes_again and all(case.passes_again() for _ in range(RERUN_COUNT)):
                self.failed.remove(case)
                self.flaky.append(case)


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
    command = shlex.split(os.environ.get("EMULATOR", "")) + command
    status, output = run(command, UNIT_TIMEOUT_S, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return status, output.decode(errors="backslashreplace")


def status_text(status, timeout_s):
    if status is None:
        return f"no exit after {timeout_s} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def read_junit(text, again):
    """The totals of one XML report, cmocka's or pytest's, and the text of the failures. again(case): what runs a
    case once more, alone."""
    totals = Totals()
    failures = ""
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        totals.cases.append((float(case.get("time") or 0), name))
        if failure is not None:
            totals.fail(name, again(case))
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
        has_failed = bool(totals.failed)
        print(f"{'FAIL' if has_failed else 'ok':4} {name}: {totals.line()} ({seconds:.1f} s)"
              + (f": {problem}" if problem else ""))
        if has_failed:
            print("".join(f"     | {line}\n" for line in output.splitlines()), end="")
        sys.stdout.flush()


# ---- Unit programs and corpora ----


def run_unit(program):
    """A cmocka program: (totals, problem, output)."""
    totals = Totals()
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="XML", CMOCKA_XML_FILE=f"{folder}/%g.xml", TEST_FILTER="")
        status, output = run_captured([program], environment)
        for path in pathlib.Path(folder).glob("*.xml"):
            text = path.read_text(errors="backslashreplace")
            try:
                part, failures = read_junit(text, lambda case: unit_again(program, case.get("name")))
                totals.add(part)
                output += failures
            except xml.etree.ElementTree.ParseError:
                output += text  # a message with bytes not allowed in XML
    problem = ""
    if not totals.failed and status != 0:  # a crash, a sanitizer's report at exit, a group's set-up
        problem = status_text(status, UNIT_TIMEOUT_S)
    elif not totals.failed and totals.passed + len(totals.skipped) == 0:
        problem = "no test in it"
    if problem:
        totals.fail(program, unit_again(program, ""))
    return totals, problem, output


def unit_again(program, test):
    """`test` of it, or all of them."""
    return lambda: run_captured([program], dict(os.environ, TEST_FILTER=test))[0] == 0


def run_corpus(program, corpus):
    """A fuzz target over its corpus, one test: (totals, problem, output)."""
    totals = Totals()
    if not corpus.is_dir():
        totals.fail(program)
        return totals, f"no corpus {corpus.relative_to(ROOT)}", ""
    command = [program, str(corpus)]
    status, output = run_captured(command, os.environ)
    if status != 0:
        totals.fail(program, lambda: run_captured(command, os.environ)[0] == 0)
        return totals, status_text(status, UNIT_TIMEOUT_S), output
    totals.passed = 1
    return totals, "", ""


def run_program(source, build):
    """(name, totals, seconds, problem, output) of one unit test or fuzz target."""
    relative = source.relative_to(ROOT / "tests").with_suffix("")
    program = build / "tests" / relative
    start = time.monotonic()
    if not program.is_file():
        totals = Totals()
        totals.fail(str(program))
        result = totals, "not built", ""
    elif os.environ.get("EMULATOR") and str(relative) in NOT_EMULATED:
        totals = Totals()
        totals.skipped.append((str(relative), NOT_EMULATED[str(relative)]))
        result = totals, "", ""
    elif relative.parts[0] == "fuzz":
        result = run_corpus(str(program), ROOT / "tests/fuzz/corpus" / relative.name.removeprefix("fuzz_"))
    else:
        result = run_unit(str(program))
    totals, problem, output = result
    return str(relative), totals, time.monotonic() - start, problem, output


def unit_sources(with_threads=False):
    """Unit tests and fuzz targets, or only the unit tests that start threads: the linker and unit_test.c see to it that
    all those say so."""
    unit = sorted((ROOT / "tests/unit").rglob("test_*.c"))
    if with_threads:
        return [path for path in unit if "\nUNIT_TESTS_HAVE_THREADS\n" in path.read_text()]
    return unit + sorted((ROOT / "tests/fuzz").glob("*/fuzz_*.c"))


def check_unit(build, report, sources):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for result in pool.map(lambda source: run_program(source, build), sources):
            report.add(*result)


# ---- Integration tests ----


def pytest_command(marker, paths, *options):
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "-m", marker, *options,
            *paths]


def pytest_environment(build):
    """Python keeps what it has compiled below build/, for the next of hundreds of API servers and other helpers."""
    environment = dict(os.environ, BIN_DIR=str(build / "bin"), PYTHONPYCACHEPREFIX=str(build.parent / "pycache"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def node_of(case):
    """What pytest calls the test of a report: file, class if any, name."""
    file_name = case.get("file") or ""
    module = file_name.removesuffix(".py").replace("/", ".")
    within = (case.get("classname") or "").removeprefix(module).strip(".").split(".")
    return "::".join([file_name, *filter(None, within), case.get("name")])


def run_pytest(build, marker, paths, output=None):
    """(totals, problem). Without `output` pytest's own passes through."""

    def again(case):
        command = pytest_command(marker, [node_of(case)])
        return lambda: run(command, INTEGRATION_TIMEOUT_S, env=pytest_environment(build))[0] == 0

    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        junit = pathlib.Path(folder) / "junit.xml"
        command = pytest_command(marker, paths, f"--junit-xml={junit}", "-o", "junit_family=xunit1",
                                 f"--basetemp={folder}/tmp")
        status, _ = run(command, INTEGRATION_TIMEOUT_S, stdout=output, stderr=subprocess.STDOUT if output else None,
                        env=pytest_environment(build))
        totals = read_junit(junit.read_text(), again)[0] if junit.is_file() else Totals()
    problem = ""
    # All tests of a file may be deselected.
    if status not in (0, 5) and not totals.failed:
        problem = status_text(status, INTEGRATION_TIMEOUT_S)
        totals.fail(" ".join(paths))
    return totals, problem


def check_parts(build, report, name, marker, parts, at_once):
    """Each part is a list of files; what pytest says of one is shown when it has ended."""

    def run_part(number):
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            totals, problem = run_pytest(build, marker, parts[number], output)
            output.seek(0)
            said = output.read().decode(errors="backslashreplace")
        return f"{name} {number + 1} of {len(parts)}", totals, time.monotonic() - start, problem, said

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for part, totals, seconds, problem, said in pool.map(run_part, range(len(parts))):
            print(said, end="")
            report.add(part, totals, seconds, problem)


def dealt(files, count):
    """Into at most so many parts, each with files from all over the alphabet."""
    return [files[number::count] for number in range(min(count, len(files)))]


def check_integration(build, report, files):
    """Each part with a real API server starts one, so few parts have all these tests; they are long, and begin."""
    files = sorted(map(str, files))
    real = [path for path in files if REAL_API.search(pathlib.Path(path).read_text())]
    others = [path for path in files if path not in real]
    parts = dealt(real, REAL_API_PARTS) + dealt(others, PARTS)
    check_parts(build, report, "integration", NO_FOLDER, parts, AT_ONCE)


def integration_files(share):
    chosen = {
        None: lambda name: True,
        "asan": lambda name: name not in TOOL_TESTS,
        "release": lambda name: name in TOOL_TESTS + TIMING_TESTS + SMOKE_TESTS,
    }[share]
    return [path for path in INTEGRATION.rglob("test_*.py") if chosen(path.stem.removeprefix("test_"))]


def check_folder(build, report, name):
    """The tests of a folder that has its own marker, and the figures they leave."""
    figures = build / f"{name}.txt"
    figures.unlink(missing_ok=True)
    # The longest first, so that none runs alone at the end.
    paths = sorted((INTEGRATION / name).glob("test_*.py"), key=lambda path: (not path.stem.endswith("_long"), path.stem))
    files = [[str(path)] for path in paths]
    check_parts(build, report, name, name, files if FOLDERS[name] > 1 else [sum(files, [])], FOLDERS[name])
    if figures.is_file():
        print(figures.read_text(), end="")


# ---- The end ----


def print_slowest(totals):
    print(f"slowest of {len(totals.cases)} tests:")
    for seconds, name in sorted(totals.cases, reverse=True)[:SLOWEST_COUNT]:
        print(f"{seconds:7.1f} s  {name}")


def print_result(totals, started):
    for name, reason in totals.skipped:
        print(f"skipped {name}: {reason}")
    print_slowest(totals)
    for case in totals.flaky:
        print(f"flaky {case.name}: failed, then passed {RERUN_COUNT} times alone")
    for case in totals.failed:
        print(f"FAILED {case.name}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU")
    print(totals.line())


def main():
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path,
                        help="folder of the variant to test (default %(default)s)")
    parser.add_argument("--only", choices=["unit", "integration", "tsan", *FOLDERS])
    parser.add_argument("--share", choices=["release", "asan"])
    options = parser.parse_args()
    build = options.build.resolve()
    set_sanitizer_options()

    report = Report()
    if options.only in (None, "unit", "tsan") and options.share != "release":
        with_threads = options.only == "tsan" and "CHECK_ALL" not in os.environ
        check_unit(build, report, unit_sources(with_threads))
    if options.only in (None, "integration"):
        check_integration(build, report, integration_files(options.share))
    if options.only == "tsan":
        check_integration(build, report, (INTEGRATION / f"test_{name}.py" for name in TIMING_TESTS))
    if options.only in FOLDERS:
        check_folder(build, report, options.only)
    totals = report.totals
    totals.retry_failed()
    print_result(totals, started)
    # Where containers do not work, or there is no Chromium, all tests are skipped.
    none_ran = not totals.passed and not (options.only in ("pod", "page", "cluster") and totals.skipped)
    return 1 if totals.failed or none_ran or len(totals.flaky) > FLAKY_MAX else 0


if __name__ == "__main__":
    sys.exit(main())

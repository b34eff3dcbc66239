"""One unit test, fuzz corpus or integration test by name, for `make one`.

    one.py TEST                    runs it, with its output, in place of this process
    one.py --find TEST             only prints its path from the root, without its ending

TEST is the name of a file of tests (`test_fast`, `fuzz_query`, `test_dns.py`), as much of its path before that as
tells it from others (`skydns/test_options`), and one test of it after `::` (`test_fast::test_srv`, for cmocka also
`test_fast::*srv*`). A name that is unknown or not the only one is an error (exit status 2) that lists those near.
"""
import argparse
import difflib
import fnmatch
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = ("unit/**/test_*.c", "fuzz/*/fuzz_*.c", "integration/**/test_*.py")
# What defines a test in a file.
TESTS = {".c": r"^UNIT_TEST(?:_IN|_ON)?\((\w+)", ".py": r"^ *def (test_\w+)\("}
NEAR_MAX = 8


class Unknown(Exception):
    """What to tell instead."""


def files() -> list[pathlib.Path]:
    return sorted(path for pattern in PATTERNS for path in (ROOT / "tests").glob(pattern))


def tests_of(path: pathlib.Path) -> list[str]:
    return re.findall(TESTS[path.suffix], path.read_text(), re.M)


def short_name(path: pathlib.Path) -> str:
    """What --find's caller may type: without tests/unit or tests/fuzz, and with .py."""
    relative = path.relative_to(ROOT / "tests")
    if path.suffix == ".py":
        return str(relative)
    return str(relative.relative_to(relative.parts[0]).with_suffix(""))


def find_file(name: str) -> pathlib.Path:
    everything = files()
    ends = tuple(f"/{name.removeprefix('./')}{suffix}" for suffix in ("", ".c", ".py"))
    found = [path for path in everything if f"/{path.relative_to(ROOT)}".endswith(ends)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Unknown(f"{name} is one of: " + ", ".join(map(short_name, found)))
    base = pathlib.PurePath(name).stem
    near = [f"{short_name(path)}::{test}" for path in everything for test in tests_of(path) if test == base]
    stems = difflib.get_close_matches(base, {path.stem for path in everything}, NEAR_MAX, 0.6)
    near += [short_name(path) for stem in stems for path in everything if path.stem == stem]
    raise Unknown(f"no test is called {name}" + (f"; near: {', '.join(near[:NEAR_MAX])}" if near else ""))


def find(name: str) -> tuple[pathlib.Path, str]:
    """The file, and the test in it or ""."""
    file_name, _, test = name.partition("::")
    if not file_name:
        raise Unknown("name a test: make one TEST=test_fast, TEST=test_dns.py, TEST=test_fast::test_srv")
    path = find_file(file_name)
    names = tests_of(path)
    known = test.partition("[")[0].rpartition("::")[2]  # pytest's parameters and classes
    if known and not fnmatch.filter(names, known):
        near = difflib.get_close_matches(known, names, NEAR_MAX, 0.4) or names[:NEAR_MAX]
        raise Unknown(f"{short_name(path)} has no test {known}; near: {', '.join(near) or 'none, it is one test'}")
    return path, test


def run(path: pathlib.Path, test: str, build: pathlib.Path) -> None:
    os.chdir(ROOT)
    os.environ.pop("TEST_FILTER", None)
    program = str(build / path.relative_to(ROOT).with_suffix(""))
    if path.suffix == ".py":
        os.environ.update(BIN_DIR=str(build / "bin"), PYTHONDONTWRITEBYTECODE="1")
        target = f"{path.relative_to(ROOT)}" + (f"::{test}" if test else "")
        arguments = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m", "", target]
    elif path.stem.startswith("fuzz_"):
        arguments = [program, str(ROOT / "tests/fuzz/corpus" / path.stem.removeprefix("fuzz_"))]
        if build.name == "fuzz":
            arguments.insert(1, "-runs=0")  # libFuzzer: the corpus and no more
    else:
        arguments = [program]
        if test:
            os.environ["TEST_FILTER"] = test
    sys.stdout.flush()
    os.execv(arguments[0], arguments)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path, help="folder of the variant")
    parser.add_argument("--find", action="store_true", help="print the path without its ending")
    parser.add_argument("test")
    options = parser.parse_args()
    try:
        path, test = find(options.test)
    except Unknown as error:
        print(f"make one: {error}", file=sys.stderr)
        return 2
    if options.find:
        print(path.relative_to(ROOT).with_suffix(""))
    else:
        from check import set_sanitizer_options

        set_sanitizer_options()
        run(path, test, options.build.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())

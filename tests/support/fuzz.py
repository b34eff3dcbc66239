"""Runs every fuzz target with libFuzzer (`make fuzz`).

    fuzz.py --build build/fuzz --seconds 60

Each target starts from tests/fuzz/corpus/<parser>/ and runs for the given time, one target per core in
parallel. New inputs are kept in <build>/corpus/<parser>/ for the next run, an input that breaks
the target in <build>/findings/. Exit status 1 if there was a finding.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# An input that takes this long has found a loop, even on a slow machine.
INPUT_TIMEOUT_S = 25
# Shown of a failed target's log: enough for a sanitizer report with both stacks.
LOG_LINES = 60


def fuzz(source, build, seconds):
    """(parser, executions, what went wrong or "")."""
    parser = source.stem.removeprefix("fuzz_")
    program = build / "tests" / source.relative_to(ROOT / "tests").with_suffix("")
    found, findings = build / "corpus" / parser, build / "findings"
    for folder in found, findings:
        folder.mkdir(parents=True, exist_ok=True)
    command = [str(program), f"-max_total_time={seconds}", f"-timeout={INPUT_TIMEOUT_S}",
               "-print_final_stats=1", f"-artifact_prefix={findings}/{parser}-", str(found),
               str(ROOT / "tests/fuzz/corpus" / parser)]
    log = build / "findings" / f"{parser}.log"
    with open(log, "wb") as output:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(errors="backslashreplace")
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if status == 0 and executions:
        log.unlink()
        return parser, int(executions[1]), ""
    artifact = re.search(r"Test unit written to (\S+)", text)
    tail = "".join(f"     | {line}\n" for line in text.splitlines()[-LOG_LINES:])
    return parser, int(executions[1]) if executions else 0, (
        f"exit status {status}, input {artifact[1] if artifact else 'unknown'}, log {log}\n{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/fuzz", type=pathlib.Path)
    parser.add_argument("--seconds", default=60, type=int, help="for each target")
    options = parser.parse_args()
    build = options.build.resolve()
    sources = sorted((ROOT / "tests/fuzz").glob("*/fuzz_*.c"))
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for name, executions, problem in pool.map(
                lambda source: fuzz(source, build, options.seconds), sources):
            broken += bool(problem)
            print(f"{'FAIL' if problem else 'ok':4} {name}: {executions} executions"
                  + (f": {problem.rstrip()}" if problem else ""), flush=True)
    print(f"{len(sources)} fuzz targets, {broken} with a finding")
    return 1 if broken or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

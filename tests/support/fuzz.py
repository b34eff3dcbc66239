"""Runs every fuzz target with libFuzzer (`make fuzz`).

    fuzz.py --build build/fuzz --seconds 60
    fuzz.py --build build/fuzz --runs 100000000 query_parse tsig

Each target, or each of those named, starts from tests/fuzz/corpus/<parser>/ and runs for the given time or
number of executions, one target per core in parallel (or --jobs). New inputs are kept in <build>/corpus/<parser>/ for
the next run, an input that breaks the target in <build>/findings/. Exit status 1 if there was a finding.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# An input that takes this long has found a loop, even on a slow machine.
INPUT_TIMEOUT_S = 25
# Inputs are twice as long as the longest of the corpus, within these: long enough for what the parser knows, and most
# of what a long input costs is copied bytes.
SHORT_BYTES, LONG_BYTES = 256, 4096
# Shown of a failed target's log: enough for a sanitizer report with both stacks.
LOG_LINES = 60


def input_max(corpus):
    longest = max((path.stat().st_size for path in corpus.iterdir()), default=0)
    return max(SHORT_BYTES, min(2 * longest, LONG_BYTES), longest)


def fuzz(source, build, seconds, runs):
    """(parser, executions, how many a second, what went wrong or "")."""
    parser = source.stem.removeprefix("fuzz_")
    program = build / "tests" / source.relative_to(ROOT / "tests").with_suffix("")
    corpus, findings = build / "corpus" / parser, build / "findings"
    seeds = ROOT / "tests/fuzz/corpus" / parser
    for folder in corpus, findings:
        folder.mkdir(parents=True, exist_ok=True)
    limit = f"-runs={runs}" if runs else f"-max_total_time={seconds}"
    command = [str(program), limit, f"-timeout={INPUT_TIMEOUT_S}", f"-max_len={input_max(seeds)}",
               "-use_value_profile=0", "-reload=0", "-print_final_stats=1", f"-artifact_prefix={findings}/{parser}-",
               str(corpus), str(seeds)]
    log = build / "findings" / f"{parser}.log"
    began_s = time.monotonic()
    with open(log, "wb") as output:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(errors="backslashreplace")
    found = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    executions = int(found[1]) if found else 0
    a_second = round(executions / (time.monotonic() - began_s))
    if status == 0 and found:
        log.unlink()
        return parser, executions, a_second, ""
    artifact = re.search(r"Test unit written to (\S+)", text)
    tail = "".join(f"     | {line}\n" for line in text.splitlines()[-LOG_LINES:])
    return parser, executions, a_second, (
        f"exit status {status}, input {artifact[1] if artifact else 'unknown'}, log {log}\n{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/fuzz", type=pathlib.Path)
    parser.add_argument("--seconds", default=60, type=int, help="for each target")
    parser.add_argument("--runs", default=0, type=int, help="executions of each, instead of seconds")
    parser.add_argument("--jobs", default=0, type=int, help="targets at once; 0: as many as cores")
    parser.add_argument("parsers", nargs="*", help="these alone, as query_parse")
    options = parser.parse_args()
    build = options.build.resolve()
    sources = sorted((ROOT / "tests/fuzz").glob("*/fuzz_*.c"))
    if options.parsers:
        wanted = {f"fuzz_{name}" for name in options.parsers}
        if unknown := wanted - {source.stem for source in sources}:
            parser.error(f"no fuzz target: {', '.join(sorted(unknown))}")
        sources = [source for source in sources if source.stem in wanted]
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs or len(os.sched_getaffinity(0))) as pool:
        for name, executions, a_second, problem in pool.map(
                lambda source: fuzz(source, build, options.seconds, options.runs), sources):
            broken += bool(problem)
            print(f"{'FAIL' if problem else 'ok':4} {name}: {executions} executions, {a_second} a second"
                  + (f": {problem.rstrip()}" if problem else ""), flush=True)
    print(f"{len(sources)} fuzz targets, {broken} with a finding")
    return 1 if broken or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

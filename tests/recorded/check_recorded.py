#!/usr/bin/python3
"""Whether skydns answers as it did at another commit (`make check-recorded REF=<commit>`).

    check_recorded.py --ref COMMIT [--build build] [--seed N] [--queries N]

The commit is checked out and built below build/recorded/<commit>, where the next one takes its place, so no answers are
kept anywhere. One driver (record_answers.c) with libskydns.a of each side answers the queries of one plan (plan.py);
compare.py says what differs. The driver's part that knows the program (side_*.c) is that of the commit itself, if its
side.h is today's, else today's.

Exit status 0: equal, or each difference is in a class of classes.py; 1: other differences; 2: it could not be compared.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import classes
import compare
import plan as plans

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("tests/recorded")
CORE = ("record_answers.c", "fixed.c", "fixed.h", "script.c", "script.h", "side.h")
WRAPPED = ("clock_gettime", "getrandom")  # fixed.h


class Failed(Exception):
    pass


def run(command: list, cwd: Path, **more) -> str:
    """Its output; what a program says when it fails is the message."""
    # Not the flags of the make that runs this: paths and variables are others.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, text=True, capture_output=True, **more
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))[:300]}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


# ---- Building a side ----


@dataclass
class Side:
    name: str
    tree: Path
    objects: Path  # where the tree's release build is

    @property
    def archives(self) -> list[Path]:
        return [self.objects / f"lib{name}.a" for name in ("skydns", "common")]


def checked_out(ref: str, below: Path) -> Side:
    commit = run(["git", "rev-parse", "--verify", f"{ref}^{{commit}}"], ROOT).strip()
    tree = below / commit / "tree"
    for other in below.glob("*/tree"):
        if other != tree:
            shutil.rmtree(other.parent)
    run(["git", "worktree", "prune"], ROOT)
    if not tree.exists():
        run(["git", "worktree", "add", "--force", "--detach", tree, commit], ROOT)
    return Side(commit[:12], tree, tree / "build/release")


def build_archives(side: Side, cc: str | None):
    targets = [archive.relative_to(side.tree) for archive in side.archives]
    run(["make", f"-j{os.cpu_count()}", *([f"CC={cc}"] if cc else []), *targets], side.tree)


def lay_out(side: Side, stage: Path):
    """The driver's sources: today's, with the side's own adapter if it fits."""
    own, ours = side.tree / HERE, ROOT / HERE
    fits = (own / "side.h").exists() and (own / "side.h").read_bytes() == (ours / "side.h").read_bytes()
    shutil.rmtree(stage, ignore_errors=True)
    (stage / HERE).mkdir(parents=True)
    for name in CORE:
        shutil.copy(ours / name, stage / HERE)
    for file in (own if fits else ours).glob("side_*.[ch]"):
        shutil.copy(file, stage / HERE)


def flags_of(side: Side) -> list[list[str]]:
    """The compiler, and the flags of preprocessor, compiler and linker, of the side's own build."""
    return [line.split() for line in (side.objects / ".flags").read_text().splitlines()]


def compile_driver(side: Side, stage: Path) -> list[Path]:
    lay_out(side, stage)
    compiler, cpp_flags, c_flags, _ = flags_of(side)
    sources = sorted((stage / HERE).glob("*.c"))
    for source in sources:
        command = [*compiler, f"-I{stage}", *cpp_flags, *c_flags, "-c", source, "-o", source.with_suffix(".o")]
        run(command, side.tree)
    return [source.with_suffix(".o") for source in sources]


def link_driver(side: Side, objects: list[Path], driver: Path):
    """Objects of the program among these take the place of those in the archive."""
    compiler, _, _, ld_flags = flags_of(side)
    libraries = run(["make", "-s", "--eval", "libraries: ; @echo $(LIBS_skydns)", "libraries"], side.tree).split()
    wrapped = [f"-Wl,--wrap={name}" for name in WRAPPED]
    run([*compiler, *ld_flags, *wrapped, *objects, *side.archives, *libraries, "-o", driver], side.tree)


def build_driver(side: Side, stage: Path) -> Path:
    driver = stage / "record_answers"
    link_driver(side, compile_driver(side, stage), driver)
    return driver


# ---- Running ----


def clean_environment() -> dict[str, str]:
    """Without variables that are flags of skydns."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("SKYDNS_", "ETCD_", "PROMETHEUS_"))}


def record(drivers: list[tuple[Path, Path]], plan_file: Path):
    """All at the same time: pairs of a driver and its recording."""
    running = [
        subprocess.Popen([driver, plan_file, out], env=clean_environment(), stderr=subprocess.PIPE, text=True)
        for driver, out in drivers
    ]
    errors = [process.communicate()[1] for process in running]
    for process, error, (driver, _) in zip(running, errors, drivers, strict=True):
        if process.returncode != 0:
            raise Failed(f"{driver}: exit status {process.returncode}\n{error[-4000:]}")


def check(options: argparse.Namespace) -> bool:
    below = Path(options.build).resolve() / "recorded"
    ours = Side("this tree", ROOT, Path(options.build).resolve() / "release")
    theirs = checked_out(options.ref, below)
    begun = time.monotonic()
    for side in (theirs, ours):
        build_archives(side, options.cc)
    stages = [(theirs, theirs.tree.parent / "driver"), (ours, below / "driver")]
    drivers = [(build_driver(side, stage), stage / "recording") for side, stage in stages]
    built = time.monotonic()

    plan = plans.make_plan(options.seed, ROOT / "tests/fuzz/corpus", options.queries)
    plans.write_plan(plan, below / "plan", below / "files")
    planned = time.monotonic()
    print(
        f"seed {plan.seed}: {plan.query_count} queries in {len(plan.sequences)} sequences, "
        f"{plan.pair_count} pairs of values; each alone and in batches of {plans.BATCH}",
        flush=True,
    )
    record(drivers, below / "plan")
    answered = time.monotonic()
    before, now = (out.read_bytes() for _, out in drivers)
    found = list(compare.differences(plan, now, before)) if now != before else []
    lines, is_good = compare.judge(found, classes.CLASSES)
    print("".join(f"{line}\n" for line in lines), end="")
    print(
        f"{2 * plan.query_count} answers of this tree and {theirs.name}: {len(found)} differ; "
        f"{built - begun:.0f} s to build, {planned - built:.0f} to plan, {answered - planned:.0f} to answer, "
        f"{time.monotonic() - answered:.0f} to compare"
    )
    return is_good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ref", required=True)
    parser.add_argument("--build", default="build")
    parser.add_argument("--cc", help="the compiler, as make's CC")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--queries", type=int, default=plans.QUERIES)
    options = parser.parse_args()
    try:
        return 0 if check(options) else 1
    except (Failed, compare.Broken, OSError) as error:
        print(f"check-recorded: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""One client far beyond its rate beside 100 good ones (`make bench-clients-flood`): all of theirs must be answered.
Prints what `flood/bench_flood` measures without a flood, with one and no `-rate`, and with one and `-rate=1000`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "support"), str(ROOT / "integration")]

from answers import data  # noqa: E402
from answers.bed import Bed  # noqa: E402
from measuring import go_before_all_others  # noqa: E402
from programs import Program, reserve_port  # noqa: E402
from records import DOMAIN  # noqa: E402

LIMIT = 1000
CASES = {"no flood": (0, f"-rate={LIMIT}"), "flood, no rate": (None, "-rate=0"), "flood": (None, f"-rate={LIMIT}")}


def measure(options, bed: Bed, flag: str, flood: int) -> dict[str, float]:
    port = reserve_port()
    command = [str(options.build / "bin/skydns"), f"-machines={bed.etcd_url}", f"-addr=127.0.0.1:{port}"]
    command += [f"-domain={DOMAIN}.", "-no-rec", f"-workers={options.workers}", flag]
    skydns = Program("skydns", command)
    skydns.start().wait_line(r"ready for queries on .* for udp://")
    tool = options.build / "tests/bench/flood/bench_flood"
    try:
        command = [str(tool), str(port), data.name(1), str(flood), str(options.seconds)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    finally:
        skydns.stop()
    return {name: float(value) for name, value in map(str.split, lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--flood", type=int, default=200_000, help="queries a second")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first", action="store_true", help="as root: before all other processes of a busy machine")
    options = parser.parse_args()
    if options.first:
        go_before_all_others()
    is_met = True
    with Bed(options.build, 100) as bed:
        for name, (flood, flag) in CASES.items():
            got = measure(options, bed, flag, options.flood if flood is None else flood)
            print(f"{name:15} " + " ".join(f"{key}={value:.0f}" for key, value in got.items()), flush=True)
            is_met = is_met and (flag == "-rate=0" or got["lost"] == 0)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())

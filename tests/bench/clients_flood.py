#!/usr/bin/python3
"""One client far beyond its rate beside 100 good ones (`make bench-clients-flood`): all of theirs must be answered.
Prints what `flood/bench_flood` measures without a flood, with one and no `-rate`, and with one and `-rate=1000`.
"""

import sys

from measuring import options_parser, parse_options, run_tool

from answers import data
from answers.bed import Bed

LIMIT = 1000
CASES = {"no flood": (0, f"-rate={LIMIT}"), "flood, no rate": (None, "-rate=0"), "flood": (None, f"-rate={LIMIT}")}


def measure(options, bed: Bed, flood: int) -> dict[str, float]:
    """The bed's skydns, asked by 100 clients and so many times a second by one more."""
    return run_tool(bed.tool("flood/bench_flood"), bed.skydns.port, data.name(1), flood, options.seconds)


def show(name: str, got: dict[str, float]) -> None:
    print(f"{name:24} " + " ".join(f"{key}={value:.0f}" for key, value in got.items()), flush=True)


def main() -> int:
    parser = options_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--flood", type=int, default=200_000, help="queries a second")
    parser.add_argument("--workers", type=int, default=2)
    options = parse_options(parser)
    is_met = True
    with Bed(options.build, 100) as bed:
        for name, (flood, flag) in CASES.items():
            bed.new_skydns(f"-workers={options.workers}", flag).start_s()
            got = measure(options, bed, options.flood if flood is None else flood)
            bed.skydns.stop()
            show(name, got)
            is_met = is_met and (flag == "-rate=0" or got["lost"] == 0)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())

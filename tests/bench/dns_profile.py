#!/usr/bin/python3
"""Where skydns spends its time while it answers (`make profile`): perf's samples by part and by function, in
profile.txt in the folder of results. The samples are from a software clock, which also works in virtual machines; it
cannot interrupt code that runs with interrupts off, and charges it to the place where they are on again.
"""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from measuring import Machine, machine_name, options_parser, parse_options

from answers import data, encrypted, rounds, servers
from answers.bed import Bed

SAMPLES_PER_S = 4999  # not a multiple of anything periodic
LEAST_PERCENT = 0.2


def record(bed: Bed, skydns: servers.Server, pattern: rounds.Pattern, seconds: float, samples: Path) -> dict:
    """perf's samples of one run, and the run's figures."""
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_S), "-p", str(skydns.program.pid)]
    with subprocess.Popen([*command, "-o", str(samples)], stdin=subprocess.DEVNULL) as perf:
        try:
            run = bed.generator(seconds).run(pattern, skydns)
        finally:
            perf.send_signal(signal.SIGINT)
    if not samples.is_file():
        raise SystemExit("profile: perf recorded nothing; try as root")
    return run


def report(samples: Path, fields: str) -> str:
    command = ["perf", "report", "-i", str(samples), "--stdio", "--no-children", "--fields", f"overhead,{fields}"]
    command += ["--percent-limit", str(LEAST_PERCENT)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    lines = [line.rstrip() for line in output.splitlines() if line.strip() and not line.startswith("#")]
    return "\n".join(lines) + "\n"


def main() -> int:
    mixes = [mix.name for mix in data.MIXES]
    of_services = [one.name for one in rounds.PATTERNS.values() if one.mix in mixes]
    parser = options_parser(__doc__)
    parser.add_argument("--out", required=True, type=Path, help="folder of the results")
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--pattern", choices=of_services, default=mixes[0])
    arguments = parse_options(parser)
    if not shutil.which("perf"):
        raise SystemExit("profile: perf is not installed: make deps-bench")
    pattern, machine = rounds.PATTERNS[arguments.pattern], Machine()
    with Bed(arguments.build, arguments.services) as bed:
        samples = bed.folder / "perf.data"
        kinds = encrypted if pattern in rounds.TLS_PATTERNS else servers
        skydns = bed.start(kinds.kind(servers.SKYDNS))
        run = record(bed, skydns, pattern, arguments.seconds, samples)
        parts = [(title, report(samples, by)) for title, by in (("By part", "dso"), ("By function", "dso,symbol"))]
    figures = run["figures"]
    text = f"{machine_name()}; {machine.busy_text()}\n{pattern.title}, {arguments.services:,} Services: "
    text += f"{figures['server_us']:.3f} µs per answer, {figures['answers']:,.0f} answers\n"
    text += "".join(f"\n{title}, in percent of skydns' CPU time\n\n{content}" for title, content in parts)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "profile.txt").write_text(text)
    print(f"{text}\nwritten: {arguments.out}/profile.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())

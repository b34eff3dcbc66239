#!/usr/bin/python3
"""What attacks cost those that behave (`make bench-attack`): runs the fault tests test_attack_*.py one after the other,
on a machine that does nothing else, and prints the figures that they note. Exits with 1 if one of them fails.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "tests/integration/faults"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the folder of the programs' build")
    parser.add_argument("--first", action="store_true", help="skydns and its client run before all else: as root")
    parser.add_argument("--only", default="", metavar="WORDS", help="only tests whose names match, as pytest's -k")
    options = parser.parse_args()
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "tests/pytest.ini"), "-m", "faults"]
    command += ["-k", options.only] if options.only else []
    command += [str(path) for path in sorted(FAULTS.glob("test_attack_*.py"))]
    environment = {**os.environ, "BIN_DIR": str(options.build / "bin")}
    if options.first:
        environment["ATTACK_FIRST"] = "1"
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    figures = options.build / "faults.txt"
    for line in figures.read_text().splitlines() if figures.exists() else []:
        if line.startswith("attack_"):
            name, _, text = line.partition(": ")
            print(f"{name.removeprefix('attack_').replace('_', ' ')}\n    " + text.replace("; ", "\n    "))
    print(f"ended after {time.monotonic() - begun:.0f} s")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

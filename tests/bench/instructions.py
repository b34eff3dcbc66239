#!/usr/bin/python3
"""How many instructions skydns' worker needs for an answer, and kube2sky to decode an object (`make
bench-instructions`), counted by callgrind. For an answer in tests/bench/instructions: from the return of recvmmsg to
its next call, less sendmmsg, divided by the answers of batches of 64. The same in every run, however busy the machine: a slow-down shows that times would hide.

The questions are those that the pods of a cluster ask most, in about this order; then three that show what the ones
before do not. A pod that connects to a Service asks for A and AAAA of each name, and below its search path first:

    service-a, service-aaaa     a Service's address, and that it has no IPv6 address
    miss-a, miss-aaaa           another domain's name below each suffix of the search path: NXDOMAIN
    foreign-a                   then the name itself, from the response cache
    headless-a                  of a headless Service with five endpoints: clients of a StatefulSet
    port-srv                    a named port: gRPC's and other clients that find their peers themselves
    pod-a, address-ptr          a pod's record; whose a cluster IP is: logs, TLS checks
    edns-a                      with OPT, as Go's resolver, glibc's `edns0` and forwarders ask

    alone-a                     service-a when there is nothing else to do: a batch of one
    mixed-case-miss             miss-a by resolvers that mix cases (0x20)
    watched-a, watched-miss     service-a and miss-a while missing names are sampled (/missing)
    autopath-a                  foreign-a below the search path, answered at once with -autopath
    signed-a, signed-miss       edns-a and miss-a with DO, of a signed domain: answers whose signatures are kept
    cookie-a                    edns-a by a client with a cookie, which gets a server's
    foreign-aaaa                the AAAA of foreign-a's names, from the response cache
    no-aaaa, filtered-a         foreign-aaaa with -no-aaaa=all, and foreign-a then
    rated-a                     service-a with -rate-namespace, each by another pod of one namespace
    counted-a, counted-miss     service-a and miss-a with all about clients on: metrics by namespace, /clients, /missing
    near-a                      headless-a with -topology=marked: three of its five endpoints are in the client's zone
    override-a, led-a           an external name with -overrides: its own address, and that of a Service which it leads to

And of tests/bench/kube2sky/bench_decode, for each object of a list in protobuf:

    decode-service              with two ports and a cluster IP
    decode-slice                with ten endpoints and two ports
    decode-pod                  running, with one address

Some may cost no more than their share of another kind, either (RATIOS): an external name from etcd with an address costs
what a record of ours does, a filtered AAAA no more than a cached one, an answer 1 % for being watched, and one with
the nearest addresses 15 % more than one with all.

A ceiling is what was measured with Debian 12's gcc on x86-64, and 3 %. Raising one takes a reason in the commit's
message: what the instructions are for, and why not fewer would do. Whoever saves some lowers it. Exit status: 1, a
ceiling is missed; 2, not measured.

The dumps stay in --out: `callgrind_annotate --auto=no build/bench/instructions/service-a` says where the instructions
are.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Instructions for an answer or an object, at most.
CEILINGS = {
    "service-a": 2021,
    "service-aaaa": 2014,
    "miss-a": 1633,
    "miss-aaaa": 1631,
    "foreign-a": 2161,
    "headless-a": 2424,
    "port-srv": 2996,
    "pod-a": 1990,
    "address-ptr": 2035,
    "edns-a": 2083,
    "alone-a": 2603,
    "mixed-case-miss": 1740,
    "counted-a": 2035,
    "counted-miss": 1771,
    "watched-a": 2040,
    "watched-miss": 1714,
    "autopath-a": 4587,
    "signed-a": 4752,
    "signed-miss": 28440,
    "cookie-a": 2794,
    "no-aaaa": 1568,
    "filtered-a": 2191,
    "foreign-aaaa": 2245,
    "rated-a": 2398,
    "override-a": 2189,
    "led-a": 3883,
    "near-a": 2787,
    "decode-service": 18691,
    "decode-slice": 55512,
    "decode-pod": 10033,
}

# What a kind may cost of another kind, at most.
RATIOS = {
    ("near-a", "headless-a"): 1.15,
    ("override-a", "service-a"): 1.10,
    ("no-aaaa", "foreign-aaaa"): 1.15,
    ("counted-a", "service-a"): 1.016,
    ("watched-a", "service-a"): 1.01,
    ("watched-miss", "miss-a"): 1.05,
}

# The machine that the ceilings are for.
MACHINE = "x86_64"

# Room for a busy machine: callgrind takes ten seconds.
TIMEOUT_S = 600

# Below a ceiling by so much, it no longer shows a slow-down of a few percent.
LOOSE = 0.06

# What the C library is not to use: valgrind shows it what the processor can do, and processors differ.
FEATURES = ("AVX2", "AVX", "BMI2", "ERMS", "SSE4_2", "SSE4_1", "SSSE3")
FEATURES += ("AVX_Fast_Unaligned_Load", "Fast_Unaligned_Copy")


class NotMeasured(Exception):
    pass


@dataclass
class Row:
    kind: str
    instructions: float  # for an answer or an object
    ceiling: int

    @property
    def is_missed(self) -> bool:
        return self.instructions > self.ceiling

    def text(self) -> str:
        note = ""
        if self.is_missed:
            note = f"  MISSED by {self.instructions / self.ceiling - 1:.1%}"
        elif self.instructions < self.ceiling * (1 - LOOSE):
            note = f"  far below: lower the ceiling to {self.instructions * 1.03:.0f}"
        return f"{self.kind:16} {self.instructions:12,.1f} {self.ceiling:10,d}{note}"


def read_dump(text: str) -> tuple[str, int]:
    """The kind and the instructions of one of callgrind's dumps."""
    kind = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.M)
    total = re.search(r"^totals: (\d+)$", text, re.M)
    if not kind or not total:
        raise NotMeasured("a dump of callgrind's says nothing")
    return kind[1], int(total[1])


def read_answers(output: str) -> dict[str, int]:
    """What the drivers printed: the answers, or objects, of each kind."""
    lines = [line.split() for line in output.splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}


def judge(instructions: dict[str, int], answers: dict[str, int], ceilings: dict[str, int]) -> list[Row]:
    """One row for each ceiling. What was not measured, or has no ceiling, is an error."""
    for what, kinds in (("was not counted", instructions), ("was not answered", answers)):
        missing = [kind for kind in ceilings if not kinds.get(kind)]
        if missing:
            raise NotMeasured(f"{missing[0]} {what}")
    unknown = [kind for kind in instructions if kind not in ceilings]
    if unknown:
        raise NotMeasured(f"{unknown[0]} has no ceiling")
    costs = {kind: instructions[kind] / answers[kind] for kind in ceilings}
    limits = dict(ceilings)
    for (kind, other), ratio in RATIOS.items():
        if kind in limits and other in costs:
            limits[kind] = min(limits[kind], int(costs[other] * ratio))
    return [Row(kind, cost, limits[kind]) for kind, cost in costs.items()]


def count(bench: Path, out: Path) -> tuple[dict[str, int], str]:
    """Runs it: instructions of each kind, and what it printed. Nothing of this environment comes with it."""
    tunables = "glibc.cpu.hwcaps=" + ",".join(f"-{feature}" for feature in FEATURES)
    command = ["valgrind", "-q", "--tool=callgrind", "--vgdb=no", "--instr-atstart=no", "--collect-atstart=no"]
    command += ["--compress-strings=no", f"--callgrind-out-file={out}/part", str(bench)]
    done = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], "GLIBC_TUNABLES": tunables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        text=True,
    )
    if done.returncode != 0:
        raise NotMeasured(f"{bench.name} under valgrind: exit status {done.returncode}")
    counted = {}
    for part in out.glob("part.*"):
        text = part.read_text()
        kind, counted[kind] = read_dump(text)
        # Calls that began before the dump: callgrind_annotate takes their cost for the caller's own, too.
        (out / kind).write_text(re.sub(r"^calls=0 .*\n.*\n", "", text, flags=re.M))
        part.unlink()
    (out / "part").unlink(missing_ok=True)  # from the last dump to the end
    return counted, done.stdout


def show(rows: list[Row], output: str) -> int:
    """Prints the table; returns the exit status."""
    print(next((line for line in output.splitlines() if line.startswith("compiler ")), "compiler unknown"))
    print(f"{'':16} {'instructions':>12} {'ceiling':>10}")
    for row in rows:
        print(row.text())
    missed = sum(row.is_missed for row in rows)
    print(f"{missed} of {len(rows)} ceilings missed")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, required=True, action="append", help="a driver, as built")
    parser.add_argument("--out", type=Path, required=True, help="folder for callgrind's dumps")
    arguments = parser.parse_args()
    try:
        if not shutil.which("valgrind"):
            raise NotMeasured("valgrind is not installed: tests/support/deps check")
        if platform.machine() != MACHINE:
            raise NotMeasured(f"the ceilings are for {MACHINE}, not for {platform.machine()}")
        shutil.rmtree(arguments.out, ignore_errors=True)
        arguments.out.mkdir(parents=True)
        instructions, output = {}, ""
        for bench in arguments.bench:
            counted, printed = count(bench, arguments.out)
            instructions, output = instructions | counted, output + printed
        rows = judge(instructions, read_answers(output), CEILINGS)
    except (NotMeasured, OSError, subprocess.TimeoutExpired) as error:
        print(f"bench-instructions: {error}", file=sys.stderr)
        return 2
    return show(rows, output)


if __name__ == "__main__":
    sys.exit(main())

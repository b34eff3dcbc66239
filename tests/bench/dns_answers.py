#!/usr/bin/python3
"""Cost of skydns' answers, compared with a bare responder, which only receives and sends, and with other servers, if
installed (`make bench`; `make deps-bench` installs them). COREDNS may name another CoreDNS than that of `make peers`.

The figure is CPU time of the server's processes per answer, not queries/s: the generator is on the same machine.
Servers have one worker, on core 0; the generator is on core 1; the servers are loaded one after the other, in
several rounds. Since machines drift, each figure is divided by the bare responder's of the same round. Writes
report.txt, results.json, table.md and results.svg (these two only with what was measured quietly) to the folder of
results. Exit status 0: every goal is met; 1: one
is missed; 2: something could not be measured. Whether the machine was quiet enough is said last.
"""

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

from measuring import Machine, etcd_looks, go_before_all_others, machine_name, options_parser

from answers import (
    bursts,
    data,
    encrypted,
    kept,
    path,
    report,
    resolvers,
    rounds,
    servers,
    signed,
    summary,
    tables,
    versions,
)
from answers.bed import Bed
from programs import ETCD

PARTS = ("udp", "burst", "large", "tcp", "latency", "path", "cache", "tls", "dnssec")


def one_run(bed: Bed, seconds: float):
    """A progress function for rounds.run_rounds."""
    generator = bed.generator(seconds)

    def run(pattern: rounds.Pattern, server: servers.Server) -> dict:
        print(".", end="", file=sys.stderr, flush=True)
        return generator.run(pattern, server)

    return run


def measure_rounds(bed: Bed, arguments, kinds: list[servers.Kind], patterns: list[rounds.Pattern], values: dict) -> list[dict]:
    """All runs, and the memory of each server right after its load."""
    started = [bed.start(kind) for kind in kinds]
    reads, start_s = path.etcd_reads(bed.etcd.port), time.monotonic()
    runs = rounds.run_rounds(one_run(bed, arguments.seconds), started, patterns, arguments.rounds, bed.services)
    looks = etcd_looks(sum(one.name.startswith(servers.SKYDNS) for one in started), time.monotonic() - start_s)
    caused = max(0, path.etcd_reads(bed.etcd.port) - reads - looks)
    values["etcd_reads"] = values.get("etcd_reads", 0) + caused
    for one in started:
        values[f"resident_mib.{bed.services}.{one.name}"] = one.resident_mib()
        if one.name == servers.SKYDNS:
            values[f"resident_mib.{bed.services}"] = one.resident_mib()
        one.program.kill()
    return runs


def measure_large(bed: Bed, arguments, values: dict) -> list[dict]:
    """Of names with many addresses; skydns alone: the others send no part of them."""
    bed.add_large_names()
    started = [bed.start(servers.kind(name)) for name in (servers.BARE_UDP, servers.SKYDNS)]
    run = one_run(bed, arguments.seconds)
    runs = rounds.run_rounds(run, started, rounds.LARGE_PATTERNS, arguments.rounds, bed.services)
    values[f"large_mib.{bed.services}.{servers.SKYDNS}"] = started[1].resident_mib()
    for one in started:
        one.program.kill()
    return runs


def measure_start(bed: Bed, values: dict) -> None:
    skydns = servers.kind(servers.SKYDNS)
    values[f"start_s.{bed.services}"] = path.start_seconds(skydns.argv(bed.setting(skydns)))
    values[f"read_s.{bed.services}"] = path.read_seconds(bed)


def measure_path(bed: Bed, arguments, values: dict) -> None:
    """Not pinned: measures all of skydns, not one worker."""
    pair = tuple(
        bed.start(servers.kind(servers.SKYDNS), cores=path.BOTH_CORES, flags=[f"-workers={count}"]) for count in (1, 2)
    )
    idle_mib = path.idle_connections(pair[0])
    if idle_mib is not None:
        values["idle_mib"] = idle_mib
    values |= path.propagation(bed.tools, bed.etcd.url, pair[1])
    values["two_workers"] = path.two_workers(bed.generator(arguments.seconds, cores=path.BOTH_CORES), pair)
    for one in pair:
        one.program.kill()
    pinned = bed.start(servers.kind(servers.SKYDNS))
    values |= path.dnsperf(pinned, bed.questions["a"], arguments.seconds)
    pinned.program.kill()


def measure_kept(bed: Bed, arguments, kinds: list[servers.Kind], values: dict) -> list[dict]:
    runs = kept.measure_rounds(bed, one_run(bed, arguments.seconds), arguments.rounds, kinds, values)
    if bed.services == min(arguments.services) and servers.SKYDNS in [kind.name for kind in kinds]:
        kept.measure_memory(bed, values)
    return runs


def measure_tls(bed: Bed, arguments, kinds: list[servers.Kind], values: dict) -> list[dict]:
    run = one_run(bed, arguments.seconds)
    runs = encrypted.measure_rounds(bed, run, arguments.rounds, kinds, arguments.first, values)
    if servers.SKYDNS in [kind.name for kind in kinds]:
        encrypted.measure_skydns(bed, arguments.seconds, arguments.first, values)
    return runs


def measure_signed(bed: Bed, arguments, values: dict) -> list[dict]:
    runs = signed.measure_rounds(bed, one_run(bed, arguments.seconds), arguments.rounds, arguments.servers, values)
    signed.measure_making(bed, values)
    signed.measure_random(bed, arguments.seconds, arguments.first, values)
    return runs


def measure(
    arguments, kinds: list[servers.Kind], keeping: list[servers.Kind], encrypting: list[servers.Kind]
) -> tuple[list[dict], dict[str, float]]:
    """keeping: the servers that keep other domains' names; encrypting: those that speak TLS."""
    runs, values = [], {}
    smallest = min(arguments.services)
    for services in arguments.services:
        patterns = []
        if "udp" in arguments.only:
            patterns += [one for one in rounds.UDP_PATTERNS if one.name in arguments.mix]
        if services == smallest:
            patterns += rounds.TCP_PATTERNS if "tcp" in arguments.only else []
            patterns += [rounds.LATENCY_PATTERN] if "latency" in arguments.only else []
        with Bed(arguments.build, services) as bed:
            print(f"{services:,} Services ", end="", file=sys.stderr, flush=True)
            if patterns:
                runs += measure_rounds(bed, arguments, kinds, patterns, values)
            if "burst" in arguments.only and services == smallest:
                bursts.measure(bed, arguments.rounds, kinds, values)
            if "cache" in arguments.only:
                runs += measure_kept(bed, arguments, keeping, values)
            if "tls" in arguments.only and services == smallest:
                runs += measure_tls(bed, arguments, encrypting, values)
            if "dnssec" in arguments.only and services == smallest:
                runs += measure_signed(bed, arguments, values)
            if "path" in arguments.only:
                measure_start(bed, values)
                if services == smallest:
                    measure_path(bed, arguments, values)
            if "large" in arguments.only and services == smallest:  # last: it adds keys
                runs += measure_large(bed, arguments, values)
            print(file=sys.stderr)
    return runs, values


def parse_arguments() -> argparse.Namespace:
    parser = options_parser(__doc__, 3)
    mixes = [mix.name for mix in data.MIXES]
    names = sorted({kind.name for kind in servers.KINDS + resolvers.KINDS + encrypted.KINDS} | set(signed.NAMES))
    parser.add_argument("--out", required=True, type=Path, help="folder of the results")
    parser.add_argument("--services", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--mix", choices=mixes, nargs="+", default=mixes)
    parser.add_argument("--servers", choices=names, nargs="+", help="default: all installed")
    arguments = parser.parse_args()
    if not all(0 < services <= data.SERVICES_MAX for services in arguments.services):
        parser.error(f"--services: from 1 to {data.SERVICES_MAX}")
    if arguments.rounds < 1 or arguments.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    return arguments


def write_results(results: dict, out: Path) -> int:
    """The number of missed goals."""
    told = summary.summarise(results["runs"], results["values"], results["busy"])
    verdicts = summary.judge(told)
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "table.md").write_text(tables.markdown(told, results["head"], results["versions"]))
    image = tables.svg(told, results["machine"])
    (out / "results.svg").unlink(missing_ok=True)  # of an earlier run: this one may have nothing to show
    if image:
        (out / "results.svg").write_text(image)
    text = report.text(told, verdicts, results["head"])
    (out / "report.txt").write_text(text)
    print(f"{text}written: {out}/report.txt, results.json, table.md{', results.svg' if image else ''}")
    return sum(verdict.is_missed for verdict in verdicts)


def main() -> int:
    arguments = parse_arguments()
    kinds, absent = servers.chosen(arguments.servers, servers.KINDS)
    keeping, also_absent = servers.chosen(arguments.servers, resolvers.KINDS)
    encrypting, absent_too = servers.chosen(arguments.servers, encrypted.KINDS)
    absent = sorted({*absent, *also_absent, *absent_too})
    if absent:
        print(f"not installed, left out: {', '.join(absent)}")
    path.raise_descriptor_limit()
    machine = Machine()
    try:
        if arguments.first:
            go_before_all_others()
        runs, values = measure(arguments, kinds, keeping, encrypting)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    head = f"{machine_name()}; {arguments.rounds} rounds of {arguments.seconds:g} s"
    head += ", before all others" * arguments.first
    results = {
        "machine": machine_name(),
        "head": f"{head}; {datetime.date.today().isoformat()}",
        "etcd": ETCD,
        "absent": absent,
        "versions": versions.versions_of([*kinds, *keeping, *encrypting]),
        "busy": machine.busy(),
        "values": values,
        "runs": runs,
    }
    return 1 if write_results(results, arguments.out) else 0


if __name__ == "__main__":
    sys.exit(main())

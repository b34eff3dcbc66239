#!/usr/bin/python3
"""Memory of a node's skydns (`make bench-node-memory`): the flags of docker/manifests/node-local.yaml, TLS to etcd
included, with Services of one port in etcd, three keys each.

For each number of Services: once all is read and the snapshot is written; after 100,000 queries for them over UDP
and some over TCP; then the response cache at its default, empty and full of external names, and what one of its entries takes.
The goals are for RSS: all of its pages, as if no other process had the same libraries. PSS counts those by their share,
which depends on what else runs here; `its own data` is what is left without code. Exit status 0: all goals met; 1: a goal
missed; 2: something could not be measured.
"""

import sys
from pathlib import Path

from measuring import Figure, options_parser, parse_options, run_benchmark

from answers import data
from answers.kept import Nameserver, ask_all
from beds import PATIENCE_S, Bed
from certificates import Authority
from dns_client import Dns
from nodes import flags
from programs import Program, http_get, is_etcd_healthy, reserve_port, serve_tls
from prometheus import Page
from records import DOMAIN

GOALS_MIB = {1_000: 12.0, 10_000: 20.0}
CACHED = 10_000  # the default of -rcache
ASKED = 100_000  # queries for Services
STORE_KEY = (f"/kube2sky/{DOMAIN}/store", "1")
MAPPED = ("Pss", "Rss", "Anonymous")


def mapped_mib(pid: int) -> dict[str, float]:
    """Of all its memory: the sums that the kernel makes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kib = {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}
    return {name.lower(): kib[name] / 1024 for name in MAPPED}


def figures(counts: list[int]) -> list[Figure]:
    found = []
    for services in counts:
        text, goal = f"{services:,} Services", GOALS_MIB.get(services)
        found += [
            Figure(f"{services}_ready_rss", f"MiB RSS, {text}: ready"),
            Figure(f"{services}_asked_rss", f"MiB RSS, {text}: after queries", goal),
            Figure(f"{services}_asked_pss", "MiB PSS of that"),
            Figure(f"{services}_asked_anonymous", "MiB of that are its own data"),
            Figure(f"{services}_full_rss", f"MiB RSS, {text}: {CACHED:,} external names cached, the default"),
            Figure(f"{services}_entry_bytes", "bytes for each cached name"),
            Figure(f"{services}_none_rss", f"MiB RSS, {text}: after the same queries with -rcache=0"),
        ]
    return found


class Node:
    """An etcd with so many Services that speaks TLS, and the nameserver that the nodes' skydns forward to."""

    def __init__(self, bed: Bed, services: int):
        self._bed, self._services = bed, services
        etcd = bed.start_etcd()
        bed.put(data.key_lines(services) + "\t".join(STORE_KEY).encode() + b"\n")
        etcd.kill()
        authority = Authority(bed.folder, "ca")
        self._files = authority.certificate, *authority.sign("node")
        health = serve_tls(etcd, etcd.port, *self._files[1:], "--client-cert-auth", "--trusted-ca-file", self._files[0])
        Program.start(etcd).wait_ready(lambda: is_etcd_healthy(health), "healthy", PATIENCE_S)
        self.nameserver = Nameserver()
        bed.add(self.nameserver.program)

    def start_skydns(self, *more: str) -> "NodeSkydns":
        return NodeSkydns(self._bed, self._bed.etcd.port, self._files, self.nameserver.port, self._services, *more)


class NodeSkydns:
    """A started one that has written its snapshot."""

    def __init__(self, bed: Bed, etcd_port: int, files: tuple[str, str, str], upstream: int, services: int, *more: str):
        self._services, port, http = services, reserve_port(), reserve_port()
        folder = bed.folder / f"state-{port}"
        folder.mkdir(mode=0o700)
        argv = flags.of_program("skydns", {
            "machines": f"https://127.0.0.1:{etcd_port}",
            "ca-cert": files[0],
            "tls-pem": files[1],
            "tls-key": files[2],
            "addr": f"127.0.0.1:{port},127.0.0.2:{port}",
            "http-addr": f"127.0.0.1:{http}",
            "http-socket": str(folder / "http"),
            "snapshot": str(folder / "snapshot"),
        })  # fmt: skip
        argv += [f"-nameservers=127.0.0.1:{upstream}", *more]
        self.program = bed.add(Program("skydns", [str(bed.bin_dir / "skydns"), *argv])).start()
        self._dns = Dns(port)
        self._port, self._http = port, http
        self.program.wait_ready(lambda: self.metric("snapshot_writes_total") >= 1, "snapshot", PATIENCE_S)

    def metric(self, name: str) -> float:
        return Page(http_get(f"http://127.0.0.1:{self._http}/metrics", 60)[1], "skydns_").total(name)

    def mib(self) -> dict[str, float]:
        return mapped_mib(self.program.pid)

    def ask_services(self) -> None:
        names = [(data.name(number), "A") for number in range(self._services)]
        for _ in range(max(1, ASKED // self._services)):
            ask_all(self._port, names)
        for name, _ in names[:100]:
            self._dns.query(name, tcp=True)

    def ask_external(self) -> None:
        ask_all(self._port, [(data.foreign(number), "A") for number in range(CACHED)])


def run_services(build: Path, services: int) -> dict[str, float]:
    found = {}

    def note(name: str, skydns: NodeSkydns) -> None:
        found.update({f"{services}_{name}_{key}": mib for key, mib in skydns.mib().items()})

    with Bed(build) as bed:
        node = Node(bed, services)
        skydns = node.start_skydns()
        note("ready", skydns)
        skydns.ask_services()
        note("asked", skydns)
        skydns.ask_external()
        note("full", skydns)
        kept = skydns.metric("cache_entries") or CACHED
        skydns.program.stop()
        skydns = node.start_skydns("-rcache=0")
        skydns.ask_services()
        skydns.ask_external()
        note("none", skydns)
    more_mib = found[f"{services}_full_anonymous"] - found[f"{services}_asked_anonymous"]
    found[f"{services}_entry_bytes"] = more_mib * 2**20 / kept
    return found


def run_round(build: Path, counts: list[int]) -> dict[str, float]:
    found = {}
    for services in counts:
        found |= run_services(build, services)
    return found


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--services", type=int, nargs="+", default=list(GOALS_MIB))
    options = parse_options(parser)
    counts = options.services
    return run_benchmark("bench-node-memory", figures(counts), options.rounds, lambda: run_round(options.build, counts))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Memory and CPU of the pod of docker/manifests/kube-dns.yaml (`make bench-pod`): its four programs with the
manifest's flags, on loopback, in a cluster of many Services, a tenth of them headless with 20 endpoints each.

For each program: resident memory once ready and at its peak, and the share of one CPU used while only the probes ran,
under queries, and while Services changed, at the given rates. The manifests' requests and limits come from here.
"""

import contextlib
import random
import select
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from measuring import Machine, cpu_s, machine_name, memory_mib, options_parser, parse_options

import dns.message
import manifests
from cluster_bed import Bed
from kube import Kube

HEADLESS_PART, ENDPOINTS_EACH = 10, 20
PHASE_S = 20
# Batches of queries per second: small enough not to fill a socket's buffer.
TICKS_PER_S = 100
PATIENCE_S = 120.0


@dataclass
class Load:
    """A load on the pod for a while, and its cost for each program."""

    name: str
    queries_per_s: int = 0
    changes_per_s: int = 0
    cpu_percent: dict[str, float] = field(default_factory=dict)


class MeasuredPod(manifests.Pod):
    """The programs of the manifest's pod, with the API's URL."""

    def __init__(self, folder: Path, bin_dir: Path, kube: Kube):
        super().__init__(manifests.containers(manifests.KUBE_DNS), folder, bin_dir)
        # All changes are in one namespace, whose share of etcd's space must not end.
        self.programs["kube2sky"].argv += [f"--kube-master-url={kube.url}", "--etcd-space=8192"]

    def __enter__(self) -> "MeasuredPod":
        self.start(PATIENCE_S)
        return self

    def __exit__(self, *exc) -> None:
        for program in reversed(list(self.programs.values())):
            program.kill()

    def resident_mib(self) -> dict[str, float]:
        return {name: memory_mib(program.pid)[0] for name, program in self.programs.items()}

    def cpu_s(self) -> dict[str, float]:
        return {name: cpu_s(program.pid) for name, program in self.programs.items()}


@contextlib.contextmanager
def filled_pod(build: Path, services: int):
    """The running pod in a cluster of so many Services, its API, and the names to query."""
    with Bed(build) as bed:
        names = fill(bed.kube, services)
        with MeasuredPod(bed.folder, bed.bin_dir, bed.kube) as pod:
            yield pod, bed.kube, names


def fill(kube: Kube, services: int) -> list[str]:
    """Creates the objects; returns the names to query."""
    headless = services // HEADLESS_PART
    kube.control("bulk", count=services - headless)
    kube.control("bulk", count=headless, prefix="db-", headless=True)
    kube.control("bulk", resource="endpointslices", count=headless, prefix="db-", endpoints=ENDPOINTS_EACH, net=10)
    names = [f"bulk-{number}" for number in range(services - headless)]
    names += [f"db-{number}" for number in range(headless)]
    return [f"{name}.default.svc.cluster.local" for name in names]


def ask(port: int, questions: list[bytes], rate: int) -> None:
    """Sends queries for a phase; nearly all must be answered. A rate of 0 only lets the time pass."""
    answered, rng = 0, random.Random(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect(("127.0.0.1", port))
        start_s = time.monotonic()
        for tick in range(PHASE_S * TICKS_PER_S):
            for _ in range(rate // TICKS_PER_S):
                udp.send(rng.choice(questions))
            end_s = start_s + (tick + 1) / TICKS_PER_S
            while select.select([udp], [], [], max(0.0, end_s - time.monotonic()))[0]:
                udp.recv(4096)
                answered += 1
    if answered < 0.99 * rate * PHASE_S:
        raise SystemExit(f"only {answered} of {rate * PHASE_S} questions were answered")


def measure(pod: MeasuredPod, kube: Kube, names: list[str], load: Load) -> None:
    before_s = pod.cpu_s()
    start_s = time.monotonic()
    changes = threading.Thread(target=change, args=(kube.url, load.changes_per_s))
    changes.start()
    questions = [dns.message.make_query(name, kind).to_wire() for name in names for kind in ("A", "AAAA")]
    ask(pod.port(53), questions, load.queries_per_s)
    changes.join()
    passed_s = time.monotonic() - start_s
    load.cpu_percent = {name: (used_s - before_s[name]) / passed_s * 100 for name, used_s in pod.cpu_s().items()}


def change(url: str, rate: int) -> None:
    """Gives Services new addresses, on its own thread and connection."""
    if rate:
        Kube(url).control("bulk", verb="replace", count=rate * (PHASE_S - 2), rate=rate, salt=1 << 20)


def run(arguments) -> None:
    loads = [
        Load("idle"),
        Load(f"{arguments.queries:,} queries/s", queries_per_s=arguments.queries),
        Load(f"{arguments.changes:,} changes/s", changes_per_s=arguments.changes),
    ]
    with filled_pod(arguments.build, arguments.services) as (pod, kube, names):
        then_mib = pod.resident_mib()
        for load in loads:
            measure(pod, kube, names, load)
        print(f"{'':12} {'MiB, ready':>11} {'at most':>8}" + "".join(f" {'% CPU, ' + one.name:>24}" for one in loads))
        for name, program in pod.programs.items():
            cells = "".join(f" {one.cpu_percent[name]:24.2f}" for one in loads)
            print(f"{name:12} {then_mib[name]:11.1f} {memory_mib(program.pid)[1]:8.1f}{cells}")


def main() -> int:
    parser = options_parser(__doc__)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000, help="per second")
    parser.add_argument("--changes", type=int, default=10, help="per second")
    arguments = parse_options(parser)
    print(f"{machine_name()}; {arguments.services:,} Services", flush=True)
    machine = Machine()
    try:
        run(arguments)
    except (AssertionError, OSError, SystemExit) as error:
        print(f"bench-pod: {error}", file=sys.stderr)
        return 2
    print(machine.busy_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Whether memory grows while Services are created, changed and deleted (`make bench-churn`): the pod of
docker/manifests/kube-dns.yaml as `make bench-pod` runs it, for an hour by default.

In each phase of 20 s a number of Services per second get new addresses, a hundred new Services are created and those
of the previous phase deleted, under queries all the time. Reports each program's resident memory at each tenth of the
time. A program grows if it has more at the end than after the third tenth; by then everything has been replaced
several times, so that the allocator can reuse the gaps. Exit status 0: none grows; 1: one does; 2: something could
not be measured.
"""

import sys
import threading

from measuring import Machine, machine_name, options_parser, parse_options

import dns.message
from kube import Kube
from pod_resources import PHASE_S, MeasuredPod, ask, filled_pod

TENTHS = 10
REPLACED = 3  # tenths until everything has been replaced several times
GROWTH_MAX = 1.05
COMERS = 100
# Without etcd, which is not ours and keeps every version until compaction.
OURS = ("kube2sky", "skydns", "exechealthz")


def change(url: str, phase: int, rate: int, services: int) -> None:
    """Runs on its own thread and connection; takes less than a phase."""
    kube, count = Kube(url), min(rate * (PHASE_S - 4), services)
    start = phase * count % services
    kube.control("bulk", count=COMERS, prefix=f"come-{phase}-", salt=255 << 16)
    kube.control("bulk", verb="replace", start=start, count=min(count, services - start), rate=rate, salt=phase << 16)
    if phase > 0:
        kube.control("bulk", verb="delete", count=COMERS, prefix=f"come-{phase - 1}-")


def run_phase(pod: MeasuredPod, kube: Kube, phase: int, questions: list[bytes], arguments) -> None:
    services = arguments.services - arguments.services // 10  # the others are headless
    changes = threading.Thread(target=change, args=(kube.url, phase, arguments.changes, services))
    changes.start()
    ask(pod.port(53), questions, arguments.queries)
    changes.join()


def print_row(done: float, resident_mib: dict[str, float]) -> None:
    print(f"{done:10.1f}" + "".join(f"{mib:12.1f}" for mib in resident_mib.values()), flush=True)


def churn(pod: MeasuredPod, kube: Kube, names: list[str], arguments) -> list[dict[str, float]]:
    """Each program's resident memory at each tenth."""
    questions = [dns.message.make_query(name, kind).to_wire() for name in names for kind in ("A", "SRV", "AAAA")]
    phases, rows = max(TENTHS, int(arguments.minutes * 60 / PHASE_S)), []
    print(f"{'minutes':>10}" + "".join(f"{name:>12}" for name in pod.programs))
    for phase in range(phases):
        run_phase(pod, kube, phase, questions, arguments)
        if (phase + 1) * TENTHS // phases > len(rows):
            rows.append(pod.resident_mib())
            print_row((phase + 1) * PHASE_S / 60, rows[-1])
    return rows


def run(arguments) -> int:
    """The number of programs that have grown."""
    with filled_pod(arguments.build, arguments.services) as (pod, kube, names):
        rows = churn(pod, kube, names, arguments)
    growth = {name: rows[-1][name] / rows[REPLACED - 1][name] for name in OURS}
    for name, times in growth.items():
        print(f"{times:10.3f} <= {GROWTH_MAX}  of {name}'s memory then{'  MISSED' if times > GROWTH_MAX else ''}")
    return sum(times > GROWTH_MAX for times in growth.values())


def main() -> int:
    parser = options_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=500, help="per second")
    parser.add_argument("--changes", type=int, default=100, help="per second")
    arguments = parse_options(parser)
    print(f"{machine_name()}; {arguments.services:,} Services, {arguments.changes} changes/s, {arguments.queries} queries/s")
    machine = Machine()
    try:
        grown = run(arguments)
    except (AssertionError, OSError, SystemExit) as error:
        print(f"bench-churn: {error}", file=sys.stderr)
        return 2
    print(machine.busy_text())
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())

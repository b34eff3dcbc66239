#!/usr/bin/python3
"""What ten hostile namespaces do to the eleventh (`make bench-fair`): each does the worst that the API server allows,
and the eleventh changes a Service ten times a second. Prints how long its changes take from the API to etcd, idle and
under attack, and how long /healthz takes. Exit status 0: all goals met; 1: a goal missed; 2: something could not be
measured.

Three namespaces have a slice of 1,000 endpoints and 90 ports, which changes; three have Endpoints of 1,000 addresses
with a map of host names of 241 KiB; two have a Service of 60 slices, which change in turn; two replace 500 Services
again and again. All on the tests' API server, whose own time for such objects limits how often they change.
"""

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, run_benchmark, spread

from cluster_bed import PATIENCE_S, SVC, Bed, Follower
from kube import Kube, endpoint, endpoint_slice, endpoints, headless, port
from programs import http_get, wait_until
from records import label

QUOTA = 512 << 20  # as in the manifests
CHANGES, PER_S = 300, 10
IDLE_CHANGES = 60
PORTION = 20  # of one request to the API server
PROBES_PER_S = 20
EVERY_S = 1.0  # between two changes of one hostile namespace
SLICES = 60
SERVICES = 500
ALL_BEGUN = 2 * 2 * SERVICES

FIGURES = [
    Figure("idle_p50_ms", "ms from API to etcd, nobody else there, p50"),
    Figure("idle_p99_ms", "ms, the same, p99"),
    Figure("hostile_changes", "objects changed by the ten hostile namespaces meanwhile"),
    Figure("api_percent", "% of a CPU, the API server"),
    Figure("kube2sky_percent", "% of a CPU, kube2sky"),
    Figure("fair_p50_ms", "ms from API to etcd for the eleventh namespace, p50"),
    Figure("fair_p99_ms", "ms, the same, p99", 1000),
    Figure("healthz_p50_ms", "ms for /healthz, p50"),
    Figure("healthz_p99_ms", "ms, the same, p99", 100),
    Figure("resident_mib", "MiB resident, kube2sky, at the end"),
    Figure("quota_percent", "% of etcd's quota of 512 MiB used at the end", 90),
]  # fmt: skip


def address(salt: int, i: int) -> str:
    return f"10.{salt % 200}.{i // 250}.{i % 250 + 1}"


def wide_slice(kube: Kube, namespace: str, salt: int) -> None:
    ports = [port(8000 + i, f"p{i}") for i in range(90)]
    entries = [endpoint(address(salt, i), ready=True) for i in range(1000)]
    put(kube, "endpointslices", endpoint_slice("wide", "wide", entries, *ports, namespace=namespace), salt)


def named_endpoints(kube: Kube, namespace: str, salt: int) -> None:
    value = endpoints("named", [address(salt, i) for i in range(1000)], port(80, "http"), namespace=namespace)
    names = {address(salt, i): {"HostName": f"h{i:04}-{'x' * 200}"[:62]} for i in range(1000)}
    filler = {f"172.16.{i // 250}.{i % 250}": {"HostName": "y" * 30} for i in range(3300)}
    value["metadata"]["annotations"] = {"endpoints.beta.kubernetes.io/hostnames-map": json.dumps(names | filler)}
    put(kube, "endpoints", value, salt)


def many_slices(kube: Kube, namespace: str, salt: int) -> None:
    at = salt % SLICES
    entries = [endpoint(address(salt, i), ready=True) for i in range(100)]
    value = endpoint_slice(f"many-{at}", "many", entries, *[port(80 + i, f"p{i}") for i in range(10)], namespace=namespace)
    put(kube, "endpointslices", value, salt // SLICES)


def many_services(kube: Kube, namespace: str, salt: int) -> None:
    kube.control("bulk", verb="replace" if salt else "create", namespace=namespace, count=SERVICES, salt=salt << 10)


def put(kube: Kube, resource: str, value: dict, round_number: int) -> None:
    (kube.replace if round_number else kube.create)(resource, value)


HOSTILE = [
    *[(wide_slice, "wide", 1)] * 3,
    *[(named_endpoints, "named", 1)] * 3,
    *[(many_slices, "many", 1)] * 2,
    *[(many_services, None, SERVICES)] * 2,
]


class Attack:
    """Ten threads, each with a namespace of its own."""

    def __init__(self, url: str):
        self._url, self._is_over = url, threading.Event()
        self.changes = 0
        self.errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(f"hostile-{i}", *way), daemon=True) for i, way in enumerate(HOSTILE)
        ]

    def __enter__(self) -> "Attack":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        if exc[0] is None and self.errors:
            raise self.errors[0]

    def _run(self, namespace: str, change: Callable, service: str | None, objects: int) -> None:
        kube = Kube(self._url)
        try:
            kube.create_namespace(namespace)
            if service:
                kube.create("services", headless(service, namespace=namespace))
            for salt in itertools.count():
                change(kube, namespace, salt)
                self.changes += objects
                if self._is_over.wait(EVERY_S):
                    return
        except BaseException as error:
            self.errors.append(error)


class Probes:
    """Asks for /healthz all the time, as the kubelet does seldom."""

    def __init__(self, url: str):
        self._url, self._is_over = url, threading.Event()
        self.took_ms: list[float] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Probes":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(1 / PROBES_PER_S):
            begun_s = time.monotonic()
            http_get(self._url)
            self.took_ms.append((time.monotonic() - begun_s) * 1000)


def changes_ms(bed: Bed, salt: int, count: int) -> list[float]:
    """How long each change of the eleventh namespace took."""
    change = {"verb": "replace", "namespace": "eleventh", "salt": salt << 16, "rate": PER_S, "stamps": True}
    stamps_ns: list[int] = []
    with Follower(bed) as follower:
        for start in range(0, count, PORTION):
            stamps_ns += bed.kube.control("bulk", start=start, count=PORTION, **change)["stamps_ns"]
        wanted = [f"{SVC}/eleventh/bulk-{n}/{label(f'172.{salt}.{n >> 8}.{n & 255}')}" for n in range(count)]
        return [(there - sent) / 1e6 for there, sent in zip(follower.wait_times_ns(wanted), stamps_ns)]


def run_round(arguments) -> dict[str, float]:
    with Bed(arguments.build) as bed:
        bed.start_etcd(f"--quota-backend-bytes={QUOTA}")
        bed.kube.control("bulk", namespace="eleventh", count=CHANGES)
        bed.start_kube2sky(f"--etcd-space={QUOTA >> 20}")
        idle = changes_ms(bed, 20, IDLE_CHANGES)
        with Attack(bed.kube.url) as attack:
            wait_until(lambda: attack.errors or attack.changes > ALL_BEGUN, "the attack", PATIENCE_S)
            with Probes(f"http://127.0.0.1:{bed.http_port}/healthz") as probes:
                before = time.monotonic(), cpu_s(bed.apiserver.pid), cpu_s(bed.kube2sky.pid), attack.changes
                fair = changes_ms(bed, 21, CHANGES)
                after = time.monotonic(), cpu_s(bed.apiserver.pid), cpu_s(bed.kube2sky.pid), attack.changes
        took_s = after[0] - before[0]
        return {
            **spread("idle", idle),
            "hostile_changes": after[3] - before[3],
            "api_percent": (after[1] - before[1]) / took_s * 100,
            "kube2sky_percent": (after[2] - before[2]) / took_s * 100,
            **spread("fair", fair),
            **spread("healthz", probes.took_ms),
            "resident_mib": memory_mib(bed.kube2sky.pid)[0],
            "quota_percent": bed.etcd.file_bytes() / QUOTA * 100,
        }


def main() -> int:
    arguments = parse_options(options_parser(__doc__, 1))
    return run_benchmark("bench-fair", FIGURES, arguments.rounds, lambda: run_round(arguments))


if __name__ == "__main__":
    sys.exit(main())

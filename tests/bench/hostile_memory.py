#!/usr/bin/python3
"""Memory of kube2sky and skydns while one namespace does the worst that the API server allows (`make bench-memory`).
For each kind of input: a new bed of an API server, an etcd with the manifest's quota and both programs; prints the
most that each program ever had resident, the size of etcd's database, and the namespace's keys. Exit status 0: all
within the manifest's limits; 1: a goal missed; 2: something could not be measured.
"""

import sys
import time
from collections.abc import Callable

from measuring import Figure, memory_mib, options_parser, parse_options, run_benchmark

from cluster_bed import PATIENCE_S, SVC, Bed
from kube import Kube, endpoint, endpoint_slice, endpoints, headless, port, service
from programs import http_get, wait_until
from prometheus import Page

QUOTA = 512 << 20  # as in the manifests
LIMITS_MIB = {"kube2sky": 150, "skydns": 200}  # likewise
QUIET_S = 3.0
SHORT, LONG = "busy", "busy-" + "n" * 43


def address(salt: int, i: int) -> str:
    return f"10.{salt % 250}.{i // 250}.{i % 250 + 1}"


def wide(kube: Kube) -> None:
    """Seven Services whose slices of 1,000 endpoints have 98 ports: 98,000 keys each, of 251 KiB of JSON."""
    ports = [port(8000 + i, f"p{i}") for i in range(98)]
    for n in range(7):
        kube.create("services", headless(f"wide-{n}", namespace=SHORT))
        entries = [endpoint(address(n, i), ready=True) for i in range(1000)]
        kube.create("endpointslices", endpoint_slice(f"wide-{n}", f"wide-{n}", entries, *ports, namespace=SHORT))


def long_names(kube: Kube) -> None:
    """The same with the longest names of everything, and as many ports as one Service may have with these."""
    ports = [port(8000 + i, f"p{i:02}-" + "p" * 54) for i in range(32)]
    for n in range(7):
        name = f"s{n}-" + "s" * 45
        kube.create("services", headless(name, namespace=LONG))
        entries = [endpoint(address(n, i), ready=True, hostname=f"h{i:04}-" + "h" * 44) for i in range(1000)]
        kube.create("endpointslices", endpoint_slice(name, name, entries, *ports, namespace=LONG))


def many_slices(kube: Kube) -> None:
    """Five Services of 20 slices of 1,000 endpoints without ports."""
    for n in range(5):
        kube.create("services", headless(f"many-{n}", namespace=SHORT))
        for j in range(20):
            entries = [endpoint(f"10.{100 + n * 20 + j}.{i // 250}.{i % 250 + 1}", ready=True) for i in range(1000)]
            value = endpoint_slice(f"many-{n}-{j}", f"many-{n}", entries, port(80, "http"), namespace=SHORT)
            kube.create("endpointslices", value)


def beyond(kube: Kube) -> None:
    """A hundred and fifty slices of 1,000 endpoints with long names, of a headless Service: too many for any keys."""
    kube.create("services", headless("beyond", namespace=LONG))
    for n in range(150):
        entries = [endpoint(address(n, i), ready=True, hostname=f"h{i:04}-" + "h" * 57) for i in range(1000)]
        kube.create("endpointslices", endpoint_slice(f"beyond-{n}", "beyond", entries, port(80, "http"), namespace=LONG))


def unused(kube: Kube) -> None:
    """A hundred slices of 1,000 endpoints with long names, of a Service with a cluster IP: nothing of them is written."""
    kube.create("services", service("plain", namespace=LONG))
    for n in range(100):
        entries = [endpoint(address(n, i), ready=True, hostname=f"h{i:04}-" + "h" * 57) for i in range(1000)]
        kube.create("endpointslices", endpoint_slice(f"plain-{n}", "plain", entries, port(80, "http"), namespace=LONG))


def subsets(kube: Kube) -> None:
    """Twenty Endpoints objects of 1,000 addresses without ports and slices, each with a map of host names."""
    names = {address(0, i): {"HostName": f"h{i:04}-" + "h" * 57} for i in range(1000)}
    for n in range(20):
        kube.create("services", headless(f"sets-{n}", namespace=LONG))
        value = endpoints(f"sets-{n}", [address(n, i) for i in range(1000)], port(80, "http"), namespace=LONG)
        value["metadata"]["annotations"] = {"endpoints.beta.kubernetes.io/hostnames-map": str(names).replace("'", '"')}
        kube.create("endpoints", value)


INPUTS: dict[str, Callable] = {
    "wide": wide,
    "long": long_names,
    "many": many_slices,
    "beyond": beyond,
    "unused": unused,
    "subsets": subsets,
}


def figures(kind: str) -> list[Figure]:
    return [
        *[Figure(f"{kind}_{name}_mib", f"MiB, {kind}: most of {name}", limit) for name, limit in LIMITS_MIB.items()],
        Figure(f"{kind}_keys", f"keys, {kind}: of all namespaces"),
        Figure(f"{kind}_etcd_percent", f"% of etcd's quota of 512 MiB, {kind}", 90),
    ]


def wait_quiet(bed: Bed) -> float:
    """Until kube2sky has had nothing to write for a while; returns its keys in etcd."""
    last, since_s, end_s = None, time.monotonic(), time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s and time.monotonic() - since_s < QUIET_S:
        page = Page(http_get(f"{bed.pages()['kube2sky']}/metrics")[1], "kube2sky_")
        now = page.get("keys_written_total")
        if now != last or page.get("transactions_in_flight"):
            last, since_s = now, time.monotonic()
        time.sleep(0.2)
    return page.get("keys_actual")


def run_input(arguments, kind: str) -> dict[str, float]:
    with Bed(arguments.build) as bed:
        etcd = bed.start_etcd(f"--quota-backend-bytes={QUOTA}")
        bed.start_kube2sky(f"--etcd-space={QUOTA >> 20}")
        bed.new_skydns().start_s()
        for namespace in (SHORT, LONG, "good"):
            bed.kube.create_namespace(namespace)
        INPUTS[kind](bed.kube)
        bed.kube.create("services", service("web", namespace="good"))
        wait_until(lambda: etcd.client.values(f"{SVC}/good/web/"), "another namespace's Service is written", PATIENCE_S)
        keys = wait_quiet(bed)
        return {
            f"{kind}_kube2sky_mib": memory_mib(bed.kube2sky.pid)[1],
            f"{kind}_skydns_mib": memory_mib(bed.skydns.pid)[1],
            f"{kind}_keys": keys,
            f"{kind}_etcd_percent": etcd.file_bytes() / QUOTA * 100,
        }


def run_round(arguments) -> dict[str, float]:
    values = {}
    for kind in arguments.inputs:
        values |= run_input(arguments, kind)
    return values


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=list(INPUTS))
    arguments = parse_options(parser)
    all_figures = [figure for kind in arguments.inputs for figure in figures(kind)]
    return run_benchmark("bench-memory", all_figures, arguments.rounds, lambda: run_round(arguments))


if __name__ == "__main__":
    sys.exit(main())

"""The pod's containers start and stop in any order: everything works soon after the last start, and each stops
cleanly, with or without the others.

The flags are the pod's. In each order a program starts when the earlier ones have settled: they have what they need,
or have retried so often that their pauses have reached the maximum. Several orders run in parallel, since they mostly
wait.
"""

import itertools
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from bed import Bed
from kube import Kube, port, service
from programs import apiserver, http_get, is_etcd_healthy, reserve_port
from prometheus import parse

PROGRAMS = ("etcd", "kube2sky", "skydns", "exechealthz")
ORDERS = list(itertools.permutations(PROGRAMS))
AT_ONCE = 8
TRIES = 5  # the fourth pause between two retries is the maximum
KUBERNETES = "kubernetes.default.svc.cluster.local"
WEB = "web.default.svc.cluster.local"
PATIENCE_S = 60.0  # only ends a hang; the goal is 5 s, and the figures show the time taken


@dataclass
class Times:
    ready_s: float  # from the last start until everything works
    end_s: float  # the longest time that a program took to stop


class Pod:
    """The thread that creates it reserves the ports; the programs live and die with the thread that runs them."""

    def __init__(self, bed: Bed, right: dict[str, list[str]]):
        self.bed = bed
        self.right = right
        self.skydns_http = f"http://127.0.0.1:{reserve_port()}"
        bed.kube2sky = bed.command(
            "kube2sky",
            "--domain=cluster.local",
            f"--etcd-server={bed.etcd_urls[0]}",
            f"--healthz-port={bed.readiness_port}",
            *bed.kube_flags,
        )
        bed.skydns = bed.command(
            "skydns",
            f"-machines={bed.etcd_urls[0]}",
            f"-addr=0.0.0.0:{bed.dns.port}",
            "-ns-rotate=false",
            "-domain=cluster.local.",
            f"-http-addr={self.skydns_http.removeprefix('http://')}",
        )
        bed.exechealthz = bed.command(
            "exechealthz",
            f"-cmd=nslookup -port={bed.dns.port} {KUBERNETES} 127.0.0.1 >/dev/null",
            f"-port={bed.healthz_port}",
        )
        self.programs = dict(zip(PROGRAMS, (bed.etcd_program, bed.kube2sky, bed.skydns, bed.exechealthz)))
        self._has_settled = {
            "etcd": lambda: is_etcd_healthy(bed.etcd_port),
            "kube2sky": lambda: bed.readiness()[0] == 200 or self._is_trying(self._kube2sky_http, "kube2sky"),
            "skydns": lambda: self._is_skydns_ready() or self._is_trying(self.skydns_http, "skydns"),
            "exechealthz": lambda: self._exechealthz("exechealthz_runs_total") > 0,
        }

    @property
    def _kube2sky_http(self) -> str:
        return f"http://127.0.0.1:{self.bed.readiness_port}"

    def _is_skydns_ready(self) -> bool:
        return http_get(self.skydns_http + "/readiness")[0] == 200

    @staticmethod
    def _is_trying(http: str, program: str) -> bool:
        failures = parse(http_get(http + "/metrics")[1])[f"{program}_etcd_connection_failures_total"]
        return sum(failures.samples.values()) >= TRIES

    def _exechealthz(self, metric: str) -> float:
        page = parse(http_get(f"http://127.0.0.1:{self.bed.healthz_port}/metrics")[1])
        return sum(page[metric].samples.values())

    def _is_well(self) -> bool:
        """Records, answers, and health from a successful run."""
        return (
            self._is_skydns_ready()
            and self.bed.readiness()[0] == 200
            and all(self.bed.dns.answers(name) == right for name, right in self.right.items())
            and self._exechealthz("exechealthz_runs_total") > self._exechealthz("exechealthz_run_failures_total")
            and self.bed.healthz() == (200, "ok")
        )

    def run(self, order: tuple[str, ...]) -> Times:
        try:
            for name in order[:-1]:
                self.programs[name].start()
                self.programs[name].wait_ready(self._has_settled[name], "settled", PATIENCE_S)
            last = self.programs[order[-1]]
            begin = time.monotonic()
            last.start().wait_ready(self._is_well, f"well after {order[-1]}", PATIENCE_S)
            ready_s = time.monotonic() - begin
            return Times(ready_s, max(self._end(name) for name in order))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.bed.log_text()}") from None
        finally:
            self.bed.close()

    def _end(self, name: str) -> float:
        """SIGTERM, with the earlier ones in the order already gone; that must cause no error."""
        program = self.programs[name]
        begin = time.monotonic()
        # After its shutdown, etcd ends by the signal that it got.
        program.stop(expected=(0, -15) if name == "etcd" else (0,))
        errors = [line for line in program.lines if re.match(r"(error|fatal)\b", line)]
        if name != "etcd" and errors:
            program.fail(f"logs errors: {errors}")
        return time.monotonic() - begin


@pytest.fixture(scope="module")
def cluster():
    """One API server for all orders: (flags of kube2sky, right answers)."""
    number = reserve_port()
    url = f"http://127.0.0.1:{number}"
    program = apiserver(number).start()
    program.wait_ready(lambda: http_get(url + "/readyz")[0] == 200, "readyz")
    kube = Kube(url)
    web = kube.create("services", service("web", port(80, "http")))
    yield kube, {KUBERNETES: ["10.96.0.1"], WEB: [web["spec"]["clusterIP"]]}
    program.stop()


@pytest.fixture(scope="module")
def runs(cluster, tmp_path_factory) -> dict[tuple[str, ...], Future]:
    """Every order, several in parallel."""
    kube, right = cluster
    pods = {}
    for order in ORDERS:
        bed = Bed(tmp_path_factory.mktemp("order"))
        bed.use_kube(kube, [f"--kube-master-url={kube.url}"])
        pods[order] = Pod(bed, right)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {order: pool.submit(pod.run, order) for order, pod in pods.items()}


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_started_and_ended_in_this_order(runs, order):
    runs[order].result()


def test_what_that_took(runs, record_property):
    ready_s = {order: run.result().ready_s for order, run in runs.items()}
    slowest = max(ready_s, key=ready_s.get)
    end_s = max(run.result().end_s for run in runs.values())
    record_property(
        "figure",
        f"started in {len(ORDERS)} orders: working at most {ready_s[slowest]:.1f} s after the last ({' '.join(slowest)}), "
        f"ended in {end_s:.1f} s at most",
    )

"""From a Service in the Kubernetes API to its answer: API server, kube2sky, etcd and skydns, and how long after the
API server's acknowledgement the new name is answered right. KUBE_APISERVER names a starter of a real API server, as
for the tests; else it is the project's own, in Python, which takes milliseconds by itself.
"""

import contextlib
import ipaddress
import os
import socket
import tempfile
import time
from pathlib import Path

from answers.path import dns_query
from kube import Kube, port, service
from measuring import percentile
from programs import Program, apiserver, etcd, http_get, is_etcd_healthy, reserve_port
from real_apiserver import RealApiserver
from records import DOMAIN

SERVICES = 500
_PATIENCE_S = 20.0


def measure(bin_dir: Path, count: int = SERVICES) -> dict[str, float]:
    """In ms; a right answer before the acknowledgement has come in is 0."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-path-")))
        kube, kube_flags = _start_api(stack, folder)
        dns_port = _start_pod(stack, folder, bin_dir, kube_flags)
        asker = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        asker.connect(("127.0.0.1", dns_port))
        asker.settimeout(0.1)
        delays_ms = [_delay_ms(kube, asker, number) for number in range(count)]
    return {f"api_{part}_ms": percentile(delays_ms, at) for part, at in (("p50", 0.5), ("p99", 0.99))}


def _start(stack: contextlib.ExitStack, program: Program) -> Program:
    stack.callback(program.kill)
    return program.start()


def _start_api(stack: contextlib.ExitStack, folder: Path) -> tuple[Kube, list[str]]:
    """Its client, and kube2sky's flags."""
    if os.environ.get("KUBE_APISERVER"):
        server = RealApiserver(folder / "api")
        stack.callback(server.stop)
        server.start()
        return server.kube, server.flags
    api_port = reserve_port()
    url = f"http://127.0.0.1:{api_port}"
    program = _start(stack, apiserver(api_port))
    program.wait_ready(lambda: http_get(f"{url}/readyz")[0] == 200, "readyz")
    return Kube(url), [f"--kube-master-url={url}"]


def _start_pod(stack: contextlib.ExitStack, folder: Path, bin_dir: Path, kube_flags: list[str]) -> int:
    """The port that skydns answers on."""
    etcd_port, ready_port, dns_port = (reserve_port() for _ in range(3))
    url = f"http://127.0.0.1:{etcd_port}"
    store = _start(stack, etcd(str(folder / "etcd"), etcd_port, reserve_port()))
    store.wait_ready(lambda: is_etcd_healthy(etcd_port), "healthy")
    command = [str(bin_dir / "kube2sky"), f"--etcd-server={url}", f"--healthz-port={ready_port}", *kube_flags]
    kube2sky = _start(stack, Program("kube2sky", [*command, f"--domain={DOMAIN}"]))
    kube2sky.wait_ready(lambda: http_get(f"http://127.0.0.1:{ready_port}/readiness")[0] == 200, "ready")
    command = [str(bin_dir / "skydns"), f"-machines={url}", f"-addr=127.0.0.1:{dns_port}", f"-domain={DOMAIN}."]
    _start(stack, Program("skydns", [*command, "-no-rec"])).wait_line("ready for queries")
    return dns_port


def _delay_ms(kube: Kube, asker: socket.socket, number: int) -> float:
    name = f"new-{number}"
    made = kube.create("services", service(name, port(80, "http")))
    acknowledged_s = time.monotonic()
    address = ipaddress.ip_address(made["spec"]["clusterIP"]).packed
    query = dns_query(f"{name}.default.svc.{DOMAIN}", number)
    while time.monotonic() < acknowledged_s + _PATIENCE_S:
        asker.send(query)
        with contextlib.suppress(TimeoutError):
            answer = asker.recv(1500)
            if answer[:2] == query[:2] and answer[7] == 1 and answer.endswith(address):
                return (time.monotonic() - acknowledged_s) * 1e3
    raise AssertionError(f"{name} is not answered {_PATIENCE_S:g} s after it was created")

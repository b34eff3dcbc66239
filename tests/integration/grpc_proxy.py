"""`etcd grpc-proxy` between the programs under test and a bed's etcd."""

import socket
from pathlib import Path

from certificates import Authority
from dns_client import Dns
from programs import ETCD, Program, http_get, is_etcd_healthy, reserve_port, serve_tls
from prometheus import Page


class GrpcProxy:
    """Version 3.4 has no metrics of its own: its /metrics are etcd's. `flags` are further ones of `etcd grpc-proxy
    start`.
    """

    def __init__(self, folder: Path, endpoint: str, *flags: str, scheme: str = "http"):
        self.port = reserve_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        address = f"127.0.0.1:{self.port}"
        argv = [ETCD, "grpc-proxy", "start", f"--endpoints={endpoint}", f"--listen-addr={address}"]
        argv += [f"--advertise-client-url={address}", f"--data-dir={folder / 'proxy'}"]
        self.program = Program("etcd-proxy", [*argv, *flags])

    def start(self) -> None:
        self.program.start()
        self.program.wait_ready(self._listens, "listens")

    def _listens(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True

    def restart(self) -> None:
        self.program.kill()
        self.start()


def put_behind_proxy(bed, *flags: str, port: int = 0) -> GrpcProxy:
    """The bed's programs, not yet started, will reach its etcd, or what is on the port, through a proxy."""
    proxy = GrpcProxy(bed.folder, f"127.0.0.1:{port or bed.etcd_port}", *flags)
    bed.programs.append(proxy.program)
    proxy.start()
    bed.etcd_urls = [proxy.url]
    return proxy


class Reader:
    """One more skydns behind the bed's URLs."""

    def __init__(self, bed, *flags: str):
        self.dns, self._http_port = Dns(reserve_port(), timeout_s=0.5), reserve_port()
        self.program = bed.command(
            "skydns",
            f"-machines={','.join(bed.etcd_urls)}",
            f"-addr=127.0.0.1:{self.dns.port}",
            f"-http-addr=127.0.0.1:{self._http_port}",
            "-domain=cluster.local.",
            "-no-rec",
            *flags,
        )

    def start(self) -> "Reader":
        self.program.start().wait_line("ready for queries")
        return self

    def wait_followed(self) -> None:
        self.program.wait_line("etcd is followed")

    def metrics(self) -> Page:
        return Page(http_get(f"http://127.0.0.1:{self._http_port}/metrics")[1], "skydns_")


def start_tls_etcd(bed, trusted: Authority) -> None:
    """It wants client certificates."""
    certificate, private = trusted.sign("server")
    flags = ("--client-cert-auth", "--trusted-ca-file", trusted.certificate)
    health_port = serve_tls(bed.etcd_program, bed.etcd_port, certificate, private, *flags)
    bed.etcd.use_tls(trusted.certificate, *trusted.sign("tester"))
    bed.etcd_program.start().wait_ready(lambda: is_etcd_healthy(health_port), "healthy")

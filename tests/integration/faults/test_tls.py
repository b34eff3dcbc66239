"""etcd over TLS, with certificates on both sides that are replaced while everything runs."""

import time
from pathlib import Path

import pytest
from certificates import Authority
from fault_bed import missing_flags
from programs import is_etcd_healthy, reserve_port

_MISSING = missing_flags("-ca-cert", "-tls-pem", "-tls-key", "-etcd-cafile", "-etcd-certfile", "-etcd-keyfile")

pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(_MISSING), reason=_MISSING)]


class Secured:
    """The bed, and the certificates of its etcd and programs."""

    def __init__(self, bed):
        self.bed = bed
        self.folder = bed.folder
        self.trusted = Authority(self.folder, "trusted")
        self.foreign = Authority(self.folder, "foreign")
        self.clients = Authority(self.folder, "clients")
        self.new_clients = Authority(self.folder, "new-clients")
        self.certificate, self.key = self.trusted.sign("server")
        self.client_certificate, self.client_key = self.clients.sign("client")
        self._client_authorities = self.folder / "client-authorities.crt"
        self.trust_clients_of(self.clients)
        self._health_port = reserve_port()

    def trust_clients_of(self, authority: Authority) -> None:
        """And a server's: etcd's JSON gateway, which the tests use, connects with the server's certificate."""
        files = (authority.certificate, self.trusted.certificate)
        self._client_authorities.write_text("".join(Path(file).read_text() for file in files))

    def configure(self) -> None:
        bed = self.bed
        url = f"https://127.0.0.1:{bed.etcd_port}"
        argv = bed.etcd_program.argv
        for flag in ("--listen-client-urls", "--advertise-client-urls"):
            argv[argv.index(flag) + 1] = url
        argv += ["--cert-file", self.certificate, "--key-file", self.key, "--client-cert-auth"]
        argv += ["--trusted-ca-file", str(self._client_authorities)]
        argv += ["--listen-metrics-urls", f"http://127.0.0.1:{self._health_port}"]
        bed.etcd_urls = [url]
        bed.etcd.use_tls(self.trusted.certificate, *self.trusted.sign("tester"))
        bed.kube2sky_flags = [
            f"--etcd-cafile={self.trusted.certificate}",
            f"--etcd-certfile={self.client_certificate}",
            f"--etcd-keyfile={self.client_key}",
        ]
        bed.skydns_flags = [
            f"-ca-cert={self.trusted.certificate}",
            f"-tls-pem={self.client_certificate}",
            f"-tls-key={self.client_key}",
        ]

    def start_etcd(self) -> None:
        program = self.bed.etcd_program.start()
        program.wait_ready(lambda: is_etcd_healthy(self._health_port), "healthy")

    def restart_etcd(self) -> None:
        """So that every connection is opened again."""
        self.bed.etcd_program.kill()
        self.start_etcd()


@pytest.fixture
def secured(fault_bed):
    secured = Secured(fault_bed)
    secured.configure()
    secured.start_etcd()
    fault_bed.start()
    return secured


def test_server_certificate_replaced(secured):
    bed = secured.bed
    with bed.under_load(is_restarting=True):
        secured.trusted.sign("server")
        secured.restart_etcd()
        made = bed.change()
        bed.wait_visible(made, time.monotonic(), "changes visible after", 2)


def test_client_certificate_rotated(secured):
    """etcd accepts only the new authority's certificates; the programs get their new files later, at the same paths."""
    bed = secured.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        secured.trust_clients_of(secured.new_clients)
        secured.restart_etcd()
        made = bed.change()
        bed.wait_told(r"(?i)certificate", since)
        load.wait_sent(1000)
        assert bed.dns.answers(next(iter(made))) == ["NXDOMAIN"], "the old certificate was accepted"
        secured.new_clients.sign("client")
        bed.wait_visible(made, time.monotonic(), "changes visible after", 5)
        bed.check_counted("etcd_credentials_changes_total", result="used")
        bed.check_counted("etcd_connections_total", tls="yes")


def test_server_of_a_foreign_authority(secured):
    bed = secured.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        secured.foreign.sign("server")
        secured.restart_etcd()
        made = bed.change()
        bed.wait_told(r"certificate is not from a CA in .*trusted\.crt", since)
        bed.check_counted("etcd_connection_failures_total", kind="refused")
        load.wait_sent(1000)
        assert bed.dns.answers(next(iter(made))) == ["NXDOMAIN"], "the foreign certificate was accepted"
        secured.trusted.sign("server")
        secured.restart_etcd()
        bed.wait_visible(made, time.monotonic(), "changes visible after", 5)

"""A bed's etcd over TLS, with certificates on both sides."""

from pathlib import Path

from certificates import Authority
from programs import is_etcd_healthy, serve_tls


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

    def trust_clients_of(self, authority: Authority) -> None:
        """And a server's: etcd's JSON gateway, which the tests use, connects with the server's certificate."""
        files = (authority.certificate, self.trusted.certificate)
        self._client_authorities.write_text("".join(Path(file).read_text() for file in files))

    def configure(self) -> None:
        bed = self.bed
        flags = ("--client-cert-auth", "--trusted-ca-file", str(self._client_authorities))
        self._health_port = serve_tls(bed.etcd_program, bed.etcd_port, self.certificate, self.key, *flags)
        bed.etcd_urls = [f"https://127.0.0.1:{bed.etcd_port}"]
        # With users, the gateway refuses clients whose certificate has a name.
        bed.etcd.use_tls(self.trusted.certificate, *self.trusted.sign("tester", has_name=False))
        bed.kube2sky_flags += [
            f"--etcd-cafile={self.trusted.certificate}",
            f"--etcd-certfile={self.client_certificate}",
            f"--etcd-keyfile={self.client_key}",
        ]
        bed.skydns_flags += [
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

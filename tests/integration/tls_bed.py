"""skydns with listeners for TLS, HTTPS, HTTP and gRPC, and clients of theirs."""

import shutil
import socket
import ssl
import struct
from pathlib import Path

import dns.message
import prometheus
from certificates import Authority
from programs import http_get, reserve_port, wait_until
from records import value

NAME = "web.default.svc.cluster.local"
KEY = "/skydns/local/cluster/svc/default/web"
ADDRESS = "10.0.0.1"
# A replaced file is in use within this time: skydns looks every 5 s.
IN_USE_S = 15


class Server:
    """skydns with one record, at a plain address and the given URLs. The certificate is signed by `authority`."""

    def __init__(self, bed, folder: Path, *schemes: str):
        self.bed, self.folder = bed, folder
        self.authority = Authority(folder, "ca")
        self.certificate, self.key = self.authority.sign("server")
        self.http = reserve_port()
        self.ports = {scheme: reserve_port() for scheme in schemes}
        bed.start_etcd()
        bed.etcd.put(KEY, value(ADDRESS))

    def addresses(self) -> str:
        urls = [f"{scheme}://127.0.0.1:{port}" for scheme, port in self.ports.items()]
        return ",".join([f"127.0.0.1:{self.bed.dns.port}", *urls])

    def start(self, *flags: str) -> "Server":
        self.bed.start_skydns(
            "-no-rec",
            f"-http-addr=127.0.0.1:{self.http}",
            f"-addr={self.addresses()}",
            f"-cert={self.certificate}",
            f"-key={self.key}",
            *flags,
        )
        self.skydns = self.bed.skydns
        self.wait_ready()
        return self

    def wait_ready(self) -> None:
        wait_until(lambda: self.bed.dns.answers(NAME, "A") == [ADDRESS], "the record")

    def metric(self, name: str, **labels: str) -> float | None:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        family = page.get(f"skydns_{name}")
        return family.samples.get((f"skydns_{name}", tuple(sorted(labels.items())))) if family else None

    def wait_metric(self, right: float, name: str, **labels: str) -> None:
        self.skydns.wait_ready(lambda: self.metric(name, **labels) == right, f"{name} {labels} {right}")

    def context(self, certificate: tuple[str, str] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority.certificate)
        if certificate:
            context.load_cert_chain(*certificate)
        return context

    def connect(self, context: ssl.SSLContext | None = None, session=None, scheme: str = "tls") -> "Connection":
        return Connection(self.ports[scheme], context or self.context(), session)


class Connection:
    """DNS over TLS."""

    def __init__(self, port: int, context: ssl.SSLContext, session=None):
        plain = socket.create_connection(("127.0.0.1", port), timeout=20)
        try:
            self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1", session=session)
        except BaseException:
            plain.close()
            raise

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exc) -> None:
        self.socket.close()

    def serial(self) -> str:
        """Of the server's certificate."""
        return self.socket.getpeercert()["serialNumber"]

    def send(self, number: int, name: str = NAME) -> None:
        query = dns.message.make_query(name, "A")
        query.id = number
        wire = query.to_wire()
        self.socket.sendall(struct.pack("!H", len(wire)) + wire)

    def receive(self) -> dns.message.Message | None:
        """None: the server has closed the connection."""
        head = self._read(2)
        return dns.message.from_wire(self._read(struct.unpack("!H", head)[0])) if head else None

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                assert not data, "closed inside a reply"
                return b""
            data += more
        return data

    def ask(self, number: int = 1, name: str = NAME) -> list[str]:
        self.send(number, name)
        reply = self.receive()
        assert reply.id == number
        return [rr.to_text() for rrset in reply.answer for rr in rrset]


class Secret:
    """Files as Kubernetes mounts a Secret: links through ..data to a folder, which is replaced as a whole."""

    def __init__(self, folder: Path, **files: str):
        self.folder, self._version = folder, 0
        folder.mkdir()
        self.replace(**files)
        for name in files:
            (folder / name).symlink_to(Path("..data") / name)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def replace(self, **files: str) -> None:
        """By the files at these paths."""
        before, self._version = self._version, self._version + 1
        new = self.folder / f"..{self._version}"
        new.mkdir()
        for name, path in files.items():
            shutil.copyfile(path, new / name)
        link = self.folder / "..data_tmp"
        link.symlink_to(new.name)
        link.rename(self.folder / "..data")
        if before:
            shutil.rmtree(self.folder / f"..{before}")

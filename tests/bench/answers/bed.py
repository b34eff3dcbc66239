"""The bed of an answer benchmark: N Services in an etcd and in every server's own format, and the servers."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from answers import data, rounds, servers
from programs import etcd, is_etcd_healthy, reserve_port

_IN_FLIGHT = 8


def certificate(folder: Path) -> tuple[str, str]:
    """A self-signed one, of the kind that CAs sign today, and its key: files."""
    paths = str(folder / "tls.crt"), str(folder / "tls.key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-out", paths[0], "-keyout", paths[1], "-days", "2", "-subj", "/CN=bench"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return paths


class Bed:
    """A context manager: fills everything on entry, stops everything on exit."""

    def __init__(self, build: Path, services: int):
        """build: the variant's folder, build/release."""
        self.bin_dir, self.services = build / "bin", services
        self.folder = Path(tempfile.mkdtemp(prefix="bench-answers-"))
        self.servers: list[servers.Server] = []
        self.tools = build / "tests/bench/answers"
        self.store = build / "tests/bench/kube2sky/bench_store"
        self.etcd_port = reserve_port()
        self.etcd_url = f"http://127.0.0.1:{self.etcd_port}"
        self.etcd = etcd(str(self.folder / "etcd"), self.etcd_port, reserve_port())

    def __enter__(self) -> "Bed":
        try:
            self._fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _fill(self) -> None:
        self.certificate, self.key = certificate(self.folder)
        data.write_zones(self.services, self.folder / "zones")
        data.write_local_data(self.services, self.folder / "local-data")
        self.questions = data.write_questions(self.services, self.folder)
        self.etcd.start().wait_ready(lambda: is_etcd_healthy(self.etcd_port), "healthy")
        self._put(data.key_lines(self.services))

    def _put(self, lines: bytes) -> None:
        command = [self.store, self.etcd_url, "loop", str(_IN_FLIGHT)]
        subprocess.run(command, input=lines, check=True, stdout=subprocess.DEVNULL, timeout=300)

    def add_large_names(self) -> None:
        """Their keys and questions, for servers started from now on."""
        self._put(data.large_key_lines())
        self.questions |= data.write_large_questions(self.folder)

    def __exit__(self, *exc) -> None:
        for one in reversed(self.servers):
            one.program.kill()
        self.etcd.kill()
        shutil.rmtree(self.folder)

    def setting(self, kind: servers.Kind, **more) -> servers.Setting:
        return servers.Setting(
            folder=self.folder / kind.name,
            port=reserve_port(),
            zones=self.folder / "zones",
            local_data=self.folder / "local-data",
            etcd_url=self.etcd_url,
            bin_dir=self.bin_dir,
            tools=self.tools,
            tls_port=reserve_port(),
            https_port=reserve_port(),
            certificate=self.certificate,
            key=self.key,
            **more,
        )

    def start(self, kind: servers.Kind, **more) -> servers.Server:
        return self._start(self.setting(kind, **more), kind, data.name(self.services - 1), "10.")

    def start_resolver(self, kind: servers.Kind, nameserver: int, **more) -> servers.Server:
        """With the nameserver at this port, and room for as many of its names as there are Services."""
        setting = self.setting(kind, nameserver=nameserver, kept=self.services, **more)
        return self._start(setting, kind, data.foreign(0), "192.0.2.")

    def _start(self, setting: servers.Setting, kind: servers.Kind, asked: str, address: str) -> servers.Server:
        one = servers.start(kind, setting, asked, address)
        self.servers.append(one)
        return one

    def generator(self, seconds: float, **more) -> rounds.Generator:
        return rounds.Generator(self.tools, self.questions, seconds, **more)

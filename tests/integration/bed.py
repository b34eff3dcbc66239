"""The test bed: an etcd and the programs under test around it, on their own ports and in one temporary
folder.
"""

import os
import shutil
import subprocess
from pathlib import Path

from dns_client import Dns
from etcd_client import EtcdClient
from kube import Kube
from model import Model
from nursery import forked_apiserver
from programs import Program, etcd, http_get, is_etcd_healthy, reserve_port, wait_equal, wait_until

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).resolve().parents[2] / "build/release/bin"))


def make_certificate(folder: Path, name: str = "tls") -> tuple[str, str]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    certificate, key = str(folder / f"{name}.crt"), str(folder / f"{name}.key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", key, "-out", certificate, "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return certificate, key


def make_signing_key(folder: Path, *flags: str, zone: str = "cluster.local") -> str:
    """The common part of a DNSSEC key's two file names; flags are those of dnssec-keygen."""
    command = ["dnssec-keygen", "-q", "-K", str(folder), *(flags or ("-a", "ECDSAP256SHA256")), zone]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return str(folder / made.stdout.strip())


class Bed:
    def __init__(self, folder: Path):
        self.folder = folder
        self.programs: list[Program] = []
        self.kube: Kube | None = None
        self.kube_flags: list[str] = []  # kube2sky's flags to reach it
        self.etcd_port = reserve_port()
        # The end of a process loses no data: only a machine's would.
        self.etcd_program = self._add(etcd(str(folder / "etcd"), self.etcd_port, reserve_port(), "--unsafe-no-fsync"))
        self.etcd = EtcdClient(self.etcd_port)
        self.etcd_urls = [f"http://127.0.0.1:{self.etcd_port}"]  # as in the programs' flags
        self.apiserver: Program | None = None
        self.kube2sky: Program | None = None
        self.skydns: Program | None = None
        self.exechealthz: Program | None = None
        self.readiness_port = reserve_port()
        self.dns = Dns(reserve_port())
        self.healthz_port = reserve_port()

    def _add(self, program: Program) -> Program:
        self.programs.append(program)
        return program

    def command(self, name: str, *arguments: str) -> Program:
        """One of the programs under test, not yet started."""
        return self._add(Program(name, [str(BIN_DIR / name), *arguments]))

    # ---- etcd ----

    def start_etcd(self) -> None:
        self.etcd_program.start()
        self.etcd_program.wait_ready(lambda: is_etcd_healthy(self.etcd_port), "healthy")

    # ---- Kubernetes ----

    def start_apiserver(self, *flags: str) -> Kube:
        port = reserve_port()
        self.apiserver = self._add(forked_apiserver(port, *flags)).start()
        url = f"http://127.0.0.1:{port}"
        self.apiserver.wait_ready(lambda: http_get(url + "/readyz")[0] == 200, "readyz")
        self.use_kube(Kube(url), [f"--kube-master-url={url}"])
        return self.kube

    def start_tls_apiserver(self, token: str) -> Kube:
        """With a self-signed certificate and a token. kube2sky must be given both."""
        certificate, key = make_certificate(self.folder)
        port = reserve_port()
        tls_flags = ["--tls-cert", certificate, "--tls-key", key, "--token", token]
        self.apiserver = self._add(forked_apiserver(port, *tls_flags)).start()
        kube = Kube(f"https://127.0.0.1:{port}", token, certificate)
        self.apiserver.wait_ready(lambda: kube.request("GET", "/version"), "answers")
        self.use_kube(kube, [])
        return kube

    def use_kube(self, kube: Kube, flags: list[str]) -> None:
        self.kube, self.kube_flags = kube, flags

    # ---- The programs under test ----

    def start_kube2sky(self, *flags: str, is_waiting: bool = True) -> None:
        if self.kube2sky is None:
            self.kube2sky = self.command(
                "kube2sky",
                "--domain=cluster.local",
                f"--etcd-server={','.join(self.etcd_urls)}",
                f"--healthz-port={self.readiness_port}",
                *self.kube_flags,
                *flags,
            )
        self.kube2sky.start()
        if is_waiting:
            self.kube2sky.wait_ready(lambda: self.readiness()[0] == 200, "ready")

    def readiness(self) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.readiness_port}/readiness")

    def start_skydns(self, *flags: str, is_waiting: bool = True, prefix: tuple[str, ...] = ()) -> None:
        """`prefix`: a command that executes skydns' command line after it; used at the first start."""
        if self.skydns is None:
            self.skydns = self.command(
                "skydns",
                f"-machines={','.join(self.etcd_urls)}",
                f"-addr=127.0.0.1:{self.dns.port}",
                "-domain=cluster.local.",
                "-ns-rotate=false",
                *(flags or ("-no-rec",)),
            )
            self.skydns.argv[:0] = prefix
        since = len(self.skydns.lines)
        self.skydns.start()
        if is_waiting:
            self.skydns.wait_line(r"ready for queries on cluster\.local\. for udp://", since)

    def start_exechealthz(self, *flags: str) -> None:
        self.exechealthz = self.command("exechealthz", f"--port={self.healthz_port}", *flags).start()
        self.exechealthz.wait_ready(lambda: self.healthz()[0] in (200, 503), "answers")

    def healthz(self) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.healthz_port}/healthz")

    def start_writer_and_reader(self) -> None:
        self.start_kube2sky()
        self.start_skydns()

    # ---- Queries ----

    def wait_answers(self, name: str, rdtype: str, right: list[str]) -> None:
        last: list[str] = []
        impatient = Dns(self.dns.port, timeout_s=0.5)  # it may not listen yet

        def is_right() -> bool:
            last[:] = impatient.answers(name, rdtype)
            return last == right

        try:
            wait_until(is_right, f"{name} {rdtype} -> {right}")
        except AssertionError as error:
            raise AssertionError(f"{error}; got {last}") from None

    def wait_records(self, prefix: str, right: dict[str, str]) -> None:
        """Waits until etcd holds exactly these records under the prefix."""
        wait_equal(lambda: self.etcd.values(prefix), right, f"records under {prefix}")

    def wait_model(self, model: Model | None = None) -> None:
        """Waits until etcd holds exactly the keys that the API's objects demand, in the trees of the model."""
        model = model or Model()
        right, last = model.keys(self.kube.objects()), {}

        def is_right() -> bool:
            last.clear()
            last.update({k: v for k, v in self.etcd.values("/skydns/").items() if model.covers(k)})
            return last == model.adopt(right, last)

        try:
            wait_until(is_right, "the records of all objects")
        except AssertionError:
            right = model.adopt(right, last)
            missing = {k: v for k, v in right.items() if last.get(k) != v}
            wrong = {k: v for k, v in last.items() if right.get(k) != v}
            raise AssertionError(f"etcd differs from the objects:\nmissing {missing}\nwrong {wrong}") from None

    # ---- The end ----

    def close(self) -> None:
        """Stops all running programs, those under test first; each must exit cleanly. Removes the folder."""
        problems = []
        for program in reversed(self.programs):
            if not program.is_running():
                continue
            try:
                # After its shutdown, etcd ends by the signal that it got.
                program.stop(expected=(0, -15) if program.name.startswith("etcd") else (0,))
            except AssertionError as error:
                problems.append(str(error))
                program.kill()
        for program in self.programs:
            try:
                program.check_output()
            except AssertionError as error:
                problems.append(str(error))
        # An etcd's empty data folder takes 128 MB: a few hundred beds would fill the disk.
        shutil.rmtree(self.folder, ignore_errors=True)  # some fixtures close twice
        assert not problems, "\n".join(problems)

    def log_text(self) -> str:
        return "\n".join(p.log_text() for p in self.programs if p.lines)

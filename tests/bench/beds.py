"""The bed of every benchmark: a temporary folder, and the programs that are started in it and end with it: etcd, skydns,
and what a benchmark adds.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from etcd_client import EtcdClient
from programs import Program, etcd, http_get, is_etcd_healthy, reserve_port
from prometheus import Page
from records import DOMAIN

IN_FLIGHT = 8
# Only ends a hang.
PATIENCE_S = 600.0


class Etcd(Program):
    """An empty one at first, with a client."""

    def __init__(self, folder: Path, *flags: str):
        self.port, self._folder = reserve_port(), folder
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = EtcdClient(self.port)
        super().__init__("etcd", etcd(str(folder), self.port, reserve_port(), *flags).argv)

    def start(self) -> "Etcd":
        super().start().wait_ready(lambda: is_etcd_healthy(self.port), "healthy", PATIENCE_S)
        return self

    def figures(self, *names: str) -> list[float]:
        """These of its metrics, each of all labels together."""
        lines = [line.rpartition(" ") for line in http_get(f"{self.url}/metrics", 60)[1].splitlines()]
        return [sum(float(value) for of, _, value in lines if of.partition("{")[0] == name) for name in names]

    def figure(self, name: str) -> float:
        return self.figures(name)[0]

    def in_use_bytes(self) -> float:
        return self.figure("etcd_mvcc_db_total_size_in_use_in_bytes")

    def file_bytes(self) -> int:
        return (self._folder / "member/snap/db").stat().st_size


class Skydns(Program):
    """One with its pages, on ports of its own."""

    def __init__(self, bin_dir: Path, etcd_url: str, *flags: str):
        self.port, self.http_port = reserve_port(), reserve_port()
        argv = [str(bin_dir / "skydns"), f"-machines={etcd_url}", f"-domain={DOMAIN}.", "-no-rec"]
        argv += [f"-addr=127.0.0.1:{self.port}", f"-http-addr=127.0.0.1:{self.http_port}", *flags]
        super().__init__("skydns", argv)

    def start_s(self) -> float:
        """Starts it; the seconds until it has read all records."""
        began_s, since = time.monotonic(), len(self.lines)
        self.start().wait_line(r"ready for queries on .* for udp://", since, PATIENCE_S)
        return time.monotonic() - began_s

    def caught_up_s(self) -> float:
        """Starts it; the seconds until it has caught up with etcd."""
        began_s, url = time.monotonic(), f"http://127.0.0.1:{self.http_port}/readiness?strict"
        self.start().wait_ready(lambda: http_get(url)[0] == 200, "caught up with etcd", PATIENCE_S)
        return time.monotonic() - began_s

    def metric(self, name: str) -> float:
        return Page(http_get(f"http://127.0.0.1:{self.http_port}/metrics", 60)[1], "skydns_").total(name)


class Bed:
    """A context manager; build: the variant's folder, build/release."""

    def __init__(self, build: Path):
        self.build, self.bin_dir = build, build / "bin"
        self.folder = Path(tempfile.mkdtemp(prefix="bench-"))
        self._programs: list[Program] = []
        self._etcds = 0
        self.etcd: Etcd | None = None
        self.skydns: Skydns | None = None

    def add(self, program):
        """It ends with the bed."""
        self._programs.append(program)
        return program

    def __enter__(self):
        try:
            self.fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def fill(self) -> None:
        """What a kind of bed has from the start."""

    def __exit__(self, *exc) -> None:
        for program in reversed(self._programs):
            program.kill()
        shutil.rmtree(self.folder)

    def tool(self, name: str) -> str:
        return str(self.build / "tests/bench" / name)

    def start_etcd(self, *flags: str) -> Etcd:
        """An empty one, which all later programs use."""
        self._etcds += 1
        self.etcd = self.add(Etcd(self.folder / f"etcd-{self._etcds}", *flags)).start()
        return self.etcd

    def new_skydns(self, *flags: str) -> Skydns:
        """Not yet started."""
        self.skydns = self.add(Skydns(self.bin_dir, self.etcd.url, *flags))
        return self.skydns

    def store(self, *arguments: str, text: bytes | None = None) -> bytes:
        """What bench_store does at etcd."""
        command = [self.tool("kube2sky/bench_store"), self.etcd.url, *arguments]
        return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, timeout=PATIENCE_S).stdout

    def put(self, lines: bytes, in_flight: int = IN_FLIGHT) -> float:
        """Puts keys and values in plain transactions of 128; the seconds it took."""
        return float(self.store("loop", str(in_flight), text=lines))

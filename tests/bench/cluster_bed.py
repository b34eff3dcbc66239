"""Shared by the benchmarks of the pod's programs: a bed of an API server, an etcd and the programs, a follower of
etcd's changes, and the Services that the API server creates in bulk.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "support"), str(ROOT / "integration")]

from etcd_client import EtcdClient  # noqa: E402
from kube import BASES, Kube  # noqa: E402
from kubeapi import protobuf  # noqa: E402
from programs import Program, apiserver, etcd, http_get, is_etcd_healthy, reserve_port  # noqa: E402
from records import SVC, label  # noqa: E402

PAGE = 500
# Only ends a hang.
PATIENCE_S = 300.0


class Bed:
    """An API server (by default the tests' own, else one given with kube2sky's flags to reach it), an etcd, kube2sky
    and skydns, each started on demand; all end with the bed.
    """

    def __init__(
        self, folder: Path, bin_dir: Path, store: str, kube: Kube | None = None, kube_flags: list[str] = ()
    ):
        self._folder, self.bin_dir, self._store = folder, bin_dir, store
        self._programs: list[Program] = []
        self.http_port = reserve_port()  # kube2sky's
        self.dns_port = reserve_port()
        self._http_addr = f"127.0.0.1:{reserve_port()}"
        # With /metrics, by program.
        self.pages = {"kube2sky": f"http://127.0.0.1:{self.http_port}", "skydns": f"http://{self._http_addr}"}
        self.kube, self._kube_flags = kube, kube_flags
        self.etcd_url = ""
        self.apiserver: Program | None = None  # the tests' own
        self.etcds: dict[str, Program] = {}
        self.kube2sky: Program | None = None
        self.skydns: Program | None = None
        if kube is None:
            self._start_apiserver()

    def _start_apiserver(self) -> None:
        url = f"http://127.0.0.1:{reserve_port()}"
        self.apiserver = self._add(apiserver(int(url.rsplit(":", 1)[1])))
        self.apiserver.start().wait_ready(
            lambda: http_get(url + "/readyz")[0] == 200, "readyz"
        )
        self.kube, self._kube_flags = Kube(url), [f"--kube-master-url={url}"]

    def _add(self, program: Program) -> Program:
        self._programs.append(program)
        return program

    def __enter__(self) -> "Bed":
        return self

    def __exit__(self, *exc) -> None:
        for program in reversed(self._programs):
            program.kill()

    def start_etcd(self, name: str, *flags: str) -> EtcdClient:
        """Starts an empty etcd, which all later programs use."""
        port = reserve_port()
        self.etcds[name] = self._add(etcd(str(self._folder / name), port, reserve_port(), *flags))
        self.etcds[name].start().wait_ready(lambda: is_etcd_healthy(port), "healthy")
        self.etcd_url = f"http://127.0.0.1:{port}"
        return EtcdClient(port)

    def start_kube2sky(self, *flags: str) -> float:
        """Starts kube2sky; returns the seconds until it was ready. Nothing compacts these etcds, and most benchmarks
        change one namespace only: its share of etcd's space must not end.
        """
        flags = flags or ("--etcd-space=8192",)
        argv = [str(self.bin_dir / "kube2sky"), *self._kube_flags]
        argv += [f"--etcd-server={self.etcd_url}", f"--healthz-port={self.http_port}", *flags]
        self.kube2sky = self._add(Program("kube2sky", argv))
        start_s = time.monotonic()
        self.kube2sky.start().wait_ready(
            lambda: http_get(f"http://127.0.0.1:{self.http_port}/readiness")[0] == 200, "ready", PATIENCE_S
        )
        return time.monotonic() - start_s

    def start_skydns(self, *flags: str) -> float:
        """The same for skydns."""
        argv = [str(self.bin_dir / "skydns"), f"-machines={self.etcd_url}", "-domain=cluster.local.", "-no-rec"]
        argv += [f"-http-addr={self._http_addr}"]
        start_s = time.monotonic()
        self.skydns = self._add(Program("skydns", [*argv, f"-addr=127.0.0.1:{self.dns_port}", *flags])).start()
        self.skydns.wait_line(r"ready for queries on cluster\.local\. for udp://", timeout_s=PATIENCE_S)
        return time.monotonic() - start_s

    def stop_skydns(self) -> None:
        self.skydns.stop()

    def store(self, *arguments: str, text: bytes | None = None) -> bytes:
        command = [self._store, self.etcd_url, *arguments]
        done = subprocess.run(
            command, input=text, check=True, stdout=subprocess.PIPE, timeout=PATIENCE_S
        )
        return done.stdout

    def resident_kib(self) -> int:
        status = Path(f"/proc/{self.kube2sky.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))

    def cpu_s(self) -> float:
        return cpu_s(self.kube2sky)


def cpu_s(program: Program) -> float:
    """CPU time of all its threads that have not ended."""
    tasks = Path(f"/proc/{program.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


class Times:
    """When each thing first happened, noted by one thread; another thread waits until all named things have."""

    def __init__(self):
        self._times_ns: dict[str, int] = {}
        self._missing: set[str] = set()
        self._changed = threading.Condition()

    def note(self, name: str, time_ns: int) -> None:
        with self._changed:
            self._times_ns[name] = time_ns
            if self._missing:
                self._missing.discard(name)
                if not self._missing:
                    self._changed.notify()

    def wait_ns(self, names: list[str], what: str) -> list[int]:
        with self._changed:
            self._missing = set(names) - self._times_ns.keys()
            if not self._changed.wait_for(lambda: not self._missing, PATIENCE_S):
                raise SystemExit(f"{what}: {len(self._missing)} of {len(names)} are missing")
            return [self._times_ns[name] for name in names]


class Follower:
    """The changes in etcd below a prefix, with their time of arrival."""

    def __init__(self, bed: Bed, store: str):
        self._process = subprocess.Popen(
            [store, bed.etcd_url, "follow", SVC], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout.readline() == b"ready\n"
        self._times = Times()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *exc) -> None:
        self._process.stdin.close()
        self._reader.join()
        self._process.wait()

    def _read(self) -> None:
        for line in self._process.stdout:
            kind, time_ns, key = line.decode().rstrip("\n").split(" ", 2)
            if kind == "put":
                self._times.note(key, int(time_ns))

    def wait_times_ns(self, keys: list[str]) -> list[int]:
        """Waits until all of these are put; returns their times."""
        return self._times.wait_ns(keys, "keys put into etcd")


def list_all(kube: Kube, resource: str) -> float:
    """The seconds for a list in pages, as kube2sky requests it."""
    path, start_s = f"{BASES.get(resource, '/api/v1')}/{resource}?limit={PAGE}", time.monotonic()
    page = path
    while True:
        _, _, body = kube.send("GET", page, None, {"Accept": protobuf.CONTENT_TYPE})
        token = protobuf.decode_list_meta(body).get("continue")
        if not token:
            return time.monotonic() - start_s
        page = f"{path}&continue={token}"


def bulk_keys(count: int, salt: int) -> list[str]:
    """The address keys of Services from the API server's bulk control."""

    def ip(host: int) -> str:
        return f"172.{host >> 16}.{host >> 8 & 255}.{host & 255}"

    return [f"{SVC}/default/bulk-{n}/{label(ip(n + salt))}" for n in range(count)]

"""Shared by the benchmarks of the pod's programs: a bed of an API server, an etcd and the programs, a follower of
etcd's changes, and the Services that the API server creates in bulk.
"""

import subprocess
import threading
import time
from pathlib import Path

import beds
from beds import PATIENCE_S
from kube import BASES, Kube
from kubeapi import protobuf
from programs import Program, apiserver, http_get, reserve_port
from records import SVC, label

PAGE = 500


class Bed(beds.Bed):
    """With the tests' own API server, or one that is named with use_kube; and kube2sky, started on demand."""

    def __init__(self, build: Path, has_apiserver: bool = True):
        super().__init__(build)
        self.http_port = reserve_port()  # kube2sky's
        self._has_apiserver = has_apiserver
        self.apiserver: Program | None = None  # the tests' own
        self.kube2sky: Program | None = None

    def fill(self) -> None:
        if self._has_apiserver:
            port = reserve_port()
            url = f"http://127.0.0.1:{port}"
            self.apiserver = self.add(apiserver(port))
            self.apiserver.start().wait_ready(lambda: http_get(url + "/readyz")[0] == 200, "readyz")
            self.use_kube(Kube(url), [f"--kube-master-url={url}"])

    def use_kube(self, kube: Kube, flags: list[str]) -> Kube:
        """flags: kube2sky's, to reach it."""
        self.kube, self._kube_flags = kube, flags
        return kube

    def pages(self) -> dict[str, str]:
        """With /metrics, by program."""
        ports = {"kube2sky": self.http_port, "skydns": self.skydns.http_port}
        return {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}

    def start_kube2sky(self, *flags: str) -> float:
        """Starts kube2sky; returns the seconds until it was ready. Nothing compacts these etcds, and most benchmarks
        change one namespace only: its share of etcd's space must not end.
        """
        flags = flags or ("--etcd-space=8192",)
        argv = [str(self.bin_dir / "kube2sky"), *self._kube_flags]
        argv += [f"--etcd-server={self.etcd.url}", f"--healthz-port={self.http_port}", *flags]
        self.kube2sky = self.add(Program("kube2sky", argv))
        start_s = time.monotonic()
        self.kube2sky.start().wait_ready(
            lambda: http_get(f"http://127.0.0.1:{self.http_port}/readiness")[0] == 200, "ready", PATIENCE_S
        )
        return time.monotonic() - start_s


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

    def __init__(self, bed: Bed):
        command = [bed.tool("kube2sky/bench_store"), bed.etcd.url, "follow", SVC]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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

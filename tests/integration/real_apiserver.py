"""A real kube-apiserver with its own etcd, run by the executable that KUBE_APISERVER names (CONTRIBUTING.md
documents how it is called).
"""

import os
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from etcd_client import EtcdClient
from kube import Kube
from programs import reserve_port, wait_until


class RealApiserver:
    """Not yet started. Its data survives a stop. inside: the command prefix that enters a network namespace; only
    commands with that prefix reach the server.
    """

    def __init__(self, folder: Path, inside: list[str] = ()):
        self._inside = inside
        self._starter = os.environ.get("KUBE_APISERVER")
        if not self._starter:
            pytest.skip("KUBE_APISERVER does not name a starter of a real kube-apiserver")
        self.folder = str(folder)
        self._ports = [str(_reserve_two_ports()), str(reserve_port())]
        self.kube: Kube | None = None
        self.flags: list[str] = []  # kube2sky's flags to reach it
        self._etcd: EtcdClient | None = None
        self._starting: Future | None = None

    def start(self) -> None:
        done = self._run("start", self.folder, *self._ports, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        says = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.kube = Kube(says["URL"], says["TOKEN"], says["CA"])
        self.flags = [f"--kubecfg-file={says['KUBECONFIG']}"]
        self._etcd = EtcdClient(urlsplit(says["ETCD"]).port)
        curl = ["curl", "--silent", "--fail", "--cacert", says["CA"], "--header", f"Authorization: Bearer {says['TOKEN']}"]
        default = [*self._inside, *curl, f"{says['URL']}/api/v1/namespaces/default"]

        def has_default_namespace() -> bool:
            return subprocess.run(default, capture_output=True, timeout=20).returncode == 0

        wait_until(has_default_namespace, "the namespace default, which the server makes after it is ready")

    def launch(self) -> None:
        """Begins to start it; wait_ready() must follow."""
        self._starting = ThreadPoolExecutor(1).submit(self.start)

    def wait_ready(self) -> None:
        self._starting.result()

    def stop(self) -> None:
        self._run("stop", self.folder, timeout=60)

    def leave(self) -> threading.Thread:
        """Stops it for good, which takes seconds, while others go on; to be joined."""
        thread = threading.Thread(target=self.stop)
        thread.start()
        return thread

    def compact(self) -> None:
        """After a restart, reads and watches from any earlier revision fail."""
        self._etcd.compact()

    def _run(self, *arguments: str, timeout: float) -> subprocess.CompletedProcess:
        # The starter may take the variable for a binary.
        environment = {k: v for k, v in os.environ.items() if k != "KUBE_APISERVER"}
        return subprocess.run(
            [*self._inside, self._starter, *arguments], env=environment, capture_output=True, text=True, timeout=timeout
        )


def _reserve_two_ports() -> int:
    """The first of two adjacent ports: the starter uses the second for etcd's peers."""
    while True:
        first = reserve_port()
        try:
            if reserve_port(first + 1) == first + 1:
                return first
        except RuntimeError:
            continue

"""The part of a kubelet that `podman play kube` lacks: runs each container's liveness probe once per period. podman
counts the failures, and restarts the container at the threshold.
"""

import subprocess
import threading

from podman import Podman


class Kubelet:
    def __init__(self, podman: Podman, containers: dict[str, float]):
        """containers: container -> period of its probe in seconds."""
        self._podman = podman
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._probe, args=each, daemon=True) for each in containers.items()
        ]

    def __enter__(self) -> "Kubelet":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _probe(self, name: str, period_s: float) -> None:
        while not self._stopped.wait(period_s):
            try:
                self._podman.call("healthcheck", "run", name, timeout=120)
            except subprocess.TimeoutExpired:
                continue  # podman itself hangs: the tests time out and report it

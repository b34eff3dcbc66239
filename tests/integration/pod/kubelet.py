"""The part of a kubelet that `podman play kube` lacks: it runs each container's liveness probe once every period.
podman counts the failures, and restarts the container when there are enough of them.
"""

import subprocess
import threading

from podman import Podman


class Kubelet:
    def __init__(self, podman: Podman, containers: dict[str, float]):
        """containers: the period of each one's probe, in seconds."""
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
                continue  # podman itself hangs: the tests' own waiting tells

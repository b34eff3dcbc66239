"""A writer that keeps changing Services in the API during a fault, and knows the state that must result."""

import random
import threading

from kube import Kube, KubeError, port, service

_NAMES = 20
_PAUSE_S = 0.02

# Its port changes all the time, its address never: it must be answered at all times.
STEADY = "steady"


class Churn:
    def __init__(self, url: str):
        self._kube = Kube(url)  # its connection is not thread-safe
        self._random = random.Random(1)
        self._stop = threading.Event()
        self._is_paused = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None
        self._objects: dict[str, dict] = {}
        self.changes = 0
        self.steady_ip = self._put(STEADY, 1)["spec"]["clusterIP"]

    def __enter__(self) -> "Churn":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._end()

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()

    def stop(self) -> None:
        self._end()
        if self._failure:
            raise self._failure

    def pause(self) -> None:
        """One change may still be in flight."""
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    def right_answers(self) -> dict[str, list[str]]:
        """After the end: the name of each Service that ever existed -> its A records."""
        names = [f"churn-{number}" for number in range(_NAMES)] + [STEADY]
        return {
            f"{name}.default.svc.cluster.local": (
                [self._objects[name]["spec"]["clusterIP"]] if name in self._objects else ["NXDOMAIN"]
            )
            for name in names
        }

    def _run(self) -> None:
        try:
            while not self._stop.wait(_PAUSE_S):
                if not self._is_paused:
                    self._change()
        except (OSError, KubeError) as error:
            self._failure = error

    def _change(self) -> None:
        self.changes += 1
        number = self._random.randrange(1, 60000)
        if self.changes % 5 == 0:
            self._put(STEADY, number)
            return
        name = f"churn-{self._random.randrange(_NAMES)}"
        if name in self._objects and self._random.random() < 0.4:
            self._kube.delete("services", name)
            del self._objects[name]
        else:
            self._put(name, number)

    def _put(self, name: str, number: int) -> dict:
        if name in self._objects:
            value = self._objects[name]
            value["spec"]["ports"] = [port(number, f"p{number}")]
            self._objects[name] = self._kube.replace("services", value)
        else:
            self._objects[name] = self._kube.create("services", service(name, port(number, f"p{number}")))
        return self._objects[name]

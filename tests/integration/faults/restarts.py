"""A reader with a snapshot that is ended and started again all the time, by SIGKILL and SIGTERM in turn, on sockets
that stay open, as systemd's do: every query is answered, and rightly.
"""

import signal
import threading

from dns_client import Dns
from programs import http_get, reserve_port, wait_until
from query_load import QueryLoad
from systemd_sockets import SystemdSockets

_RATE = 300
_RETRY_S = 0.2
_PAUSE_S = 0.4  # in which each process works: a crash loop would be a load of its own
_ENOUGH = 20  # queries for each process
_PATIENCE_S = 60.0
_AT_LEAST = 2  # restarts, one by each signal, also during a fault that is over at once


class Restarts:
    """Ends with the body, and is then right: wait_right."""

    def __init__(self, bed, questions: list, *flags: str):
        folder = bed.folder / "restarts"
        folder.mkdir(exist_ok=True)
        self._file = folder / "snapshot"
        self._http_port = reserve_port()
        self._sockets = SystemdSockets(
            bed,
            f"-snapshot={self._file}",
            "-snapshot-interval=100ms",
            f"-http-addr=127.0.0.1:{self._http_port}",
            *flags,
        )
        self._program = self._sockets.skydns
        self._load = QueryLoad(self._sockets.port, questions, _RATE, _RETRY_S)
        self._thread = threading.Thread(target=self._run, daemon=True)  # its children die with it
        self._is_saved = threading.Event()
        self._stop = threading.Event()
        self._is_settled = threading.Event()
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self.count = 0

    def __enter__(self) -> "Restarts":
        """The first snapshot is there, with all that the questions ask for."""
        self._thread.start()
        wait_until(lambda: self._is_saved.is_set() or self._failure, "the first snapshot", _PATIENCE_S)
        self._check()
        self._load.__enter__()
        return self

    def __exit__(self, kind, *exc) -> None:
        self._stop.set()
        try:
            if kind is None:
                self._wait_settled()
            self._load.__exit__(kind, *exc)
        finally:
            self._is_over.set()
            self._thread.join()
            self._sockets.close()
        if kind is None:
            self._check()

    def wait_right(self, right: dict[str, list[str]]) -> None:
        """No more restarts: it is in step with etcd."""
        self._stop.set()
        self._wait_settled()
        client = Dns(self._sockets.port)
        for name, answers in right.items():
            self._program.wait_ready(lambda n=name, a=answers: client.answers(n) == a, f"{name} {answers}", _PATIENCE_S)
        self._program.wait_ready(lambda: self._strict()[0] == 200, "strictly ready", _PATIENCE_S)

    def text(self) -> str:
        return f"{self.count} restarts of a reader with a snapshot: {self._load.result.text()}"

    def _wait_settled(self) -> None:
        wait_until(lambda: self._is_settled.is_set() or self._failure, "the last start", _PATIENCE_S)
        self._check()

    def _check(self) -> None:
        if self._failure:
            raise self._failure

    def _strict(self) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self._http_port}/readiness?strict")

    def _run(self) -> None:
        try:
            self._sockets.start()
            self._program.wait_ready(lambda: self._strict()[0] == 200, "strictly ready", _PATIENCE_S)
            self._end(signal.SIGTERM)  # writes all there is
            assert self._file.is_file()
            self._start()
            self._is_saved.set()
            while not self._stop.wait(_PAUSE_S) or self.count < _AT_LEAST:
                self._restart()
            self._is_settled.set()
            self._is_over.wait()
            self._end(signal.SIGTERM)
        except BaseException as error:  # shown by the test's thread
            self._failure = error

    def _restart(self) -> None:
        before = self._load.count()
        wait_until(lambda: self._load.count() >= before + _ENOUGH or self._stop.is_set(), "queries", _PATIENCE_S)
        self._end(signal.SIGTERM if self.count % 2 else signal.SIGKILL)
        self._start()
        self.count += 1

    def _start(self) -> None:
        since = len(self._program.lines)
        self._sockets.start()
        self._program.wait_line("answering from a snapshot", since)

    def _end(self, number: int) -> None:
        if number == signal.SIGTERM:
            self._program.stop()
        else:
            self._program.kill()

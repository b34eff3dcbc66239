"""Several API servers behind a balancer of connections, as in a cluster with several control planes."""

import itertools
import socket
import threading

from balancer import splice

_IDLE_S = 0.05  # how often a thread looks whether to stop


class ApiBalancer:
    """Sends each new connection to the next of `ports`, which a test may change; those that are open stay."""

    def __init__(self, port: int, ports: list[int]):
        self.url = f"https://127.0.0.1:{port}"
        self.ports = ports
        self.taken: list[int] = []  # by the connections so far
        self._turn = itertools.count()
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self._listener.settimeout(_IDLE_S)
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> "ApiBalancer":
        self._threads[0].start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            port = self.ports[next(self._turn) % len(self.ports)]
            self.taken.append(port)
            self._threads.append(threading.Thread(target=self._relay, args=(client, port)))
            self._threads[-1].start()

    def _relay(self, client: socket.socket, port: int) -> None:
        with client:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=20) as server:
                    splice(client, server, self._stop)
            except OSError:
                pass  # the client sees its connection end

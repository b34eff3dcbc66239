"""Stands in for etcd or an API server: a listener that relays bytes to the real one, or plays a script.

One thread for each connection and direction: Python's socket calls release the GIL, and a test has only a
handful of connections.
"""

import socket
import threading
from typing import Callable

from programs import reserve_port, wait_until

Script = Callable[[socket.socket], None]

_CHUNK = 1 << 16
_PATIENCE_S = 60.0


class Peer:
    def __init__(self, real_port: int):
        self.port = reserve_port()
        self.accepted = 0  # connections since the last change of behaviour
        self._real_port = real_port
        self._script: Script | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "Peer":
        self.accept()
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def close(self) -> None:
        self.refuse()
        for thread in self._threads:
            thread.join(_PATIENCE_S)

    # ---- Behaviour ----

    def accept(self) -> None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self._listener = listener
        self._start(self._accept_all, listener)

    def refuse(self) -> None:
        """Closes every connection and rejects new ones."""
        if self._listener is not None:
            listener, self._listener = self._listener, None
            listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
            listener.close()
        self.drop()

    def play(self, script: Script | None) -> None:
        """Plays the script on new connections; open ones are closed. None: the real server."""
        with self._lock:
            self._script = script
            self.accepted = 0
        self.drop()

    def drop(self) -> None:
        with self._lock:
            for one in self._open:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has closed by itself

    def wait_accepted(self, count: int) -> None:
        wait_until(lambda: self.accepted >= count, f"{count} connections", _PATIENCE_S)

    # ---- Threads ----

    def _start(self, function, *arguments) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept_all(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                if self._listener is not listener:  # refuse() has closed all others
                    client.close()
                    return
                self.accepted += 1
                script = self._script
                self._open.add(client)
            self._start(self._serve, client, script)

    def _serve(self, client: socket.socket, script: Script | None) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if script is None:
                self._relay(client)
            else:
                script(client)
        except OSError:
            pass  # the other side has closed: the purpose of the scripts
        finally:
            with self._lock:
                self._open.discard(client)
            client.close()

    def _relay(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._real_port)) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(server)
            back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
            back.start()
            try:
                self.pump(client, server)
                back.join()
            finally:
                with self._lock:
                    self._open.discard(server)

    def pump(self, source: socket.socket, target: socket.socket) -> None:
        """Relays until one side closes; then closes both."""
        try:
            while data := source.recv(_CHUNK):
                self.pass_on(data, source, target)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def pass_on(self, data: bytes, source: socket.socket, target: socket.socket) -> None:
        target.sendall(data)

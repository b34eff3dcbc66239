"""Connections from one network namespace to another, which share no network: neither sees more of the other than a port."""

import contextlib
import ctypes
import socket
import threading

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def in_namespace(pid: int | None, act):
    """The result of act(), run by a thread of the network namespace of process `pid`; None: this process's own."""
    if pid is None:
        return act()
    done = []

    def run() -> None:
        try:
            with open(f"/proc/{pid}/ns/net") as namespace:
                if _libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns to process {pid}")
            done.append((act(), None))
        except OSError as error:
            done.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = done[0]
    if error:
        raise error
    return value


class NamespaceRelay:
    """Listens at `address` where process `listen_pid` is, and connects to `target` where `connect_pid` is, until closed. A
    socket stays in the namespace that it was made in, whichever thread uses it.
    """

    def __init__(self, listen_pid: int | None, address: tuple[str, int], connect_pid: int | None, target: tuple[str, int]):
        self._connect = lambda: in_namespace(connect_pid, lambda: socket.create_connection(target, timeout=20))
        self._listener = in_namespace(listen_pid, lambda: socket.create_server(address))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Ends with it what waits for a connection; connections that there are go on until their ends close them."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        try:
            server = self._connect()
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()
        client.close()
        server.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)

"""A balancer in front of several skydns, like kube-proxy: it sends each datagram and each connection to the next of
the readers whose /readiness is 200.

It polls /readiness all the time. Choosing a reader and sending to it is one step under a lock: once a reader counts
as not ready, nothing more is sent to it.
"""

import itertools
import select
import socket
import threading

from programs import http_get

_POLL_S = 0.005
_IDLE_S = 0.05  # how often a thread checks whether to stop


def splice(client: socket.socket, server: socket.socket, stop: threading.Event) -> None:
    """Copies both ways until either side closes, or this is to stop."""
    other = {client: server, server: client}
    while not stop.is_set():
        for one in select.select(list(other), [], [], _IDLE_S)[0]:
            data = one.recv(65535)
            if not data:
                return
            other[one].sendall(data)


class Reader:
    def __init__(self, host: str, port: int, readiness_url: str):
        self.address = (host, port)
        self.readiness_url = readiness_url
        self.is_ready = False
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.connect(self.address)
        self.datagrams = 0  # sent to this reader
        self.connections = 0  # opened to this reader
        self.open_connections = 0


class Balancer:
    """For one client over UDP, any number over TCP."""

    def __init__(self, port: int, readers: list[Reader]):
        self.readers = readers
        self._turn = itertools.count()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", port))
        self._tcp = socket.create_server(("127.0.0.1", port), backlog=128)
        self._tcp.settimeout(_IDLE_S)
        self._threads = [threading.Thread(target=self._follow, args=(reader,)) for reader in readers]
        self._threads += [threading.Thread(target=self._pass_datagrams), threading.Thread(target=self._accept)]

    def __enter__(self) -> "Balancer":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._tcp.close()
        self._udp.close()
        for reader in self.readers:
            reader.udp.close()

    def _follow(self, reader: Reader) -> None:
        while not self._stop.wait(_POLL_S):
            try:
                is_ready = http_get(reader.readiness_url)[0] == 200
            except OSError as error:
                if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                    continue  # too busy to answer, or ended during the reply: the next poll shows
                is_ready = False
            with self._lock:
                reader.is_ready = is_ready

    def _choose(self) -> Reader | None:
        """The caller holds the lock."""
        ready = [reader for reader in self.readers if reader.is_ready]
        return ready[next(self._turn) % len(ready)] if ready else None

    # ---- UDP ----

    def _pass_datagrams(self) -> None:
        client = None
        while not self._stop.is_set():
            sockets = [self._udp, *(reader.udp for reader in self.readers)]
            for one in select.select(sockets, [], [], _IDLE_S)[0]:
                if one is self._udp:
                    datagram, client = one.recvfrom(65535)
                    self._send_on(datagram)
                else:
                    self._send_back(one, client)

    def _send_on(self, datagram: bytes) -> None:
        with self._lock:
            reader = self._choose()
            if reader:
                reader.datagrams += 1
                try:
                    reader.udp.send(datagram)
                except ConnectionRefusedError:
                    pass  # lost: the client reports it

    def _send_back(self, one: socket.socket, client: tuple) -> None:
        try:
            self._udp.sendto(one.recv(65535), client)
        except ConnectionRefusedError:
            pass  # the same

    # ---- TCP ----

    def _accept(self) -> None:
        relays = []
        while not self._stop.is_set():
            try:
                client, _ = self._tcp.accept()
            except TimeoutError:
                continue
            relays = [relay for relay in relays if relay.is_alive()]
            relays.append(threading.Thread(target=self._relay, args=(client,)))
            relays[-1].start()
        for relay in relays:
            relay.join()

    def _relay(self, client: socket.socket) -> None:
        with client:
            reader = self._begin_connection()
            if not reader:
                return
            try:
                with socket.create_connection(reader.address, timeout=20) as server:
                    splice(client, server, self._stop)
            except OSError:
                pass  # the client misses a reply, and reports it
            with self._lock:
                reader.open_connections -= 1

    def _begin_connection(self) -> Reader | None:
        with self._lock:
            reader = self._choose()
            if reader:
                reader.connections += 1
                reader.open_connections += 1
        return reader

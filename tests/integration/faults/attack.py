"""A client that asks for random names, in a process of its own."""

import itertools
import select
import socket
import subprocess
import sys

import dns.message

ATTACKER = "127.0.0.66"


class Attack:
    """From one address, as fast as it can, without reading replies: another name below the zone each time."""

    def __init__(self, port: int, zone: str, **options):
        """options: those of dns.message.make_query."""
        wire = dns.message.make_query(f"x00000000.{zone}", "A", id=0, **options).to_wire()
        command = [sys.executable, __file__, str(port), wire.hex()]
        self._attacker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._attacker.stdout.readline()  # it has begun: who measures now measures the attack

    def stop(self) -> int:
        """How many queries were sent."""
        return int(self._attacker.communicate()[0])


def _main() -> None:
    port, wire = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((ATTACKER, 0))
        client.connect(("127.0.0.1", port))
        print(flush=True)
        for number in itertools.count():
            if number % 50 == 0 and select.select([sys.stdin], [], [], 0.005)[0]:
                break
            client.send(number.to_bytes(4, "big")[2:] + wire[2:14] + b"%08d" % number + wire[22:])
    print(number)


if __name__ == "__main__":
    _main()

#!/usr/bin/python3
"""One client that behaves, in a process of its own: others.py starts it.

Asks the same over and over, one query after the other, 2 ms between them; writes for each answer, as two doubles, how
many milliseconds it took, and for how many of these it, a thread of skydns or of the test was ready to run and
had no core (all of them together, so at most: not each was needed).
Anything else than a right answer ends it with a line on standard error.
"""

import os
import select
import socket
import struct
import sys
import time
from pathlib import Path


def receive(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            sys.exit("the connection was closed")
        data += more
    return data


def ask(connection: socket.socket, query: bytes, tcp: bool) -> bytes:
    if not tcp:
        connection.send(query)
        return connection.recv(65535)
    connection.sendall(len(query).to_bytes(2, "big") + query)
    return receive(connection, int.from_bytes(receive(connection, 2), "big"))


def waited_ms(threads: list[int]) -> float:
    """For a core, since they began."""
    total = 0
    for thread in threads:
        try:
            total += int(os.pread(thread, 64, 0).split()[1])
        except ProcessLookupError:
            continue  # it has ended
    return total / 1e6


def main() -> None:
    port, rcode, patience_s, tcp, pid, query = sys.argv[1:]
    wire, is_tcp = bytes.fromhex(query), tcp == "tcp"
    tasks = [task for process in ("self", pid, os.getppid()) for task in Path(f"/proc/{process}/task").iterdir()]
    threads = [os.open(task / "schedstat", os.O_RDONLY) for task in tasks]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM) as connection:
        connection.settimeout(float(patience_s))
        connection.bind(("127.0.0.9", 0))
        connection.connect(("127.0.0.1", int(port)))
        while not select.select([sys.stdin], [], [], 0.002)[0]:
            before_ms, begun = waited_ms(threads), time.monotonic()
            reply = ask(connection, wire, is_tcp)
            took_ms = (time.monotonic() - begun) * 1000
            if reply[:2] != wire[:2] or reply[3] & 15 != int(rcode):
                sys.exit(f"wrong answer: {reply.hex()}")
            sys.stdout.buffer.write(struct.pack("dd", took_ms, max(0.0, waited_ms(threads) - before_ms)))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

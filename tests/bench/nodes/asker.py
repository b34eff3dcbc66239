#!/usr/bin/python3
"""A pod's questions at a steady rate, for tests/bench/node_local.py: run in the pod's network namespace.

    asker.py ADDRESS FILE PER_S SECONDS

FILE has `name TYPE` lines, asked in turn. Prints `WHEN MILLISECONDS` for each question: when it was asked, in seconds from
the start, and how long its answer took; -1 if none came within a second, or SERVFAIL.
"""

import select
import socket
import struct
import sys
import time

_TIMEOUT_S = 1.0
_TYPES = {"A": 1, "AAAA": 28, "SRV": 33}
_SERVFAIL = 2


def _query(number: int, name: str, rdtype: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split("."))
    return struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, _TYPES[rdtype], 1)


def main() -> None:
    address, path, per_s, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    with open(path) as file:
        questions = [line.split() for line in file.read().splitlines()]
    count = int(per_s * seconds)
    asked_s, took_ms = [0.0] * count, [-1.0] * count
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began_s, sent = time.monotonic(), 0
    while sent < count or time.monotonic() < began_s + seconds + _TIMEOUT_S:
        due_s = began_s + sent / per_s if sent < count else began_s + seconds + _TIMEOUT_S
        if select.select([client], [], [], max(0.0, due_s - time.monotonic()))[0]:
            try:
                reply = client.recv(4096)
            except OSError:
                continue  # a port that is unreachable: reported once
            number = int.from_bytes(reply[:2], "big")
            late_s = time.monotonic() - began_s - asked_s[number]
            if number < sent and took_ms[number] < 0 and late_s <= _TIMEOUT_S and reply[3] & 15 != _SERVFAIL:
                took_ms[number] = late_s * 1000
        elif sent < count:
            asked_s[sent] = time.monotonic() - began_s
            try:
                client.sendto(_query(sent, *questions[sent % len(questions)]), (address, 53))
            except OSError:
                pass  # the error of an earlier one, or no route: this one is not answered
            sent += 1
    print("\n".join(f"{when:.4f} {ms:.3f}" for when, ms in zip(asked_s, took_ms)))


if __name__ == "__main__":
    main()

"""For how long a program's loop did not answer: `stall.py PORT PATH` asks again and again until its input ends; prints
a line when it has the first reply, and at the end the milliseconds of the longest one. A process of its own, so that
nothing else here holds it up.
"""

import http.client
import os
import select
import subprocess
import sys
import time

PAUSE_S = 0.002


class Stall:
    """A context manager; `longest_ms` afterwards. The program listens already, or starts meanwhile: then what comes
    before its first reply does not count.
    """

    def __init__(self, port: int, path: str = "/healthz", is_running: bool = True):
        self._is_running = is_running
        self._command = [sys.executable, os.path.abspath(__file__), str(port), path]
        self.longest_ms = 0.0

    def __enter__(self) -> "Stall":
        self._asker = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self._is_running:
            self._asker.stdout.readline()
        return self

    def __exit__(self, *exc) -> None:
        told, _ = self._asker.communicate()
        self.longest_ms = float(told.split()[-1])


def longest_s(port: int, path: str) -> float:
    longest, connection, has_begun = 0.0, None, False
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        began = time.monotonic()
        try:
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", path)
            connection.getresponse().read()
            longest = max(longest, time.monotonic() - began)
            if not has_begun:
                print("begun", flush=True)
            has_begun = True
        except (OSError, http.client.HTTPException):
            connection = None
    return longest


if __name__ == "__main__":
    print(1000 * longest_s(int(sys.argv[1]), sys.argv[2]))

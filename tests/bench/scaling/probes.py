"""What both halves of `make bench-scale` look at: how long a page takes and holds its program up."""

import contextlib
import http.client
import os
import subprocess
import time

from measuring import go_before_all_others

from beds import PATIENCE_S
from programs import Program
from scaling.stall import Stall

# etcd's own limit for its database, which it advises not to exceed; its default is 2 GiB.
QUOTA_BYTES = 8 << 30
ETCD_FLAGS = (f"--quota-backend-bytes={QUOTA_BYTES}",)


def get(port: int, path: str) -> int:
    """The whole reply's size."""
    connection, size = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S), 0
    connection.request("GET", path)
    reply = connection.getresponse()
    if reply.status not in (200, 404):  # not found, with suggestions
        raise ValueError(f"{path}: status {reply.status}: {reply.read(200)!r}")
    while piece := reply.read(1 << 20):
        size += len(piece)
    connection.close()
    return size


def first_event(port: int) -> int:
    """The size of the first event of an open page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/live")
    reply, line = connection.getresponse(), b""
    while not line.startswith(b"data:"):
        line = reply.readline()
    connection.close()
    return len(line)


def page(name: str, port: int, ask) -> dict[str, float]:
    """What asking takes, how much it returns, and how long the program answers nothing else meanwhile."""
    with Stall(port) as stall:
        began = time.monotonic()
        size = ask()
        took_s = time.monotonic() - began
    return {f"{name}_ms": took_s * 1000, f"{name}_mib": size / 2**20, f"{name}_stall_ms": stall.longest_ms}


def pages(port: int, paths: dict[str, str]) -> dict[str, float]:
    found = page("live", port, lambda: first_event(port))
    for name, path in paths.items():
        found |= page(name, port, lambda: get(port, path))
    return found


def run_text(*command: object) -> int:
    """Runs a command that has to succeed; the size of its output."""
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        raise ValueError(f"{command}: {done.stderr.decode()}")
    return len(done.stdout)


def wait_settled(program: Program, what: str, value) -> None:
    """Until value() has been the same for a second."""
    last, since_s = None, time.monotonic()

    def is_settled() -> bool:
        nonlocal last, since_s
        now = value()
        if now != last:
            last, since_s = now, time.monotonic()
        return time.monotonic() - since_s >= 1.0

    program.wait_ready(is_settled, what, PATIENCE_S)


@contextlib.contextmanager
def before_all_others(is_wanted: bool):
    """Children started meanwhile keep the priority."""
    if is_wanted:
        go_before_all_others()
    try:
        yield
    finally:
        if is_wanted:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

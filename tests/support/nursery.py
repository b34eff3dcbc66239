"""API servers for tests, which start hundreds: forked from a process that has loaded all they need, in 5 ms of CPU
instead of 80.

    program = forked_apiserver(port, "--json-only").start()

That process ends with the test's, and all servers with it. A third process is the parent of each server, and says how
it ended.
"""

import ctypes
import functools
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

from programs import Program, apiserver

_NUMBER = struct.Struct("i")  # a process id, then an exit status
_MESSAGE_MAX = 64 * 1024
_PR_SET_PDEATHSIG = 1

# ---- The test's side ----


@functools.cache
def _nursery() -> socket.socket:
    """Whose end is the nursery's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen([sys.executable, str(Path(__file__).resolve())], stdin=theirs, start_new_session=True)
    return ours


class _Child:
    """The part of subprocess.Popen that Program uses."""

    def __init__(self, argv: list[str]):
        self._status, their_status = socket.socketpair()
        output, their_output = os.pipe()
        with their_status:
            socket.send_fds(_nursery(), [json.dumps(argv).encode()], [their_status.fileno(), their_output])
        os.close(their_output)
        self.stdout = os.fdopen(output, "rb")
        self.returncode: int | None = None
        self._lock = threading.Lock()
        self.pid = self._number()

    def _number(self) -> int:
        data = self._status.recv(_NUMBER.size)
        assert data, "the nursery of API servers has ended"
        return _NUMBER.unpack(data)[0]

    def _has_ended(self, timeout_s: float | None) -> bool:
        poll = select.poll()
        poll.register(self._status, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None and self._has_ended(0):
                self.returncode = self._number()
        return self.returncode

    def wait(self, timeout_s: float | None = None) -> int:
        if self.returncode is None and not self._has_ended(timeout_s):
            raise subprocess.TimeoutExpired("apiserver", timeout_s)
        return self.poll()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Forked(Program):
    def spawn(self) -> _Child:
        return _Child(self.argv[1:])


def forked_apiserver(port: int, *flags: str) -> Program:
    return _Forked("apiserver", apiserver(port, *flags).argv)


# ---- The nursery's side ----


def _nurse(control: socket.socket, main) -> None:
    """Until the test's process ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait for servers leave no zombies
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_MAX, 2)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _wait_for_server(json.loads(message), *descriptors, main)
        for descriptor in descriptors:
            os.close(descriptor)


def _wait_for_server(argv: list[str], status: int, output: int, main) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_parent()
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _serve_until_end(argv, output, main)
    os.close(output)
    os.write(status, _NUMBER.pack(pid))
    os.write(status, _NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os._exit(0)


def _serve_until_end(argv: list[str], output: int, main) -> NoReturn:
    code = 1
    try:
        os.setsid()
        _die_with_parent()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        sys.argv = argv
        code = main()
    except SystemExit as end:  # of argparse
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    import apiserver as loaded

    _nurse(socket.socket(fileno=os.dup(0)), loaded.main)

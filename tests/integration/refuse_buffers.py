"""Executes a command whose calls that set a socket's receive buffer size fail with EPERM, whatever its user and
the node's sysctls allow: a seccomp filter.

    refuse_buffers.py OPTION... -- COMMAND...    OPTION: SO_RCVBUF, SO_RCVBUFFORCE
"""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

OPTIONS = {"SO_RCVBUF": socket.SO_RCVBUF, "SO_RCVBUFFORCE": 33}
# setsockopt(2), by machine.
SYSTEM_CALLS = {"x86_64": 54, "aarch64": 208}

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _SKIP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of a word of struct seccomp_data
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
# Offsets of the system call's number, and of the lower half of an argument.
_NUMBER, _LEVEL, _OPTION = 0, 16 + 8, 16 + 16


def _filter(options: list[int]) -> bytes:
    allow, fail = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EPERM)
    steps = [(_LOAD, 0, 0, _NUMBER), (_SKIP_IF_EQUAL, 1, 0, SYSTEM_CALLS[platform.machine()]), allow]
    steps += [(_LOAD, 0, 0, _LEVEL), (_SKIP_IF_EQUAL, 1, 0, socket.SOL_SOCKET), allow]
    steps += [(_LOAD, 0, 0, _OPTION)]
    for option in options:
        steps += [(_SKIP_IF_EQUAL, 0, 1, option), fail]  # skips one instruction if not equal
    return b"".join(struct.pack("HBBI", *step) for step in [*steps, allow])


def main() -> None:
    end = sys.argv.index("--")
    command = sys.argv[end + 1 :]
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(_filter([OPTIONS[name] for name in sys.argv[1:end]]))
    program = ctypes.create_string_buffer(struct.pack("HP", (len(code) - 1) // 8, ctypes.addressof(code)))
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, program, 0, 0)):
        if libc.prctl(*arguments) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()

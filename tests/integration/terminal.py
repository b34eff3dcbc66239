"""A program in a terminal of its own: a pseudo terminal, and pyte to know what it would show."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pyte
from bed import BIN_DIR

_DEADLINE_S = 20


class Terminal:
    def __init__(self, *command: str, width: int = 80, height: int = 24, **environment: str):
        self.master, slave = pty.openpty()
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.output = b""
        self._set_size(width, height)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [str(BIN_DIR / command[0]), *command[1:]],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def _set_size(self, width: int, height: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width: int, height: int) -> None:
        self.screen.resize(height, width)
        self._set_size(width, height)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def _read(self, timeout_s: float) -> bool:
        """False at the end of the program's output."""
        if select.select([self.master], [], [], timeout_s)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            self.output += data
            self._stream.feed(data)
            return bool(data)
        return True

    def wait(self, condition, what: str) -> None:
        """Until the condition holds of what the terminal shows."""
        end = time.monotonic() + _DEADLINE_S
        while not condition(self):
            assert time.monotonic() < end, f"not seen: {what}\n{self.text}"
            self._read(0.2)

    def wait_text(self, *texts: str) -> None:
        self.wait(lambda _: all(text in self.text for text in texts), " and ".join(texts))

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def status(self) -> int:
        """Of the program, when it has ended."""
        self.wait(lambda _: self.process.poll() is not None, "its end")
        while select.select([self.master], [], [], 0)[0]:  # a read takes 4 kB at most
            self._read(0)
        return self.process.returncode

    def attributes(self) -> list:
        return termios.tcgetattr(self._slave)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.master)
        os.close(self._slave)

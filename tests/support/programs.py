"""Programs run as child processes, for the integration tests and for run.py. Python's standard library
only.

Ports are reserved, children die with this process, and their output is collected line by line. All
waiting, here and in the users of this module, is polling until a deadline (wait_until).
"""

import errno
import fcntl
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Callable, NoReturn

# Below the kernel's range for outgoing connections, whose ports may be taken at any time.
_PORTS = range(20000, 32000)
# A function that calls prctl before exec would do, but then Python forks: 6 ms of CPU for each start, instead of 2.
_SETPRIV = shutil.which("setpriv")
_DIE_WITH_PARENT = [_SETPRIV, "--pdeathsig", "KILL"] if _SETPRIV else []
_POLL_S = 0.01
# Lines kept of each program's output. The tests read the last few hundred; memory must not grow in an endless run.
_LINES_MAX = 20_000

_reserved: set[int] = set()
# Read once: clean_environment() removes it.
ETCD = os.environ.get("ETCD") or "etcd"
# The programs and etcd fall back to these variables: the machine's settings must not matter.
_CLEAN_PREFIXES = ("ETCD", "SKYDNS_", "KUBERNETES_", "PROMETHEUS_")
SANITIZER_REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error:")


def clean_environment() -> None:
    for name in list(os.environ):
        if name.startswith(_CLEAN_PREFIXES):
            del os.environ[name]


class TimeUp(AssertionError):
    """The awaited condition did not become true in time."""


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = 20.0):
    """Polls condition() until it is true, and returns its value. An OSError from it counts as not yet."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout_s
    last = ""
    while True:
        try:
            value = condition()
            if value:
                return value
            last = repr(value)
        except OSError as error:
            last = repr(error)
        if time.monotonic() >= deadline:
            raise TimeUp(f"not within {timeout_s:g} s: {what} (last: {last})")
        pause.wait(_POLL_S)


def wait_equal(read: Callable[[], object], right: object, what: str) -> None:
    """Polls read() until it returns `right`. pytest shows the difference otherwise."""
    last: list[object] = [None]

    def is_right() -> bool:
        last[0] = read()
        return last[0] == right

    try:
        wait_until(is_right, what)
    except AssertionError:
        assert last[0] == right
        raise


# ---- Ports ----


def is_port_free(port: int) -> bool:
    """For TCP and UDP on 127.0.0.1."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


@functools.cache
def _locks() -> int:
    """The owner of port N locks byte N of this file: one descriptor for any number of ports, since some
    machines allow a process only 1,024. The locks end with the process.
    """
    path = Path(tempfile.gettempdir()) / f"dns-pod-ports-{os.getuid()}.locks"
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _lock(port: int) -> bool:
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def reserve_port(first: int | None = None) -> int:
    """A free port that no other process gets from this function: the first free one from `first` on."""
    start = first if first is not None else _PORTS.start + os.getpid() * 16 % len(_PORTS)
    stop = first + 1000 if first is not None else start + len(_PORTS)
    for number in range(start, stop):
        port = number if first is not None else _PORTS.start + (number - _PORTS.start) % len(_PORTS)
        if port in _reserved or not _lock(port):
            continue
        if is_port_free(port):
            _reserved.add(port)
            return port
        fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, port)
    raise RuntimeError(f"no free port from {start} on")


# ---- Queries ----


def http_get(url: str, timeout_s: float = 10.0) -> tuple[int, str]:
    """Status and body. OSError when there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# ---- Programs ----


def output(*command: str) -> str:
    """Of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class Program:
    """One program, which may be started and stopped several times. Start it from a long-lived thread:
    the child dies with its thread.
    """

    def __init__(
        self,
        name: str,
        argv: list[str],
        env: dict[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        pass_fds: tuple[int, ...] = (),
    ):
        self.name = name
        self.argv = argv
        self.pass_fds = pass_fds
        self.env = env
        self.lines: list[str] = []
        self.on_line = on_line
        self._process: subprocess.Popen | None = None
        self._reader: threading.Thread | None = None
        self._is_read = threading.Event()
        self._is_read.set()

    def start(self) -> "Program":
        assert not self.is_running(), f"{self.name} is already running"
        self._process = self.spawn()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        return self

    def spawn(self) -> subprocess.Popen:
        path = None if self.env is None else self.env.get("PATH")
        if shutil.which(self.argv[0], path=path) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.argv[0])
        return subprocess.Popen(
            [*_DIE_WITH_PARENT, *self.argv],
            env=None if self.env is None else {**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=self.pass_fds,
        )

    def _read(self, stream) -> None:
        for raw in stream:
            line = raw.decode(errors="replace").rstrip("\r\n")
            self.lines.append(line)
            if len(self.lines) > _LINES_MAX:
                del self.lines[: _LINES_MAX // 2]
            if self.on_line:
                self.on_line(line)
            self._is_read.wait()
        stream.close()

    def stall_reader(self) -> None:
        """Leaves the program's output in its pipe, which fills up."""
        self._is_read.clear()

    def resume_reader(self) -> None:
        self._is_read.set()

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def exit_status(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, timeout_s: float = 20.0) -> int:
        """The exit status; negative for a signal. Afterwards all output is in `lines`."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeUp(f"{self.name} has not exited within {timeout_s:g} s") from None
        self.resume_reader()
        self._reader.join(timeout_s)
        return status

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self.wait()

    def stop(self, expected: tuple[int, ...] = (0,), timeout_s: float = 20.0) -> None:
        """SIGTERM; an AssertionError unless it exits as expected."""
        if not self.is_running():
            self.fail(f"exited by itself with status {self.exit_status()}")
        self.signal(signal.SIGTERM)
        try:
            status = self.wait(timeout_s)
        except TimeUp:
            self.kill()
            raise
        if status not in expected:
            self.fail(f"exited with status {status} on SIGTERM")
        self.check_output()

    def restart(self) -> None:
        self.stop()
        self.start()

    def check_output(self) -> None:
        if SANITIZER_REPORT.search("\n".join(self.lines)):
            self.fail("has a sanitizer report")

    def fail(self, what: str) -> NoReturn:
        raise AssertionError(f"{self.name} {what}\n{self.log_text()}")

    def log_text(self, count: int = 60) -> str:
        return "\n".join(f"  {self.name}: {line}" for line in self.lines[-count:])

    def wait_ready(self, condition: Callable[[], object], what: str, timeout_s: float = 20.0):
        """wait_until that fails at once when the program exits, and shows its log."""

        def ask():
            if not self.is_running():
                self.wait()
                self.fail(f"exited with status {self.exit_status()} before: {what}")
            return condition()

        try:
            return wait_until(ask, f"{self.name}: {what}", timeout_s)
        except TimeUp as error:
            self.fail(str(error))

    def wait_line(self, pattern: str, since: int = 0, timeout_s: float = 20.0) -> str:
        """The first line from number `since` on that the regular expression matches anywhere."""
        expression = re.compile(pattern)
        return self.wait_ready(
            lambda: next((line for line in self.lines[since:] if expression.search(line)), None),
            f"line {pattern!r}",
            timeout_s,
        )


def etcd(data_dir: str, client_port: int, peer_port: int, *flags: str, on_line=None, path: str = ETCD) -> Program:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    argv = [path, "--name", "dns", "--data-dir", data_dir, "--logger", "zap", "--log-level", "warn"]
    argv += ["--listen-client-urls", client, "--advertise-client-urls", client]
    argv += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"dns={peer}"]
    # A single member need not wait for others before it elects itself.
    argv += ["--heartbeat-interval", "10", "--election-timeout", "100", *flags]
    return Program("etcd", argv, on_line=on_line)


def serve_tls(program: Program, client_port: int, certificate: str, key: str, *flags: str) -> int:
    """Makes an etcd, not yet started, speak TLS to its clients; the port at which its health is asked for without."""
    for flag in ("--listen-client-urls", "--advertise-client-urls"):
        program.argv[program.argv.index(flag) + 1] = f"https://127.0.0.1:{client_port}"
    health_port = reserve_port()
    program.argv += ["--cert-file", certificate, "--key-file", key, *flags]
    program.argv += ["--listen-metrics-urls", f"http://127.0.0.1:{health_port}"]
    return health_port


def is_etcd_healthy(port: int, host: str = "127.0.0.1") -> bool:
    status, body = http_get(f"http://{host}:{port}/health")
    return status == 200 and '"true"' in body


def apiserver(port: int, *flags: str, on_line=None) -> Program:
    script = Path(__file__).with_name("apiserver.py")
    return Program("apiserver", ["/usr/bin/python3", str(script), "--port", str(port), *flags], on_line=on_line)

"""Network namespaces joined by a bridge, whose links can be cut silently. Needs root.

Names contain this process's id: the next run removes what a killed run has left. Addresses are from
198.18.0.0/15 (RFC 2544, for benchmarks), eight for each run.
"""

import ipaddress
import os
import re
import shutil
import subprocess
from pathlib import Path

from programs import Program, reserve_port

_BLOCK = ipaddress.ip_network("198.18.0.0/15")
_FIRST_PORT = 20000  # from reserve_port: a number unique to this run also picks its address block
_PREFIX = "dp"
_NAME = re.compile(rf"^{_PREFIX}(\d+)[nbv]")


def _ip(*arguments: str, check: bool = True) -> str:
    result = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30)
    if check and result.returncode != 0:
        raise OSError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


def network_missing() -> str:
    """Why namespaces cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "no ip program (Debian package iproute2)"
    try:
        with Network(count=1):
            return ""
    except OSError as error:
        return f"no network namespaces here: {error}"


class Network:
    """`count` namespaces; the host reaches each at addresses[i], and they reach each other."""

    def __init__(self, count: int):
        self._count = count
        self._bridge = f"{_PREFIX}{os.getpid()}b"
        start = int(_BLOCK.network_address) + (reserve_port() - _FIRST_PORT) * 8
        hosts = list(ipaddress.ip_network((start, 29)).hosts())
        self._host = str(hosts[0])
        self.addresses = [str(address) for address in hosts[1 : 1 + count]]

    def _namespace(self, number: int) -> str:
        return f"{_PREFIX}{os.getpid()}n{number}"

    def _link(self, number: int) -> str:
        return f"{_PREFIX}{os.getpid()}v{number}"

    def __enter__(self) -> "Network":
        _remove_leftovers()
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("addr", "add", f"{self._host}/29", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for number, address in enumerate(self.addresses):
                self._add(number, address)
        except OSError:
            self.__exit__()
            raise
        return self

    def _add(self, number: int, address: str) -> None:
        namespace, link = self._namespace(number), self._link(number)
        _ip("netns", "add", namespace)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", link, "master", self._bridge, "up")
        _ip("-n", namespace, "addr", "add", f"{address}/29", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")

    def __exit__(self, *exc) -> None:
        for number in range(self._count):
            _ip("link", "del", self._link(number), check=False)
            _ip("netns", "del", self._namespace(number), check=False)
        _ip("link", "del", self._bridge, check=False)

    def command(self, number: int) -> list[str]:
        """The command prefix to run in the namespace."""
        return ["ip", "netns", "exec", self._namespace(number)]

    def cut(self, number: int) -> None:
        """Cuts both directions, silently: its bridge port goes down."""
        _ip("link", "set", self._link(number), "down")

    def mend(self, number: int) -> None:
        _ip("link", "set", self._link(number), "up")

    def mute(self, number: int) -> None:
        """What it sends is lost, what is sent to it arrives."""
        self._blackhole("add", number, [self._host, *self._others(number)])

    def unmute(self, number: int) -> None:
        self._blackhole("del", number, [self._host, *self._others(number)])

    def part(self, number: int) -> None:
        """Like mute, except that it still reaches the host."""
        self._blackhole("add", number, self._others(number))

    def rejoin(self, number: int) -> None:
        self._blackhole("del", number, self._others(number))

    def _others(self, number: int) -> list[str]:
        return self.addresses[:number] + self.addresses[number + 1 :]

    def _blackhole(self, verb: str, number: int, addresses: list[str]) -> None:
        for address in addresses:
            _ip("-n", self._namespace(number), "route", verb, "blackhole", f"{address}/32")


def fill_etcd(etcd: Program, prefix: list[str], url: str, keys: dict[str, str]) -> None:
    """Puts these keys into an etcd in a namespace, whose command prefix this is, once it is healthy."""
    etcdctl = [*prefix, "etcdctl", f"--endpoints={url}"]
    health = [*etcdctl, "endpoint", "health"]
    etcd.wait_ready(lambda: subprocess.run(health, capture_output=True, timeout=30).returncode == 0, "healthy")
    for key, text in keys.items():
        subprocess.run([*etcdctl, "put", key, text], check=True, capture_output=True, timeout=30)


def _remove_leftovers() -> None:
    """Left by runs that have ended."""

    def is_left(name: str) -> bool:
        match = _NAME.match(name)
        return bool(match) and not Path(f"/proc/{match[1]}").exists()

    for line in _ip("netns", "list").splitlines():
        if line and is_left(line.split()[0]):
            _ip("netns", "del", line.split()[0], check=False)
    for entry in Path("/sys/class/net").iterdir():
        if is_left(entry.name):
            _ip("link", "del", entry.name, check=False)

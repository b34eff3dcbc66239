"""The receive buffers of skydns' UDP sockets: as large as granted, and a log line if smaller than wanted."""

import os
import platform
import re
import socket
import subprocess
from pathlib import Path

import pytest
import refuse_buffers
from nameservers import needs

WANTED = 4 << 20
WORKERS = 3


def sysctl(name: str) -> int:
    path = Path("/proc/sys/net/core") / name
    if not path.exists():
        pytest.skip(f"the kernel does not show {name} in this network namespace")
    return int(path.read_text())


def refuse(*options: str) -> tuple[str, ...]:
    if platform.machine() not in refuse_buffers.SYSTEM_CALLS:
        pytest.skip("not implemented for this machine's system calls")
    return ("/usr/bin/python3", refuse_buffers.__file__, *options, "--")


def may_force() -> bool:
    """Whether this process may exceed the sysctl, which needs CAP_NET_ADMIN."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, refuse_buffers.OPTIONS["SO_RCVBUFFORCE"], WANTED)
        except PermissionError:
            return False
    return True


def buffers(port: int) -> list[int]:
    """The sizes in the kernel's accounting: twice those that the sockets asked for."""
    command = [needs("ss"), "-H", "-uanm", f"sport = :{port}"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout
    return [int(size) for size in re.findall(r"skmem:\(r\d+,rb(\d+),", shown)]


def check(bed, granted: int, prefix: tuple[str, ...] = ()) -> None:
    """One line for all workers if they get less than they want, otherwise none."""
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-workers={WORKERS}", prefix=prefix)
    assert buffers(bed.dns.port) == [2 * granted] * WORKERS
    lines = [line for line in bed.skydns.lines if "UDP receive buffer" in line]
    assert len(lines) == (granted < WANTED)
    for line in lines:
        assert line.startswith("warn ")
        assert line.endswith(f"; raise net.core.rmem_max bytes={granted} wanted={WANTED}")


def test_what_a_privilege_allows(bare_bed):
    """The sysctl has no influence, here because the call that it limits fails."""
    if not may_force():
        pytest.skip("needs CAP_NET_ADMIN")
    check(bare_bed, WANTED, refuse("SO_RCVBUF"))


def test_what_the_sysctl_allows(bare_bed):
    """As in a pod."""
    prefix = ()
    if may_force():
        if os.geteuid() != 0:
            pytest.skip("this user has CAP_NET_ADMIN, and only root drops it at an exec")
        prefix = (needs("setpriv"), "--bounding-set=-net_admin", "--inh-caps=-net_admin")
    check(bare_bed, min(WANTED, sysctl("rmem_max")), prefix)


def test_what_there_is_by_default(bare_bed):
    """Logs a line in any case, even if the sysctl allows the wanted size."""
    check(bare_bed, sysctl("rmem_default") // 2, refuse("SO_RCVBUF", "SO_RCVBUFFORCE"))

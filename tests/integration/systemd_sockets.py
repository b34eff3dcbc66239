"""Sockets as systemd passes them to skydns."""

import socket

from bed import BIN_DIR
from programs import Program, reserve_port


def pass_sockets(bed, named: dict[str, socket.socket], *flags: str) -> Program:
    """skydns -systemd, not yet started, with these sockets by the names of their units (FileDescriptorName=)."""
    passed = tuple(one.fileno() for one in named.values())
    moves = " ".join(f"{3 + number}<&{fd}" for number, fd in enumerate(passed))
    variables = f"LISTEN_PID=$$ LISTEN_FDS={len(passed)} LISTEN_FDNAMES={':'.join(named)}"
    argv = ["bash", "-c", f'exec {moves}; {variables} exec "$@"', "bash", str(BIN_DIR / "skydns"), "-systemd", *flags]
    program = Program("skydns", argv, pass_fds=passed)
    bed.programs.append(program)
    return program


class SystemdSockets:
    """A UDP and a TCP socket held open here, as by a .socket unit, for any number of starts."""

    def __init__(self, bed, *flags: str):
        self.port = reserve_port()
        self.address = ("127.0.0.1", self.port)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.address)
        self.tcp = socket.create_server(self.address)
        flags = (f"-machines={','.join(bed.etcd_urls)}", "-domain=cluster.local.", "-no-rec", "-workers=2", *flags)
        script = f'exec 3<&{self.udp.fileno()} 4<&{self.tcp.fileno()}; LISTEN_PID=$$ LISTEN_FDS=2 exec "$@"'
        argv = ["bash", "-c", script, "bash", str(BIN_DIR / "skydns"), "-systemd", *flags]
        self.skydns = Program("skydns", argv, pass_fds=(self.udp.fileno(), self.tcp.fileno()))
        bed.programs.append(self.skydns)

    def start(self) -> None:
        since = len(self.skydns.lines)
        self.skydns.start()
        self.skydns.wait_line(rf"ready for queries on .* for udp://127\.0\.0\.1:{self.port}", since)

    def close(self) -> None:
        self.udp.close()
        self.tcp.close()

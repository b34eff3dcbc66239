"""Sockets as systemd passes them to skydns."""

import socket

from bed import BIN_DIR
from programs import Program, reserve_port


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

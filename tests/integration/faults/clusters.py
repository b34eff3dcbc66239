"""Three etcd members on loopback, or each in a network namespace."""

import json
import urllib.request
from pathlib import Path

from programs import ETCD, Program, is_etcd_healthy, reserve_port, wait_until

_MEMBERS = 3
_PATIENCE_S = 60.0


class Member:
    def __init__(self, program: Program, address: str, client_port: int):
        self.program, self.address, self.client_port = program, address, client_port
        self.url = f"http://{address}:{client_port}"

    def is_healthy(self) -> bool:
        """The member serves requests and knows a leader."""
        return is_etcd_healthy(self.client_port, self.address)

    def status(self) -> dict:
        request = urllib.request.Request(f"{self.url}/v3/maintenance/status", b"{}")
        with urllib.request.urlopen(request, timeout=5) as reply:
            return json.load(reply)


class Cluster:
    def __init__(self, folder: Path, network=None):
        """network: a Network with a namespace for each member; None: loopback."""
        addresses = network.addresses if network else ["127.0.0.1"] * _MEMBERS
        ports = [(reserve_port(), reserve_port()) for _ in addresses]
        peers = [f"http://{address}:{peer}" for address, (_, peer) in zip(addresses, ports)]
        initial = ",".join(f"m{number}={peer}" for number, peer in enumerate(peers))
        self.members = []
        for number, (address, (client_port, _)) in enumerate(zip(addresses, ports)):
            client = f"http://{address}:{client_port}"
            argv = [ETCD, "--name", f"m{number}", "--data-dir", str(folder / f"m{number}")]
            argv += ["--logger", "zap", "--log-level", "error", "--initial-cluster", initial]
            argv += ["--listen-client-urls", client, "--advertise-client-urls", client]
            argv += ["--listen-peer-urls", peers[number], "--initial-advertise-peer-urls", peers[number]]
            prefix = network.command(number) if network else []
            self.members.append(Member(Program(f"etcd-m{number}", prefix + argv), address, client_port))

    def start(self) -> None:
        for member in self.members:
            member.program.start()
        for member in self.members:
            member.program.wait_ready(member.is_healthy, "healthy", _PATIENCE_S)

    def urls(self) -> list[str]:
        return [member.url for member in self.members]

    def leader(self) -> Member:
        def ask():
            for member in self.members:
                if member.program.is_running():
                    status = member.status()
                    if status.get("leader") == status["header"]["member_id"]:
                        return member
            return None

        return wait_until(ask, "a leader", _PATIENCE_S)

    def others(self, *members: Member) -> list[Member]:
        return [member for member in self.members if member not in members]

    def wait_healthy(self, members: list[Member]) -> None:
        for member in members:
            wait_until(member.is_healthy, f"{member.program.name} healthy", _PATIENCE_S)

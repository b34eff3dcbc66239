"""The bed of an answer benchmark: N Services in an etcd and in every server's own format, and the servers."""

from pathlib import Path

import beds
from answers import data, rounds, servers
from bed import make_certificate
from programs import reserve_port


class Bed(beds.Bed):
    def __init__(self, build: Path, services: int):
        super().__init__(build)
        self.services = services
        self.tools = build / "tests/bench/answers"

    def fill(self) -> None:
        self.certificate, self.key = make_certificate(self.folder)
        data.write_zones(self.services, self.folder / "zones")
        data.write_local_data(self.services, self.folder / "local-data")
        self.questions = data.write_questions(self.services, self.folder)
        self.start_etcd()
        self.put(data.key_lines(self.services))

    def add_large_names(self) -> None:
        """Their keys and questions, for servers started from now on."""
        self.put(data.large_key_lines())
        self.questions |= data.write_large_questions(self.folder)

    def setting(self, kind: servers.Kind, **more) -> servers.Setting:
        return servers.Setting(
            folder=self.folder / kind.name,
            port=reserve_port(),
            zones=self.folder / "zones",
            local_data=self.folder / "local-data",
            etcd_url=self.etcd.url,
            bin_dir=self.bin_dir,
            tools=self.tools,
            tls_port=reserve_port(),
            https_port=reserve_port(),
            certificate=self.certificate,
            key=self.key,
            **more,
        )

    def start(self, kind: servers.Kind, **more) -> servers.Server:
        return self._start(self.setting(kind, **more), kind, data.name(self.services - 1), "10.")

    def start_resolver(self, kind: servers.Kind, nameserver: int, **more) -> servers.Server:
        """With the nameserver at this port, and room for as many of its names as there are Services."""
        setting = self.setting(kind, nameserver=nameserver, kept=self.services, **more)
        return self._start(setting, kind, data.foreign(0), "192.0.2.")

    def _start(self, setting: servers.Setting, kind: servers.Kind, asked: str, address: str) -> servers.Server:
        one = servers.start(kind, setting, asked, address)
        self.add(one.program)
        return one

    def generator(self, seconds: float, **more) -> rounds.Generator:
        return rounds.Generator(self.tools, self.questions, seconds, **more)

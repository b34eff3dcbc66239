"""The measured servers: skydns, the bare responders, and others if installed. Each is started with one worker,
pinned, on its own port, and configured for its best performance: large receive buffers, no rate limits, no query
log.
"""

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import peers
from dns_client import Dns
from programs import Program

from answers import data
from records import DOMAIN

SERVER_CORE, GENERATOR_CORE = 0, 1
# The slowest server loads 100,000 Services in several seconds.
_START_S = 120.0


@dataclass
class Server:
    name: str  # its name in options and results
    title: str  # its name in the report
    program: Program
    port: int  # over UDP and TCP
    tls_port: int = 0  # 0: not spoken, also below
    https_port: int = 0

    def port_of(self, transport: str) -> int:
        return {"tls": self.tls_port, "https": self.https_port}.get(transport, self.port)

    def pids(self) -> list[int]:
        """Of it and its children: some servers work in children."""
        return _family(self.program.pid)

    def resident_mib(self) -> float:
        """Of all its processes; memory shared with the largest one is counted once."""
        sizes = [_memory_kib(pid) for pid in self.pids()]
        largest = max(sizes)
        return (largest[0] + sum(private for _, private in sizes) - largest[1]) / 1024


@dataclass
class Setting:
    """Inputs for a server's command line and configuration."""

    folder: Path  # its own
    port: int
    zones: Path  # the folder of the master files
    local_data: Path  # unbound's
    etcd_url: str
    bin_dir: Path  # the programs of this project
    tools: Path  # the bare responders
    nameserver: int = 0  # the port of the nameserver of other domains
    kept: int = 0  # how many of its names are asked for
    flags: list[str] = field(default_factory=list)  # skydns' only
    cores: str = str(SERVER_CORE)
    tls_port: int = 0
    https_port: int = 0
    certificate: str = ""  # files, for TLS
    key: str = ""
    prefix: tuple[str, ...] = ()  # a command that executes the server's


def _family(pid: int) -> list[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (command) state parent; a command may have blanks and parentheses in it
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just exited
    family = [pid]
    for one in family:
        family += [child for child, parent in parents.items() if parent == one]
    return family


def _memory_kib(pid: int) -> tuple[int, int]:
    """Resident, and the private part of it."""
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, size = line.partition(":")
        sizes[name] = int(size.split()[0])
    return sizes["Rss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


# ---- Command lines and configurations ----


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def bare(protocol: str) -> Callable[[Setting], list[str]]:
    return lambda s: [str(s.tools / f"bare_{protocol}"), f"127.0.0.1:{s.port}"]


def skydns(address: str, *more: str) -> Callable[[Setting], list[str]]:
    def argv(s: Setting) -> list[str]:
        command = [str(s.bin_dir / "skydns"), f"-machines={s.etcd_url}", f"-addr={address}:{s.port}"]
        return [*command, f"-domain={DOMAIN}.", "-no-rec", *(s.flags or ["-workers=1"]), *more]

    return argv


def _nsd(s: Setting) -> list[str]:
    return nsd_with(s, "")


def nsd_with(s: Setting, more: str) -> list[str]:
    """With more lines in its server section."""
    zones = "".join(f'zone:\n  name: "{zone}"\n  zonefile: "{zone}"\n' for zone in (DOMAIN, data.REVERSE_ZONE))
    text = f"""server:
  ip-address: 127.0.0.1@{s.port}
  server-count: 1
  username: ""
  database: ""
  zonesdir: "{s.zones}"
  xfrdir: "{s.folder}"
  pidfile: "{s.folder}/nsd.pid"
  xfrdfile: "{s.folder}/xfrd.state"
  zonelistfile: "{s.folder}/zone.list"
  receive-buffer-size: 4194304
  tcp-count: 1000
  minimal-responses: yes
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
{more}remote-control:
  control-enable: no
{zones}"""
    return ["nsd", "-d", "-c", write(s.folder / "nsd.conf", text)]


def _knot(s: Setting) -> list[str]:
    return knot_with(s, "")


def knot_with(s: Setting, more: str) -> list[str]:
    """With more lines for each zone."""
    zones = "".join(f"  - domain: {zone}\n    file: {s.zones}/{zone}\n" for zone in (DOMAIN, data.REVERSE_ZONE))
    text = f"""server:
    listen: 127.0.0.1@{s.port}
    rundir: {s.folder}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: {s.folder}
log:
  - target: stderr
    any: warning
template:
  - id: default
    zonefile-sync: -1
    journal-content: none
{more}zone:
{zones}"""
    return ["knotd", "-c", write(s.folder / "knot.conf", text)]


def _gdnsd(address: str) -> Callable[[Setting], list[str]]:
    return lambda s: _gdnsd_at(address, s)


def _gdnsd_at(address: str, s: Setting) -> list[str]:
    (s.folder / "zones").symlink_to(s.zones)
    text = f"""options => {{
  listen => {address}:{s.port}
  udp_threads => 1
  tcp_threads => 1
  udp_rcvbuf => 1048576
  run_dir => {s.folder}/run
  state_dir => {s.folder}/state
}}
"""
    write(s.folder / "config", text)
    return ["gdnsd", "-c", str(s.folder), "start"]


def _unbound(s: Setting) -> list[str]:
    return unbound_own_names(s, '  module-config: "iterator"\n')


def unbound_own_names(s: Setting, more: str, sections: str = "") -> list[str]:
    """With more lines in its server section, and more sections."""
    text = f"""server:
  interface: 127.0.0.1
  port: {s.port}
  num-threads: 1
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "{s.folder}"
  pidfile: ""
  use-syslog: no
  so-rcvbuf: 4m
  incoming-num-tcp: 1000
  include: "{s.local_data}"
{more}remote-control:
  control-enable: no
{sections}"""
    return ["unbound", "-d", "-c", write(s.folder / "unbound.conf", text)]


def _coredns(s: Setting) -> list[str]:
    zones = "".join(
        f"{zone}:{s.port} {{\n  bind 127.0.0.1\n  file {s.zones}/{zone} {zone}\n}}\n"
        for zone in (DOMAIN, data.REVERSE_ZONE)
    )
    return [COREDNS, "-conf", write(s.folder / "Corefile", zones)]


# ---- The list of servers ----


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    argv: Callable[[Setting], list[str]]
    command: str = ""  # searched on PATH; "" if it is the project's own
    env: tuple[tuple[str, str], ...] = ()
    transports: tuple[str, ...] = ()  # besides UDP and TCP

    def is_there(self) -> bool:
        return not self.command or bool(shutil.which(self.command))


def _find_coredns() -> str:
    """What COREDNS names, or tests/peers/build has built; empty: none. An empty COREDNS leaves it out."""
    built = peers.folder_of("coredns")
    return os.environ.get("COREDNS", str(built / "coredns") if built else "")


COREDNS = _find_coredns()


def coredns(argv: Callable[[Setting], list[str]], name: str = "coredns", transports: tuple[str, ...] = ()) -> list[Kind]:
    """One kind, if there is a CoreDNS."""
    env = (("GOMAXPROCS", "1"),)
    return [Kind(name, "CoreDNS", argv, COREDNS, env, transports)] if COREDNS else []


BARE_UDP, BARE_TCP, BARE_TLS = "bare", "bare-tcp", "bare-tls"
BARE_SIGNED = "bare-signed"  # its replies are as long as skydns' signed ones
BARE_HTTPS = "bare-https"  # shows what nghttp2 costs by itself; measured like the other servers
SKYDNS, SKYDNS_ANY = "skydns", "skydns-any"
GDNSD, GDNSD_ANY = "gdnsd", "gdnsd-any"
SKYDNS_SEARCH = "skydns-search"  # walks the search paths of its clients
SKYDNS_SIGNING = "skydns-signing"  # has a key
SKYDNS_OWN = "skydns-own"  # its clients see public namespaces, in which the Services are
KINDS = [
    Kind(BARE_UDP, "bare responder", bare("udp")),
    Kind(BARE_TCP, "bare TCP responder", bare("tcp")),
    Kind(SKYDNS, "skydns", skydns("127.0.0.1")),
    Kind(SKYDNS_ANY, "skydns on 0.0.0.0", skydns("0.0.0.0")),
    Kind(SKYDNS_OWN, "skydns with visibility", skydns("127.0.0.1", "-visibility=own")),
    Kind(GDNSD, "gdnsd", _gdnsd("127.0.0.1"), "gdnsd"),
    Kind(GDNSD_ANY, "gdnsd on 0.0.0.0", _gdnsd("0.0.0.0"), "gdnsd"),
    Kind("nsd", "NSD", _nsd, "nsd"),
    Kind("knot", "Knot", _knot, "knotd"),
    Kind("unbound", "unbound", _unbound, "unbound"),
]
TITLES = {kind.name: kind.title for kind in KINDS}
KINDS += coredns(_coredns)
TITLES |= {"coredns": "CoreDNS", "dnsmasq": "dnsmasq", "dnsdist": "dnsdist", SKYDNS_SEARCH: "skydns with search paths"}
TITLES = {BARE_TLS: "bare TLS responder", BARE_HTTPS: "bare HTTPS responder", **TITLES, "bind": "BIND"}
TITLES |= {BARE_SIGNED: "bare responder", SKYDNS_SIGNING: "skydns with a key", "nsd-signed": "NSD, signed before"}
TITLES["knot-signing"] = "Knot with mod-onlinesign"
TITLES["coredns-signing"] = "CoreDNS with dnssec"


# They know nothing of the Services.
WITHOUT_SERVICES = ("dnsdist",)
# To clients with DO they say NODATA of names that do not exist, which saves them a proof.
WITHOUT_NXDOMAIN = ("knot-signing", "coredns-signing")


def is_bare(name: str) -> bool:
    return name in (BARE_UDP, BARE_TCP, BARE_TLS, BARE_SIGNED)


def kind(name: str) -> Kind:
    return next(one for one in KINDS if one.name == name)


def chosen(names: list[str] | None, kinds: list[Kind]) -> tuple[list[Kind], list[str]]:
    """The available servers, always with the bare ones, and the titles of missing ones."""
    wanted = [kind for kind in kinds if not names or kind.name in names or is_bare(kind.name)]
    return [k for k in wanted if k.is_there()], [k.title for k in wanted if not k.is_there()]


def echoes(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        client.settimeout(0.5)
        client.send(b"short")
        return client.recv(64) == b"short"


def start(what: Kind, setting: Setting, asked: str, address: str) -> Server:
    """Ready: it answers the name with an address that begins like this, or is a bare responder."""
    setting.folder.mkdir(parents=True, exist_ok=True)
    argv = ["taskset", "-c", setting.cores, *setting.prefix, *what.argv(setting)]
    program = Program(what.name, argv, dict(what.env)).start()
    asker = Dns(setting.port, timeout_s=0.5)
    ports = {f"{transport}_port": getattr(setting, f"{transport}_port") for transport in what.transports}

    def is_ready() -> bool:
        for port in ports.values():
            socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
        if what.name in (BARE_TLS, BARE_HTTPS):
            return True
        if what.name == BARE_SIGNED:
            return echoes(setting.port)  # its answers end with what is no record
        if what.name == BARE_TCP:
            return asker.query(asked, tcp=True) is not None
        return asker.answers(asked)[:1] not in ([], ["no answer"]) and (
            what.name == BARE_UDP or asker.answers(asked)[0].startswith(address)
        )

    program.wait_ready(is_ready, f"answers {asked}", _START_S)
    return Server(what.name, what.title, program, setting.port, **ports)

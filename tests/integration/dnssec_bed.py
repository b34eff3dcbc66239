"""skydns with keys, and those who verify what it signs: validating resolvers that ask it for everything, and
programs that check one answer.
"""

import json
import re
import socket
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import dns.dnssec  # needs python3-cryptography
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rdtypes.ANY.DNSKEY
import dns.rrset
from dns_client import TIMEOUT_S, Dns
from nameservers import needs
from programs import Program, reserve_port

# What a validator says of an answer.
SECURE, INSECURE, BOGUS = "secure", "insecure", "bogus"

ALGORITHMS = {8: "RSASHA256", 10: "RSASHA512", 13: "ECDSAP256SHA256", 14: "ECDSAP384SHA384", 15: "ED25519"}

_TOOL_TIMEOUT_S = 120.0  # only a hung one takes this long
# Resolvers that get no answer at first ask again after up to this time.
_PATIENCE_S = 60.0


# ---- Keys ----


@dataclass(frozen=True)
class Key:
    """A pair of files, BASE.key and BASE.private."""

    base: Path

    @property
    def record(self) -> dns.rrset.RRset:
        lines = self.base.with_name(self.base.name + ".key").read_text().splitlines()
        [line] = [line for line in lines if line and not line.startswith(";")]
        owner, *rest = line.split(";")[0].split()
        data = rest[rest.index("DNSKEY") + 1 :]
        return dns.rrset.from_text(owner, 3600, "IN", "DNSKEY", " ".join(data))

    @property
    def zone(self) -> str:
        return self.record.name.to_text()

    @property
    def rdata(self) -> dns.rdtypes.ANY.DNSKEY.DNSKEY:
        return self.record[0]

    @property
    def tag(self) -> int:
        return int(self.base.name.rpartition("+")[2])

    @property
    def is_sep(self) -> bool:
        return bool(self.rdata.flags & 1)

    def ds(self) -> list[str]:
        """As dnssec-dsfromkey prints it: the words behind `DS`."""
        command = [needs("dnssec-dsfromkey"), "-2", str(self.base)]
        return _run(command).split(" DS ")[1].split()

    def files(self) -> list[Path]:
        return [self.base.with_name(self.base.name + end) for end in (".private", ".key")]

    def remove(self) -> None:
        for file in self.files():
            file.unlink()


def keygen(folder: Path, zone: str, algorithm: int = 13, sep: bool = True) -> Key:
    command = [needs("dnssec-keygen"), "-q", "-K", str(folder), "-a", ALGORITHMS[algorithm]]
    command += ["-b", "2048"] if algorithm in (8, 10) else []
    return Key(folder / _run([*command, *(("-f", "KSK") if sep else ()), zone]).strip())


def ldns_keygen(folder: Path, zone: str, algorithm: int = 13, sep: bool = True) -> Key:
    command = [needs("ldns-keygen"), "-a", ALGORITHMS[algorithm], *(("-k",) if sep else ()), zone]
    return Key(folder / _run(command, cwd=folder).strip())


def flag(*keys: Key) -> str:
    return f"-dnssec={','.join(str(key.base) for key in keys)}"


def _run(command: list[str], **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


# ---- skydns ----


class Stream(threading.local):
    """One TCP connection of each thread for thousands of questions, made again when the server has closed it."""

    def __init__(self, port: int):
        self._port = port
        self._tcp: socket.socket | None = None
        self._client: str | None = None

    def close(self) -> None:
        if self._tcp:
            self._tcp.close()
            self._tcp = None

    def ask(self, question: dns.message.Message, client: str | None = None) -> dns.message.Message:
        """client: the address it comes from."""
        if self._tcp and client == self._client:
            try:
                return self._exchange(question)
            except (EOFError, ConnectionError):
                pass
        self.close()
        self._tcp = socket.create_connection(("127.0.0.1", self._port), TIMEOUT_S, (client, 0) if client else None)
        self._tcp.setblocking(False)
        self._client = client
        return self._exchange(question)

    def _exchange(self, question: dns.message.Message) -> dns.message.Message:
        try:
            return dns.query.tcp(question, "127.0.0.1", TIMEOUT_S, sock=self._tcp)
        except dns.exception.Timeout:
            self.close()  # a late answer is not the next question's
            raise


class Server:
    """A skydns with the bed's etcd, an address and flags of its own."""

    def __init__(self, bed, *flags: str, schema: str = "kubernetes", keys: tuple[Key, ...] = (), env=None):
        self.bed, self.schema, self.keys = bed, schema, keys
        self.dns, self.http_port = Dns(reserve_port()), reserve_port()
        self.program = bed.command(
            "skydns",
            f"-machines={','.join(bed.etcd_urls)}",
            f"-addr=127.0.0.1:{self.dns.port}",
            f"-http-addr=127.0.0.1:{self.http_port}",
            f"-schema={schema}",
            "-domain=cluster.local.",
            "-ns-rotate=false",
            "-round-robin=false",
            *((flag(*keys),) if keys else ()),
            *flags,
        )
        self.program.env = env
        self.client: str | None = None  # the address that queries come from
        self._stream = Stream(self.dns.port)

    def start(self) -> "Server":
        self.program.start()
        self.program.wait_line("ready for queries on .* for udp://")
        return self

    def ask(self, name: str, rdtype: str = "A", do: bool = True, tcp: bool = True, payload: int = 1232):
        """Over TCP unless told otherwise, where nothing is cut."""
        if not tcp:
            return self.dns.query(name, rdtype, use_edns=0, want_dnssec=do, payload=payload)
        question = dns.message.make_query(name, rdtype, use_edns=0, want_dnssec=do, payload=payload)
        return self._stream.ask(question, self.client)

    def wait_etcd(self, number: int) -> None:
        """Everything written so far has arrived: revisions come in order."""
        self.bed.etcd.put("/skydns/local/cluster/marker", json.dumps({"text": str(number)}))
        self.program.wait_ready(
            lambda: self.dns.answers("marker.cluster.local", "TXT") == [f'"{number}"'], "what etcd has"
        )

    def tags(self, zone: str = "cluster.local.") -> set[int]:
        """Of the DNSKEYs at the zone's apex."""
        return tags_of(self.ask(zone, "DNSKEY", do=False))


def tags_of(reply: dns.message.Message) -> set[int]:
    keys = [rdata for rrset in reply.answer if rrset.rdtype == dns.rdatatype.DNSKEY for rdata in rrset]
    return {dns.dnssec.key_id(rdata) for rdata in keys}


def data_of(reply: dns.message.Message) -> list[tuple[str, str, str]]:
    """The answer section without signatures: owner, type and data, in any order and spelling."""
    rrsets = [rrset for rrset in reply.answer if rrset.rdtype != dns.rdatatype.RRSIG]
    return sorted(
        (rrset.name.to_text().lower(), dns.rdatatype.to_text(rrset.rdtype), rdata.to_text().lower())
        for rrset in rrsets
        for rdata in rrset
    )


# ---- Validating resolvers ----


class Resolver:
    """Asks skydns for everything; asked with DO and without CD, sets AD on what it found secure."""

    def __init__(self, program: Program, port: int):
        self.program, self.port = program, port
        self.dns = Dns(port, timeout_s=_PATIENCE_S)
        self._stream = Stream(port)

    def start(self) -> "Resolver":
        self.program.start()
        impatient = Dns(self.port, timeout_s=1.0)
        self.program.wait_ready(lambda: _has_answer(impatient), "answers", _PATIENCE_S)
        return self

    def stop(self) -> None:
        self._stream.close()
        self.program.stop()

    def ask(self, name: str, rdtype: str = "A") -> dns.message.Message:
        question = dns.message.make_query(name, rdtype, use_edns=0, want_dnssec=True, payload=1232)
        return self._stream.ask(question)

    def judge(self, name: str, rdtype: str) -> tuple[str, dns.message.Message]:
        reply = self.ask(name, rdtype)
        if reply.rcode() == dns.rcode.SERVFAIL:
            return BOGUS, reply
        return (SECURE if reply.flags & dns.flags.AD else INSECURE), reply

    def complaints(self) -> list[str]:
        """The lines of its log about what did not validate."""
        return [line for line in self.program.lines if re.search(r"validation failure|no valid|broken trust", line)]


def _has_answer(client: Dns) -> bool:
    try:
        return client.query("cluster.local", "SOA").rcode() == dns.rcode.NOERROR
    except dns.exception.Timeout:
        return False


def unbound(folder: Path, upstream: int, keys: list[Key], *more: str) -> Resolver:
    """`more`: extra lines of its section `server`. NSEC records answer for what they cover (RFC 8198)."""
    port = reserve_port()
    anchors = folder / f"unbound-{port}.anchors"
    anchors.write_text("".join(f"{key.record.to_text()}\n" for key in keys))
    lines = [
        "server:",
        f"interface: 127.0.0.1@{port}",
        "do-daemonize: no",
        'chroot: ""',
        'username: ""',
        'pidfile: ""',
        "use-syslog: no",
        "num-threads: 1",
        "do-not-query-localhost: no",
        'module-config: "validator iterator"',
        f'trust-anchor-file: "{anchors}"',
        "val-log-level: 2",
        "val-bogus-ttl: 1",
        "aggressive-nsec: yes",
        "unblock-lan-zones: yes",
        "insecure-lan-zones: no",
        *more,
        "forward-zone:",
        'name: "."',
        f"forward-addr: 127.0.0.1@{upstream}",
    ]
    path = folder / f"unbound-{port}.conf"
    path.write_text("\n".join(lines) + "\n")
    return Resolver(Program(f"unbound-{port}", [needs("unbound"), "-d", "-c", str(path)]), port)


def _bind_anchors(keys: list[Key], kind: str = "static-key") -> str:
    words = [(key.zone, key.rdata.to_text().split(" ", 3)) for key in keys]
    lines = [f'  "{zone}" {kind} {" ".join(data[:3])} "{data[3].replace(" ", "")}";' for zone, data in words]
    return "\n".join(["trust-anchors {", *lines, "};", ""])


def bind(folder: Path, upstream: int, keys: list[Key]) -> Resolver:
    port = reserve_port()
    home = folder / f"named-{port}"
    home.mkdir()
    options = [
        f'directory "{home}"',
        'pid-file none; session-keyfile "session.key"; managed-keys-directory "."',
        f"listen-on port {port} {{ 127.0.0.1; }}",
        "listen-on-v6 { none; }",
        "recursion yes; allow-query { any; }",
        f"forward only; forwarders {{ 127.0.0.1 port {upstream}; }}",
        "dnssec-validation yes; empty-zones-enable no; qname-minimization off",
        "synth-from-dnssec yes; minimal-responses no",
        "max-records-per-type 0",
    ]
    path = home / "named.conf"
    text = "".join(f"  {option};\n" for option in options)
    logging = "logging { channel here { stderr; severity info; }; category default { here; }; };\n"
    path.write_text(f"options {{\n{text}}};\ncontrols {{ }};\n{logging}{_bind_anchors(keys)}")
    return Resolver(Program(f"named-{port}", [needs("named"), "-f", "-n", "1", "-c", str(path)]), port)


# ---- Programs that check one answer ----


class Delv:
    def __init__(self, folder: Path, upstream: int, keys: list[Key]):
        self._upstream = upstream
        self._anchors: dict[str, Path] = {}
        for zone in {key.zone for key in keys}:
            path = folder / f"delv-{upstream}-{zone}anchors"
            path.write_text(_bind_anchors([key for key in keys if key.zone == zone]))
            self._anchors[zone] = path

    def judge(self, name: str, rdtype: str) -> tuple[str, str]:
        """Its verdict, with its words."""
        zones = [zone for zone in self._anchors if dns.name.from_text(name).is_subdomain(dns.name.from_text(zone))]
        zone = max(zones, key=len, default=next(iter(self._anchors)))
        command = [needs("delv"), "@127.0.0.1", "-p", str(self._upstream), "-a", str(self._anchors[zone])]
        command += [f"+root={zone}", "+vtrace", "-t", rdtype, "-q", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S)
        text = done.stdout + done.stderr
        if "resolution failed" in text and "ncache" not in text.split("resolution failed")[1]:
            return BOGUS, text
        return (INSECURE if re.search("unsigned answer|; authoritative", text) else SECURE if "fully validated" in text else BOGUS), text


def drill(upstream: int, keys: list[Key], name: str, rdtype: str) -> tuple[str, str]:
    """`drill -S`, which follows the signatures of an answer to a key that is known."""
    anchors = [word for key in keys for word in ("-k", str(key.base) + ".key")]
    command = [needs("drill"), "-S", "-t", *anchors, "-p", str(upstream), name, "@127.0.0.1", rdtype]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S)
    text = done.stdout + done.stderr
    return (SECURE if done.returncode == 0 and "Chase successful" in text else BOGUS), text

"""TLS and HTTPS: the measured servers, each with one worker and the same certificate, and what skydns' handshakes
and idle connections cost.

The limit is a bare TLS responder with the same library. All but dnsdist know the Services; it has a nameserver behind
its cache.
"""

import re
import socket
import statistics
import subprocess

from answers import data, path, rounds, servers
from answers.bed import Bed
from answers.kept import Nameserver, ask_all
from answers.servers import BARE_HTTPS, BARE_TLS, COREDNS, SKYDNS, Kind, Server, Setting, coredns, write
from records import DOMAIN

BOTH = ("tls", "https")
CONNECTIONS = 10_000
HANDSHAKES_PER_S = 500
_BESIDE_S = 3  # of handshakes before and after what is measured
_ROUNDS = 5
_AT_ONCE = 64
# One at a time, so that no answer waits for another of the same client.
LATENCY_FLAGS = ("-sockets=4", "-window=1000", "-batch=16", "-rate=5000", "-sleep")
_PATIENCE_S = 120
# With --first, instead of a real-time priority: skydns' handshakes could not give way to its workers with one, nor their
# client to the generator.
BEFORE_OTHERS = ("chrt", "--other", "0", "nice", "-n", "-20")


# ---- Command lines and configurations ----


def _bare_tls(s: Setting) -> list[str]:
    return [str(s.tools / "bare_tls"), f"127.0.0.1:{s.tls_port}", s.certificate, s.key]


def _bare_https(s: Setting) -> list[str]:
    return [str(s.tools / "bare_tls"), f"127.0.0.1:{s.https_port}", s.certificate, s.key]


def _skydns(s: Setting) -> list[str]:
    command = servers.skydns("127.0.0.1")(s)
    urls = f",tls://127.0.0.1:{s.tls_port},https://127.0.0.1:{s.https_port}"
    return [one + urls if one.startswith("-addr=") else one for one in command] + [f"-cert={s.certificate}", f"-key={s.key}"]


def _nsd(s: Setting) -> list[str]:
    more = f"  ip-address: 127.0.0.1@{s.tls_port}\n  tls-port: {s.tls_port}\n"
    return servers.nsd_with(s, f'{more}  tls-service-pem: "{s.certificate}"\n  tls-service-key: "{s.key}"\n')


def _unbound(s: Setting) -> list[str]:
    more = f"""  module-config: "iterator"
  interface: 127.0.0.1@{s.tls_port}
  interface: 127.0.0.1@{s.https_port}
  tls-port: {s.tls_port}
  https-port: {s.https_port}
  tls-service-pem: "{s.certificate}"
  tls-service-key: "{s.key}"
"""
    return servers.unbound_own_names(s, more)


def _bind(s: Setting) -> list[str]:
    zones = "".join(
        f'zone "{zone}" {{ type primary; file "{s.zones}/{zone}"; }};\n' for zone in (DOMAIN, data.REVERSE_ZONE)
    )
    text = f"""tls bench {{ cert-file "{s.certificate}"; key-file "{s.key}"; }};
http bench {{ endpoints {{ "/dns-query"; }}; }};
options {{
  directory "{s.folder}";
  pid-file none;
  session-keyfile none;
  listen-on port {s.port} {{ 127.0.0.1; }};
  listen-on port {s.tls_port} tls bench {{ 127.0.0.1; }};
  listen-on port {s.https_port} tls bench http bench {{ 127.0.0.1; }};
  listen-on-v6 {{ none; }};
  recursion no;
  minimal-responses yes;
  tcp-clients 1000;
  http-listener-clients 1000;
  notify no;
}};
controls {{ }};
{zones}"""
    return ["named", "-f", "-n", "1", "-c", write(s.folder / "named.conf", text)]


def _dnsdist(s: Setting) -> list[str]:
    files = f'"{s.certificate}", "{s.key}"'
    text = f"""setLocal("127.0.0.1:{s.port}")
addTLSLocal("127.0.0.1:{s.tls_port}", {files})
addDOHLocal("127.0.0.1:{s.https_port}", {files}, "/dns-query")
newServer({{address="127.0.0.1:{s.nameserver}"}}):setUp()
getPool(""):setCache(newPacketCache(100000))
setMaxTCPClientThreads(1)
setMaxUDPOutstanding(10000)
setSecurityPollSuffix("")
"""
    return ["dnsdist", "--supervised", "--disable-syslog", "-C", write(s.folder / "dnsdist.conf", text)]


def _coredns(s: Setting) -> list[str]:
    blocks = ""
    for scheme, port in (("dns", s.port), ("tls", s.tls_port), ("https", s.https_port)):
        tls = f"  tls {s.certificate} {s.key}\n" * (scheme != "dns")
        for zone in (DOMAIN, data.REVERSE_ZONE):
            blocks += f"{scheme}://{zone}:{port} {{\n  bind 127.0.0.1\n{tls}  file {s.zones}/{zone} {zone}\n}}\n"
    return [COREDNS, "-conf", write(s.folder / "Corefile", blocks)]


KINDS = [
    Kind(BARE_TLS, "bare TLS responder", _bare_tls, transports=("tls",)),
    Kind(BARE_HTTPS, "bare HTTPS responder", _bare_https, transports=("https",)),
    Kind(SKYDNS, "skydns", _skydns, transports=BOTH),
    Kind("nsd", "NSD", _nsd, "nsd", transports=("tls",)),
    Kind("unbound", "unbound", _unbound, "unbound", transports=BOTH),
    Kind("bind", "BIND", _bind, "named", transports=BOTH),
    Kind("dnsdist", "dnsdist", _dnsdist, "dnsdist", transports=BOTH),
]
KINDS += coredns(_coredns, transports=BOTH)


def kind(name: str) -> Kind:
    return next(one for one in KINDS if one.name == name)


# ---- Measuring ----


def measure_rounds(bed: Bed, run, count: int, kinds: list[Kind], is_first: bool, values: dict) -> list[dict]:
    """All runs, and the memory of each server right after its load."""
    nameserver = Nameserver()
    try:
        started = [_start(bed, one, nameserver.port, BEFORE_OTHERS if is_first else ()) for one in kinds]
        runs = rounds.run_rounds(run, started, rounds.TLS_PATTERNS, count, bed.services)
    finally:
        nameserver.close()
    for one in started:
        if one.name not in (BARE_TLS, BARE_HTTPS):
            values[f"tls_mib.{bed.services}.{one.name}"] = one.resident_mib()
        one.program.kill()
    return runs


def _start(bed: Bed, what: Kind, nameserver: int, prefix: tuple[str, ...]) -> Server:
    if what.name not in servers.WITHOUT_SERVICES:
        return bed.start(what, prefix=prefix)
    one = bed.start_resolver(what, nameserver, prefix=prefix)
    asked = [data.name(number) for number in range(bed.services)]
    ask_all(one.port, [(name, "A") for name in asked])
    _ask_all_tcp(one.port, asked)  # its cache has entries of their own for streams
    return one


def _ask_all_tcp(port: int, names: list[str]) -> None:
    """Each once, some at a time, with the same header as the load's."""
    with socket.create_connection(("127.0.0.1", port), _PATIENCE_S) as client, client.makefile("rb") as replies:
        for first in range(0, len(names), _AT_ONCE):
            queries = [path.dns_query(name, number) for number, name in enumerate(names[first : first + _AT_ONCE])]
            client.sendall(b"".join(len(query).to_bytes(2, "big") + query for query in queries))
            for _ in queries:
                reply = replies.read(int.from_bytes(replies.read(2), "big"))
                assert len(reply) > 12 and reply[3] & 15 == 0, "no answer over TCP"


def _load_tls(bed: Bed, server: Server, transport: str, *flags: str) -> list[str]:
    command = ["taskset", "-c", str(servers.GENERATOR_CORE), str(bed.tools / "load_tls")]
    command += [f"-server=127.0.0.1:{server.port_of(transport)}", f"-questions={bed.questions['a']}"]
    return command + ["-protocol=doh"] * (transport == "https") + list(flags)


def idle_kib(bed: Bed, transport: str) -> tuple[float, int]:
    """KiB of skydns for each idle connection, after one query on each; and how many there were."""
    skydns = bed.start(kind(SKYDNS))
    # It says so where the descriptor limit allows fewer.
    fewer = re.search(r"\bstream_connections=(\d+)", "\n".join(skydns.program.lines))
    count = min(CONNECTIONS, int(fewer[1])) if fewer else CONNECTIONS
    before_mib = skydns.resident_mib()
    command = _load_tls(bed, skydns, transport, f"-connections={count}", "-idle")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        told = load.stdout.readline()
        after_mib = skydns.resident_mib()
        output, _ = load.communicate(timeout=_PATIENCE_S)
    skydns.program.kill()
    assert told == f"idle {count}\n" and load.returncode == 0, f"{count} idle connections over {transport}: {told}"
    errors = rounds.parse_figures(output)["errors"]
    assert not errors, f"{errors:.0f} of {count} idle connections over {transport} were closed"
    return (after_mib - before_mib) * 1024 / count, count


def handshakes_beside_udp(bed: Bed, seconds: float, is_first: bool) -> dict[str, float]:
    """p99 of UDP without and with handshakes; medians of several runs, alternating. The handshakes' client has the
    generator's core, and only when the generator sleeps. Only the rate, where a busy machine allowed too few handshakes.
    """
    skydns = bed.start(kind(SKYDNS), prefix=BEFORE_OTHERS if is_first else ())
    flags = (*LATENCY_FLAGS, f"-run={seconds:g}s", f"-server=127.0.0.1:{skydns.port}")
    ask = ["taskset", "-c", str(servers.GENERATOR_CORE), str(bed.tools / "load_udp"), f"-questions={bed.questions['a']}"]
    more = ("-connections=100", "-per-connection=1", f"-rate={HANDSHAKES_PER_S}", f"-run={seconds + _BESIDE_S:g}s")
    shake = [*(BEFORE_OTHERS if is_first else ("chrt", "--idle", "0")), *_load_tls(bed, skydns, "tls", *more)]
    told: dict[str, list[float]] = {"idle": [], "during": [], "rate": []}
    for _ in range(_ROUNDS):
        told["idle"].append(p99_us(ask, flags))
        with subprocess.Popen(shake, stdout=subprocess.PIPE, text=True) as load:
            told["during"].append(p99_us(ask, flags))
            output, _ = load.communicate(timeout=_PATIENCE_S)
        told["rate"].append(rounds.parse_figures(output)["qps"])
    skydns.program.kill()
    medians = {name: statistics.median(of_rounds) for name, of_rounds in told.items()}
    if medians["rate"] < 0.9 * HANDSHAKES_PER_S:
        return {"handshakes_per_s": medians["rate"]}
    return {
        "handshakes_per_s": medians["rate"],
        "handshakes_p99_idle_ms": medians["idle"] / 1e3,
        "handshakes_p99_ms": medians["during"] / 1e3,
        "handshakes_p99_more_ms": (medians["during"] - medians["idle"]) / 1e3,
    }


def p99_us(command: list[str], flags: tuple[str, ...]) -> float:
    done = subprocess.run([*command, *flags], check=True, capture_output=True, text=True, timeout=_PATIENCE_S)
    figures = rounds.parse_figures(done.stdout)
    assert figures["answers"] > 0, "no answers over UDP"
    return figures["p99_us"]


def measure_skydns(bed: Bed, seconds: float, is_first: bool, values: dict) -> None:
    for transport in BOTH:
        values[f"idle_{transport}_kib"], values["idle_tls_connections"] = idle_kib(bed, transport)
    values |= handshakes_beside_udp(bed, seconds, is_first)

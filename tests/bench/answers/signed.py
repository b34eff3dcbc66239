"""DNSSEC: what an answer costs a server with a key, to clients with and without DO; what making signatures costs; and
whether many random names delay others.

The limit is a bare responder whose replies are as long as skydns' signed ones. NSD, whose zone is signed before, is
there to compare: it makes no signatures.
"""

import re
import statistics
import subprocess
from dataclasses import replace
from pathlib import Path

import dns.message
import dns.query
from programs import http_get, reserve_port

from answers import data, encrypted, rounds, servers
from answers.bed import Bed
from answers.servers import BARE_SIGNED, BARE_UDP, COREDNS, SKYDNS, SKYDNS_SIGNING, Kind, Server, Setting, coredns, write
from records import DOMAIN

# By number: as dnssec-keygen and openssl speed call them.
ALGORITHMS = {"13": ("ECDSAP256SHA256", "ecdsap256"), "15": ("ED25519", "ed25519"), "8": ("RSASHA256", "rsa2048")}
RANDOM_PER_S = 5_000
_ALL_PER_S = 2_000  # few enough that every server makes its signatures in time
# In flight together few enough that RSA answers all of them in time.
_MAKING_FLAGS = ("-sockets=4", "-window=16", "-dnssec", "-run=1s", "-warm-up=0s")
_ROUNDS = 5
_BESIDE_S = 3  # of random names before and after what is measured
_TIMEOUT_S = 60
_PATIENCE_S = 120


# ---- Command lines and configurations ----


def key_pair(folder: Path, algorithm: str) -> Path:
    """Makes one for our domain, which signs everything; its file names without .key and .private."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["dnssec-keygen", "-q", "-a", algorithm, "-f", "KSK", "-K", str(folder)]
    command += ["-b", "2048"] * algorithm.startswith("RSA")
    done = subprocess.run([*command, DOMAIN], check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
    return folder / done.stdout.strip()


def _room(services: int) -> int:
    """For a signature of each Service's address, and some more."""
    return 2 * services + 1000


def _skydns(key: Path, *more: str):
    return servers.skydns("127.0.0.1", f"-dnssec={key}", *more)


def _knot(s: Setting) -> list[str]:
    policy = "policy:\n  - id: bench\n    algorithm: ecdsap256sha256\nmod-onlinesign:\n  - id: bench\n    policy: bench\n"
    argv = servers.knot_with(s, "    module: mod-onlinesign/bench\n")
    configuration = s.folder / "knot.conf"
    text = configuration.read_text()
    configuration.write_text(text.replace("template:\n", f"{policy}template:\n"))
    return argv


def _nsd(key: Path):
    def argv(s: Setting) -> list[str]:
        zones = s.folder / "zones"
        zones.mkdir()
        (zones / data.REVERSE_ZONE).symlink_to(s.zones / data.REVERSE_ZONE)
        zone = s.folder / "unsigned"
        zone.write_text((s.zones / DOMAIN).read_text() + Path(f"{key}.key").read_text())
        command = ["dnssec-signzone", "-q", "-z", "-d", str(s.folder), "-o", DOMAIN, "-f", str(zones / DOMAIN)]
        command += [str(zone), str(key)]
        subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE_S)
        return servers.nsd_with(replace(s, zones=zones), "")

    return argv


def _coredns(key: Path, services: int):
    def argv(s: Setting) -> list[str]:
        signing = f"  dnssec {{\n    key file {key}\n    cache_capacity {_room(services)}\n  }}\n"
        text = f"{DOMAIN}:{s.port} {{\n  bind 127.0.0.1\n{signing}  file {s.zones}/{DOMAIN} {DOMAIN}\n}}\n"
        return [COREDNS, "-conf", write(s.folder / "Corefile", text)]

    return argv


def _rivals(key: Path, services: int) -> list[Kind]:
    kinds = [
        Kind("knot-signing", "Knot", _knot, "knotd"),
        Kind("nsd-signed", "NSD", _nsd(key), "nsd"),
    ]
    return kinds + coredns(_coredns(key, services), "coredns-signing")


NAMES = ("knot-signing", "nsd-signed", "coredns-signing")


# ---- Rounds ----


def reply_to(port: int, name: str) -> tuple[int, bytes]:
    """The size of a query for the name's address with DO, and its reply."""
    query = dns.message.make_query(name, "A", want_dnssec=True)
    reply = dns.query.udp(query, "127.0.0.1", timeout=_TIMEOUT_S, port=port)
    return len(query.to_wire()), reply.to_wire()


def _start_bare(bed: Bed, skydns: Server) -> Server:
    """Its replies are as long as skydns'."""
    name = data.name(0)
    asked, reply = reply_to(skydns.port, name)
    assert b"\x00\x2e" in reply, "skydns: an answer without a signature"
    more = len(reply) - asked - 16  # of its own record
    argv = lambda s: [*servers.bare("udp")(s), str(more)]  # noqa: E731
    return bed.start(Kind(BARE_SIGNED, "bare responder", argv))


def _all_questions(bed: Bed) -> Path:
    path = bed.folder / "questions-all"
    path.write_text("".join(f"{data.name(number)} A\n" for number in range(bed.services)))
    return path


def _load(bed: Bed, server: Server, questions: Path, *flags: str) -> None:
    command = ["taskset", "-c", str(servers.GENERATOR_CORE), str(bed.tools / "load_udp")]
    command += [f"-server=127.0.0.1:{server.port}", f"-questions={questions}", *flags]
    subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE_S)


def _ask_all(bed: Bed, server: Server) -> None:
    """Signatures of all Services' addresses are kept after this, by those that keep them."""
    lasts_s = bed.services / _ALL_PER_S + 1
    _load(bed, server, _all_questions(bed), f"-rate={_ALL_PER_S}", "-sleep", f"-run={lasts_s:g}s", "-dnssec", "-warm-up=0s")


def measure_rounds(bed: Bed, run, count: int, names: list[str] | None, values: dict) -> list[dict]:
    """names: of the servers; None: all."""
    key = key_pair(bed.folder / "keys", ALGORITHMS["13"][0])
    room = f"-scache={_room(bed.services)}"
    ours = [servers.kind(BARE_UDP), servers.kind(SKYDNS), Kind(SKYDNS_SIGNING, "skydns", _skydns(key, room))]
    rivals = [one for one in _rivals(key, bed.services) if (not names or one.name in names) and one.is_there()]
    started = [bed.start(one) for one in [*ours, *rivals]]
    started.append(_start_bare(bed, started[2]))
    for one in started[2:-1]:
        _ask_all(bed, one)
    runs = rounds.run_rounds(run, started, rounds.SIGNED_PATTERNS, count, bed.services)
    for one in started:
        values[f"signed_mib.{bed.services}.{one.name}"] = one.resident_mib()
        one.program.kill()
    values["kept_signature_us"] = kept_signature_us(runs)
    return runs


def kept_signature_us(runs: list[dict]) -> float:
    """By how much more an answer with a signature costs skydns than one without, less what that costs the bare
    responder; the median of the rounds.
    """
    us: dict[tuple[int, str, str], list[float]] = {}
    for run in runs:
        us.setdefault((run["round"], run["pattern"], run["server"]), []).append(run["figures"]["server_us"])

    def mean(number: int, pattern: str, server: str) -> float:
        return statistics.mean(us[number, pattern, server])

    return statistics.median(
        mean(number, "signed", SKYDNS_SIGNING)
        - mean(number, "signed", BARE_SIGNED)
        - mean(number, "unsigned", SKYDNS_SIGNING)
        + mean(number, "unsigned", BARE_UDP)
        for number in {run["round"] for run in runs}
    )


# ---- Making signatures ----


def openssl_per_s(algorithm: str) -> float:
    """Signatures a second of one core, as openssl tells."""
    command = ["taskset", "-c", str(servers.SERVER_CORE), "openssl", "speed", "-mr", "-seconds", "2", algorithm]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
    line = next(line for line in done.stdout.splitlines() if line.startswith("+F"))
    return float(line.split(":")[-2])


def metric(port: int, name: str) -> float:
    _, page = http_get(f"http://127.0.0.1:{port}/metrics")
    found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
    assert found, f"no {name}"
    return float(found[1])


def _start_with(bed: Bed, algorithm: str, *more: str, prefix: tuple[str, ...] = ()) -> tuple[Server, int]:
    """skydns with a new key, and the port of its metrics."""
    key = key_pair(bed.folder / "keys", ALGORITHMS[algorithm][0])
    port = reserve_port()
    argv = _skydns(key, f"-http-addr=127.0.0.1:{port}", *more)
    return bed.start(Kind(SKYDNS_SIGNING, "skydns", argv), prefix=prefix), port


def measure_making(bed: Bed, values: dict) -> None:
    """CPU time of each signature, with each algorithm, while many are asked for."""
    everything = _all_questions(bed)
    for algorithm, (_, name) in ALGORITHMS.items():
        skydns, port = _start_with(bed, algorithm)
        _load(bed, skydns, everything, *_MAKING_FLAGS)
        made = metric(port, 'skydns_dnssec_signatures_total{result="made"}')
        seconds = metric(port, "skydns_dnssec_signing_seconds_total")
        skydns.program.kill()
        values[f"signing_us.{algorithm}"] = seconds * 1e6 / made
        values[f"signing_per_s.{algorithm}"] = made / seconds
        values[f"openssl_per_s.{algorithm}"] = openssl_per_s(name)


# ---- Random names beside others ----


def _random_questions(bed: Bed, number: int, seconds: float) -> Path:
    """As many as are asked in that time, none of them in another round."""
    path = bed.folder / f"questions-random-{number}"
    count = round(RANDOM_PER_S * seconds)
    labels = (f"r{number}-{i * 2654435761 % 2**32:08x}" for i in range(count))
    path.write_text("".join(f"{label}.{data.name(i % bed.services)} A\n" for i, label in enumerate(labels)))
    return path


def measure_random(bed: Bed, seconds: float, is_first: bool, values: dict) -> None:
    """p99 of existing names, whose signatures are kept, without and with random names, in turn; and memory. The random
    names' client has the generator's core, and only when the generator sleeps.
    """
    prefix = encrypted.BEFORE_OTHERS if is_first else ()
    skydns, _ = _start_with(bed, "13", prefix=prefix)
    existing = bed.folder / "questions-existing"
    existing.write_text("".join(f"{data.name(number)} A\n" for number in range(min(1000, bed.services))))
    generator = ["taskset", "-c", str(servers.GENERATOR_CORE), str(bed.tools / "load_udp")]
    generator += [f"-server=127.0.0.1:{skydns.port}", "-dnssec"]
    ask = [*generator, f"-questions={existing}"]
    flags = (*encrypted.LATENCY_FLAGS, f"-run={seconds:g}s")
    others = prefix or ("chrt", "--idle", "0")
    told: dict[str, list[float]] = {"idle": [], "during": [], "rate": []}
    encrypted.p99_us(ask, flags)  # keeps the signatures
    before_mib = skydns.resident_mib()
    for number in range(_ROUNDS):
        told["idle"].append(encrypted.p99_us(ask, flags))
        lasts_s = seconds + _BESIDE_S
        questions = _random_questions(bed, number, lasts_s + 1)
        flood = [*others, *generator, f"-questions={questions}", "-window=1000", f"-rate={RANDOM_PER_S}", "-sleep"]
        with subprocess.Popen([*flood, f"-run={lasts_s:g}s"], stdout=subprocess.PIPE, text=True) as load:
            told["during"].append(encrypted.p99_us(ask, flags))
            output, _ = load.communicate(timeout=_PATIENCE_S)
        figures = rounds.parse_figures(output)
        told["rate"].append(figures["sent"] / figures["seconds"])
    medians = {name: statistics.median(of_rounds) for name, of_rounds in told.items()}
    values["random_per_s"] = medians["rate"]
    values["random_mib_more"] = skydns.resident_mib() - before_mib
    skydns.program.kill()
    if medians["rate"] >= 0.9 * RANDOM_PER_S:
        values["random_p99_idle_ms"] = medians["idle"] / 1e3
        values["random_p99_ms"] = medians["during"] / 1e3
        values["random_p99_more_ms"] = (medians["during"] - medians["idle"]) / 1e3

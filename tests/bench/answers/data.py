"""The benchmark's queries and the servers' data: N Services as etcd keys, as zone files and as unbound's local
data, and the mixes of questions. Everything follows from N alone, so that rounds, machines and servers are
comparable.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from records import DOMAIN, endpoint_records, service_records, value

REVERSE_ZONE = "10.in-addr.arpa"
TTL_S = 30
QUESTIONS = 200_000
_SEED = 20150717  # arbitrary, but fixed
_SEARCH = (f"default.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN)
_SOA = f"ns.dns.{DOMAIN}. hostmaster.{DOMAIN}. 1 7200 1800 86400 {TTL_S}"
SERVICES_MAX = 1 << 20  # the number of addresses that ip() has


@dataclass(frozen=True)
class Mix:
    name: str
    title: str
    # The shares of answers that must have records, be NODATA, or be NXDOMAIN.
    records: float = 0.0
    nodata: float = 0.0
    nxdomain: float = 0.0


MIXES = [
    Mix("a", "A", records=1.0),
    Mix("kubernetes", "Kubernetes mix", records=3 / 12, nodata=3 / 12, nxdomain=6 / 12),
    Mix("nxdomain", "NXDOMAIN", nxdomain=1.0),
    Mix("srv", "SRV", records=1.0),
]


# Of other domains' names, which a nameserver knows and the servers keep.
FOREIGN_MIXES = [
    Mix("kept", "foreign names", records=1.0),
    Mix("kept-kubernetes", "Kubernetes mix, a quarter foreign", records=5 / 16, nodata=5 / 16, nxdomain=6 / 16),
]
# The same names below the search domain of the client, which skydns knows by its pod.
SEARCH_MIX = Mix("search", "foreign names below a search domain", records=1.0)
BOTH_FAMILIES = 2  # every so many of them is asked for both families


# Names with many addresses, as headless Services have them.
LARGE_SIZES = (32, 33, 100, 1000)
LARGE_NAMES = 16  # of each size
LARGE_MIXES = [
    *(Mix(f"large-{size}", f"A of {size:,} addresses", records=1.0) for size in LARGE_SIZES),
    *(Mix(f"large-{size}-aaaa", f"AAAA of {size:,} addresses", nodata=1.0) for size in LARGE_SIZES),
]


def mix(name: str) -> Mix:
    return next(one for one in [*MIXES, *FOREIGN_MIXES, SEARCH_MIX, *LARGE_MIXES] if one.name == name)


def foreign(number: int) -> str:
    """A name of another domain."""
    return f"host-{number:06d}.example{number % 1000}.com"


def foreign_questions(count: int) -> list[tuple[str, str]]:
    """All that the mixes may ask about as many foreign names."""
    asked = [(foreign(number), "A") for number in range(count)]
    return asked + [(foreign(number), "AAAA") for number in range(0, count, BOTH_FAMILIES)]


def ip(number: int) -> str:
    return f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _label(number: int) -> str:
    return f"svc-{number:05d}"


def name(number: int) -> str:
    """A Service's name, without the final dot."""
    return f"{_label(number)}.default.svc.{DOMAIN}"


def _reverse(number: int) -> str:
    """The name within the reverse zone."""
    return ".".join(reversed(ip(number).split(".")[1:]))


# ---- For etcd ----


def keys(count: int) -> Iterator[tuple[str, str]]:
    """As kube2sky writes them: each Service's address, port and reverse name."""
    for number in range(count):
        yield from service_records(_label(number), ip(number), ("tcp", "http", 80)).items()
        yield "/skydns/arpa/in-addr/" + ip(number).replace(".", "/"), value(f"{name(number)}.")


def key_lines(count: int) -> bytes:
    """In the format of `bench_store … loop`; and the client as a pod."""
    pod = ("/skydns/local/cluster/pod/default/127-0-0-1/pod", value("127.0.0.1"))
    return "".join(f"{key}\t{text}\n" for key, text in [*keys(count), pod]).encode()


def large_key_lines() -> bytes:
    """The same, of the names with many addresses."""
    lines, made = [], 0
    for size in LARGE_SIZES:
        for number in range(LARGE_NAMES):
            addresses = {ip(made + at): "" for at in range(size)}
            made += size
            lines += [f"{key}\t{text}\n" for key, text in endpoint_records(f"large-{size}-{number}", addresses).items()]
    return "".join(lines).encode()


# ---- For other servers ----


def _zone_head(zone: str) -> str:
    return f"$ORIGIN {zone}.\n$TTL {TTL_S}\n@ SOA {_SOA}\n@ NS ns.dns.{DOMAIN}.\n"


def write_zones(count: int, folder: Path) -> None:
    """Master files, named after their zones."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / DOMAIN, "w") as zone:
        zone.write(_zone_head(DOMAIN) + "ns.dns A 10.96.255.10\n")
        for number in range(count):
            label = f"{_label(number)}.default.svc"
            zone.write(f"{label} A {ip(number)}\n_http._tcp.{label} SRV 10 100 80 {label}\n")
    with open(folder / REVERSE_ZONE, "w") as zone:
        zone.write(_zone_head(REVERSE_ZONE))
        for number in range(count):
            zone.write(f"{_reverse(number)} PTR {name(number)}.\n")


def write_local_data(count: int, path: Path) -> None:
    """The same for unbound's configuration."""
    with open(path, "w") as local:
        for zone in (DOMAIN, REVERSE_ZONE):
            local.write(f'local-zone: "{zone}." static\nlocal-data: "{zone}. {TTL_S} SOA {_SOA}"\n')
        for number in range(count):
            full = name(number)
            for record in (
                f"{full}. {TTL_S} A {ip(number)}",
                f"_http._tcp.{full}. {TTL_S} SRV 10 100 80 {full}.",
                f"{_reverse(number)}.{REVERSE_ZONE}. {TTL_S} PTR {full}.",
            ):
                local.write(f'local-data: "{record}"\n')


# ---- Questions ----


def questions(mix: str, count: int, how_many: int = QUESTIONS) -> Iterator[tuple[str, str]]:
    """Name and type of each question of the named mix; all Services equally often."""
    draw = random.Random(f"{_SEED} {mix}")
    made = 0
    while made < how_many:
        unit = _UNITS[mix](draw, count)
        yield from unit[: how_many - made]
        made += len(unit)


def _a(draw: random.Random, count: int) -> list[tuple[str, str]]:
    return [(name(draw.randrange(count)), "A")]


def _srv(draw: random.Random, count: int) -> list[tuple[str, str]]:
    return [(f"_http._tcp.{name(draw.randrange(count))}", "SRV")]


def _nxdomain(draw: random.Random, count: int) -> list[tuple[str, str]]:
    """An external name with a suffix of ours, from a resolver's search path."""
    outside = f"h{draw.randrange(1000)}.example{draw.randrange(1000)}.com"
    return [(f"{outside}.{draw.choice(_SEARCH)}", "A")]


def _kubernetes(draw: random.Random, count: int) -> list[tuple[str, str]]:
    """The queries of a pod's resolver: one external name in each domain of its search path, and three Services,
    each for both address families.
    """
    hundred = f"h{draw.randrange(100)}.example{draw.randrange(100)}.com"
    outside = draw.choice(("api.example.com", "s3.amazonaws.com", hundred))
    asked = [f"{outside}.{domain}" for domain in _SEARCH]
    asked += [name(draw.randrange(count)) for _ in range(3)]
    return [(one, rdtype) for one in asked for rdtype in ("A", "AAAA")]


def _kept(draw: random.Random, count: int) -> list[tuple[str, str]]:
    return [(foreign(draw.randrange(count)), "A")]


def _kept_kubernetes(draw: random.Random, count: int) -> list[tuple[str, str]]:
    """Beside the names of the search path, two that are found at once."""
    both = [foreign(draw.randrange(0, count, BOTH_FAMILIES)) for _ in range(2)]
    return _kubernetes(draw, count) + [(one, rdtype) for one in both for rdtype in ("A", "AAAA")]


def _search(draw: random.Random, count: int) -> list[tuple[str, str]]:
    return [(f"{foreign(draw.randrange(count))}.{_SEARCH[0]}", "A")]


_UNITS = {"a": _a, "kubernetes": _kubernetes, "nxdomain": _nxdomain, "srv": _srv}
_UNITS |= {"kept": _kept, "kept-kubernetes": _kept_kubernetes, "search": _search}


def write_questions(count: int, folder: Path, how_many: int = QUESTIONS) -> dict[str, Path]:
    """A file of `name TYPE` lines for each mix, by the mix's name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for one in [*MIXES, *FOREIGN_MIXES, SEARCH_MIX]:
        paths[one.name] = folder / f"questions-{one.name}"
        lines = (f"{asked} {rdtype}\n" for asked, rdtype in questions(one.name, count, how_many))
        paths[one.name].write_text("".join(lines))
    return paths


def write_large_questions(folder: Path) -> dict[str, Path]:
    """The same for the names with many addresses: each often enough for a full batch of different questions."""
    paths = {}
    for one in LARGE_MIXES:
        size, rdtype = one.name.split("-")[1], "AAAA" if one.nodata else "A"
        paths[one.name] = folder / f"questions-{one.name}"
        lines = (f"large-{size}-{number}.default.svc.{DOMAIN} {rdtype}\n" for number in range(LARGE_NAMES))
        paths[one.name].write_text("".join(lines) * 64)
    return paths

"""The choices that make a query of a recording: a value on each axis, such as its name, type, EDNS and client.

Values are random, from a seed. A value that stands on its axis several times is as many times as likely. Then choices
are added until every pair of values of two axes is there.
"""

import itertools
import random
from collections.abc import Iterator

import worlds
from wire import TYPES

# As side.h and script.h number them.
TRANSPORTS = ("udp", "tcp", "tls", "https", "http", "grpc", "udp-late")
SCRIPTS = (
    "good", "short", "truncated", "cut", "nxdomain", "nodata", "servfail", "silent", "long", "into-ours", "chain",
    "strange", "broken", "signed", "dname", "referral",
)  # fmt: skip

CLIENTS = (
    "10.244.0.1", "10.244.1.1", "10.244.2.1", "10.99.0.1", "192.168.1.1", "203.0.113.5", "fd00:244::1", "2001:db8::5",
)  # fmt: skip
LOCALS = ("10.96.0.11", "fd00:96::11", None)

SVC = f"default.svc.{worlds.DOMAIN}"
NAMES = [
    *(f"{label}.{SVC}" for label in (
        "web", "web6", "db", "db-0.db", "many", "many-7.many", "big", "wide", "external", "external-short", "alias",
        "alias-alias", "alias-away", "alias-team", "alias-none", "loop-a", "text", "mail", "group", "sub.group",
        "strip", "a.strip", "both", "alias-both", "printer", "stub", "_print._tcp", "_x._tcp.cross", "chain-0",
        "alias-hashed", "alias-deep", "alias-two", "chain-1", "chain-2", "chain-3", "zero", "plain", "none", "*",
        "any", "_tcp.web", "_http._tcp.web", "_dns._udp.web", "_http._tcp.*", "_peer._tcp.db", "_out._tcp.targets",
        "_p7._tcp.wide", "_tcp.wide", "www.example.com", "x.y.web", "*.db",
    )),
    *(f"{label}.{worlds.DOMAIN}" for label in (
        "svc", "pod", "default.svc", "default.pod", "none.svc", "api.team-a.svc", "mixed.team-a.svc", "api.team-b.svc",
        "api.team-c.svc", "kube-dns.kube-system.svc", "10-244-0-1.default.pod", "10-244-1-1.team-a.pod",
        "1-2-3-4.default.pod", "fd00--1.default.pod", "300-1-1-1.default.pod", "10-244-0-11.none.pod", "dns", "ns.dns",
        "ns1.ns.dns", "local.dns", "dns-version", "a.b", "a.b.c.d.e", "x.a.b", "acme", "hidden.acme", "host.in.acme",
        "in.acme", "www.example.com.svc", "www.example.com.team-a.svc", "www.example.com", "skydns",
        "_http._tcp.any.default.svc", "www.sub", "sub",
    )),
    *[worlds.DOMAIN] * 4, *[worlds.NESTED] * 3, f"web.default.svc.{worlds.NESTED}", f"none.{worlds.NESTED}",
    f"ns.dns.{worlds.NESTED}",
    "10.0.96.10.in-addr.arpa", "99.0.96.10.in-addr.arpa", "10.1.96.10.in-addr.arpa", "96.10.in-addr.arpa",
    "10.in-addr.arpa", "10.0.97.10.in-addr.arpa", "9.2.0.192.in-addr.arpa", "in-addr.arpa",
    "www.example.com", "example.com", "mx.example.org", "host-1.example.net", "a.b.c.d.e.f.example.com", "example",
    "printer.office.test", "scanner.office.test", "printer", "www.stub.test", "stub.test", "", "local",
    "corp.example",
    "version.bind", "id.server", "authors.bind", "localhost", f"{'l' * 63}.{'m' * 63}.{SVC}",
    ".".join(["n" * 49] * 5)[:240],
]  # fmt: skip

AXES = {
    "configuration": worlds.NAMES,
    "records": ("none", "small", "big"),
    "transport": TRANSPORTS,
    "script": SCRIPTS,
    "client": CLIENTS,
    "local": LOCALS,
    "name": NAMES,
    "case": ("lower", "mixed", "upper"),
    "type": (*("A",) * 8, *("AAAA",) * 6, *("SRV",) * 3, "PTR",
             *(name for name in TYPES if name not in ("OPT", "TSIG", "DNAME")), 0, 65280),
    "class": (*("IN",) * 40, "CH", "ANY", "NONE"),
    "rd": (True, True, True, False),
    "ad": (True, False),
    "cd": (True, False, False),
    "edns": (None, 512, 1232, 4096),
    "do": (True, False),
    "subnet": (*(None,) * 8, "v4", "v6", "zero", "broken"),
    "cookie": (*(None,) * 5, "client", "valid", "old", "foreign", "broken"),
    "padding": (None, None, 0, 32),
    "keepalive": (False, True),
    "stub": (*(False,) * 7, True),
    "tsig": (*(None,) * 20, "good", "good", "bad", "late", "unknown"),
    "shape": (*("plain",) * 90, "response", "opcode", "questions", "no-question", "junk", "short", "two-opt",
              "version"),
}
# What stands in the OPT record: without one, no choice.
EDNS_AXES = ("do", "subnet", "cookie", "padding", "keepalive", "stub")

Choice = dict[str, object]

# What is mostly asked for at names with such a beginning, such an end, or such a whole.
APEX_TYPES = ("SOA", "NS", "DNSKEY", "CDS", "CDNSKEY", "DS", "DS", "NSEC", "AXFR", "IXFR")
APT_TYPES = [
    (lambda name: name in (worlds.DOMAIN, worlds.NESTED), APEX_TYPES),
    (lambda name: name.startswith("_"), ("SRV", "SRV", "A")),
    (lambda name: name.endswith("in-addr.arpa"), ("PTR", "PTR", "SOA", "NS", "DNSKEY")),
    (lambda name: name.startswith(("text", "dns-version", "version", "id", "authors")), ("TXT",)),
    (lambda name: name.startswith(("mail", "mx")), ("MX", "TXT")),
]


def apt_types(name: str) -> tuple[str, ...]:
    return next((types for fits, types in APT_TYPES if fits(name)), ("A", "A", "AAAA"))


# Names that only the last configuration has records or upstreams for.
OF_NESTED = (worlds.NESTED, "office.test", "stub.test", f"acme.{worlds.DOMAIN}", "printer." + SVC, "stub." + SVC)


def choose(rng: random.Random, fixed: Choice) -> Choice:
    """Every other one asks for what the name has, where it has it."""
    choice = {axis: fixed[axis] if axis in fixed else rng.choice(values) for axis, values in AXES.items()}
    if "type" not in fixed and rng.random() < 0.5:
        choice["type"] = rng.choice(apt_types(str(choice["name"])))
    if "configuration" not in fixed and str(choice["name"]).endswith(OF_NESTED) and rng.random() < 0.5:
        choice["configuration"] = "nested"
    if "tsig" not in fixed and choice["configuration"] == "tsig" and rng.random() < 0.5:
        choice["tsig"] = "good"
    if choice["edns"] is None:
        choice.update({axis: AXES[axis][-1] if axis == "do" else None for axis in EDNS_AXES})
    return choice


def pairs_of(choice: Choice) -> Iterator[tuple]:
    axes = [axis for axis in AXES if choice["edns"] is not None or axis not in EDNS_AXES]
    for a, b in itertools.combinations(axes, 2):
        yield a, choice[a], b, choice[b]


def all_pairs() -> set[tuple]:
    """Those that can be: options need an OPT record."""
    pairs = set()
    for a, b in itertools.combinations(AXES, 2):
        for value_a, value_b in itertools.product(set(AXES[a]), set(AXES[b])):
            if not (a == "edns" and value_a is None and b in EDNS_AXES):
                pairs.add((a, value_a, b, value_b))
    return pairs


def complete(rng: random.Random, choices: list[Choice]) -> int:
    """Adds what no choice has yet; returns how many pairs there are."""
    wanted = all_pairs()
    missing = wanted.difference(*(pairs_of(choice) for choice in choices))
    for pair in sorted(missing, key=repr):
        if pair not in missing:
            continue
        a, value_a, b, value_b = pair
        fixed = {a: value_a, b: value_b}
        if fixed.keys() & set(EDNS_AXES):
            fixed.setdefault("edns", 1232)
        choices.append(choose(rng, fixed))
        missing.difference_update(pairs_of(choices[-1]))
    return len(wanted)

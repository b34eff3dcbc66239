"""External names beside CoreDNS: its plugins rewrite (exact, suffix; answer auto), etcd with fallthrough, and forward; our
-alias and -overrides with the same keys and the same upstream. 2,000 generated questions, compared by rcode and by the
data of the type asked for. Where the answers differ, one of REASONS has to say why, and our answer is the contract's."""

import random
import zlib
from collections import Counter
from dataclasses import dataclass

import dns.message
import dns.rcode
import dns.rdatatype
import peers
import pytest
from dns_client import Dns
from programs import Program, reserve_port
from records import SVC, value
from scripted import Nameserver, reply, soa
from test_overrides import note
from upstream import PATIENT

SEED = 40
QUESTIONS = 2000
EQUAL_MIN = 1000
TYPES = ("A", "AAAA", "TXT", "MX", "CAA")
ADDRESSES = ("A", "AAAA")
ZONES = ("example.com", "acme.test")
CAA = '0 issue "ca.test"'

# What the contract says that CoreDNS does not do; each is seen.
REASONS = {
    "subtree": "nothing below a name answers for it: CoreDNS gives a name the records of the keys below it",
    "owner": "targetstrip makes the owner: in CoreDNS, the whole key is a name, too",
    "types": "other types are the upstream's, whose NXDOMAIN is NODATA: in CoreDNS, etcd has the name, and no data",
    "note": "text beside a host is not answered: CoreDNS shows what external-dns keeps there",
    "wildcard": "a key whose first label is * answers for names below its parent (RFC 4592): not in CoreDNS",
    "rr": "the field rr holds any type: CoreDNS does not know it",
    "alias": "an alias has addresses alone: rewrite asks for every type of its target",
    "absent": "an alias of a name that is not there has no data: rewrite passes NXDOMAIN on",
    "ring": "what never ends is SERVFAIL: CoreDNS leaves it out",
}

Answer = tuple[str, frozenset[str]]


def key_of(name: str) -> str:
    return "/skydns/" + "/".join(reversed(name.split(".")))


def upstream_answer(name: str, rdtype: str) -> Answer:
    """What the upstream says: of each name something else."""
    number = zlib.crc32(name.encode()) % 250
    if name.startswith("nx"):
        return "NXDOMAIN", frozenset()
    has = {
        "A": f"198.51.100.{number}",
        "AAAA": f"2001:db8::{number:x}" if number % 2 else "",
        "TXT": f'"up {number}"',
        "MX": f"5 mail-{number}.example.net.",
        "CAA": f'0 issue "up{number}.test"' if number % 3 else "",
    }
    return "NOERROR", frozenset(filter(None, [has.get(rdtype, "")]))


def as_nameserver(query: dns.message.Message, transport: str) -> bytes:
    [question] = query.question
    name, rdtype = question.name.to_text().lower(), dns.rdatatype.to_text(question.rdtype)
    rcode, data = upstream_answer(name.rstrip("."), rdtype)
    lines = [f"{name} 300 {rdtype} {text}" for text in data]
    return reply(*lines, rcode=rcode, authority=() if lines else (soa("test."),))(query, transport)


@dataclass
class Name:
    kind: str
    addresses: frozenset[str] = frozenset()  # of both families
    text: str = ""


class World:
    """Keys, names that are asked for, and what the contract says of them."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.keys: dict[str, str] = {}
        self.names: dict[str, Name] = {}
        self.services: dict[str, frozenset[str]] = {}
        self.rewrites: list[tuple[str, str, str]] = []  # kind, from, to
        self._make_services()
        for zone in ZONES:
            self._make_owners(zone)
            self._make_wildcards(zone)
            self.names[zone] = Name("above")
        self._make_aliases()
        for i in range(60):
            for start in ("far", "nx"):
                self.names[f"{start}-{i}.{rng.choice((*ZONES, 'other.test'))}"] = Name("missing")

    def _put(self, name: str, text: str) -> None:
        self.keys[key_of(name)] = text

    def _some_addresses(self, v4: int, v6: int) -> list[str]:
        made = [f"10.{self.rng.randrange(256)}.{self.rng.randrange(256)}.{self.rng.randrange(1, 255)}" for _ in range(v4)]
        return made + [f"fd00::{self.rng.randrange(1, 1 << 16):x}" for _ in range(v6)]

    def _make_services(self) -> None:
        for i in range(20):
            addresses = self._some_addresses(*((1, 0), (3, 0), (0, 1), (2, 1))[i % 4])
            self.services[f"web{i}.prod.svc.cluster.local"] = frozenset(addresses)
            for k, address in enumerate(addresses):
                self.keys[f"{SVC}/prod/web{i}/{k:02x}"] = value(address)

    def _own(self, name: str, addresses: list[str]) -> None:
        """As external-dns writes it; each key is a name for CoreDNS alone."""
        self.names[name] = Name("noted", frozenset(addresses))
        for k, address in enumerate(addresses):
            self._put(f"{k:04x}.{name}", note(address))
            self.names[f"{k:04x}.{name}"] = Name("key")

    def _make_owners(self, zone: str) -> None:
        for i in range(12):
            nx = "nx" if i % 3 == 0 else ""  # the upstream does not know the name
            self._own(f"{nx}own{i}.{zone}", self._some_addresses(*((1, 0), (2, 0), (0, 1), (1, 1))[i % 4]))
            plain, service = self._some_addresses(1, 0), f"web{i}.prod.svc.cluster.local"
            self._put(f"{nx}plain{i}.{zone}", value(plain[0]))
            self.names[f"{nx}plain{i}.{zone}"] = Name("owner", frozenset(plain))
            self.names[f"{nx}below.plain{i}.{zone}"] = Name("missing")
            self._put(f"led{i}.{zone}", value(f"{service}."))
            self.names[f"led{i}.{zone}"] = Name("owner", self.services[service])
            self._put(f"chain{i}.{zone}", value(f"led{i}.{zone}."))
            self.names[f"chain{i}.{zone}"] = Name("owner", self.services[service])
            self._put(f"out{i}.{zone}", value(f"{nx}lb{i}.example.net."))
            self.names[f"out{i}.{zone}"] = Name("owner", self._of_upstream(f"{nx}lb{i}.example.net"))
            self._put(f"text{i}.{zone}", f'{{"text":"hello {i}"}}')
            self.names[f"text{i}.{zone}"] = Name("text", text=f'"hello {i}"')
            self._put(f"rr{i}.{zone}", f'{{"rr":["CAA {CAA}"]}}'.replace('issue "ca.test"', r"issue \"ca.test\""))
            self.names[f"rr{i}.{zone}"] = Name("rr")
            self._put(f"x.y.{nx}deep{i}.{zone}", value(plain[0]))
            self.names[f"x.y.{nx}deep{i}.{zone}"] = Name("owner", frozenset(plain))
            self.names |= {f"y.{nx}deep{i}.{zone}": Name("above"), f"{nx}deep{i}.{zone}": Name("above")}
        self._put(f"ring.{zone}", value(f"gnir.{zone}."))
        self._put(f"gnir.{zone}", value(f"ring.{zone}."))
        self.names |= {f"ring.{zone}": Name("ring"), f"gnir.{zone}": Name("ring")}

    def _make_wildcards(self, zone: str) -> None:
        for i in range(6):
            addresses, own = (self._some_addresses(1, i % 2) for _ in range(2))
            self._put(f"*.wild{i}.{zone}", value(addresses[0]))
            wild = frozenset(addresses[:1])
            self._put(f"own.wild{i}.{zone}", value(own[0]))
            self.names |= {
                f"own.wild{i}.{zone}": Name("owner", frozenset(own[:1])),
                f"x.own.wild{i}.{zone}": Name("missing"),
                f"wild{i}.{zone}": Name("above"),
                f"*.wild{i}.{zone}": Name("wild", wild),
            }
            self.names |= {f"{label}.wild{i}.{zone}": Name("wild", wild) for label in ("a", "nxb", "c.d")}

    def _make_aliases(self) -> None:
        for i in range(12):
            name, service = f"{'nx' if i % 3 == 0 else ''}api{i}.{ZONES[i % 2]}", f"web{i}.prod.svc.cluster.local"
            self.rewrites.append(("exact", name, service))
            self.names[name] = Name("alias", self.services[service])
            self.names[f"below.{name}"] = Name("missing")
        # Before etcd, and outside.
        self.rewrites.append(("exact", "own1.example.com", "web2.prod.svc.cluster.local"))
        self.names["own1.example.com"] = Name("alias", self.services["web2.prod.svc.cluster.local"])
        self.rewrites.append(("exact", "outside.example.com", "lb1.example.net"))
        self.names["outside.example.com"] = Name("alias", self._of_upstream("lb1.example.net"))
        self.rewrites.append(("suffix", ".old.test", ".svc.cluster.local"))
        self.names["old.test"] = Name("missing")
        for i in range(20):
            self.names[f"web{i}.prod.old.test"] = Name("alias", self.services[f"web{i}.prod.svc.cluster.local"])
            self.names[f"gone{i}.prod.old.test"] = Name("absent")

    def _of_upstream(self, name: str) -> frozenset[str]:
        return frozenset().union(*(upstream_answer(name, rdtype)[1] for rdtype in ADDRESSES))

    def questions(self) -> list[tuple[str, str]]:
        every = [(name, rdtype) for name in self.names for rdtype in TYPES]
        return self.rng.sample(every, QUESTIONS)

    def right(self, name: str, rdtype: str) -> tuple[Answer, str]:
        """What the contract says; and the reason that CoreDNS may have to answer something else, or nothing."""
        it, upstream = self.names[name], upstream_answer(name, rdtype)
        of_others = "NOERROR", upstream[1]
        if it.kind in ("missing", "above", "key"):
            return upstream, {"above": "subtree", "key": "owner"}.get(it.kind, "")
        if it.kind == "text":
            return (("NOERROR", frozenset([it.text])), "") if rdtype == "TXT" else (of_others, "types")
        if it.kind == "rr":
            return (("NOERROR", frozenset([CAA])), "rr") if rdtype == "CAA" else (of_others, "types")
        if rdtype not in ADDRESSES:
            reasons = {"alias": "alias", "absent": "alias", "noted": "note" if rdtype == "TXT" else "types"}
            return of_others, reasons.get(it.kind, "types")
        if it.kind == "ring":
            return ("SERVFAIL", frozenset()), "ring"
        data = frozenset(address for address in it.addresses if (":" in address) == (rdtype == "AAAA"))
        return ("NOERROR", data), {"wild": "wildcard", "absent": "absent"}.get(it.kind, "")

    def corefile(self, port: int, etcd: str, nameserver: int) -> str:
        rules = "".join(f"    rewrite stop name {kind} {old} {new} answer auto\n" for kind, old, new in self.rewrites)
        return (
            f".:{port} {{\n    bind 127.0.0.1\n{rules}"
            f"    etcd cluster.local {' '.join(ZONES)} {{\n        path /skydns\n        endpoint {etcd}\n"
            f"        fallthrough {' '.join(ZONES)}\n    }}\n    forward . 127.0.0.1:{nameserver}\n}}\n"
        )

    def flags(self) -> list[str]:
        return [
            f"-alias={old}={new}" if kind == "exact" else f"-alias=*{old}=*{new}" for kind, old, new in self.rewrites
        ]


def asked(client: Dns, name: str, rdtype: str) -> Answer:
    answer = client.query(name, rdtype)
    right = dns.rdatatype.from_text(rdtype)
    data = [rdata.to_text() for rrset in answer.answer if rrset.rdtype == right for rdata in rrset]
    return dns.rcode.to_text(answer.rcode()), frozenset(data)


@pytest.fixture
def upstream():
    server = Nameserver()
    server.always = as_nameserver
    yield server
    server.close()


def test_external_names_are_those_of_coredns(bare_bed, upstream, record_property):
    if reason := peers.missing("coredns"):
        pytest.skip(reason)
    world = World(random.Random(SEED))
    bare_bed.start_etcd()
    for key, text in world.keys.items():
        bare_bed.etcd.put(key, text)
    bare_bed.start_skydns("-overrides", f"-nameservers=127.0.0.1:{upstream.port}", PATIENT, *world.flags())
    theirs = Dns(reserve_port())
    file = bare_bed.folder / "Corefile"
    file.write_text(world.corefile(theirs.port, bare_bed.etcd_urls[0], upstream.port))
    coredns = Program("coredns", [peers.program("coredns", "coredns"), "-conf", str(file)]).start()
    try:
        coredns.wait_ready(lambda: theirs.answers("far-0.example.com") not in (["no answer"], ["SERVFAIL"]), "answers")
        faults, seen, equal = [], Counter(), 0
        for name, rdtype in world.questions():
            right, reason = world.right(name, rdtype)
            ours, other = asked(bare_bed.dns, name, rdtype), asked(theirs, name, rdtype)
            if ours != right or (other != ours and not reason) or other[0] == "SERVFAIL":
                faults.append(f"{name} {rdtype} ({world.names[name].kind}): ours {ours}, theirs {other}, right {right}")
            seen[reason] += other != ours
            equal += other == ours
    finally:
        coredns.kill()
    record_property("equal", equal)
    record_property("different", dict(seen))
    assert not faults, "\n".join(faults[:40])
    assert {reason for reason, count in seen.items() if count and reason} == REASONS.keys()
    assert equal >= EQUAL_MIN

"""A signed server with everything that a name may lead into: random keys in etcd, a nested domain with keys and one
without, stub zones, reverse zones with and without keys, names elsewhere. And random questions to it.
"""

import json
import random
from functools import cached_property
from pathlib import Path

import dns.message
import dns.rcode
import dns.rdatatype
from answer_model import name_of
from dns.name import Name
from dnssec_bed import INSECURE, SECURE, Server, data_of, keygen
from dnssec_proofs import Proofs
from dnssec_proofs import name_of as parsed
from records import value
from scripted import reply as told
from scripted import soa
from test_answers_random import asked_path, json_of, some_key
from upstream import Upstream

DATA_TYPES = ("A", "AAAA", "SRV", "TXT", "MX", "PTR", "NS", "SOA")
TYPES = (*DATA_TYPES, "CNAME", "DNSKEY", "DS", "CDS", "CDNSKEY", "NSEC", "HINFO", "ANY", "TYPE65", "CAA", "NAPTR")
DOMAINS = ("cluster.local.", "signed.cluster.local.", "plain.cluster.local.")
STUBS = ("corp.cluster.local.", "stub.default.svc.cluster.local.")
SIGNED_REVERSE, PLAIN_REVERSE = "0.0.10.in-addr.arpa.", "1.0.10.in-addr.arpa."
SIGNED = (*DOMAINS[:2], SIGNED_REVERSE)
_TOPS = (DOMAINS[0], SIGNED_REVERSE, PLAIN_REVERSE)
ELSEWHERE = ("www.example.org", "www.corp.cluster.local", "web.default.svc.signed.cluster.local",
             "web.default.svc.plain.cluster.local")

_SVC = "/skydns/local/cluster/svc"
_FIXED = {
    "/skydns/local/cluster/signed/svc/default/web/a": value("10.0.0.7"),
    "/skydns/local/cluster/plain/svc/default/web/a": value("10.0.0.8"),
    f"{_SVC}/deep/web/a/b/c/d": value("10.0.0.4"),
    f"{_SVC}/default/mixed/a": value("10.0.0.5"),
    f"{_SVC}/default/mixed/b": value("fd00::5"),
    f"{_SVC}/default/mixed/_tcp/_http/a": value("a.mixed.default.svc.cluster.local.", 80),
    "/skydns/local/cluster/pod/default/10-0-0-9/a": value("10.0.0.9"),
    "/skydns/local/cluster/pod/default/127-0-0-5/a": value("127.0.0.5"),
    "/skydns/local/cluster/pod/prod/127-0-0-6/a": value("127.0.0.6"),
    "/skydns/arpa/in-addr/10/0/0/5": value("mixed.default.svc.cluster.local."),
    "/skydns/arpa/in-addr/10/0/1/5": value("mixed.default.svc.cluster.local."),
    "/skydns/arpa/in-addr/10/0/0/77": value("web.default.svc.cluster.local."),
}
# With -schema=skydns every name with a host name as data has a CNAME beside other types, which validators refuse.
_ALIASES = {
    f"{_SVC}/default/away/a": value(ELSEWHERE[0]),
    f"{_SVC}/default/away2/a": value(ELSEWHERE[1]),
    f"{_SVC}/default/over/a": value(ELSEWHERE[2]),
    f"{_SVC}/default/under/a": value(ELSEWHERE[3]),
    f"{_SVC}/default/near/a": value("mixed.default.svc.cluster.local"),
    f"{_SVC}/default/twice/a": value("near.default.svc.cluster.local"),
    f"{_SVC}/default/dead/a": value("absent.default.svc.cluster.local"),
}
_LABELS = ("a", "b", "web", "mixed", "nope", "0", "zz", "\\000", "a\\000", "\\255", "_tcp", "xn--a", "A", "l" * 63, "-")


class _Elsewhere(Upstream):
    """Has an address for every name, in the stub zones too, and little else. Answers HINFO as any other type."""

    def __init__(self):
        super().__init__(None)

    def _reply(self, transport: str, wire: bytes) -> bytes:
        query = dns.message.from_wire(wire)
        name, rdtype = query.question[0].name, query.question[0].rdtype
        zone = next((zone for zone in STUBS if name.is_subdomain(parsed(zone))), f"{name.labels[-2].decode()}.")
        if rdtype == dns.rdatatype.A:
            return told(f"{name} 300 A 192.0.2.7")(query, transport)
        if rdtype == dns.rdatatype.SOA and name == parsed(zone):
            return told(soa(zone))(query, transport)
        return told(authority=[soa(zone)])(query, transport)


class World:
    def __init__(self, bed, seed: int, schema: str = "kubernetes", *flags: str, algorithm: int = 13, split=False):
        self.rng, self.schema = random.Random(seed), schema
        self.nameserver = _Elsewhere()
        at = f"127.0.0.1:{self.nameserver.port}"
        folder: Path = bed.folder
        tops = [keygen(folder, zone, algorithm) for zone in (DOMAINS[0], SIGNED_REVERSE)]
        others = [keygen(folder, zone, algorithm, sep=False) for zone in (DOMAINS[0],) if split]
        nested = [keygen(folder, DOMAINS[1], algorithm)]
        self.anchors = tops
        self.keys = (*tops, *others, *nested)
        self.flags = (
            f"-domain={','.join(DOMAINS)}",
            "-reverse-zones=10.0.0.0/24,10.0.1.0/24",
            *[f"-stub={zone}={at}" for zone in STUBS],
            f"-nameservers={at}",
            "-any=hinfo",
            "-max-udp-size=4096",
            *flags,
        )
        self.server = Server(bed, *self.flags, schema=schema, keys=self.keys)
        self._mixed: dict[tuple[str | None, Name], bool] = {}
        self.records = self._records()
        for key, text in self.records.items():
            bed.etcd.put(key, text)
        self.server.start()
        self.server.wait_etcd(0)

    def close(self) -> None:
        self.nameserver.close()

    def _records(self) -> dict[str, str]:
        keys = [some_key(self.rng) for _ in range(200)]
        if self.schema == "skydns":
            keys = [key for key in keys if key.family != "NAME"]
        # The owner of a signed record that begins with `*` is a wildcard of DNS, from which resolvers make answers.
        keys = [key for key in keys if "*" not in (*key.path, *key.host.split("."))]
        records = {"/skydns/" + "/".join(key.path): json_of(key) for key in keys if key.host != "outside"}
        return records | _FIXED | (_ALIASES if self.schema == "kubernetes" else {})

    # ---- What there is ----

    @cached_property
    def existing(self) -> list[str]:
        """The names of all keys and those above them, in the zones that are signed; but none that a `*` is in: those
        are no wildcards of DNS, and DNS cannot say so."""
        names = set()
        for key in self.records:
            path = tuple(key.removeprefix("/skydns/").split("/"))
            if "*" not in path:
                names |= {name_of(path[:depth]) for depth in range(2, len(path) + 1)}
        return sorted(names)

    def proofs(self) -> Proofs:
        rrsets = [self.server.ask(zone, "DNSKEY").answer[0] for zone in SIGNED]
        return Proofs(rrsets, (*STUBS, DOMAINS[2], PLAIN_REVERSE), self.existing)

    # ---- Questions ----

    def name(self) -> str:
        kind = self.rng.random()
        base = name_of(asked_path(self.rng))
        if kind < 0.35:
            return base
        if kind < 0.5:
            return self._labels(2) + base
        if kind < 0.8:
            return self._labels(1) + self.rng.choice(self.existing)
        top = self.rng.choice((*DOMAINS, *STUBS, SIGNED_REVERSE, PLAIN_REVERSE, "5." + SIGNED_REVERSE))
        return self._labels(3) + top

    def _labels(self, most: int) -> str:
        return "".join(self.rng.choice(_LABELS) + "." for _ in range(self.rng.randint(0, most)))

    def question(self) -> tuple[str, str]:
        return self.name(), self.rng.choice(TYPES)

    def plain(self, name: str, rdtype: str) -> dns.message.Message | None:
        """The answer without DO, or with it if only then there is one; None: a validator need not agree with it. That
        is what our limits cut off, a loop of aliases, a CNAME beside other types, and the DS of a zone whose parent is
        elsewhere."""
        reply = self.server.ask(name, rdtype, do=rdtype in ("DS", "NSEC"))
        aliases = {r.name: r[0].target for r in reply.answer if r.rdtype == dns.rdatatype.CNAME}
        owners = {parsed(name)} | {r.name for r in reply.answer}
        if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN) or len(aliases) > 7:
            return None
        if rdtype == "DS" and (owners | set(aliases.values())) & set(map(parsed, _TOPS)):
            return None
        if aliases and rdtype == "NSEC":  # BIND takes no alias for the type that an alias has itself
            return None
        if aliases and rdtype in ("DNSKEY", "CDS", "CDNSKEY") and set(aliases.values()) & set(map(parsed, SIGNED)):
            return None  # a resolver goes on to the keys
        if set(aliases.values()) & (set(aliases) | {parsed(name)}) - self._led_to(aliases, parsed(name)):
            return None
        if (self.schema == "skydns" or rdtype == "TXT") and any(map(self._is_mixed, owners)):
            return None  # a resolver that has the CNAME follows it
        return reply

    @staticmethod
    def _led_to(aliases: dict[Name, Name], name: Name) -> set[Name]:
        """The names of a chain that ends."""
        been: list[Name] = []
        while name in aliases and name not in been:
            been.append(name)
            name = aliases[name]
        return set() if name in been else {*been[1:], name}

    def _is_mixed(self, owner: Name) -> bool:
        """With -schema=kubernetes, a CNAME may have TXT beside it. Up to ten questions, the same for every type."""
        key = self.server.client, owner
        if key not in self._mixed:
            self._mixed[key] = self._has_kinds(owner)
        return self._mixed[key]

    def _has_kinds(self, owner: Name) -> bool:
        kinds = set()
        for rdtype in ("A", "AAAA", "CNAME", *DATA_TYPES):
            if rdtype == "SRV" and dns.rdatatype.CNAME not in kinds:
                return False
            kinds |= {r.rdtype for r in self.server.ask(owner.to_text(), rdtype, do=False).answer if r.name == owner}
        return len(kinds) > 1

    def verdict(self, proofs: Proofs, reply: dns.message.Message) -> str:
        """What a validator must find: secure, if the name, and each that it leads to, is in a signed zone."""
        question = reply.question[0]
        name = question.name.canonicalize()
        if question.rdtype == dns.rdatatype.DS and proofs.is_cut(name):
            return SECURE
        ends = [name, proofs.end_of_chain(reply)[0]]
        return SECURE if all(proofs.zone_of(end) for end in ends) else INSECURE

    def types_that_answer(self, name: str) -> set[int]:
        """Asked directly."""
        replies = {rdtype: self.server.ask(name, rdtype, do=False) for rdtype in (*DATA_TYPES, "CNAME")}
        types = {dns.rdatatype.from_text(rdtype) for rdtype, reply in replies.items() if reply.answer}
        if self.schema == "kubernetes" and dns.rdatatype.CNAME in types:  # and has nothing else, but texts
            has_texts = replies["TXT"].answer[0].rdtype == dns.rdatatype.TXT
            return {dns.rdatatype.CNAME, dns.rdatatype.TXT} if has_texts else {dns.rdatatype.CNAME}
        return types


def same(a: dns.message.Message, b: dns.message.Message) -> bool:
    return (a.rcode(), data_of(a)) == (b.rcode(), data_of(b))


def as_json(**fields) -> str:
    return json.dumps(fields)

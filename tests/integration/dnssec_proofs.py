"""Verifies signed replies: RFC 4035 5, RFC 4470 and RFC 6840, from their text, with dnspython and its cryptography.

Stricter than a validator: every RRset of a signed zone has a signature of every key that is to sign it, and no NSEC
covers a name that exists.
"""

from collections.abc import Iterable

import dns.dnssec
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
from dns.name import Name
from dns.rdatatype import CDNSKEY, CDS, CNAME, DNSKEY, DS, NSEC, RRSIG, SOA

_BEFORE_S, _AHEAD_S, _RENEWED_S = 3 * 3600, 7 * 86400, 7 * 86400 // 2
_CLOCKS_S = 120  # between a signature and the look at it, on a slow machine
INVENTED = {NSEC, RRSIG}  # the types of a name that only a proof has


def name_of(text: str) -> Name:
    return dns.name.from_text(text).canonicalize()


def types_of(rdata) -> set[int]:
    """Of an NSEC's bitmap."""
    return {
        256 * window + 8 * at + bit
        for window, octets in rdata.windows
        for at, octet in enumerate(octets)
        for bit in range(8)
        if octet & 0x80 >> bit
    }


def covers(owner: Name, following: Name, apex: Name, name: Name) -> bool:
    """RFC 4034 4.1, 6.1; the last NSEC's next name is the apex."""
    return owner < name and (name < following or following == apex) and name.is_subdomain(apex)


def common_ancestor(a: Name, b: Name) -> Name:
    return Name(a.labels[len(a.labels) - a.fullcompare(b)[2] :])


class Proofs:
    """`keys`: the DNSKEY sets of the signed zones; `unsigned`: zones without keys at or below them; `existing`: names
    that exist."""

    def __init__(self, keys: Iterable[dns.rrset.RRset], unsigned: Iterable[str] = (), existing: Iterable[str] = ()):
        self._keys = {rrset.name.canonicalize(): rrset for rrset in keys}
        self._zones = sorted([*self._keys, *map(name_of, unsigned)], key=len, reverse=True)
        self.existing = sorted(map(name_of, existing))
        self.ahead_s = _CLOCKS_S  # a signature may be made so much later than now

    def zone_of(self, name: Name) -> Name | None:
        """The signed zone that a name belongs to; None: it is in another zone."""
        zone = next((zone for zone in self._zones if name.is_subdomain(zone)), None)
        return zone if zone in self._keys else None

    def is_cut(self, name: Name) -> bool:
        """Where another zone begins within a signed one."""
        return name in self._zones and self.zone_of(name.parent()) is not None

    def _signer(self, rrset: dns.rrset.RRset) -> Name | None:
        owner = rrset.name.canonicalize()
        from_parent = rrset.rdtype == DS or rrset.rdtype == NSEC and SOA not in types_of(rrset[0])
        return self.zone_of(owner.parent() if from_parent and self.is_cut(owner) else owner)

    def _signing_tags(self, zone: Name, rdtype: int) -> set[int]:
        """One key may do both; else those with the SEP bit sign the apex' keys alone."""
        seps = {dns.dnssec.key_id(key) for key in self._keys[zone] if key.flags & 1}
        others = {dns.dnssec.key_id(key) for key in self._keys[zone]} - seps
        if not seps or not others:
            return seps | others
        return seps if rdtype in (DNSKEY, CDS, CDNSKEY) else others

    # ---- Signatures ----

    def check_signatures(self, reply: dns.message.Message, now_s: float) -> None:
        for section in (reply.answer, reply.authority, reply.additional):
            signatures = {(r.name, r.covers): r for r in section if r.rdtype == RRSIG}
            for rrset in (r for r in section if r.rdtype != RRSIG):
                zone, rrsigs = self._signer(rrset), signatures.pop((rrset.name, rrset.rdtype), None)
                if zone is None:
                    assert rrsigs is None, f"signed: {rrset}"
                    continue
                self._check_rrset(rrset, rrsigs, zone, now_s)
            assert not signatures, f"signatures of nothing: {signatures}"

    def _check_rrset(self, rrset, rrsigs, zone: Name, now_s: float) -> None:
        assert rrsigs, f"not signed: {rrset}"
        assert {one.key_tag for one in rrsigs} == self._signing_tags(zone, rrset.rdtype), rrsigs
        for one in rrsigs:
            dns.dnssec.validate_rrsig(rrset, one, {zone: self._keys[zone]}, now=now_s)
            is_wild = rrset.name.labels[0] == b"*"
            assert one.signer == zone and one.labels == len(rrset.name) - 1 - is_wild, one
            assert one.original_ttl == rrset.ttl == rrsigs.ttl, (rrset, rrsigs)
            made_s = one.inception + _BEFORE_S
            assert -self.ahead_s <= now_s - made_s <= _RENEWED_S + _CLOCKS_S, (now_s, made_s)
            assert one.expiration - one.inception == _BEFORE_S + _AHEAD_S

    # ---- Denials ----

    def check(self, reply: dns.message.Message, now_s: float) -> None:
        """The whole reply."""
        assert not reply.flags & dns.flags.AD, "AD is the validator's"
        self.check_signatures(reply, now_s)
        question = reply.question[0]
        name, followed = self.end_of_chain(reply)
        zone = self.zone_of(name.parent() if question.rdtype == DS and self.is_cut(name) else name)
        has_answer = any(r.name.canonicalize() == name and r.rdtype == question.rdtype for r in reply.answer)
        is_other = question.rdtype in (dns.rdatatype.ANY, RRSIG) and len(reply.answer) > followed
        if reply.rcode() == dns.rcode.NXDOMAIN and zone is not None:
            self._check_no_name(reply, name, zone)
        elif reply.rcode() == dns.rcode.NOERROR and zone is not None and not (has_answer or is_other):
            self._check_no_type(reply, name, question.rdtype, zone)
        self._check_nothing_covered(reply)

    def end_of_chain(self, reply: dns.message.Message) -> tuple[Name, int]:
        """The last name of the aliases, and how many there are; it may be the question's own."""
        question = reply.question[0]
        name, count = question.name.canonicalize(), 0
        aliases = {r.name.canonicalize(): r[0].target.canonicalize() for r in reply.answer if r.rdtype == CNAME}
        while question.rdtype not in (CNAME, dns.rdatatype.ANY) and name in aliases and count < len(aliases):
            name, count = aliases[name], count + 1
        return name, count

    def _nsecs(self, reply: dns.message.Message, zone: Name) -> list[tuple[Name, Name, set[int]]]:
        rrsets = [r for r in reply.authority if r.rdtype == NSEC]
        assert all(len(rrset) == 1 and self._signer(rrset) == zone for rrset in rrsets), rrsets
        [soa] = [r for r in reply.authority if r.rdtype == SOA]
        assert soa.name.canonicalize() == zone
        assert all(rrset.ttl == min(soa.ttl, soa[0].minimum) for rrset in rrsets), "RFC 9077"
        return [(r.name.canonicalize(), r[0].next.canonicalize(), types_of(r[0])) for r in rrsets]

    def _check_no_type(self, reply: dns.message.Message, name: Name, rdtype: int, zone: Name) -> None:
        [(owner, following, types)] = self._nsecs(reply, zone)
        assert owner == name, f"{owner} has no say about {name}"
        assert not types & {rdtype, CNAME} and INVENTED <= types, types
        if self.is_cut(name) and rdtype == DS:
            assert dns.rdatatype.NS in types and SOA not in types
        elif dns.rdatatype.NS in types:
            assert SOA in types and owner == zone, "RFC 6840 4.1: an ancestor's NSEC"

    def _check_no_name(self, reply: dns.message.Message, name: Name, zone: Name) -> None:
        """RFC 4035 5.4: the name is covered, and the wildcard at the closest encloser (RFC 4470: two NSECs)."""
        nsecs = self._nsecs(reply, zone)
        assert 1 <= len(nsecs) <= 2, nsecs
        covering = [nsec for nsec in nsecs if covers(nsec[0], nsec[1], zone, name)]
        assert covering, f"{name} is not covered by {nsecs}"
        for owner, following, types in covering:
            assert not (name.is_subdomain(owner) and dns.rdatatype.DNAME in types), nsecs
            enclosers = [common_ancestor(name, owner), common_ancestor(name, following)]
            wildcard = Name((b"*", *max(enclosers, key=len).labels))
            assert any(covers(*nsec[:2], zone, wildcard) for nsec in nsecs), f"{wildcard} is not covered by {nsecs}"
        for owner, following, types in nsecs:
            assert INVENTED <= types and (owner in self.existing or not self.existing or types == INVENTED), nsecs

    def _check_nothing_covered(self, reply: dns.message.Message) -> None:
        for rrset in (r for section in (reply.answer, reply.authority) for r in section if r.rdtype == NSEC):
            span = rrset.name.canonicalize(), rrset[0].next.canonicalize(), self._signer(rrset)
            denied = [name for name in self.existing if covers(*span, name)]
            assert not denied, f"{denied} exist, and {rrset} covers them"

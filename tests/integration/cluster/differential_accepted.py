"""The differences between skydns -schema=kubernetes and CoreDNS that are accepted: the only list of them.
COMPATIBILITY.md has its table, which this program prints:

    differential_accepted.py

A rule's docstring is its row: what is asked | skydns | CoreDNS | who is right: why. Its function returns, for a question
with both answers, CoreDNS's answer without this difference, or None if the difference is not there. Rules are tried in
this order, each on what the earlier ones have left; two answers agree if nothing is left. A rule says as much as it can
about the question and both answers, so that it hides no fault: `with_ours()` also demands that our answer is that of
skydns' own model.
"""

from dataclasses import replace

import dns.opcode
from differential_asking import CH, COOKIE, EDE, IN, KEEPALIVE, Answer, Record
from differential_case import Case, accept, table
from differential_view import dashed

_DENIAL_MAX_S = 1800  # skydns(8)

# ---- Queries that are not for a name's records ----


@accept("Q1")
def _opcode(case: Case) -> Answer | None:
    """other opcodes than QUERY | NOTIMP | NOTIFY is answered as a query | ours: RFC 1996 3.11, we are no secondary"""
    is_one = case.question.opcode != dns.opcode.QUERY and case.ours.rcode == "NOTIMP" and not case.ours.edns
    return replace(case.with_ours_unchecked(), edns=None, question=case.ours.question) if is_one else None


@accept("Q2")
def _class(case: Case) -> Answer | None:
    """classes but IN and CH | REFUSED; ANY of our names as IN, without AA | answered as IN, but HS and unknown ones
    | ours: there is no such data
    """
    is_one = case.question.rdclass not in (IN, CH) and case.ours.rcode == "REFUSED"
    if not is_one and case.is_of_any_class and case.is_inside:
        return replace(case.theirs, flags=case.theirs.flags - {"AA"})
    return case.with_ours_unchecked() if is_one else None


@accept("Q3")
def _chaos(case: Case) -> Answer | None:
    """names in class CH | REFUSED | answered as IN | ours: there is no such data"""
    is_one = case.question.rdclass == CH and case.ours.rcode == "REFUSED"
    return case.with_ours_unchecked() if is_one else None


@accept("Q4")
def _meta_type(case: Case) -> Answer | None:
    """meta types but ANY, AXFR and IXFR | TKEY, MAILA and MAILB: NOTIMP; OPT, TSIG, undefined ones: FORMERR | as types
    without data | ours: RFC 6895 3.1, no record can have them"""
    right = {"TKEY": "NOTIMP", "MAILA": "NOTIMP", "MAILB": "NOTIMP"}.get(case.rdtype, "FORMERR")
    is_meta = case.question.rdtype in (41, *range(128, 251), 253, 254)
    return case.with_ours_unchecked() if is_meta and case.ours.rcode == right else None


@accept("Q5")
def _wrong_cookie(case: Case) -> Answer | None:
    """a DNS cookie of a wrong length | FORMERR | an answer | ours: RFC 7873 5.2.2"""
    is_wrong = case.question.edns and len(case.question.edns.option(COOKIE) or bytes(8)) != 8
    is_one = is_wrong and case.ours.rcode == "FORMERR" and not case.ours.edns
    return replace(case.with_ours_unchecked(), edns=None) if is_one else None


@accept("Q6")
def _any(case: Case) -> Answer | None:
    """ANY | REFUSED, or HINFO with `-any=hinfo` | NODATA or NXDOMAIN; external names forwarded | both: RFC 8482"""
    is_one = case.rdtype == "ANY" and case.ours.rcode == "REFUSED" and not (case.is_inside and case.theirs.answer)
    return case.with_ours_unchecked() if is_one else None


@accept("Q7")
def _transfer(case: Case) -> Answer | None:
    """AXFR and IXFR of external names | REFUSED | forwarded | ours: a resolver transfers nothing"""
    is_one = case.rdtype in ("AXFR", "IXFR") and not case.is_inside and case.ours.rcode == "REFUSED"
    return case.with_ours_unchecked() if is_one else None


# ---- Other domains ----


@accept("F1")
def _one_label(case: Case) -> Answer | None:
    """names of one label, and the root | NXDOMAIN, SERVFAIL; DS, DNSKEY, NS and SOA forwarded | forwarded | both: `-ndots`"""
    is_short = case.place.kind == "external" and "." not in case.question.name.rstrip(".")
    right = "SERVFAIL" if case.question.name == "." else "NXDOMAIN"
    is_one = is_short and case.ours.rcode == right and case.rdtype not in ("DS", "DNSKEY", "NS", "SOA")
    return case.with_ours_unchecked() if is_one else None


@accept("F2")
def _reverse_zone(case: Case) -> Answer | None:
    """`in-addr.arpa`, `svc.in-addr.arpa`; SOA of reverse names | forwarded | NODATA, own SOA | ours: not its zones"""
    is_soa = case.place.kind in ("reverse", "reverse-zone") and case.rdtype == "SOA" and case.theirs.is_nodata
    name = case.question.name.lower().removeprefix("svc.").removeprefix("pod.")
    is_one = is_soa or name in ("in-addr.arpa.", "ip6.arpa.")
    return case.with_ours_unchecked() if is_one and case.is_forwarded else None


@accept("F3")
def _long_denial(case: Case) -> Answer | None:
    """names that do not exist | TTL of the SOA at most 30 minutes | as it comes | both: RFC 2308 5 allows a limit"""
    is_one = [one.rdtype for one in case.ours.authority] == ["SOA"] and case.is_forwarded
    if not is_one or case.ours.authority[0].ttl > _DENIAL_MAX_S:
        return None
    cut = tuple(replace(one, ttl=min(one.ttl, _DENIAL_MAX_S)) for one in case.theirs.authority)
    return replace(case.theirs, authority=cut)


@accept("F4")
def _aged(case: Case) -> Answer | None:
    """names queried before | TTLs count down in the response cache | as they come; so with `cache` | both: the test's
    CoreDNS has no `cache`, which would hide changes for 30 s"""
    by_data = {(one.owner, one.rdtype, one.data): one.ttl for one in (*case.ours.answer, *case.ours.authority)}

    def aged(one: Record) -> Record:
        ttl = by_data.get((one.owner, one.rdtype, one.data), one.ttl)
        is_aged = not one.owner.endswith("cluster.local.") and 0 < ttl < one.ttl
        return replace(one, ttl=ttl) if is_aged else one

    return None if case.is_inside else case.with_records(aged)


@accept("F5")
def _nameservers_reply(case: Case) -> Answer | None:
    """external names | the answer alone, no AA | AA, NS and additional records from there | ours: RFC 1035 4.1.1"""
    told = [{(one.owner, one.rdtype, one.data) for one in answer.answer} for answer in (case.ours, case.theirs)]
    if case.is_inside or not case.is_forwarded or told[0] != told[1] or case.ours.rcode != case.theirs.rcode:
        return None
    authority = tuple(one for one in case.theirs.authority if one.rdtype == "SOA" or one in case.ours.authority)
    return replace(case.theirs, flags=case.theirs.flags - {"AA"}, authority=authority, additional=())


@accept("F6")
def _localhost(case: Case) -> Answer | None:
    """`localhost` and names below | 127.0.0.1, ::1; other types NODATA | forwarded | ours: RFC 6761 6.3"""
    addresses = {"A": "127.0.0.1", "AAAA": "::1"}
    right = [(case.rdtype, addresses[case.rdtype])] if case.rdtype in addresses else []
    is_one = f".{case.question.name}".lower().endswith(".localhost.") and case.ours.rcode == "NOERROR"
    is_denied = [one.rdtype for one in case.ours.authority] == ([] if right else ["SOA"])
    is_right = is_one and is_denied and [(one.rdtype, one.data) for one in case.ours.answer] == right
    return case.with_ours_unchecked() if is_right else None


# ---- ExternalName ----


@accept("X1")
def _alias_of_every_type(case: Case) -> Answer | None:
    """ExternalName: HTTPS, SRV, MX, TXT, all types but A, AAAA and CNAME | CNAME, and what a target in the domain has |
    NODATA | ours: RFC 1034 4.3.2, an alias is one for every type"""
    is_other = case.rdtype not in ("A", "AAAA", "CNAME") and not case.theirs.answer
    return case.with_ours() if is_other and case.begins_with_alias else None


@accept("X2")
def _alias_without_address(case: Case) -> Answer | None:
    """ExternalName: a target in the domain without addresses | CNAME, the last name's code | NODATA | ours: RFC 6604"""
    has_none = case.theirs.is_nodata and all(one.rdtype == "CNAME" for one in case.ours.answer)
    return case.with_ours() if has_none and case.rdtype in ("A", "AAAA") and case.begins_with_alias else None


@accept("X3")
def _alias_failed(case: Case) -> Answer | None:
    """ExternalName: upstreams fail to resolve the target | SERVFAIL | CNAME alone | ours: clients would cache "no
    address\""""
    is_failed = case.place.kind == "service" and case.rdtype in ("A", "AAAA") and case.ours.rcode == "SERVFAIL"
    is_alone = case.theirs.rcode == "NOERROR" and {one.rdtype for one in case.theirs.answer} == {"CNAME"}
    return case.with_ours() if is_failed and is_alone else None


@accept("X4")
def _alias_like_address(case: Case) -> Answer | None:
    """ExternalName: 10.1.2.3 | CNAME 10.1.2.3. | NXDOMAIN | ours: the API says that it is a name"""
    is_one = case.theirs.rcode == "NXDOMAIN" and case.begins_with_alias
    return case.with_ours() if is_one and case.place.service.external == "10.1.2.3" else None


@accept("X5")
def _long_chain(case: Case) -> Answer | None:
    """ExternalName: chains of 9 aliases and more | the first 8, no address | 11 aliases and the address | both: RFC 1034
    5.2.2 leaves the limit open"""
    is_long = len(case.view.chain(case.question.name)) > 9 and len(case.theirs.of("CNAME")) > 8
    return case.with_ours() if is_long and len(case.ours.of("CNAME")) == 8 else None


# ---- Endpoints, ports ----


@accept("E1")
def _endpoint_of_cluster_ip(case: Case) -> Answer | None:
    """names of endpoints of a Service with a cluster IP | NXDOMAIN | the endpoint's address | both: the specification
    has them for headless Services"""
    is_one = case.is_of_endpoint("ip") and case.ours.rcode == "NXDOMAIN" and case.theirs.rcode == "NOERROR"
    return case.with_ours() if is_one else None


@accept("E2")
def _all_published(case: Case) -> Answer | None:
    """`publishNotReadyAddresses`, slices made by hand | all addresses | the ready ones | both: controllers mark all"""
    services = [case.last.service] if case.last.service else case.view.published(case.place.ip)
    is_one = any(one.kind == "headless" and one.has_all and one.ready != one.endpoints for one in services)
    return case.with_ours() if is_one else None


@accept("E3")
def _names_slice(case: Case) -> Answer | None:
    """a slice of names (FQDN) | nothing; the log and `/explain` say so | CNAMEs | ours: RFC 1034 3.6.2"""
    is_one = case.last.service is not None and any(one.is_name for one in case.last.service.ready)
    return case.with_ours() if is_one and case.theirs.rcode == "NOERROR" else None


@accept("E4")
def _dotted_pod(case: Case) -> Answer | None:
    """`--endpoint-names=pod` (`endpoint_pod_names`), a pod's name with dots | its address with dashes is the label |
    `pod.with.dots.web…`, which is NXDOMAIN | ours: a label has no dots"""
    endpoints = case.last.service.ready if case.last.service else case.view.claims(case.place.ip)
    is_one = case.view.names == "pod" and any("." in one.label for one in endpoints)
    return case.with_ours() if is_one and case.last.kind in ("service", "below", "reverse") else None


@accept("E5")
def _other_srv(case: Case) -> Answer | None:
    """SRV of ports without names, and of an endpoint's name | NODATA | the ports | both: not in the specification"""
    is_one = case.rdtype == "SRV" and case.ours.is_nodata and case.theirs.of("SRV")
    if is_one and case.is_of_endpoint("headless"):
        return case.with_ours()
    if not is_one or case.last.kind != "service" or not case.last.service:
        return None
    ports = case.last.service.ports + sum((one.ports for one in case.last.service.ready), ())
    unnamed = {str(number) for _, name, number in ports if not name}
    return case.with_ours() if {one.words()[2] for one in case.theirs.of("SRV")} <= unnamed else None


@accept("E6")
def _address_of_port(case: Case) -> Answer | None:
    """A and AAAA of `_http._tcp.web…` | NODATA | the Service's | ours: the specification has SRV there"""
    is_one = case.is_below(2) and case.rdtype in ("A", "AAAA") and case.ours.is_nodata
    return case.with_ours() if is_one and case.theirs.rcode == "NOERROR" else None


@accept("E7")
def _without_underscores(case: Case) -> Answer | None:
    """`http.tcp.web…`, `_http.tcp.…`, `_._tcp.…` | NXDOMAIN | as `_http._tcp.…`; `_` is any port | ours: RFC 2782"""
    is_plain = case.is_below(2) and not all(one.startswith("_") and len(one) > 1 for one in case.last.below)
    return case.with_ours() if is_plain and case.ours.rcode == "NXDOMAIN" and case.theirs.rcode == "NOERROR" else None


@accept("E8")
def _endpoint_port(case: Case) -> Answer | None:
    """`db-0._http._tcp.db…` | SRV of one endpoint | NXDOMAIN | both: an extension of SkyDNS"""
    is_one = case.is_below(3) and case.ours.rcode == "NOERROR" and case.theirs.rcode == "NXDOMAIN"
    return case.with_ours() if is_one else None


@accept("E9")
def _port_without_number(case: Case) -> Answer | None:
    """a slice's port without a number | NXDOMAIN | NODATA, or addresses | both: a SRV needs a number"""
    if not case.is_below(2, "headless") or case.ours.rcode != "NXDOMAIN" or case.theirs.of("SRV"):
        return None
    port = tuple(label.removeprefix("_") for label in case.last.below)
    has_one = any(one[:2] == port and one[2] is None for end in case.last.service.ready for one in end.ports)
    return case.with_ours() if has_one else None


# ---- SRV ----


@accept("S1")
def _priority(case: Case) -> Answer | None:
    """SRV | priority 10 | priority 0 | both: not prescribed; keys of kube2sky have 10"""
    return case.with_srv(lambda theirs, ours: ["10", *theirs[1:]] if (theirs[0], ours[0]) == ("0", "10") else theirs)


@accept("S2")
def _weight(case: Case) -> Answer | None:
    """SRV of two families, or ports without names | weights share 100 | among all addresses and ports | both: equal"""
    weights = [{one.words()[1] for one in answer.of("SRV")} for answer in (case.ours, case.theirs)]
    if any(len(some) != 1 for some in weights) or case.with_ours() is None:
        return None
    return case.with_srv(lambda theirs, ours: [theirs[0], ours[1], *theirs[2:]])


@accept("S4")
def _too_large(case: Case) -> Answer | None:
    """what does not fit over UDP | a random part, and TC; at most 1232 bytes | the first, and TC; as much as the client
    takes | both: `-max-udp-size`"""
    is_cut = not case.question.is_tcp and "TC" in case.ours.flags | case.theirs.flags
    is_one = is_cut and case.rdtype in ("A", "AAAA", "SRV")
    right = case.rights(case.question.name, case.rdtype) if is_one else set()
    is_one = right and case.ours.is_part_of(right) and case.theirs.is_part_of(right)
    return case.with_ours_unchecked() if is_one else None


@accept("S5")
def _no_room_for_addresses(case: Case) -> Answer | None:
    """addresses of SRV targets that do not fit over UDP | none of them, no TC | some, and TC | ours: RFC 2181 9"""
    is_one = not case.question.is_tcp and case.rdtype == "SRV" and case.ours.answer == case.theirs.answer
    right = case.addresses_of_targets() if is_one else set()
    is_all = set(case.ours.additional) == right or not case.ours.additional and not case.has_room_for(right)
    if not right or not is_all or "TC" in case.ours.flags or not set(case.theirs.additional) <= right:
        return None
    return replace(case.theirs, additional=case.ours.additional, flags=case.theirs.flags - {"TC"})


@accept("S6")
def _other_slice(case: Case) -> Answer | None:
    """addresses of SRV targets that are in several slices | all | those of slices with the port | ours: the target has
    them all"""
    is_one = case.rdtype == "SRV" and case.ours.answer == case.theirs.answer
    right, theirs = case.addresses_of_targets() if is_one else set(), set(case.theirs.additional)
    is_one = set(case.ours.additional) == right > theirs
    is_one = is_one and {one.owner for one in right} == {one.owner for one in theirs}
    return replace(case.theirs, additional=case.ours.additional) if is_one else None


# ---- Names above objects ----


@accept("N1")
def _empty_namespace(case: Case) -> Answer | None:
    """a Namespace without Services or pods, `pod` | NXDOMAIN if nothing is below | NODATA | both: search lists go on"""
    is_level = case.place.kind in ("namespace", "pod-namespace", "svc", "pods")
    return case.with_ours() if is_level and case.ours.rcode == "NXDOMAIN" and case.theirs.is_nodata else None


@accept("N2")
def _txt(case: Case) -> Answer | None:
    """TXT of names that exist | NODATA | NXDOMAIN | ours: RFC 2308"""
    is_one = case.is_inside and case.rdtype == "TXT" and case.ours.is_nodata and case.theirs.rcode == "NXDOMAIN"
    return case.with_ours() if is_one else None


@accept("N3")
def _soa(case: Case) -> Answer | None:
    """SOA of names that do not exist | NXDOMAIN | NODATA | ours: RFC 2308"""
    is_one = case.is_inside and case.rdtype == "SOA" and case.ours.rcode == "NXDOMAIN" and case.theirs.is_nodata
    return case.with_ours() if is_one else None


@accept("N4")
def _has_names_below(case: Case) -> Answer | None:
    """`_tcp.web…`, `dns.cluster.local`; `dns-version` and `ns.dns` for other types | NODATA | NXDOMAIN | ours: RFC 8020,
    RFC 2308"""
    is_one = case.is_inside and case.ours.is_nodata and case.theirs.rcode == "NXDOMAIN"
    return case.with_ours() if is_one and case.view.has_name(case.question.name) else None


@accept("N5")
def _long_ttl(case: Case) -> Answer | None:
    """`dns-version`; `10-1-2-3.shop.pod…`, `insecure` | TTL 3600 | TTL 28800; 30 | both: they never change"""
    is_one = case.place.kind == "version" or case.place.kind == "pod" and case.view.pods == "insecure"
    is_one = is_one and {one.ttl for one in case.ours.answer} == {3600}
    return case.with_records(lambda one: replace(one, ttl=3600), "answer") if is_one else None


@accept("N6")
def _name_server(case: Case) -> Answer | None:
    """NS of the domain; `ns.dns.cluster.local` | `ns.dns`, the address that the query was sent to | the Service whose
    endpoint CoreDNS is | both: not prescribed"""
    right = {"apex": ("NS", "ns.dns.cluster.local."), "dns": ("A", "127.0.0.1")}.get(case.place.kind, ())
    is_one = [(one.rdtype, one.data) for one in case.ours.answer] == [right]
    return case.with_ours_unchecked() if is_one else None


# ---- Pods ----


@accept("P1")
def _insecure_namespace(case: Case) -> Answer | None:
    """`insecure`: pods of a missing Namespace, and that itself | the address; NODATA | NXDOMAIN | both: unchecked"""
    is_pod = case.place.kind in ("pod", "pod-namespace") and not case.place.has_namespace
    is_one = is_pod and case.view.pods == "insecure"
    return case.with_ours() if is_one and case.ours.rcode == "NOERROR" and case.theirs.rcode == "NXDOMAIN" else None


@accept("P2")
def _below_pod(case: Case) -> Answer | None:
    """names below a pod's | NXDOMAIN | the pod's address | ours: the specification has none"""
    is_one = case.place.kind == "below-pod" and case.ours.rcode == "NXDOMAIN" and case.theirs.rcode == "NOERROR"
    return case.with_ours() if is_one else None


@accept("P3")
def _deleted_pod(case: Case) -> Answer | None:
    """a pod that is being deleted, or in phase Unknown, `verified` | its address | NXDOMAIN | ours: it may still run"""
    is_one = case.place.kind == "pod" and case.view.pods == "verified" and case.theirs.rcode == "NXDOMAIN"
    pods = case.view.pods_with(case.place.namespace, case.place.ip) if is_one else []
    is_leaving = any("deletionTimestamp" in one["metadata"] or one["status"]["phase"] == "Unknown" for one in pods)
    return case.with_ours() if is_leaving else None


@accept("P4")
def _pod_srv(case: Case) -> Answer | None:
    """SRV of a pod's name | NODATA | a SRV with port 0 | ours: a pod has no ports"""
    is_one = case.place.kind == "pod" and case.rdtype == "SRV" and case.ours.is_nodata
    return case.with_ours() if is_one and {one.words()[2] for one in case.theirs.of("SRV")} == {"0"} else None


@accept("P5")
def _ending_in_colons(case: Case) -> Answer | None:
    """an address with `::` at an end, `verified` | `fd00--0.shop.pod…` | `fd00--.shop.pod…` | ours: RFC 1123 2.1"""
    is_one = case.place.kind == "pod" and case.view.pods == "verified" and "::" in (case.place.ip[:2], case.place.ip[-2:])
    is_one = is_one and case.view.pods_with(case.place.namespace, case.place.ip)
    ours, theirs = ("NOERROR", "NXDOMAIN") if case.place.name == dashed(case.place.ip) else ("NXDOMAIN", "NOERROR")
    return case.with_ours() if is_one and (case.ours.rcode, case.theirs.rcode) == (ours, theirs) else None


# ---- Reverse names ----


@accept("R1")
def _ptr_of_cluster_ip(case: Case) -> Answer | None:
    """PTR of endpoints of a Service with a cluster IP, and of slices without a Service | forwarded | the endpoint's name
    | both: the specification has it for cluster IPs and headless Services"""
    is_one = case.place.kind == "reverse" and case.rdtype == "PTR" and case.is_forwarded and not case.ours.answer
    names = {one.name for one in case.view.claims(case.place.ip)} if is_one else set()
    return case.with_ours() if names and {one.data for one in case.theirs.answer} == names else None


@accept("R2")
def _one_ptr(case: Case) -> Answer | None:
    """PTR of an address that several endpoints have | one name | all | both: a client takes any of them"""
    is_one = case.place.kind == "reverse" and case.rdtype == "PTR" and len(case.ours.answer) == 1
    names = {one.name for one in case.view.claims(case.place.ip)} if is_one else set()
    theirs, is_cut = {one.data for one in case.theirs.answer}, "TC" in case.theirs.flags
    is_all = theirs == names or is_cut and theirs < names
    return case.with_ours() if is_all and names and case.ours.answer[0].data in names else None


@accept("R3")
def _longer_reverse(case: Case) -> Answer | None:
    """a label more in front of an IPv6 reverse name | forwarded | PTR of the address | ours: it is another name"""
    is_one = case.place.kind == "reverse-zone" and case.question.name.count(".") > 34 and case.is_forwarded
    return case.with_ours_unchecked() if is_one and case.theirs.of("PTR") else None


@accept("R4")
def _ptr_by_namespace(case: Case) -> Answer | None:
    """PTR of an address that endpoints of other namespaces than its pod's have, or of several | none, or one name | all |
    ours: else any editor of endpoints could take it
    """
    is_one = case.place.kind == "reverse" and case.rdtype == "PTR"
    names = {one.name for one in case.view.claims(case.place.ip)} if is_one else set()
    right = case.view.reverse_hosts(case.place.ip) if is_one else set()
    ours, theirs = ({one.data for one in each.of("PTR")} for each in (case.ours, case.theirs))
    is_right = not ours and not right if case.is_forwarded else len(ours) == 1 and ours <= right
    return case.with_our_records() if theirs and theirs <= names and is_right else None


# ---- Every answer ----


@accept("H1")
def _levelled(case: Case) -> Answer | None:
    """addresses behind an alias | the smallest TTL for all | each its own | both: RFC 2181 5.2 levels sets"""
    is_one = case.begins_with_alias and {one.ttl for one in case.ours.answer} == {30}
    return case.with_records(lambda one: replace(one, ttl=30), "answer") if is_one else None


@accept("H2")
def _recursion_available(case: Case) -> Answer | None:
    """every answer | RA | RA only from an upstream | ours: RFC 1035 4.1.1"""
    is_one = "RA" in case.ours.flags and case.ours.rcode in ("NOERROR", "NXDOMAIN", "SERVFAIL")
    return replace(case.theirs, flags=case.theirs.flags | {"RA"}) if is_one else None


@accept("H3")
def _echoed_flags(case: Case) -> Answer | None:
    """queries with CD or AD | clear | as in the query | ours: RFC 4035 3.1.6, RFC 6840 5.8"""
    return replace(case.theirs, flags=case.theirs.flags - ({"CD", "AD"} - case.ours.flags))


@accept("H4")
def _bad_version(case: Case) -> Answer | None:
    """other versions of EDNS than 0 | BADVERS with its size and the query's DO | BADVERS with size 0 | ours: RFC 6891"""
    is_one = case.ours.rcode == case.theirs.rcode == "BADVERS" and case.theirs.edns.payload == 0
    return replace(case.theirs, edns=case.ours.edns) if is_one and case.ours.edns.payload == 1232 else None


@accept("H5")
def _edns_size(case: Case) -> Answer | None:
    """EDNS | the server's size, 1232 | the client's | ours: RFC 6891 6.2.3"""
    ours, theirs = case.ours.edns, case.theirs.edns
    is_one = ours and theirs and ours.payload == 1232 and theirs.payload == case.question.edns.payload
    return replace(case.theirs, edns=replace(theirs, payload=1232)) if is_one else None


@accept("H6")
def _edns_options(case: Case) -> Answer | None:
    """EDNS options | cookies, keepalive, extended errors | none | ours: RFC 7873, RFC 7828, RFC 8914"""
    ours, theirs = case.ours.edns, case.theirs.edns
    if not ours or not theirs or theirs.options:
        return None
    right = {code for code in (COOKIE, KEEPALIVE) if case.question.edns.option(code) is not None} | {EDE}
    return replace(case.theirs, edns=replace(theirs, options=ours.options)) if ours.codes <= right else None


@accept("H7")
def _soa_values(case: Case) -> Answer | None:
    """SOA | TTL 3600, minimum 5 (`-min-ttl`), serials for secondaries | TTL and minimum are `ttl` | both: not
    prescribed"""
    ours = case.ours.of_all("SOA")

    def changed(one: Record) -> Record:
        same = [mine for mine in ours if (mine.owner, mine.words()[:2]) == (one.owner, one.words()[:2])]
        is_one = one.rdtype == "SOA" and same and one.ttl == 30 and one.words()[3:] == "7200 1800 86400 30".split()
        return same[0] if is_one and same[0].words()[3:] == "28800 7200 604800 5".split() else one

    return case.with_records(changed)


if __name__ == "__main__":
    print("\n".join(table()))

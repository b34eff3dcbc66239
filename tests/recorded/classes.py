"""Differences between two commits that may be, each with its reason; `make check-recorded` fails with any other. A
commit that changes answers on purpose adds a class, for those who compare across it; once nobody does, it goes.

    Class("shorter names", {"compression"}, "the name table finds more", lambda d: d.sequence.records == "big")
"""

import wire
from compare import Class, Difference

TYPES = wire.TYPES


def follows_exempt_nonsense(difference: Difference) -> bool:
    """Whether the client has sent a valid cookie beside a network that makes no sense before."""
    queries = difference.sequence.queries
    before = queries[: next(i for i, query in enumerate(queries) if query is difference.query)]
    return difference.sequence.configuration == "rate" and any(
        query.client == difference.query.client and {"subnet=broken", "cookie=valid"} <= set(query.what.split())
        for query in before
    )


def replies_of(difference: Difference) -> tuple[wire.Message, wire.Message] | None:
    """Ours and theirs, if both answer last."""
    (step, ours), (their_step, theirs) = difference.ours[-1], difference.theirs[-1]
    return (wire.read_message(ours), wire.read_message(theirs)) if step == their_step == "R" else None


def flags_of(message: wire.Message) -> int:
    return int.from_bytes(message.header[2:], "big")


def records_of(message: wire.Message) -> list[wire.Rr]:
    others = TYPES["OPT"], TYPES["TSIG"]
    return [rr for section in message.sections for rr in section if rr.type not in others]


def has_nonsense(difference: Difference) -> bool:
    """Whether they answer with signatures or proofs that are none, and we with SERVFAIL."""
    replies = replies_of(difference)
    if not replies or flags_of(replies[0]) & 15 != 2 or records_of(replies[0]):
        return False
    name_at = {TYPES["RRSIG"]: 18, TYPES["NSEC"]: 0}
    for rr in records_of(replies[1]):
        if rr.type in name_at:
            try:
                wire.read_name(rr.data, name_at[rr.type])
            except wire.Unreadable:
                return True
    return False


def has_more_than_they(difference: Difference) -> bool:
    """Whether theirs is cut and has no record but a search path's CNAME, and ours has some."""
    replies = replies_of(difference)
    return bool(replies) and all(flags_of(reply) & wire.TC for reply in replies) and len(records_of(replies[0])) > len(
        records_of(replies[1])
    )


def has_shorter_alias(difference: Difference) -> bool:
    """Whether the records differ in the TTL of the first alone, a CNAME that ours does not keep longer."""
    replies = replies_of(difference)
    if not replies:
        return False
    (first, *rest), (their_first, *their_rest) = map(records_of, replies)
    return rest == their_rest and first.type == TYPES["CNAME"] and first.ttl_s < their_first.ttl_s


def is_of_one_label(difference: Difference) -> bool:
    """Or of the root."""
    name, _ = wire.read_name(difference.query.wire, 12)
    return len(name) <= 1 + name[0] + 1


def ended_with_no_data(difference: Difference) -> bool:
    """Whether they answer a search path with the CNAME to a name without data, and our search goes on."""
    step, bytes_ = difference.theirs[-1]
    theirs = wire.read_message(bytes_) if step == "R" else None
    return bool(theirs) and not flags_of(theirs) & (15 | wire.TC) and [rr.type for rr in theirs.sections[0]] == [
        TYPES["CNAME"]
    ]


def until(difference: Difference) -> list:
    """The queries of its sequence up to its own."""
    queries = difference.sequence.queries
    return queries[: 1 + next(i for i, query in enumerate(queries) if query is difference.query)]


def follows_no_recursion(difference: Difference) -> bool:
    """Whether this query or one before it, which left its target to be asked for or not, has RD clear."""
    return any(not query.wire[2] & wire.RD >> 8 for query in until(difference))


def leads_to_a_short_name(difference: Difference) -> bool:
    """Whether nobody is asked about the target: `-ndots`."""
    return b"external-short" in difference.query.wire.lower()


def is_part_over_a_stream(difference: Difference) -> bool:
    """Whether a stream's answer that no message holds is now as many of its records as fit."""
    (step, ours), (their_step, theirs) = difference.ours[-1], difference.theirs[-1]
    is_reply = step == their_step == "R" and difference.query.transport != "udp"
    return is_reply and len(ours) > 60000 and bool(ours[2] & wire.TC >> 8) and theirs[3] & 15 == 2


def is_signed_choice(difference: Difference) -> bool:
    """Whether a stream's answer has some records of theirs, signed and without TC."""
    replies = replies_of(difference)
    if not replies or difference.query.transport == "udp" or flags_of(replies[0]) & wire.TC:
        return False
    ours, theirs = (
        {rr.data for rr in message.sections[0] if rr.type != TYPES["RRSIG"]} for message in replies
    )
    return 500 < len(ours) < len(theirs) and any(rr.type == TYPES["RRSIG"] for rr in replies[0].sections[0])


def has_no_additionals(difference: Difference) -> bool:
    """Whether ours has none, and theirs signed ones of more than 12 RRsets."""
    replies = replies_of(difference)
    if not replies:
        return False
    signed_sets = {(rr.owner.lower(), rr.data[:2]) for rr in replies[1].sections[2] if rr.type == TYPES["RRSIG"]}
    ours = [rr for rr in replies[0].sections[2] if rr.type not in (TYPES["OPT"], TYPES["TSIG"])]
    return not ours and len(signed_sets) > 12


def is_in_any_class(difference: Difference) -> bool:
    """Whether they refuse a question for its class, ANY, and we do not and are not authoritative."""
    _, end = wire.read_name(difference.query.wire, 12)
    replies = replies_of(difference)
    refused, authoritative = 5, 0x0400
    return difference.query.wire[end + 2 : end + 4] == b"\0\xff" and (
        not replies or (flags_of(replies[1]) & 15 == refused and not flags_of(replies[0]) & authoritative)
    )


def is_listed_in_hosts(difference: Difference) -> bool:
    """Whether the name, or one before it in the sequence, is in the hosts file, and another type is asked."""
    return any(name in query.wire.lower() for query in until(difference) for name in (b"printer", b"scanner"))


def has_no_weight_0(difference: Difference) -> bool:
    """Whether theirs differs only in SRV records of weight 0, which is 1 in ours, and in what signs them."""
    weight = slice(2, 4)

    def answers(message: wire.Message) -> list:
        kept = [rr for rr in message.sections[0] if rr.type != TYPES["RRSIG"]]
        is_least = [rr.type == TYPES["SRV"] and rr.data[weight] == b"\0\0" for rr in kept]
        data = [rr.data[:2] + b"\0\1" + rr.data[4:] if is_0 else rr.data for rr, is_0 in zip(kept, is_least)]
        return sorted((rr.owner.lower(), rr.type, rr.ttl_s, one) for rr, one in zip(kept, data))

    ours, theirs = (wire.read_message(steps[-1][1]) for steps in (difference.ours, difference.theirs))
    has_one = any(rr.type == TYPES["SRV"] and rr.data[weight] == b"\0\0" for rr in theirs.sections[0])
    return has_one and answers(ours) == answers(theirs)


def refuses_chaos(difference: Difference) -> bool:
    ours = wire.read_message(difference.ours[-1][1])
    refused = 5
    return ours.question[-2:] == b"\0\3" and int.from_bytes(ours.header[2:], "big") & 15 == refused
def is_any_of_ours(difference: Difference) -> bool:
    """Whether RFC 8482's record answers."""
    (step, ours), (their_step, theirs) = difference.ours[-1], difference.theirs[-1]
    return all(s in "RW" or b"\x07RFC8482" in reply for s, reply in ((step, ours), (their_step, theirs))) and (
        b"\x07RFC8482" in ours + theirs
    )


def has_shorter_denials(difference: Difference) -> bool:
    """Whether theirs differs only in SOA records whose minimum is 60, 5 in ours, and in TTLs and signatures with it."""
    shorter, longer = b"\0\0\0\5", b"\0\0\0\x3c"

    def records(message: wire.Message) -> list:
        data = {TYPES["SOA"]: slice(-4), TYPES["RRSIG"]: slice(4)}
        kept = [rr for section in message.sections for rr in section if rr.type not in (TYPES["OPT"], TYPES["TSIG"])]
        return [(rr.owner.lower(), rr.type, rr.data[data.get(rr.type, slice(None))]) for rr in kept]

    ours, theirs = (wire.read_message(steps[-1][1]) for steps in (difference.ours, difference.theirs))
    minima = [
        {rr.data[-4:] for section in message.sections for rr in section if rr.type == TYPES["SOA"]}
        for message in (ours, theirs)
    ]
    are_proofs = minima == [set(), set()] and {TYPES["NSEC"], TYPES["RRSIG"]} & {rtype for _, rtype, _ in records(ours)}
    return (minima == [{shorter}, {longer}] or are_proofs) and records(ours) == records(theirs)


def is_refused_loop(difference: Difference) -> bool:
    """Whether a server of stub zones asks, and we refuse what they drop."""
    (step, ours), (their_step, _) = difference.ours[-1], difference.theirs[-1]
    is_refused = step == "R" and flags_of(wire.read_message(ours)) & 15 == 5
    return "stub=True" in difference.query.what.split() and their_step == "N" and is_refused


CLASSES: list[Class] = [
    Class(
        "loops of stub zones", {"verdict"}, "a question about a stub zone from a server of stub zones is REFUSED",
        is_refused_loop,
    ),
    Class(
        "class ANY", {"verdict", "deferral", "upstream", "rcode", "flags", "truncation", "answer", "authority",
                      "additional", "ttl", "compression", "options", "padding", "tsig", "order", "case"},
        "of names of ours it is class IN, without AA, where it was REFUSED",
        is_in_any_class,
    ),
    Class(
        "signed choices", {"answer", "truncation", "signature", "ttl", "compression", "options", "padding", "tsig"},
        "of an RRset that is too large for validators or a message, some records are signed over streams",
        is_signed_choice,
    ),
    Class(
        "few signed additionals", {"additional", "truncation", "compression", "options", "padding", "tsig"},
        "additional records are left out beyond 12 signed RRsets",
        has_no_additionals,
    ),
    Class(
        "shorter denials", {"answer", "authority", "ttl", "signature"},
        "with -schema=kubernetes, clients keep what does not exist for 5 s", has_shorter_denials,
    ),
    Class(
        "class CH", {"rcode", "flags", "tsig"}, "what class CH does not have is REFUSED, without AA and RA",
        refuses_chaos,
    ),
    Class("weights of 0", {"answer", "tsig", "signature"}, "an SRV record's weight is at least 1", has_no_weight_0),
    Class(
        "an upstream's records written anew", {"compression", "padding", "tsig", "case"},
        "names are compressed against the client's question where the upstream did not",
        lambda difference: True,
    ),
    Class(
        "an upstream's nonsense", {"answer", "authority", "flags", "options", "padding", "rcode", "truncation", "tsig"},
        "the data of a record is not what its type has: SERVFAIL",
        has_nonsense,
    ),
    Class(
        "what fits of a long answer", {"answer", "compression", "options", "padding", "tsig", "ttl"},
        "as many records as fit come with TC, where none did",
        has_more_than_they,
    ),
    Class(
        "names of one label", {"verdict", "deferral", "upstream", "flags", "options", "padding", "tsig", "rcode",
                               "answer", "authority"},
        "NXDOMAIN instead of SERVFAIL; DS, DNSKEY, NS and SOA of one, and of the root, are forwarded",
        is_of_one_label,
    ),
    Class(
        "a search that NODATA does not end", {"answer", "authority", "compression", "deferral", "flags", "options",
                                              "padding", "rcode", "tsig", "upstream"},
        "a domain of -search that has the name, but no such record, does not end the search",
        ended_with_no_data,
    ),
    Class(
        "the TTL of a search path's CNAME", {"ttl", "tsig"},
        "a proof beside the kept answer may be the first to expire",
        has_shorter_alias,
    ),
    Class(
        "addresses for ANY", {"answer", "truncation", "deferral", "verdict", "options"},
        "-any=hinfo: over streams A and AAAA come with HINFO, and TC over UDP without DO says so",
        is_any_of_ours,
    ),
    Class(
        "parts over streams", {"answer", "rcode", "truncation", "options", "flags", "deferral", "upstream"},
        "as many records as fit, with TC, instead of SERVFAIL",
        is_part_over_a_stream,
    ),
    Class(
        "other types of hosts", {"answer", "authority", "additional", "deferral", "rcode", "flags", "options", "verdict",
                                 "truncation", "upstream", "ttl"},
        "types but A and AAAA of a name in a hosts file are forwarded; an NXDOMAIN for them is NODATA",
        is_listed_in_hosts,
    ),
    Class(
        "targets without recursion", {"answer", "authority", "additional", "truncation", "deferral", "options",
                                      "flags", "rcode", "ttl"},
        "upstreams are not asked for a query whose RD is clear: the CNAME alone, or what the cache has; nor is then "
        "anything cached for later queries",
        follows_no_recursion,
    ),
    Class(
        "a target that nobody is asked about", {"answer", "authority"},
        "-schema=skydns: the CNAME alone, as with -schema=kubernetes, instead of NODATA",
        leads_to_a_short_name,
    ),
    Class(
        "a cookie that ends like an OPT record", {"options"},
        "it gets one back: a look at the query's last bytes does not pass it over any more",
        lambda difference: difference.query.what.startswith("query_parse/looks_plain"),
    ),
    Class(
        "what a rate leaves after nonsense", {"verdict", "deferral", "upstream", "flags", "options", "rcode",
                                              "truncation", "answer", "authority", "additional"},
        "a query that makes no sense is not exempt from the rate for its cookie any more, so that less is left",
        follows_exempt_nonsense,
    ),
    Class(
        "DS of a stub zone", {"verdict", "deferral", "upstream", "flags", "options", "rcode", "case", "answer",
                              "authority", "additional"},
        "it is asked of the zone around, or denied by the domain around",
        lambda difference: "type=DS" in difference.query.what.split(),
    ),
]  # fmt: skip

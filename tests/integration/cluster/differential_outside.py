"""What the nameserver of the differential test knows, to which both servers forward."""

import dns.flags
import dns.rdatatype
from scripted import reply, soa

TTL_S = 3600  # none expires in a test
# Name → lines of its records, or a response code. Everything else does not exist.
_KNOWN = {
    "www.ext.test.": ["www.ext.test. 3600 A 192.0.2.1", 'www.ext.test. 3600 TXT "some text"'],
    "six.ext.test.": ["six.ext.test. 3600 AAAA 2001:db8::6"],
    "both.ext.test.": [
        "both.ext.test. 3600 A 192.0.2.2",
        "both.ext.test. 3600 A 192.0.2.3",
        "both.ext.test. 3600 AAAA 2001:db8::2",
        "both.ext.test. 3600 MX 10 www.ext.test.",
        "both.ext.test. 3600 SRV 1 2 80 www.ext.test.",
        'both.ext.test. 3600 HTTPS 1 . alpn="h2"',
    ],
    "many.ext.test.": [f"many.ext.test. 3600 A 192.0.2.{n}" for n in range(1, 60)],
    "nodata.ext.test.": [],
    "broken.ext.test.": "SERVFAIL",
    "xn--bcher-kva.ext.test.": ["xn--bcher-kva.ext.test. 3600 A 192.0.2.9"],
}
_ALIASES = {"alias.ext.test.": "www.ext.test.", "alias-missing.ext.test.": "missing.ext.test."}


def data_of(name: str, rdtype: str) -> set[str]:
    """Of the records that it has at the name itself."""
    known = _KNOWN.get(name, [])
    lines = [] if isinstance(known, str) else [line.split(" ", 3) for line in known]
    return {data for _, _, kind, data in lines if kind == rdtype}


def answer(query, transport: str):
    """A scripted.Reply. CD is the client's, as RFC 4035 3.1.6 has it."""
    [question] = query.question
    name, rdtype = question.name.to_text().lower(), dns.rdatatype.to_text(question.rdtype)
    alias = _ALIASES.get(name)
    first = [f"{name} {TTL_S} CNAME {alias}"] if alias else []
    cd = query.flags & dns.flags.CD
    if rdtype == "CNAME" and alias:
        return reply(*first, flags=cd)(query, transport)
    known = _KNOWN.get(alias or name, "NXDOMAIN")
    denial = [soa("ext.test.", TTL_S, TTL_S)]
    if isinstance(known, str):
        authority = denial if known == "NXDOMAIN" else ()
        return reply(*first, rcode=known, authority=authority, flags=cd)(query, transport)
    found = [line for line in known if line.split(" ")[2] == rdtype]
    return reply(*first, *found, authority=() if found else denial, flags=cd)(query, transport)

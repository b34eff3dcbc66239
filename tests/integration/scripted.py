"""A nameserver that replies as a test tells it, name by name, and counts the questions."""

import socket
from collections import Counter
from collections.abc import Callable

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
from upstream import Upstream

# Of names that the test says nothing about.
ADDRESS = "192.0.2.7"
TTL_S = 300

_BUFFER = 4 << 20  # a burst that it is too slow for is not lost

# The query and "udp" or "tcp" → the reply, or its bytes, or what Upstream has besides.
Reply = Callable[[dns.message.Message, str], "dns.message.Message | bytes | list[bytes] | None"]


def _add(section: list, lines: tuple[str, ...]) -> None:
    """Lines of `name ttl type data`; a set of records may take several."""
    for line in lines:
        name, ttl_s, rdtype, data = line.split(" ", 3)
        rrset = dns.rrset.from_text(name, int(ttl_s), "IN", rdtype, data)
        section.append(rrset)


def reply(
    *answer: str, rcode: str = "NOERROR", authority=(), additional=(), flags: int = 0, edns: bool = True
) -> Reply:
    """The records as they are given, one by one, in this order."""

    def made(query: dns.message.Message, _transport: str) -> bytes:
        message = dns.message.make_response(query, recursion_available=True)
        message.set_rcode(dns.rcode.from_text(rcode))
        message.flags |= flags
        _add(message.answer, answer)
        _add(message.authority, tuple(authority))
        _add(message.additional, tuple(additional))
        if not edns:
            message.use_edns(False)
        return message.to_wire(max_size=65535)

    return made


def soa(zone: str, ttl_s: int = 300, minimum_s: int = 300) -> str:
    below = "" if zone == "." else zone  # the root, which probes ask about
    return f"{zone} {ttl_s} SOA ns.{below} hostmaster.{below} 1 7200 1800 86400 {minimum_s}"


def truncated(query: dns.message.Message, _transport: str) -> bytes:
    message = dns.message.make_response(query, recursion_available=True)
    message.flags |= dns.flags.TC
    return message.to_wire()


class Nameserver(Upstream):
    """On UDP and TCP. Does not answer skydns' own questions (HINFO)."""

    def __init__(self, port: int | None = None):
        self.always: Reply | None = None  # whatever the name
        self._replies: dict[tuple[dns.name.Name, int], Reply] = {}
        super().__init__(None, port)  # it replies from now on
        self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)

    def tell(self, name: str, rdtype: str, told: Reply) -> None:
        self._replies[dns.name.from_text(name).canonicalize(), dns.rdatatype.from_text(rdtype)] = told

    def asked(self, name: str, rdtype: str = "A") -> int:
        """How often; each way of asking (UDP, TCP) is one."""
        key = dns.name.from_text(name), dns.rdatatype.from_text(rdtype)
        return self.counts()[key]

    def counts(self) -> Counter:
        """Questions by name and type."""
        return Counter((query.question[0].name, query.question[0].rdtype) for _, query in self.seen)

    def _reply(self, transport: str, wire: bytes) -> bytes | list[bytes] | None:
        query = dns.message.from_wire(wire)
        [question] = query.question
        if question.rdtype == dns.rdatatype.HINFO:
            return None
        self.seen.append((transport, query))
        told = self.always or self._replies.get((question.name.canonicalize(), question.rdtype), _address)
        made = told(query, transport)
        return made.to_wire(max_size=65535) if isinstance(made, dns.message.Message) else made


def _address(query: dns.message.Message, transport: str) -> bytes:
    """An address for type A; no data for others, for as long."""
    name = query.question[0].name.to_text()
    if query.question[0].rdtype == dns.rdatatype.A:
        return reply(f"{name} {TTL_S} A {ADDRESS}")(query, transport)
    top = name.split(".")[-2] + "."
    return reply(authority=[soa(top, TTL_S, TTL_S)])(query, transport)

"""Nameservers with faults that resolvers in the field have: what skydns does about each."""

import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from test_forwarding import Upstream, address
from test_nameservers import metric, start_skydns


class Faulty(Upstream):
    """Replies with what `fault` makes of the transport and the query: bytes, over UDP a list of them, or None."""

    def __init__(self, fault):
        super().__init__(None)
        self._fault_of = fault

    def _reply(self, transport: str, wire: bytes):
        query = dns.message.from_wire(wire)
        if query.question[0].rdtype == dns.rdatatype.HINFO:
            return None  # skydns checks whether we forward back to it
        self.seen.append((transport, query))
        return self._fault_of(transport, query)


@pytest.fixture
def faulty():
    """Makes nameservers, and closes them."""
    made = []

    def make(fault) -> Faulty:
        made.append(Faulty(fault))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def good():
    server = Upstream(address)
    yield server
    server.close()


def flag_of(*servers: Upstream) -> str:
    return "-nameservers=" + ",".join(f"127.0.0.1:{server.port}" for server in servers)


def bare(query: dns.message.Message, rcode: dns.rcode.Rcode, has_opt: bool) -> bytes:
    """A reply without the question."""
    reply = dns.message.make_response(query)
    reply.set_rcode(rcode)
    reply.question.clear()
    if not has_opt:
        reply.use_edns(False)
    return reply.to_wire()


@pytest.mark.parametrize("rcode", [dns.rcode.SERVFAIL, dns.rcode.REFUSED, dns.rcode.FORMERR, dns.rcode.NOTIMP])
@pytest.mark.parametrize("has_opt", [True, False], ids=["opt", "header"])
def test_a_failure_without_the_question(bare_bed, faulty, good, rcode, has_opt):
    """It is that nameserver's failure: the next one is asked at once, and both count as alive."""
    first = faulty(lambda transport, query: bare(query, rcode, has_opt and query.edns >= 0))
    port = start_skydns(bare_bed, flag_of(first, good))
    for number in range(3):
        assert bare_bed.dns.answers(f"n{number}.example.com") == ["192.0.2.7"]
    assert len(good.seen) == 3 and len(first.seen) in (3, 6)  # without EDNS, too, after FORMERR and NOTIMP
    assert metric(port, "nameservers_dead") == 0

"""Nameservers' replies with more in them than answers the question: nothing of that is passed on, kept or learnt."""

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest
from bed import Bed
from foreign_server import Server, texts
from scripted import ADDRESS, reply, soa

# What a poisoner says. The nameserver's own replies have ADDRESS.
EVIL = "203.0.113.66"
GOOD = "192.0.2.1"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    bed = Bed(tmp_path_factory.mktemp("poisoning"))
    bed.start_etcd()
    one = Server(bed, "-workers=2")
    yield one
    one.nameserver.close()
    bed.close()


# The question's name and the domain to speak for, which differ from case to case.
CASES = {
    "more-in-the-answer": lambda q, bank: reply(
        f"{q} 300 A {GOOD}", f"{bank} 300 A {EVIL}", f"www.{bank} 300 A {EVIL}", f"{bank} 300 NS ns.{bank}"
    ),
    "before-the-answer": lambda q, bank: reply(f"www.{bank} 300 A {EVIL}", f"{q} 300 A {GOOD}"),
    "unrelated-alias": lambda q, bank: reply(f"{q} 300 A {GOOD}", f"www.{bank} 300 CNAME evil.test."),
    "alias-elsewhere": lambda q, bank: reply(f"www.{bank} 300 CNAME {q}", f"{q} 300 A {GOOD}"),
    "glue": lambda q, bank: reply(
        f"{q} 300 A {GOOD}",
        authority=[f"{bank} 300 NS ns.{bank}", f"test. 300 NS ns.{bank}"],
        additional=[f"ns.{bank} 300 A {EVIL}", f"www.{bank} 300 A {EVIL}"],
    ),
    "answer-in-authority": lambda q, bank: reply(f"{q} 300 A {GOOD}", authority=[f"www.{bank} 300 A {EVIL}"]),
    "soa-beside-an-answer": lambda q, bank: reply(f"{q} 300 A {GOOD}", authority=[soa(bank)]),
    "other-types": lambda q, bank: reply(f"{q} 300 A {GOOD}", f"{q} 300 TXT evil", f"{q} 300 MX 1 www.{bank}"),
    "alias-with-data": lambda q, bank: reply(
        f"{q} 300 CNAME end.{q}", f"end.{q} 300 A {GOOD}", f"www.{bank} 300 A {EVIL}"
    ),
}


def check_not_learnt(server: Server, bank: str) -> None:
    """The nameserver is asked about each name and type, and its own answer given."""
    before = server.nameserver.counts()
    names = (bank, f"www.{bank}", f"ns.{bank}")
    for name in names:
        for rdtype, data in (("A", [ADDRESS]), ("CNAME", []), ("NS", [])):
            assert texts(server.ask(name, rdtype)) == data, (name, rdtype)
    assert len(server.nameserver.counts() - before) == 9


def everything(message: dns.message.Message) -> str:
    return "\n".join(rrset.to_text() for rrset in message.answer + message.authority + message.additional)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_only_the_answer(server, case, tcp):
    name, bank = f"q.{case}-{tcp}.test.".lower(), f"{case}-{tcp}.bank.".lower()
    server.nameserver.tell(name, "A", CASES[case](name, bank))
    for _ in range(3):  # the nameserver's reply, then hits
        got = server.ask(name, tcp=tcp, use_edns=0)
        assert texts(got)[0] == GOOD and not got.authority and not got.additional
        owners = {rrset.name.to_text() for rrset in got.answer}
        assert owners == ({name, f"end.{name}"} if case == "alias-with-data" else {name})
        assert EVIL not in everything(got) and bank not in everything(got)
    assert server.nameserver.asked(name) == 1
    for rdtype in ("TXT", "MX", "NS"):  # of the same name
        assert texts(server.ask(name, rdtype)) == []
    check_not_learnt(server, bank)


# Replies that do not answer the question at all.
NO_ANSWERS = {
    "other-name-alone": lambda q, bank: reply(f"www.{bank} 300 A {EVIL}"),
    "alias-to-a-name-beside": lambda q, bank: reply(f"x.{q} 300 CNAME www.{bank}", f"www.{bank} 300 A {EVIL}"),
    "referral": lambda q, bank: reply(authority=[f"{bank} 300 NS ns.{bank}"], additional=[f"ns.{bank} 300 A {EVIL}"]),
    "soa-of-another-zone": lambda q, bank: reply(rcode="NXDOMAIN", authority=[soa(bank)]),
    "soa-below-the-name": lambda q, bank: reply(rcode="NXDOMAIN", authority=[soa(f"x.{q}")]),
    "alias-to-itself": lambda q, bank: reply(f"{q} 300 CNAME {q}"),
    "aliases-in-a-ring": lambda q, bank: reply(f"{q} 300 CNAME x.{q}", f"x.{q} 300 CNAME {q}"),
    "aliases-without-end": lambda q, bank: reply(
        f"{q} 300 CNAME 1.{q}", *(f"{n}.{q} 300 CNAME {n + 1}.{q}" for n in range(1, 40))
    ),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
def test_nothing_is_kept_of_what_does_not_answer(server, case):
    name, bank = f"q.{case}.test.", f"{case}.bank."
    server.nameserver.tell(name, "A", NO_ANSWERS[case](name, bank))
    entries = server.metric("cache_entries")
    got = server.ask(name, use_edns=0)  # passed on as it is, or as a failure
    assert server.metric("cache_entries") == entries or got.rcode() == dns.rcode.SERVFAIL
    check_not_learnt(server, bank)
    # The same question gets the true answer as soon as there is one.
    server.nameserver.tell(name, "A", reply(f"{name} 300 A {GOOD}"))
    server.wait_expired(name)
    assert texts(server.ask(name)) == [GOOD]


def test_other_classes_are_not_the_answer(server):
    """What has records of two classes is malformed; it is no answer, now or from the cache."""

    def told(query, _transport) -> dns.message.Message:
        made = dns.message.make_response(query, recursion_available=True)
        made.answer.append(dns.rrset.from_text("class.test.", 300, "IN", "A", GOOD))
        made.answer.append(dns.rrset.from_text("class.test.", 300, "CH", "TXT", "evil"))
        return made

    server.nameserver.tell("class.test", "A", told)
    for _ in range(2):
        got = server.ask("class.test")
        assert (got.rcode(), got.answer) == (dns.rcode.SERVFAIL, [])


def test_the_longest_replies(server):
    """64 KB over TCP: passed on whole; small replies to others stay."""
    small = [f"small-{n}.test" for n in range(50)]
    for name in small:
        server.ask(name)
    data = [f"198.18.{n >> 8}.{n & 255}" for n in range(4000)]
    full, cut = reply(*(f"long.test. 300 A {ip}" for ip in data)), reply(flags=dns.flags.TC)
    server.nameserver.tell("long.test", "A", lambda *asked: (full if asked[1] == "tcp" else cut)(*asked))
    assert texts(server.ask("long.test", tcp=True)) == sorted(data)
    for _ in range(2):
        assert server.ask("long.test").flags & dns.flags.TC
    before = server.nameserver.counts()
    for name in small:
        server.ask(name)
    assert server.nameserver.counts() == before


def test_another_reply_than_asked_for(server):
    """Another ID, name or type in the question section: not replies to this question, nor to what they name."""

    def lie(query, name: str, rdtype: str, change: int = 0) -> bytes:
        other = dns.message.make_query(name, rdtype, id=query.id ^ change)
        return reply(f"{name} 300 A {EVIL}")(other, "udp")

    def told(query, transport) -> list[bytes]:
        lies = [lie(query, "lied.test.", "A", 1), lie(query, "victim.test.", "A"), lie(query, "lied.test.", "TXT")]
        return [*lies, reply(f"lied.test. 300 A {GOOD}")(query, transport)]

    server.nameserver.tell("lied.test", "A", told)
    assert texts(server.ask("lied.test")) == [GOOD]
    assert texts(server.ask("victim.test")) == [ADDRESS]
    assert texts(server.ask("lied.test", "TXT")) == []
    assert server.nameserver.asked("lied.test") == 1


def test_the_cases_are_poisoned() -> None:
    query = dns.message.make_query("q.test.", "A")
    for told in (made("q.test.", "bank.") for made in CASES.values()):
        message = dns.message.from_wire(told(query, "udp"))
        assert "bank." in everything(message) or "evil" in everything(message)

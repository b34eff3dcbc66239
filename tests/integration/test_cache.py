"""Replies about other domains' names, kept: what clients see, and what nameservers are asked meanwhile."""

import json
import signal
import threading
import time

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from bed import Bed
from foreign_server import Server, errors, is_aged, texts, ttls
from programs import wait_until
from scripted import ADDRESS, TTL_S, Nameserver, reply, soa, truncated

KEPT_AGAIN_MS = 1000  # after a failure, the question is not asked again for so long
STALE_AFTER_S = 1.8


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    bed = Bed(tmp_path_factory.mktemp("cache"))
    bed.start_etcd()
    yield bed
    bed.close()


@pytest.fixture(scope="module")
def server(bed):
    one = Server(bed, "-workers=2")
    yield one
    one.nameserver.close()


@pytest.fixture
def other(bare_bed):
    """A function that starts a skydns of the test's own."""
    started = []

    def start(*flags: str) -> Server:
        bare_bed.start_etcd()
        started.append(Server(bare_bed, *flags))
        return started[-1]

    yield start
    for one in started:
        one.nameserver.close()


def is_set(message: dns.message.Message, flag: int) -> bool:
    return bool(message.flags & flag)


# ---- A hit ----


def test_a_name_is_asked_once(server):
    for tcp in (False, True, False, True):
        got = server.ask("once.test", tcp=tcp)
        assert texts(got) == [ADDRESS] and server.nameserver.asked("once.test") == 1
        assert not is_set(got, dns.flags.AA) and is_set(got, dns.flags.RA) and is_set(got, dns.flags.RD)
        assert got.edns == -1


def test_a_hit_is_spelled_as_asked(server):
    server.ask("spelled.test")
    got = server.ask("SpElLeD.tEsT")  # its ID and question are compared by dnspython
    assert str(got.question[0].name) == str(got.answer[0].name) == "SpElLeD.tEsT."
    assert server.nameserver.asked("spelled.test") == 1


def test_the_first_reply_is_as_later_ones(server):
    since_s = time.monotonic()
    first, second = (server.ask("same.test", "AAAA", use_edns=0) for _ in range(2))
    assert is_aged(second.authority[0].ttl, first.authority[0].ttl, since_s)
    assert first.flags == second.flags and first.to_text().splitlines()[1:5] == second.to_text().splitlines()[1:5]
    assert server.nameserver.asked("same.test", "AAAA") == 1


def test_types_are_kept_apart(server):
    for _ in range(2):
        assert texts(server.ask("types.test", "A")) == [ADDRESS]
        assert texts(server.ask("types.test", "TXT")) == []
    assert server.nameserver.asked("types.test", "A") == server.nameserver.asked("types.test", "TXT") == 1


def test_dnssec_ok_and_checking_disabled_are_kept_apart(server):
    def ask_all() -> None:
        for flags in (dns.flags.RD, dns.flags.RD | dns.flags.CD):
            for dnssec_ok in (False, True):
                got = server.ask("dnssec.test", use_edns=0, want_dnssec=dnssec_ok, flags=flags)
                assert texts(got) == [ADDRESS]
                assert bool(got.ednsflags & dns.flags.DO) == dnssec_ok
                assert is_set(got, dns.flags.CD) == bool(flags & dns.flags.CD)

    for _ in range(2):
        ask_all()
        assert server.nameserver.asked("dnssec.test") == 4


@pytest.mark.parametrize("is_authentic", [True, False])
def test_authentic_data_only_for_those_who_ask(server, is_authentic):
    name = f"ad-{is_authentic}.test".lower()
    server.nameserver.tell(
        name, "A", reply(f"{name}. 300 A 192.0.2.1", flags=dns.flags.AD if is_authentic else 0)
    )
    for _ in range(2):  # the first reply, and a hit
        for flags in (dns.flags.RD, dns.flags.RD | dns.flags.AD):
            got = server.ask(name, flags=flags)
            assert is_set(got, dns.flags.AD) == (is_authentic and bool(flags & dns.flags.AD))
        got = server.ask(name, use_edns=0, want_dnssec=True)
        assert is_set(got, dns.flags.AD) == is_authentic
    asked = [query for _, query in server.nameserver.seen if str(query.question[0].name) == f"{name}."]
    assert len(asked) == 2 and all(query.flags & dns.flags.AD for query in asked)


def test_without_recursion_desired_nothing_is_filled(server):
    server.ask("no-rd.test", flags=0)
    before = server.nameserver.asked("no-rd.test")
    assert texts(server.ask("no-rd.test")) == [ADDRESS]
    assert server.nameserver.asked("no-rd.test") == before + 1
    hit = server.ask("no-rd.test", flags=0)
    assert texts(hit) == [ADDRESS] and not is_set(hit, dns.flags.RD) and is_set(hit, dns.flags.RA)
    assert server.nameserver.asked("no-rd.test") == before + 1


def test_client_subnet_bypasses_the_cache(server):
    subnet = {"use_edns": 0, "options": [dns.edns.ECSOption("192.0.2.0", 24)]}
    for asked in (1, 2):
        assert texts(server.ask("subnet.test", **subnet)) == [ADDRESS]
        assert server.nameserver.asked("subnet.test") == asked
    server.ask("subnet.test")  # nothing was filled
    assert server.nameserver.asked("subnet.test") == 3
    server.ask("subnet.test", **subnet)  # and nothing is read
    assert server.nameserver.asked("subnet.test") == 4
    sent = [query for _, query in server.nameserver.seen if str(query.question[0].name) == "subnet.test."]
    has_option = [any(option.otype == dns.edns.ECS for option in query.options) for query in sent]
    assert has_option == [True, True, False, True]


def test_a_reply_too_long_for_the_client(server):
    addresses = [f"198.51.100.{n}" for n in range(200)]
    full = reply(*(f"long.test. 300 A {ip}" for ip in addresses))
    server.nameserver.tell("long.test", "A", lambda *asked: (full if asked[1] == "tcp" else truncated)(*asked))
    for tcp in (False, True, False, True):
        got = server.ask("long.test", tcp=tcp)
        assert is_set(got, dns.flags.TC) == (not tcp) and got.rcode() == dns.rcode.NOERROR
        assert not tcp or texts(got) == sorted(addresses)
        assert tcp or len(got.to_wire()) <= 512
    assert server.nameserver.asked("long.test") == 2  # over UDP and TCP, once


def test_truncated_and_no_reply_over_tcp(server):
    """The client gets TC, nothing is kept, and it is not a failure."""
    cut = lambda *asked: b"" if asked[1] == "tcp" else truncated(*asked)  # noqa: E731
    server.nameserver.tell("cut.test", "A", cut)
    for _ in range(2):
        before = server.nameserver.asked("cut.test")
        got = server.ask("cut.test", use_edns=0)
        assert got.rcode() == dns.rcode.NOERROR and is_set(got, dns.flags.TC) and not got.answer
        assert errors(got) == [] and server.nameserver.asked("cut.test") > before


# ---- Times ----


def test_times_count_down_to_one(server):
    """Each record's own; the shortest decides when the reply is asked for again."""
    told = reply("counted.test. 5 CNAME end.test.", "end.test. 100 A 192.0.2.1")
    server.nameserver.tell("counted.test", "A", told)
    assert ttls(server.ask("counted.test")) == [5, 100]
    seen = []

    def is_asked_again() -> bool:
        got = server.ask("counted.test")
        if server.nameserver.asked("counted.test") == 1:
            seen.append(tuple(ttls(got)))
        return server.nameserver.asked("counted.test") > 1

    wait_until(is_asked_again, "its time is over")
    assert set(seen) <= {(max(5 - passed, 1), 100 - passed) for passed in range(6)} and len(set(seen)) > 1
    assert ttls(server.ask("counted.test"))[0] in range(1, 6)


def test_times_have_a_limit(server):
    server.nameserver.tell("week.test", "A", reply("week.test. 604800 A 192.0.2.1"))
    since_s = time.monotonic()
    first, hit = (server.ask("week.test").answer[0].ttl for _ in range(2))
    assert first == 3600 and is_aged(hit, first, since_s)


def test_no_time_is_not_kept(server):
    server.nameserver.tell("zero.test", "A", reply("zero.test. 0 A 192.0.2.1"))
    for asked in (1, 2):
        assert ttls(server.ask("zero.test")) == [0] and server.nameserver.asked("zero.test") == asked


@pytest.mark.parametrize("rcode", ["NXDOMAIN", "NOERROR"])
@pytest.mark.parametrize("ttl_s, minimum_s, shown_s", [(300, 60, 60), (60, 300, 60), (90000, 90000, 1800)])
def test_negative_replies_are_kept_as_the_soa_says(server, rcode, ttl_s, minimum_s, shown_s):
    name = f"{rcode}-{ttl_s}-{minimum_s}.negative.test".lower()
    server.nameserver.tell(name, "A", reply(rcode=rcode, authority=[soa("negative.test.", ttl_s, minimum_s)]))
    since_s = time.monotonic()
    for _ in range(2):
        got = server.ask(name)
        assert dns.rcode.to_text(got.rcode()) == rcode and not got.answer
        assert len(got.authority) == 1 and got.authority[0].rdtype == dns.rdatatype.SOA
        assert is_aged(got.authority[0].ttl, shown_s, since_s)
    assert server.nameserver.asked(name) == 1


@pytest.mark.parametrize("rcode", ["NXDOMAIN", "NOERROR"])
def test_negative_replies_without_soa_are_not_kept(server, rcode):
    name = f"{rcode}.bare.test".lower()
    server.nameserver.tell(name, "A", reply(rcode=rcode))
    for asked in (1, 2):
        assert dns.rcode.to_text(server.ask(name).rcode()) == rcode
        assert server.nameserver.asked(name) == asked


# ---- Failures and what is left of earlier replies ----


def fail(server: Server, name: str, code: int) -> float:
    """A failure that nameservers say or cause, and one that is kept for a second. Returns when it began."""
    begun_s = time.monotonic()
    first, second = (server.ask(name, use_edns=0) for _ in range(2))
    assert first.rcode() == second.rcode() == dns.rcode.SERVFAIL and errors(first) == [code]
    assert errors(second) == [13] or time.monotonic() - begun_s > KEPT_AGAIN_MS / 1000
    return begun_s


def test_failures_are_not_asked_for_again_at_once(server):
    names = {f"{rcode}.failing.test".lower(): [] for rcode in ("SERVFAIL", "REFUSED")}
    failed, asked, begun_s = server.hits("failure"), {}, {}
    for name in names:
        server.nameserver.tell(name, "A", reply(rcode=name.split(".")[0].upper()))
        begun_s[name] = fail(server, name, 22)
        asked[name] = server.nameserver.asked(name)

    def is_asked_again(name: str) -> bool:
        got = server.ask(name, use_edns=0)
        if server.nameserver.asked(name) > asked[name]:
            return True
        names[name].append((dns.rcode.to_text(got.rcode()), *errors(got)))
        return False

    for name, kept in names.items():
        wait_until(lambda name=name: is_asked_again(name), f"{name} is asked again")
        assert set(kept) <= {("SERVFAIL", 13)}
        assert time.monotonic() - begun_s[name] >= KEPT_AGAIN_MS / 1000
    assert server.hits("failure") - failed >= sum(map(len, names.values()))
    assert server.ask(list(names)[0]).edns == -1


def test_nobody_is_there(other):
    server = other()
    server.nameserver.close()
    fail(server, "www.test", 23)
    wait_until(lambda: errors(server.ask("www.test", use_edns=0)) == [13], "a kept failure")
    assert server.ask("www.test").rcode() == dns.rcode.SERVFAIL


def test_expired_replies_when_nameservers_fail(server):
    told = {
        "positive.stale.test": (reply("positive.stale.test. 1 A 192.0.2.1"), "NOERROR", ["192.0.2.1"], 3),
        "negative.stale.test": (reply(rcode="NXDOMAIN", authority=[soa("stale.test.", 1, 1)]), "NXDOMAIN", [], 19),
    }
    stale = server.hits("stale")
    for name, (first, *_) in told.items():
        server.nameserver.tell(name, "A", first)
        assert ttls(server.ask(name)) == [1]
        server.nameserver.tell(name, "A", reply(rcode="SERVFAIL"))
    for name, (_, rcode, data, code) in told.items():
        for _ in range(2):  # a failure, then at once
            got = server.wait_expired(name)
            assert (dns.rcode.to_text(got.rcode()), texts(got)) == (rcode, data)
            assert set(ttls(got)) == {30} and errors(got) == [code]

        def is_left_alone(name: str = name, code: int = code) -> bool:
            """Each time that the nameserver fails, for longer."""
            asked = server.nameserver.asked(name)
            assert errors(server.ask(name, use_edns=0)) == [code] and server.ask(name).edns == -1
            return server.nameserver.asked(name) == asked

        wait_until(is_left_alone, f"{name} is not asked")
    assert server.hits("stale") - stale >= 8
    server.nameserver.tell("positive.stale.test", "A", reply("positive.stale.test. 300 A 192.0.2.2"))
    wait_until(lambda: texts(server.ask("positive.stale.test")) == ["192.0.2.2"], "the nameserver's reply")


def test_expired_replies_when_nameservers_are_slow(server):
    """After 1.8 s. The question goes on, and its reply is kept."""
    server.nameserver.tell("slow.test", "A", reply("slow.test. 1 A 192.0.2.1"))
    assert texts(server.ask("slow.test")) == ["192.0.2.1"]
    may_reply = threading.Event()

    def late(query, transport) -> bytes:
        may_reply.wait(20)
        return reply("slow.test. 300 A 192.0.2.2")(query, transport)

    server.nameserver.tell("slow.test", "A", late)
    asked_s = [0.0]

    def is_stale() -> bool:
        asked_s[0] = time.monotonic()
        return errors(server.ask("slow.test", use_edns=0)) == [3]

    wait_until(is_stale, "the expired reply")
    assert time.monotonic() - asked_s[0] >= STALE_AFTER_S - 0.1
    may_reply.set()
    wait_until(lambda: texts(server.ask("slow.test")) == ["192.0.2.2"], "the late reply")
    assert server.nameserver.asked("slow.test") == 2


# ---- What drops replies ----


def test_hangup_drops_everything(server):
    server.ask("dropped.test")
    server.bed.skydns.signal(signal.SIGHUP)
    wait_until(lambda: server.ask("dropped.test") and server.nameserver.asked("dropped.test") == 2, "asked again")
    server.ask("dropped.test")
    assert server.nameserver.asked("dropped.test") == 2


def test_other_nameservers_drop_what_these_said(other):
    server, second = other(), Nameserver()
    second.tell("moved.test", "A", reply("moved.test. 300 A 192.0.2.2"))
    assert texts(server.ask("moved.test")) == texts(server.ask("moved.test")) == [ADDRESS]
    server.bed.etcd.put("/skydns/config", json.dumps({"nameservers": [f"127.0.0.1:{second.port}"]}))
    wait_until(lambda: texts(server.ask("moved.test")) == ["192.0.2.2"], "the second nameserver's reply")
    assert (server.nameserver.asked("moved.test"), second.asked("moved.test")) == (1, 1)
    server.bed.etcd.delete("/skydns/config")
    wait_until(lambda: texts(server.ask("moved.test")) == [ADDRESS], "the first nameserver's reply")
    assert (server.nameserver.asked("moved.test"), second.asked("moved.test")) == (2, 1)
    second.close()


def test_limits_from_the_document(other):
    server = other("-rcache=0")
    for asked in (1, 2):
        server.ask("doc.test")
        assert server.nameserver.asked("doc.test") == asked
    server.bed.etcd.put("/skydns/config", json.dumps({"rcache": 500, "rcache_ttl": 7}))
    wait_until(lambda: server.chaos("cachesize.bind.") == 500, "the size")
    since_s = time.monotonic()
    assert server.ask("doc.test").answer[0].ttl == 7 and is_aged(server.ask("doc.test").answer[0].ttl, 7, since_s)
    assert server.nameserver.asked("doc.test") == 3
    server.bed.etcd.put("/skydns/config", json.dumps({"rcache": 0}))
    wait_until(lambda: server.chaos("cachesize.bind.") == 0, "no cache")
    assert server.ask("doc.test").answer[0].ttl == TTL_S
    assert server.nameserver.asked("doc.test") == 4


# ---- Who gets hits ----


def test_who_may_not_ask_gets_no_hit(other):
    server = other("-allow-recursion=127.0.0.1/32")
    question = dns.message.make_query("mine.test", "A")
    assert texts(server.ask("mine.test")) == [ADDRESS]
    for ask in (dns.query.udp, dns.query.tcp):
        got = ask(question, "127.0.0.1", timeout=server.bed.dns.timeout_s, port=server.bed.dns.port, source="127.0.0.2")
        assert got.rcode() == dns.rcode.REFUSED and not got.answer
    assert texts(server.ask("mine.test")) == [ADDRESS] and server.nameserver.asked("mine.test") == 1


def test_no_recursion_comes_before_the_cache(other):
    server = other()
    assert texts(server.ask("rec.test")) == [ADDRESS]
    server.bed.etcd.put("/skydns/config", '{"no_rec":true}')
    wait_until(lambda: server.ask("rec.test").rcode() == dns.rcode.SERVFAIL, "no recursion")
    assert server.nameserver.asked("rec.test") == 1


# ---- Targets of our own names ----


def test_targets_use_the_same_replies(server):
    etcd, name = server.bed.etcd, "target.test"
    server.nameserver.tell(name, "A", reply(f"{name}. 40 A 192.0.2.9"))
    etcd.put("/skydns/local/cluster/ext", f'{{"host":"{name}","ttl":600}}')
    server.bed.wait_answers("ext.cluster.local", "A", ["192.0.2.9", f"{name}."])
    assert server.nameserver.asked(name) == 1
    assert texts(server.ask(name)) == ["192.0.2.9"] and server.nameserver.asked(name) == 1
    own = server.ask("ext.cluster.local")
    assert is_set(own, dns.flags.AA) and len(own.answer) == 2
    assert all(30 <= ttl_s <= 40 for ttl_s in ttls(own))  # those of an answer of ours are levelled
    assert server.nameserver.asked(name) == 1


def test_a_target_kept_already_is_not_asked_for(server):
    server.ask("known.test")
    server.bed.etcd.put("/skydns/local/cluster/known", '{"host":"known.test"}')
    server.bed.wait_answers("known.cluster.local", "A", [ADDRESS, "known.test."])
    assert server.nameserver.asked("known.test") == 1


# ---- Figures ----


def test_counts(server):
    names = ("cache_entries", "cache_bytes", "cache_misses_total", "cache_prefetches_total", "cache_evictions_total")
    before = {name: server.metric(name) for name in names}
    chaos = {name: server.chaos(f"{name}.bind.") for name in ("insertions", "hits", "misses", "evictions")}
    positive, negative = server.hits("positive"), server.hits("negative")
    for _ in range(3):
        server.ask("counts.test")
        server.ask("counts.test", "TXT")
        # A client has its reply before it is kept.
        wait_until(lambda: server.metric("cache_entries") == before["cache_entries"] + 2, "both are kept")
    assert (server.hits("positive") - positive, server.hits("negative") - negative) == (2, 2)
    after = {name: server.metric(name) - before[name] for name in names}
    assert after.pop("cache_bytes") > 0
    assert list(after.values()) == [2, 2, 0, 0]
    assert server.chaos("cachesize.bind.") == 10000
    grown = {name: server.chaos(f"{name}.bind.") - count for name, count in chaos.items()}
    assert grown == {"insertions": 2, "hits": 4, "misses": 2, "evictions": 0}


def test_nothing_is_kept_without_a_cache(other):
    server = other("-rcache=0")
    for asked in (1, 2, 3):
        assert texts(server.ask("none.test")) == [ADDRESS] and server.nameserver.asked("none.test") == asked
    assert server.chaos("cachesize.bind.") == server.chaos("hits.bind.") == 0
    assert server.chaos("misses.bind.") == server.metric("cache_misses_total") == 3
    assert server.metric("cache_entries") == 0


def test_full_and_round_robin(other):
    """A small cache never holds more, and still finds the newest; addresses are shuffled."""
    server = other("-rcache=10", "-round-robin=true")
    addresses = [f"198.51.100.{n}" for n in range(8)]
    server.nameserver.tell("many.test", "A", reply(*(f"many.test. 300 A {ip}" for ip in addresses)))
    for number in range(30):
        server.ask(f"{number}.test")
    wait_until(lambda: server.chaos("insertions.bind.") == 30, "all have been kept")
    assert server.metric("cache_entries") <= 10 and server.metric("cache_evictions_total") >= 20
    assert server.chaos("evictions.bind.") == server.metric("cache_evictions_total")
    replies = [server.ask("many.test") for _ in range(20)]
    assert {tuple(texts(got)) for got in replies} == {tuple(addresses)}
    assert len({tuple(rdata.to_text() for rdata in got.answer[0]) for got in replies}) > 1
    assert server.nameserver.asked("many.test") == 1

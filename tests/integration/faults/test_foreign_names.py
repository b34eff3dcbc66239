"""All nameservers in trouble, while names of ours and of other domains are asked for: ours do not notice, kept replies
serve until nameservers are back, and these are not flooded then.
"""

import heapq
import itertools
import math
import threading
import time

import dns.message
import pytest
from fault_bed import PATIENCE_S
from programs import wait_until
from query_load import Question, QueryLoad
from scripted import ADDRESS, Nameserver, reply

pytestmark = pytest.mark.faults

NAMES = [f"host-{number}.example.test" for number in range(100)]
SHORT_TTL_S, LONG_TTL_S = 2, 600
STALE_AFTER_S, FRESH_WITHIN_S = 1.8, 2.0
BUSY_S = 8.0  # more, for a machine with other work: a third of the 30 s that waiting as failures began would take
SLOW_S = 3.0
FLAP_S = 0.3
LATE = "late"  # the transport of a question that has waited
# What nameservers may be asked about each name between their return and the first new reply: by a question that
# failed before, by its second try, and after the second that its last failure began; then once more each second.
ASKED_EACH_MAX = 3


class Troubled(Nameserver):
    """Right, or as `mode` says."""

    def __init__(self, port: int | None = None):
        self.mode = "right"
        self.ttl_s = SHORT_TTL_S
        self._late: list = []
        self._order = itertools.count()
        self._has_late = threading.Condition()
        super().__init__(port)
        self.always = self._troubled
        threading.Thread(target=self._send_late, daemon=True).start()

    def _troubled(self, query: dns.message.Message, transport: str):
        name = query.question[0].name.to_text()
        right = reply(f"{name} {self.ttl_s} A {ADDRESS}")
        if self.mode == "hung" or (self.mode == "flapping" and int(time.monotonic() / FLAP_S) % 2):
            return None
        if self.mode == "lying":
            other = dns.message.make_query("lie.test.", "A", id=query.id)
            wrong_id = dns.message.make_query(name, "A", id=query.id ^ 1)
            return [reply("lie.test. 9 A 203.0.113.1")(other, transport), right(wrong_id, transport)]
        if self.mode == "failing":
            return reply(rcode="SERVFAIL")(query, transport)
        return right(query, transport)

    def _serve_one(self, wire: bytes, client) -> None:
        if self.mode != "slow":
            super()._serve_one(wire, client)
            return
        with self._has_late:
            heapq.heappush(self._late, (time.monotonic() + SLOW_S, next(self._order), wire, client))
            self._has_late.notify()

    def _send_late(self) -> None:
        while True:
            with self._has_late:
                while not self._late or self._late[0][0] > time.monotonic():
                    self._has_late.wait(self._late[0][0] - time.monotonic() if self._late else None)
                _, _, wire, client = heapq.heappop(self._late)
            right = self._reply_or_fault(LATE, wire)
            try:
                if right:
                    self._udp.sendto(right, client)
            except OSError:
                return  # closed

    def asked_now(self) -> int:
        """Questions but those that came while it was slow, and are answered since."""
        return sum(transport != LATE for transport, _ in list(self.seen))


def wait_stale(bed) -> None:
    """Until clients have been given as many expired replies as there are names."""
    wait_until(
        lambda: (bed.watched[0].metrics().get("cache_hits_total", kind="stale") or 0) >= len(NAMES),
        "expired replies",
        PATIENCE_S,
    )


def is_fresh(bed, name: str) -> bool:
    """From a reply with the long time."""
    [rrset] = bed.dns.query(name).answer
    return rrset.ttl > 30


@pytest.fixture
def foreign(fault_bed):
    """The bed in sync, and two nameservers, whose replies are kept."""
    servers = [Troubled(), Troubled()]
    ports = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    fault_bed.skydns_flags = [f"-nameservers={ports}", "-no-rec=false"]
    fault_bed.start_etcd()
    fault_bed.start()
    yield fault_bed, servers
    for server in servers:
        server.close()


def begin(servers: list[Troubled], mode: str) -> None:
    for server in servers:
        server.mode = mode
        if mode == "killed":
            server.close()


def recover(servers: list[Troubled]) -> None:
    """From now on replies have the long time, so that each name needs to be asked for once."""
    for number, server in enumerate(servers):
        if server.mode == "killed":
            servers[number] = server = Troubled(server.port)
        server.seen.clear()
        server.ttl_s, server.mode = LONG_TTL_S, "right"


@pytest.mark.parametrize("mode", ["killed", "hung", "lying", "failing", "slow", "flapping"])
def test_all_nameservers(foreign, mode):
    bed, servers = foreign
    with bed.under_load() as own:
        with QueryLoad(bed.dns.port, [Question(name, "A", [ADDRESS]) for name in NAMES], rate=300) as load:
            load.wait_sent(3 * len(NAMES))
            own.p99_ms()
            own.wait_sent(1500)
            before_ms = own.p99_ms()
            begin(servers, mode)
            if mode == "flapping":
                own.wait_sent(3000)
            else:
                wait_stale(bed)
                own.wait_sent(6000)  # long enough for failures to double
            during_ms = own.p99_ms()
            recover(servers)
            since_s = time.monotonic()
            wait_until(lambda: all(is_fresh(bed, name) for name in NAMES), "fresh replies", PATIENCE_S)
            fresh_s = time.monotonic() - since_s
            load.wait_sent(len(NAMES))
    asked = sum(server.asked_now() for server in servers)
    bed.note(f"p99 of own names {before_ms:.2f} ms, then {during_ms:.2f} ms")
    bed.note(f"a foreign name took {load.result.slowest_ms:.0f} ms at most")
    bed.note(f"fresh after {fresh_s:.1f} s (goal {FRESH_WITHIN_S:g}), {asked} questions about {len(NAMES)} names")
    # under_load and QueryLoad have checked that every answer came and was right.
    assert load.result.slowest_ms < 1000 * (STALE_AFTER_S + 3)
    assert fresh_s < FRESH_WITHIN_S + BUSY_S
    assert asked <= (ASKED_EACH_MAX + math.ceil(max(0, fresh_s - FRESH_WITHIN_S))) * len(NAMES)


def test_a_refresh_before_the_time_is_over(foreign):
    """A reply hit often is asked for once more, before it expires; one that is not hit is left alone."""
    bed, servers = foreign
    for server in servers:
        server.ttl_s = 15

    def asked(name: str) -> int:
        return sum(server.asked(name) for server in servers)

    bed.dns.query("rare.test")
    got = bed.dns.query("often.test")
    assert got.answer[0].ttl == 15 and asked("often.test") == 1
    reader = bed.watched[0]

    def is_refreshed() -> bool:
        ttls.append(bed.dns.query("often.test").answer[0].ttl)
        return asked("often.test") > 1

    ttls: list[int] = []
    wait_until(is_refreshed, "a refresh", PATIENCE_S)
    assert min(ttls) == 2  # under a tenth was left, and at least 1 s
    wait_until(lambda: bed.dns.query("often.test").answer[0].ttl > 10, "the new reply")
    assert asked("often.test") == 2 and asked("rare.test") == 1
    assert reader.metrics().get("cache_prefetches_total") == 1

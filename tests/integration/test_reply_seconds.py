"""skydns_reply_seconds: how long replies take, from the kernel's receipt of a query to the reply's way out."""

import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dns.message
from dns_client import TIMEOUT_S
from programs import wait_equal, wait_until
from test_query_lines import TRANSPORTS, WEB, Server, message
from transports import KINDS
from upstream import Upstream
from upstream import address as upstream_answer

SHARE = 64  # of UDP queries, one in so many is timed


class Histogram:
    def __init__(self, server: Server, transport: str):
        samples = server.page().metrics["skydns_reply_seconds"].samples
        mine = {key: got for key, got in samples.items() if ("transport", transport) in key[1]}
        self.buckets = {
            float(dict(labels)["le"].replace("+Inf", "inf")): int(got)
            for (name, labels), got in mine.items()
            if name.endswith("_bucket")
        }
        self.count = self.buckets[float("inf")]
        self.sum_s = next((got for (name, _), got in mine.items() if name.endswith("_sum")), 0.0)


def ask_udp(server: Server, question: dns.message.Message, count: int) -> None:
    """One after another: each is a batch of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(("127.0.0.1", server.bed.dns.port))
        wire = question.to_wire()
        for _ in range(count):
            sock.send(wire)
            sock.recv(512)


def test_bounds(bare_bed):
    """From 50 us, doubling to 1.6 s; before the first reply, too."""
    server = Server(bare_bed, "-no-rec", listeners=True)
    for transport in ("udp", "tcp", "tls", "https", "http", "grpc"):
        *bounds, last = Histogram(server, transport).buckets
        assert last == float("inf")
        assert [round(bound * 1e6) for bound in bounds] == [50 << step for step in range(16)], transport


def test_every_reply_but_one_udp_reply_in_64(bare_bed):
    server = Server(bare_bed, "-no-rec", "-workers=1", listeners=True)
    before = Histogram(server, "udp").count
    for _ in range(3):
        for kind in TRANSPORTS[1:]:
            server.ask(kind, message(WEB))
    kinds = Counter("tcp" if kind == "tcp" else KINDS[kind][0] for kind in TRANSPORTS[1:])  # HTTP in two versions

    def counts() -> dict[str, float]:
        return {transport: Histogram(server, transport).count for transport in kinds}

    # Once each has left.
    wait_equal(counts, {transport: 3 * number for transport, number in kinds.items()}, "the replies of streams")
    assert Histogram(server, "udp").count == before
    ask_udp(server, message(WEB), 40 * SHARE)
    assert 20 <= Histogram(server, "udp").count - before <= 80


def test_late_replies(bare_bed):
    """A client waits as long as the nameserver is waited for; of UDP, the late ones of those timed are there."""
    upstream = Upstream(upstream_answer)
    try:
        flags = (f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=300ms", "-rcache=0", "-workers=1")
        server = Server(bare_bed, *flags, listeners=True)
        for kind in ("tcp", "tls", "https"):
            server.ask(kind, message("silent.foreign.test."))
            wait_until(lambda kind=kind: Histogram(server, kind).count > 0, f"{kind}: it is counted")  # once it has left
            late = Histogram(server, kind)
            assert late.count == 1 and late.sum_s >= 0.25, kind  # a loop's clock is a little behind
            assert max(number for bound, number in late.buckets.items() if bound < 0.25) == 0, kind
        before = Histogram(server, "udp").count
        ask_udp(server, message("www.foreign.test."), 10 * SHARE)
        assert 4 <= Histogram(server, "udp").count - before <= 24
    finally:
        upstream.close()


def ask_together(sock: socket.socket, names: list[str]) -> None:
    """In one segment; returns when all have a reply."""
    wires = [message(name).to_wire() for name in names]
    sock.sendall(b"".join(struct.pack("!H", len(wire)) + wire for wire in wires))
    reader = sock.makefile("rb")
    for _ in names:
        reader.read(struct.unpack("!H", reader.read(2))[0])


def test_replies_that_leave_together(bare_bed):
    """Each counts, whatever becomes of the others in the segment: a late reply does once it has come."""
    upstream = Upstream(upstream_answer)
    try:
        flags = (f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=300ms", "-rcache=0")
        server = Server(bare_bed, *flags, listeners=True)
        late = "silent.foreign.test."
        expected = 0
        for names in ([WEB], [WEB] * 2, [WEB] * 8, [WEB] * 21, [WEB] * 3 + [late], [late] + [WEB] * 3):
            with socket.create_connection(("127.0.0.1", bare_bed.dns.port), TIMEOUT_S) as sock:
                ask_together(sock, names)
            expected += len(names)
            wait_until(lambda: Histogram(server, "tcp").count >= expected, f"{names} are counted")
            assert Histogram(server, "tcp").count == expected
        assert 2 * 0.25 <= Histogram(server, "tcp").sum_s < expected * TIMEOUT_S  # two are late
    finally:
        upstream.close()


def is_stopped(pid: int) -> bool:
    """Each of its threads."""
    return all(
        path.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "T"
        for path in Path(f"/proc/{pid}/task").iterdir()
    )


def test_time_in_the_kernels_queue_counts(bare_bed):
    """A datagram's time begins when it arrives, not when skydns comes to read it. A time is counted after its reply has
    left, but before the next query is read: what a query has counted is certain once the next one is answered."""
    held_s = 0.02
    least_s = held_s / 2  # the kernel may pass a datagram on later than send() returns
    server = Server(bare_bed, "-no-rec", "-workers=1")
    question = message(WEB)

    def ask_until_timed(ask: Callable[[], None]) -> None:
        seen = Histogram(server, "udp").count
        for _ in range(2 * SHARE):
            ask()
            if Histogram(server, "udp").count > seen:
                return
        raise AssertionError(f"none of {2 * SHARE} queries was timed")

    ask_until_timed(lambda: ask_udp(server, question, 1))
    ask_udp(server, question, SHARE - 16)  # one in SHARE: none of these is timed
    before = Histogram(server, "udp")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(("127.0.0.1", bare_bed.dns.port))

        def ask_held() -> None:
            server.log.signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(server.log.pid), "it is stopped")
            sock.send(question.to_wire())
            sent = time.monotonic()
            wait_until(lambda: time.monotonic() - sent >= held_s, "it is in the queue")
            server.log.signal(signal.SIGCONT)
            sock.recv(512)

        ask_until_timed(ask_held)
    ask_udp(server, question, 1)
    after = Histogram(server, "udp")
    assert after.count == before.count + 1
    assert after.sum_s - before.sum_s >= least_s
    for bound in (bound for bound in after.buckets if bound < least_s):
        assert after.buckets[bound] == before.buckets[bound], bound

"""One client makes thousands of its queries wait for one long response: others are answered meanwhile."""

import selectors
import socket
import struct
import threading
import time
from contextlib import ExitStack

import dns.flags
import dns.message
import pytest
from attack import ATTACKER
from churn import STEADY
from fault_bed import PATIENCE_S, SLACK, full
from others import Others
from programs import reserve_port, wait_until
from upstream import Upstream
from watched import Watched

pytestmark = pytest.mark.faults

_EACH = 100  # queries on each connection: fewer than may wait there
_RECORDS = 4000  # as many as a response has room for
_TARGETS = "targets.cluster.local"


def _response(wire: bytes, flags: int, records: bytes = b"") -> bytes:
    """To a query with OPT; its question's name is at offset 12."""
    end = wire.index(b"\0", 12) + 5
    return wire[:2] + struct.pack("!HHHHH", 0x8180 | flags, 1, len(records) // 16, 0, 0) + wire[12:end] + records


def _addresses(count: int, ttl_s: int) -> bytes:
    return b"".join(b"\xc0\x0c" + struct.pack("!HHIHHH", 1, 1, ttl_s, 4, 0xC612, n) for n in range(count))


class HeldUpstream(Upstream):
    """Over TCP, names of many.example have 4,000 addresses, once `release` is set. Others have
    one address, with a TTL of 0.
    """

    def __init__(self):
        self.release = threading.Event()
        self._one, self._all = _addresses(1, 0), _addresses(_RECORDS, 300)
        super().__init__(None)

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        name = wire[12:].lower()
        if b"\4many" not in name:
            return None if wire[wire.index(b"\0", 12) + 2] == 13 else _response(wire, 0, self._one)
        if transport == "udp":
            return _response(wire, dns.flags.TC)
        self.release.wait(PATIENCE_S)
        return _response(wire, 0, self._all)


class Waiters:
    """Queries for one name, from one address over many connections; then reads all that comes back."""

    def __init__(self, port: int, name: str, count: int):
        query = dns.message.make_query(name, "A", id=0).to_wire()
        frames = (len(query).to_bytes(2, "big") + query) * _EACH
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count // _EACH)]
        for one in self._sockets:
            one.bind((ATTACKER, 0))
            one.connect(("127.0.0.1", port))
            one.sendall(frames)

    def read(self) -> int:
        """Bytes, until each connection had all of its responses, or was closed as too slow."""
        buffer, total = bytearray(1 << 20), 0
        with selectors.DefaultSelector() as selector:
            left = {}
            for one in self._sockets:
                selector.register(one, selectors.EVENT_READ)
                left[one] = _EACH * 16 * _RECORDS
            while left:
                events = selector.select(PATIENCE_S)
                assert events, f"{sum(left.values())} bytes have not come"
                for key, _ in events:
                    count = key.fileobj.recv_into(buffer)
                    total += count
                    left[key.fileobj] -= count
                    if count == 0 or left[key.fileobj] <= 0:
                        selector.unregister(key.fileobj)
                        del left[key.fileobj]
        return total

    def close(self) -> None:
        for one in self._sockets:
            one.close()

    def reset(self) -> None:
        """Leaves no doubt that nothing is read any more."""
        for one in self._sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


@pytest.fixture
def held(fault_bed):
    """skydns, and the nameserver that it asks: (bed, nameserver, its metrics)."""
    server = HeldUpstream()
    http_port = reserve_port()
    fault_bed.start_etcd()
    for number in range(3):
        fault_bed.etcd.put(
            f"/skydns/local/cluster/targets/t{number}", f'{{"host":"target{number}.many.example"}}'
        )
    fault_bed.etcd.put("/skydns/local/cluster/svc/default/" + STEADY, '{"host":"10.0.0.1"}')
    fault_bed.skydns_flags = [
        f"-nameservers=127.0.0.1:{server.port}",
        "-rtimeout=20s",
        f"-http-addr=127.0.0.1:{http_port}",
    ]
    fault_bed.start_skydns(*fault_bed.skydns_flags)
    fault_bed.wait_answers(full(STEADY), "A", ["10.0.0.1"])
    yield fault_bed, server, Watched(fault_bed.skydns, http_port, "skydns_")
    server.release.set()
    server.close()


def _attack(bed, server, metrics, names: list[str], count: int, what: str) -> None:
    """They notice nothing that is near what all responses take, once they begin to come."""
    with ExitStack() as stack:
        others = {
            "over TCP": stack.enter_context(Others(bed, full(STEADY), tcp=True)),
            "forwarded": stack.enter_context(Others(bed, "quick.example.org")),
        }
        idle = {which: one.measure() for which, one in others.items()}
        took_s, worst_ms = [], []
        for name in names:
            server.release.clear()
            waiters = Waiters(bed.dns.port, name, count)
            wait_until(lambda: metrics.metrics().get("deferred_in_hand") >= count, "waiting queries", PATIENCE_S)
            is_over = threading.Event()
            measured = {}
            threads = [
                threading.Thread(target=lambda w=which, o=one: measured.update({w: o.measure(is_over.is_set)}))
                for which, one in others.items()
            ]
            for thread in threads:
                thread.start()
            begun = time.monotonic()
            server.release.set()
            assert waiters.read() >= 16 * _RECORDS
            took_s.append(time.monotonic() - begun)
            is_over.set()
            for thread in threads:
                thread.join()
            waiters.close()
            for which, latencies in measured.items():
                worst_ms.append(latencies.max_ms)
                others[which].check(bed, f"{what}, {which}", idle[which], latencies)
    bed.note(f"all responses after {min(took_s):.2f} to {max(took_s):.2f} s")
    assert max(worst_ms) <= 1000 * max(took_s) / 4 + 10 * SLACK, (worst_ms, took_s)


def test_attack_waiters_for_one_external_name(held):
    bed, server, metrics = held
    names = [f"name{number}.many.example" for number in range(3)]
    _attack(bed, server, metrics, names, 1900, "waiters for one name")


def test_attack_waiters_for_targets(held):
    """Of CNAMEs in our domain."""
    bed, server, metrics = held
    names = [f"t{number}.{_TARGETS}" for number in range(3)]
    _attack(bed, server, metrics, names, 400, "waiters for a target")


@pytest.mark.parametrize("name", ["gone.many.example", f"t0.{_TARGETS}"], ids=["external", "target"])
def test_attack_waiters_that_are_gone(held, name):
    """No response is made for them."""
    bed, server, metrics = held
    before = metrics.metrics().get("replies_total", transport="tcp", rcode="NOERROR")
    waiters = Waiters(bed.dns.port, name, 400)
    wait_until(lambda: metrics.metrics().get("deferred_in_hand") >= 400, "waiting queries", PATIENCE_S)
    waiters.reset()
    wait_until(lambda: metrics.metrics().get("tcp_connections") == 0, "closed connections", PATIENCE_S)
    assert metrics.metrics().get("deferred_in_hand") >= 400
    server.release.set()
    wait_until(lambda: metrics.metrics().get("deferred_in_hand") == 0, "their end", PATIENCE_S)
    made = metrics.metrics().get("replies_total", transport="tcp", rcode="NOERROR") - before
    bed.note(f"{made:.0f} responses for 400 whose connection was closed meanwhile")
    assert made == 0

"""One client's queries are built to be dear to read: long ones, whose thousands of owner names are long chains of
compression pointers, and those cut into segments of one byte. Others notice nothing, and the client pays for what it
sends: such a query costs hardly more than one as long that is mere padding.
"""

import os
import socket
import struct
import threading
import time
from pathlib import Path

import dns.edns
import dns.message
import pytest
from attack import ATTACKER
from churn import STEADY
from fault_bed import PATIENCE_S, full
from others import Others
from programs import wait_until

pytestmark = pytest.mark.faults

_HEADER, NXDOMAIN = 12, 3  # nobody writes the name
_RECORD = struct.pack("!HHIH", 16, 1, 0, 0)  # behind the owner: TXT, IN, TTL 0, no data
_POINTERS = 250  # in a chain: nearly as many as a name that makes sense may have
_CHAINED_COST_MAX = 4  # times that of padding


def _question() -> bytes:
    return dns.message.make_query(full(STEADY), "A", id=7, use_edns=False).to_wire()


def _with_records(records: list[bytes]) -> bytes:
    return _question()[:10] + struct.pack("!H", len(records)) + _question()[_HEADER:] + b"".join(records)


def _text(data: bytes) -> bytes:
    return b"\0" + struct.pack("!HHIH", 16, 1, 0, len(data)) + data


def padded(length: int) -> bytes:
    """One record that no answer depends on."""
    return _with_records([_text(bytes(length - len(_question()) - 1 - len(_RECORD)))])


def chained(length: int) -> bytes:
    """In the data of a first record, pointers to pointers; all others' owners begin at the last."""
    chain = bytearray(1)
    begin = len(_question()) + 1 + len(_RECORD)
    for number in range(_POINTERS):
        chain += struct.pack("!H", 0xC000 | begin + (1 + 2 * (number - 1) if number else 0))
    last = struct.pack("!H", 0xC000 | begin + 1 + 2 * (_POINTERS - 1))
    first = _text(bytes(chain))
    count = (length - len(_question()) - len(first)) // (len(last) + len(_RECORD))
    return _with_records([first] + [last + _RECORD] * count)


def with_cookie(wire: bytes, cookie: dns.edns.Option) -> bytes:
    """The OPT record is the last of the additional ones."""
    count = struct.unpack("!H", wire[10:12])[0] + 1
    data = struct.pack("!HH", cookie.otype, len(cookie.to_wire())) + cookie.to_wire()
    return wire[:10] + struct.pack("!H", count) + wire[12:] + b"\0" + struct.pack("!HHIH", 41, 1232, 0, len(data)) + data


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Pipelined:
    """The same query over and over on one connection; its replies are read."""

    _AHEAD = 4  # queries in flight

    def __init__(self, port: int, wire: bytes):
        self._connection = socket.create_connection(("127.0.0.1", port), PATIENCE_S, (ATTACKER, 0))
        self._frame = struct.pack("!H", len(wire)) + wire
        self._replies = self._connection.makefile("rb")
        self._is_over = threading.Event()
        self.answered = 0

    def __enter__(self) -> "Pipelined":
        self._thread = threading.Thread(target=self.ask, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exc) -> None:
        self._is_over.set()
        self._thread.join()
        self.close()

    def ask(self, count: int = 1 << 30) -> None:
        for number in range(count + self._AHEAD):
            if number < count:
                self._connection.sendall(self._frame)
            if number >= self._AHEAD:
                reply = self._replies.read(struct.unpack("!H", self._replies.read(2))[0])
                assert reply[3] & 15 == NXDOMAIN
                self.answered += 1
            if self._is_over.is_set():
                return

    def close(self) -> None:
        self._replies.close()
        self._connection.close()


def _tcp_cost_s(bed, wire: bytes, count: int) -> float:
    before, client = _cpu_s(bed.skydns.pid), Pipelined(bed.dns.port, wire)
    client.ask(count)
    client.close()
    return (_cpu_s(bed.skydns.pid) - before) / count


def _udp_cost_s(bed, wire: bytes, count: int) -> float:
    before = _cpu_s(bed.skydns.pid)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((ATTACKER, 0))
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", bed.dns.port))
        for number in range(count):
            client.send(wire)
            if number >= 32:
                client.recv(4096)
        for _ in range(32):
            client.recv(4096)
    return (_cpu_s(bed.skydns.pid) - before) / count


def test_attack_pointer_chains_over_tcp(single):
    bed, count, longest = single, 2000, 65535
    padding_s, chained_s = (_tcp_cost_s(bed, make(longest), count) for make in (padded, chained))
    with Others(bed, full(STEADY), tcp=True, rcode=NXDOMAIN) as others:
        idle = others.measure()
        with Pipelined(bed.dns.port, chained(longest)) as attack:
            attacked = others.measure(lambda: attack.answered > 100)
    bed.note(f"64 KB over TCP: {padding_s * 1e6:.0f} us of padding, {chained_s * 1e6:.0f} us of chains")
    others.check(bed, "64 KB queries of pointer chains", idle, attacked)
    assert chained_s < _CHAINED_COST_MAX * padding_s + 1e-4


def test_attack_pointer_chains_over_udp(single):
    bed, count, longest = single, 20_000, 1232
    padding_s, chained_s = (_udp_cost_s(bed, make(longest), count) for make in (padded, chained))
    bed.note(f"1,232 bytes over UDP: {padding_s * 1e6:.1f} us of padding, {chained_s * 1e6:.1f} us of chains")
    assert chained_s < _CHAINED_COST_MAX * padding_s


def _gate_cost_s(bed, wire: bytes, count: int, dropped) -> float:
    """Of a query that gets no response. `dropped` counts them."""
    before_s, before, sent = _cpu_s(bed.skydns.pid), dropped(), 0

    def is_enough() -> bool:
        nonlocal sent
        for _ in range(count // 20):
            client.send(wire)
        sent += count // 20
        return dropped() >= before + count

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((ATTACKER, 0))
        client.connect(("127.0.0.1", bed.dns.port))
        wait_until(is_enough, "the flood is dropped", PATIENCE_S)
    return (_cpu_s(bed.skydns.pid) - before_s) / sent


@pytest.mark.parametrize("gate", ["allow", "rate"])
def test_attack_pointer_chains_at_the_gate(fault_bed, gate):
    """Who may not ask, or has had its rate, is dropped before anything but the header is read."""
    bed, count = fault_bed, 40_000
    bed.skydns_flags = {"allow": ["-allow=127.0.0.1,127.0.0.9"], "rate": ["-rate=10000"]}[gate]
    bed.start_etcd()
    bed.start()

    def dropped() -> float:
        page = bed.watched[0].metrics()
        return {"allow": page.get("not_allowed_total"), "rate": page.get("rate_limited_total", reply="dropped")}[gate]

    cookie = dns.edns.GenericOption(10, b"12345678")
    with Others(bed, full(STEADY), rcode=NXDOMAIN) as others:
        idle = others.measure()
        costs_s = [_gate_cost_s(bed, wire, count, dropped) for wire in (padded(1232), with_cookie(chained(1200), cookie))]
        attacked = others.measure()
    bed.note(f"-{gate}: {costs_s[0] * 1e6:.1f} us of padding, {costs_s[1] * 1e6:.1f} us of chains and a cookie")
    others.check(bed, f"1,232 bytes of pointer chains at -{gate}", idle, attacked)
    assert costs_s[1] < 2 * costs_s[0]


def test_attack_refusals_have_a_budget(fault_bed):
    """Everybody gets REFUSED, but a flood of those that may not ask makes no flood of that."""
    bed, workers, refusals_a_second = fault_bed, 1, 10_000
    bed.skydns_flags = ["-allow=127.0.0.1", f"-workers={workers}"]
    bed.start_etcd()
    bed.start()
    begun = time.monotonic()

    def barred() -> float:
        return bed.watched[0].metrics().get("not_allowed_total")

    _gate_cost_s(bed, _question(), 60_000, barred)
    refused = bed.watched[0].metrics().get("replies_total", transport="udp", rcode="REFUSED")
    assert 0 < refused <= refusals_a_second * (time.monotonic() - begun + 2)
    bed.note(f"{refused:.0f} of {barred():.0f} refused in {time.monotonic() - begun:.1f} s")

"""Clients that ask for what is expensive: names with thousands of records, and walks over all of them. What they cost
is counted in replies and their order, not in time; the load beside them gets every answer.
"""

import socket
import struct
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import pytest
from dns_client import Dns
from fault_bed import PATIENCE_S, FaultBed
from programs import wait_until
from records import value

_LARGE = 5000
_ROOT = "/skydns/local/cluster/large"
_NAME = "large.cluster.local"
_PUTS_A_TRANSACTION = 100


def _fill(bed: FaultBed) -> None:
    """5,000 addresses below one name, none of them Kubernetes' own: kube2sky leaves them alone."""
    records = {f"{_ROOT}/h{n}": value(f"10.200.{n >> 8}.{n & 255}") for n in range(_LARGE)}
    keys = list(records)
    for first in range(0, _LARGE, _PUTS_A_TRANSACTION):
        bed.etcd.put_all({key: records[key] for key in keys[first : first + _PUTS_A_TRANSACTION]})
    wait_until(
        lambda: bed.dns.answers(f"h{_LARGE - 1}.{_NAME}") == ["10.200.19.135"], "the last address", PATIENCE_S
    )


def _count(bed: FaultBed, verdict: str) -> float:
    return bed.watched[0].metrics().get("queries_total", transport="udp", verdict=verdict)


@pytest.mark.faults
def test_large_names_cost_what_a_reply_holds(single: FaultBed):
    """No worker hands such a question on or gives up, and every address has its turn."""
    bed = single
    _fill(bed)
    questions = [(_NAME, "AAAA"), (_NAME, "TXT"), (_NAME, "MX"), (_NAME, "A"), (_NAME, "SRV"), (f"*.{_NAME}", "A")]
    with bed.under_load():
        deferred = _count(bed, "deferred")
        seen: set[str] = set()
        for number in range(600):
            name, rdtype = questions[number % len(questions)]
            reply = bed.dns.query(name, rdtype, use_edns=number % 4 < 2, payload=1232)
            assert reply.rcode() == dns.rcode.NOERROR
            is_cut = bool(reply.flags & dns.flags.TC)
            assert is_cut == (rdtype in ("A", "SRV")), reply
            addresses = [rdata.to_text() for rrset in reply.answer for rdata in rrset]
            assert (len(addresses) > 8) == is_cut, reply
            seen.update(addresses if rdtype == "A" else [])
        assert _count(bed, "deferred") == deferred
        assert len(seen) > _LARGE / 3


def _frames(names: list[str]) -> bytes:
    wires = [dns.message.make_query(name, "A", id=number).to_wire() for number, name in enumerate(names)]
    return b"".join(struct.pack("!H", len(wire)) + wire for wire in wires)


def _receive(connection: socket.socket, count: int) -> list[tuple[int, int]]:
    """The id and rcode of that many replies, which must be all."""
    replies: list[tuple[int, int]] = []
    into = b""
    while len(replies) < count:
        if len(into) >= 2 and len(into) >= 2 + (length := struct.unpack("!H", into[:2])[0]):
            query_id, flags = struct.unpack("!HH", into[2:6])
            replies.append((query_id, flags & 0xF))
            into = into[2 + length :]
        else:
            more = connection.recv(1 << 16)
            assert more, "the connection is closed"
            into += more
    assert not into
    return replies


def _cpu_ns(pid: int) -> dict[str, int]:
    """By the names of the threads."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {(t / "comm").read_text().strip(): int((t / "schedstat").read_text().split()[0]) for t in threads}


@pytest.mark.faults
def test_walks_delay_nobody(single: FaultBed):
    """All different, so that none is kept: they are the walker's work, and the resolver's thread, which forwards and
    serves TCP, has none of it."""
    walks = 12  # their answers, of 64 KiB each, are fewer bytes than a connection may have waiting
    bed = single
    _fill(bed)
    with bed.under_load():
        before = _cpu_ns(bed.skydns.pid)
        for round_number in range(15):
            names = [f"x{round_number}-{number}.*.{_NAME}" for number in range(walks // 2)]
            names += [f"*.{_NAME}"] * (walks // 2)
            with socket.create_connection(("127.0.0.1", bed.dns.port), timeout=PATIENCE_S) as hostile:
                hostile.sendall(_frames(names))
                assert Dns(bed.dns.port).query(_NAME, "TXT", tcp=True).rcode() == dns.rcode.NOERROR
                replies = _receive(hostile, walks)
                assert sorted(query_id for query_id, _ in replies) == list(range(walks))
        cpu_ns = {name: ns - before[name] for name, ns in _cpu_ns(bed.skydns.pid).items()}
        bed.note(f"{15 * walks} walks: walker {cpu_ns['walker'] // 1000} us, resolver {cpu_ns['resolver'] // 1000} us")
        assert cpu_ns["walker"] > cpu_ns["resolver"]

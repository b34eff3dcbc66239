"""Four workers read kept replies while the resolver fills, evicts and drops them; every answer is right. Under the
thread sanitizer, too.
"""

import json
import signal
import socket
import struct
from contextlib import ExitStack

from foreign_server import Server
from query_load import Question, QueryLoad
from scripted import Nameserver

NAMES = 300
ADDRESSES_MAX = 25  # in 512 bytes; replies of all sizes up to that
ROUNDS = [{"rcache": 60}, {"rcache": 1000}, {"rcache": 0}, {"rcache_ttl": 1}, {"rcache_stale": 1}, {}]
BETWEEN = 80  # queries of each client


def addresses(number: int) -> list[str]:
    return sorted(f"198.18.{number >> 8}.{(number + n) & 255}" for n in range(number % ADDRESSES_MAX + 1))


_TYPE_A = b"\0\1"


class Fast(Nameserver):
    """Knows the names that are numbers; more of them in a second than dnspython can answer."""

    def _reply(self, _transport: str, wire: bytes) -> bytes | None:
        label, end = wire[13 : 13 + wire[12]], wire.index(b"\0", 12) + 5
        if wire[end - 4 : end - 2] != _TYPE_A:
            return None  # skydns looks for a loop, by random hex digits which may all be decimal, or probes
        number = int(label)
        head = struct.pack("!2sHHHHH", wire[:2], 0x8580, 1, len(addresses(number)), 0, 0) + wire[12:end]
        fixed = struct.pack("!HHHIH", 0xC00C, 1, 1, 1 + number % 3, 4)
        return head + b"".join(fixed + socket.inet_aton(ip) for ip in addresses(number))


def test_every_answer_is_right(bare_bed):
    bare_bed.start_etcd()
    server = Server(bare_bed, "-workers=4", "-rcache=100", nameserver=Fast())
    questions = [Question(f"{number}.test", "A", addresses(number)) for number in range(NAMES)]
    with ExitStack() as stack:
        loads = [stack.enter_context(QueryLoad(bare_bed.dns.port, questions, rate=250)) for _ in range(4)]
        for settings in ROUNDS:
            for load in loads:
                load.wait_sent(BETWEEN)
            bare_bed.skydns.signal(signal.SIGHUP)
            bare_bed.etcd.put("/skydns/config", json.dumps(settings))
    metrics = server.watched.metrics()
    assert metrics.get("cache_hits_total", kind="positive") > 0 and metrics.get("cache_evictions_total") > 0
    server.nameserver.close()

"""Other domains' names that a server keeps: what an answer costs when all names are kept already, and memory."""

import select
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from answers import data, resolvers, rounds, servers
from answers.bed import Bed
from answers.path import dns_query
from programs import Program, reserve_port

ASKED = "asked its nameserver"
# A reply of each is 65,000 bytes: three times as much as may be kept.
LARGE_NAMES = 800
_AT_ONCE = 64
_TRIES = 10
_A, _AAAA = 1, 28


class Nameserver:
    """The process of nameserver.py, and how often it was asked."""

    def __init__(self):
        self.port = reserve_port()
        script = Path(__file__).with_name("nameserver.py")
        cores = ["taskset", "-c", str(servers.GENERATOR_CORE)]
        self.program = Program("nameserver", [*cores, sys.executable, str(script), str(self.port)]).start()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", self.port))
        self._socket.settimeout(0.2)
        self.program.wait_ready(lambda: self.asked() == 0, "answers")

    def asked(self) -> int:
        for _ in range(_TRIES):
            try:
                self._socket.send(b"?")
                return int(self._socket.recv(64))
            except TimeoutError:
                continue
        return self.program.fail("does not answer")

    def close(self) -> None:
        self._socket.close()
        self.program.kill()


def ask_all(port: int, questions: list[tuple[str, str]]) -> None:
    """Each until it is answered."""
    types = {"A": _A, "AAAA": _AAAA}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", port))
        for first in range(0, len(questions), _AT_ONCE):
            waiting = {}
            for number, (name, rdtype) in enumerate(questions[first : first + _AT_ONCE]):
                query = dns_query(name, number)
                waiting[number] = query[:-4] + types[rdtype].to_bytes(2, "big") + query[-2:]
            for _ in range(_TRIES):
                _ask(client, waiting)
                if not waiting:
                    break
            assert not waiting, f"no answer to {len(waiting)} questions, such as {questions[first + min(waiting)]}"


def _ask(client: socket.socket, waiting: dict[int, bytes]) -> None:
    """Removes what has been answered without an error."""
    for query in waiting.values():
        client.send(query)
    while waiting and select.select([client], [], [], 2.0)[0]:
        reply = client.recv(4096)
        if reply[3] & 15 == 0:
            waiting.pop(int.from_bytes(reply[:2], "big"), None)


def measure_rounds(
    bed: Bed, run: Callable[[rounds.Pattern, servers.Server], dict], count: int, kinds: list[servers.Kind], values: dict
) -> list[dict]:
    """All runs. One in which a server asked the nameserver has a fault."""
    nameserver = Nameserver()
    try:
        started = [bed.start_resolver(kind, nameserver.port) for kind in kinds]
        for one in started:
            if not servers.is_bare(one.name):
                ask_all(one.port, data.foreign_questions(bed.services))
                values[f"kept_mib.{bed.services}.{one.name}"] = one.resident_mib()
        runs = rounds.run_rounds(watching(run, nameserver), started, rounds.KEPT_PATTERNS, count, bed.services)
        asked = [one["asked"] for one in runs if one["server"] in (servers.SKYDNS, servers.SKYDNS_SEARCH)]
        if asked:
            values["kept_asked"] = values.get("kept_asked", 0) + sum(asked)
        for one in started:
            one.program.kill()
        return runs
    finally:
        nameserver.close()


def watching(run: Callable[[rounds.Pattern, servers.Server], dict], nameserver: Nameserver):
    """Runs that also count what the nameserver was asked."""

    def watched(pattern: rounds.Pattern, server: servers.Server) -> dict:
        before = nameserver.asked()
        done = run(pattern, server)
        done["asked"] = nameserver.asked() - before
        if done["asked"]:
            done["faults"].append(ASKED)
        return done

    return watched


def measure_memory(bed: Bed, values: dict) -> None:
    """What the cache adds to skydns' memory with the largest replies, and then as many small ones as it takes."""
    nameserver, sizes_mib = Nameserver(), []
    large = [(f"big{number}.example.com", "A") for number in range(LARGE_NAMES)]
    small = [(data.foreign(number), "A") for number in range(20_000)]
    try:
        for flags in (["-rcache=0"], ["-rcache=10000"]):
            one = bed.start_resolver(resolvers.kind(servers.SKYDNS), nameserver.port, flags=flags)
            ask_all(one.port, large + small)
            sizes_mib.append(one.resident_mib())
            one.program.kill()
    finally:
        nameserver.close()
    values["kept_memory_mib"] = sizes_mib[1] - sizes_mib[0]

#!/usr/bin/python3
"""skydns knows its clients by their pods (`make bench-clients`): how soon after a pod has come or gone, and what it
costs.

Churn: pods at addresses of the loopback network; each event takes a pod's address away and gives it to a pod of
another namespace, in one transaction of etcd. From when etcd has acknowledged it, the address is asked from, again and
again, for a name of the earlier namespace's search path and one of the new namespace's: `settled` is the time until
both answers are right; `late` counts answers by the earlier one's path to questions sent more than LATE_S after the
event. Meanwhile addresses at rest are asked from, too, which must be right all the time.

Scale: the same cluster without and with -autopath: memory, start, and what an event costs.
"""

import http.client
import json
import multiprocessing
import random
import socket
import struct
import sys
import time
from base64 import b64encode
from pathlib import Path

from measuring import Figure, cpu_s, memory_mib, options_parser, parse_options, run_benchmark, spread

import beds
from programs import wait_until
from records import DOMAIN, SVC, label, value

LATE_S = 0.005
# An event's namespaces.
SPACES = 100
# Processes that cause events: each waits for its own to settle.
CAUSES = 4
# Only ends a hang.
PATIENCE_S = 120.0
TARGET = "www.target"  # what clients look up: a Service of another namespace
A, NXDOMAIN, NOERROR = 1, 3, 0


def space(number: int) -> str:
    return f"ns-{number % SPACES}"


def address(number: int) -> str:
    return f"127.{16 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def pod_key(number: int, of: int) -> str:
    """The pod's at address `number` in namespace `of`."""
    host = address(number)
    return f"/skydns/local/cluster/pod/{space(of)}/{host.replace('.', '-')}/{label(host)}"


def question(name: str) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">6H", random.getrandbits(16), 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, A, 1)


class Client:
    """A pod at its address."""

    def __init__(self, number: int, port: int):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address(number), 0))
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(PATIENCE_S)

    def is_of(self, number: int) -> bool:
        """Whether it is answered by that namespace's search path."""
        asked = question(f"{TARGET}.{space(number)}.svc.{DOMAIN}")
        self._socket.send(asked)
        while (reply := self._socket.recv(2048))[:2] != asked[:2]:
            pass
        rcode, answers = reply[3] & 15, struct.unpack(">H", reply[6:8])[0]
        if (rcode, answers) not in ((NOERROR, 2), (NXDOMAIN, 0)):
            raise ValueError(f"rcode {rcode} with {answers} answers")
        return rcode == NOERROR

    def close(self) -> None:
        self._socket.close()


class Events:
    """Some of the pods, and what becomes of them: one of these in each process."""

    def __init__(self, etcd_port: int, dns_port: int, numbers: list[int], seed: int):
        self._connection = http.client.HTTPConnection("127.0.0.1", etcd_port, timeout=PATIENCE_S)
        self._port, self._numbers, self._chance = dns_port, numbers, random.Random(seed)
        self._spaces = {number: number for number in numbers}  # as they were written at first
        self._checks: list[tuple[float, int, int]] = []  # when, address, the earlier namespace
        self.settled_s: list[float] = []
        self.late = self.wrong = self.asked = 0

    def _pass_on(self, number: int, new: int) -> float:
        """When etcd had acknowledged it."""
        old_key, new_key = (b64encode(pod_key(number, of).encode()).decode() for of in (self._spaces[number], new))
        put = {"key": new_key, "value": b64encode(value(address(number)).encode()).decode()}
        body = {"success": [{"requestDeleteRange": {"key": old_key}}, {"requestPut": put}]}
        self._connection.request("POST", "/v3/kv/txn", json.dumps(body))
        reply = self._connection.getresponse()
        text = reply.read()
        now_s = time.monotonic()
        if reply.status != 200:
            raise ValueError(text)
        return now_s

    def _event(self) -> None:
        number = self._chance.choice(self._numbers)
        old = self._spaces[number]
        new = old + 1 + self._chance.randrange(SPACES - 1)
        client = Client(number, self._port)
        at_s = self._pass_on(number, new)
        is_settled = False
        while not is_settled:
            sent_s = time.monotonic()
            is_old, is_new = client.is_of(old), client.is_of(new)
            self.asked += 2
            self.late += is_old and sent_s > at_s + LATE_S
            is_settled = is_new and not is_old
            if sent_s > at_s + PATIENCE_S:
                raise ValueError(f"{address(number)} did not get its new namespace")
        self.settled_s.append(time.monotonic() - at_s)
        client.close()
        self._spaces[number] = new
        self._checks.append((at_s + LATE_S, number, old))

    def check(self, number: int, other: int) -> None:
        """At rest it is of its own namespace, and of no other."""
        client = Client(number, self._port)
        own = self._spaces[number]
        self.wrong += not client.is_of(own)
        self.late += other % SPACES != own % SPACES and client.is_of(other)
        self.asked += 2
        client.close()

    def run(self, count: int, interval_s: float) -> None:
        next_s = time.monotonic()
        for _ in range(count):
            while self._checks and self._checks[0][0] < time.monotonic():
                _, number, old = self._checks.pop(0)
                self.check(number, old)
            number = self._chance.choice(self._numbers)
            self.check(number, self._spaces[number] + 1)
            next_s += interval_s
            time.sleep(max(0.0, next_s - time.monotonic()))
            self._event()


def cause(results, etcd_port: int, dns_port: int, numbers: list[int], seed: int, count: int, interval_s: float):
    events, error = Events(etcd_port, dns_port, numbers, seed), ""
    try:
        events.run(count, interval_s)
    except (OSError, ValueError) as raised:
        error = repr(raised)
    results.put((events.settled_s, events.late, events.wrong, events.asked, error))


# ---- The programs ----


class Bed(beds.Bed):
    """An etcd with so many pods, and skydns."""

    def __init__(self, build: Path, pods: int):
        super().__init__(build)
        self.pods = pods

    def fill(self) -> None:
        self.start_etcd()
        lines = [f"{pod_key(number, number)}\t{value(address(number))}" for number in range(self.pods)]
        self.write([f"{SVC}/target/www/x\t{value('10.96.0.1')}", *lines])

    def write(self, lines: list[str]) -> None:
        self.put("".join(f"{line}\n" for line in lines).encode())

    def start(self, *flags: str) -> float:
        """Seconds until it is ready and, with -autopath, knows the last pod."""
        started_s = time.monotonic()
        self.new_skydns(*flags).caught_up_s()
        if flags:
            client = Client(self.pods - 1, self.skydns.port)
            wait_until(lambda: client.is_of(self.pods - 1), "the last pod is known")
            client.close()
        return time.monotonic() - started_s

    def wait_followed(self) -> None:
        revision = self.etcd.client.revision()
        wait_until(lambda: self.skydns.metric("etcd_revision") >= revision, "all events", PATIENCE_S)


def churn(build: Path, pods: int, rate: float, seconds: float) -> dict[str, float]:
    with Bed(build, pods) as bed:
        bed.start("-autopath")
        results = multiprocessing.Queue()
        count, interval_s = round(rate * seconds / CAUSES), CAUSES / rate
        started_s = time.monotonic()
        causes = [
            multiprocessing.Process(
                target=cause,
                args=(results, bed.etcd.port, bed.skydns.port, list(range(n, pods, CAUSES)), n, count, interval_s),
            )
            for n in range(CAUSES)
        ]
        for process in causes:
            process.start()
        told = [results.get(timeout=PATIENCE_S + seconds) for _ in causes]
        took_s = time.monotonic() - started_s
        for process in causes:
            process.join()
        errors = [error for *_, error in told if error]
        if errors:
            raise ValueError(errors[0])
    settled_ms = [1000 * settled_s for one in told for settled_s in one[0]]
    return {
        "events_per_s": len(settled_ms) / took_s,
        **spread("settled", settled_ms),
        "settled_max_ms": max(settled_ms),
        "late": sum(one[1] for one in told),
        "wrong": sum(one[2] for one in told),
        "asked": sum(one[3] for one in told),
    }


def scale(build: Path, pods: int) -> dict[str, float]:
    values: dict[str, float] = {}
    with Bed(build, pods) as bed:
        for name, flags in (("without", ()), ("with", ("-autopath",))):
            values[f"start_{name}_s"] = bed.start(*flags)
            values[f"resident_{name}_mib"] = memory_mib(bed.skydns.pid)[0]
            used_s, started_s = cpu_s(bed.skydns.pid), time.monotonic()
            # Every pod gets the address of another one, then its own again.
            for shift in (1, 0):
                lines = [
                    f"{pod_key(number, number)}\t{value(address((number + shift) % pods))}" for number in range(pods)
                ]
                bed.write(lines)
            bed.wait_followed()
            values[f"changes_{name}_per_s"] = 2 * pods / (time.monotonic() - started_s)
            values[f"change_{name}_us"] = 1e6 * (cpu_s(bed.skydns.pid) - used_s) / (2 * pods)
            bed.skydns.stop()
    added = values["resident_with_mib"] - values["resident_without_mib"]
    values["bytes_per_pod"] = added * (1 << 20) / pods
    values["change_more_us"] = values["change_with_us"] - values["change_without_us"]
    return values


FIGURES = [
    Figure("events_per_s", "pods a second that came and went"),
    Figure("settled_p50_ms", "ms from etcd's acknowledgement to right answers, p50"),
    Figure("settled_p99_ms", "ms the same, p99"),
    Figure("settled_max_ms", "ms the longest"),
    Figure("late", f"answers by an earlier namespace's path after {1000 * LATE_S:g} ms", 0),
    Figure("wrong", "clients at rest not answered by their own", 0),
    Figure("asked", "questions"),
    Figure("start_without_s", "s to start, without -autopath"),
    Figure("start_with_s", "s to start, until the last pod is known"),
    Figure("resident_without_mib", "MiB resident, without"),
    Figure("resident_with_mib", "MiB resident, with"),
    Figure("bytes_per_pod", "bytes more for each pod"),
    Figure("changes_without_per_s", "changes/s that etcd took, without"),
    Figure("changes_with_per_s", "changes/s that etcd took, with"),
    Figure("change_without_us", "us of CPU for each, without"),
    Figure("change_with_us", "us of CPU for each, with"),
    Figure("change_more_us", "us more"),
]


def main() -> int:
    parser = options_parser(__doc__, 1)
    parser.add_argument("--pods", type=int, default=10_000, help="that come and go")
    parser.add_argument("--rate", type=float, default=200, help="events a second")
    parser.add_argument("--seconds", type=float, default=20, help="of events")
    parser.add_argument("--large", type=int, default=100_000, help="pods at scale")
    options = parse_options(parser)

    def run_round() -> dict[str, float]:
        return churn(options.build, options.pods, options.rate, options.seconds) | scale(options.build, options.large)

    told = f", {options.pods:,} pods at {options.rate:g} events/s; {options.large:,} pods"
    return run_benchmark("bench-clients", FIGURES, options.rounds, run_round, told)


if __name__ == "__main__":
    sys.exit(main())

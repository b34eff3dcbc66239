"""A steady load of DNS queries from a separate process, so that the test does not disturb it.

    with QueryLoad(port, questions, rate=1000) as load: ...
    load.p99_ms()  # of the answers since it was last called
    load.result   # at the end: sent, wrong, servfail, unanswered, the slowest answer, examples

With retry_s, a query without an answer is sent again after that time, as a resolver does: for a server that is
killed and loses what it had read.

One UDP socket, a few queries every few milliseconds, at most OUTSTANDING_MAX of them in flight: fewer than the
smallest receive buffer of a server holds, so that a busy machine slows the load down instead of losing queries. A
query counts as unanswered only after DEADLINE_S.

A reply is compared byte for byte with earlier right replies; dnspython parses only replies not seen before.
"""

import json
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dns.message
import dns.rcode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from programs import wait_until  # noqa: E402

OUTSTANDING_MAX = 128
DEADLINE_S = 20.0
_TICK_S = 0.005
_BURST_MAX = 32
_EXAMPLES_MAX = 20
_RECEIVE_BUFFER = 4 << 20


@dataclass
class Question:
    name: str
    rdtype: str
    right: list[str]  # sorted data of the answer section, or [the rcode]


@dataclass
class Result:
    sent: int
    wrong: int  # neither right nor SERVFAIL
    servfail: int
    unanswered: int
    slowest_ms: float
    rate: float  # queries sent per second, without pauses
    examples: list[str]

    def check(self) -> None:
        assert self.sent > 0
        assert (self.wrong, self.servfail, self.unanswered) == (0, 0, 0), self

    def text(self) -> str:
        return (
            f"{self.sent} queries at {self.rate:.0f}/s: {self.wrong} wrong, {self.servfail} SERVFAIL, "
            f"{self.unanswered} unanswered, slowest {self.slowest_ms:.0f} ms"
        )


def answers_of(reply: dns.message.Message) -> list[str]:
    if reply.rcode() != dns.rcode.NOERROR:
        return [dns.rcode.to_text(reply.rcode())]
    return sorted(rdata.to_text() for rrset in reply.answer for rdata in rrset)


# ---- The test's side ----


class QueryLoad:
    def __init__(self, port: int, questions: list[Question], rate: int = 1000, retry_s: float = 0.0):
        self.result: Result | None = None
        self._settings = {"port": port, "rate": rate, "retry_s": retry_s, "questions": [vars(q) for q in questions]}
        self._lock = threading.Lock()
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "QueryLoad":
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask(json.dumps(self._settings))
        return self

    def _ask(self, line: str) -> dict:
        with self._lock:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        assert reply, "the load's process has exited"
        return json.loads(reply)

    def pause(self) -> None:
        """No query is in flight when it returns."""
        self._ask("pause")

    def resume(self) -> None:
        self._ask("resume")

    def count(self) -> int:
        return self._ask("count")["sent"]

    def p99_ms(self) -> float:
        """Of the answers since the last call, or since the start."""
        return self._ask("p99")["p99_ms"]

    def wait_sent(self, more: int) -> None:
        """Until so many more queries have been sent."""
        wanted = self.count() + more
        wait_until(lambda: self.count() >= wanted, f"{more} more queries", 60.0)

    def __exit__(self, kind, *exc) -> None:
        """Every answer must have been right, unless the test has already failed."""
        try:
            self.result = Result(**self._ask("finish"))
            self._process.wait(DEADLINE_S)
        finally:
            self._process.kill()
            self._process.communicate()
        if kind is None:
            self.result.check()


# ---- The process's side ----


class _Load:
    def __init__(self, port: int, rate: int, retry_s: float, questions: list[dict]):
        self._questions = [Question(**q) for q in questions]
        self._wire = [dns.message.make_query(q.name, q.rdtype, id=0).to_wire()[2:] for q in self._questions]
        self._seen: list[set[bytes]] = [set() for _ in self._questions]
        self._rate = rate
        self._retry_s = retry_s
        self._retry_due_s = 0.0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._socket.setblocking(False)
        self._socket.connect(("127.0.0.1", port))
        self._waiting: dict[int, tuple[int, float]] = {}  # id -> number of the question, when it was sent
        self._next_id = 0
        self._next_question = 0
        self._due_s = time.monotonic()
        self._active_s = 0.0
        self._last_tick_s = time.monotonic()
        self.is_paused = False
        self.sent = self.wrong = self.servfail = self.unanswered = 0
        self.slowest_s = 0.0
        self._recent_s: list[float] = []
        self.examples: list[str] = []

    def tick(self) -> None:
        self._receive()
        now = time.monotonic()
        self._give_up(now)
        if self._retry_s and self._retry_due_s <= now:
            self._retry(now)
        if not self.is_paused:
            self._active_s += now - self._last_tick_s
            self._send(now)
        self._last_tick_s = now

    def fileno(self) -> int:
        return self._socket.fileno()

    def is_idle(self) -> bool:
        return not self._waiting

    def result(self) -> Result:
        rate = self.sent / self._active_s if self._active_s else 0.0
        slowest_ms = self.slowest_s * 1000
        counts = (self.sent, self.wrong, self.servfail, self.unanswered)
        return Result(*counts, slowest_ms, rate, self.examples)

    def take_p99_ms(self) -> float:
        taken_s, self._recent_s = sorted(self._recent_s), []
        return taken_s[len(taken_s) * 99 // 100] * 1000 if taken_s else 0.0

    def _send(self, now: float) -> None:
        # Queries that could not be sent in time are skipped: a burst to catch up would be a different load.
        self._due_s = max(self._due_s, now - _BURST_MAX / self._rate)
        while self._due_s <= now and len(self._waiting) < OUTSTANDING_MAX:
            while self._next_id in self._waiting:
                self._next_id = (self._next_id + 1) & 0xFFFF
            query_id, number = self._next_id, self._next_question
            try:
                self._socket.send(query_id.to_bytes(2, "big") + self._wire[number])
            except (BlockingIOError, ConnectionRefusedError):
                return  # buffer full, or the ICMP error of an earlier query: counts as unanswered
            self._waiting[query_id] = (number, now)
            self._next_id = (query_id + 1) & 0xFFFF
            self._next_question = (number + 1) % len(self._questions)
            self._due_s += 1 / self._rate
            self.sent += 1

    def _retry(self, now: float) -> None:
        """All that has waited for long, every retry_s."""
        self._retry_due_s = now + self._retry_s
        for query_id, (number, sent_s) in self._waiting.items():
            if now - sent_s >= self._retry_s:
                with suppress(BlockingIOError, ConnectionRefusedError):
                    self._socket.send(query_id.to_bytes(2, "big") + self._wire[number])

    def _receive(self) -> None:
        while True:
            try:
                reply = self._socket.recv(4096)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            waiting = self._waiting.pop(int.from_bytes(reply[:2], "big"), None)
            if waiting is None:
                continue  # after its deadline: already counted
            number, sent_s = waiting
            taken_s = time.monotonic() - sent_s
            self.slowest_s = max(self.slowest_s, taken_s)
            self._recent_s.append(taken_s)
            if reply[2:] not in self._seen[number]:
                self._judge(number, reply)

    def _judge(self, number: int, reply: bytes) -> None:
        question = self._questions[number]
        try:
            message = dns.message.from_wire(reply)
            echoed = message.question[0].to_text().lower() if message.question else ""
            got = answers_of(message)
            if not echoed.startswith(question.name.lower() + ". "):
                got = [f"an answer to {echoed}"]
        except Exception as error:  # any error that dnspython finds in it
            got = [repr(error)]
        if got == question.right:
            self._seen[number].add(reply[2:])
        elif got == ["SERVFAIL"]:
            self.servfail += 1
            self._note(question, got)
        else:
            self.wrong += 1
            self._note(question, got)

    def _give_up(self, now: float) -> None:
        # In the order of sending: the first is the oldest.
        while self._waiting:
            query_id, (number, sent_s) = next(iter(self._waiting.items()))
            if now - sent_s < DEADLINE_S:
                return
            del self._waiting[query_id]
            self.unanswered += 1
            self._note(self._questions[number], ["unanswered"])

    def _note(self, question: Question, got: list[str]) -> None:
        if len(self.examples) < _EXAMPLES_MAX:
            self.examples.append(f"{time.monotonic():.3f} {question.name} {question.rdtype}: {got}")


def _until_idle(load: _Load) -> None:
    load.is_paused = True
    while not load.is_idle():
        select.select([load], [], [], _TICK_S)
        load.tick()


def _main() -> None:
    load = _Load(**json.loads(sys.stdin.readline()))
    print("{}", flush=True)
    while True:
        readable, _, _ = select.select([sys.stdin, load], [], [], _TICK_S)
        load.tick()
        if sys.stdin not in readable:
            continue
        command = sys.stdin.readline().strip()  # the other side waits for each reply: never two lines
        if command in ("pause", "finish", ""):
            _until_idle(load)
        elif command == "resume":
            load.is_paused = False
        answer = {"p99_ms": load.take_p99_ms()} if command == "p99" else vars(load.result())
        print(json.dumps(answer), flush=True)
        if command in ("finish", ""):
            return


if __name__ == "__main__":
    _main()

"""Two skydns behind a balancer that follows /readiness are restarted one after the other, and no query is lost."""

import random
import signal
import socket
import threading
import time

import dns.exception
import dns.message
import dns.query
import pytest
from balancer import Balancer, Reader
from dns_client import TIMEOUT_S
from programs import Program, reserve_port, wait_until
from query_load import Question, QueryLoad, answers_of
from records import value

NAMES = {f"n{number}.cluster.local": [f"10.0.0.{number}"] for number in range(1, 9)}
UDP_RATE = 500  # per second
TCP_CLIENTS = 3
TCP_QUERIES_MAX = 5  # per connection
# To each reader, over each transport, before and after each of its restarts.
ENOUGH = 20
ROUNDS = 2
LAMEDUCK = "-lameduck=1h"


class TcpLoad:
    """Several clients, each with one connection after the other and a few queries on each."""

    def __init__(self, port: int):
        self._port = port
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(TCP_CLIENTS)]
        self.queries = 0
        self.lost: list[str] = []

    def __enter__(self) -> "TcpLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if exc[0] is None:
            assert self.lost == [], f"of {self.queries} queries over TCP"

    def _run(self) -> None:
        while not self._stop.is_set():
            names = random.choices(list(NAMES), k=random.randint(1, TCP_QUERIES_MAX))
            questions = {n: dns.message.make_query(name, "A", id=n) for n, name in enumerate(names)}
            self.queries += len(names)
            try:
                self._ask(questions)
            except (OSError, EOFError, dns.exception.DNSException) as error:
                self.lost.append(repr(error))

    def _ask(self, questions: dict[int, dns.message.Message]) -> None:
        expiration = time.time() + TIMEOUT_S
        with socket.create_connection(("127.0.0.1", self._port), timeout=TIMEOUT_S) as connection:
            for question in questions.values():
                dns.query.send_tcp(connection, question, expiration)
            for _ in list(questions):
                reply = dns.query.receive_tcp(connection, expiration)[0]
                question = questions.pop(reply.id).question[0]
                if answers_of(reply) != NAMES[question.name.to_text(omit_final_dot=True)]:
                    self.lost.append(f"{question}: {answers_of(reply)}")


class Restartable:
    """One skydns, and the balancer's view of it."""

    def __init__(self, bed, host: str, port: int, *flags: str):
        http_port = reserve_port()
        self.program: Program = bed.command(
            "skydns",
            f"-machines={bed.etcd_urls[0]}",
            "-domain=cluster.local.",
            "-no-rec",
            f"-addr={host}:{port}",
            f"-http-addr=127.0.0.1:{http_port}",
            *flags,
        )
        self.program.start()
        self.reader = Reader(host, port, f"http://127.0.0.1:{http_port}/readiness")

    def wait_asked(self) -> None:
        """Waits until it has had enough queries from now on."""
        datagrams, connections = self.reader.datagrams + ENOUGH, self.reader.connections + ENOUGH
        self.program.wait_ready(
            lambda: self.reader.datagrams >= datagrams and self.reader.connections >= connections, "asked"
        )

    def restart(self) -> None:
        """It is a lame duck for an hour; a second signal ends that once the balancer has noticed and its
        connections are done, so that the machine's speed does not matter. Datagrams may still wait in its
        socket then.
        """
        self.program.signal(signal.SIGTERM)
        wait_until(lambda: not self.reader.is_ready and not self.reader.open_connections, "left alone")
        self.program.stop()
        self.program.start()


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    for name, (address,) in NAMES.items():
        bare_bed.etcd.put("/skydns/local/cluster/" + name.split(".")[0], value(address))
    yield bare_bed
    for program in bare_bed.programs:
        if program.name == "skydns" and program.is_running():
            program.signal(signal.SIGINT)  # without a lame duck
            assert program.wait() == 0


def test_a_rolling_restart_loses_no_query(bed, record_property):
    front, back = reserve_port(), reserve_port()
    restartables = [Restartable(bed, f"127.0.0.{n}", back, LAMEDUCK) for n in (2, 3)]
    questions = [Question(name, "A", right) for name, right in NAMES.items()]
    with Balancer(front, [one.reader for one in restartables]) as balancer:
        wait_until(lambda: all(reader.is_ready for reader in balancer.readers), "both ready")
        with QueryLoad(front, questions, UDP_RATE) as udp_load, TcpLoad(front) as tcp_load:
            for one in restartables * ROUNDS:
                one.wait_asked()
                one.restart()
                one.wait_asked()
    assert tcp_load.queries > 0
    text = f"rolling restarts over UDP: {udp_load.result.text()}; over TCP: {tcp_load.queries} queries, 0 lost"
    record_property("figure", text)

"""-rate-namespace as it is seen on the wire: pods of one namespace share it, over all transports. Clients are 127.0.0.x, as
pods' addresses.
"""

import contextlib
import json
import socket
import time

import dns.message
import pytest
from programs import http_get, wait_until
from records import value
from test_cookies import CLIENT, NAME, Server, ask_many, cookie_of, kinds
from transports import KINDS

POD = "/skydns/local/cluster/pod"
A1, A2, B, NOBODY = "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8"
PODS = {A1: "team-a", A2: "team-a", B: "team-b"}


def client_of(server: Server, address: str) -> dict:
    return json.loads(http_get(f"http://127.0.0.1:{server.http}/explain?name={NAME}.&client={address}")[1])["client"]


def limited(server: Server, effect: str) -> float:
    return server.metric("namespace_rate_limited_total", effect=effect)


@pytest.fixture
def start(bare_bed):
    """skydns with these flags, which knows the pods."""

    def start(*flags: str) -> Server:
        server = Server(bare_bed, "-workers=2", *flags)
        for address, space in PODS.items():
            bare_bed.etcd.put(f"{POD}/{space}/{address.replace('.', '-')}/k", value(address))
        server.wait_ready()
        if flags:
            wait_until(lambda: all(client_of(server, at).get("namespace") == PODS[at] for at in PODS), "the pods")
        return server

    return start


class Pipeline:
    """A TCP connection that sends many queries at once."""

    def __init__(self, server: Server, source: str):
        self._socket = socket.create_connection(("127.0.0.1", server.bed.dns.port), 20, source_address=(source, 0))
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *exc) -> None:
        self._file.close()
        self._socket.close()

    def send(self, count: int) -> None:
        wires = [dns.message.make_query(NAME, "A", id=number).to_wire() for number in range(count)]
        self._socket.sendall(b"".join(len(wire).to_bytes(2, "big") + wire for wire in wires))

    def take(self, count: int) -> None:
        """In order: they are answered at once, when they are read."""
        for _ in range(count):
            reply = dns.message.from_wire(self._file.read(int.from_bytes(self._file.read(2), "big")))
            assert reply.answer


def test_pods_share_a_burst(start):
    """Half of what is free for each, whatever its cookie, its port and the worker; others have their own, or no limit."""
    server = start("-rate-namespace=1/64")
    begun = time.monotonic()
    free = client_of(server, A1)
    assert (free["namespace_rate"], free["namespace_burst"], free["namespace_left"]) == (1, 64, 32)
    assert "namespace_rate" not in client_of(server, NOBODY)
    text = http_get(f"http://127.0.0.1:{server.http}/explain?name={NAME}.&client={A1}&text")[1]
    assert "limit      1 queries a second for all clients of namespace team-a together, 64 at once; 32 are left" in text
    cookie = cookie_of(server.ask(CLIENT, source=A1))
    got = {A1: 1 + kinds(ask_many(server, 99, [A1], cookie, sockets=7)[A1])[0]}
    for source in (A2, B, NOBODY):
        got[source] = kinds(ask_many(server, 100, [source], sockets=3)[source])[0]
    more = time.monotonic() - begun  # one for each second
    for source, least in ((A1, 32), (A2, 16), (B, 32), (NOBODY, 100)):
        assert least <= got[source] <= least + more, got
    dropped = 400 - sum(got.values())
    assert limited(server, "dropped") == server.metric("queries_total", transport="udp", verdict="limited") == dropped
    assert limited(server, "delayed") == 0 and server.metric("rate_limited_total", reply="dropped") == 0


@pytest.mark.parametrize("over", ["tcp", *KINDS])
def test_streams_are_read_at_the_rate(start, over):
    """All queries are answered, and no faster than that; UDP counts with them."""
    rate, burst, count = 40, 20, 50
    server = start(f"-rate-namespace={rate}/{burst}")
    begun = time.monotonic()
    if over == "tcp":
        with Pipeline(server, A1) as pipeline:
            pipeline.send(count)
            pipeline.take(count)
    else:
        query = dns.message.make_query(NAME, "A").to_wire()
        with contextlib.closing(server.listeners.asker(over, source_address=(A1, 0))) as asker:
            for _ in range(count):
                assert dns.message.from_wire(asker.exchange(query)).answer
    took = time.monotonic() - begun
    # At most the burst at once; nobody waits for the last one's turn to pass.
    assert took >= (count - burst - 1) / rate
    assert limited(server, "delayed") >= 1 and limited(server, "dropped") == 0


def test_a_flood_leaves_the_others_their_turns(start):
    """One pod floods over UDP and TCP; another one of its namespace gets every answer, over each."""
    server = start("-rate-namespace=200")
    flood = dns.message.make_query(NAME, "A").to_wire()
    with contextlib.ExitStack() as stack:
        hog = stack.enter_context(contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        hog.bind((A1, 0))
        hog.connect(("127.0.0.1", server.bed.dns.port))
        for _ in range(8):
            stack.enter_context(Pipeline(server, A1)).send(1000)
        for over in ("udp", "tcp") * 15:
            for _ in range(40):
                hog.send(flood)
            assert server.ask(over=over, source=A2).answer
        wait_until(lambda: limited(server, "delayed") >= 1 and limited(server, "dropped") >= 100, "the hog to be limited")
        assert server.ask(source=A2).answer and server.ask(source=B).answer and server.ask(source=NOBODY).answer


def test_a_document_changes_it(start):
    """It follows the pods as soon as it is set, and lets go of what waits when it is not."""
    server = start()
    assert client_of(server, A1)["identity"] == "not-wanted"
    server.configure('{"rate_namespace": "1/16"}')
    server.bed.skydns.wait_line("configuration changed.*rate_namespace.*off -> 1/16")
    wait_until(lambda: client_of(server, A1).get("namespace_burst") == 16, "the pods")
    with Pipeline(server, A1) as pipeline:
        pipeline.send(200)
        pipeline.take(8)
        wait_until(lambda: limited(server, "delayed") >= 1, "the connection to be held")
        server.configure('{"rate_namespace": 0}')
        pipeline.take(192)
    server.bed.skydns.wait_line("configuration changed.*rate_namespace.*1/16 -> off")
    assert kinds(ask_many(server, 100, [A1])[A1]) == (100, 0)


def test_a_stop_answers_what_waits(start):
    server = start("-rate-namespace=1/4")
    with Pipeline(server, A1) as pipeline:
        pipeline.send(100)
        wait_until(lambda: limited(server, "delayed") >= 1, "the connection to be held")
        server.bed.skydns.stop()
        pipeline.take(100)

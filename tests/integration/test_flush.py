"""POST /flush and -flush: what is cached of a name, or of a zone, is asked for again; the rest stays."""

import http.client
import json

import dns.rcode
import pytest
from programs import reserve_port
from scripted import ADDRESS, Nameserver, reply
from test_nameservers import metric

FIELD = {"Skydns-Flush": "1"}


class World:
    def __init__(self, bed):
        self.bed, self.port, self.upstream = bed, reserve_port(), Nameserver()
        bed.start_etcd()
        bed.start_skydns(f"-nameservers=127.0.0.1:{self.upstream.port}", f"-http-addr=127.0.0.1:{self.port}",
                         "-rtimeout=20s")  # fmt: skip

    def ask(self, *names: str) -> None:
        for name in names:
            assert self.bed.dns.answers(name) == [ADDRESS]

    def request(self, name: str, method: str = "POST", fields: dict = FIELD) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, f"/flush?name={name}", headers=fields)
        response = connection.getresponse()
        return response.status, response.read().decode()

    def flush(self, name: str) -> int:
        status, body = self.request(name)
        assert status == 200, body
        return json.loads(body)["dropped"]


@pytest.fixture
def world(bare_bed):
    world = World(bare_bed)
    yield world
    world.upstream.close()


def test_a_name_and_a_zone(world):
    names = ("www.example.com", "a.www.example.com", "example.com", "www.example.org")
    world.ask(*names, *names)
    assert [world.upstream.asked(name) for name in names] == [1] * 4
    assert world.flush("WWW.Example.com") == 1
    world.ask(*names)
    assert [world.upstream.asked(name) for name in names] == [2, 1, 1, 1]
    assert world.flush("example.com.") == 3
    world.ask(*names)
    assert [world.upstream.asked(name) for name in names] == [3, 2, 2, 1]
    assert world.flush("absent.example.com") == 0
    assert metric(world.port, "cache_flushed_total") == 4


def test_a_failure_goes_too(world):
    world.upstream.tell("www.example.com", "A", reply(rcode="SERVFAIL"))
    assert world.bed.dns.query("www.example.com", "A").rcode() == dns.rcode.SERVFAIL
    world.upstream.tell("www.example.com", "A", reply(f"www.example.com. 60 A {ADDRESS}"))
    assert world.flush("www.example.com") == 0
    world.ask("www.example.com")


def test_many_names_by_the_command(world):
    names = [f"n{number}.example.com" for number in range(300)]
    world.ask(*names)
    client = world.bed.command("skydns", "-flush", "example.com.", f"-http-addr=127.0.0.1:{world.port}").start()
    assert client.wait() == 0 and '{"dropped":300}' in client.log_text()
    world.ask(names[0])
    assert world.upstream.asked(names[0]) == 2


@pytest.mark.parametrize(("name", "method", "fields", "status", "told"), [
    ("www.example.com", "GET", FIELD, 405, "expected: POST"),
    ("www.example.com", "POST", {}, 403, "expected the field Skydns-Flush: 1"),
    ("www.example.com", "POST", {"Skydns-Flush": "0"}, 403, "expected the field Skydns-Flush: 1"),
    ("", "POST", FIELD, 400, "name ``: expected a name like www.example.com"),
    ("a..b", "POST", FIELD, 400, "name `a..b`: expected a name like"),
])  # fmt: skip
def test_what_is_refused(world, name, method, fields, status, told):
    world.ask("www.example.com")
    got = world.request(name, method, fields)
    assert got[0] == status and told in got[1]
    world.ask("www.example.com")
    assert world.upstream.asked("www.example.com") == 1


def test_without_a_cache(bare_bed):
    port = reserve_port()
    bare_bed.start_etcd()
    bare_bed.start_skydns("-rcache=0", f"-http-addr=127.0.0.1:{port}")
    client = bare_bed.command("skydns", "-flush=example.com.", f"-http-addr=127.0.0.1:{port}").start()
    assert client.wait() == 0 and '{"dropped":0}' in client.log_text()


def test_the_command_needs_a_server(bare_bed):
    program = bare_bed.command("skydns", "-flush=example.com.").start()
    assert program.wait() == 2 and "flag -flush: expected -http-addr with it" in program.log_text()

"""Upstreams of tcp://: no question goes over UDP, and all else is as for others."""

import concurrent.futures
import socket

import dns.edns
import dns.rcode
import pytest
from programs import http_get, reserve_port
from scripted import ADDRESS, Nameserver, reply, soa
from upstream import PATIENT

NAME = "www.example.com"


@pytest.fixture
def server():
    server = Nameserver()
    yield server
    server.close()


def start(bed, *flags: str, rtimeout: str = PATIENT) -> int:
    """Returns the port of its pages."""
    port = reserve_port()
    bed.start_etcd()
    bed.start_skydns("-rcache=0", *flags, rtimeout, f"-http-addr=127.0.0.1:{port}")
    return port


def transports(server: Nameserver) -> set[str]:
    return {transport for transport, _ in server.seen}


def test_never_over_udp(bare_bed, server):
    """Also when what comes is malformed, or refuses EDNS."""
    server.tell("old.example.com", "A", lambda query, transport: reply(
        rcode="FORMERR" if query.edns >= 0 else "NOERROR", edns=False,
        *(() if query.edns >= 0 else (f"old.example.com. 60 A {ADDRESS}",)))(query, transport))  # fmt: skip
    server.tell("absent.example.com", "A", reply(rcode="NXDOMAIN", authority=[soa("example.com.")]))
    server.tell("broken.example.com", "A", lambda query, _transport: query.to_wire()[:12])
    port = start(bare_bed, f"-nameservers=tcp://127.0.0.1:{server.port}")
    assert bare_bed.dns.answers(NAME) == [ADDRESS]
    assert bare_bed.dns.answers("old.example.com") == [ADDRESS] and server.asked("old.example.com") == 2
    assert bare_bed.dns.query("absent.example.com", "A").rcode() == dns.rcode.NXDOMAIN
    assert bare_bed.dns.query("broken.example.com", "A").rcode() == dns.rcode.SERVFAIL
    assert bare_bed.dns.answers(NAME) == [ADDRESS]
    assert transports(server) == {"tcp"}
    page = http_get(f"http://127.0.0.1:{port}/metrics")[1]
    assert f'address="127.0.0.1:{server.port}",transport="tcp"' in page
    assert "skydns_forward_tcp_retries_total 0\n" in page


def test_many_at_once(bare_bed, server):
    """More than one client may have of the places for TCP: its own shortage is no fault of the upstream."""
    start(bare_bed, f"-nameservers=tcp://127.0.0.1:{server.port}")
    names = [f"n{number}.example.com" for number in range(200)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        assert list(pool.map(bare_bed.dns.answers, names)) == [[ADDRESS]] * len(names)
    assert transports(server) == {"tcp"}


def test_stub_zone_and_document(bare_bed, server):
    start(bare_bed, "-no-rec")
    bare_bed.etcd.put("/skydns/config", '{"stubs":{"corp.test":["tcp://127.0.0.1:%d"]}}' % server.port)
    bare_bed.wait_answers("www.corp.test", "A", [ADDRESS])
    assert transports(server) == {"tcp"}


def test_a_silent_one_is_passed_over(bare_bed, server):
    """It accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", reserve_port())) as silent:
        port = silent.getsockname()[1]
        flag = f"-nameservers=tcp://127.0.0.1:{port},tcp://127.0.0.1:{server.port}"
        start(bare_bed, flag, "-ns-rotate=false", rtimeout="-rtimeout=4s")
        assert bare_bed.dns.answers(NAME) == [ADDRESS]


def test_one_that_refuses_connections_is_passed_over(bare_bed, server):
    flag = f"-nameservers=tcp://127.0.0.1:{reserve_port()},tcp://127.0.0.1:{server.port}"
    start(bare_bed, flag, "-ns-rotate=false")
    assert bare_bed.dns.answers(NAME) == [ADDRESS]
    assert transports(server) == {"tcp"}

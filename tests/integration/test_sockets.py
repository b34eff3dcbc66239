"""The addresses that skydns answers on: several, IPv4 and IPv6, and sockets that systemd passes."""

import threading

import dns.message
import dns.query
import pytest
from programs import Program, reserve_port, wait_until
from records import value
from systemd_sockets import SystemdSockets

NAME = "a.cluster.local"


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/a", value("10.0.0.1"))
    return bare_bed


def start(bed, *flags: str) -> Program:
    bed.skydns = bed.command(
        "skydns", f"-machines={bed.etcd_urls[0]}", "-domain=cluster.local.", "-no-rec", *flags
    )
    bed.skydns.start()
    return bed.skydns


def answers(host: str, port: int, tcp: bool = False) -> list[str]:
    ask = dns.query.tcp if tcp else dns.query.udp
    reply = ask(dns.message.make_query(NAME, "A"), host, timeout=20, port=port)
    return [rr.to_text() for rrset in reply.answer for rr in rrset]


def test_several_addresses(bed):
    ports = [reserve_port() for _ in range(3)]
    hosts = ["127.0.0.1", "127.0.0.2", "::1"]
    urls = [f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in zip(hosts, ports, strict=True)]
    skydns = start(bed, "-addr=" + ",".join(urls), "-workers=2")
    for url in urls:
        for transport in ("udp", "tcp"):
            skydns.wait_line(rf"ready for queries on cluster\.local\. for {transport}://" + url.replace("[", r"\["))
    for host, port in zip(hosts, ports, strict=True):
        for tcp in (False, True):
            assert answers(host, port, tcp) == ["10.0.0.1"]


def test_both_wildcards_at_one_port(bed):
    """Replies come from the address that was queried (dnspython rejects others)."""
    port = reserve_port()
    skydns = start(bed, f"-addr=0.0.0.0:{port},[::]:{port}")
    skydns.wait_line("ready for queries on .* for udp://0")
    for host in ("127.0.0.1", "127.0.0.2", "127.1.2.3", "::1"):
        for tcp in (False, True):
            assert answers(host, port, tcp) == ["10.0.0.1"]


def test_an_ipv6_wildcard_alone_takes_ipv4_too(bed):
    port = reserve_port()
    skydns = start(bed, f"-addr=[::]:{port}")
    skydns.wait_line("ready for queries on .* for udp://")
    for host in ("127.0.0.1", "127.0.0.2", "::1"):
        for tcp in (False, True):
            assert answers(host, port, tcp) == ["10.0.0.1"]


def test_many_addresses_share_the_workers(bed):
    port = reserve_port()
    hosts = [f"127.0.0.{n}" for n in range(1, 17)]
    skydns = start(bed, "-addr=" + ",".join(f"{host}:{port}" for host in hosts), "-workers=8")
    assert "workers=4 addresses=16" in skydns.wait_line("fewer workers per address than requested")
    skydns.wait_line(rf"ready for queries on .* for udp://127\.0\.0\.16:{port}")
    for host in hosts:
        assert answers(host, port) == ["10.0.0.1"]


def test_systemd_passes_the_sockets(bed):
    """Queries sent during a restart wait in the sockets; until the records are read, they get SERVFAIL."""
    sockets = SystemdSockets(bed)
    sockets.start()
    for _ in range(20):  # any worker may get it
        assert answers("127.0.0.1", sockets.port) == ["10.0.0.1"]
    assert answers("127.0.0.1", sockets.port, tcp=True) == ["10.0.0.1"]
    sockets.skydns.stop()
    late: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda tcp=tcp: late.append(answers("127.0.0.1", sockets.port, tcp)))
        for tcp in (False, True)
    ]
    for thread in threads:
        thread.start()
    sockets.start()
    for thread in threads:
        thread.join()
    assert len(late) == 2 and all(got in ([], ["10.0.0.1"]) for got in late)
    assert answers("127.0.0.1", sockets.port) == ["10.0.0.1"]
    sockets.skydns.stop()
    sockets.close()


def test_systemd_passed_nothing(bed):
    skydns = start(bed, "-systemd")
    assert skydns.wait() == 2
    assert any("-systemd" in line and "no sockets were passed" in line for line in skydns.lines)


@pytest.mark.parametrize("address", ["240.0.0.1:5353", "127.0.0.1:1,240.0.0.1:5353"])
def test_an_address_that_nobody_has(bed, address):
    skydns = start(bed, f"-addr={address}")
    assert skydns.wait() == 1
    wait_until(lambda: any("240.0.0.1:5353" in line for line in skydns.lines), "the line with the address")

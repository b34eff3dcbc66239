"""Forwarding to third-party nameservers, which exit, hang, lie and loop back; and who may query."""

import signal
import socket

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import nameservers
import prometheus
import pytest
from nameservers import BIG, address
from programs import http_get, reserve_port, wait_until
from upstream import PATIENT, Upstream

MAKES = {"unbound": nameservers.unbound, "knot": nameservers.knot}


class Servers:
    """Several numbered nameservers in the bed."""

    def __init__(self, bed, makes):
        self.ports = [reserve_port() for _ in makes]
        self.programs = []
        for number, (make, port) in enumerate(zip(makes, self.ports, strict=True), 1):
            server = MAKES[make](bed.folder, number, port)
            bed.programs.append(server)
            self.programs.append(nameservers.start(server, port))
        self.flag = "-nameservers=" + ",".join(f"127.0.0.1:{port}" for port in self.ports)


# The first of two nameservers is silent: the second is asked after 2.7 s, and has until 8 s.
FOR_SILENCE = "-rtimeout=4s"


def start_skydns(bed, *flags: str, rtimeout: str = PATIENT) -> int:
    """The port of its metrics."""
    port = reserve_port()
    bed.start_etcd()
    bed.start_skydns("-rcache=0", *flags, f"-http-addr=127.0.0.1:{port}", rtimeout)
    return port


def metric(port: int, name: str, **labels: str) -> float:
    page = prometheus.parse(http_get(f"http://127.0.0.1:{port}/metrics")[1])
    return page[f"skydns_{name}"].samples[(f"skydns_{name}", tuple(sorted(labels.items())))]


@pytest.mark.parametrize("make", MAKES)
def test_what_they_say_is_passed_on(bare_bed, make):
    servers = Servers(bare_bed, [make])
    port = start_skydns(bare_bed, servers.flag)
    ask = bare_bed.dns
    for tcp in (False, True):
        for options in ({}, {"use_edns": 0, "payload": 4096}):
            reply = ask.query("wWw.Real.Test", "A", tcp=tcp, **options)
            assert [rr.to_text() for rr in reply.answer[0]] == [address(1)] and reply.answer[0].ttl == 77
            assert str(reply.question[0].name) == "wWw.Real.Test." and reply.edns == (0 if options else -1)
            assert reply.flags & dns.flags.RA and not reply.flags & dns.flags.AA  # knot says otherwise
            assert ask.query("absent.real.test", "A", tcp=tcp, **options).rcode() == dns.rcode.NXDOMAIN
    assert ask.answers("www.real.test", "TXT") == ['"some-text"']
    assert ask.answers("www.real.test", "AAAA") == []
    negative = ask.query("www.real.test", "AAAA")
    assert not negative.answer
    assert metric(port, "forward_tcp_retries_total") == 0


@pytest.mark.parametrize("make", MAKES)
def test_a_long_reply_is_fetched_over_tcp(bare_bed, make):
    """skydns accepts 1,232 bytes over UDP from any nameserver; the client gets as much as it can accept."""
    servers = Servers(bare_bed, [make])
    port = start_skydns(bare_bed, servers.flag)
    short = bare_bed.dns.query("big.real.test", "A")
    assert short.flags & dns.flags.TC
    whole = bare_bed.dns.query("big.real.test", "A", tcp=True)
    assert not whole.flags & dns.flags.TC
    assert sorted(rr.to_text() for rr in whole.answer[0]) == sorted(BIG)
    assert metric(port, "forward_tcp_retries_total") == 2


def test_targets_with_long_replies(bare_bed):
    """A CNAME's target has more addresses than fit a datagram: all arrive."""
    servers = Servers(bare_bed, ["unbound"])
    start_skydns(bare_bed, servers.flag)
    bare_bed.etcd.put("/skydns/local/cluster/ext", '{"host":"big.real.test."}')
    bare_bed.wait_answers("absent.cluster.local", "A", ["NXDOMAIN"])
    wait_until(lambda: bare_bed.dns.query("ext.cluster.local", "CNAME").answer, "the record")
    reply = bare_bed.dns.query("ext.cluster.local", "A", tcp=True)
    got = [rr.to_text() for rrset in reply.answer for rr in rrset if rrset.rdtype == dns.rdatatype.A]
    assert sorted(got) == sorted(BIG)


def test_one_is_ended_the_other_answers(bare_bed):
    servers = Servers(bare_bed, ["unbound", "knot"])
    port = start_skydns(bare_bed, servers.flag)
    ask = bare_bed.dns
    assert ask.answers("www.real.test") == [address(1)]
    servers.programs[0].stop()
    for _ in range(3):
        assert ask.answers("www.real.test") == [address(2)]
    assert metric(port, "nameservers") == 2
    wait_until(lambda: metric(port, "nameservers_dead") == 1, "a probe without reply")
    nameservers.start(servers.programs[0], servers.ports[0])
    bare_bed.skydns.wait_line("upstream responds again")
    assert ask.answers("www.real.test") == [address(1)]
    assert metric(port, "nameservers_dead") == 0


def test_one_hangs_the_other_answers(bare_bed):
    servers = Servers(bare_bed, ["unbound", "knot"])
    start_skydns(bare_bed, servers.flag, rtimeout=FOR_SILENCE)
    ask = bare_bed.dns
    servers.programs[0].signal(signal.SIGSTOP)
    try:
        for _ in range(3):
            assert ask.answers("www.real.test") == [address(2)]
        bare_bed.skydns.wait_line("upstream does not respond, skipping it")
    finally:
        servers.programs[0].signal(signal.SIGCONT)
    bare_bed.skydns.wait_line("upstream responds again")
    assert ask.answers("www.real.test") == [address(1)]


def test_all_are_dead(bare_bed):
    servers = Servers(bare_bed, ["unbound"])
    start_skydns(bare_bed, servers.flag)
    servers.programs[0].stop()
    for tcp in (False, True):
        for _ in range(3):
            assert bare_bed.dns.query("www.real.test", "A", tcp=tcp).rcode() == dns.rcode.SERVFAIL
    nameservers.start(servers.programs[0], servers.ports[0])
    assert bare_bed.dns.answers("www.real.test") == [address(1)]


class Liar(Upstream):
    """Spoofs 203.0.113.66 in every wrong way: wrong id, wrong question, wrong source port."""

    def __init__(self):
        super().__init__(self._lie)
        self._elsewhere = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._elsewhere.bind(("127.0.0.1", reserve_port()))

    def _serve_udp(self) -> None:
        try:
            while True:
                wire, client = self._udp.recvfrom(65535)
                if not wire:
                    return
                query = dns.message.from_wire(wire)
                lies = [self._lie(query) for _ in range(3)]
                lies[0].id ^= 1
                lies[1].question[0].name = lies[1].question[0].name.concatenate(dns.name.empty)
                lies[1].question[0].rdtype = dns.rdatatype.AAAA
                self._udp.sendto(lies[0].to_wire(), client)
                self._udp.sendto(lies[1].to_wire(), client)
                self._elsewhere.sendto(lies[2].to_wire(), client)
        except OSError:
            pass  # closed

    @staticmethod
    def _lie(query):
        reply = dns.message.make_response(query)
        reply.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "A", "203.0.113.66"))
        return reply

    def close(self) -> None:
        super().close()
        self._elsewhere.close()


def test_a_liar_is_not_believed(bare_bed):
    liar = Liar()
    servers = Servers(bare_bed, ["unbound"])
    flag = f"-nameservers=127.0.0.1:{liar.port},127.0.0.1:{servers.ports[0]}"
    start_skydns(bare_bed, flag, rtimeout=FOR_SILENCE)
    for _ in range(4):
        assert bare_bed.dns.answers("www.real.test") == [address(1)]
    liar.close()


def test_random_capitals(bare_bed):
    """Real servers echo the question's letter case."""
    servers = Servers(bare_bed, ["unbound", "knot"])
    start_skydns(bare_bed, servers.flag, "-mix-case", "-ns-rotate=true")
    for number in range(10):
        query = dns.message.make_query("a-rather-long-name.www.real.test", "A")
        query.id = number
        assert bare_bed.dns.send(query).rcode() == dns.rcode.NXDOMAIN
        query = dns.message.make_query("www.real.test", "A")
        query.id = number
        assert str(bare_bed.dns.send(query).answer[0].name) == "www.real.test."


# ---- Loops ----


def test_itself_as_its_nameserver(bare_bed):
    start_skydns(bare_bed, f"-nameservers=127.0.0.1:{bare_bed.dns.port}")
    line = bare_bed.skydns.wait_line("leads back to this program")
    assert f"server=127.0.0.1:{bare_bed.dns.port}" in line
    assert bare_bed.dns.answers("www.real.test") == ["SERVFAIL"]


def test_a_nameserver_that_asks_us(bare_bed):
    """The loop is detected, and the other nameserver is used."""
    port = reserve_port()
    zone = ["forward-zone:", 'name: "."', f"forward-addr: 127.0.0.1@{bare_bed.dns.port}"]
    mirror = nameservers.unbound(bare_bed.folder, 9, port, *zone)
    bare_bed.programs.append(mirror)
    nameservers.start(mirror, port)
    servers = Servers(bare_bed, ["unbound"])
    http = start_skydns(bare_bed, f"-nameservers=127.0.0.1:{port},127.0.0.1:{servers.ports[0]}")
    line = bare_bed.skydns.wait_line("leads back to this program")
    assert f"server=127.0.0.1:{port}" in line
    assert bare_bed.dns.answers("www.real.test") == [address(1)]
    assert metric(http, "nameservers_dead") == 1
    # the loop is gone, and skydns checks again
    mirror.stop()
    mended = nameservers.unbound(bare_bed.folder, 2, port)
    bare_bed.programs.append(mended)
    nameservers.start(mended, port)
    bare_bed.skydns.signal(signal.SIGHUP)
    wait_until(lambda: metric(http, "nameservers_dead") == 0, "the nameserver is used again")
    bare_bed.wait_answers("www.real.test", "A", [address(2)])


# ---- Who may query ----


def test_foreign_names_only_for_those_allowed(bare_bed):
    servers = Servers(bare_bed, ["unbound"])
    port = start_skydns(bare_bed, servers.flag, "-allow-recursion=10.0.0.0/8")
    bare_bed.etcd.put("/skydns/local/cluster/a", '{"host":"10.0.0.1"}')
    bare_bed.etcd.put("/skydns/local/cluster/ext", '{"host":"www.real.test."}')
    bare_bed.wait_answers("ext.cluster.local", "A", [address(1), "www.real.test."])
    assert bare_bed.dns.answers("a.cluster.local") == ["10.0.0.1"]
    for tcp in (False, True):
        reply = bare_bed.dns.query("www.real.test", "A", tcp=tcp, use_edns=0)
        assert reply.rcode() == dns.rcode.REFUSED and not reply.answer and reply.edns == 0
    assert "-allow-recursion" in bare_bed.skydns.wait_line("refusing queries for external names")
    refusals = [line for line in bare_bed.skydns.lines if "refusing queries" in line]
    assert len(refusals) == 1  # an hour
    assert metric(port, "recursion_refused_total") == 2

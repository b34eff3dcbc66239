"""Names outside the domain are forwarded to a nameserver, which the test plays."""

import signal
import socket
import threading
import time
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import pytest
from dns_client import Dns
from nameservers import needs
from programs import output, reserve_port, wait_until
from records import value
from upstream import IMPATIENT, PATIENT, Upstream, address


@pytest.fixture
def bed(bare_bed, upstream):
    bare_bed.start_etcd()
    bare_bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", PATIENT)
    return bare_bed


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_passed_on_and_back(bed, upstream, tcp):
    question = dns.message.make_query("WwW.Example.COM", "A", use_edns=0, payload=1232)
    reply = bed.dns.send(question, tcp)
    assert reply.answer[0][0].to_text() == "192.0.2.7" and reply.answer[0].ttl == 77
    assert str(reply.question[0].name) == "WwW.Example.COM." and not reply.flags & dns.flags.AA
    assert [query.question for _, query in upstream.seen] == [question.question]
    assert [transport for transport, _ in upstream.seen] == ["udp"]
    sent = upstream.seen[0][1]
    assert sent.edns == 0 and sent.payload == 1232 and sent.id != question.id


def udp_sockets(port: int) -> int:
    """The number of UDP sockets bound to the port at 127.0.0.1."""
    return Path("/proc/net/udp").read_text().count(f" 0100007F:{port:04X} 00000000:0000 ")


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers(bare_bed, upstream, workers):
    """From many clients, which the kernel spreads over all workers."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/a", value("10.0.0.1"))
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", f"-workers={workers}", PATIENT)
    assert udp_sockets(bed.dns.port) == workers
    for tcp in (False, True):
        for number in range(20):
            own = bed.dns.query("a.cluster.local", tcp=tcp)
            assert own.answer[0][0].to_text() == "10.0.0.1"
            others = bed.dns.query(f"{number}.{'tcp' if tcp else 'udp'}.example.com", tcp=tcp)
            assert others.answer[0][0].to_text() == "192.0.2.7"
    assert len(upstream.seen) == 40


def test_negative_answers_are_passed_back(bed):
    assert bed.dns.answers("nx.example.com") == ["NXDOMAIN"]
    assert bed.dns.answers("www.example.com", "AAAA") == []


def test_own_names_are_not_asked_elsewhere(bed, upstream):
    assert bed.dns.answers("absent.cluster.local") == ["NXDOMAIN"]
    assert bed.dns.answers("foocluster.local") == ["192.0.2.7"]  # the same suffix as the domain, but not inside it
    assert len(upstream.seen) == 1


def test_upstream_that_does_not_answer_is_servfail(bare_bed, upstream):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", IMPATIENT)
    assert bed.dns.answers("silent.example.com") == ["SERVFAIL"]
    bed.etcd.put("/skydns/config", '{"read_timeout":20000000000}')  # as PATIENT
    bed.skydns.wait_line("configuration changed")
    bed.wait_answers("www.example.com", "A", ["192.0.2.7"])  # whoever asks upstreams hears of it after the line


def test_upstream_dead_is_servfail(bed, upstream):
    upstream.close()
    assert bed.dns.answers("www.example.com") == ["SERVFAIL"]
    assert bed.dns.query("www.example.com", tcp=True).rcode() == dns.rcode.SERVFAIL


def test_second_nameserver_when_the_first_is_dead(bare_bed, upstream):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns(f"-nameservers=127.0.0.1:{reserve_port()},127.0.0.1:{upstream.port}", PATIENT)
    assert bed.dns.answers("www.example.com") == ["192.0.2.7"]


def test_no_rec_is_servfail(bare_bed, upstream):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", "-no-rec")
    assert bed.dns.answers("www.example.com") == ["SERVFAIL"]
    assert upstream.seen == []


def test_forwards_before_etcd_is_there(bare_bed, upstream):
    bed = bare_bed
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", PATIENT, is_waiting=False)
    bed.wait_answers("www.example.com", "A", ["192.0.2.7"])
    assert bed.dns.answers("x.cluster.local") == ["SERVFAIL"]


def test_targets_outside_the_domain_are_looked_up(bed):
    bed.etcd.put("/skydns/local/cluster/ext", value("www.example.com."))
    bed.wait_answers("ext.cluster.local", "A", ["192.0.2.7", "www.example.com."])


def test_targets_are_not_looked_up_without_recursion(bed, upstream):
    """As `dig +norec` asks: the CNAME alone, for the client to follow, until the cache has the target."""
    bed.etcd.put("/skydns/local/cluster/ext", value("www.example.com."))
    bed.wait_answers("ext.cluster.local", "CNAME", ["www.example.com."])
    ask = (needs("dig"), "-p", str(bed.dns.port), "@127.0.0.1", "ext.cluster.local", "A", "+noall", "+comments", "+answer")
    for transport in ("+notcp", "+tcp"):
        text = output(*ask, "+norec", transport)
        assert "status: NOERROR" in text and "flags: qr aa ra;" in text and "ANSWER: 1," in text
        assert "CNAME\twww.example.com." in text
    assert upstream.seen == []
    assert "192.0.2.7" in output(*ask, "+rec")
    assert len(upstream.seen) == 1
    assert "192.0.2.7" in output(*ask, "+norec")
    upstream.close()
    bed.etcd.put("/skydns/local/cluster/ext", value("lost.example.com."))
    bed.wait_answers("ext.cluster.local", "CNAME", ["lost.example.com."])
    assert "status: SERVFAIL" in output(*ask, "+rec")
    assert "CNAME\tlost.example.com." in output(*ask, "+norec")


def test_a_target_that_changes_while_it_is_looked_up(bare_bed):
    """Nothing is known yet of the new target: an answer without an address would be cached by clients."""
    may_answer = threading.Event()

    def answer(query: dns.message.Message) -> dns.message.Message:
        may_answer.wait(20)
        return address(query)

    upstream = Upstream(answer)
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/ext", value("old.example.com"))
    bare_bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", PATIENT)
    got: list[list[str]] = []
    patient = Dns(bare_bed.dns.port, timeout_s=20)
    asker = threading.Thread(target=lambda: got.append(patient.answers("ext.cluster.local")))
    asker.start()
    wait_until(lambda: upstream.seen, "the old target is looked up")
    bare_bed.etcd.put("/skydns/local/cluster/ext", value("new.example.com"))
    bare_bed.wait_answers("ext.cluster.local", "CNAME", ["new.example.com."])
    may_answer.set()
    asker.join()
    assert got == [["SERVFAIL"]]
    bare_bed.wait_answers("ext.cluster.local", "A", ["192.0.2.7", "new.example.com."])
    upstream.close()


def test_many_forwarded_at_once(bed):
    """From one socket; each query gets its own answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.connect(("127.0.0.1", bed.dns.port))
        questions = {n: dns.message.make_query(f"host-{n}.example.com", "A") for n in range(50)}
        for number, question in questions.items():
            question.id = number
            client.send(question.to_wire())
        replies = [dns.message.from_wire(client.recv(65535)) for _ in questions]
    assert {reply.id for reply in replies} == set(questions)
    for reply in replies:
        assert questions[reply.id].is_response(reply) and len(reply.answer) == 1


def test_ended_in_the_moment_the_nameservers_time_is_over(bare_bed, upstream):
    """The second (last) try times out after the second that the shutdown waits; a program that was stopped sees both
    timeouts at once.
    """
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=600ms")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", bed.dns.port))
        for number in range(10):
            client.send(dns.message.make_query(f"silent.{number}.example.com", "A").to_wire())
        wait_until(lambda: len(upstream.seen) >= 10, "first tries")
        bed.skydns.signal(signal.SIGTERM)
        # On a busy machine, the shutdown may be over first.
        wait_until(lambda: len(upstream.seen) == 20 or not bed.skydns.is_running(), "second tries")
        bed.skydns.signal(signal.SIGSTOP)
        both_over = time.monotonic() + 1
        wait_until(lambda: time.monotonic() > both_over, "ends of the stop and of the second tries")
        bed.skydns.signal(signal.SIGCONT)
        assert bed.skydns.wait() == 0
        bed.skydns.check_output()
        client.settimeout(20)
        replies = [dns.message.from_wire(client.recv(65535)) for _ in range(10)]
    assert {reply.rcode() for reply in replies} == {dns.rcode.SERVFAIL}

"""One client makes upstreams look dead, or takes all ways to them: others notice nothing."""

import socket
from contextlib import ExitStack

import dns.edns
import dns.message
import dns.rcode
import pytest
from attack import ATTACKER, Attack
from certificates import Authority
from fault_bed import PATIENCE_S
from others import Others
from programs import wait_until
from quick_upstream import ADDRESS, QuickUpstream
from tls_nameserver import TlsNameserver

pytestmark = pytest.mark.faults

GOOD = "www.good.test"

_DESCRIPTORS = 1344  # of which 384 are for nameservers, and an eighth of these for
_CONNECTIONS = 48  # over TLS
_ZONES = 60
_PAUSED = 500
_ROUNDS = 3


@pytest.fixture
def upstreams():
    """Two, in the order in which they are asked."""
    with ExitStack() as stack:
        yield [stack.enter_context(QuickUpstream()) for _ in range(2)]


def _start(bed, *flags: str, timeout: str = "1s") -> None:
    bed.skydns_flags = ["-no-rec=false", f"-rtimeout={timeout}", *flags]
    bed.start_etcd()
    bed.start()


def _servers(*upstreams: QuickUpstream) -> str:
    return ",".join(f"127.0.0.1:{upstream.port}" for upstream in upstreams)


def _wait(condition, what: str) -> None:
    wait_until(condition, what, PATIENCE_S)


def _ask(bed, *names: str) -> None:
    """Waits for no reply."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for name in names:
            client.sendto(dns.message.make_query(name, "A").to_wire(), ("127.0.0.1", bed.dns.port))


def test_attack_names_that_an_upstream_is_silent_about(fault_bed, upstreams):
    """It answers another one's name meanwhile: it is not dead for that, and the next one is not asked. A round in
    which this machine was slower than the timeout shows nothing.
    """
    bed, (first, second) = fault_bed, upstreams
    _start(bed, f"-nameservers={_servers(*upstreams)}", timeout="6s")  # the second one is asked after 4 s
    for number in range(_ROUNDS):
        silent = 2 * number
        _ask(bed, f"a{number}.silent.test", f"b{number}.silent.test")
        _wait(lambda: first.seen["silent"] >= silent + 2, "both names")
        assert bed.dns.answers(GOOD) == [ADDRESS]  # after it was asked for them
        was_in_time = second.seen["silent"] == silent and second.seen["other"] == 0
        _wait(lambda: second.seen["silent"] >= silent + 2, "the first one has failed for both names")
        if was_in_time:
            break
    assert was_in_time, "this machine is too slow"
    assert bed.dns.answers(GOOD) == [ADDRESS]
    assert second.seen["other"] == 0, f"{second.seen} against {first.seen}"


def test_attack_one_name_that_an_upstream_is_silent_about(fault_bed, upstreams):
    """Nobody else asks it anything: a probe decides."""
    bed, (first, second) = fault_bed, upstreams
    _start(bed, f"-nameservers={_servers(*upstreams)}")
    reader = bed.watched[0]
    assert bed.dns.answers("silent.test") == ["SERVFAIL"]  # each was asked twice, or once
    _wait(lambda: reader.metrics().get("forward_probes_total") > 0, "a probe")
    assert bed.dns.answers(GOOD) == [ADDRESS]
    assert second.seen["other"] == 0 and first.seen["other"] == 1
    assert not [line for line in bed.skydns.lines if "skipping it" in line]


def test_attack_random_names_that_wait(fault_bed, upstreams):
    """One client's are deferred as fast as they come, and wait: others' are deferred and answered meanwhile."""
    bed, upstream = fault_bed, upstreams[0]
    _start(bed, f"-nameservers={_servers(upstream)}", timeout="20s")
    with Others(bed, "quick.example.org") as others:
        idle = others.measure()
        attack = Attack(bed.dns.port, "silent.example")
        attacked = others.measure()
        assert attack.stop() > 0
    others.check(bed, "one client's random external names", idle, attacked)


def test_attack_long_replies_of_a_slow_upstream(fault_bed, upstreams):
    """One client has half of the places over TCP; another one's long reply comes whole."""
    bed, upstream = fault_bed, upstreams[0]
    _start(bed, f"-nameservers={_servers(upstream)}")
    reader = bed.watched[0]
    with Others(bed, "stream.good.test", tcp=True) as others:
        idle = others.measure()
        attack = Attack(bed.dns.port, "long.test")
        attacked = others.measure(lambda: reader.metrics().get("forward_tcp_refused_total") > 1000)
        assert attack.stop() > 0
    Others.note(bed, "long replies of a slow upstream", idle, attacked)


def _answers_most(_: TlsNameserver, connection) -> None:
    while True:
        answer = QuickUpstream.reply_to(connection.read(), over_tcp=True)[1]
        if answer:
            connection.write(answer)


def test_attack_names_that_an_upstream_over_tls_is_silent_about(fault_bed, tmp_path):
    """One client has half of the places; that it gets no more is no failure of the upstream. Its silence is none
    either while the test lasts.
    """
    bed = fault_bed
    authority = Authority(tmp_path, "ca")
    server = TlsNameserver(*authority.sign("upstream", host="dns.example"), _answers_most)
    url = f"tls://127.0.0.1:{server.port}#dns.example"
    _start(bed, f"-nameservers={url}", f"-nameservers-ca={authority.certificate}", timeout="60s")
    reader = bed.watched[0]
    with Others(bed, GOOD) as others:
        idle = others.measure()
        attack = Attack(bed.dns.port, "silent.test")
        attacked = others.measure(lambda: reader.metrics().get("upstream_tls_refused_total") > 5000)
        page = reader.metrics()
        assert attack.stop() > 0
    server.close()
    Others.note(bed, "names that an upstream over TLS is silent about", idle, attacked)
    assert page.get("nameservers_dead") == 0 and page.get("upstream_tls_handshakes_total", result="failed") == 0


def test_attack_connections_over_tls(fault_bed, tmp_path):
    """One client asks more slow nameservers over TLS than there may be connections: it has half of them, and another
    one's question goes out at once, to a nameserver that has none yet. What the first one gets no connection for is no
    failure of a nameserver.
    """
    bed = fault_bed
    authority = Authority(tmp_path, "ca")
    server = TlsNameserver(*authority.sign("upstream", host="*.dns.example"), _answers_most)
    url = f"tls://127.0.0.1:{server.port}#n%d.dns.example"
    stubs = [f"-stub=z{number}.test={url % number}" for number in range(_ZONES)]
    bed.skydns_prefix = ("prlimit", f"--nofile={_DESCRIPTORS}:{_DESCRIPTORS}")
    _start(
        bed,
        f"-nameservers={url % _ZONES}",
        f"-nameservers-ca={authority.certificate}",
        f"-stub=good.test={url % (_ZONES + 1)}",
        *stubs,
        timeout="60s",
    )
    reader = bed.watched[0]

    def refused() -> float:
        return reader.metrics().get("upstream_tls_refused_total")

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((ATTACKER, 0))
        for number in range(_ZONES):
            client.sendto(dns.message.make_query(f"silent.z{number}.test", "A").to_wire(), ("127.0.0.1", bed.dns.port))
        _wait(lambda: server.open + refused() >= _CONNECTIONS, "connections, or none for them")
        with Others(bed, GOOD) as others:
            attacked = others.measure()
        page = reader.metrics()
    with Others(bed, GOOD) as others:
        Others.note(bed, "connections over TLS held by one client", others.measure(), attacked)
    bed.note(f"it holds {server.open - 1} of {_CONNECTIONS}, {page.get('upstream_tls_refused_total'):.0f} refused")
    server.close()
    assert server.open <= _CONNECTIONS // 2 + 2  # with the general one, for probes, and good.test's
    assert page.get("nameservers_dead") == 0 and page.get("upstream_tls_handshakes_total", result="failed") == 0


@pytest.mark.parametrize("kind", ["without RD", "for networks"])
def test_attack_failure_pause(fault_bed, upstreams, kind):
    """One name that fails is asked for once and then paused, however it is asked for; others' names are not."""
    bed, upstream = fault_bed, upstreams[0]
    _start(bed, f"-nameservers={_servers(upstream)}")
    for number in range(_PAUSED):
        network = dns.edns.ECSOption(f"10.{number >> 8}.{number & 255}.0", 24)
        options = {"flags": 0} if kind == "without RD" else {"options": [network], "use_edns": 0}
        assert bed.dns.query("www.broken.test", **options).rcode() == dns.rcode.SERVFAIL
    bed.note(f"{_PAUSED} queries for one name that fails, {kind}: {upstream.seen['broken']} went out")
    assert upstream.seen["broken"] < _PAUSED // 20
    assert bed.dns.query(GOOD, **options).answer
    assert bed.dns.query("www.broken.test").rcode() == dns.rcode.SERVFAIL  # the first one that is asked so


def test_attack_ids_that_choose_the_upstream(fault_bed, upstreams):
    """Whatever id a client picks: its questions go to all."""
    bed = fault_bed
    _start(bed, f"-nameservers={_servers(*upstreams)}", "-ns-rotate=true")
    for number in range(64):
        assert bed.dns.query(f"n{number}.good.test", id=2).answer
    assert all(upstream.seen["other"] > 0 for upstream in upstreams)

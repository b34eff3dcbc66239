"""-log-level=debug: each change of state that is brought about here has its line, and without it none has."""

import re
import resource
import signal
import socket

import nameservers
import pytest
from kube import endpoint, endpoint_slice, headless, port, service
from nameservers import address
from programs import http_get, reserve_port, wait_until
from prometheus import parse
from records import SVC, label, service_records, value
from tcp_clients import Clients
from test_nameservers import Servers
from test_stores import KUBERNETES, etcd_elsewhere, store_id, wipe
from test_tcp_capacity import FEW, ONE, ONE_RIGHT, SHARE, Skydns
from upstream import PATIENT

DEBUG = "--log-level=debug"
IP = "10.96.0.9"
WEB = f"{SVC}/default/web"
REVERSE = "/skydns/arpa/in-addr/10/96/0/9"


def say(program, message: str, since: int = 0, **fields: object) -> str:
    """The debug line with this message and, in any order, these fields; waits for it."""
    wanted = "".join(rf"(?=.* {re.escape(f'{key}={field}')}( |$))" for key, field in fields.items())
    return program.wait_line(rf"^debug \S+ {re.escape(message)}(?= |$){wanted}", since)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


# ---- Keys ----


def test_each_key_has_its_owner_and_why(bed):
    bed.start_kube2sky(DEBUG)
    log, owner = bed.kube2sky, "svc/default/web"
    key, srv = f"{WEB}/{label(IP)}", f"{WEB}/_tcp/_http/{label(IP)}"

    bed.kube.create("services", service("web", port(80, "http"), clusterIP=IP))
    say(log, "API event", kind="services", event="upsert", namespace="default", name="web")
    for path, text in service_records("web", IP, ("tcp", "http", 80)).items():
        say(log, "key written", key=path, owner=owner, why="new", value=quoted(text))
    say(log, "key written", key=REVERSE, owner=owner, why="new")
    say(log, "owner planned", owner=owner, puts=3, deletes=0)

    web = bed.kube.get("services", "web")
    web["spec"]["ports"] = [port(81, "http")]
    bed.kube.replace("services", web)
    say(log, "key written", key=srv, owner=owner, why="changed")
    bed.etcd.put(key, value("10.9.9.9"))
    say(log, "key written", key=key, owner=owner, why=quoted("another writer's value replaced"))
    bed.etcd.delete(key)
    say(log, "key written", key=key, owner=owner, why=quoted("missing in etcd"))
    bed.etcd.put(f"{WEB}/x", value("10.9.9.9"))
    say(log, "key deleted", key=f"{WEB}/x", owner=owner, why="foreign")
    web = bed.kube.get("services", "web")
    web["spec"]["ports"] = [port(81)]
    bed.kube.replace("services", web)
    say(log, "key deleted", key=srv, owner=owner, why=quoted("no longer wanted"))

    bed.kube.delete("services", "web")
    say(log, "key deleted", key=key, owner=owner, why=quoted("gone from the API"))
    say(log, "key deleted", key=REVERSE, owner=owner, why=quoted("gone from the API"))
    bed.etcd.put(f"{SVC}/default/nobody/x", value(IP))
    say(log, "key deleted", key=f"{SVC}/default/nobody/x", owner="svc/default/nobody", why="orphan")


def test_reverse_names_that_move_and_go(bed):
    bed.start_kube2sky(DEBUG)
    bed.kube.create("services", service("web", clusterIP=IP))
    bed.kube.create("services", headless("peers"))
    bed.kube.create("endpointslices", endpoint_slice("peers-1", "peers", [endpoint(IP)]))
    log, peers = bed.kube2sky, "svc/default/peers"
    say(log, "key written", key=f"{SVC}/default/peers/{label(IP)}", owner=peers, why="new")
    say(log, "key written", key=REVERSE, owner="svc/default/web", why="new")
    bed.kube.delete("services", "web")
    say(log, "key written", key=REVERSE, why=quoted("reverse name moved"))
    bed.kube.replace("endpointslices", endpoint_slice("peers-1", "peers", [endpoint("10.0.0.8")]))
    say(log, "key deleted", key=REVERSE, owner=peers, why=quoted("reverse name gone"))
    # One that nobody claims, in our domain.
    bed.etcd.put(REVERSE, value("gone.default.svc.cluster.local."))
    say(log, "key deleted", key=REVERSE, owner="arpa/in-addr/10/96/0/9", why="orphan")


def test_transactions_and_a_large_owner(bed):
    """An owner whose keys fill several transactions has all of them told, under its name."""
    bed.start_kube2sky(DEBUG, "--etcd-max-txn-ops=4", "--reverse=false")
    ips = [f"10.1.0.{n}" for n in range(1, 11)]
    bed.kube.create("services", headless("peers"))
    bed.kube.create("endpointslices", endpoint_slice("peers-1", "peers", [endpoint(ip) for ip in ips]))
    for ip in ips:
        path = f"{SVC}/default/peers/{label(ip)}"
        say(bed.kube2sky, "key written", key=path, owner="svc/default/peers", why="new")
    say(bed.kube2sky, "transaction sent", operations=4, owners=1)
    say(bed.kube2sky, "transaction acknowledged", operations=4)


def test_a_transaction_that_fails(bed):
    """etcd ends with it in hand: kube2sky finds out what became of it."""
    bed.start_kube2sky(DEBUG)
    since = len(bed.kube2sky.lines)
    bed.etcd_program.signal(signal.SIGSTOP)
    bed.kube.create("services", service("web", clusterIP=IP))
    say(bed.kube2sky, "transaction sent", since, owners=1, puts=2)
    bed.etcd_program.kill()
    say(bed.kube2sky, "transaction failed", since, owners=1, may_have_happened=1)
    assert re.search(r"retry_ms=\d+", say(bed.kube2sky, "transactions paused", since))
    bed.start_etcd()
    say(bed.kube2sky, "outcome of an uncertain transaction", since, has_happened=0)
    say(bed.kube2sky, "key written", since, key=REVERSE, owner="svc/default/web", why="new")


# ---- etcd ----


def test_etcd_that_is_stopped_and_started(bed):
    bed.start_kube2sky(DEBUG)
    bed.start_skydns("-no-rec", DEBUG)
    both = (bed.kube2sky, bed.skydns)
    for log in both:
        say(log, "connecting to etcd", link="watches", endpoint=bed.etcd_urls[0], address=bed.etcd_urls[0][7:])
        say(log, "connected to etcd", link="watches", endpoint=bed.etcd_urls[0])
        say(log, "full read started", cause="first")
        say(log, "keys page received", page=1)
        say(log, "full read complete", pages=1)
        say(log, "watch created", key="/skydns/")
    since = [len(log.lines) for log in both]
    bed.etcd_program.stop(expected=(0, -15))
    for log, first in zip(both, since, strict=True):
        assert 'reason="' in say(log, "watch ended", first)
        assert re.search(r"next_attempt_ms=\d+", say(log, "etcd endpoint failed, trying the next", first, link="watches"))
        assert re.search(r"retry_ms=\d+", say(log, "mirror interrupted", first))
    bed.start_etcd()
    for log, first in zip(both, since, strict=True):
        say(log, "connected to etcd", first, link="watches")
        assert re.search(r" id=[0-9a-f]{32} ", say(log, "store key seen", first))
        say(log, "resuming without a full read", first)
        say(log, "watch created", first)
    bed.etcd.put("/skydns/local/cluster/extra", value(IP))
    say(bed.skydns, "etcd events applied", since[1], events=1)


def test_history_that_is_gone_is_read_again(bed):
    bed.etcd.put("/skydns/local/cluster/one", value(IP))
    bed.start_skydns("-no-rec", DEBUG)
    since = len(bed.skydns.lines)
    bed.etcd_program.stop(expected=(0, -15))
    with etcd_elsewhere(bed):
        bed.etcd.put("/skydns/local/cluster/one", value("10.96.0.8"))
        bed.etcd.put("/skydns/local/cluster/one", value(ONE_RIGHT[0]))
        bed.etcd.compact()
    bed.start_etcd()
    say(bed.skydns, "store key seen", since, verdict=quoted("the revision last seen is compacted"))
    say(bed.skydns, "full read needed", since, cause="compacted")
    say(bed.skydns, "full read complete", since, keys=1, pages=1)


def test_records_of_a_lost_store_are_held(bed):
    bed.start_kube2sky()
    bed.start_skydns("-no-rec", DEBUG)
    wait_until(lambda: store_id(bed), "the store key")
    bed.wait_answers(KUBERNETES, "A", ["10.96.0.1"])
    bed.kube2sky.stop()
    since = len(bed.skydns.lines)
    wipe(bed)
    bed.start_etcd()
    say(bed.skydns, "full read started", since, cause="another", keeps_old=1)
    say(bed.skydns, "holding the keys of an earlier data set", since)
    bed.start_kube2sky()
    say(bed.skydns, "full read needed", since, cause="complete")
    assert re.search(r"held_ms=\d+", say(bed.skydns, "releasing the keys of an earlier data set", since))


def test_tokens(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.enable_authentication("secret")
    bed.start_skydns("-no-rec", DEBUG, "-username=root", "-password=secret")
    say(bed.skydns, "token fetched", username="root")
    assert not [line for line in bed.skydns.lines if "secret" in line]
    bed.skydns.stop()
    bed.skydns = None
    bed.start_skydns("-no-rec", DEBUG, "-username=root", "-password=wrong", is_waiting=False)
    assert 'reason="' in say(bed.skydns, "token not fetched", username="root")


def test_the_name_of_etcd_is_looked_up(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd_urls = [f"http://localhost:{bed.etcd_port}"]
    bed.start_skydns("-no-rec", DEBUG)
    say(bed.skydns, "looking up etcd's name", host="localhost")
    assert re.search(r"addresses=[1-9]", say(bed.skydns, "etcd's name looked up", host="localhost"))


def test_the_leader(bed):
    # The lease must not end by itself on a slow machine.
    bed.start_kube2sky(DEBUG, "--leader-elect", "--leader-elect-lease-duration=10s")
    lease = re.search(r" lease=(\d+) ", say(bed.kube2sky, "lease granted, claiming the lead"))[1]
    say(bed.kube2sky, "lease renewed", lease=lease)
    since = len(bed.kube2sky.lines)
    bed.etcd.revoke_lease(int(lease))
    bed.kube2sky.wait_line("^warn .* no longer leading", since)
    say(bed.kube2sky, "lease granted, claiming the lead", since)


# ---- The API ----


def test_lists_and_watches(bed):
    bed.start_kube2sky(DEBUG)
    log = bed.kube2sky
    for kind in ("services", "endpointslices", "pods"):
        say(log, "list page requested", kind=kind, is_first=1)
        assert re.search(r"resource_version=\d+", say(log, "list complete", kind=kind))
        say(log, "watch requested", kind=kind)
        say(log, "watch accepted", kind=kind)
    since = len(log.lines)
    bed.kube.control("expire-history", resource="services")
    bed.kube.control("drop-watches", resource="services")
    assert "410" in say(log, "watch lost, listing again", since, kind="services")
    say(log, "listing again at once", since, kind="services")
    say(log, "list complete", since, kind="services", objects=1)
    bed.kube.control("forbid", resource="endpointslices")
    assert "403" in say(log, "watch lost, listing again", since, kind="endpointslices")
    say(log, "list retry scheduled", since, kind="endpointslices")
    log.stop()
    since = len(log.lines)
    bed.start_kube2sky()
    say(log, "source switched", since, to="endpoints", status=403, **{"from": "endpointslices"})
    bed.kube.control("expire-history", resource="endpoints")
    bed.kube.control("drop-watches", resource="endpoints")
    say(log, "endpoint slices probed", since, is_permitted=0, is_refused=1)


# ---- Nameservers ----


def test_a_nameserver_that_dies_and_comes_back(bare_bed):
    bed = bare_bed
    servers = Servers(bed, ["unbound", "unbound"])
    server = f"127.0.0.1:{servers.ports[0]}"
    bed.start_etcd()
    bed.start_skydns(servers.flag, PATIENT, "-rcache=0", DEBUG)
    log = bed.skydns
    say(log, "loop check sent", server=server)
    say(log, "loop check ended", server=server)
    assert bed.dns.answers("www.real.test") == [address(1)]
    say(log, "query sent", name="www.real.test.", type="A", server=server, **{"try": 1})
    say(log, "response from upstream", name="www.real.test.", server=server, rcode=0)
    bed.dns.query("big.real.test", "A", tcp=True)
    say(log, "response is truncated, retrying over TCP", server=server)
    servers.programs[0].stop()
    for _ in range(3):
        assert bed.dns.answers("www.real.test") == [address(2)]
    say(log, "upstream cannot be reached", server=server)
    say(log, "upstream failed", server=server, failures=1, is_dead=0)
    say(log, "probe ended", server=server, is_answered=0)
    log.wait_line("^warn .* upstream does not respond, skipping it")
    nameservers.start(servers.programs[0], servers.ports[0])
    say(log, "probe ended", server=server, is_answered=1)
    log.wait_line("^info .* upstream responds again")


# ---- TCP ----


def test_connections_that_are_evicted_end_and_wait(bare_bed):
    skydns = Skydns(bare_bed, f"ulimit -n {FEW}", "-no-rec", DEBUG)
    log = skydns.program
    with Clients(bare_bed.dns.port) as clients:
        clients.open(SHARE + 1, ONE, ONE_RIGHT, at_once=1)
        assert re.search(r"client=127\.0\.0\.\d+:\d+", say(log, "connection accepted", connections=SHARE))
        say(log, "connection closed", reason="evicted")
    say(log, "connection closed", reason=quoted("ended by the client"))
    wait_until(lambda: skydns.metric("tcp_connections") == 0, "no connection")
    limits = resource.prlimit(log.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(log.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    with socket.create_connection(("127.0.0.1", bare_bed.dns.port)) as waiting:
        name = "%s:%d" % waiting.getsockname()
        say(log, "accepting paused")
        resource.prlimit(log.pid, resource.RLIMIT_NOFILE, limits)
        say(log, "accepting resumed")
        say(log, "connection accepted", client=name)


# ---- exechealthz ----


def test_runs(bare_bed):
    bed = bare_bed
    here = bed.folder / "here"
    bed.start_exechealthz("--quiet", DEBUG, f"--cmd=test -e {here}", "--period=50ms")
    log = bed.exechealthz
    say(log, "run started", path="/healthz")
    assert re.search(r"duration_ms=\d+", say(log, "run ended", path="/healthz", status=quoted("exit status 1")))
    here.touch()
    say(log, "run ended", path="/healthz", status=quoted(""))
    log.wait_line("^info .* reporting healthy")


def test_runs_that_take_too_long_and_ask(bare_bed):
    bed = bare_bed
    server = f"127.0.0.1:{reserve_port()}"
    flags = ("--cmd=sleep 60", "--timeout=100ms", "--period=50ms", f"--dns=one.cluster.local,A,{server}")
    bed.start_exechealthz(DEBUG, *flags)
    say(bed.exechealthz, "run timed out, killing it", path="/healthz", timeout_ms=100)
    say(bed.exechealthz, "DNS run started", label="one", server=server)
    assert 'status="' in say(bed.exechealthz, "DNS run ended", label="one")


# ---- Below debug ----


@pytest.mark.parametrize("flags", [[], ["--log-level=info"]], ids=["default", "info"])
def test_no_debug_line_at_info(bed, flags):
    servers = Servers(bed, ["unbound", "unbound"])
    http_port = reserve_port()
    bed.start_kube2sky(*flags)
    bed.start_skydns(servers.flag, PATIENT, f"-http-addr=127.0.0.1:{http_port}", *flags)
    bed.start_exechealthz("--cmd=true", "--period=50ms", *flags)
    bed.kube.create("services", service("web", clusterIP=IP))
    bed.wait_answers("web.default.svc.cluster.local", "A", [IP])
    bed.etcd_program.stop(expected=(0, -15))
    for log in (bed.kube2sky, bed.skydns):
        log.wait_line("^warn .*(cannot be followed|etcd away)")
    bed.start_etcd()
    bed.kube.delete("services", "web")
    bed.wait_answers("web.default.svc.cluster.local", "A", ["NXDOMAIN"])
    servers.programs[0].stop()
    for _ in range(3):
        assert bed.dns.answers("www.real.test") == [address(2)]
    with Clients(bed.dns.port) as clients:
        bed.etcd.put("/skydns/local/cluster/one", value(*ONE_RIGHT))
        bed.wait_answers(ONE, "A", ONE_RIGHT)
        clients.open(3, ONE, ONE_RIGHT)

    def connections() -> float:
        page = parse(http_get(f"http://127.0.0.1:{http_port}/metrics")[1])
        return sum(page["skydns_tcp_connections"].samples.values())

    wait_until(lambda: connections() == 0, "the connections are closed")
    bed.exechealthz.wait_line("command run")
    for log in (bed.kube2sky, bed.skydns, bed.exechealthz):
        log.stop()
        assert log.lines and not [line for line in log.lines if line.startswith("debug ")]


def test_only_errors(bed):
    """What is less severe than the level is not there: a start and an end without trouble are silent."""
    bed.start_kube2sky("--log-level=error", "--v=4")
    bed.kube2sky.stop()
    assert bed.kube2sky.lines == []

"""Zone transfers: who may have them, and what they get (AXFR, IXFR, NOTIFY, serials); NSD, Knot and BIND as
secondaries are in test_secondaries.py."""

import json
import re
import shutil
import socket
import struct
import subprocess
import time

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.xfr
import dns.zone
import prometheus
import pytest
from bed import make_signing_key
from dns_client import Dns
from kube import service
from nameservers import needs
from programs import http_get, reserve_port, wait_until
from records import value
from test_signed_queries import SECRETS, key_of, key_text
from test_stores import wipe
from transports import Listeners

DOMAIN, REVERSE = "cluster.local", "10.in-addr.arpa"
TREE = "/skydns/local/cluster/svc/default/"
LOWEST = 2_000_000_000


class Server:
    """skydns with a few records, and a way to read its zones."""

    def __init__(self, bed, *flags: str, transfer_to: str = "127.0.0.0/8"):
        self.bed, self.http = bed, reserve_port()
        file = bed.folder / "tsig.keys"
        file.write_text("".join(key_text(*item) for item in SECRETS.items()))
        bed.start_etcd()
        for i in range(1, 4):
            self.put(f"web{i}/c88f1059", value(f"10.0.0.{i}"))
            bed.etcd.put(f"/skydns/arpa/in-addr/10/0/0/{i}", value(f"web{i}.default.svc.{DOMAIN}."))
        bed.start_skydns(
            "-no-rec",
            "-schema=kubernetes",
            "-reverse-zones=10.0.0.0/8,192.168.0.0/15",
            f"-tsig-keys={file}",
            f"-http-addr=127.0.0.1:{self.http}",
            f"-transfer-to={transfer_to}",
            *flags,
        )

    def put(self, key: str, text: str, lease: int = 0) -> None:
        self.bed.etcd.put(TREE + key, text, lease)

    def serial(self, zone: str = DOMAIN) -> int:
        return self.bed.dns.query(zone, "SOA").answer[0][0].serial

    def wait_serial(self, after: int, zone: str = DOMAIN) -> int:
        wait_until(lambda: self.serial(zone) > after, f"a serial after {after}")
        return self.serial(zone)

    def settings_part(self) -> int:
        return self.origin()["settings"]

    def origin(self, zone: str = DOMAIN) -> dict:
        return json.loads(http_get(f"http://127.0.0.1:{self.http}/explain?name={zone}&type=SOA")[1])["serial"]

    def axfr(self, zone: str = DOMAIN, source: str = "127.0.0.1", **options) -> set[str]:
        return records(self.messages(zone, "AXFR", source, **options))

    def messages(self, zone: str, kind: str, source: str = "127.0.0.1", key=None, serial: int = 0, port: int = 0):
        keys = {"keyring": {key.name: key}, "keyname": key.name, "keyalgorithm": key.algorithm} if key else {}
        return list(
            dns.query.xfr(
                "127.0.0.1", zone, kind, port=port or self.bed.dns.port, timeout=20, lifetime=60, relativize=False,
                source=source, serial=serial, **keys,
            )
        )  # fmt: skip

    def is_refused(self, zone: str = DOMAIN, source: str = "127.0.0.1", **options) -> bool:
        try:
            self.messages(zone, "AXFR", source, **options)
        except dns.query.TransferError as error:
            return error.rcode == dns.rcode.REFUSED
        return False

    def metric(self, name: str, **labels: str) -> float:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        return page[name].samples[(name, tuple(sorted(labels.items())))]


def records(messages) -> set[str]:
    return {
        f"{rrset.name} {rrset.ttl} {dns.rdatatype.to_text(rrset.rdtype)} {rdata}"
        for message in messages
        for rrset in message.answer
        for rdata in rrset
    }


@pytest.fixture
def server(bare_bed):
    return Server(bare_bed)


# ---- What a transfer has ----


def test_axfr_and_ixfr(server):
    """A whole zone, and from there on what changes, make the zone as it is then."""
    server.wait_serial(LOWEST)
    for zone in (DOMAIN, REVERSE):
        first = server.messages(zone, "AXFR")
        assert first[0].answer[0].rdtype == first[-1].answer[-1].rdtype == dns.rdatatype.SOA
        assert first[0].answer[0][0].serial == server.serial(zone)
    copy = dns.zone.Zone(DOMAIN, relativize=False)
    transfer(server, copy)
    for i in range(6):
        before = server.serial()
        server.put(f"web{i}/c88f1059", value(f"10.0.7.{i}"))
        server.wait_serial(before)
        assert transfer(server, copy) == dns.rdatatype.IXFR
    server.bed.etcd.delete(TREE + "web3/c88f1059")
    server.wait_serial(before + 1)
    transfer(server, copy)
    got = {
        f"{name} {rdataset.ttl} {dns.rdatatype.to_text(rdataset.rdtype)} {rdata}"
        for name, rdataset in copy.iterate_rdatasets()
        for rdata in rdataset
    }
    assert got == server.axfr()
    assert not [line for line in got if line.startswith("web3.default.svc.")]


def transfer(server, copy) -> dns.rdatatype.RdataType:
    """Brings the copy up to date, as a secondary does; what the answer was."""
    is_first = copy.get_rdataset(copy.origin, "SOA") is None
    query, serial = dns.xfr.make_query(copy)
    seen = []
    with dns.xfr.Inbound(copy, query.question[0].rdtype, serial) as inbound:
        with socket.create_connection(("127.0.0.1", server.bed.dns.port), 10) as sock:
            dns.query.send_tcp(sock, query)
            is_done = False
            while not is_done:
                message, _ = dns.query.receive_tcp(sock, time.time() + 10, one_rr_per_rrset=True)
                seen += message.answer
                is_done = inbound.process_message(message)
    if is_first:
        return dns.rdatatype.AXFR
    return dns.rdatatype.IXFR if len(seen) == 1 or seen[1].rdtype == dns.rdatatype.SOA else dns.rdatatype.AXFR


def test_nothing_changed(server):
    serial = server.wait_serial(LOWEST)
    for known in (serial, serial + 5):
        (message,) = server.messages(DOMAIN, "IXFR", serial=known)
        assert [rrset.rdtype for rrset in message.answer] == [dns.rdatatype.SOA]
        assert message.answer[0][0].serial == serial


def test_unknown_serial(server):
    """Nobody knows what was then: all of the zone."""
    serial = server.wait_serial(LOWEST)
    messages = server.messages(DOMAIN, "IXFR", serial=serial - 1)
    assert messages[0].answer[1].rdtype != dns.rdatatype.SOA
    assert records(messages) == server.axfr()


def test_over_udp(server):
    """What changed if it fits, else the SOA alone; never a whole zone."""
    before = server.wait_serial(LOWEST)
    server.put("web1/c88f1059", value("10.0.9.1"))
    after = server.wait_serial(before)

    def ask(serial: int):
        query = dns.message.make_query(DOMAIN, "IXFR")
        query.authority.append(dns.rrset.from_text(f"{DOMAIN}.", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
        return dns.query.udp(query, "127.0.0.1", 5, server.bed.dns.port, one_rr_per_rrset=True)

    assert len(ask(before).answer) == 8
    assert [rrset[0].serial for rrset in ask(before - 1).answer] == [after]
    for i in range(40):
        server.put(f"many/x{i}", value(f"10.0.1.{i}"))
    newest = server.wait_serial(after + 39)
    assert [rrset[0].serial for rrset in ask(before).answer] == [newest]
    refused = dns.query.udp(dns.message.make_query(DOMAIN, "AXFR"), "127.0.0.1", 5, server.bed.dns.port)
    assert refused.rcode() == dns.rcode.REFUSED


def test_over_tls(bare_bed):
    listeners = Listeners(bare_bed.folder)
    server = Server(bare_bed, *listeners.flags(bare_bed.dns.port))
    server.wait_serial(LOWEST)
    command = [needs("kdig"), "@127.0.0.1", "-p", str(listeners.ports["tls"]), "+tls", "+noall", "+answer", DOMAIN, "AXFR"]
    got = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    lines = {" ".join(line.split()) for line in got.splitlines() if line and not line.startswith(";")}
    assert len(lines) == len(server.axfr())
    command[command.index("AXFR")] = "IXFR=1"
    assert "web1.default.svc" in subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    for kind in ("https", "grpc"):
        assert listeners.dns(kind).query(DOMAIN, "AXFR").rcode() == dns.rcode.REFUSED


def test_not_our_zones(server):
    """NOTAUTH (RFC 5936 2.2.1): other domains, names in a zone, reverse zones that are several."""
    server.wait_serial(LOWEST)
    for zone in ("example.org", f"svc.{DOMAIN}", "168.192.in-addr.arpa"):
        with pytest.raises(dns.query.TransferError) as failure:
            server.messages(zone, "AXFR")
        assert failure.value.rcode == dns.rcode.NOTAUTH


def test_leased_records(server):
    """Their TTLs count down in answers, not in zones, where each step would be a change."""
    before = server.wait_serial(LOWEST)
    lease = server.bed.etcd.grant_lease(3600)
    server.put("leased/c88f1059", '{"host":"10.0.3.3","ttl":7200}', lease)
    serial = server.wait_serial(before)
    assert f"leased.default.svc.{DOMAIN}. 30 A 10.0.3.3" in server.axfr()
    wait_until(lambda: server.bed.dns.query(f"leased.default.svc.{DOMAIN}").answer[0].ttl < 3600, "it counts down")
    server.put("web1/c88f1059", value("10.0.0.1"))  # as it was
    assert server.serial() == serial


def test_hosts_with_texts(server):
    """A secondary takes nothing beside a CNAME, as validators do; clients of ours get both."""
    before = server.wait_serial(LOWEST)
    server.put("addressed/1", '{"host":"10.0.7.7","text":"near"}')
    server.put("alias/1", f'{{"host":"web1.default.svc.{DOMAIN}","text":"far"}}')
    server.wait_serial(before + 1)
    lines = [line.split(None, 4)[2:] for line in server.axfr() if line.startswith("alias.default")]
    assert [line[-2] for line in lines] == ["CNAME"], lines
    assert server.bed.dns.answers(f"alias.default.svc.{DOMAIN}", "TXT") == ['"far"']
    assert server.bed.dns.answers(f"alias.default.svc.{DOMAIN}") == ["10.0.0.1", f"web1.default.svc.{DOMAIN}."]
    lines = [line for line in server.axfr() if line.startswith("addressed.default")]
    assert sorted(" A " in line for line in lines) == [False, True], lines
    assert [line for line in lines if ' TXT "near"' in line]


def test_with_dnssec(bare_bed):
    """Answers are signed, the zone is not, and the log says so."""
    server = Server(bare_bed, f"-dnssec={make_signing_key(bare_bed.folder)}")
    server.wait_serial(LOWEST)
    bare_bed.skydns.wait_line("zones are transferred unsigned, though -dnssec signs answers")
    signed = bare_bed.dns.query(f"web1.default.svc.{DOMAIN}", want_dnssec=True)
    assert [rrset.rdtype for rrset in signed.answer] == [dns.rdatatype.A, dns.rdatatype.RRSIG]
    assert not [line for line in server.axfr() if " RRSIG " in line or " DNSKEY " in line]


# ---- Who may ----


def test_who_may(bare_bed):
    key = key_of()
    other = key_of("other.key.")
    server = Server(bare_bed, transfer_to="127.0.0.2,127.0.0.16/28,key:transfer.,127.0.0.4+key:other.key.")
    server.wait_serial(LOWEST)
    for source in ("127.0.0.2", "127.0.0.17"):
        assert server.axfr(source=source)
    for source in ("127.0.0.1", "127.0.0.4", "127.0.0.32"):
        assert server.is_refused(source=source)
        assert server.axfr(source=source, key=key)
    assert server.is_refused(source="127.0.0.1", key=other)
    assert server.axfr(source="127.0.0.4", key=other)


def test_signatures(server):
    """Right, wrong, unknown, old: dig, and dnspython, which checks every message."""
    server.wait_serial(LOWEST)
    for i in range(1500):
        server.put(f"many/x{i}", value(f"10.1.{i // 250}.{i % 250}", port=80))
    wait_until(lambda: len(server.axfr(key=key_of())) > 3000, "all of it, signed, in several messages")
    file = server.bed.folder / "one.key"
    for secret, want in ((SECRETS["transfer."], "XFR size"), ("d3Jvbmc=", "BADSIG")):
        file.write_text(key_text("transfer.", secret))
        command = [needs("dig"), "@127.0.0.1", "-p", str(server.bed.dns.port), "-k", str(file), DOMAIN, "AXFR"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert want in done.stdout + done.stderr
    with pytest.raises(dns.tsig.PeerBadKey):
        server.messages(DOMAIN, "AXFR", key=dns.tsig.Key("nobody.", SECRETS["transfer."], dns.tsig.HMAC_SHA256))


def test_the_document(bare_bed):
    """transfer_to in etcd, at once, over the flag."""
    server = Server(bare_bed, transfer_to="127.0.0.9")
    assert server.is_refused()
    bare_bed.etcd.put("/skydns/config", json.dumps({"transfer_to": ["127.0.0.1"]}))
    wait_until(lambda: not server.is_refused(), "allowed")
    server.wait_serial(LOWEST)
    assert server.axfr()
    bare_bed.etcd.put("/skydns/config", json.dumps({"transfer_to": ["nonsense!"]}))
    bare_bed.skydns.wait_line("field `transfer_to`: `nonsense!`: expected a network")
    assert server.axfr()
    bare_bed.etcd.put("/skydns/config", json.dumps({"transfer_to": ["127.0.0.8"]}))
    wait_until(server.is_refused, "refused")


@pytest.mark.parametrize(
    "flags, text",
    [
        (["-transfer-to=127.0.0.1"], "flag -transfer-to: expected -schema=kubernetes with it"),
        (["-transfer-to=127.0.0.1", "-schema=kubernetes", "-pods=insecure"], "flag -transfer-to: expected -schema"),
        (["-transfer-to=key:nobody.", "-schema=kubernetes"], "flag -transfer-to: `key:nobody.`: expected a key"),
        (["-transfer-to=10.0.0.0/33", "-schema=kubernetes"], "flag -transfer-to: `10.0.0.0/33`: expected a network"),
        (["-transfer-to=127.0.0.1+nobody", "-schema=kubernetes"], "flag -transfer-to: `127.0.0.1+nobody`: expected"),
    ],
)
def test_unusable_flags(bare_bed, flags, text):
    program = bare_bed.command("skydns", f"-addr=127.0.0.1:{bare_bed.dns.port}", *flags).start()
    assert program.wait() == 2
    assert text in program.lines[-1]


# ---- NOTIFY ----


def test_notify(bare_bed):
    """At the start, and after a change, until there is a reply; from the address that answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as secondary:
        secondary.bind(("127.0.0.1", 0))
        secondary.settimeout(20)
        server = Server(bare_bed, transfer_to=f"127.0.0.1:{secondary.getsockname()[1]}")

        def receive() -> tuple[str, tuple]:
            message = None
            while message is None or message.opcode() == dns.opcode.QUERY:  # for its serial: it has none
                wire, peer = secondary.recvfrom(512)
                message = dns.message.from_wire(wire)
            assert message.opcode() == dns.opcode.NOTIFY and message.flags & dns.flags.AA
            assert peer[0] == "127.0.0.1"
            return str(message.question[0].name), (wire, peer)

        def answer(wire: bytes, peer) -> None:
            secondary.sendto(wire[:2] + struct.pack("!H", 0xA400) + wire[4:], peer)

        told = [receive() for _ in range(2)]
        assert {zone for zone, _ in told} == {f"{DOMAIN}.", f"{REVERSE}."}
        for _, message in told:
            answer(*message)
        wait_until(lambda: server.metric("skydns_notify_answered_total") == 2, "both were answered")
        server.put("web1/c88f1059", value("10.0.8.1"))
        first = receive()
        again = receive()  # a second later: there was no reply
        assert first[0] == again[0] == f"{DOMAIN}." and first[1][0] == again[1][0]
        answer(*again[1])
        wait_until(lambda: server.metric("skydns_notify_answered_total") == 3, "answered")
        assert server.metric("skydns_notify_sent_total") == 4


# ---- Serials ----


def test_serials_grow(server):
    """With what changes, and only then; each zone has its own."""
    first, reverse = server.wait_serial(LOWEST), server.serial(REVERSE)
    server.put("web1/c88f1059", value("10.0.0.1"))  # as it was
    server.bed.etcd.put("/skydns/local/other/x", value("10.0.0.1"))  # of no zone
    server.put("web1/c88f1059", value("10.0.0.2"))
    second = server.wait_serial(first)
    assert second == LOWEST + server.bed.etcd.revision() + server.settings_part()
    assert server.serial(REVERSE) == reverse
    assert server.metric("skydns_zone_serial", zone=f"{DOMAIN}.") == second
    server.bed.etcd.put("/skydns/local/other/x", value("10.0.0.3"))
    for is_compacted in (False, True):
        if is_compacted:
            server.bed.etcd.compact()
        since = len(server.bed.skydns.lines)
        server.bed.skydns.stop()
        server.bed.skydns.start()
        server.bed.skydns.wait_line("ready for queries on .* for udp", since)
        got = server.wait_serial(LOWEST), server.wait_serial(LOWEST, REVERSE)
        newest = LOWEST + server.bed.etcd.revision() + server.settings_part()
        assert got == ((newest, newest) if is_compacted else (second, reverse))


def test_a_base_that_may_not_be_read(bare_bed):
    """As without the key."""
    bare_bed.start_etcd()
    bare_bed.etcd.put(TREE + "web/a", value("10.0.0.1"))
    bare_bed.etcd.put("/kube2sky/cluster.local/serial", "3000000000")
    bare_bed.etcd.add_reader("skydns", "secret", "/skydns/")
    bare_bed.etcd.enable_authentication("root")
    password = bare_bed.folder / "password"
    password.write_text("secret")
    bare_bed.start_skydns(
        "-no-rec", "-schema=kubernetes", "-transfer-to=127.0.0.1", "-username=skydns", f"-password-file={password}"
    )
    assert LOWEST < bare_bed.dns.query(DOMAIN, "SOA").answer[0][0].serial < LOWEST + 2**22 + 1000, "the lowest base"


def test_no_serial_before_it_is_known(server):
    """From the first answer on, the SOA has the serial that it keeps."""
    skydns, impatient, before = server.bed.skydns, Dns(server.bed.dns.port, timeout_s=0.2), server.serial()
    for _ in range(5):
        seen, since = set(), len(skydns.lines)
        skydns.restart()
        while not any("ready for queries" in line and "udp" in line for line in skydns.lines[since:]):
            try:
                seen |= {record.serial for rrset in impatient.query(DOMAIN, "SOA").answer for record in rrset}
            except (OSError, dns.exception.DNSException):
                pass
        assert seen | {server.serial()} == {before}
        assert http_get(f"http://127.0.0.1:{server.http}/readiness")[0] == 200


def test_without_the_flag(bare_bed):
    """The hour, as ever."""
    bare_bed.start_etcd()
    bare_bed.start_skydns("-no-rec", "-schema=kubernetes")
    serial = bare_bed.dns.query(DOMAIN, "SOA").answer[0][0].serial
    assert serial % 3600 == 0 and serial < LOWEST


def test_emptied_etcd(bed):
    """kube2sky gives another store another base, so that serials go on; a restarted reader agrees."""
    bed.start_kube2sky()
    flags = ("-no-rec", "-schema=kubernetes", "-transfer-to=127.0.0.1", "-stale-max=1s")
    bed.start_skydns(*flags)

    def serial() -> int:
        answer = bed.dns.query(DOMAIN, "SOA").answer
        return answer[0][0].serial if answer else 0  # SERVFAIL while etcd lacks records

    wait_until(lambda: serial() > 2**31, "a serial above the base")
    before = serial()
    key = "/kube2sky/cluster.local/serial"
    base = int(bed.etcd.values(key)[key])
    wipe(bed)
    bed.start_etcd()
    wait_until(lambda: int(bed.etcd.values(key).get(key, 0)) > base, "a base after the one before")
    wait_until(lambda: serial() > before, "serials go on")
    bed.skydns.restart()
    bed.skydns.wait_line("ready for queries on .* for udp")
    wait_until(lambda: serial() > before, "also after a restart")


def test_restored_etcd(bed):
    """From a copy without the latest changes: what is written then has other serials than what was lost."""
    bed.start_kube2sky()
    bed.start_skydns("-no-rec", "-schema=kubernetes", "-transfer-to=127.0.0.1", "-stale-max=1s")

    def serial() -> int:
        answer = bed.dns.query(DOMAIN, "SOA").answer
        return answer[0][0].serial if answer else 0  # SERVFAIL while etcd lacks records

    wait_until(lambda: serial() > 2**31, "a serial above the base")
    data, copy = bed.folder / "etcd", bed.folder / "copy"
    since = len(bed.kube2sky.lines), len(bed.skydns.lines)
    bed.etcd_program.kill()
    shutil.copytree(data, copy)
    bed.start_etcd()
    bed.kube2sky.wait_line("etcd is followed", since[0])
    bed.skydns.wait_line("etcd is followed", since[1])
    before = serial()
    for i in range(5):
        bed.kube.create("services", service(f"lost-{i}"))
    wait_until(lambda: bed.dns.answers(f"lost-4.default.svc.{DOMAIN}") not in ([], ["NXDOMAIN"]), "the last of them")
    wait_until(lambda: serial() > before, "its serial")
    before = serial()
    key = "/kube2sky/cluster.local/serial"
    base = int(bed.etcd.values(key)[key])
    bed.etcd_program.kill()
    shutil.rmtree(data)
    copy.rename(data)
    bed.kube.create("services", service("new"))
    bed.start_etcd()
    wait_until(lambda: int(bed.etcd.values(key)[key]) > base, "another base")
    wait_until(lambda: serial() > before, "serials go on")
    bed.skydns.restart()
    bed.skydns.wait_line("ready for queries on .* for udp")
    wait_until(lambda: serial() > before, "also after a restart")


def test_each_start_writes_a_base(bed):
    """Serials are after the clock then, whatever became of etcd; also in a store of an older kube2sky's, without one."""
    begun_s = int(time.time())
    bed.start_kube2sky()
    key = "/kube2sky/cluster.local/serial"

    def lowest() -> int:
        """What serials are at least."""
        entry = bed.etcd.get_prefix(key).get(key)
        return int(entry.value) + entry.mod_revision if entry else 0

    wait_until(lambda: "/kube2sky/cluster.local/store" in bed.etcd.values("/kube2sky/"), "the store key")
    before = lowest()
    assert before >= 2**31 + (begun_s - 1767225600) * 16
    bed.kube2sky.restart()
    wait_until(lambda: lowest() > before, "another base")
    bed.etcd.delete(key)
    bed.kube2sky.restart()
    wait_until(lambda: lowest() >= 2**31 + (begun_s - 1767225600) * 16, "a base where there was none")


# ---- Slow ones ----


def test_slow_secondaries(server):
    """Twenty that ask for all and read nothing: answers go on, others transfer, and they are closed."""
    server.wait_serial(LOWEST)
    for i in range(2000):
        server.put(f"big/x{i}", json.dumps({"host": f"10.2.{i // 250}.{i % 250}", "text": "t" * 200}))
    wait_until(lambda: len(server.axfr()) > 6000, "a large zone")
    query = dns.message.make_query(DOMAIN, "AXFR").to_wire()
    slow = []
    for _ in range(20):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.bed.dns.port))
        sock.sendall(struct.pack("!H", len(query)) + query)
        slow.append(sock)
    wait_until(lambda: server.metric("skydns_transfers_running") == 20, "all have begun")
    assert len(server.axfr(source="127.0.0.2")) > 6000
    before = server.serial()
    server.put("web1/c88f1059", value("10.0.6.6"))
    assert server.wait_serial(before)
    assert server.bed.dns.answers(f"web1.default.svc.{DOMAIN}") == ["10.0.6.6"]
    for sock in slow[:10]:
        sock.close()
    wait_until(lambda: server.metric("skydns_transfers_running") <= 10, "the closed ones are gone")
    wait_until(lambda: server.metric("skydns_transfers_running") == 0, "and those that read nothing", timeout_s=60)
    assert server.metric("skydns_transfers_total", kind="axfr", result="lost") == 20

    def lost_lines() -> list[str]:
        return [line for line in server.bed.skydns.lines if re.search(r"zone transfer .* result=lost", line)]

    wait_until(lambda: len(lost_lines()) >= 20, "a line for each, from the log's thread")
    assert len(lost_lines()) == 20
    for sock in slow[10:]:
        sock.close()


def test_where_a_serial_comes_from(server):
    """/explain of a SOA, as text and as JSON."""
    serial, part = server.serial(), server.settings_part()
    assert part % 1024 == 0 and part < 2**22
    url = f"http://127.0.0.1:{server.http}/explain?name={DOMAIN}&type=SOA"
    revision = serial - LOWEST - part
    text = http_get(url + "&text=1")[1]
    assert f"serial     {serial}: etcd's revision {revision}, of the zone's last change, above the base {LOWEST}" in text
    assert f", and {part} for the settings\n" in text
    shown = json.loads(http_get(url)[1])["serial"]
    assert shown == {"value": serial, "base": LOWEST, "revision": revision, "settings": part, "has_key": False}
    assert '"serial"' not in http_get(url.replace("SOA", "NS"))[1]

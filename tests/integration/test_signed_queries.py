"""Signed queries with -tsig-keys: dnspython, dig and kdig sign, and check what comes back."""

import re
import socket
import subprocess
import time

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import prometheus
import pytest
from foreign_server import Server as Foreign
from nameservers import needs
from programs import http_get, reserve_port, wait_until
from records import value
from transports import Listeners

NAME = "web.default.svc.cluster.local"
SECRETS = {"transfer.": "MIHmdg5tZ0hRYVpwU2tqZVZtbnA=", "other.key.": "c29tZXRoaW5nIGVsc2Ugb2YgdGhpcyBsZW5ndGg="}
WRONG = "d3Jvbmcgd3Jvbmcgd3JvbmcgIQ=="


def key_text(name: str, secret: str, algorithm: str = "hmac-sha256") -> str:
    """As tsig-keygen prints it."""
    return f'key "{name}" {{\n\talgorithm {algorithm};\n\tsecret "{secret}";\n}};\n'


def keys_in(folder):
    """A file with both keys."""
    file = folder / "tsig.keys"
    file.write_text("".join(key_text(*item) for item in SECRETS.items()))
    return file


class Server:
    """skydns with one record, and two keys."""

    def __init__(self, bed, *flags: str):
        self.bed, self.http, self.listeners = bed, reserve_port(), Listeners(bed.folder)
        self.file = keys_in(bed.folder)
        bed.start_etcd()
        bed.etcd.put("/skydns/local/cluster/svc/default/web/c88f1059", value("10.0.0.1"))
        for i in range(40):
            bed.etcd.put(f"/skydns/local/cluster/svc/default/many/x{i}", value(f"10.0.1.{i}"))
        bed.start_skydns(
            "-no-rec",
            f"-http-addr=127.0.0.1:{self.http}",
            f"-tsig-keys={self.file}",
            *self.listeners.flags(bed.dns.port),
            *flags,
        )
        wait_until(lambda: self.ask().answer, "the record")

    def count(self, result: str) -> float:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        return page["skydns_tsig_queries_total"].samples[("skydns_tsig_queries_total", (("result", result),))]

    def is_refused(self) -> float:
        page = prometheus.parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])
        return page["skydns_config_refused"].samples[("skydns_config_refused", (("source", "tsig"),))]

    def ask(self, key=None, name: str = NAME, over: str = "udp", **options):
        """The reply, whose signature dnspython has checked if there is a key."""
        query = dns.message.make_query(name, "A", **options)
        if key:
            query.use_tsig(key)
        ask = dns.query.tcp if over == "tcp" else dns.query.udp
        return ask(query, "127.0.0.1", port=self.bed.dns.port, timeout=20, ignore_trailing=False)


@pytest.fixture
def server(bare_bed):
    return Server(bare_bed)


def key_of(name: str = "transfer.", secret: str = "", algorithm=dns.tsig.HMAC_SHA256):
    return dns.tsig.Key(name, secret or SECRETS[name], algorithm)


@pytest.mark.parametrize("over", ["udp", "tcp"])
def test_a_good_signature(server, over):
    """The reply is that to an unsigned query, and signed."""
    for options in ({}, {"use_edns": 0}, {"use_edns": 0, "payload": 4096, "want_dnssec": True}):
        for name in SECRETS:
            plain, signed = server.ask(over=over, **options), server.ask(key_of(name), over=over, **options)
            assert signed.had_tsig and signed.tsig_error == 0
            assert (signed.answer, signed.flags) == (plain.answer, plain.flags)
    denied = server.ask(key_of(), "nothing.default.svc.cluster.local", over)
    assert denied.had_tsig and denied.rcode() == dns.rcode.NXDOMAIN and denied.authority
    refused = server.ask(key_of(), "example.com", over)  # -no-rec
    assert refused.had_tsig and refused.rcode() == dns.rcode.SERVFAIL
    assert server.count("good") == 8 and server.count("badsig") == 0


def test_a_signature_needs_room(server):
    """The records that do not fit beside it are left out, with TC; over TCP all are there."""
    name = "many.default.svc.cluster.local"
    cut = server.ask(key_of(), name)
    assert cut.had_tsig and cut.flags & dns.flags.TC and len(cut.to_wire()) <= 512
    assert len(server.ask(key_of(), name, "tcp").answer[0]) == 40


@pytest.mark.parametrize("over", ["udp", "tcp"])
def test_bad_signatures(server, over):
    """NOTAUTH, and why; counted by kind."""
    cases = (
        (key_of("transfer.", WRONG), dns.tsig.PeerBadSignature, "badsig"),
        (key_of("nobody.", WRONG), dns.tsig.PeerBadKey, "badkey"),
        (key_of("transfer.", algorithm=dns.tsig.HMAC_SHA512), dns.tsig.PeerBadKey, "badkey"),
    )
    for key, failure, result in cases:
        before = server.count(result)
        with pytest.raises(failure):
            server.ask(key, over=over)
        assert server.count(result) == before + 1


@pytest.mark.parametrize("off_s", [-310, 310, -86400])
def test_a_clock_that_is_off(server, monkeypatch, off_s):
    """The client that checks the signed reply is told BADTIME."""
    before = server.count("badtime")
    now = time.time
    monkeypatch.setattr(dns.message.time, "time", lambda: now() + off_s)
    with pytest.raises((dns.tsig.PeerBadTime, dns.tsig.BadTime)):
        server.ask(key_of())
    assert server.count("badtime") == before + 1


def test_what_makes_no_sense(server):
    """FORMERR: not the last record, or two."""
    query = dns.message.make_query(NAME, "A")
    query.use_tsig(key_of())
    wire = query.to_wire()
    record = wire[len(dns.message.make_query(NAME, "A").to_wire()) :]
    twice = wire[:10] + b"\x00\x02" + wire[12:] + record
    assert raw_rcode(server, twice) == dns.rcode.FORMERR
    wait_until(lambda: server.count("malformed") == 1, "it is counted")
    assert raw_rcode(server, wire) == dns.rcode.NOERROR


def raw_rcode(server, wire: bytes) -> int:
    """Of the reply over TCP."""
    with socket.create_connection(("127.0.0.1", server.bed.dns.port), timeout=20) as s:
        s.sendall(len(wire).to_bytes(2, "big") + wire)
        return s.recv(4096)[5] & 15


def test_what_others_answer(bare_bed):
    """Names of other domains: the query waits, and is checked again where its reply is signed."""
    bare_bed.start_etcd()
    server = Foreign(bare_bed, f"-tsig-keys={keys_in(bare_bed.folder)}")
    for name in ("first.example.", "second.example."):
        for expected in ("asked", "kept"):
            query = dns.message.make_query(name, "A", use_edns=0)
            query.use_tsig(key_of())
            answer = dns.query.udp(query, "127.0.0.1", port=bare_bed.dns.port, timeout=20)
            assert answer.had_tsig and answer.tsig_error == 0 and answer.answer, expected
    assert server.nameserver.asked("first.example.", "A") == 1
    assert server.metric("tsig_queries_total", result="good") == 4


def test_both_signatures(bare_bed):
    """With -dnssec, records that are signed on other threads come back under a TSIG record."""
    needs("dnssec-keygen")
    command = ["dnssec-keygen", "-K", str(bare_bed.folder), "-a", "ECDSAP256SHA256", "-f", "KSK", "cluster.local"]
    base = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    server = Server(bare_bed, f"-dnssec={bare_bed.folder / base}")
    answer = server.ask(key_of(), use_edns=0, payload=1232, want_dnssec=True)
    assert answer.had_tsig and [rrset.rdtype for rrset in answer.answer] == [dns.rdatatype.A, dns.rdatatype.RRSIG]
    denied = server.ask(key_of(), "no.default.svc.cluster.local", use_edns=0, payload=1232, want_dnssec=True)
    assert denied.had_tsig and dns.rdatatype.NSEC in [rrset.rdtype for rrset in denied.authority]


def dig(server, key_file, *more: str) -> str:
    command = ["dig", "+tries=1", "+time=5", "@127.0.0.1", "-p", str(server.bed.dns.port), "-k", str(key_file), NAME]
    return subprocess.run([*command, *more], capture_output=True, text=True, check=False).stdout


def test_dig_and_kdig(server):
    """Both print the record, and no complaint about signatures; with a wrong key they complain."""
    good, wrong, nobody = (server.bed.folder / name for name in ("good", "wrong", "nobody"))
    good.write_text(key_text("transfer.", SECRETS["transfer."]))
    wrong.write_text(key_text("transfer.", WRONG))
    nobody.write_text(key_text("nobody.", WRONG))
    for more in ("+notcp", "+tcp"):
        text = dig(server, good, more)
        assert "10.0.0.1" in text and "status: NOERROR" in text and "verify" not in text and "WARNING -- " not in text
        assert re.search(r"status: NOTAUTH(.|\n)*BADSIG", dig(server, wrong, more))
        assert re.search(r"status: NOTAUTH(.|\n)*BADKEY", dig(server, nobody, more))
    for secret, pattern in ((SECRETS["transfer."], "status: NOERROR"), (WRONG, "BADSIG|bad signature|TSIG")):
        command = ["kdig", "+retry=0", "@127.0.0.1", "-p", str(server.bed.dns.port)]
        run = subprocess.run(
            [*command, "-y", f"hmac-sha256:transfer.:{secret}", NAME], capture_output=True, text=True, check=False
        )
        text = run.stdout + run.stderr
        assert re.search(pattern, text)
        assert ("10.0.0.1" in text) == (secret != WRONG)


def test_the_file_changes(server):
    """New keys count at once; a file that cannot be used changes nothing."""
    added = dns.tsig.Key("added.", WRONG, dns.tsig.HMAC_SHA384)
    server.file.write_text(key_text("added.", WRONG, "hmac-sha384"))
    server.bed.skydns.wait_line("TSIG keys changed")
    assert server.ask(added).had_tsig
    with pytest.raises(dns.tsig.PeerBadKey):
        server.ask(key_of())
    server.file.write_text('key "added." { secret "' + WRONG[:-1] + '"; };')
    server.bed.skydns.wait_line("cannot use the file of TSIG keys, keeping the keys in force.*line 1: expected a secret")
    assert server.ask(added).had_tsig
    wait_until(lambda: server.is_refused() == 1, "the file is refused")
    assert WRONG[:12] not in server.bed.skydns.log_text(1000)


def test_without_keys(bare_bed):
    """A TSIG record is passed over, as ever."""
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/svc/default/web/c88f1059", value("10.0.0.1"))
    bare_bed.start_skydns("-no-rec")
    query = dns.message.make_query(NAME, "A")
    plain = query.to_wire()
    query.use_tsig(key_of())
    signed = query.to_wire()

    def reply(wire: bytes) -> bytes:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(20)
            s.sendto(wire, ("127.0.0.1", bare_bed.dns.port))
            return s.recv(4096)

    wait_until(lambda: dns.message.from_wire(reply(plain)).answer, "the record")
    assert reply(signed) == reply(plain)

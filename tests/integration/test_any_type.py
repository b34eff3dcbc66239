"""The field `rr`: records of any type in a key's value, in every schema, signed, transferred and after a restart."""

import json

import dns.flags
import dns.query
import dns.rcode
import dns.rdatatype
import dns.zone
import pytest
from dnssec_bed import SECURE, Delv, flag, keygen
from programs import http_get, reserve_port, wait_until
from records import value

KEY = "/skydns/local/cluster/svc/default/web/c88f1059"
NAME = "web.default.svc.cluster.local"
DATA = [
    'CAA 0 issue "ca.example.net"',
    "HTTPS 1 . alpn=h2",
    "A 10.0.0.2",
    "AAAA fd00::2",
    'TXT "one" "two"',
    "TXT near",
    "MX 5 Mail.Example.Net.",
    "SRV 1 2 3 Target.Example.Net.",
    "PTR there.example.net.",
    'NAPTR 10 20 "u" "E2U+sip" "!^.*$!sip:a@b.test!" .',
    r"TYPE65280 \# 3 010203",
]
RIGHT = {
    "CAA": ['0 issue "ca.example.net"'],
    "HTTPS": ['1 . alpn="h2"'],
    "A": ["10.0.0.1", "10.0.0.2"],
    "AAAA": ["fd00::2"],
    "TXT": ['"near"', '"note"', '"one" "two"'],
    "MX": ["5 Mail.Example.Net."],
    "PTR": ["there.example.net."],
    "NAPTR": ['10 20 "u" "E2U+sip" "!^.*$!sip:a@b.test!" .'],
    "TYPE65280": [r"\# 3 010203"],
    "SSHFP": [],
}


def record(**more) -> str:
    return json.dumps({"host": "10.0.0.1", "text": "note", "ttl": 77, "rr": DATA} | more)


def check(bed, name: str = NAME, right: dict = RIGHT) -> None:
    for rdtype, data in right.items():
        assert bed.dns.answers(name, rdtype) == data, rdtype


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_all_types(bare_bed, schema):
    bed, http = bare_bed, reserve_port()
    bed.start_etcd()
    bed.etcd.put(KEY, record())
    bed.etcd.put("/skydns/arpa/in-addr/10/9/9/9", json.dumps({"rr": ["PTR x.cluster.local.", "TXT where", "TXT y"]}))
    flags = (f"-schema={schema}", "-no-rec", f"-snapshot={bed.folder}/s", f"-http-addr=127.0.0.1:{http}")
    bed.start_skydns(*flags, "-reverse-zones=10.0.0.0/8")
    check(bed)
    assert bed.dns.query(NAME, "CAA").answer[0].ttl == 77
    assert bed.dns.query(NAME, "CAA").flags & dns.flags.AA
    assert bed.dns.answers("9.9.9.10.in-addr.arpa", "PTR") == ["x.cluster.local."]
    assert bed.dns.answers("9.9.9.10.in-addr.arpa", "TXT") == ['"where"', '"y"']
    if schema == "skydns":
        assert "1 2 3 Target.Example.Net." in bed.dns.answers(NAME, "SRV")
    # An address beside a key of its own name, and only in rr: no fast answer leaves it out.
    bed.etcd.put("/skydns/local/cluster/svc/default/only", json.dumps({"host": "10.1.0.1", "rr": ["A 10.1.0.2"]}))
    bed.etcd.put("/skydns/local/cluster/svc/default/none", json.dumps({"rr": ["A 10.1.0.3", "HTTPS 1 ."]}))
    bed.wait_answers("none.default.svc.cluster.local", "A", ["10.1.0.3"])
    bed.wait_answers("only.default.svc.cluster.local", "A", ["10.1.0.1", "10.1.0.2"])
    assert bed.dns.answers("none.default.svc.cluster.local", "HTTPS") == ["1 ."]
    assert bed.dns.answers("none.default.svc.cluster.local", "AAAA") == []
    # The type goes with the value.
    bed.etcd.put(KEY, value("10.0.0.1"))
    bed.wait_answers(NAME, "CAA", [])
    assert bed.dns.answers(NAME, "HTTPS") == []


@pytest.mark.parametrize(
    "wrong",
    ["SOA a. b. 1 2 3 4 5", "NS a.", "CNAME a.", "RRSIG A 5 0 1 1 1 1 a. AAAA", "OPT", r"TYPE250 \# 0", r"TYPE0 \# 0"]
    + ["A 10.0.0", "MX 10", "NOTYPE x", "", r"TYPE1 \# 3 010203", r"CAA \# 3 0001", "300 IN A 1.2.3.4", "TXT a\nA 1.2.3.4"],
)
def test_refused(bare_bed, wrong):
    """The key is skipped as a whole, logged and counted; what it had before goes."""
    bed, http = bare_bed, reserve_port()
    bed.start_etcd()
    bed.etcd.put(KEY, value("10.0.0.1"))
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{http}")
    assert bed.dns.answers(NAME) == ["10.0.0.1"]
    bed.etcd.put(KEY, json.dumps({"host": "10.0.0.1", "rr": ["TXT fine", wrong]}))
    wait_until(lambda: bed.dns.query(NAME).rcode() == dns.rcode.NXDOMAIN, "the key to go")
    bed.skydns.wait_line("key skipped .*field `rr`")
    assert "skydns_keys_skipped_total 1\n" in http_get(f"http://127.0.0.1:{http}/metrics")[1]


def test_snapshot(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, record())
    flags = ("-no-rec", f"-snapshot={bed.folder}/s")
    bed.start_skydns(*flags)
    check(bed)
    bed.skydns.stop()
    bed.etcd_program.kill()
    bed.start_skydns(*flags)
    check(bed)


def test_transfer(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, record())
    bed.start_skydns("-schema=kubernetes", "-no-rec", "-transfer-to=127.0.0.0/8")
    zone = dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "cluster.local", port=bed.dns.port))
    found = {}
    for owner, ttl_s, rdata in zone.iterate_rdatas():
        if owner.to_text() == "web.default.svc":
            found.setdefault(dns.rdatatype.to_text(rdata.rdtype), []).append(rdata.to_text())
            assert ttl_s == 77
    assert sorted(found["CAA"]) == RIGHT["CAA"] and found["HTTPS"] == RIGHT["HTTPS"]
    assert sorted(found["TXT"]) == RIGHT["TXT"] and found["TYPE65280"] == RIGHT["TYPE65280"]


def test_signed(bare_bed):
    """Validated by another program, and in the bitmap of what denies other types."""
    bed = bare_bed
    key = keygen(bed.folder, "cluster.local")
    bed.start_etcd()
    bed.etcd.put(KEY, record())
    bed.start_skydns("-no-rec", flag(key))
    judge = Delv(bed.folder, bed.dns.port, [key])
    for rdtype in RIGHT:
        verdict, text = judge.judge(NAME, rdtype)
        assert verdict == SECURE, (rdtype, verdict, text)
    reply = bed.dns.query(NAME, "SSHFP", want_dnssec=True)
    nsec = next(rrset for rrset in reply.authority if rrset.rdtype == dns.rdatatype.NSEC)
    assert {"A", "CAA", "HTTPS", "NAPTR", "TYPE65280", "RRSIG"} <= set(nsec[0].to_text().split())

"""/explain of a signed domain: with which keys an answer is signed, and until when that holds."""

import datetime
import subprocess

import dns.rdatatype
import pytest
from nameservers import needs
from records import SVC, value
from test_explain import explain, run_explain, start, told_bed

__all__ = ["told_bed"]  # a fixture

WEB = "web.default.svc.cluster.local"


def make_key(folder, *flags: str) -> str:
    """The base of its files' names."""
    command = [needs("dnssec-keygen"), "-q", "-K", str(folder), "-a", "ECDSAP256SHA256", *flags, "cluster.local"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return f"{folder}/{done.stdout.strip()}"


def tag_of(base: str) -> int:
    return int(base.rpartition("+")[2])


def signatures(bed, name: str, rdtype: str) -> dict[str, dns.rrset.RRset]:
    """What a client with DO gets, by the type that is covered: each made now if it was not kept."""
    reply = bed.dns.query(name, rdtype, want_dnssec=True)
    sections = reply.answer + reply.authority
    return {dns.rdatatype.to_text(rrset.covers): rrset for rrset in sections if rrset.rdtype == dns.rdatatype.RRSIG}


@pytest.fixture
def signed_bed(told_bed, tmp_path):
    told_bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    told_bed.etcd.put(f"{SVC}/default/web/b", value("10.0.0.2"))
    told_bed.etcd.put(f"{SVC}/default/ext", '{"host":"db.example.com."}')
    told_bed.keys = [make_key(tmp_path, "-f", "KSK"), make_key(tmp_path)]
    start(told_bed, "-no-rec", "-schema=kubernetes", f"-dnssec={','.join(told_bed.keys)}")
    return told_bed


@pytest.mark.parametrize(
    ("name", "rdtype", "by", "sets"),
    [
        (WEB, "A", 1, [(f"{WEB}.", "A")]),
        (WEB, "TXT", 1, [("cluster.local.", "SOA")]),
        ("nope.cluster.local", "A", 1, [("cluster.local.", "SOA")]),
        ("cluster.local", "SOA", 1, [("cluster.local.", "SOA")]),
        ("cluster.local", "DNSKEY", 0, [("cluster.local.", "DNSKEY")]),
        ("cluster.local", "CDS", 0, [("cluster.local.", "CDS")]),
    ],
)
def test_before_and_after_a_query(signed_bed, name, rdtype, by, sets):
    key = {"tag": tag_of(signed_bed.keys[by]), "algorithm": 13}
    page = explain(signed_bed, name, rdtype)
    assert page["signed"] == [
        {"name": owner, "type": covered, "zone": "cluster.local.", "keys": [key]} for owner, covered in sets
    ]
    given = signatures(signed_bed, name, rdtype)
    page = explain(signed_bed, name, rdtype)
    assert [(entry["name"], entry["type"]) for entry in page["signed"]] == sets
    for entry in page["signed"]:
        [kept] = entry["keys"]
        [signature] = given[entry["type"]]
        assert (kept["tag"], kept["algorithm"]) == (signature.key_tag, signature.algorithm)
        expires = datetime.datetime.fromisoformat(kept["expires"].replace("Z", "+00:00")).timestamp()
        assert expires == signature.expiration
        assert 0 < kept["left_s"] <= 7 * 86400


def test_the_command(signed_bed):
    tag = tag_of(signed_bed.keys[1])
    status, text = run_explain(signed_bed, WEB)
    line = f"signed     {WEB}. A, key {tag} of cluster.local. (algorithm 13): "
    assert status == 0 and f"{line}no signature is cached yet" in text, text
    signatures(signed_bed, WEB, "A")
    status, text = run_explain(signed_bed, WEB)
    assert status == 0 and f"{line}until 20" in text and " d " in text, text
    status, text = run_explain(signed_bed, "cluster.local", "DNSKEY")
    assert "the keys of -dnssec" in text and "DNSKEY \\# 68 0101030D" in text, text


def test_unsigned_names(signed_bed):
    for name, rdtype in (("www.example.com", "A"), ("1.0.0.10.in-addr.arpa", "PTR")):
        assert "signed" not in explain(signed_bed, name, rdtype)

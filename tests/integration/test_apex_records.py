"""-schema=kubernetes: keys at and below dns/apex are what a further domain's own name has, as with CoreDNS's etcd plugin."""

import json

import dns.query
import dns.rcode
import dns.rdatatype
import dns.zone
from dnssec_bed import SECURE, Delv, flag, keygen
from programs import wait_until
from records import SVC, value
from scripted import Nameserver, reply
from test_overrides import shown
from upstream import PATIENT

APEX = "/skydns/com/example/dns/apex"
KEYS = {
    f"{APEX}/a": value("192.0.2.1"),
    f"{APEX}/b": json.dumps({"host": "192.0.2.2", "ttl": 20, "text": "v=spf1 -all"}),
    f"{APEX}/c": json.dumps({"rr": ["MX 10 mail.example.com.", "CAA 0 issue \";\""], "ttl": 60}),
    f"{SVC}/prod/web/w": value("fd00::7"),
    f"{APEX}/d": value("web.prod.svc.cluster.local."),
    "/skydns/local/cluster/dns/apex/a": value("192.0.2.9"),
}
RIGHT = {
    "A": ["A 192.0.2.1", "A 192.0.2.2"],
    "AAAA": ["AAAA fd00::7"],
    "TXT": ['TXT "v=spf1 -all"'],
    "MX": ["MX 10 mail.example.com."],
    "CAA": ['CAA 0 issue ";"'],
    "SSHFP": [],
}


def start(bed, *flags: str) -> None:
    bed.start_etcd()
    for key, text in KEYS.items():
        bed.etcd.put(key, text)
    bed.start_skydns("-domain=cluster.local,example.com", "-schema=kubernetes", *flags)


def test_types(bare_bed):
    bed = bare_bed
    start(bed, "-no-rec")
    for rdtype, data in RIGHT.items():
        assert shown(bed, "example.com", rdtype)[::2] == ("NOERROR", data), rdtype
    assert shown(bed, "example.com")[1] == 20
    assert bed.dns.answers("example.com", "NS") == ["ns.dns.example.com."]
    assert bed.dns.answers("cluster.local") == []  # the first domain
    assert bed.dns.answers("a.apex.dns.example.com") == ["192.0.2.1"]
    bed.etcd.delete_prefix(APEX)
    bed.wait_answers("example.com", "A", [])
    assert bed.dns.query("example.com").rcode() == dns.rcode.NOERROR


def test_far_host(bare_bed):
    """Its addresses at the apex, without a CNAME."""
    upstream = Nameserver()
    upstream.tell("lb.example.net.", "A", reply("lb.example.net. 9 A 198.51.100.1"))
    bed = bare_bed
    start(bed, f"-nameservers=127.0.0.1:{upstream.port}", PATIENT)
    bed.etcd.delete_prefix(APEX)
    bed.etcd.put(APEX, value("lb.example.net."))
    wait_until(lambda: shown(bed, "example.com") == ("NOERROR", 9, ["A 198.51.100.1"]), "the far host")
    upstream.close()


def test_signed_and_transferred(bare_bed):
    bed = bare_bed
    key = keygen(bed.folder, "example.com")
    start(bed, "-no-rec", flag(key), "-transfer-to=127.0.0.0/8")
    judge = Delv(bed.folder, bed.dns.port, [key])
    for rdtype in RIGHT:
        verdict, text = judge.judge("example.com", rdtype)
        assert verdict == SECURE, (rdtype, verdict, text)

    def apex() -> dict:
        zone = dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.com", port=bed.dns.port, relativize=False), relativize=False)
        found = {}
        for owner, _, rdata in zone.iterate_rdatas():
            if owner.to_text() == "example.com.":
                rdtype = dns.rdatatype.to_text(rdata.rdtype)
                found.setdefault(rdtype, []).append(f"{rdtype} {rdata.to_text()}")
        return {rdtype: sorted(found.get(rdtype, [])) for rdtype in RIGHT}

    assert apex() == RIGHT
    bed.etcd.put(f"{APEX}/b", value("192.0.2.3"))
    wait_until(lambda: apex()["A"] == ["A 192.0.2.1", "A 192.0.2.3"], "the change")
    assert apex()["TXT"] == []

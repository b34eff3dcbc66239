"""The configuration document in etcd, and SIGHUP."""

import json
import signal

import dns.rcode
from dns_client import QueryLoad
from programs import wait_until
from records import value

KEY = "/skydns/config"


def soa(bed, domain: str):
    """MNAME, RNAME and minimum of a domain's SOA, or the rcode."""
    reply = bed.dns.query(domain, "SOA")
    if not reply.answer:
        return reply.rcode()
    rdata = reply.answer[0][0]
    return rdata.mname.to_text(), rdata.rname.to_text(), rdata.minimum


def test_the_document_overrides_flags(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, json.dumps({"min_ttl": 7, "hostmaster": "me@doc.test", "ttl": 99}))
    bed.etcd.put("/skydns/local/cluster/web", '{"host":"10.0.0.1"}')
    bed.start_skydns("-hostmaster=flag@test", "-no-rec")
    assert soa(bed, "cluster.local") == ("ns.dns.cluster.local.", "me.doc.test.", 7)
    assert bed.dns.query("web.cluster.local").answer[0].ttl == 99


def test_the_document_says_where_to_listen(bare_bed):
    """The document is read before the sockets open."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, json.dumps({"dns_addr": f"127.0.0.2:{bed.dns.port}", "no_rec": True}))
    bed.start_skydns("-verbose")
    bed.skydns.wait_line(rf"for udp://127\.0\.0\.2:{bed.dns.port}")


def test_how_long_denials_are_kept(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/svc/default/web/a", value("10.0.0.1"))
    bed.start_skydns("-schema=kubernetes", "-no-rec")

    def is_kept_s(seconds: int) -> bool:
        for name in ("absent.default.svc.cluster.local", "ABSENT.cluster.local", "svc.cluster.local"):
            (rrset,) = bed.dns.query(name, "A").authority
            if (rrset.ttl, rrset[0].minimum) != (seconds, seconds):
                return False
        return soa(bed, "cluster.local")[2] == seconds

    assert is_kept_s(5)
    for field, seconds in ((7, 7), (0, 5), (3601, 3600)):
        bed.etcd.put(KEY, json.dumps({"min_ttl": field}))
        wait_until(lambda: is_kept_s(seconds), f"{seconds} s")
    bed.skydns.stop()
    bed.skydns.argv.append("-min-ttl=9")
    bed.etcd.delete(KEY)
    bed.start_skydns()
    assert is_kept_s(9)


def test_a_document_that_cannot_be_used(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, '{"min_ttl": 7, "read_timeout": "2s"}')
    bed.start_skydns("-hostmaster=", "-no-rec")
    bed.skydns.wait_line(r"error .*cannot use the configuration in etcd.*read_timeout.*nanoseconds")
    assert soa(bed, "cluster.local") == ("ns.dns.cluster.local.", "hostmaster.cluster.local.", 60)


def test_the_line_of_the_start_lists_what_counts(bare_bed):
    """From flags and the document, with the addresses in use."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(KEY, '{"domain":"cluster.local,b.test","nameservers":["192.0.2.1:53","192.0.2.2:53"]}')
    bed.start_skydns("-schema=kubernetes", "-workers=1")
    address = f"127.0.0.1:{bed.dns.port}"
    want = (
        f' workers=1 machines={bed.etcd_urls[0]} addresses="udp://{address} tcp://{address}" '
        'domains="cluster.local. b.test." schema=kubernetes nameservers="192.0.2.1:53 192.0.2.2:53"'
    )
    line = bed.skydns.wait_line("skydns started")
    assert line.endswith(want), line


def test_without_etcd_the_flags_count(bare_bed):
    bed = bare_bed
    bed.start_skydns("-no-rec", is_waiting=False)
    bed.skydns.wait_line("falling back to default configuration, could not read from etcd")
    assert bed.dns.query("cluster.local", "SOA").rcode() == dns.rcode.SERVFAIL


def test_old_flags_without_effect_are_told_once(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns("-scache", "7", "-discover", "-no-rec")
    told = [line for line in bed.skydns.lines if "accepted and ignored" in line]
    assert len(told) == 1 and told[0].endswith('settings=discover'), told


def test_two_domains(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
    bed.etcd.put("/skydns/test/b/a/web", value("10.0.0.2"))
    bed.start_skydns("-domain=cluster.local,a.b.test", "-no-rec")
    bed.skydns.wait_line(r"ready for queries on a\.b\.test\. for udp")
    assert bed.dns.answers("web.cluster.local") == ["10.0.0.1"]
    assert bed.dns.answers("web.a.b.test") == ["10.0.0.2"]
    assert soa(bed, "a.b.test")[0] == "ns.dns.a.b.test."
    assert bed.dns.answers("nope.a.b.test") == ["NXDOMAIN"]
    assert bed.dns.answers("b.test") == ["SERVFAIL"]
    assert bed.dns.answers("a.b.test", "NS") == ["ns.dns.a.b.test."]


def test_sighup_is_taken(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns()
    bed.skydns.signal(signal.SIGHUP)
    bed.skydns.wait_line("configuration reloaded")
    assert soa(bed, "cluster.local")[2] == 60


def test_changes_apply_while_it_runs(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/web", '{"host":"10.0.0.1"}')
    bed.etcd.put("/skydns/test/b/web", value("10.0.0.2"))
    bed.start_skydns("-hostmaster=", "-no-rec")
    assert soa(bed, "cluster.local") == ("ns.dns.cluster.local.", "hostmaster.cluster.local.", 60)
    bed.etcd.put(KEY, '{"ttl":77,"min_ttl":6,"domain":"cluster.local,b.test","round_robin":false}')
    bed.skydns.wait_line(
        r'configuration changed settings="domain round_robin ttl min_ttl" '
        r'domain="cluster\.local\. -> cluster\.local\. b\.test\." round_robin="true -> false" '
        r'ttl="3600 -> 77" min_ttl="60 -> 6"$'
    )
    bed.skydns.wait_line(r"ready for queries on b\.test\. for udp")
    bed.wait_answers("web.b.test", "A", ["10.0.0.2"])
    assert soa(bed, "cluster.local")[2] == 6
    assert bed.dns.query("web.cluster.local").answer[0].ttl == 77
    # rejected as a whole: the old settings stay in force
    bed.etcd.put(KEY, '{"ttl":1,"domain":"a..b"}')
    bed.skydns.wait_line(r"error .*cannot use.*`domain`")
    assert bed.dns.query("web.cluster.local").answer[0].ttl == 77
    bed.etcd.put(KEY, '{"ttl":55,"dns_addr":"127.0.0.3:53","read_timeout":5000000000,"nameservers":["192.0.2.1:53"]}')
    bed.skydns.wait_line(r'need a restart settings=dns_addr')
    bed.wait_answers("web.b.test", "A", ["SERVFAIL"])
    since = len(bed.skydns.lines)
    bed.skydns.signal(signal.SIGHUP)
    bed.skydns.wait_line(r'need a restart settings=dns_addr', since)
    bed.etcd.delete(KEY)
    bed.skydns.wait_line(r"configuration changed", since)
    assert bed.dns.query("web.cluster.local").answer[0].ttl == 3600


def test_a_document_that_comes_with_etcd(bare_bed):
    """Neither the document nor its etcd exists at the start."""
    bed = bare_bed
    bed.start_skydns("-no-rec", is_waiting=False)
    bed.skydns.wait_line("falling back to default configuration")
    bed.start_etcd()
    bed.etcd.put(KEY, '{"min_ttl":9}')
    bed.skydns.wait_line(r"configuration changed settings=min_ttl")
    bed.skydns.wait_line(r"ready for queries")
    assert soa(bed, "cluster.local")[2] == 9


def test_changes_under_load(bare_bed):
    """Answers continue while the configuration changes; each follows the old or the new one."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
    bed.start_skydns("-no-rec")
    with QueryLoad(bed.dns, "web.cluster.local", ["10.0.0.1"]):
        for number in range(1, 60):
            bed.etcd.put(KEY, f'{{"min_ttl":{number},"domain":"cluster.local,d{number}.test"}}')
            if number == 1:  # until then, the default's 60 s are in force
                wait_until(lambda: soa(bed, "cluster.local")[2] == 1, "the first document")
            assert bed.dns.query("cluster.local", "SOA", tcp=True).answer
            assert soa(bed, "cluster.local")[2] <= number
    bed.wait_answers("x.d59.test", "A", ["NXDOMAIN"])
    assert soa(bed, "cluster.local")[2] == 59

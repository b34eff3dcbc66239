"""Hosts files: names outside the domains that are answered before any nameserver is asked."""

import os
import re

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from programs import http_get, reserve_port
from records import value
from upstream import PATIENT, Upstream


def replace(path, text: str) -> None:
    """As editors do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_names_and_addresses(bare_bed, upstream):
    bed = bare_bed
    path = bed.folder / "hosts"
    path.write_text("# ours\n10.9.0.1 Db.Example.Com db\n10.09.000.002 db.example.com\nfd00::9 six.example.com\n10.9.0.7 web.cluster.local\n")
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
    bed.start_skydns(f"-nameservers=127.0.0.1:{upstream.port}", f"-hosts={path}", PATIENT)
    assert bed.dns.answers("dB.example.com") == ["10.9.0.1", "10.9.0.2"]
    assert bed.dns.answers("db") == ["10.9.0.1"]
    assert bed.dns.answers("six.example.com", "AAAA") == ["fd00::9"]
    for name, rdtype in (("db.example.com", "AAAA"), ("six.example.com", "A"), ("db", "TXT")):
        assert bed.dns.answers(name, rdtype) == []
    assert bed.dns.answers("1.0.9.10.in-addr.arpa", "PTR") == ["db.example.com."]
    assert bed.dns.answers("web.cluster.local") == ["10.0.0.1"]
    assert upstream.seen == []
    reply = bed.dns.query("db.example.com", tcp=True)
    assert reply.answer[0].ttl == 30 and not reply.flags & dns.flags.AA
    assert bed.dns.answers("www.example.com") == ["192.0.2.7"]


def test_other_types_are_upstreams(bare_bed):
    """Whose NXDOMAIN says that there is no data: musl drops the address of a name that does not exist for AAAA."""

    def answer(query):
        reply = dns.message.make_response(query, recursion_available=True)
        name, rdtype = query.question[0].name, query.question[0].rdtype
        if rdtype == dns.rdatatype.TXT:
            reply.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", "far"))
        else:
            reply.set_rcode(dns.rcode.NXDOMAIN)
            reply.authority.append(dns.rrset.from_text("example.com.", 60, "IN", "SOA", "ns.example.com. me. 1 2 3 4 60"))
        return reply

    upstream = Upstream(answer)
    path = bare_bed.folder / "hosts"
    path.write_text("10.9.0.1 db.example.com\n")
    bare_bed.start_etcd()
    http = reserve_port()
    bare_bed.start_skydns(
        f"-nameservers=127.0.0.1:{upstream.port}", f"-hosts={path}", f"-http-addr=127.0.0.1:{http}", PATIENT
    )
    assert bare_bed.dns.answers("db.example.com", "TXT") == ['"far"']
    for tcp in (False, True, False):  # from upstream, then from the cache
        reply = bare_bed.dns.query("db.example.com", "MX", tcp=tcp)
        assert reply.rcode() == dns.rcode.NOERROR and not reply.answer and len(reply.authority) == 1
    assert bare_bed.dns.answers("other.example.com", "MX") == ["NXDOMAIN"]
    why = http_get(f"http://127.0.0.1:{http}/explain?name=db.example.com&type=MX")[1]
    assert '"status":"NOERROR"' in why and "in a file of -hosts, which has A and AAAA" in why, why
    assert bare_bed.dns.answers("db.example.com", "AAAA") == []
    assert {query.question[0].rdtype for _, query in upstream.seen} == {dns.rdatatype.TXT, dns.rdatatype.MX}
    upstream.close()


def test_more_names_than_there_is_room_for(bare_bed):
    """What is left out is told, until the file is shorter; the first names answer."""
    path, http = bare_bed.folder / "hosts", reserve_port()
    path.write_text("".join(f"0.0.0.0 blocked{number}.example.com\n" for number in range(30_000)))
    bare_bed.start_etcd()
    bare_bed.start_skydns("-no-rec", f"-hosts={path}", "-hosts-max=1", f"-http-addr=127.0.0.1:{http}")
    bare_bed.skydns.wait_line(rf"warn .*names of hosts files are left out; raise -hosts-max file={path} line=\d+")
    line = bare_bed.skydns.wait_line("hosts files read files=1 names=")
    names, left_out = (int(number) for number in re.search(r"names=(\d+) left_out=(\d+)", line).groups())
    assert names > 4_000 and names + left_out == 30_000
    assert bare_bed.dns.answers("blocked0.example.com") == ["0.0.0.0"]
    assert bare_bed.dns.answers("blocked29999.example.com") == ["SERVFAIL"]
    metrics = http_get(f"http://127.0.0.1:{http}/metrics")[1]
    assert f"\nskydns_hosts_names {names}\n" in metrics and f"\nskydns_hosts_left_out {left_out}\n" in metrics
    told = f"{left_out} names of hosts files are left out: -hosts-max has no room for them"
    assert http_get(f"http://127.0.0.1:{http}/readiness")[0] == 200
    status, reason = http_get(f"http://127.0.0.1:{http}/readiness?strict")
    assert status == 503 and told in reason, reason
    replace(path, "10.9.0.1 blocked0.example.com\n")
    bare_bed.wait_answers("blocked0.example.com", "A", ["10.9.0.1"])
    assert http_get(f"http://127.0.0.1:{http}/readiness?strict")[0] == 200


def test_changes_are_followed(bare_bed):
    """Also while clients ask; what cannot be read leaves what was read."""
    bed = bare_bed
    first, second = bed.folder / "first", bed.folder / "second"
    first.write_text("10.9.0.1 a.example.com\n")
    second.write_text("10.9.0.2 b.example.com\n")
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-hosts={first}", "-hosts", str(second))
    assert bed.dns.answers("a.example.com") == ["10.9.0.1"]
    assert bed.dns.answers("b.example.com") == ["10.9.0.2"]
    replace(first, "10.9.0.3 a.example.com c.example.com\nnonsense\n")
    bed.wait_answers("a.example.com", "A", ["10.9.0.3"])
    bed.skydns.wait_line(rf"warn .*line of a hosts file is left out file={first} line=2")
    assert bed.dns.answers("c.example.com") == ["10.9.0.3"]
    assert bed.dns.answers("b.example.com") == ["10.9.0.2"]
    first.unlink()
    bed.skydns.wait_line("error .*cannot use the changed hosts file, keeping its last good content")
    second.write_text("10.9.0.4 b.example.com\n")  # in place
    bed.wait_answers("b.example.com", "A", ["10.9.0.4"])
    assert bed.dns.answers("a.example.com") == ["10.9.0.3"]
    replace(first, "10.9.0.5 a.example.com\n")
    bed.wait_answers("a.example.com", "A", ["10.9.0.5"])


def test_a_config_map_as_volume(bare_bed):
    """hosts -> ..data/hosts, ..data -> a folder: a new ConfigMap replaces the second link."""
    bed = bare_bed
    volume = bed.folder / "volume"
    for number in (1, 2):
        (volume / f"..{number}").mkdir(parents=True)
        (volume / f"..{number}" / "hosts").write_text(f"10.9.0.{number} a.example.com\n")
    (volume / "..data").symlink_to("..1")
    (volume / "hosts").symlink_to("..data/hosts")
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-hosts={volume}/hosts")
    assert bed.dns.answers("a.example.com") == ["10.9.0.1"]
    (volume / "..data_tmp").symlink_to("..2")
    os.replace(volume / "..data_tmp", volume / "..data")
    bed.wait_answers("a.example.com", "A", ["10.9.0.2"])


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_a_file_that_cannot_be_read(bare_bed, kind):
    bed = bare_bed
    path = bed.folder / "hosts"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    refused = bed.command("skydns", f"-hosts={path}")
    refused.start()
    assert refused.wait() == 1
    assert f"flag -hosts: read `{path}`: " in refused.log_text()

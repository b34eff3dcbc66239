"""-config: the document from a file; and kube2sky's document in etcd, with a ConfigMap's nameservers."""

import json
import os

import dns.message
import dns.rrset
import pytest
from programs import wait_until
from test_config import KEY, soa
from upstream import PATIENT, Upstream

WRITERS = "/kube2sky/cluster.local/config"


@pytest.fixture
def servers():
    """Three nameservers with an address each: 192.0.2.1 to 3."""

    def says(number: int):
        def answer(query: dns.message.Message) -> dns.message.Message:
            reply = dns.message.make_response(query, recursion_available=True)
            reply.answer.append(dns.rrset.from_text(query.question[0].name, 77, "IN", "A", f"192.0.2.{number}"))
            return reply

        return answer

    running = [Upstream(says(number)) for number in (1, 2, 3)]
    yield [f"127.0.0.1:{server.port}" for server in running]
    for server in running:
        server.close()


def replace(path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_above_flags_below_etcd(bare_bed):
    bed = bare_bed
    path = bed.folder / "config"
    path.write_text('{"min_ttl":7,"hostmaster":"file@test"}')
    bed.start_etcd()
    bed.start_skydns("-no-rec", "-hostmaster=flag@test", f"-config={path}")
    assert soa(bed, "cluster.local") == ("ns.dns.cluster.local.", "file.test.", 7)
    bed.etcd.put(KEY, '{"min_ttl":8}')
    wait_until(lambda: soa(bed, "cluster.local")[1:] == ("file.test.", 8), "etcd's before the file's")
    replace(path, '{"min_ttl":9}')
    wait_until(lambda: soa(bed, "cluster.local")[1:] == ("flag.test.", 8), "the flag's again")
    bed.etcd.delete(KEY)
    wait_until(lambda: soa(bed, "cluster.local")[2] == 9, "the file's")


def test_new_contents_that_cannot_be_used(bare_bed):
    """One line each; the old stays, and does not keep the document in etcd from changing."""
    bed = bare_bed
    path = bed.folder / "config"
    path.write_text('{"min_ttl":7}')
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-config={path}")
    for text, error in (('{"min_ttl":', "not JSON"), ('{"min_ttl":1,"ttl":"x"}', "field `ttl`"), ("[]", "a JSON object")):
        since = len(bed.skydns.lines)
        replace(path, text)
        bed.skydns.wait_line(rf"error .*cannot use the configuration file, keeping .*{error}", since)
    since = len(bed.skydns.lines)
    path.unlink()
    bed.skydns.wait_line(r"error .*cannot use the configuration file, keeping .*No such file", since)
    bed.etcd.put(KEY, '{"hostmaster":"doc@test"}')
    wait_until(lambda: soa(bed, "cluster.local")[1:] == ("doc.test.", 7), "both")
    assert sum("cannot use the configuration" in line for line in bed.skydns.lines) == 4
    replace(path, '{"min_ttl":5}')
    wait_until(lambda: soa(bed, "cluster.local")[1:] == ("doc.test.", 5), "the new file")


def test_a_config_map_as_volume(bare_bed):
    bed = bare_bed
    volume = bed.folder / "volume"
    for number in (1, 2):
        (volume / f"..{number}").mkdir(parents=True)
        (volume / f"..{number}" / "config").write_text(f'{{"min_ttl":{number}}}')
    (volume / "..data").symlink_to("..1")
    (volume / "config").symlink_to("..data/config")
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-config={volume}/config")
    assert soa(bed, "cluster.local")[2] == 1
    (volume / "..data_tmp").symlink_to("..2")
    os.replace(volume / "..data_tmp", volume / "..data")
    wait_until(lambda: soa(bed, "cluster.local")[2] == 2, "the new ConfigMap")


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "No such file"), ("{", "not JSON"), ('{"ttl":"x"}', "field `ttl`: `\"x\"`: expected"),
     ('{"stubs":{"skydns.local":["10.0.0.1"]}}', "field `stubs`: `skydns.local.`")],
)
def test_a_file_that_cannot_be_used_at_the_start(bare_bed, text, says):
    bed = bare_bed
    path = bed.folder / "config"
    if text is not None:
        path.write_text(text)
    refused = bed.command("skydns", f"-config={path}")
    refused.start()
    assert refused.wait() == 1
    assert "flag -config: " in refused.log_text() and str(path) in refused.log_text() and says in refused.log_text()


def test_nameservers_of_kube2skys_document(bare_bed, servers):
    """Above flags and the file, below the document in etcd; at the start and live."""
    bed = bare_bed
    path = bed.folder / "config"
    path.write_text(json.dumps({"nameservers": [servers[0]]}))
    bed.start_etcd()
    bed.etcd.put(WRITERS, json.dumps({"nameservers": [servers[1]], "keys": ["/skydns/local/cluster/db"], "ttl": "x"}))
    bed.start_skydns("-nameservers=127.0.0.1:9", f"-config={path}", "-rcache=0", PATIENT)
    line = next(line for line in bed.skydns.lines if "skydns started" in line)
    assert line.endswith(f"nameservers={servers[1]}"), line
    bed.wait_answers("www.example.com", "A", ["192.0.2.2"])
    bed.etcd.put(KEY, json.dumps({"nameservers": [servers[2]]}))
    bed.wait_answers("www.example.com", "A", ["192.0.2.3"])
    bed.etcd.put(KEY, '{"ttl":60}')
    bed.wait_answers("www.example.com", "A", ["192.0.2.2"])
    bed.etcd.put(WRITERS, '{"nameservers":["x"]}')
    bed.skydns.wait_line(rf"error .*cannot use the configuration in etcd.*key={WRITERS} .*`nameservers`")
    assert bed.dns.answers("www.example.com") == ["192.0.2.2"]
    bed.etcd.put(WRITERS, '{"keys":[]}')
    bed.wait_answers("www.example.com", "A", ["192.0.2.1"])
    bed.etcd.put(WRITERS, json.dumps({"nameservers": [servers[2]]}))
    bed.wait_answers("www.example.com", "A", ["192.0.2.3"])
    bed.etcd.delete(WRITERS)
    bed.wait_answers("www.example.com", "A", ["192.0.2.1"])


def test_the_first_domains_document_counts(bare_bed, servers):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/kube2sky/b.test/config", json.dumps({"nameservers": [servers[1]]}))
    bed.start_skydns("-domain=cluster.local,b.test", f"-nameservers={servers[0]}", "-rcache=0", PATIENT)
    bed.wait_answers("www.example.com", "A", ["192.0.2.2"])
    bed.etcd.put(WRITERS, json.dumps({"nameservers": [servers[2]]}))
    bed.wait_answers("www.example.com", "A", ["192.0.2.3"])
    bed.etcd.put(WRITERS, '{"keys":[]}')
    bed.wait_answers("www.example.com", "A", ["192.0.2.2"])
    bed.etcd.put(KEY, '{"domain":"cluster.local"}')
    bed.wait_answers("www.example.com", "A", ["192.0.2.1"])

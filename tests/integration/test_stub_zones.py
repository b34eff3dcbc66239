"""Stub zones: names that are asked of nameservers of their own, which the tests play."""

import json

import dns.message
import dns.rdatatype
import dns.rrset
import pytest
from programs import http_get, reserve_port
from records import value
from upstream import PATIENT, Upstream

KEY = "/skydns/config"
STUB = "/skydns/local/cluster/dns/stub"


def says(address: str):
    """A nameserver that has this address for every name, and PTR."""

    def answer(query: dns.message.Message) -> dns.message.Message:
        reply = dns.message.make_response(query, recursion_available=True)
        name, rdtype = query.question[0].name, query.question[0].rdtype
        if rdtype == dns.rdatatype.A:
            reply.answer.append(dns.rrset.from_text(name, 77, "IN", "A", address))
        elif rdtype == dns.rdatatype.PTR:
            reply.answer.append(dns.rrset.from_text(name, 77, "IN", "PTR", f"is-{address}.test."))
        return reply

    return answer


@pytest.fixture
def general():
    server = Upstream(says("192.0.2.1"))
    yield server
    server.close()


@pytest.fixture
def one():
    server = Upstream(says("192.0.2.11"))
    yield server
    server.close()


@pytest.fixture
def two():
    server = Upstream(says("192.0.2.12"))
    yield server
    server.close()


def at(server: Upstream) -> str:
    return f"127.0.0.1:{server.port}"


def key(server: Upstream, host: str = "127.0.0.1") -> str:
    return json.dumps({"host": host, "port": server.port})


def start(bed, general: Upstream, *flags: str) -> None:
    bed.start_skydns(f"-nameservers={at(general)}", PATIENT, *flags)


def test_flags_and_the_document(bare_bed, general, one, two):
    """The longest zone counts; zone by zone, the document wins."""
    bed = bare_bed
    bed.start_etcd()
    start(bed, general, f"-stub=acme.local={at(one)}", f"-stub=eu.acme.local={at(two)}", f"-stub=10.in-addr.arpa={at(one)}")
    assert bed.dns.answers("www.acme.local") == ["192.0.2.11"]
    assert bed.dns.answers("Acme.Local") == ["192.0.2.11"]
    assert bed.dns.answers("www.eu.acme.local") == ["192.0.2.12"]
    assert bed.dns.answers("www.xacme.local") == ["192.0.2.1"]
    assert bed.dns.answers("7.0.0.10.in-addr.arpa", "PTR") == ["is-192.0.2.11.test."]
    assert bed.dns.answers("7.0.0.11.in-addr.arpa", "PTR") == ["is-192.0.2.1.test."]
    bed.etcd.put(KEY, json.dumps({"stubs": {"acme.local": [at(two)], "new.test": [at(one)]}}))
    bed.wait_answers("www.acme.local", "A", ["192.0.2.12"])
    assert bed.dns.answers("www.new.test") == ["192.0.2.11"]
    assert bed.dns.answers("7.0.0.10.in-addr.arpa", "PTR") == ["is-192.0.2.11.test."]
    bed.etcd.delete(KEY)
    bed.wait_answers("www.acme.local", "A", ["192.0.2.11"])
    bed.wait_answers("www.new.test", "A", ["192.0.2.1"])


def test_a_zone_of_which_nobody_is_asked(bare_bed, general, one):
    """From the flag, and from the document in place of the flag's."""
    bed = bare_bed
    bed.start_etcd()
    start(bed, general, f"-stub=acme.local={at(one)}", "-stub=eu.acme.local=none")
    assert bed.dns.answers("www.eu.acme.local") == ["SERVFAIL"]
    assert bed.dns.answers("www.acme.local") == ["192.0.2.11"]
    bed.etcd.put(KEY, json.dumps({"stubs": {"acme.local": ["none"]}}))
    bed.wait_answers("www.acme.local", "A", ["SERVFAIL"])
    assert bed.dns.answers("www.xacme.local") == ["192.0.2.1"]
    asked = {str(query.question[0].name) for _, query in general.seen + one.seen}
    assert "www.xacme.local." in asked and "www.eu.acme.local." not in asked


def test_a_zone_below_a_domain(bare_bed, general, one):
    """And names that only the stub zone keeps from being ours, or too short to be forwarded."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/corp/www", value("10.0.0.1"))
    start(bed, general, f"-stub=corp.cluster.local={at(one)}", f"-stub=acme={at(one)}", "-no-rec")
    assert bed.dns.answers("www.corp.cluster.local") == ["192.0.2.11"]
    assert bed.dns.answers("absent.cluster.local") == ["NXDOMAIN"]
    assert bed.dns.answers("acme") == ["192.0.2.11"]
    assert bed.dns.answers("www.example.com") == ["SERVFAIL"]
    assert general.seen == []


def test_explain_tells_which_keys_a_stub_zone_hides(bare_bed, general, one):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/corp/www", value("10.0.0.9"))
    bed.etcd.put("/skydns/local/cluster/alias", value("www.corp.cluster.local"))
    http = reserve_port()
    start(bed, general, f"-stub=corp.cluster.local={at(one)}", "-schema=kubernetes", f"-http-addr=127.0.0.1:{http}")
    assert "192.0.2.11" in bed.dns.answers("alias.cluster.local")
    page = json.loads(http_get(f"http://127.0.0.1:{http}/explain?name=alias.cluster.local&type=A")[1])
    assert page["names"][1]["keys"][0]["rule"] == "stub"


def test_keys(bare_bed, general, one, two):
    """-stubzones: keys below dns/stub, as they are now."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{STUB}/local/acme/1", key(one))
    bed.etcd.put(f"{STUB}/arpa/in-addr/10/1", key(one))
    bed.etcd.put(f"{STUB}/test/flag/1", key(two))
    start(bed, general, "-stubzones", f"-stub=flag.test={at(one)}")
    bed.wait_answers("www.acme.local", "A", ["192.0.2.11"])
    assert bed.dns.answers("7.0.0.10.in-addr.arpa", "PTR") == ["is-192.0.2.11.test."]
    assert bed.dns.answers("www.flag.test") == ["192.0.2.11"]
    bed.etcd.put(f"{STUB}/local/acme/1", key(two))
    bed.wait_answers("www.acme.local", "A", ["192.0.2.12"])
    bed.etcd.delete(f"{STUB}/local/acme/1")
    bed.wait_answers("www.acme.local", "A", ["192.0.2.1"])


def test_off_by_default_and_in_the_document(bare_bed, general, one):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{STUB}/local/acme/1", key(one))
    start(bed, general)
    assert bed.dns.answers("www.acme.local") == ["192.0.2.1"]
    bed.etcd.put(KEY, '{"stubzones":true}')
    bed.wait_answers("www.acme.local", "A", ["192.0.2.11"])
    bed.etcd.delete(KEY)
    bed.wait_answers("www.acme.local", "A", ["192.0.2.1"])


def test_a_service_as_nameserver(bare_bed, general, one):
    """Its addresses are followed; without any, the zone is SERVFAIL and nobody else is asked."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{STUB}/local/acme/1", key(one, "dns.corp.svc.cluster.local."))
    start(bed, general, "-stubzones")
    bed.skydns.wait_line(r"warn .*key of a stub zone cannot be used key=/skydns/local/cluster/dns/stub/local/acme/1 "
                         r'reason="its host has no address"')
    bed.wait_answers("www.acme.local", "A", ["SERVFAIL"])
    bed.etcd.put("/skydns/local/cluster/svc/corp/dns/a", value("127.0.0.1"))
    bed.wait_answers("www2.acme.local", "A", ["192.0.2.11"])
    bed.etcd.delete("/skydns/local/cluster/svc/corp/dns/a")
    bed.wait_answers("www3.acme.local", "A", ["SERVFAIL"])
    assert not [query for _, query in general.seen if "acme" in str(query.question[0].name)]


def test_a_key_that_is_no_record(bare_bed, general, one):
    """Its zone's names stay where they are: the general nameservers never see them."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{STUB}/local/acme/1", json.dumps({"host": "127.0.0.1", "port": 70000}))
    start(bed, general, "-stubzones")
    assert bed.dns.answers("www.acme.local") == ["SERVFAIL"]
    bed.etcd.put(f"{STUB}/local/acme/1", key(one))
    bed.wait_answers("www2.acme.local", "A", ["192.0.2.11"])
    bed.etcd.put(f"{STUB}/local/acme/1", "{")
    bed.wait_answers("www3.acme.local", "A", ["SERVFAIL"])
    assert general.seen == []
    bed.etcd.delete(f"{STUB}/local/acme/1")
    bed.wait_answers("www4.acme.local", "A", ["192.0.2.1"])


def test_a_domain_is_no_stub_zone(bare_bed, general, one):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put("/skydns/local/cluster/web", value("10.0.0.1"))
    bed.etcd.put(f"{STUB}/local/cluster/1", key(one))
    start(bed, general, "-stubzones")
    bed.skydns.wait_line(r'cannot be used .*reason="its zone is one of the domains answered here"')
    assert bed.dns.answers("web.cluster.local") == ["10.0.0.1"]
    bed.etcd.put(KEY, json.dumps({"stubs": {"cluster.local": [at(one)]}}))
    bed.skydns.wait_line(r"error .*cannot use the configuration.*field `stubs`: `cluster\.local\.`")
    assert bed.dns.answers("web.cluster.local") == ["10.0.0.1"]
    refused = bed.command("skydns", "-domain=cluster.local", "-stub=Cluster.Local.=10.0.0.1")
    refused.start()
    assert refused.wait() == 2
    assert "flag -stub: `cluster.local.`" in refused.log_text()

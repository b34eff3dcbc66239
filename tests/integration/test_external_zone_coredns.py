"""The names of an external zone are those of CoreDNS's k8s_external, on the same API server. Where they differ, the reason is
one of REASONS. Priorities and weights of SRV are not compared: ours are those of every record of kube2sky."""

from collections import Counter

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import peers
import pytest
from dns_client import Dns
from kube import endpoint, endpoint_slice, headless, port, service
from programs import Program, reserve_port, wait_until
from scripted import Nameserver, reply
from test_external_zone import FLAG, WEB, ZONE, balanced
from upstream import PATIENT

EQUAL_MIN = 80
UNNAMED = port(80)

REASONS = {
    "host name beside an address": "RFC 1034, 3.6.2: a name with a CNAME has nothing else",
    "other types at an alias": "likewise",
    "port without a name": "it has no SRV, as in the domain",
    "the name of a protocol": "it exists where ports are below; theirs is an endpoint named tcp",
    "addresses at a port": "they have the Service's at _http._tcp, too",
    "SRV at an endpoint": "ours has ports at the Service and at _port._protocol alone",
}


def objects(kube) -> None:
    kube.create_namespace("shop")
    for value in (
        balanced("web", "203.0.113.1", "2001:db8::1", ports=(WEB, port(443, "https"))),
        balanced("till", "lb.example.net", namespace="shop"),
        balanced("mixed", "lb.example.net", externalIPs=["203.0.113.9"]),
        service("plain", WEB, port(53, "dns", "UDP"), externalIPs=["203.0.113.2", "203.0.113.3"]),
        service("unnamed", UNNAMED, externalIPs=["203.0.113.4"]),
        service("node", WEB, type="NodePort"),
        service("inside", WEB),
        headless("db", WEB),
        headless("outside", WEB, externalIPs=["203.0.113.5"]),
    ):
        kube.create("services", value)
    entries = [endpoint("10.1.0.1", hostname="db-0"), endpoint("10.1.0.2", hostname="db-1")]
    for name in ("db", "outside"):
        kube.create("endpointslices", endpoint_slice(f"{name}-1", name, entries, WEB))


def questions() -> list[tuple[str, str]]:
    names = [f"{name}.default" for name in ("web", "mixed", "plain", "unnamed", "node", "inside", "db", "outside", "none")]
    names += ["till.shop", "web.shop", "default", "shop", "other", "db-0.db.default", "db-9.db.default", "a.b.web.default"]
    names += [f"_http._tcp.{name}" for name in ("web.default", "till.shop", "db.default", "plain.default", "inside.default")]
    names += ["_https._tcp.web.default", "_dns._udp.plain.default", "_dns._tcp.plain.default", "_tcp.web.default"]
    return [(f"{name}.{ZONE}", rdtype) for name in names for rdtype in ("A", "AAAA", "SRV", "TXT")]


def reason_for(name: str, rdtype: str) -> str:
    first = name.split(".")[0]
    if first == "mixed":
        return "host name beside an address"
    if name.startswith("till.") and rdtype in ("SRV", "TXT"):
        return "other types at an alias"
    if first == "unnamed" and rdtype == "SRV":
        return "port without a name"
    if first == "_tcp":
        return "the name of a protocol"
    if first.startswith("_") and rdtype in ("A", "AAAA"):
        return "addresses at a port"
    if first == "db-0" and rdtype == "SRV":
        return "SRV at an endpoint"
    return ""


def text_of(rdata) -> str:
    return f"{rdata.port} {rdata.target}" if rdata.rdtype == dns.rdatatype.SRV else rdata.to_text()


def asked(client: Dns, name: str, rdtype: str) -> tuple[str, frozenset[str]]:
    answer = client.query(name, rdtype)
    data = [f"{rrset.name} {text_of(rdata)}" for rrset in answer.answer for rdata in rrset]
    return dns.rcode.to_text(answer.rcode()), frozenset(data)


@pytest.fixture
def upstream():
    server = Nameserver()
    server.tell("lb.example.net.", "A", reply("lb.example.net. 9 A 198.51.100.1"))
    server.tell("lb.example.net.", "AAAA", reply("lb.example.net. 9 AAAA 2001:db8::9"))
    yield server
    server.close()


@pytest.fixture
def both(bed, upstream):
    """Clients of ours and of theirs, once both know the objects."""
    if reason := peers.missing("coredns"):
        pytest.skip(reason)
    objects(bed.kube)
    bed.start_kube2sky(FLAG, "--external-zone-headless", "--endpoints=slices")
    flags = (f"-external-zones={ZONE}", f"-nameservers=127.0.0.1:{upstream.port}", PATIENT, "-transfer-to=127.0.0.0/8")
    bed.start_skydns("-schema=kubernetes", *flags)
    theirs = Dns(reserve_port())
    file = bed.folder / "Corefile"
    how, _, where = bed.kube_flags[0].partition("=")
    api = f"endpoint {where}" if how == "--kube-master-url" else f"kubeconfig {where}"
    file.write_text(
        f".:{theirs.port} {{\n    bind 127.0.0.1\n    kubernetes cluster.local {{\n        {api}\n    }}\n"
        f"    k8s_external {ZONE} {{\n        headless\n    }}\n    transfer {ZONE} {{\n        to *\n    }}\n"
        f"    forward . 127.0.0.1:{upstream.port}\n}}\n"
    )
    coredns = Program("coredns", [peers.program("coredns", "coredns"), "-conf", str(file)]).start()
    try:
        coredns.wait_ready(lambda: theirs.answers(f"db-0.db.default.{ZONE}") == ["10.1.0.1"], "the objects")
        wait_until(lambda: bed.dns.answers(f"db-0.db.default.{ZONE}") == ["10.1.0.1"], "ours")
        yield bed.dns, theirs
    finally:
        coredns.kill()


def test_names_are_those_of_coredns(both, record_property):
    ours, theirs = both
    faults, seen, equal = [], Counter(), 0
    for name, rdtype in questions():
        mine, other, reason = asked(ours, name, rdtype), asked(theirs, name, rdtype), reason_for(name, rdtype)
        if mine != other and not reason:
            faults.append(f"{name} {rdtype}: ours {mine}, theirs {other}")
        seen[reason] += mine != other
        equal += mine == other
    record_property("equal", equal)
    record_property("different", dict(seen))
    assert not faults, "\n".join(faults)
    assert {reason for reason, count in seen.items() if count} == REASONS.keys()
    assert equal >= EQUAL_MIN


def transferred(port_number: int) -> set[tuple[str, str, str]]:
    messages = dns.query.xfr("127.0.0.1", ZONE, port=port_number, relativize=False, timeout=20, lifetime=60)
    return {
        (rrset.name.to_text(), dns.rdatatype.to_text(rrset.rdtype), rdata.to_text())
        for message in messages
        for rrset in message.answer
        for rdata in rrset
        if rrset.rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA)
    }


def test_a_transfer_has_the_addresses_of_theirs(both):
    ours, theirs = both
    mine, other = transferred(ours.port), transferred(theirs.port)
    assert {row[0] for row in other - mine} <= {f"ns1.dns.{ZONE}."}  # ours is ns.dns
    assert (f"web.default.{ZONE}.", "AAAA", "2001:db8::1") in mine & other

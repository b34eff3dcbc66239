"""--topology and -topology=marked: from a slice's zones in the API to the answers of clients in each zone. Clients are at
several addresses of the loopback network.
"""

import json
from collections import Counter

import dns.flags
import dns.message
import dns.query
import dns.rdatatype
import pytest
from kube import endpoint, endpoint_slice, headless, node, pod, port, service
from programs import http_get, reserve_port, wait_until
from test_kube_dry_run import dry_run

TOPOLOGY = "/kube2sky/cluster.local/topology/"
WEB, MANY = "web.default.svc.cluster.local.", "many.default.svc.cluster.local."
FLAGS = ("--topology", "--client-records")
ZONES = {"127.0.0.5": "eu-1a", "127.0.0.6": "eu-1b", "127.0.0.7": "eu-1c"}
NEAR = {"10.1.0.1": "eu-1a", "10.1.0.2": "eu-1a", "10.1.0.3": "eu-1b", "10.1.0.4": ""}
PORT = port(80, "http")


def zoned_node(name: str, zone: str) -> dict:
    value = node(name, "10.0.0.1")
    value["metadata"]["labels"] = {"topology.kubernetes.io/zone": zone}
    return value


def placed(name: str, ip: str, on: str) -> dict:
    value = pod(name, ip)
    value["spec"] |= {"nodeName": on}
    return value


def zoned(ip: str, zone: str, **more) -> dict:
    return endpoint(ip, **more) | ({"zone": zone} if zone else {})


def web_slice(zones: dict[str, str], name: str = "web", **hostnames: str) -> dict:
    entries = [zoned(ip, zone, hostname=hostnames.get(ip, "")) for ip, zone in zones.items()]
    return endpoint_slice(f"{name}-1", name, entries, PORT)


def put_clients(bed) -> None:
    for i, (ip, zone) in enumerate(ZONES.items()):
        bed.kube.put_node(zoned_node(f"n{i}", zone))
        bed.kube.put_pod(placed(f"client-{i}", ip, f"n{i}"))


def put_web(bed, zones: dict[str, str] = NEAR, distribution: str = "PreferSameZone", name: str = "web", **spec) -> None:
    bed.kube.create("services", headless(name, PORT, trafficDistribution=distribution, **spec))
    bed.kube.create("endpointslices", web_slice(zones, name))


def value(zones: dict[str, str]) -> str:
    return json.dumps({ip: zone for ip, zone in sorted(zones.items()) if zone}, separators=(",", ":"))


def wait_keys(bed, right: dict[str, str]) -> None:
    bed.wait_records(TOPOLOGY, {TOPOLOGY + name: text for name, text in right.items()})


def ask(bed, client: str, name: str = WEB, kind: str = "A", **how) -> dns.message.Message:
    question = dns.message.make_query(name, kind, use_edns=0, payload=how.get("payload", 1232))
    send = dns.query.tcp if how.get("tcp") else dns.query.udp
    return send(question, "127.0.0.1", timeout=20, port=bed.dns.port, source=client)


def addresses(response: dns.message.Message) -> set[str]:
    return {
        item.to_text()
        for rrset in response.answer + response.additional
        for item in rrset
        if rrset.rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA)
    }


def wait_answer(bed, client: str, right: set[str], name: str = WEB, kind: str = "A", **how) -> None:
    last = []

    def is_right() -> bool:
        last[:] = [addresses(ask(bed, client, name, kind, **how))]
        return last[0] == right

    wait_until(is_right, f"{name} {kind} for {client} gives {sorted(right)}, not {last}")


def start(bed, *flags: str) -> str:
    http = f"127.0.0.1:{reserve_port()}"
    put_clients(bed)
    bed.start_kube2sky(*FLAGS)
    bed.start_skydns("-no-rec", "-topology=marked", f"-http-addr={http}", *flags)
    return http


def metric(http: str, name: str) -> float:
    page = http_get(f"http://{http}/metrics")[1]
    return float(next(line.split()[-1] for line in page.splitlines() if line.startswith(f"{name} ")))


@pytest.mark.parametrize("schema", ["skydns", "kubernetes"])
def test_clients_get_the_nearest(bed, schema):
    http = start(bed, f"-schema={schema}")
    put_web(bed)
    wait_keys(bed, {"default/web": value(NEAR)})
    for tcp in (False, True):
        wait_answer(bed, "127.0.0.5", {"10.1.0.1", "10.1.0.2", "10.1.0.4"}, tcp=tcp)
        wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"}, tcp=tcp)
        wait_answer(bed, "127.0.0.7", set(NEAR), tcp=tcp)  # its zone has none, not even those of no zone count
        wait_answer(bed, "127.0.0.9", set(NEAR), tcp=tcp)  # nobody knows that client
        for name in (f"_http._tcp.{WEB}",) + ((WEB,) if schema == "kubernetes" else ()):
            response = ask(bed, "127.0.0.6", name, "SRV", tcp=tcp)
            assert len(response.answer[0]) == 2
            assert addresses(response) == {"10.1.0.3", "10.1.0.4"}
            assert {item.weight for item in response.answer[0]} == {50}
            assert len(ask(bed, "127.0.0.9", name, "SRV", tcp=tcp).answer[0]) == 4
    # SRV at the name itself has the ports with -schema=kubernetes alone.
    ports = [(f"_http._tcp.{WEB}", "SRV")] + ([(WEB, "SRV")] if schema == "kubernetes" else [])
    for name, kind in ((WEB, "A"), *ports):
        page = json.loads(http_get(f"http://{http}/explain?name={name}&type={kind}&client=127.0.0.6")[1])
        assert (page["client"]["near"], page["client"]["left_out"]) == ("eu-1b", 2)
        rules = [key["rule"] for key in page["names"][0]["keys"] if key["rule"] not in ("hidden", "schema")]
        assert sorted(rules) == ["far", "far", "gave", "gave"]
    text = http_get(f"http://{http}/explain?name={WEB}&type=A&client=127.0.0.6&text")[1]
    assert "zone       eu-1b: 2 addresses or targets in other zones are left out" in text
    assert metric(http, "skydns_topology_services") == 1
    put_web(bed, {f"10.3.0.{n}": "eu-1a" if n < 13 else "eu-1b" for n in range(1, 15)}, name="many")
    wait_answer(bed, "127.0.0.6", {"10.3.0.13", "10.3.0.14"}, name=MANY)
    counted = metric(http, "skydns_topology_answers_total")
    for payload in (1232, 512):  # twelve targets do not fit into 512 bytes
        for name, kind in ((MANY, "A"), (f"_http._tcp.{MANY}", "SRV")):
            assert ask(bed, "127.0.0.5", name, kind, payload=payload).answer
    assert metric(http, "skydns_topology_answers_total") == counted + 4

    # A zone without ready endpoints gets all.
    only = {ip: zone for ip, zone in NEAR.items() if zone}
    bed.kube.replace("endpointslices", web_slice(only))
    wait_answer(bed, "127.0.0.7", set(only))
    wait_answer(bed, "127.0.0.6", {"10.1.0.3"})
    text = http_get(f"http://{http}/explain?name={WEB}&type=A&client=127.0.0.7&text")[1]
    assert "zone       eu-1c: no address is left out" in text

    # The node of a client moves to another zone.
    bed.kube.patch("nodes", "n2", {"metadata": {"labels": {"topology.kubernetes.io/zone": "eu-1b"}}})
    wait_answer(bed, "127.0.0.7", {"10.1.0.3"})


@pytest.mark.parametrize("distribution", ["PreferSameZone", "PreferClose", "PreferSameNode", "", "Other"])
def test_marked_services(bed, distribution):
    start(bed)
    put_web(bed, distribution=distribution)
    put_web(bed, name="peers", publishNotReadyAddresses=True)
    put_web(bed, name="marker")
    is_marked = distribution.startswith("Prefer")
    wait_keys(bed, {"default/marker": value(NEAR)} | ({"default/web": value(NEAR)} if is_marked else {}))
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"} if is_marked else set(NEAR))
    wait_answer(bed, "127.0.0.6", set(NEAR), "peers.default.svc.cluster.local.")  # they look for each other


def test_keys_follow_the_objects(bed):
    start(bed)
    bed.kube.create("services", service("plain", PORT, trafficDistribution="PreferSameZone"))
    put_web(bed)
    wait_keys(bed, {"default/web": value(NEAR)})
    moved = NEAR | {"10.1.0.2": "eu-1b"}
    bed.kube.replace("endpointslices", web_slice(moved))  # only a zone differs
    wait_keys(bed, {"default/web": value(moved)})
    wait_answer(bed, "127.0.0.6", {"10.1.0.2", "10.1.0.3", "10.1.0.4"})
    bed.kube.patch("services", "web", {"spec": {"trafficDistribution": None}})
    wait_keys(bed, {})
    wait_answer(bed, "127.0.0.6", set(NEAR))
    bed.kube.patch("services", "web", {"spec": {"trafficDistribution": "PreferClose"}})
    wait_keys(bed, {"default/web": value(moved)})
    page = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service=default/web")[1]
    assert TOPOLOGY + "default/web" in page and "10.1.0.4" in page
    bed.kube.delete("services", "web")
    wait_keys(bed, {})


def test_names_of_pods_are_whole(bed):
    start(bed)
    bed.kube.create("services", headless("web", PORT, trafficDistribution="PreferSameZone"))
    bed.kube.create("endpointslices", web_slice(NEAR, **{"10.1.0.1": "web-0", "10.1.0.3": "web-2"}))
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"})
    wait_answer(bed, "127.0.0.6", {"10.1.0.1"}, f"web-0.{WEB}")
    response = ask(bed, "127.0.0.6", f"_http._tcp.{WEB}", "SRV")
    assert addresses(response) == {"10.1.0.3", "10.1.0.4"}
    assert f"web-2.{WEB}" in {item.target.to_text() for item in response.answer[0]}


def test_many_addresses(bed):
    """A datagram holds the zone's first, each of its addresses equally often."""
    zones = {f"10.1.{i // 250}.{i % 250 + 1}": ("eu-1a", "eu-1b", "eu-1c")[i % 3] for i in range(300)}
    start(bed, "-ns-rotate=true")
    put_web(bed, zones)
    near = {ip for ip, zone in zones.items() if zone == "eu-1b"}
    wait_answer(bed, "127.0.0.6", near, tcp=True)
    seen = Counter()
    for _ in range(120):
        response = ask(bed, "127.0.0.6", payload=512)
        assert response.flags & dns.flags.TC
        seen.update(addresses(response))
    assert set(seen) == near
    assert max(seen.values()) < 4 * min(seen.values())
    assert addresses(ask(bed, "127.0.0.9", tcp=True)) == set(zones)


def test_dual_stack_and_aliases(bed):
    http = start(bed, "-schema=kubernetes", "-autopath", f"-alias=web.test={WEB}", "-overrides")
    bed.etcd.put("/skydns/com/example/www", f'{{"host":"{WEB}"}}')
    put_web(bed, {"10.1.0.1": "eu-1a", "10.1.0.2": "eu-1b"})
    six = endpoint_slice("web-6", "web", [zoned("fd00::1", "eu-1a"), zoned("fd00::2", "eu-1a")], PORT, family="IPv6")
    bed.kube.create("endpointslices", six)
    bed.kube.create("services", service("away", type="ExternalName", externalName=WEB.rstrip(".")))
    wait_answer(bed, "127.0.0.6", {"10.1.0.2"})
    wait_answer(bed, "127.0.0.6", {"fd00::1", "fd00::2"}, kind="AAAA")  # none is in the zone
    wait_answer(bed, "127.0.0.6", {"10.1.0.2"}, "away.default.svc.cluster.local.")
    wait_answer(bed, "127.0.0.6", {"10.1.0.2"}, "web.default.svc.cluster.local.default.svc.cluster.local.")
    for name in ("away.default.svc.cluster.local.", "web.test.", "www.example.com."):
        wait_answer(bed, "127.0.0.6", {"10.1.0.2"}, name)
        text = http_get(f"http://{http}/explain?name={name}&type=A&client=127.0.0.6&text")[1]
        assert "zone       eu-1b: 1 addresses or targets in other zones are left out" in text, text


def test_without_the_flag_they_go(bed):
    put_web(bed)
    bed.start_kube2sky("--topology")
    wait_keys(bed, {"default/web": value(NEAR)})
    bed.kube2sky.stop()
    bed.kube2sky = None
    assert f"- {TOPOLOGY}default/web\n" in dry_run(bed).stdout
    put_web(bed, name="db")
    assert f"+ {TOPOLOGY}default/db" in dry_run(bed, "--topology").stdout
    bed.start_kube2sky()
    wait_keys(bed, {})


def test_others_keys_stay(bed):
    put_web(bed)
    bed.etcd.put(TOPOLOGY + "other/web", "{}")
    bed.start_kube2sky("--topology", "--namespaces=default")
    wait_keys(bed, {"default/web": value(NEAR), "other/web": "{}"})


def test_values_that_cannot_be_used(bed):
    http = start(bed)
    put_web(bed)
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"})
    bed.etcd.put(TOPOLOGY + "foreign/one", '{"10.1.0.1":5}')
    bed.skydns.wait_line("key about clients cannot be used")
    assert metric(http, "skydns_topology_services") == 1


def test_a_restart_from_a_snapshot(bed, tmp_path):
    flags = (f"-snapshot={tmp_path}/snapshot", "-snapshot-interval=100ms")
    start(bed, *flags)
    put_web(bed)
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"})
    bed.skydns.stop()
    bed.start_skydns()
    bed.skydns.wait_line("snapshot")
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"})


def test_transfers_have_all(bed):
    start(bed, "-transfer-to=127.0.0.0/8", "-schema=kubernetes")
    put_web(bed)
    wait_answer(bed, "127.0.0.6", {"10.1.0.3", "10.1.0.4"})

    def transferred() -> set[str]:
        where = {"port": bed.dns.port, "source": "127.0.0.6", "lifetime": 20, "relativize": False}
        messages = dns.query.xfr("127.0.0.1", "cluster.local.", "AXFR", **where)
        found = [rrset for message in messages for rrset in message.answer]
        return {item.to_text() for rrset in found if rrset.name.to_text() == WEB for item in rrset if item.rdtype == 1}

    wait_until(lambda: transferred() == set(NEAR), f"a transfer has {sorted(NEAR)}")

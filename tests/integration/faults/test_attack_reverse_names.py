"""Whoever edits one namespace writes endpoints with the addresses of other namespaces' pods, or with cluster IPs that
are not allocated yet: their reverse names are not his to take, nor to hold up.
"""

import json

import pytest
from fault_bed import PATIENCE_S
from kube import endpoint, endpoint_slice, headless, pod, port, service
from model import Model, reverse_key
from programs import http_get, wait_until
from records import SVC
from watched import Watched

pytestmark = pytest.mark.faults

GOOD, EVIL = "good", "evil"
# Of good's pods with a Service, of one without, of one that comes later, and of no pod.
WEB, ALONE, LATER, OUTSIDE = ["10.1.0.1", "10.1.0.2"], "10.1.0.3", "10.1.0.4", "10.9.9.9"


class Names:
    """The reverse names in etcd."""

    def __init__(self, bed, *flags: str):
        self.bed, self.model = bed, Model(has_pods="--pods=disabled" not in flags)
        bed.start_etcd()
        bed.start_apiserver("--no-mirroring")
        for namespace in (GOOD, EVIL):
            bed.kube.create_namespace(namespace)
        for number, ip in enumerate([*WEB, ALONE]):
            bed.kube.put_pod(pod(f"web-{number}", ip, namespace=GOOD))
        self.put_service(GOOD, "web", WEB)
        bed.start_kube2sky(*flags)
        bed.wait_model(self.model)

    def put_service(self, namespace: str, name: str, ips: list[str], *ports: dict, **meta) -> None:
        """Headless; evil's endpoints have hostnames, the best claim that there is, and name its own pods."""
        put = self.bed.kube.control
        named = namespace == EVIL
        entries = [
            endpoint(ip, hostname=f"{name}-{n}" if named else "", pod=f"own-{n}", ready=True) for n, ip in enumerate(ips)
        ]
        put("put", resource="services", object=headless(name, port(80), namespace=namespace))
        slice = endpoint_slice(name, name, entries, *ports, namespace=namespace)
        put("put", resource="endpointslices", object=slice)

    def of(self, ip: str) -> str:
        """The Service, "web.good", whose name the address has; empty: it has none."""
        values = self.bed.etcd.values(reverse_key(ip))
        return ".".join(json.loads(values[reverse_key(ip)])["host"].split(".")[-6:-4]) if values else ""

    def wait(self, ip: str, service: str) -> None:
        wait_until(lambda: self.of(ip) == service, f"{ip} has a name of {service or 'nobody'}", PATIENCE_S)

    def wait_written(self, namespace: str, name: str, count: int) -> None:
        """Until its addresses are in etcd, and the reverse names that came with them."""
        wait_until(lambda: len(self.bed.etcd.values(f"{SVC}/{namespace}/{name}/")) == count, name, PATIENCE_S)

    def restart(self) -> None:
        self.bed.kube2sky.restart()
        self.bed.kube2sky.wait_ready(lambda: self.bed.readiness()[0] == 200, "ready")

    def watched(self) -> Watched:
        return Watched(self.bed.kube2sky, self.bed.readiness_port, "kube2sky_")

    def explain(self, service: str) -> dict:
        url = f"http://127.0.0.1:{self.bed.readiness_port}/explain?service={service}"
        status, text = http_get(url)
        assert status == 200, text
        return json.loads(text)


def test_attack_names_of_anothers_pods(fault_bed):
    bed, names = fault_bed, Names(fault_bed)
    right = {ip: names.of(ip) for ip in WEB}
    assert set(right.values()) == {"web.good"}
    written = bed.etcd.get_prefix("/skydns/arpa/")
    names.put_service(EVIL, "a", [*WEB, ALONE, LATER, OUTSIDE])
    names.wait_written(EVIL, "a", 5)
    names.wait(OUTSIDE, "a.evil")
    names.wait(LATER, "a.evil")
    after = bed.etcd.get_prefix("/skydns/arpa/")
    assert {key: after[key] for key in written} == written, "not even rewritten"
    assert names.of(ALONE) == ""
    names.watched().wait_metric(1, "reverse_names_refused")
    told = {claim["address"]: claim for claim in names.explain("evil/a")["reverse"]}
    assert told[ALONE]["state"] == "taken" and not told[ALONE]["wins"] and told[OUTSIDE]["wins"]
    assert told[WEB[0]]["winner_owner"] == "svc/good/web"
    bed.kube.put_pod(pod("later", LATER, namespace=GOOD))
    names.wait(LATER, "")
    names.put_service(GOOD, "web", [*WEB, LATER])
    names.wait(LATER, "web.good")
    bed.wait_model(names.model)
    records = bed.etcd.get_prefix("/skydns/")
    names.restart()
    assert bed.etcd.get_prefix("/skydns/") == records
    bed.kube.delete("pods", "later", GOOD)
    names.put_service(GOOD, "web", WEB)
    names.wait(LATER, "a.evil")
    bed.wait_model(names.model)


@pytest.mark.parametrize("flag", ["--pods=disabled", "--pods=verified"])
def test_attack_names_that_no_pod_decides(fault_bed, flag):
    """Who has it keeps it, over a restart and its own changes, until it gives it up."""
    bed, names = fault_bed, Names(fault_bed, flag)
    outside = [f"10.9.0.{n}" for n in range(20)]
    names.put_service(GOOD, "z", outside)
    names.wait_written(GOOD, "z", len(outside))
    bed.wait_model(names.model)
    written = bed.etcd.get_prefix("/skydns/arpa/")
    names.put_service(EVIL, "a", outside)
    names.wait_written(EVIL, "a", len(outside))
    names.restart()
    names.put_service(EVIL, "b", outside)
    names.wait_written(EVIL, "b", len(outside))
    assert bed.etcd.get_prefix("/skydns/arpa/") == written
    names.put_service(GOOD, "y", outside)  # in its namespace, the smallest name wins as ever
    for ip in outside:
        names.wait(ip, "y.good")
    bed.kube.delete("services", "y", GOOD)
    bed.kube.delete("services", "z", GOOD)
    for ip in outside:
        names.wait(ip, "a.evil")
    bed.wait_model(names.model)


def test_attack_names_held_by_a_service_that_is_too_large(fault_bed):
    """It claims cluster IPs and pods' addresses of the future, and then has more records than are permitted: its keys
    stay as they are, but nobody waits for it.
    """
    bed, names = fault_bed, Names(fault_bed)
    allocated, pods, outside = [[f"{net}.{n}" for n in range(10, 30)] for net in ("10.96.7", "10.1.7", "10.9.0")]
    everything = allocated + pods + outside
    names.put_service(EVIL, "big", everything)
    names.wait_written(EVIL, "big", len(everything))
    names.wait(allocated[0], "big.evil")
    before = bed.etcd.values(f"{SVC}/{EVIL}/big/")
    ports = [port(1 + n, f"p{n}") for n in range(100_000 // len(everything) + 1)]
    names.put_service(EVIL, "big", everything, *ports)
    names.watched().wait_metric(1, "services_too_large")
    for is_restarted in (False, True):  # after a restart its claims are unknown
        half = slice(10, 20) if is_restarted else slice(0, 10)
        for n, ip in enumerate(allocated[half]):
            made = service(f"new-{is_restarted:d}-{n}", port(80), namespace=GOOD, clusterIP=ip, clusterIPs=[ip])
            bed.kube.control("put", resource="services", object=made)
        for n, ip in enumerate(pods[half]):
            bed.kube.put_pod(pod(f"new-{is_restarted:d}-{n}", ip, namespace=GOOD))
        names.put_service(GOOD, f"pods-{is_restarted:d}", pods[half])
        for n, ip in enumerate(allocated[half]):
            names.wait(ip, f"new-{is_restarted:d}-{n}.good")
        for ip in pods[half]:
            names.wait(ip, f"pods-{is_restarted:d}.good")
        names.restart()
    assert {names.of(ip) for ip in outside} == {"big.evil"}, "its keys are unchanged"
    assert bed.etcd.values(f"{SVC}/{EVIL}/big/") == before
    bed.kube.delete("services", "big", EVIL)
    bed.wait_model(names.model)

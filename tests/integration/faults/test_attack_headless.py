"""Somebody makes Services of his namespace headless again and again, each of which has slices that were not kept: the
cluster's slices are followed as before, and his own are listed, those of one second at once.
"""

import time
from datetime import datetime

import pytest
from kube import endpoint, endpoint_slice, headless, port, service
from programs import wait_until
from records import SVC, endpoint_records

pytestmark = pytest.mark.faults

BYSTANDERS, SERVICES = 3_000, 20
ATTACKED_S = 8
GOAL_S, SLACK = 0.05, 20
SQL = port(5432, "pg")


def slice_of(name: str, ip: str, namespace: str) -> dict:
    return endpoint_slice(f"{name}-1", name, [endpoint(ip, ready=True)], SQL, namespace=namespace)


def answer_s(bed, name: str, ip: str, namespace: str) -> float:
    """How long until the endpoint is answered."""
    began = time.monotonic()
    full = f"{name}.{namespace}.svc.cluster.local"
    wait_until(lambda: bed.dns.answers(full) == [ip], f"{full} {ip}")
    return time.monotonic() - began


def list_times(bed) -> list[float]:
    lines = [line for line in list(bed.kube2sky.lines) if "listing parts of services" in line]
    return [datetime.fromisoformat(line.split()[1]).timestamp() for line in lines]


def test_attack_headless_again(fault_bed):
    bed = fault_bed
    bed.kube2sky_flags = ["--log-level=debug"]
    bed.start_etcd()
    bed.start()
    bed.kube.create_namespace("hostile")
    bed.kube.control("bulk", resource="endpointslices", count=BYSTANDERS, prefix="many-")
    bed.kube.create("services", headless("victim", SQL))
    bed.kube.create("endpointslices", slice_of("victim", "10.1.0.1", "default"))
    for number in range(SERVICES):
        bed.kube.create("services", service(f"h{number}", SQL, namespace="hostile"))
        bed.kube.create("endpointslices", slice_of(f"h{number}", f"10.2.{number}.1", "hostile"))
    answer_s(bed, "victim", "10.1.0.1", "default")
    right = endpoint_records("h0", {"10.2.0.1": ""}, ("tcp", "pg", 5432), namespace="hostile")
    before, began = bed.kube.control("state")["requests"], time.monotonic()
    victim_s, own_s, round_number = [], [], 0
    while time.monotonic() - began < ATTACKED_S:
        for number in range(SERVICES):
            bed.kube.delete("services", f"h{number}", "hostile")
            bed.kube.create("services", headless(f"h{number}", SQL, namespace="hostile"))
        round_number += 1
        ip = f"10.1.0.{round_number + 1}"
        bed.kube.replace("endpointslices", slice_of("victim", ip, "default"))
        victim_s.append(answer_s(bed, "victim", ip, "default"))
        answer_s(bed, "h0", "10.2.0.1", "hostile")
        assert bed.etcd.values(f"{SVC}/hostile/h0/") == right
        own_s.append(time.time() - max(list_times(bed), default=0))
        for number in range(SERVICES):
            bed.kube.delete("services", f"h{number}", "hostile")
            bed.kube.create("services", service(f"h{number}", SQL, namespace="hostile"))
    took_s, after = time.monotonic() - began, bed.kube.control("state")["requests"]
    asked = {verb: after[f"{verb} endpointslices"] - before[f"{verb} endpointslices"] for verb in ("list", "watch")}
    bed.note(
        f"{round_number} rounds of {SERVICES} in {took_s:.1f} s: {asked['list']} lists, {asked['watch']} watches; a change "
        f"of another namespace answered within {max(victim_s):.3f} s, his own {min(own_s):.3f} s after their list"
    )
    assert 0 < asked["list"] <= took_s + 1 and asked["watch"] == 0
    assert max(victim_s) < GOAL_S * SLACK
    assert min(own_s) < GOAL_S * SLACK

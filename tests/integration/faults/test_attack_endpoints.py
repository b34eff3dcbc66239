"""Somebody who may edit one namespace writes EndpointSlices that are dear to read or to compare, all the time. What they
cost kube2sky grows with what is written, so a change elsewhere is not late.
"""

import json
import time

import pytest
from fault_bed import PATIENCE_S
from kube import endpoint, endpoint_slice, headless, port
from programs import wait_until
from test_hostile_objects import MAP

pytestmark = pytest.mark.faults

ROUNDS, TIMES = 12, 4
CHANGED = 32  # addresses: more are planned with all of the Service


def cpu_ms(bed) -> float:
    with open(f"/proc/{bed.kube2sky.pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e6


def write_all(bed, rounds: list[list[dict]]) -> float:
    """Milliseconds of kube2sky's CPU until a change after them is answered; it is undone."""
    before, began = cpu_ms(bed), time.monotonic()
    for slices in rounds:
        for made in slices:
            bed.kube.replace("endpointslices", made)
    written = time.monotonic()
    made = bed.change()
    took_s = bed.seconds_until_right(made)
    bed.wait_right(bed.undo(made))
    bed.note(f"{len(rounds)} rounds in {written - began:.1f} s, a change elsewhere {took_s:.2f} s")
    return cpu_ms(bed) - before


def check_linear(bed, what: str, some_ms: float, more_ms: float) -> None:
    bed.note(f"{what}: {some_ms:.0f} ms of CPU, {TIMES} times as much {more_ms:.0f} ms")
    assert more_ms < 2 * TIMES * some_ms, f"{what}: not linear"


def mapped(number: int, count: int) -> dict:
    """One address `count` times; as many bytes as the API server allows for 1,000, all of them about it."""
    made = endpoint_slice("mapped", "mapped", [endpoint("10.66.0.1")] * count, namespace="evil")
    fields = {f"{field:x}-{number}": "n" for field in range(14 * count)}
    made["metadata"]["annotations"] = {MAP: json.dumps({"10.66.0.1": fields}, separators=(",", ":"))}
    return made


def test_attack_hostnames_map(single):
    bed = single
    bed.kube.create_namespace("evil")
    bed.kube.create("services", headless("mapped", port(80, "http"), namespace="evil"))
    bed.kube.create("endpointslices", mapped(0, 1))
    some, more = (
        write_all(bed, [[mapped(number, count)] for number in range(ROUNDS)]) for count in (1000 // TIMES, 1000)
    )
    check_linear(bed, "a host names' map", some, more)


def large(number: int, round_number: int, size: int) -> dict:
    """A slice of 100 endpoints, of which some move in each round."""
    net = 66 + round_number % 2
    entries = [endpoint(f"10.{net if i < size else 65}.{number}.{i}") for i in range(100)]
    return endpoint_slice(f"large-{number}", "large", entries, port(80, "http"), namespace="evil")


def test_attack_slices_of_one_service(single):
    """All slices of a Service change in each round. Four times as many slices cost four times as much: what did not
    change is not compared again with each change.
    """
    bed = single
    bed.kube.create_namespace("evil")
    bed.kube.create("services", headless("large", port(80, "http"), namespace="evil"))
    costs = []
    for count in (60 // TIMES, 60):
        for number in range(count):
            put = bed.kube.replace if costs and number < 60 // TIMES else bed.kube.create
            put("endpointslices", large(number, 0, 0))
        prefix = "/skydns/local/cluster/svc/evil/large/_tcp/_http/"
        wait_until(lambda c=count: len(bed.etcd.get_prefix(prefix)) == 100 * c, "all slices", PATIENCE_S)
        rounds = [[large(number, r, CHANGED // 2) for number in range(count)] for r in range(ROUNDS)]
        costs.append(write_all(bed, rounds))
    check_linear(bed, "slices of one Service", *costs)

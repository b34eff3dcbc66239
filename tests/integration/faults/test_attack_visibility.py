"""Whoever may annotate some namespaces gives each the longest list that there is: together, more than all lists may take.
Others' lists count all the same, those written before and those written after.
"""

import dns.message
import dns.query
import dns.rcode
import pytest
from fault_bed import PATIENCE_S
from kube import pod, service
from programs import wait_until
from test_client_keys import VISIBLE, annotate

pytestmark = pytest.mark.faults

LONG, NAMESPACES = 64 * 1024, 70
CLIENT = "127.0.0.5"


def sees(bed, namespace: str) -> bool:
    question = dns.message.make_query(f"web.{namespace}.svc.cluster.local", "A")
    reply = dns.query.udp(question, "127.0.0.1", timeout=PATIENCE_S, port=bed.dns.port, source=CLIENT)
    return reply.rcode() == dns.rcode.NOERROR


def make_namespace(bed, name: str, visible_to: str) -> None:
    bed.kube.create_namespace(name)
    annotate(bed.kube, name, visible_to)


def test_attack_long_lists(fault_bed):
    bed = fault_bed
    bed.kube2sky_flags += ["--namespace-visibility", "--pods=verified"]
    bed.skydns_flags += ["-visibility=own"]
    bed.start_etcd()
    bed.start()
    for name in ("before", "after", "team"):
        bed.kube.create_namespace(name)
        bed.kube.create("services", service("web", namespace=name))
    bed.kube.put_pod(pod("asking", CLIENT, namespace="team"))
    annotate(bed.kube, "before", "team")
    wait_until(lambda: sees(bed, "before"), "the list before", PATIENCE_S)
    names = ",".join(f"n{number:07}" for number in range(LONG // 9 + 1))[:LONG]
    for number in range(NAMESPACES):
        make_namespace(bed, f"long-{number}", names)
    annotate(bed.kube, "after", "team")
    wait_until(lambda: sees(bed, "after"), "the list after", PATIENCE_S)
    assert sees(bed, "before")
    kube2sky = bed.watched[1]
    left_out = NAMESPACES + 1 - 4 * 1024 * 1024 // LONG
    kube2sky.wait_metric(left_out, "visible_namespaces_left_out")
    assert f"visible-to lists of {left_out} namespaces are left out" in kube2sky.wait_strict(503)
    wait_until(lambda: len(bed.etcd.get_prefix(VISIBLE)) == NAMESPACES + 2 - left_out, "their keys", PATIENCE_S)
    bed.watched[0].wait_strict(200)
    for number in range(left_out):
        annotate(bed.kube, f"long-{number}", None)
    kube2sky.wait_metric(0, "visible_namespaces_left_out")
    kube2sky.wait_strict(200)
    annotate(bed.kube, "long-69", names + "x" * LONG)
    kube2sky.wait_metric(1, "object_faults_total", kind="namespaces")
    bed.note(f"{NAMESPACES} lists of {LONG // 1024} KiB: {left_out} left out, no others")

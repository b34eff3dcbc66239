"""kube2sky --nodes and --namespace-visibility: cluster-scoped objects come, change and go; what is in etcd and
what skydns answers; and an API server that permits neither.
"""

import re

import pytest
from kube import node, port, service
from programs import http_get, wait_until
from records import label, service_records, value

VISIBLE = "/kube2sky/cluster.local/visible/"
NODES = "/skydns/local/cluster/node/"
EC2 = f"{NODES}internal/ec2/ip-10-0-0-2/"


def keys(path: str, *ips: str) -> dict[str, str]:
    return {f"{path}/{label(ip)}": value(ip) for ip in ips}


@pytest.fixture
def node_bed(cluster_bed):
    yield cluster_bed
    for item in cluster_bed.kube.objects()["nodes"]:
        cluster_bed.kube.delete("nodes", item["metadata"]["name"])


def restart(bed, *flags: str) -> None:
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky(*flags)


def metrics(bed) -> str:
    return http_get(f"http://127.0.0.1:{bed.readiness_port}/metrics")[1]


def sample(bed, name: str, **labels: str) -> float | None:
    wanted = ",".join(f'{key}="{text}"' for key, text in labels.items())
    found = re.search(rf"^{name}\{{{wanted}\}} (\S+)$", metrics(bed), re.MULTILINE)
    return float(found[1]) if found else None


def test_nodes_come_change_and_go(node_bed):
    bed = node_bed
    worker, other = keys(f"{NODES}worker-1", "10.0.0.1", "fd00::1"), keys(EC2[:-1], "10.0.0.2")
    bed.kube.put_node(node("worker-1", "10.0.0.1", "fd00::1"))
    bed.kube.put_node(node("ip-10-0-0-2.ec2.internal", "10.0.0.2"))
    bed.start_kube2sky("--nodes")
    bed.start_skydns()
    bed.wait_records(NODES, worker | other)
    bed.wait_answers("worker-1.node.cluster.local", "A", ["10.0.0.1"])
    bed.wait_answers("worker-1.node.cluster.local", "AAAA", ["fd00::1"])
    bed.wait_answers("ip-10-0-0-2.ec2.internal.node.cluster.local", "A", ["10.0.0.2"])
    assert sample(bed, "kube2sky_objects", kind="nodes") == 2

    bed.kube.put_node(node("worker-1", "10.0.0.7"))
    bed.wait_records(NODES, keys(f"{NODES}worker-1", "10.0.0.7") | other)
    bed.wait_answers("worker-1.node.cluster.local", "A", ["10.0.0.7"])
    bed.wait_answers("worker-1.node.cluster.local", "AAAA", [])

    bed.kube.delete("nodes", "worker-1")
    bed.wait_records(NODES, other)
    bed.wait_answers("worker-1.node.cluster.local", "A", ["NXDOMAIN"])
    assert not any(".node." in text for text in bed.etcd.values("/skydns/arpa/").values()), "no reverse names"


def test_no_node_has_the_address_of_another(node_bed):
    """The name ec2.internal has all records below it: the longer name gives way while there is such a node."""
    bed = node_bed
    bed.kube.put_node(node("ip-10-0-0-2.ec2.internal", "10.0.0.2"))
    bed.start_kube2sky("--nodes")
    bed.start_skydns("-no-rec", "-schema=kubernetes")
    bed.wait_records(NODES, keys(EC2[:-1], "10.0.0.2"))
    bed.kube.put_node(node("ec2.internal", "10.0.0.3"))
    bed.wait_records(NODES, keys(f"{NODES}internal/ec2", "10.0.0.3"))
    bed.wait_answers("ec2.internal.node.cluster.local", "A", ["10.0.0.3"])
    bed.kube2sky.wait_line(r"cannot be part of a key.* kind=nodes .* name=ip-10-0-0-2\.ec2\.internal .* value=ec2\.internal")
    bed.kube.delete("nodes", "ec2.internal")
    bed.wait_records(NODES, keys(EC2[:-1], "10.0.0.2"))
    bed.wait_answers("ip-10-0-0-2.ec2.internal.node.cluster.local", "A", ["10.0.0.2"])


def test_whose_the_keys_below_node_are(node_bed):
    """With the flag everything is kube2sky's; without it, what it left goes, and what others wrote stays."""
    bed = node_bed
    worker = keys(f"{NODES}worker-1", "10.0.0.1")
    mine = {f"{NODES}mine": '{"host":"192.0.2.1"}', f"{NODES}worker-1/x": value("192.0.2.2")}
    gone = keys(f"{NODES}gone", "10.0.0.9")
    for key, text in (mine | gone).items():
        bed.etcd.put(key, text)
    bed.kube.put_node(node("worker-1", "10.0.0.1"))
    bed.start_kube2sky()
    bed.wait_records(NODES, mine)
    restart(bed, "--nodes")
    bed.wait_records(NODES, worker)
    for key, text in (mine | gone).items():
        bed.etcd.put(key, text)
    bed.wait_records(NODES, worker)
    restart(bed, "--namespaces=default")  # another writer's, perhaps
    bed.kube.create("services", service("web", port(80)))
    wait_until(lambda: "/svc/default/web/" in str(bed.etcd.values("/skydns/")), "the Service's record")
    assert bed.etcd.values(NODES) == worker
    restart(bed)
    bed.wait_records(NODES, {})


def test_a_server_that_permits_neither(bed):
    """As with an older ClusterRole: named once and in /readiness?strict, the rest works, and what is there stays."""
    flags = ("--nodes", "--namespace-visibility", "--etcd-mutation-timeout=1s")
    old = keys(f"{NODES}gone", "10.0.0.9")
    for key, text in old.items():
        bed.etcd.put(key, text)
    bed.kube.put_node(node("worker-1", "10.0.0.1"))
    for resource in ("nodes", "namespaces"):
        bed.kube.control("forbid", resource=resource)
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky(*flags)  # and is ready
    ip = made["spec"]["clusterIP"]
    bed.wait_records("/skydns/local/cluster/svc/default/web/", service_records("web", ip, ("tcp", "http", 80)))
    strict = f"http://127.0.0.1:{bed.readiness_port}/readiness?strict"
    wait_until(lambda: re.search(r"(nodes|namespaces).*403", http_get(strict)[1]), "a strict reader is told")
    for kind in ("nodes", "namespaces"):
        wait_until(lambda kind=kind: sample(bed, "kube2sky_api_up", kind=kind) == 0, f"{kind} are away")
        bed.kube2sky.wait_line(rf"cannot be followed.* kind={kind}\b")  # HTTP may be ahead of the log's pipe
        lines = [text for text in bed.kube2sky.lines if "cannot be followed" in text and f"kind={kind}" in text]
        assert len(lines) == 1, lines
    assert bed.etcd.values(NODES) == old
    assert bed.readiness()[0] == 200

    for resource in ("nodes", "namespaces"):
        bed.kube.control("forbid", resource=resource, on=False)
    bed.wait_records(NODES, keys(f"{NODES}worker-1", "10.0.0.1"))
    wait_until(lambda: http_get(strict)[0] == 200, "strictly ready")

    bed.kube.control("forbid", resource="nodes")  # again, while it watches
    bed.kube.delete("nodes", "worker-1")
    restart(bed, *flags)
    assert bed.etcd.values(NODES) == keys(f"{NODES}worker-1", "10.0.0.1")
    bed.kube.put_node(node("worker-2", "10.0.0.2"))
    bed.kube.control("forbid", resource="nodes", on=False)
    bed.wait_records(NODES, keys(f"{NODES}worker-2", "10.0.0.2"))


def test_a_server_that_has_just_started_permits_nothing(bed):
    """Until its RBAC is warm; nothing is written or called complete because of that. Then Nodes are waited for."""
    kinds = ("services", "nodes", "namespaces")
    for kind in kinds:
        bed.kube.control("forbid", resource=kind)
    bed.start_kube2sky("--nodes", "--namespace-visibility", is_waiting=False)
    for kind in kinds:
        bed.kube2sky.wait_line(rf"cannot be followed.* kind={kind}\b.* 403 ")
    bed.kube.control("fail", status=503, count=1000, match="/api/v1/nodes?")
    bed.kube2sky.wait_line(r"cannot be followed.* kind=nodes\b.* 503 ")
    for kind in kinds:
        bed.kube.control("forbid", resource=kind, on=False)
    wait_until(lambda: "nodes are not listed yet" in bed.readiness()[1], "only the Nodes are missing")
    assert bed.readiness()[0] == 503
    assert not bed.etcd.get_prefix("/kube2sky/cluster.local/store")


def visible(bed) -> dict[str, str]:
    return bed.etcd.values(VISIBLE)


def test_namespaces_are_followed(cluster_bed):
    """All of them; with --namespaces those, and the keys of others stay. Labels do not matter."""
    bed = cluster_bed
    existing = len(bed.kube.request("GET", "/api/v1/namespaces")["items"])
    bed.start_kube2sky("--namespace-visibility", "--label-selector=a=b")

    def known() -> float | None:
        return sample(bed, "kube2sky_objects", kind="namespaces")

    wait_until(lambda: known() == existing, "all namespaces")
    bed.kube.create_namespace("team-a")
    wait_until(lambda: known() == existing + 1, "the new one")
    for text in ("team-b", "*", ""):
        bed.kube.annotate_namespace("team-a", visible_to=text)
        wait_until(lambda text=text: visible(bed) == {f"{VISIBLE}team-a": text}, f"the text `{text}`")
    bed.kube.annotate_namespace("team-a", visible_to=None)
    wait_until(lambda: visible(bed) == {}, "no key")

    for name in ("team-a", "kube-system"):
        bed.kube.annotate_namespace(name, visible_to="team-b")
    wait_until(lambda: len(visible(bed)) == 2, "both keys")
    restart(bed, "--namespace-visibility", "--namespaces=team-a")
    wait_until(lambda: known() == 1, "the one that counts")
    assert sample(bed, "kube2sky_objects", kind="nodes") is None
    for name in ("team-a", "kube-system"):
        bed.kube.annotate_namespace(name, visible_to=None)
    wait_until(lambda: visible(bed) == {f"{VISIBLE}kube-system": "team-b"}, "the key of its own is gone")
    restart(bed)
    assert known() is None
    wait_until(lambda: visible(bed) == {}, "no flag, no key")

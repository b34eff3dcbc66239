"""What kube2sky writes beside the records so that readers know their clients: addresses that pods share with their
node, and namespaces that others may see. Against the tests' API server and a real one.
"""

import signal
from contextlib import suppress

import pytest
from kube import KubeError, pod, port, service
from programs import http_get, reserve_port, wait_until
from test_kube_dry_run import dry_run

BESIDE = "/kube2sky/cluster.local/"
NODES = BESIDE + "node-address/"
VISIBLE = BESIDE + "visible/"
PODS = "/skydns/local/cluster/pod/"
FLAG = "--namespace-visibility"


def host_pod(name: str, *ips: str, **more: str) -> dict:
    value = pod(name, *ips, **more)
    value["spec"]["hostNetwork"] = True
    return value


def node_address(*ips: str) -> dict[str, str]:
    return {NODES + ip.replace(".", "-").replace(":", "-"): f'{{"host":"{ip}"}}' for ip in ips}


def visible(**texts: str) -> dict[str, str]:
    return {VISIBLE + name.replace("_", "-"): text for name, text in texts.items()}


def wait_keys(bed, right: dict[str, str]) -> None:
    bed.wait_records(NODES, {k: v for k, v in right.items() if k.startswith(NODES)})
    bed.wait_records(VISIBLE, {k: v for k, v in right.items() if k.startswith(VISIBLE)})


def annotate(kube, name: str, text: str | None) -> None:
    change = {"metadata": {"annotations": {"dns.kube2sky/visible-to": text}}}
    kube.request("PATCH", f"/api/v1/namespaces/{name}", change, "application/merge-patch+json")


def delete_namespace(kube, name: str) -> None:
    """Without a controller, somebody has to say that nothing is left in it."""
    kube.request("DELETE", f"/api/v1/namespaces/{name}")
    with suppress(KubeError):
        value = kube.request("GET", f"/api/v1/namespaces/{name}")
        value["spec"]["finalizers"] = []
        kube.request("PUT", f"/api/v1/namespaces/{name}/finalize", value)


@pytest.fixture
def real_bed(server, bare_bed):
    bare_bed.start_etcd()
    bare_bed.use_kube(server.kube, server.flags)
    yield bare_bed
    for name in ("team-a", "team-b"):
        with suppress(KubeError):
            delete_namespace(server.kube, name)


def assert_order(bed, since: int, address: str) -> None:
    """At no revision is there a key of a pod at this address without the node address."""
    listed, pods, seen = False, set(), 0
    changes = {}
    for revision, key, value in bed.etcd.changes(since):
        changes.setdefault(revision, []).append((key, value))
    for revision in sorted(changes):
        for key, value in changes[revision]:
            if key == NODES + address:
                listed = value is not None
            elif key.startswith(PODS) and f"/{address}/" in key:
                (pods.discard if value is None else pods.add)(key)
        assert listed or not pods, changes[revision]
        seen += bool(pods)
    assert seen


def test_pods_on_the_host_network(cluster_bed):
    bed = cluster_bed
    bed.start_kube2sky()
    since = bed.etcd.revision()
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    wait_keys(bed, node_address("10.1.0.1"))
    bed.kube.put_pod(host_pod("agent", "10.1.0.1", namespace="kube-system"))
    bed.kube.put_pod(pod("web", "10.2.0.1"))
    wait_until(lambda: len(bed.etcd.values(PODS)) == 3, "their records")
    bed.kube.delete("pods", "proxy")
    bed.wait_model()
    wait_keys(bed, node_address("10.1.0.1"))
    bed.kube.put_pod(host_pod("agent", "10.1.0.1", namespace="kube-system", phase="Failed"))
    wait_keys(bed, {})
    bed.wait_model()
    assert_order(bed, since, "10-1-0-1")
    bed.kube.put_pod(host_pod("agent2", "10.1.0.1", namespace="kube-system"))
    wait_keys(bed, node_address("10.1.0.1"))

    # Without pods, their addresses need no marks.
    bed.kube2sky.stop()
    bed.kube2sky = None
    result = dry_run(bed, "--pods=disabled")
    assert f"- {NODES}10-1-0-1\n" in result.stdout
    since = bed.etcd.revision()
    bed.start_kube2sky("--pods=disabled")
    wait_keys(bed, {})
    wait_until(lambda: not bed.etcd.values(PODS), "no records of pods")


def test_namespaces_that_are_refused_after_the_start(bed):
    """After --etcd-mutation-timeout, what a list of namespaces once said counts no more, be it of this life or of an
    earlier one; the records stay. Permitted again, the lists are what they are now.
    """
    flags = (FLAG, "--etcd-mutation-timeout=1s")
    made = bed.kube.create("services", service("web", port(80)))
    for name in ("team-a", "team-b"):
        bed.kube.create_namespace(name)
        annotate(bed.kube, name, "*")
    bed.start_kube2sky(*flags)
    shown = visible(team_a="*", team_b="*")
    wait_keys(bed, shown)
    records = bed.etcd.values("/skydns/")
    assert made["spec"]["clusterIP"] in str(records)
    strict = f"http://127.0.0.1:{bed.readiness_port}/readiness?strict"
    for is_new in (False, True):
        bed.kube.control("forbid", resource="namespaces")
        if is_new:
            bed.kube2sky.stop()
            bed.kube2sky = None
            bed.start_kube2sky(*flags)
        bed.kube2sky.wait_line("namespaces are refused, so none is shown to others any more after_ms=1000")
        wait_keys(bed, {})
        wait_until(lambda: "namespaces" in http_get(strict)[1], "strict readiness")
        assert http_get(strict)[0] == 503 and bed.readiness()[0] == 200
        annotate(bed.kube, "team-b", None if is_new else "team-a")
        bed.kube.control("forbid", resource="namespaces", on=False)
        shown = visible(team_a="*") if is_new else visible(team_a="*", team_b="team-a")
        wait_keys(bed, shown)
        wait_until(lambda: http_get(strict)[0] == 200, "strictly ready")
    assert bed.etcd.values("/skydns/") == records
    lines = [line for line in bed.kube2sky.lines if "none is shown to others" in line]
    assert len(lines) == 1, lines


def test_pods_that_are_refused_after_the_start(bed):
    """After --etcd-mutation-timeout, no address tells who its client is: another pod may have it now. The records stay,
    and the addresses that nodes have. Permitted again, pods are known again.
    """
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    bed.start_kube2sky("--etcd-mutation-timeout=1s")
    wait_keys(bed, node_address("10.1.0.1"))
    records = bed.etcd.values("/skydns/")
    strict = f"http://127.0.0.1:{bed.readiness_port}/readiness?strict"
    for _ in range(2):
        since = len(bed.kube2sky.lines)
        bed.kube.control("forbid", resource="pods")
        bed.kube2sky.wait_line("pods are refused, so no client is identified any more after_ms=1000", since)
        wait_keys(bed, node_address("0.0.0.0", "10.1.0.1"))
        wait_until(lambda: "pods" in http_get(strict)[1], "strict readiness")
        assert http_get(strict)[0] == 503 and bed.readiness()[0] == 200
        bed.kube.control("forbid", resource="pods", on=False)
        wait_keys(bed, node_address("10.1.0.1"))
        wait_until(lambda: http_get(strict)[0] == 200, "strictly ready")
    assert bed.etcd.values("/skydns/") == records


def test_emptied_and_disturbed(bed):
    """An etcd that comes back empty, and somebody who deletes and adds keys."""
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    bed.start_kube2sky()
    wait_keys(bed, node_address("10.1.0.1"))
    bed.etcd.delete(NODES + "10-1-0-1")
    wait_keys(bed, node_address("10.1.0.1"))
    bed.etcd.put(NODES + "10-9-9-9", "theirs")
    bed.etcd.put(BESIDE + "node-addresses", "of another program")
    wait_keys(bed, node_address("10.1.0.1"))
    since = bed.etcd.revision()
    bed.etcd.delete_prefix("/")
    wait_keys(bed, node_address("10.1.0.1"))
    bed.wait_model()
    assert bed.etcd.revision() > since
    assert BESIDE + "node-addresses" not in bed.etcd.values(BESIDE)


def test_some_namespaces(bed):
    """Two writers share the node addresses: neither removes what the other one may need."""
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    bed.kube.put_pod(host_pod("agent", "10.1.0.1", namespace="kube-system"))
    bed.start_kube2sky("--namespaces=default")
    wait_keys(bed, node_address("10.1.0.1"))
    bed.kube.delete("pods", "proxy")
    wait_until(lambda: not bed.etcd.values(PODS), "no records of pods")
    wait_keys(bed, node_address("10.1.0.1"))
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky()  # sees all
    wait_until(lambda: bed.etcd.values(PODS), "the other one's")
    bed.kube.delete("pods", "agent", "kube-system")
    wait_keys(bed, {})


def test_visible_namespaces(real_bed):
    bed = real_bed
    bed.kube.create_namespace("team-a")
    bed.kube.create_namespace("team-b")
    annotate(bed.kube, "team-a", "team-b,team-c")
    bed.start_kube2sky(FLAG)
    wait_keys(bed, visible(team_a="team-b,team-c"))
    annotate(bed.kube, "team-b", "*")
    wait_keys(bed, visible(team_a="team-b,team-c", team_b="*"))
    annotate(bed.kube, "team-a", " team-b ,\n\u00fc")
    wait_keys(bed, visible(team_a=" team-b ,\n\u00fc", team_b="*"))
    annotate(bed.kube, "team-a", None)
    wait_keys(bed, visible(team_b="*"))
    annotate(bed.kube, "team-a", "team-b")
    delete_namespace(bed.kube, "team-b")
    wait_keys(bed, visible(team_a="team-b"))

    # Without the flag, they go; not before kube2sky says so.
    bed.kube2sky.stop()
    bed.kube2sky = None
    assert f"- {VISIBLE}team-a\n" in dry_run(bed).stdout
    bed.start_kube2sky()
    wait_keys(bed, {})


def test_an_etcd_that_denies_the_keys(bed, tmp_path):
    """The pod's record waits for its node address, nothing else does, and the strict probe says why."""
    (tmp_path / "password").write_text("secret")
    login = [f"--etcd-password-file={tmp_path / 'password'}", "--etcd-username=writer"]
    bed.etcd.add_writer("writer", "secret", "/skydns/", BESIDE + "store", VISIBLE)
    bed.etcd.enable_authentication("secret")
    bed.etcd.log_in("root", "secret")
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    bed.kube.put_pod(pod("web", "10.2.0.1"))
    bed.start_kube2sky(*login)
    bed.kube2sky.wait_line("keys about clients cannot be written")
    assert [key.split("/")[-2] for key in bed.etcd.values(PODS)] == ["10-2-0-1"]
    plan = http_get(f"http://127.0.0.1:{bed.readiness_port}/plan")[1]
    assert f"+ {NODES}10-1-0-1" in plan and f"? {PODS}default/10-1-0-1" in plan
    for _ in range(300):  # also while it tries again
        status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")
        assert status == 503 and f"keys about clients cannot be written below {NODES}" in text

    bed.etcd.permit_writer("writer", NODES)
    bed.wait_model()
    wait_keys(bed, node_address("10.1.0.1"))
    wait_until(lambda: http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")[0] == 200, "strictly ready")


def test_two_writers(bed):
    flags = ["--leader-elect", "--leader-elect-lease-duration=2s"]
    bed.kube.put_pod(host_pod("proxy", "10.1.0.1"))
    bed.start_kube2sky(*flags)
    wait_keys(bed, node_address("10.1.0.1"))
    first, bed.kube2sky = bed.kube2sky, None
    bed.readiness_port = reserve_port()
    bed.start_kube2sky(*flags)
    first.signal(signal.SIGSTOP)
    bed.kube2sky.wait_line("leading|leader")
    bed.kube.put_pod(host_pod("other", "10.1.0.2"))
    bed.kube.delete("pods", "proxy")
    wait_keys(bed, node_address("10.1.0.2"))
    first.signal(signal.SIGCONT)
    bed.kube.put_pod(host_pod("third", "10.1.0.3"))
    wait_keys(bed, node_address("10.1.0.2", "10.1.0.3"))
    plan = f"http://127.0.0.1:{bed.readiness_port}/plan"
    wait_until(lambda: http_get(plan) == (200, "# nothing to do\n"), "the leader has nothing left to do")

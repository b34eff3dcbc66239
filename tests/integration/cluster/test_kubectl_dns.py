"""docker/kubectl/kubectl-dns on the pods of docker/manifests/kube-dns.yaml in a real cluster. kwok's pods run nothing, so the
programs of each run here, with an etcd of their own, and a kubectl of the tests leads to their ports in a kubelet's
place. Everything else that the plugin reads is the API server's and its controllers'.
"""

import itertools
import json
from contextlib import contextmanager

import manifests
import peers
import pytest
from bed import BIN_DIR, Bed
from cluster import STAGES
from kubectl_dns import ADDRESS, KUBELET, Plugin, Renamed
from programs import Program, http_get, reserve_port, wait_until
from prometheus import Page
from workloads import READY, deployment

pytestmark = pytest.mark.cluster

DNS = "kube-system"
SOON = "--etcd-mutation-timeout=1s"  # of outages
WAIT_S = 60.0
OURS = ("Deployment", "Service", "PodDisruptionBudget")
_numbers = itertools.count()


class Pod(Bed):
    """The programs of one."""

    def __init__(self, folder, cluster, name: str):
        folder.mkdir()
        super().__init__(folder)
        self.name = name
        self.etcd_program.argv.append(f"--quota-backend-bytes={4 << 20}")
        self.use_kube(cluster.kube, cluster.kube2sky_flags())
        self.http_port = reserve_port()
        self.start_etcd()
        self.start_kube2sky("--config-map=kube-dns", "--endpoints=slices", "--pods=disabled", SOON)
        self.start_skydns(
            f"-http-addr=127.0.0.1:{self.http_port}", "-nameservers=127.0.0.1:9", "-stub=acme.test=127.0.0.1:9",
            "-schema=kubernetes", "-pods=insecure", "-require-store-key", "-rtimeout=300ms",
        )  # fmt: skip

    def ports(self) -> dict[str, int]:
        """This machine's, for those of the manifest."""
        here = {8081: self.readiness_port, 10055: self.http_port, 53: self.dns.port}
        return {f"{self.name}:{port}": number for port, number in here.items()}

    def metrics(self, program: str) -> Page:
        port = self.http_port if program == "skydns" else self.readiness_port
        return Page(http_get(f"http://127.0.0.1:{port}/metrics")[1], f"{program}_")


class Pods(Plugin):
    """Two, of the manifest's Deployment."""

    def __init__(self, folder, cluster):
        self.cluster = cluster
        super().__init__(folder / "plugin", {
            "real": peers.program("kubernetes", "kubectl"), "nodes": {"node-0": KUBELET, "node-1": KUBELET},
        })  # fmt: skip
        self.environment["KUBECONFIG"] = cluster.kubeconfig
        values = [value for value in manifests.objects("kube-dns.yaml") if value["kind"] in OURS]
        self._file = folder / "dns.json"
        self._file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": values}))
        cluster.kubectl("apply", "-f", str(self._file))
        cluster.kubectl("-n", DNS, "rollout", "status", "deployment/skydns", "--timeout=60s")
        self.pods = [Pod(folder / name, cluster, name) for name in self.names()]
        self.state["ports"] = {key: port for pod in self.pods for key, port in pod.ports().items()}
        self.wait_endpoints(2)

    def close(self) -> None:
        for pod in self.pods:
            pod.close()
        self.cluster.kubectl("delete", "--wait=false", "-f", str(self._file))

    def names(self) -> list[str]:
        listed = self.cluster.kubectl("-n", DNS, "get", "pods", "-l", "app.kubernetes.io/name=skydns", "-o", "name")
        return [name.removeprefix("pod/") for name in sorted(listed.split())]

    def wait_endpoints(self, count: int) -> None:
        path = f"/apis/discovery.k8s.io/v1/namespaces/{DNS}/endpointslices?labelSelector=kubernetes.io/service-name%3Dkube-dns"

        def is_there() -> bool:
            found = [one for item in self.cluster.kube.request("GET", path)["items"] for one in item["endpoints"] or []]
            return len([one for one in found if one["conditions"]["ready"]]) == count

        wait_until(is_there, f"{count} endpoints", WAIT_S)

    def patch(self, kind: str, name: str, changes: dict) -> None:
        self.cluster.kube.patch(kind, name, changes, DNS)


@pytest.fixture(scope="module")
def pods(cluster, tmp_path_factory):
    made = Pods(tmp_path_factory.mktemp("dns"), cluster)
    yield made
    made.close()


@pytest.fixture
def healthy(pods):
    """Before and after a test."""
    assert pods.faults() == []
    yield pods
    wait_until(lambda: pods.faults() == [], "nothing is found any more", WAIT_S)


def test_a_healthy_cluster(pods):
    done = pods.run("doctor")
    assert (done.returncode, done.stderr) == (0, ""), done
    first, *others = done.stdout.splitlines()
    assert first == f"ok    service/kube-dns: {ADDRESS}, ready endpoints: 2"
    right = [f"ok    pod/{pod.name} {program}" for pod in pods.pods for program in ("kube2sky", "skydns")]
    assert [line.split(":")[0] for line in others if line.startswith("ok    pod/")] == right
    assert not [line for line in others if line.startswith(("FAULT", "note"))] and others[-1] == "faults: 0"


# ---- Faults of objects ----


def test_a_kubelet_with_another_address(healthy):
    healthy.state["nodes"]["node-0"] = {"kubeletconfig": {"clusterDNS": ["10.96.0.9"]}}
    assert healthy.fault().startswith("node/node-0: its kubelet gives pods the nameserver 10.96.0.9, ")
    healthy.state["nodes"]["node-0"] = KUBELET


def test_a_service_without_endpoints(healthy):
    healthy.patch("services", "kube-dns", {"spec": {"selector": {"k8s-app": "nobody"}}})
    healthy.wait_endpoints(0)
    assert healthy.fault().startswith("service/kube-dns: has no ready endpoint")
    healthy.patch("services", "kube-dns", {"spec": {"selector": {"k8s-app": "kube-dns"}}})
    healthy.wait_endpoints(2)


def test_a_second_deployment(healthy):
    value = deployment("coredns", DNS, 1)
    value["spec"]["template"]["metadata"]["labels"]["k8s-app"] = "kube-dns"
    healthy.cluster.kube.create("deployments", value)
    healthy.wait_endpoints(3)
    assert "leads to pods of Deployment/coredns Deployment/skydns" in healthy.fault()
    healthy.cluster.kubectl("-n", DNS, "delete", "deployment", "coredns")
    healthy.cluster.kubectl("-n", DNS, "wait", "--for=delete", "pod", "-l", "app=coredns", "--timeout=60s")


def test_a_pod_that_is_not_ready(healthy):
    (first, _) = healthy.pods
    healthy.patch("pods", first.name, {"metadata": {"annotations": {READY: "false"}}})
    healthy.wait_endpoints(1)
    assert healthy.fault() == f"pod/{first.name}: is not ready, though its kube2sky is"
    healthy.patch("pods", first.name, {"metadata": {"annotations": {READY: None}}})
    healthy.wait_endpoints(2)


def test_no_service(healthy):
    healthy.cluster.kubectl("-n", DNS, "delete", "service", "kube-dns")
    assert healthy.faults()[0].startswith("service/kube-dns: cannot be read: ")
    healthy.cluster.kubectl("apply", "-f", str(healthy._file))
    healthy.wait_endpoints(2)


# ---- Faults of programs ----


def test_kube2sky_without_a_role(healthy):
    (first, _) = healthy.pods
    healthy.cluster.kubectl("delete", "clusterrolebinding", "kube2sky")
    first.kube2sky.stop()
    first.start_kube2sky(is_waiting=False)
    wait_until(lambda: first.metrics("kube2sky").get("api_overdue") == 1, "refused", WAIT_S)
    found = [one for one in healthy.faults() if first.name in one]
    assert found[0].startswith(f"pod/{first.name} kube2sky: the API server refuses ") and "forbidden" in found[0]
    healthy.cluster.restore_account()
    wait_until(lambda: first.readiness()[0] == 200, "ready", WAIT_S)


def test_a_config_map_that_is_refused(healthy):
    value = {"metadata": {"name": "kube-dns", "namespace": DNS}, "data": {"upstreamNameservers": '["no address"]'}}
    healthy.cluster.kube.create("configmaps", value)
    for pod in healthy.pods:
        wait_until(lambda pod=pod: pod.metrics("kube2sky").get("config_map_refused") == 1, "refused", WAIT_S)
    found = healthy.faults()
    assert len(found) == 2 and all("kube2sky: cannot use the ConfigMap" in one and "no address" in one for one in found)
    healthy.cluster.kube.delete("configmaps", "kube-dns", DNS)


def test_etcd_is_full(healthy):
    (first, _) = healthy.pods
    with pytest.raises(Exception, match="space"):  # etcd's refusal, as its gateway puts it
        for number in range(200):
            first.etcd.put(f"/fill/{number}", "x" * 100_000)
    healthy.cluster.kube.create("services", {"metadata": {"name": "full"}, "spec": {"ports": [{"port": 80}]}})
    wait_until(lambda: first.metrics("kube2sky").get("etcd_out_of_space") == 1, "full", WAIT_S)
    assert healthy.faults()[0].startswith(f"pod/{first.name} kube2sky: etcd refuses writes: it is full (NOSPACE)")
    healthy.cluster.kube.delete("services", "full")
    # A new etcd in place of the full one, as a new pod would have.
    first.etcd_program.kill()
    (first.folder / "etcd").rename(first.folder / "full-etcd")
    first.start_etcd()
    first.wait_answers("kubernetes.default.svc.cluster.local", "A", ["10.96.0.1"])


def test_upstreams_and_a_stub_zone_that_are_down(healthy):
    (first, _) = healthy.pods
    for zone, metric in (("acme.test", "stub_nameservers_dead"), ("example.com", "nameservers_dead")):
        wait_until(lambda zone=zone, metric=metric: first.dns.answers(f"{next(_numbers)}.{zone}") == ["SERVFAIL"] and
                   first.metrics("skydns").total(metric) == 1, f"{zone} dead", WAIT_S)  # fmt: skip
    upstreams, stub = healthy.faults()
    assert upstreams.startswith(f"pod/{first.name} skydns: none of its 1 upstreams responds")
    assert stub.startswith(f"pod/{first.name} skydns: no upstream of the stub zone acme.test. responds")
    since = len(first.skydns.lines)
    first.skydns.restart()
    first.skydns.wait_line("ready for queries", since)


def test_etcd_is_gone(healthy):
    (first, _) = healthy.pods
    first.etcd_program.kill()
    wait_until(lambda: first.metrics("skydns").get("etcd_overdue") == 1, "overdue", WAIT_S)
    found = healthy.faults()
    assert [one.split(":")[0] for one in found] == [f"pod/{first.name} {name}" for name in ("kube2sky", "skydns")]
    assert "does not follow etcd" in found[1]
    first.start_etcd()
    wait_until(lambda: first.metrics("skydns").get("etcd_up") == 1, "followed", WAIT_S)


def test_etcd_without_a_store_key(healthy):
    (first, _) = healthy.pods
    first.kube2sky.stop()
    first.etcd.delete("/kube2sky/cluster.local/store")
    wait_until(lambda: first.metrics("skydns").total("domain_incomplete") == 1, "incomplete", WAIT_S)
    found = healthy.faults()
    assert found[0].startswith(f"pod/{first.name} kube2sky: does not answer at port 8081")
    assert "SERVFAIL, for etcd has no store key" in found[1]
    first.start_kube2sky()


def test_replicas_of_different_versions(healthy):
    (first, _) = healthy.pods
    with Renamed(first.http_port) as port, leads_to(healthy, f"{first.name}:10055", port):
        assert healthy.fault().startswith("skydns: its replicas are of different versions: 0.0.9 ")


def test_a_skydns_that_hangs(healthy):
    with leads_to(healthy, f"{healthy.pods[1].name}:10055", reserve_port()):
        assert healthy.fault().startswith(f"pod/{healthy.pods[1].name} skydns: does not answer at port 10055")


@contextmanager
def leads_to(pods, port: str, here: int):
    before = pods.state["ports"][port]
    pods.state["ports"][port] = here
    try:
        yield
    finally:
        pods.state["ports"][port] = before


# ---- The other commands ----


def test_explain(pods):
    kube, name = pods.cluster.kube, pods.pods[0].name
    address = kube.get("pods", name, DNS)["status"]["podIP"]
    done = pods.run("explain", "kubernetes.default.svc.cluster.local", "--from", f"{DNS}/{name}")
    assert (done.returncode, done.stderr) == (0, "") and "10.96.0.1" in done.stdout and address
    done = pods.run("explain", "web", "--from", f"{DNS}/none")
    assert done.returncode == 1 and 'pods "none" not found' in done.stderr


def test_wait(pods):
    if http_get(f"http://127.0.0.1:{pods.pods[0].http_port}/wait?revision=1")[0] == 404:
        pytest.skip("these programs have no /wait")
    pods.cluster.kube.create("services", {"metadata": {"name": "waited"}, "spec": {"ports": [{"port": 80}]}})
    done = pods.run("wait", "service/waited")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "service/waited: 2 of 2 replicas answer with it"
    assert all(pod.dns.answers("waited.default.svc.cluster.local") != ["NXDOMAIN"] for pod in pods.pods)
    pods.cluster.kube.delete("services", "waited")


# ---- Through a kubelet ----

KUBELET_NODE, SPACE = "kubelet", "forwarded"


@pytest.fixture
def kubelet(pods, tmp_path):
    """kwok serves what a kubelet does for exec and port forwards of the pod dns-0, which stands for the first of `pods`, its
    flags being that one's.
    """
    first, cluster = pods.pods[0], pods.cluster
    ports = [first.readiness_port, first.http_port]
    forwards = [{"ports": [port], "target": {"address": "127.0.0.1", "port": port}} for port in ports]
    config = [
        {"kind": "ClusterPortForward", "spec": {"forwards": forwards}},
        {"kind": "ClusterExec", "spec": {"execs": [{"local": {}}]}},
    ]
    header = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "metadata": {"name": "all"}}
    file = tmp_path / "kwok.yaml"
    file.write_text("\n---\n".join(json.dumps(header | one) for one in config))
    port = reserve_port()
    # It wants stages, and plays no node.
    flags = [f"--config={path}" for path in (file, *sorted(STAGES.glob("*.yaml")))]
    flags += [f"--kubeconfig={cluster.kubeconfig}", f"--server-address=127.0.0.1:{port}"]
    flags += ["--manage-nodes-with-label-selector=test/never=x"]
    program = Program("kubelet", [peers.program("kwok", "kwok"), *flags], {"PATH": f"{BIN_DIR}:/usr/bin:/bin"})
    program.start().wait_ready(lambda: http_get(f"http://127.0.0.1:{port}/healthz")[0] == 200, "healthy", WAIT_S)
    cluster.add_node(KUBELET_NODE)
    status = {
        "addresses": [{"type": "Hostname", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    path = f"/api/v1/nodes/{KUBELET_NODE}/status"
    cluster.kube.request("PATCH", path, {"status": status}, "application/merge-patch+json")
    cluster.kube.create_namespace(SPACE)
    arguments = {
        "kube2sky": [f"--healthz-port={first.readiness_port}"],
        "skydns": [f"-http-addr=0.0.0.0:{first.http_port}", f"-addr=127.0.0.1:{first.dns.port}"],
    }
    containers = [{"name": name, "image": "x", "args": args} for name, args in arguments.items()]
    meta = {"name": "dns-0", "namespace": SPACE, "labels": {"app": "dns"}}
    spec = {"nodeName": KUBELET_NODE, "containers": containers, "terminationGracePeriodSeconds": 1}
    cluster.kube.create("pods", {"metadata": meta, "spec": spec})
    cluster.kubectl("-n", SPACE, "create", "service", "clusterip", "dns", "--tcp=53:53")
    yield program
    program.kill()
    cluster.kube.delete("nodes", KUBELET_NODE)
    cluster.kube.delete("namespaces", SPACE)


def test_with_kubectl_s_own_forwards(pods, kubelet, tmp_path):
    cluster, plugin = pods.cluster, Plugin(tmp_path / "plugin", {})
    (tmp_path / "plugin/tools/kubectl").unlink()
    (tmp_path / "plugin/tools/kubectl").symlink_to(peers.program("kubernetes", "kubectl"))
    plugin.environment["KUBECONFIG"] = cluster.kubeconfig
    cluster.kubectl("-n", SPACE, "wait", "--for=condition=Ready", "pod/dns-0", "--timeout=60s")
    where = (f"--dns-namespace={SPACE}", "--dns-service=dns")

    def doctor() -> list[str]:
        return plugin.run("doctor", *where).stdout.splitlines()

    wait_until(lambda: doctor()[-1] == "faults: 0", "nothing is found", WAIT_S)
    lines = doctor()
    assert any(line.startswith("ok    pod/dns-0 kube2sky: in sync") for line in lines), lines
    assert any(line.startswith("ok    pod/dns-0 skydns: answers") for line in lines), lines
    # kwok has no page of a kubelet's configuration.
    assert [line for line in lines if line.startswith("note")] == [line for line in lines if line.startswith("note  kubelets: ")]
    done = plugin.run("explain", "kubernetes.default.svc.cluster.local", *where)
    assert done.returncode == 0 and "10.96.0.1" in done.stdout

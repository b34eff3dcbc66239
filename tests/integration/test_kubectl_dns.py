"""docker/kubectl/kubectl-dns with real programs and a kubectl of the tests (fake_kubectl.py): what it finds of each fault,
and nothing where there is none. tests/integration/cluster has the same on a real API server.
"""

import http.server
import itertools
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from dns_client import Dns
from grpc_proxy import GrpcProxy
from kube import service
from kubectl_dns import ADDRESS, KUBELET, PLUGIN, Plugin, Renamed
from programs import http_get, reserve_port, wait_until
from prometheus import Page
from test_at import wait_next_second
from test_config_map import config_map

NUMBERS = itertools.count()  # of names that no cache has


class Cluster(Plugin):
    """A kube2sky and two skydns on one etcd, each as a pod of its own."""

    def __init__(self, bed, folder: Path):
        super().__init__(folder, {
            "containers": [], "addresses": ADDRESS, "endpoints": ["10.1.0.1", "10.1.0.2"],
            "owners": ["ReplicaSet/skydns-5d8c9b7f", "ReplicaSet/skydns-5d8c9b7f"],
            "nodes": {"node-0": KUBELET, "node-1": KUBELET}, "api": bed.kube.url, "pods": {},
        })  # fmt: skip
        self.bed = bed
        self.ports: dict[str, int] = {}  # of each pod's pages
        self.dns: list[Dns] = []

    def add(self, pod: str, program: str, *flags: str, is_ready: bool = True) -> None:
        ready = "True" if is_ready else "False"
        line = [pod, "127.0.0.1", ready, "", f"ReplicaSet/{program}-5d8c9b7f", program, ready.lower(), ""]
        self.state["containers"].append("|".join([*line, " " + " ".join(flags)]))

    def start_programs(self, *kube2sky_flags: str, skydns_flags: tuple[str, ...] = ()) -> None:
        bed = self.bed
        bed.start_kube2sky(*kube2sky_flags)
        self.ports["kube2sky-0"] = bed.readiness_port
        self.add("kube2sky-0", "kube2sky", f"--healthz-port={bed.readiness_port}")
        for number in range(2):
            self.start_skydns(number, *skydns_flags)

    def start_skydns(self, number: int, *flags: str, machines: str = "") -> None:
        http, dns = reserve_port(), reserve_port()
        arguments = [f"-http-addr=127.0.0.1:{http}", f"-addr=127.0.0.1:{dns}", "-domain=cluster.local."]
        program = self.bed.command(
            "skydns", f"-machines={machines or self.bed.etcd_urls[0]}", *arguments, *(flags or ("-no-rec",))
        ).start()
        program.wait_line("ready for queries")
        self.add(f"skydns-{number}", "skydns", *arguments)
        self.ports[f"skydns-{number}"] = http
        self.dns.append(Dns(dns))

    def metrics(self, pod: str) -> Page:
        return Page(http_get(f"http://127.0.0.1:{self.ports[pod]}/metrics")[1], pod.split("-")[0] + "_")


@pytest.fixture
def idle(bed, tmp_path):
    return Cluster(bed, tmp_path / "plugin")


@pytest.fixture
def cluster(idle):
    idle.start_programs()
    return idle


def test_nothing_is_found_where_there_is_no_fault(cluster):
    done = cluster.run("doctor")
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert lines[0] == f"ok    service/kube-dns: {ADDRESS}, ready endpoints: 2"
    assert lines[-1] == "faults: 0" and len([line for line in lines if line.startswith("ok    pod/")]) == 3
    assert not [line for line in lines if line.startswith(("FAULT", "note"))]


# ---- Faults of objects ----


def test_a_kubelet_with_another_address_or_domain(cluster):
    wrong = {"kubeletconfig": {"clusterDNS": ["10.96.0.9"], "clusterDomain": "example.local"}}
    cluster.state["nodes"]["node-1"] = wrong
    address, domain = cluster.faults()
    assert address.startswith("node/node-1: its kubelet gives pods the nameserver 10.96.0.9, ")
    assert domain.startswith("node/node-1: its kubelet gives pods search lists of example.local, and skydns answers for cluster.local")


def test_a_kubelet_that_leads_to_the_node_s_own_skydns(cluster):
    cluster.state["nodes"]["node-1"] = {"kubeletconfig": {"clusterDNS": ["169.254.20.10"]}}
    assert "169.254.20.10" in cluster.fault()
    cluster.state["containers"][-1] += f" -addr=127.0.0.1:{cluster.dns[-1].port},169.254.20.10:53"
    assert "169.254.20.10" not in " ".join(cluster.faults())


def test_kubelets_that_cannot_be_asked_are_no_fault(cluster):
    cluster.state["nodes"]["node-1"] = None
    done = cluster.run("doctor")
    assert done.returncode == 0 and "note  kubelets: 1 of 2 not checked: Error from server: nodes is forbidden" in done.stdout


def test_a_service_that_is_not_there(cluster):
    cluster.state |= {"addresses": None, "nodes": {}}
    assert cluster.fault().startswith("service/kube-dns: cannot be read: ")


def test_a_service_without_endpoints(cluster):
    cluster.state["endpoints"] = []
    assert cluster.fault().startswith("service/kube-dns: has no ready endpoint")


def test_two_deployments_behind_the_service(cluster):
    cluster.state["owners"].append("ReplicaSet/coredns-7c65d6cfc9")
    assert "leads to pods of Deployment/coredns Deployment/skydns" in cluster.fault()


def test_a_pod_that_does_not_start(cluster):
    line = cluster.state["containers"][1].split("|")
    line[2], line[6], line[7] = "False", "false", "ImagePullBackOff"
    cluster.state["containers"][1] = "|".join(line)
    assert cluster.fault() == "pod/skydns-0 skydns: does not run: ImagePullBackOff"


def test_a_pod_whose_other_container_is_not_ready(cluster):
    cluster.state["containers"][1] = cluster.state["containers"][1].replace("|True|", "|False|", 1)
    assert cluster.fault() == "pod/skydns-0: is not ready, though its skydns is"


def test_nothing_runs(idle):
    found = idle.faults()
    assert found == ["namespace/kube-system: no pod has a container named skydns or kube2sky"]


# ---- Faults of programs ----


SOON = "--etcd-mutation-timeout=1s"  # of outages


def test_kube2sky_without_a_role(idle):
    """After its start: what it lists again and follows is refused."""
    idle.start_programs(SOON)
    idle.bed.kube.control("forbid", resource="services")
    wait_until(lambda: idle.metrics("kube2sky-0").get("api_overdue") == 1, "refused")
    found = idle.fault()
    assert found.startswith("pod/kube2sky-0 kube2sky: the API server refuses services to its account: "), found


def test_the_api_server_is_gone(idle):
    idle.start_programs(SOON)
    idle.bed.kube.control("refuse")
    wait_until(lambda: idle.metrics("kube2sky-0").get("api_overdue") == 1, "away")
    found = [one for one in idle.faults() if "kube2sky-0" in one]
    assert len(found) == 1 and "cannot follow" in found[0], found
    idle.bed.kube.control("accept")


def test_etcd_is_full(bare_bed, tmp_path):
    bed = bare_bed
    bed.etcd_program.argv.append(f"--quota-backend-bytes={4 << 20}")
    bed.start_etcd()
    bed.start_apiserver()
    cluster = Cluster(bed, tmp_path / "plugin")
    cluster.start_programs()
    with pytest.raises(Exception, match="space"):  # etcd's refusal, as its gateway puts it
        for number in range(200):
            bed.etcd.put(f"/fill/{number}", "x" * 100_000)
    bed.kube.create("services", service("web"))
    wait_until(lambda: cluster.metrics("kube2sky-0").get("etcd_out_of_space") == 1, "full")
    assert cluster.fault().startswith("pod/kube2sky-0 kube2sky: etcd refuses writes: it is full (NOSPACE)")


def test_a_config_map_that_is_refused(idle):
    idle.start_programs("--config-map=kube-dns")
    idle.bed.kube.create("configmaps", config_map(stubDomains='{"acme.local": ["no address"]}'))
    wait_until(lambda: idle.metrics("kube2sky-0").get("config_map_refused") == 1, "refused")
    found = idle.fault()
    assert found.startswith("pod/kube2sky-0 kube2sky: cannot use the ConfigMap; what it wrote before stays: "), found
    assert "no address" in found


def test_no_leader(idle):
    """The key is somebody's who cannot write, such as one that hangs, until its lease ends."""
    idle.bed.etcd.put("/kube2sky/cluster.local/leader", "by hand")
    bed = idle.bed
    bed.start_kube2sky("--leader-elect", "--leader-elect-lease-duration=60s", is_waiting=False)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] in (200, 503), "answers")
    idle.ports["kube2sky-0"] = bed.readiness_port
    idle.add("kube2sky-0", "kube2sky", f"--healthz-port={bed.readiness_port}")
    found = idle.faults()
    assert "kube2sky: none of kube2sky-0 may write" in found, found


def test_a_stub_zone_and_upstreams_that_are_down(idle):
    idle.start_programs(skydns_flags=("-nameservers=127.0.0.1:9", "-stub=acme.test=127.0.0.1:9", "-rtimeout=300ms"))
    assert not idle.faults()
    for number, dns in enumerate(idle.dns):
        wait_until(lambda dns=dns: dns.answers(f"{next(NUMBERS)}.acme.test") == ["SERVFAIL"] and
                   idle.metrics(f"skydns-{number}").total("stub_nameservers_dead") == 1, "dead")  # fmt: skip
        stub, *others = idle.faults()
        assert len(others) == number and stub.startswith("pod/skydns-0 skydns: no upstream of the stub zone acme.test. responds")
    wait_until(lambda: idle.dns[0].answers(f"{next(NUMBERS)}.example.com") == ["SERVFAIL"] and
               idle.metrics("skydns-0").get("nameservers_dead") == 1, "dead")  # fmt: skip
    assert idle.faults()[0].startswith("pod/skydns-0 skydns: none of its 1 upstreams responds")


def test_a_replica_that_lags(idle, tmp_path):
    """What is between it and etcd passes nothing on, and its connection stays."""
    proxy = GrpcProxy(tmp_path, f"127.0.0.1:{idle.bed.etcd_port}")
    idle.bed.programs.append(proxy.program)
    proxy.start()
    idle.bed.start_kube2sky()
    idle.ports["kube2sky-0"] = idle.bed.readiness_port
    idle.add("kube2sky-0", "kube2sky", f"--healthz-port={idle.bed.readiness_port}")
    idle.start_skydns(0)
    idle.start_skydns(1, machines=proxy.url)
    assert not idle.faults()
    proxy.program.signal(signal.SIGSTOP)
    idle.bed.kube.create("services", service("web"))
    idle.bed.wait_model()
    assert idle.fault().startswith("pod/skydns-1 skydns: lags: kube2sky's records are at revision ")
    wait_until(lambda: idle.metrics("skydns-1").get("etcd_silence_seconds") > 15, "silence", 60)
    assert idle.fault().startswith("pod/skydns-1 skydns: ")
    proxy.program.signal(signal.SIGCONT)
    wait_until(lambda: idle.metrics("skydns-1").get("etcd_silence_seconds") < 5, "it is over", 60)
    wait_until(lambda: not idle.faults(), "nothing is found", 60)


def test_a_program_that_does_not_answer(cluster):
    hangs = cluster.bed.programs[-1]
    hangs.signal(signal.SIGSTOP)
    found = cluster.fault()
    hangs.signal(signal.SIGCONT)
    assert found.startswith("pod/skydns-1 skydns: does not answer at port "), found


def test_a_pod_whose_port_nobody_serves(cluster):
    hangs = cluster.bed.programs[-1]
    hangs.stop()
    assert cluster.fault().startswith("pod/skydns-1 skydns: does not answer at port ")


def test_replicas_of_different_versions(cluster):
    with Renamed(cluster.ports["skydns-1"]) as port:
        line = cluster.state["containers"][2]
        cluster.state["containers"][2] = line.replace(f":{cluster.ports['skydns-1']} ", f":{port} ")
        assert cluster.fault().startswith("skydns: its replicas are of different versions: 0.0.9 ")


def test_etcd_without_a_store_key(cluster):
    cluster.bed.kube2sky.stop()
    cluster.state["containers"].pop(0)
    cluster.bed.etcd.delete("/kube2sky/cluster.local/store")
    wait_until(lambda: cluster.metrics("skydns-1").total("domain_incomplete") == 1, "incomplete")
    wait_until(lambda: cluster.metrics("skydns-0").total("domain_incomplete") == 1, "incomplete")
    *replicas, writer = cluster.faults()
    assert [one.split(":")[0] for one in replicas] == ["pod/skydns-0 skydns", "pod/skydns-1 skydns"]
    assert writer.startswith("kube2sky: there is none in kube-system")


def test_a_name_that_leads_elsewhere(cluster):
    """As on an etcd of another cluster."""
    cluster.bed.kube2sky.stop()
    (key,) = [key for key in cluster.bed.etcd.values("/skydns/local/cluster/svc/default/kubernetes/") if "_" not in key]
    cluster.bed.etcd.put(key, '{"host":"10.96.9.9"}')
    cluster.state["containers"].pop(0)
    wait_until(lambda: all(dns.answers("kubernetes.default.svc.cluster.local") == ["10.96.9.9"] for dns in cluster.dns), "it")
    found = [one for one in cluster.faults() if "does not lead to" in one]
    assert len(found) == 2, found


# ---- The other commands ----


def test_explain(cluster):
    cluster.state["pods"] = {"prod/web-0": "10.1.2.3", "prod/new": ""}
    done = cluster.run("explain", "kubernetes.default.svc.cluster.local", "--from", "prod/web-0")
    assert (done.returncode, done.stderr) == (0, "") and "NOERROR, answers: 1" in done.stdout
    assert cluster.run("explain", "kubernetes.default.svc.cluster.local", "AAAA").stdout.count("AAAA") > 0
    put = cluster.bed.etcd.put
    before = put("/skydns/local/cluster/svc/default/early/a", '{"host":"10.0.0.8"}')
    wait_until(lambda: cluster.dns[0].answers("early.default.svc.cluster.local"), "the first key")
    wait_next_second()
    put("/skydns/local/cluster/svc/default/late/a", '{"host":"10.0.0.9"}')
    wait_until(lambda: cluster.dns[0].answers("late.default.svc.cluster.local"), "the second key")
    assert "NOERROR" in cluster.run("explain", "early.default.svc.cluster.local", "--at", str(before)).stdout
    assert "NXDOMAIN" in cluster.run("explain", "late.default.svc.cluster.local", "--at", str(before)).stdout
    done = cluster.run("explain", "web", "--at=2999-01-01T00:00:00+01:00")
    assert done.returncode == 1 and "2999-01-01T00:00:00+01:00" in done.stderr, done
    done = cluster.run("explain", "web", "--at=5m&client=10.0.0.1")
    assert done.returncode == 2 and "expected a revision, a time like" in done.stderr
    done = cluster.run("explain", "web", "--from=prod/new")
    assert (done.returncode, done.stderr) == (1, "kubectl dns: the pod prod/new has no address yet\n")
    for line in cluster.state["containers"]:
        cluster.state["containers"] = [one.replace("|True|", "|False|") for one in cluster.state["containers"]]
    done = cluster.run("explain", "web")
    assert (done.returncode, done.stderr) == (1, "kubectl dns: no ready skydns with -http-addr in kube-system\n")


def test_wait(cluster):
    bed = cluster.bed
    bed.kube.create("services", service("web"))
    done = cluster.run("wait", "service/web", "-n", "default")
    assert (done.returncode, done.stderr) == (0, ""), done
    *replicas, last = done.stdout.splitlines()
    assert [re.sub(r"\d+$", "N", one) for one in replicas] == [f"skydns-{n}: answers with revision N" for n in range(2)]
    assert last == "service/web: 2 of 2 replicas answer with it"
    assert all(dns.answers("web.default.svc.cluster.local") for dns in cluster.dns)


def test_wait_in_vain(cluster):
    cluster.bed.kube.control("freeze")
    cluster.bed.kube.create("services", service("web"))
    done = cluster.run("wait", "service/web", "--timeout=1s")
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "service/web: 0 of 2 replicas answer with it"
    assert "skydns-0: its kube2sky has not written service/web within 1s: service default/web: " in done.stdout
    done = cluster.run("wait", "service/none")
    assert done.returncode == 1 and done.stderr.startswith("kubectl dns: cannot read service/none in default: ")


class Late:
    """The pages of a skydns that never has the revision, while it is open: the port, and how long it was to wait."""

    def __init__(self) -> None:
        waits = self.waits_s = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                waits.append(int(re.search(r"timeout=(\d+)s", self.path)[1]))
                threading.Event().wait(waits[-1])
                self.send_response(504)
                self.end_headers()

            def log_message(self, *_) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", reserve_port()), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_wait_has_one_deadline(cluster):
    """Two replicas lag; together they are given the time. A third one is asked then, and has the Service."""
    cluster.bed.kube.create("services", service("web"))
    assert cluster.run("wait", "service/web").returncode == 0
    late = Late()
    for number in (8, 9):
        cluster.add(f"skydns-{number}", "skydns", f"-http-addr=127.0.0.1:{late.port}")
    cluster.state["containers"].append(cluster.state["containers"].pop(1))  # skydns-0 is the last
    done = cluster.run("wait", "service/web", "--timeout=3s")
    late.close()
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "service/web: 2 of 4 replicas answer with it"
    assert len(late.waits_s) == 2 and sum(late.waits_s) <= 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "usage:"),
        (["explain"], "explain: expected NAME [TYPE]"),
        (["explain", "a b"], 'explain: "a b" is no name and type'),
        (["explain", "web", "--from", "web-0"], '--from: "web-0": expected NAMESPACE/POD'),
        (["explain", "web", "--from"], "--from: expected a value"),
        (["wait", "web"], 'wait: "web": expected service/NAME'),
        (["wait", "service/web", "--timeout", "5m"], '--timeout: "5m": expected 1s to 999s'),
        (["doctor", "--nodes=0"], '--nodes: "0": expected a number from 1, or all'),
        (["doctor", "--frobnicate=1"], "unknown flag --frobnicate"),
        (["doctor", "now"], 'doctor: unexpected "now"'),
        (["cure"], 'unknown command "cure"'),
    ],
)
def test_what_cannot_be_asked(idle, arguments, told):
    done = idle.run(*arguments)
    assert done.returncode == 2 and told in done.stderr.splitlines()[0] and done.stdout == ""


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["explain", "--help"]])
def test_help(idle, arguments):
    done = idle.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "") and "kubectl dns doctor" in done.stdout


@pytest.mark.parametrize("arguments", [["doctor"], ["explain", "web"], ["wait", "service/web"]])
def test_an_api_server_that_refuses(idle, arguments):
    idle.state["refused"] = "Forbidden: no"
    done = idle.run(*arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Forbidden: no" in done.stderr


@pytest.mark.parametrize("file", ["tmp.*", "tmp.*/unwritten", "forwards"])
def test_an_interrupt_leaves_nothing(cluster, file):
    """While a port is forwarded that kubectl never says to be open, and on the way there."""
    cluster.state["hangs"] = str(cluster.folder / "forwards")
    process = cluster.start("doctor")
    wait_until(lambda: list(cluster.folder.glob(file)), file)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)  # the end of all that hold its output
    assert process.returncode == 130 and not cluster.work()


@pytest.mark.parametrize(
    ("listens", "asked"),
    [
        ("0.0.0.0:{port}", "127.0.0.1:{port}"),
        ("tls://0.0.0.0:853,udp://127.0.0.1:{port},tcp://127.0.0.1:53", "127.0.0.1:{port}"),
        ("[::]:{port}", "127.0.0.1:{port}"),
        ("169.254.20.10:{port},127.0.0.1:{port}", "169.254.20.10:{port}"),
    ],
)
def test_where_a_query_is_sent(listens, asked):
    script = PLUGIN.read_text()
    function = script[script.index("udp_address() {") :].partition("\n}\n")[0] + "\n}\n"
    command = ["sh", "-c", f"{function}udp_address {listens.format(port=5353)!r}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.stdout == asked.format(port=5353) + "\n"


def test_the_script_is_clean():
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is missing")
    done = subprocess.run(["shellcheck", PLUGIN], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout

"""Fixtures. `bed` runs an etcd and the project's API server; tests with `cluster_bed` run a second time
against a real kube-apiserver if there is one (real_apiserver.py).
"""

import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import pytest  # noqa: E402
from bed import Bed, make_certificate, make_signing_key  # noqa: E402
from kube import Kube, KubeError  # noqa: E402
from nursery import forked_apiserver  # noqa: E402
from programs import clean_environment, http_get, reserve_port  # noqa: E402
from real_apiserver import RealApiserver  # noqa: E402
from scripted import Nameserver  # noqa: E402
from snapshot_bed import SnapshotBed  # noqa: E402
from transports import KINDS, Listeners  # noqa: E402
from upstream import Upstream, address  # noqa: E402

clean_environment()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the programs' logs after a failure."""
    report = (yield).get_result()
    if report.failed:
        for name in ("bare_bed", "dns_bed"):
            bed = getattr(item, "funcargs", {}).get(name)
            if bed is not None:
                report.sections.append(("logs of the programs", bed.log_text()))


def pytest_terminal_summary(terminalreporter):
    """Shows what tests measured: record_property("figure", …)."""
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties if report.when == "call" else ():
            if name == "figure":
                terminalreporter.write_line(text)


@pytest.fixture
def bare_bed(tmp_path):
    """A bed in which nothing runs yet."""
    bed = Bed(tmp_path)
    yield bed
    bed.close()


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.start_apiserver()
    return bare_bed


@pytest.fixture
def snapshots(bare_bed):
    """A skydns with -snapshot, not yet started, and an etcd."""
    bare_bed.start_etcd()
    return SnapshotBed(bare_bed)


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory):
    """A real kube-apiserver: (Kube, flags for kube2sky)."""
    server = RealApiserver(tmp_path_factory.mktemp("kube-apiserver"))
    server.start()
    try:
        yield server.kube, server.flags
    finally:
        server.stop()


@pytest.fixture(scope="session")
def leaving():
    """Threads that stop programs while tests go on."""
    threads = []
    yield threads
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory, leaving):
    """A real kube-apiserver for the tests of one file; each test leaves its objects there."""
    server = RealApiserver(tmp_path_factory.mktemp("kube-apiserver"))
    server.start()
    yield server
    leaving.append(server.leave())


@pytest.fixture(params=["own", "real"])
def cluster_bed(request, bare_bed):
    """A bed with etcd and an API server: the project's own, then a real one, whose objects are deleted afterwards."""
    bare_bed.start_etcd()
    if request.param == "own":
        bare_bed.start_apiserver()
        yield bare_bed
        return
    kube, flags = request.getfixturevalue("real_apiserver")
    bare_bed.use_kube(kube, flags)
    yield bare_bed
    for resource in ("services", "endpoints", "pods"):
        for item in kube.request("GET", f"/api/v1/{resource}")["items"]:
            meta = item["metadata"]
            if meta["name"] != "kubernetes":
                try:
                    path = kube.path(resource, meta["namespace"], meta["name"])
                    kube.request("DELETE", f"{path}?gracePeriodSeconds=0")  # else a pod on a node waits for its kubelet
                except KubeError as error:  # Endpoints are deleted with their Service
                    assert error.status == 404


@pytest.fixture(scope="module")
def dns_bed(tmp_path_factory):
    """etcd and skydns only, for tests that write their records themselves. skydns listens on all transports."""
    bed = Bed(tmp_path_factory.mktemp("dns"))
    bed.start_etcd()
    bed.listeners = Listeners(bed.folder)
    bed.start_skydns("-no-rec", *bed.listeners.flags(bed.dns.port))
    yield bed
    bed.close()


@pytest.fixture(scope="module")
def clients(dns_bed):
    """Of dns_bed, by transport."""
    return {"udp": dns_bed.dns} | {kind: dns_bed.listeners.dns(kind) for kind in KINDS}


@pytest.fixture(params=("udp", *KINDS))
def client(request, clients):
    """The test runs over each transport in turn, at dns_bed."""
    return clients[request.param]


@pytest.fixture
def upstream():
    """Has 192.0.2.7 for every name."""
    with closing(Upstream(address)) as server:
        yield server


@pytest.fixture
def nameserver():
    """Replies as the test tells it, name by name."""
    with closing(Nameserver()) as server:
        yield server


class Running:
    """A running program and the URL of its status pages."""

    def __init__(self, program, port: int):
        self.pid, self.url = program.pid, f"http://127.0.0.1:{port}"

    def metrics(self) -> str:
        return http_get(self.url + "/metrics")[1]


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    """The three programs by name, with every feature on that has metrics of its own, for read-only tests."""
    bed = Bed(tmp_path_factory.mktemp("running"))
    try:
        bed.start_etcd()
        bed.start_apiserver()
        bed.start_kube2sky()
        http_port = reserve_port()
        certificate, key = make_certificate(bed.folder)
        addresses = f"127.0.0.1:{bed.dns.port},tls://127.0.0.1:{reserve_port()}"
        bed.start_skydns(
            "-no-rec", f"-http-addr=127.0.0.1:{http_port}", "-stub=acme.test=127.0.0.1:9",
            f"-addr={addresses}", f"-cert={certificate}", f"-key={key}",
            f"-dnssec={make_signing_key(bed.folder)}",
        )
        target = f"kubernetes.default.svc.cluster.local,A,127.0.0.1:{bed.dns.port}"
        # The labels of docker/manifests/kube-dns-tls.yaml; nobody answers there.
        over_tls = [f"-dns={label}=x.test,{label}://127.0.0.1:9" for label in ("tls", "https")]
        bed.start_exechealthz(
            "-cmd=true", "-period=100ms", "-on-unhealthy=true", f"-dns=skydns={target}", *over_tls,
            f"-dnsmasq-metrics=127.0.0.1:{bed.dns.port}",
        )
        exechealthz = Running(bed.exechealthz, bed.healthz_port)
        bed.exechealthz.wait_ready(
            lambda: http_get(f"{exechealthz.url}/healthcheck/skydns")[0] == 200, "the probe's answer"
        )
        bed.dns.query("www.acme.test", "A")  # its nameserver has figures from now on
        kube2sky, skydns = Running(bed.kube2sky, bed.readiness_port), Running(bed.skydns, http_port)
        http_get(skydns.url + "/clients")  # clients are counted from now on
        yield {"kube2sky": kube2sky, "skydns": skydns, "exechealthz": exechealthz}
    finally:
        bed.close()


@pytest.fixture
def start_apiserver():
    """A function that starts the project's API server with some flags and returns its client."""
    started = []

    def start(*flags: str) -> Kube:
        number = reserve_port()
        program = forked_apiserver(number, *flags).start()
        started.append(program)
        program.wait_ready(lambda: http_get(f"http://127.0.0.1:{number}/readyz")[0] == 200, "readyz")
        return Kube(f"http://127.0.0.1:{number}")

    yield start
    for program in started:
        program.stop()


@pytest.fixture
def kube(start_apiserver) -> Kube:
    return start_apiserver()

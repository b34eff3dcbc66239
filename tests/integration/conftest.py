"""Fixtures. `bed` has an etcd and the project's API server running; `cluster_bed` is run a second time
against a real kube-apiserver when KUBE_APISERVER names an executable that starts one (CONTRIBUTING.md
says how it is called).
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import pytest  # noqa: E402
from bed import Bed, clean_environment  # noqa: E402
from kube import Kube, KubeError  # noqa: E402
from programs import apiserver, http_get, reserve_port  # noqa: E402

clean_environment()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows what the programs logged."""
    report = (yield).get_result()
    if report.failed:
        for name in ("bare_bed", "dns_bed"):
            bed = getattr(item, "funcargs", {}).get(name)
            if bed is not None:
                report.sections.append(("logs of the programs", bed.log_text()))


@pytest.fixture
def bare_bed(tmp_path):
    """Nothing runs yet."""
    bed = Bed(tmp_path)
    yield bed
    bed.close()


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.start_apiserver()
    return bare_bed


@pytest.fixture(scope="session")
def real_apiserver(tmp_path_factory):
    """A real kube-apiserver: (Kube, flags for kube2sky)."""
    starter = os.environ.get("KUBE_APISERVER")
    if not starter:
        pytest.skip("KUBE_APISERVER does not name a starter of a real kube-apiserver")
    folder = tmp_path_factory.mktemp("kube-apiserver")
    arguments = [starter, "start", str(folder), str(_reserve_two_ports()), str(reserve_port())]
    environment = {
        k: v for k, v in os.environ.items() if k != "KUBE_APISERVER"
    }  # to the starter it may mean a binary
    started = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)
    assert started.returncode == 0, started.stdout + started.stderr
    try:
        says = dict(line.split("=", 1) for line in started.stdout.splitlines() if "=" in line)
        yield Kube(says["URL"], says["TOKEN"], says["CA"]), [f"--kubecfg-file={says['KUBECONFIG']}"]
    finally:
        subprocess.run([starter, "stop", str(folder)], env=environment, capture_output=True, timeout=60)


def _reserve_two_ports() -> int:
    """The first of two neighbours: the starter takes the next one for etcd's peers."""
    while True:
        first = reserve_port()
        try:
            if reserve_port(first + 1) == first + 1:
                return first
        except RuntimeError:
            continue


@pytest.fixture(params=["own", "real"])
def cluster_bed(request, bare_bed):
    """A bed with etcd and an API server: the project's own, then a real one, left as it was found."""
    bare_bed.start_etcd()
    if request.param == "own":
        bare_bed.start_apiserver()
        yield bare_bed
        return
    kube, flags = request.getfixturevalue("real_apiserver")
    bare_bed.use_kube(kube, flags)
    yield bare_bed
    for resource in ("services", "endpoints"):
        for item in kube.request("GET", f"/api/v1/{resource}")["items"]:
            meta = item["metadata"]
            if meta["name"] != "kubernetes":
                try:
                    kube.delete(resource, meta["name"], meta["namespace"])
                except KubeError as error:  # Endpoints went with their Service
                    assert error.status == 404


@pytest.fixture(scope="module")
def dns_bed(tmp_path_factory):
    """etcd and skydns, nothing else: for what is asked of records that a test writes itself."""
    bed = Bed(tmp_path_factory.mktemp("dns"))
    bed.start_etcd()
    bed.start_skydns()
    yield bed
    bed.close()


@pytest.fixture
def start_apiserver():
    """A function that starts the project's API server with some flags and gives its client."""
    started = []

    def start(*flags: str) -> Kube:
        number = reserve_port()
        program = apiserver(number, *flags).start()
        started.append(program)
        program.wait_ready(lambda: http_get(f"http://127.0.0.1:{number}/readyz")[0] == 200, "readyz")
        return Kube(f"http://127.0.0.1:{number}")

    yield start
    for program in started:
        program.stop()


@pytest.fixture
def kube(start_apiserver) -> Kube:
    return start_apiserver()

"""Fixtures of the tests that need podman and root: run by `make check-pod`, which prints their figures from pod.txt.
"""

import os
import shutil
from pathlib import Path

import pytest
import release_bed
from bed import BIN_DIR
from legacy_pod import LegacyPod
from podman import VERSION, Podman
from private_space import PrivateSpace
from real_apiserver import RealApiserver

_SUMMARY = BIN_DIR.parent / "pod.txt"


def _missing() -> str:
    if os.geteuid() != 0:
        return "containers and network namespaces need root"
    if not shutil.which("podman"):
        return "no podman"
    if not os.environ.get("KUBE_APISERVER"):
        return "KUBE_APISERVER does not name a starter of a real kube-apiserver"
    return ""


@pytest.fixture(scope="session")
def space():
    reason = _missing()
    if reason:
        pytest.skip(reason)
    with PrivateSpace() as space:
        yield space


@pytest.fixture(scope="session")
def bare_podman(space, tmp_path_factory):
    """podman with a base image alone."""
    podman = Podman(tmp_path_factory.mktemp("podman"), space)
    try:
        podman.prepare()
        yield podman
    finally:
        podman.remove()


@pytest.fixture(scope="session")
def podman(bare_podman):
    """podman with the images of docker/Dockerfile, freshly built."""
    bare_podman.build()
    return bare_podman


@pytest.fixture(scope="session")
def released(bare_podman, tmp_path_factory):
    """The names of a release's images, loaded from their OCI archives."""
    if reason := release_bed.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("release")
    systems = release_bed.package_programs(folder)
    names = {name: f"localhost/released-{name}:{VERSION}" for name in ("kube2sky", "skydns", "exechealthz", "node-local")}
    for name, image in names.items():
        assert image in bare_podman.load(folder, release_bed.image_archive(systems, name))
    yield names
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def note(space):
    """A function that adds a line to the figures."""
    _SUMMARY.write_text("")

    def add(line: str) -> None:
        with _SUMMARY.open("a") as file:
            file.write(line + "\n")

    return add


@pytest.fixture(scope="module")
def pod(podman, space, tmp_path_factory):
    """The legacy pod, healthy, its probes run as by a kubelet."""
    folder: Path = tmp_path_factory.mktemp("kube-apiserver")
    folder.chmod(0o755)  # kube2sky runs as another user and reads the credentials in it
    apiserver = RealApiserver(folder, space.inside)
    apiserver.start()
    pod = LegacyPod(tmp_path_factory.mktemp("pod"), podman, space, apiserver)
    try:
        pod.play()
        pod.wait_well()
        with pod.kubelet():
            yield pod
    finally:
        pod.remove()
        apiserver.stop()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the containers' logs after a failure."""
    report = (yield).get_result()
    pod = getattr(item, "funcargs", {}).get("pod")
    if report.failed and pod is not None:
        report.sections.append(("logs of the containers", pod.log_text()))

"""The images: their metadata, and that they run with as few rights as a cluster may give them."""

import pytest
from podman import IMAGES, VERSION
from programs import wait_until

pytestmark = pytest.mark.pod

_PROGRAMS = ("kube2sky", "skydns", "exechealthz")
_RESTRICTED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
_VERSION_FLAG = {"etcd": "--version"}
# Arguments to run each alone, without anything that it needs.
_ALONE = {
    "kube2sky": ["--kube-master-url=http://127.0.0.1:1"],
    "skydns": ["-machines=http://127.0.0.1:1", "-addr=0.0.0.0:53", "-no-rec"],
    "exechealthz": ["-cmd=nslookup"],
}
_AT_WORK = {"kube2sky": " started ", "skydns": "skydns started", "exechealthz": " started "}


@pytest.fixture
def container(podman):
    """A function that starts an image's container in the private network; returns its id."""
    started = []

    def run(name: str, *options: str) -> str:
        command = ["run", "-d", "--network=host", *options, IMAGES[name], *_ALONE[name]]
        started.append(podman.run(*command).splitlines()[-1])
        return started[-1]

    yield run
    for each in started:
        podman.run("rm", "-f", "-t", "0", each)


def _log(podman, container: str) -> str:
    done = podman.call("logs", container)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", IMAGES)
def test_what_it_says(podman, name):
    image = podman.inspect("image", IMAGES[name])
    # node-local makes an interface and rules.
    assert image["User"] == ("0:0" if name == "node-local" else "65532:65532")
    check = image["Healthcheck"]
    assert check["Test"][0] == "CMD" and check["Interval"] and check["Timeout"] and check["Retries"]
    labels = image["Labels"]
    assert labels["org.opencontainers.image.title"] == name
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.description"]
    if name != "etcd":
        assert labels["org.opencontainers.image.version"] == VERSION


@pytest.mark.parametrize("name", IMAGES)
def test_starts_without_rights(podman, name):
    """The file capability of skydns must not keep it from starting."""
    flag = _VERSION_FLAG.get(name, "-version")
    assert podman.run("run", "--rm", "--network=none", *_RESTRICTED, IMAGES[name], flag)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_read_only(podman, container, name):
    """Works on a read-only file system as an unprivileged user; as PID 1, SIGTERM ends it with status 0."""
    running = container(name, "--read-only")
    wait_until(lambda: _AT_WORK[name] in _log(podman, running), f"{name} is at work", 60)
    assert podman.run("exec", running, "id", "-u") == "65532"
    podman.run("stop", "-t", "60", running)
    assert podman.inspect("container", running)["State"]["ExitCode"] == 0, _log(podman, running)


def test_skydns_has_port_53(podman, container):
    """Not root, no options: it has the file capability, which COPY preserves."""
    running = container("skydns")
    check = ["exec", running, *podman.inspect("container", running)["Config"]["Healthcheck"]["Test"][1:]]
    wait_until(lambda: podman.call(*check).returncode == 0, "port 53 answers", 60)


def test_skydns_without_rights(podman, container):
    running = container("skydns", *_RESTRICTED)
    assert podman.run("wait", running) == "1"
    assert "0.0.0.0:53: Permission denied; ports below 1024 need" in _log(podman, running)


def test_sizes(podman, note):
    base = podman.base_size()
    note(f"base image: {base / 1e6:.0f} MB")
    for name, image in IMAGES.items():
        size = podman.inspect("image", image)["Size"]
        note(f"{name} image: {size / 1e6:.0f} MB, of its own {(size - base) / 1e6:.1f} MB")
        # A compiler left behind would be 150 MB.
        assert size - base < 60e6

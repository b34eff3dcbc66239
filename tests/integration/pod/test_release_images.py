"""The images of a release, loaded from their OCI archives: they have what the programs need, and no more."""

import shutil

import pytest
from podman import VERSION
from programs import wait_until
from release_bed import image_archive, missing, package_programs

pytestmark = pytest.mark.pod

_RESTRICTED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
_NAMES = ("kube2sky", "skydns", "exechealthz", "node-local")


@pytest.fixture(scope="module")
def loaded(bare_podman, tmp_path_factory):
    """The images' names."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("release")
    systems = package_programs(folder)
    for name in _NAMES:
        archive = folder / f"{name}.oci.tar"
        archive.write_bytes(image_archive(systems, name))
        assert f"localhost/released-{name}:{VERSION}" in bare_podman.run("load", "-q", "-i", str(archive))
    yield {name: f"localhost/released-{name}:{VERSION}" for name in _NAMES}
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", _NAMES)
def test_starts_without_rights(bare_podman, loaded, name, note):
    said = bare_podman.run("run", "--rm", "--network=none", *_RESTRICTED, loaded[name], "-version")
    assert said.endswith(VERSION)
    size = bare_podman.inspect("image", loaded[name])["Size"]
    note(f"released {name} image: {size / 2**20:.1f} MiB")
    assert size < 40 << 20


@pytest.mark.parametrize("name", _NAMES)
def test_only_those_that_run_commands_have_a_shell(bare_podman, loaded, name):
    done = bare_podman.call("run", "--rm", "--network=none", "--entrypoint=/bin/sh", loaded[name], "-c", "echo here")
    assert (done.stdout == "here\n") == (name in ("exechealthz", "node-local")), done.stdout + done.stderr


def test_skydns_has_port_53(bare_podman, loaded):
    """Not root, no options: the layer has the file capability."""
    options = ["run", "-d", "--network=host", "--read-only", loaded["skydns"]]
    running = bare_podman.run(*options, "-machines=http://127.0.0.1:1", "-addr=0.0.0.0:53", "-no-rec").splitlines()[-1]
    try:
        check = ("exec", running, "/usr/bin/skydns", "-healthcheck=udp://127.0.0.1:53")
        wait_until(lambda: bare_podman.call(*check).returncode == 0, "port 53 answers", 60)
    finally:
        print(bare_podman.call("logs", running).stderr)
        bare_podman.run("rm", "-f", "-t", "0", running)


def test_exechealthz_has_nslookup(bare_podman, loaded):
    """And the shell that runs it, as user 65532."""
    options = ("run", "--rm", "--network=none", *_RESTRICTED, "--entrypoint=/bin/sh", loaded["exechealthz"])
    done = bare_podman.call(*options, "-c", "id -u && nslookup -type=a web 127.0.0.1")
    assert done.stdout.startswith("65532\n") and "not found" not in done.stderr

"""The images of a release, loaded from their OCI archives: they have what the programs need, and no more."""

import pytest
from podman import VERSION
from programs import wait_until

pytestmark = pytest.mark.pod

_RESTRICTED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
_NAMES = ("kube2sky", "skydns", "exechealthz", "node-local")


@pytest.mark.parametrize("name", _NAMES)
def test_starts_without_rights(bare_podman, released, name, note):
    said = bare_podman.run("run", "--rm", "--network=none", *_RESTRICTED, released[name], "-version")
    assert said.endswith(VERSION)
    size = bare_podman.inspect("image", released[name])["Size"]
    note(f"released {name} image: {size / 2**20:.1f} MiB")
    assert size < 40 << 20


@pytest.mark.parametrize("name", _NAMES)
def test_only_those_that_run_commands_have_a_shell(bare_podman, released, name):
    done = bare_podman.call("run", "--rm", "--network=none", "--entrypoint=/bin/sh", released[name], "-c", "echo here")
    assert (done.stdout == "here\n") == (name in ("exechealthz", "node-local")), done.stdout + done.stderr


def test_skydns_has_port_53(bare_podman, released):
    """Not root, no options: the layer has the file capability."""
    options = ["run", "-d", "--network=host", "--read-only", released["skydns"]]
    running = bare_podman.run(*options, "-machines=http://127.0.0.1:1", "-addr=0.0.0.0:53", "-no-rec").splitlines()[-1]
    try:
        check = ("exec", running, "/usr/bin/skydns", "-healthcheck=udp://127.0.0.1:53")
        wait_until(lambda: bare_podman.call(*check).returncode == 0, "port 53 answers", 60)
    finally:
        print(bare_podman.call("logs", running).stderr)
        bare_podman.run("rm", "-f", "-t", "0", running)


def test_exechealthz_has_nslookup(bare_podman, released):
    """And the shell that runs it, as user 65532."""
    options = ("run", "--rm", "--network=none", *_RESTRICTED, "--entrypoint=/bin/sh", released["exechealthz"])
    done = bare_podman.call(*options, "-c", "id -u && nslookup -type=a web 127.0.0.1")
    assert done.stdout.startswith("65532\n") and "not found" not in done.stderr

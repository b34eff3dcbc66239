"""tests/support/deps: the packages of each group, on a machine that has none of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEPS = Path(__file__).resolve().parents[1] / "support/deps"
# Commands that the script calls; apt-get only records its arguments, and nothing is installed or stopped.
REAL = ("bash", "env", "id")
FAKE = ("dpkg-query", "invoke-rc.d", "update-rc.d", "systemctl", "sudo")


@pytest.fixture
def installed(tmp_path):
    """A function that returns the packages that deps would install for some groups."""
    folder = tmp_path / "bin"
    folder.mkdir()
    asked = tmp_path / "asked"
    for name in REAL:
        (folder / name).symlink_to(shutil.which(name))
    for name in FAKE:
        (folder / name).write_text("#!/bin/bash\n")
    (folder / "sudo").write_text('#!/bin/bash\n"$@"\n')
    (folder / "apt-get").write_text(f'#!/bin/bash\n[ "$1" != install ] || echo "$@" >{asked}\n')
    for name in (*FAKE, "apt-get"):
        (folder / name).chmod(0o755)

    def run(*groups: str) -> set[str]:
        command, env = [str(folder / "bash"), str(DEPS), *groups], {**os.environ, "PATH": str(folder)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return {word for word in asked.read_text().split() if not word.startswith("-") and word != "install"}

    return run


# Not every tool of a group is checked: the script adds sbin to PATH, and tools found there count as installed.
RUN = {"gcc", "libev-dev", "libyaml-dev", "libseccomp-dev", "etcd-server", "etcd-client", "bind9-dnsutils", "kubernetes-client", "curl"}
CHECK = {
    *("clang", "clang-format", "knot-dnsutils", "ldnsutils", "bind9-utils", "musl-tools", "chromium", "libcmocka-dev"),
    *("python3-pytest", "python3-h2", "python3-grpcio"),
}
GROUPS = {"bench": "dnsperf", "pod": "podman", "packaging": "lintian", "monitoring": "docker-compose", "release": "minisign"}


def test_make_run_installs_no_tools_of_tests(installed):
    base, check = installed(), installed("check")
    assert RUN <= base and RUN | CHECK <= check
    assert base < check and not base & CHECK
    assert not base & {"unbound", "knot", *GROUPS.values()}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_adds_its_own(installed, group):
    assert installed(group) >= RUN | {GROUPS[group]}
    assert not installed(group) & CHECK


def test_an_unknown_group_is_one_line():
    done = subprocess.run([str(DEPS), "nope"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "deps: no group nope\n")

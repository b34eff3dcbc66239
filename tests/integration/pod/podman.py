"""podman with its own storage in a folder, which is removed at the end."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from private_space import PrivateSpace

ROOT = Path(__file__).resolve().parents[3]
VERSION = (ROOT / "VERSION").read_text().strip()
IMAGES = {name: f"localhost/{name}:{VERSION}" for name in ("kube2sky", "skydns", "exechealthz", "node-local")} | {
    "etcd": "localhost/etcd:3.4"
}
BASE = "debian:bookworm-slim"

# Builds were measured at 0.8 GB; a storage without overlays copies every layer: 4.9 GB. Plus a margin, since a
# full disk would hurt others.
_FREE_MIN = {"overlay": 2 << 30, "vfs": 7 << 30}
# Far longer than a build takes on a busy machine: they only end a hang.
_BUILD_TIMEOUT_S = 1500
_TIMEOUT_S = 300

_OWN_CONFIGURATION = """[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


class Podman:
    def __init__(self, folder: Path, space: PrivateSpace):
        self._space = space
        self._folder = folder
        self._storage = folder / "storage"
        self._cgroups_before = _cgroups()
        self._driver = "overlay" if _has_overlay(folder) else "vfs"
        self.environment = os.environ | {"STORAGE_DRIVER": self._driver}
        free, needed = shutil.disk_usage(folder).free, _FREE_MIN[self._driver]
        if free < needed:
            pytest.skip(f"{folder} has {free >> 20} MB free; images with {self._driver} take {needed >> 20} MB")

    def prepare(self) -> None:
        """Makes the storage, with a base image in it."""
        preparer = os.environ.get("PODMAN_ENV")
        if preparer:
            command = [*self._space.apart, preparer, str(self._folder)]
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stdout + done.stderr
            for line in done.stdout.splitlines():
                words = shlex.split(line)
                if words[:1] == ["export"]:
                    self.environment |= dict(word.split("=", 1) for word in words[1:])
            return
        configuration = self._folder / "storage.conf"
        configuration.write_text(_OWN_CONFIGURATION.format(driver=self._driver, folder=self._folder))
        self.environment["CONTAINERS_STORAGE_CONF"] = str(configuration)
        command = [*self._space.apart, "podman", "pull", "-q", BASE]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=_TIMEOUT_S)
        if done.returncode != 0:
            pytest.skip(f"PODMAN_ENV names no preparer, and podman has no {BASE}: {done.stderr.strip()[-200:]}")

    def build(self) -> None:
        """Builds all images, from this file's source tree."""
        command = [*self._space.apart, "make", "-s", "-C", str(ROOT), "images", "ENGINE=podman", "IMAGE_PREFIX=localhost/", f"BASE={BASE}"]
        command.append("IMAGE_FLAGS=--network=host -q")
        # Without the options of a parent make.
        environment = {k: v for k, v in self.environment.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

    def call(self, *arguments: str, timeout: float = _TIMEOUT_S):
        command = [*self._space.inside, "podman", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout)

    def run(self, *arguments: str) -> str:
        """Its output; an AssertionError if it fails."""
        done = self.call(*arguments)
        assert done.returncode == 0, f"podman {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def load(self, folder: Path, archive: bytes) -> str:
        """What podman says of the image in the archive, which lies in the folder meanwhile."""
        path = folder / "image.oci.tar"
        path.write_bytes(archive)
        return self.run("load", "-q", "-i", str(path))

    def inspect(self, kind: str, name: str) -> dict:
        return json.loads(self.run(kind, "inspect", name))[0]

    def base_size(self) -> int:
        return self.inspect("image", BASE)["Size"]

    def remove(self) -> None:
        """Removes this storage and what runs on it, nothing else."""
        if self._storage.exists():
            for pod in self.call("pod", "ls", "-q").stdout.split():
                self.call("pod", "rm", "-f", "-t", "0", pod)
            for container in self.call("ps", "-aq").stdout.split():
                self.call("rm", "-f", "-t", "0", container)
            shutil.rmtree(self._folder, ignore_errors=True)
        for cgroup in sorted(_cgroups() - self._cgroups_before, reverse=True):  # inner ones first
            with contextlib.suppress(OSError):  # another podman uses it now
                cgroup.rmdir()


def _cgroups() -> set[Path]:
    """Parent control groups of containers, which podman leaves behind."""
    root = Path("/sys/fs/cgroup")
    return {*root.glob("libpod_parent"), *root.glob("*/libpod_parent"), *root.glob("*/libpod_parent/conmon")}


def _has_overlay(folder: Path) -> bool:
    """Whether overlay mounts work there; they need a quarter of the disk space."""
    trial = folder / "trial"
    for name in ("lower", "upper", "work", "merged"):
        (trial / name).mkdir(parents=True)
    options = f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work"
    command = ["mount", "-t", "overlay", "overlay", "-o", options, str(trial / "merged")]
    is_mounted = subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    if is_mounted:
        subprocess.run(["umount", str(trial / "merged")], check=True, timeout=60)
    shutil.rmtree(trial)
    return is_mounted

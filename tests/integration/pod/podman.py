"""podman with a storage of its own in a folder, removed at the end with everything in it."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
VERSION = (ROOT / "VERSION").read_text().strip()
IMAGES = {name: f"localhost/{name}:{VERSION}" for name in ("kube2sky", "skydns", "exechealthz")} | {
    "etcd": "localhost/etcd:3.4"
}
BASE = "debian:bookworm-slim"

# The most that building was seen to take is 0.8 GB; a storage without overlays copies every layer: 4.9 GB. Then
# some more, since a full disk would hurt others.
_FREE_MIN = {"overlay": 2 << 30, "vfs": 7 << 30}
# Far above what building takes on a busy machine: they only end a hang.
_BUILD_TIMEOUT_S = 1500
_TIMEOUT_S = 300

_OWN_CONFIGURATION = """[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


class Podman:
    def __init__(self, folder: Path):
        self._folder = folder
        self._storage = folder / "storage"
        self._driver = "overlay" if _has_overlay(folder) else "vfs"
        # Of the machine, shared by all storages: not ours when it was there.
        self._locks = Path("/dev/shm/libpod_lock")
        self._has_locks = self._locks.exists()
        self.environment = os.environ | {"STORAGE_DRIVER": self._driver}
        free, needed = shutil.disk_usage(folder).free, _FREE_MIN[self._driver]
        if free < needed:
            pytest.skip(f"{folder} has {free >> 20} MB free; images with {self._driver} take {needed >> 20} MB")

    def prepare(self) -> None:
        """A storage, and a base image in it."""
        preparer = os.environ.get("PODMAN_ENV")
        if preparer:
            done = subprocess.run(
                [preparer, str(self._folder)], env=self.environment, capture_output=True, text=True, timeout=900
            )
            assert done.returncode == 0, done.stdout + done.stderr
            for line in done.stdout.splitlines():
                words = shlex.split(line)
                if words[:1] == ["export"]:
                    self.environment |= dict(word.split("=", 1) for word in words[1:])
            return
        configuration = self._folder / "storage.conf"
        configuration.write_text(_OWN_CONFIGURATION.format(driver=self._driver, folder=self._folder))
        self.environment["CONTAINERS_STORAGE_CONF"] = str(configuration)
        done = self.call("pull", "-q", BASE)
        if done.returncode != 0:
            pytest.skip(f"PODMAN_ENV names no preparer, and podman has no {BASE}: {done.stderr.strip()[-200:]}")

    def build(self) -> None:
        """All four, from the tree that this file is in."""
        command = ["make", "-s", "images", "ENGINE=podman", "IMAGE_PREFIX=localhost/", f"BASE={BASE}"]
        command.append("IMAGE_FLAGS=--network=host -q")
        # Not what a make above this one was told.
        environment = {k: v for k, v in self.environment.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

    def call(self, *arguments: str, inside: list[str] = (), timeout: float = _TIMEOUT_S):
        """inside: what the command begins with to run in a network."""
        command = [*inside, "podman", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout)

    def run(self, *arguments: str, inside: list[str] = ()) -> str:
        """Its output; an AssertionError when it fails."""
        done = self.call(*arguments, inside=inside)
        assert done.returncode == 0, f"podman {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def inspect(self, kind: str, name: str) -> dict:
        return json.loads(self.run(kind, "inspect", name))[0]

    def base_size(self) -> int:
        return self.inspect("image", BASE)["Size"]

    def remove(self) -> None:
        """This storage and what runs on it, nothing else."""
        if self._storage.exists():
            for pod in self.call("pod", "ls", "-q").stdout.split():
                self.call("pod", "rm", "-f", "-t", "0", pod)
            for container in self.call("ps", "-aq").stdout.split():
                self.call("rm", "-f", "-t", "0", container)
            for mount in _mounts_below(self._folder):
                subprocess.run(["umount", mount], capture_output=True, timeout=60)
            shutil.rmtree(self._folder, ignore_errors=True)
        if not self._has_locks:
            self._locks.unlink(missing_ok=True)


def _mounts_below(folder: Path) -> list[str]:
    """The inner ones first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True)


def _has_overlay(folder: Path) -> bool:
    """Whether file systems can be laid over each other there, which takes a quarter of the disk."""
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

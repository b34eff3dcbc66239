"""`make dist`: the committed sources and nothing else, byte for byte reproducible."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def git(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def clone(tmp_path):
    if not shutil.which("git") or git("rev-parse", "HEAD").returncode != 0:
        pytest.skip("no git checkout, which make dist needs")
    folder = tmp_path / "clone"
    result = git("clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder))
    assert result.returncode == 0, result.stderr
    assert git("checkout", "--quiet", "--detach", git("rev-parse", "HEAD").stdout.strip(), folder=folder).returncode == 0
    return folder


def dist(folder: Path, build: Path, umask: int, **variables: str) -> Path:
    env = {name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    result = subprocess.run(
        ["make", "--no-print-directory", "-C", str(folder), "dist", f"BUILD={build}"],
        env={**env, **variables},
        umask=umask,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return Path(result.stdout.splitlines()[-1])


def test_the_same_bytes_everywhere(clone, tmp_path):
    (clone / "VERSION").write_text("9.9.9\n")  # not committed: must not matter
    (clone / "stray.c").write_text("int stray;\n")
    here = dist(ROOT, tmp_path / "here", 0o022, TZ="UTC")
    there = dist(clone, tmp_path / "there", 0o077, TZ="Asia/Tokyo", LC_ALL="C")
    version = git("show", "HEAD:VERSION").stdout.strip()
    assert here.name == there.name == f"kube2sky-skydns-{version}.tar.gz"
    assert hashlib.sha256(here.read_bytes()).digest() == hashlib.sha256(there.read_bytes()).digest()


def test_what_is_in_it(clone, tmp_path):
    path = dist(clone, tmp_path / "build", 0o022)
    folder = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as tar:
        members = tar.getmembers()
    files = {member.name for member in members if not member.isdir()}
    assert files == {f"{folder}/{name}" for name in git("ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines()}
    for member in members:
        assert (member.uid, member.gid) == (0, 0) and (member.issym() or member.mode in (0o644, 0o755))

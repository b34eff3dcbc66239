"""What docker/release makes of this build's programs, without its own root file system: this machine stands for it."""

import shutil
import subprocess
import sys
from pathlib import Path

from bed import BIN_DIR

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "docker/release"
sys.path.insert(0, str(RELEASE))

import dockerfile  # noqa: E402
import images  # noqa: E402
import oci  # noqa: E402
import sbom  # noqa: E402
from image_root import ImageRoot  # noqa: E402
from layer import gzip_bytes, tar_bytes  # noqa: E402
from packages import System  # noqa: E402

TIME_S = 1_700_000_000
VERSION = (ROOT / "VERSION").read_text().strip()
PROGRAMS = ("kube2sky", "skydns", "corefile-to-skydns", "exechealthz")
_MACHINE = Path("/")


def command(*arguments: str | Path, **options) -> subprocess.CompletedProcess:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, **options)


def missing() -> str:
    """Why this machine and this build make no image."""
    for tool in ("dpkg-deb", "readelf", "strip", "busybox", "ip", "nft", "mawk"):
        if not shutil.which(tool):
            return f"no {tool}"
    if command("dpkg", "--print-architecture").stdout.strip() != "amd64":
        return "images are made on amd64"
    if "libasan" in command("readelf", "-d", BIN_DIR / "skydns").stdout:
        return "programs with a sanitizer are in no image"
    return ""


def package_programs(folder: Path) -> list[System]:
    """The programs as a package of ours, and this machine for everything else."""
    (folder / "deb/DEBIAN").mkdir(parents=True)
    (folder / "deb/DEBIAN").chmod(0o755)
    (folder / "deb/usr/bin").mkdir(parents=True)
    for name in PROGRAMS:
        done = command("strip", "-o", folder / "deb/usr/bin" / name, BIN_DIR / name)
        assert done.returncode == 0, done.stderr
    fields = {"Package": "ours", "Version": f"{VERSION}-1", "Architecture": "amd64", "Maintainer": "us <us@us.example>"}
    control = "".join(f"{name}: {text}\n" for name, text in (fields | {"Description": "ours"}).items())
    (folder / "deb/DEBIAN/control").write_text(control)
    built = command("dpkg-deb", "--root-owner-group", "-b", folder / "deb", folder / "ours.deb")
    assert built.returncode == 0, built.stderr
    unpacked = command(RELEASE / "unpack", folder / "root", folder / "ours.deb")
    assert unpacked.returncode == 0, unpacked.stderr
    return [System(folder / "root", "amd64", sbom.OURS), System(_MACHINE, "amd64")]


def image_archive(systems: list[System], name: str) -> bytes:
    """As it is released, but for its version of everything."""
    root = ImageRoot(systems, "amd64")
    images.fill(root, name)
    root.add_certificates(_MACHINE)
    root.add_release(_MACHINE)
    config = dockerfile.read_stage(ROOT / "docker/Dockerfile", name, {"VERSION": VERSION})
    return _archive(f"released-{name}:{VERSION}", config, root)


def etcd_archive(tag: str) -> bytes:
    """An image released-etcd:TAG with this machine's etcd, since a release has none."""
    root = ImageRoot([System(_MACHINE, "amd64")], "amd64")
    root.add("usr/bin/etcd")
    return _archive(f"released-etcd:{tag}", {"User": "65532:65532", "Entrypoint": ["/usr/bin/etcd"]}, root)


def _archive(name: str, config: dict, root: ImageRoot) -> bytes:
    layer = tar_bytes(root.tree, TIME_S)
    return oci.archive(name, "amd64", config, layer, gzip_bytes(layer), TIME_S)

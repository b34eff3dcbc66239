"""Writes the images of a release, of one architecture, as OCI archives, and bills of materials of them and of the Debian
packages. `build` calls it within the root file system that `root` made.

    images.py --system / --debs FOLDER --architecture arm64 --version 0.2.0 --time SECONDS --out FOLDER

FOLDER of --debs has our packages as .deb files; other programs are taken from /programs/ARCHITECTURE of the system.
"""

import argparse
import hashlib
import subprocess
import tempfile
from pathlib import Path

import dockerfile
import oci
import sbom
from image_root import USER, ImageRoot
from layer import gzip_bytes, permitted_capability, tar_bytes
from packages import System

HERE = Path(__file__).resolve().parent
NODE_LOCAL = HERE.parent / "node-local/node-local"
IMAGES = ("kube2sky", "skydns", "exechealthz", "node-local")
# An image that is larger, unpacked, is refused.
SIZE_MAX = 40 << 20

_CAP_NET_BIND_SERVICE = 10
# Commands that probes use; busybox has a shell's tools in one program.
_APPLETS = (
    "sh awk basename cat cut date dirname echo egrep env expr false fgrep grep head hostname id kill ls nc nslookup "
    "printf ps pwd sed sleep sort tail test timeout tr true uname uniq wc wget xargs"
).split()


def fill(root: ImageRoot, image: str) -> None:
    """Adds the programs of an image."""
    if image == "kube2sky":
        root.add("usr/bin/kube2sky")
    elif image == "skydns":
        root.add("usr/bin/skydns", permitted_capability(_CAP_NET_BIND_SERVICE))
        root.add("usr/bin/corefile-to-skydns")
        root.tree.folder("var/lib/skydns", 0o700, USER)
    else:
        root.add("usr/bin/exechealthz")
        root.add("usr/bin/busybox")
        if image == "node-local":
            for path in ("usr/bin/ip", "usr/sbin/nft", "usr/bin/mawk"):
                root.add(path)
            root.tree.link("usr/bin/awk", "mawk")
            root.tree.copy(NODE_LOCAL, "usr/bin/node-local")
        for applet in _APPLETS:
            if f"usr/bin/{applet}" not in root.tree.entries:
                root.tree.link(f"usr/bin/{applet}", "busybox")


def write_image(root: ImageRoot, image: str, options) -> None:
    layer = tar_bytes(root.tree, options.time)
    packed = gzip_bytes(layer)
    if len(layer) > SIZE_MAX:
        raise SystemExit(f"images: {image} has {len(layer) / 2**20:.1f} MiB; expected at most {SIZE_MAX >> 20}")
    config = dockerfile.read_stage(HERE.parent / "Dockerfile", image, {"VERSION": options.version})
    name = f"{image}:{options.version}"
    stem = f"{image}_{options.version}_{options.architecture}"
    data = oci.archive(name, options.architecture, config, layer, packed, options.time)
    (options.out / f"{stem}.oci.tar").write_bytes(data)
    bill = sbom.bill("container", image, options.version, data, list(root.packages.values()), options.time)
    (options.out / f"{stem}.cdx.json").write_bytes(bill)
    mib = f"{len(layer) / 2**20:.1f} MiB, {len(packed) / 2**20:.1f} packed"
    print(f"{options.architecture} {image}: {mib}, {len(root.packages)} packages", flush=True)


def write_bill_of_debs(systems: list[System], options) -> None:
    """One for all our Debian packages and the libraries that their programs load."""
    root = ImageRoot(systems, options.architecture)
    for program in ("kube2sky", "skydns", "corefile-to-skydns", "exechealthz"):
        root.add(f"usr/bin/{program}")
    sums = "".join(f"{hashlib.sha256(deb.read_bytes()).hexdigest()}  {deb.name}\n" for deb in debs_of(options))
    name = "kube2sky-skydns-debian-packages"
    bill = sbom.bill("file", name, options.version, sums.encode(), list(root.packages.values()), options.time)
    (options.out / f"{name}_{options.version}_{options.architecture}.cdx.json").write_bytes(bill)


def debs_of(options) -> list[Path]:
    """Without those that hold debug symbols alone."""
    return sorted(deb for deb in options.debs.glob("*.deb") if "-dbgsym_" not in deb.name)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--system", "--debs", "--out"):
        parser.add_argument(name, type=Path, required=True)
    for name in ("--architecture", "--version"):
        parser.add_argument(name, required=True)
    parser.add_argument("--time", type=int, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([HERE / "unpack", folder, *debs_of(options)], check=True)
        systems = [
            System(Path(folder), options.architecture, sbom.OURS),
            System(options.system / "programs" / options.architecture, options.architecture),
            System(options.system, options.architecture),
        ]
        for image in IMAGES:
            root = ImageRoot(systems, options.architecture)
            fill(root, image)
            root.add_certificates(options.system)
            root.add_release(options.system)
            write_image(root, image, options)
        write_bill_of_debs(systems, options)


if __name__ == "__main__":
    main()

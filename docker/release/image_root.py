"""The root file system of an image: programs, what they are linked with, CA certificates, and the few files that libc
reads. No shell unless a program is one. Dpkg's data and copyright files of each package are in it as well, where
scanners for vulnerabilities look for them (/var/lib/dpkg/status.d).
"""

import re
import subprocess
from pathlib import Path

from layer import Entry, Tree
from packages import Package, System, merged

USER = 65532
MULTIARCH = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

_PASSWD = f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n"
_GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"
# Loaded by libc when a thread ends; no program names it.
_LOADED = "libgcc_s.so.1"


class ImageRoot:
    """Systems are searched in their order; the last one is a whole Debian."""

    def __init__(self, systems: list[System], architecture: str):
        self.tree = Tree()
        self.packages: dict[str, Package] = {}
        self._systems = systems
        self._architecture = architecture
        for name in ("bin", "sbin", "lib", *(["lib64"] if architecture == "amd64" else [])):
            self.tree.folder(f"usr/{name}")
            self.tree.link(name, f"usr/{name}")
        self.tree.folder("tmp", 0o1777)
        self.tree.text("etc/passwd", _PASSWD)
        self.tree.text("etc/group", _GROUP)
        self.tree.text("etc/nsswitch.conf", _NSSWITCH)

    def add(self, path: str, capability: bytes | None = None) -> None:
        """A file by its path, with the libraries that it needs if it is a program."""
        path = merged(path)
        if path in self.tree.entries:
            return
        system, source = self._find(path)
        package = system.owner(path)
        if package:
            self._note(package)
        self.tree.copy(source, path, capability)
        link = self.tree.entries[path].link
        if link is not None:
            self.add(link if link.startswith("/") else f"{path.rpartition('/')[0]}/{link}")
        elif self.tree.entries[path].data[:4] == b"\x7fELF":
            self._add_needed(source)

    def add_certificates(self, system: Path) -> None:
        """The CA certificates that `system` has installed, and OpenSSL's ways to them."""
        for path in ("etc/ssl/certs", "etc/ssl/openssl.cnf", "usr/share/ca-certificates"):
            self.tree.copy(system / path, path)
        self.tree.link("usr/lib/ssl/certs", "/etc/ssl/certs")
        self.tree.link("usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf")
        self._note(self._systems[-1].package("ca-certificates"))

    def add_release(self, system: Path) -> None:
        """Which Debian it is, and the licenses that copyright files refer to."""
        self.tree.copy(system / "usr/lib/os-release", "usr/lib/os-release")
        self.tree.link("etc/os-release", "../usr/lib/os-release")
        self.tree.copy(system / "usr/share/common-licenses", "usr/share/common-licenses")

    def _find(self, path: str) -> tuple[System, Path]:
        for system in self._systems:
            source = system.find(path)
            if source is not None:
                return system, source
        raise FileNotFoundError(f"{path}: in none of the packages")

    def _note(self, package: Package) -> None:
        if package.name in self.packages:
            return
        self.packages[package.name] = package
        self.tree.add(f"usr/share/doc/{package.name}/copyright", Entry(0o644, package.copyright))
        self.tree.text(f"var/lib/dpkg/status.d/{package.name}", package.paragraph)

    def _add_needed(self, source: Path) -> None:
        said = subprocess.run(["readelf", "-Wdl", str(source)], capture_output=True, text=True, check=True).stdout
        interpreter = re.search(r"program interpreter: (\S+?)\]", said)
        if interpreter:
            self.add(interpreter[1])
            self._add_library(_LOADED)
        for name in re.findall(r"\(NEEDED\).*\[(\S+)\]", said):
            self._add_library(name)

    def _add_library(self, name: str) -> None:
        self.add(f"usr/lib/{MULTIARCH[self._architecture]}/{name}")

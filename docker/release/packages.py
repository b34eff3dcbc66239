"""Files of a Debian system and the packages that they belong to, read from dpkg's own data: no dpkg is called, so a
system of another architecture will do. Paths are those of a merged /usr, and have no leading slash.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_MERGED = re.compile(r"(bin|sbin|lib|lib64)(/|$)")


def merged(path: str) -> str:
    path = path.strip("/")
    return f"usr/{path}" if _MERGED.match(path) else path


@dataclass(frozen=True)
class Package:
    vendor: str
    name: str
    version: str
    architecture: str
    source: str
    paragraph: str  # of dpkg's status
    licenses: tuple[str, ...]
    copyright: bytes

    @property
    def purl(self) -> str:
        name, version = quote(self.name, safe=""), quote(self.version, safe="")
        distribution = "&distro=debian-12" if self.vendor == "debian" else ""
        return f"pkg:deb/{self.vendor}/{name}@{version}?arch={self.architecture}{distribution}"


class System:
    """One folder with a Debian system, or with packages that `unpack` put there, of one architecture and vendor."""

    def __init__(self, folder: Path, architecture: str, vendor: str = "debian"):
        self._folder = folder
        self._vendor = vendor
        data = folder / "var/lib/dpkg"
        self._packages = {}
        self._owners = {}
        for paragraph in (data / "status").read_text().split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", paragraph, re.M))
            if not fields or fields["Architecture"] not in (architecture, "all"):
                continue
            if not fields.get("Status", "install ok installed").endswith(" installed"):
                continue
            name = fields["Package"]
            self._packages[name] = (paragraph, fields)
            lists = [data / f"info/{name}:{architecture}.list", data / f"info/{name}.list"]
            for line in next(path for path in lists if path.exists()).read_text().splitlines():
                self._owners.setdefault(merged(line), name)

    def find(self, path: str) -> Path | None:
        """Where a file is on disk; links are not followed."""
        path = merged(path)
        places = [self._folder / path]
        if _MERGED.match(path.removeprefix("usr/")):
            places.append(self._folder / path.removeprefix("usr/"))
        return next((place for place in places if place.is_symlink() or place.is_file()), None)

    def owner(self, path: str) -> Package | None:
        name = self._owners.get(merged(path))
        return self.package(name) if name else None

    def package(self, name: str) -> Package:
        paragraph, fields = self._packages[name]
        try:
            text = (self._folder / f"usr/share/doc/{name}/copyright").read_bytes()
        except FileNotFoundError:
            text = b""
        kept = re.sub(r"^(Status|Conffiles):.*\n( .*\n)*", "", paragraph.strip() + "\n", flags=re.M)
        source = fields.get("Source", name)
        return Package(
            self._vendor, name, fields["Version"], fields["Architecture"], source, kept, _licenses(text), text
        )


def _licenses(text: bytes) -> tuple[str, ...]:
    """Short names of a machine-readable copyright file; none of another one."""
    if not text.startswith(b"Format:"):
        return ()
    names = re.findall(r"^License: *(\S.*?) *$", text.decode(errors="replace"), re.M)
    return tuple(sorted(set(names)))

"""A tree of files, and the layer of an image that it becomes: the same tree gives the same bytes on every machine.

Paths have no leading slash. Folders above a file are made by themselves, mode 0755, owner 0:0. Names are sorted, times
are one time for all, owners are numbers only.
"""

import gzip
import io
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path

# The attribute of a file that setcap(8) writes, and its name in a tar archive.
_CAPABILITY = "SCHILY.xattr.security.capability"


@dataclass(frozen=True)
class Entry:
    """A folder has neither data nor link."""

    mode: int
    data: bytes | None = None
    link: str | None = None
    owner: int = 0
    capability: bytes | None = None


def permitted_capability(number: int) -> bytes:
    """The value of security.capability for CAPABILITY=p: permitted, not effective (linux/capability.h, revision 2)."""
    words = [0x02000000, *(0, 0), *(0, 0)]
    words[1 + 2 * (number // 32)] = 1 << number % 32
    return b"".join(word.to_bytes(4, "little") for word in words)


class Tree:
    def __init__(self):
        self.entries: dict[str, Entry] = {}

    def add(self, path: str, entry: Entry) -> None:
        """Replaces what is there. An AssertionError if the path leads through a link, which runtimes would follow."""
        path = path.strip("/")
        parent = path.rpartition("/")[0]
        if parent:
            above = self.entries.get(parent)
            assert above is None or (above.data is None and above.link is None), f"{path}: {parent} is no folder"
            if above is None:
                self.add(parent, Entry(0o755))
        self.entries[path] = entry

    def folder(self, path: str, mode: int = 0o755, owner: int = 0) -> None:
        self.add(path, Entry(mode, owner=owner))

    def text(self, path: str, text: str) -> None:
        self.add(path, Entry(0o644, text.encode()))

    def link(self, path: str, target: str) -> None:
        self.add(path, Entry(0o777, link=target))

    def copy(self, source: Path, path: str, capability: bytes | None = None) -> None:
        """A file or link as it is on disk, owned by root; a folder with all below."""
        status = source.lstat()
        if stat.S_ISLNK(status.st_mode):
            self.link(path, os.readlink(source))
        elif stat.S_ISDIR(status.st_mode):
            self.folder(path)
            for child in source.iterdir():
                self.copy(child, f"{path}/{child.name}")
        else:
            mode = 0o755 if status.st_mode & 0o111 else 0o644
            self.add(path, Entry(mode, source.read_bytes(), capability=capability))

    def size(self) -> int:
        return sum(len(entry.data or b"") for entry in self.entries.values())


def tar_bytes(tree: Tree, time_s: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, entry in sorted(tree.entries.items()):
            info = tarfile.TarInfo(path)
            info.mode, info.mtime = entry.mode, time_s
            info.uid = info.gid = entry.owner
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(entry.data)
            if entry.capability is not None:
                info.pax_headers[_CAPABILITY] = entry.capability.decode("ascii")
            tar.addfile(info, io.BytesIO(entry.data) if entry.data is not None else None)
    return out.getvalue()


def gzip_bytes(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)

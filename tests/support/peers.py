"""The programs that tests/peers/build has built, for the tests that run beside them. Python's standard library only."""

import functools
import subprocess
from pathlib import Path

_BUILD = Path(__file__).resolve().parents[1] / "peers/build"


@functools.cache
def folder_of(peer: str) -> Path | None:
    """Of the peer's programs; None if they are not built."""
    found = subprocess.run([str(_BUILD), "--find", peer], capture_output=True, text=True, timeout=60)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def missing(*peers: str) -> str:
    """Why a test that needs these peers cannot run; empty if it can."""
    absent = [peer for peer in peers if folder_of(peer) is None]
    return f"not built: {', '.join(absent)} (make peers)" if absent else ""


def program(peer: str, name: str) -> str:
    """The path of one of a built peer's programs."""
    return str(folder_of(peer) / name)

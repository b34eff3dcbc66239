"""The commands that OPERATING.md tells an administrator, for the tests that run them."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

_DOCUMENT = Path(__file__).resolve().parents[2] / "OPERATING.md"
FROM_COREDNS = "From CoreDNS (kubeadm) and back"


def chapter(title: str) -> str:
    return re.search(rf"^## {re.escape(title)}\n(.*?)^## ", _DOCUMENT.read_text(), re.M | re.S)[1]


def blocks(content: str) -> list[list[str]]:
    """The lines of each block of commands."""
    found = re.findall(r"^( *)```\n(.*?)^ *```$", content, re.M | re.S)
    return [[line.removeprefix(indent) for line in text.splitlines()] for indent, text in found]


def run_in(folder: Path, environment: Mapping[str, str], *lines: str) -> str:
    """A shell's output; each command must succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{lines}: {done.stdout}{done.stderr}"
    return done.stdout

"""The commands that the operator's guide (docs/operator) tells an administrator, for the tests that run them."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs/operator"
# (page, chapter)
FROM_COREDNS = "migrate-from-coredns.md", "From CoreDNS and back"


def chapter(page: str, title: str) -> str:
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", (GUIDE / page).read_text(), re.M | re.S)[1]


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

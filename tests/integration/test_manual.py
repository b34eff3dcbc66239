"""The man pages render without a warning, and every variable of the programs is in them, and no other. Flags are
compared in test_edges.py, paths, metrics and signals in test_man_pages.py.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bed import BIN_DIR

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("kube2sky", "skydns", "exechealthz")


@pytest.mark.parametrize("width", ["80", "132"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_renders_without_a_warning(program, width):
    if not shutil.which("man"):
        pytest.skip("no man (Debian package man-db)")
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": width, "MANROFFSEQ": ""}
    path = BIN_DIR.parent / "man" / f"{program}.8"
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(path)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert program in result.stdout


def variables_in_help(program: str) -> set[str]:
    shown = subprocess.run([BIN_DIR / program, "-help"], capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"\[([A-Z_0-9]+)\]$", shown, re.M))


def test_every_variable_is_there():
    page = (ROOT / "skydns/skydns.8.scd").read_text()
    flags = re.search(r"^# FLAGS\n(.*?)^# ", page, re.M | re.S).group(1)
    in_page = set(re.findall(r"\*([A-Z_0-9]+)\*(?:[,\]])", flags))
    assert variables_in_help("skydns") == {name for name in in_page if name.startswith(("SKYDNS_", "ETCD_"))}
    assert not variables_in_help("kube2sky") | variables_in_help("exechealthz")

"""The man pages render without a warning and have exactly the variables of the programs. test_edges.py compares
flags; test_man_pages.py compares paths, metrics and signals.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bed import BIN_DIR
from watched import MAN_PAGES, documented_metrics, manual_section

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("kube2sky", "skydns", "exechealthz")
PAGES = (*(Path(source).stem for pages in MAN_PAGES.values() for source in pages), "corefile-to-skydns.8")


@pytest.mark.parametrize("width", ["80", "132"])
@pytest.mark.parametrize("page", PAGES)
def test_renders_without_a_warning(page, width):
    if not shutil.which("man"):
        pytest.skip("no man (Debian package man-db)")
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": width, "MANROFFSEQ": ""}
    path = BIN_DIR.parent / "man" / page
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(path)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.split("[.-]", page)[0] in result.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_grep_finds_every_metric(program):
    """Its full name is on its own line at 80 columns, and no line of METRICS is wider."""
    if not shutil.which("man"):
        pytest.skip("no man (Debian package man-db)")
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    path = BIN_DIR.parent / "man" / ("skydns-metrics.7" if program == "skydns" else f"{program}.8")
    page = subprocess.run(["man", "-l", str(path)], env=env, capture_output=True, text=True, check=True, timeout=60)
    lines = [line.strip().partition("{")[0] for line in page.stdout.splitlines()]
    metrics = documented_metrics(program).keys()
    assert len(metrics) > 5
    for name in metrics:
        name = name if name.startswith(("kubedns_", "process_")) else f"{program}_{name}"
        assert lines.count(name) == 1, name
    text = re.search(r"^METRICS\n(.*?)^\S", page.stdout, re.M | re.S)[1]
    assert max(len(line) for line in text.splitlines()) <= 80


def variables_in_help(program: str) -> set[str]:
    shown = subprocess.run([BIN_DIR / program, "-help"], capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"\[([A-Z_0-9]+)\]$", shown, re.M))


def test_every_variable_is_there():
    in_page = set(re.findall(r"\*([A-Z_0-9]+)\*(?:[,\]])", manual_section("skydns", "FLAGS")))
    assert variables_in_help("skydns") == {name for name in in_page if name.startswith(("SKYDNS_", "ETCD_"))}
    assert not variables_in_help("kube2sky") | variables_in_help("exechealthz")


def test_every_field_is_there():
    """The settings table's fields are those of the page's table, which says of each which flag has its value, too."""
    table = (ROOT / "skydns/settings/settings_table.c").read_text()
    rows = re.findall(r"^    \{(.*?)\},$", table, re.M | re.S)
    fields = {}
    for row in rows:
        field, flag = (re.search(rf'\.{key} = "([a-z0-9_-]+)"', row) for key in ("field", "flag"))
        if field:
            fields[field[1]] = flag and flag[1]
    lines = re.search(r"^\[\[ field\n:\[ flag\n(.*?)\n\n", manual_section("skydns", "FIELDS"), re.M | re.S)[1].replace("\n:", "").split("\n|")
    documented = {}
    for line in lines:
        names, _, says = line.lstrip("| ").partition("  ")
        for name in names.split(", "):
            named = re.search(r"\*-([a-z-]+)\*", says)
            documented[name] = named[1] if named else None if "no flags" in says else name.replace("_", "-")
    assert len(fields) > 30
    assert documented == fields

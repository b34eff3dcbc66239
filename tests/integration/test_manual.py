"""The man pages: they render without a warning, and every endpoint, metric, variable and signal of the programs is
in them, and nothing else. Flags are compared in test_edges.py, the metrics of kube2sky and skydns in
test_watched.py.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import http_get
from prometheus import parse

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("kube2sky", "skydns", "exechealthz")
# Where each program's own paths are, as strings in C.
ROUTES = {
    "kube2sky": ["kube2sky/status.c"],
    "skydns": ["skydns/status.c"],
    "exechealthz": ["exechealthz/pages.c", "exechealthz/options.c"],
}
# Of those a program may handle; a sanitizer handles others for itself.
SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}


def page(program: str) -> str:
    return (ROOT / program / f"{program}.8.scd").read_text()


def section(program: str, name: str) -> str:
    return re.search(rf"^# {name}\n(.*?)(?=^# |\Z)", page(program), re.M | re.S).group(1)


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


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_path_is_there(program):
    in_page = set(re.findall(r"^\*(/[^*?]+)", section(program, "HTTP"), re.M))
    in_code = {
        path for name in ROUTES[program] for path in re.findall(r'"(/[a-z/]+)"', (ROOT / name).read_text())
    }
    assert {path.replace("/LABEL", "/") for path in in_page} == in_code


def test_every_metric_of_exechealthz_is_there(bare_bed):
    bed = bare_bed
    bed.start_exechealthz("-cmd=true", "-dns=local=x.example,A,127.0.0.1:1", "-period=1h")
    text = http_get(f"http://127.0.0.1:{bed.healthz_port}/metrics")[1]
    shown = parse(text, old_counters=("kubedns_probe_local_errors",))
    in_page = set(re.findall(r"^\*([a-z_A-Z]+)\*$", section("exechealthz", "METRICS"), re.M))
    assert in_page == {name.replace("_local_", "_LABEL_") for name in shown}


def variables_in_help(program: str) -> set[str]:
    shown = subprocess.run([BIN_DIR / program, "-help"], capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"\[([A-Z_0-9]+)\]$", shown, re.M))


def test_every_variable_is_there():
    in_page = set(re.findall(r"\*([A-Z_0-9]+)\*(?:[,\]])", section("skydns", "FLAGS")))
    assert variables_in_help("skydns") == {name for name in in_page if name.startswith(("SKYDNS_", "ETCD_"))}
    assert not variables_in_help("kube2sky") | variables_in_help("exechealthz")


def handled_signals(pid: int) -> set[signal.Signals]:
    bits = int(re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M).group(1), 16)
    return {number for number in SIGNALS if bits >> (number - 1) & 1}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_signal_is_there(bed, program):
    bed.start_writer_and_reader()
    bed.start_exechealthz("-cmd=true")
    in_page = {signal.Signals[name] for name in re.findall(r"\*(SIG[A-Z]+)\*", section(program, "SIGNALS"))}
    assert in_page == handled_signals(getattr(bed, program).pid)

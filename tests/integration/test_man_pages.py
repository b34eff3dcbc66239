"""The man pages match the running programs: every metric with its labels, every path and every signal is in both.
test_edges.py compares flags.
"""

import re
import signal
from pathlib import Path

import pytest
from programs import http_get, wait_until
from prometheus import SIDECAR_COUNTERS, parse
from watched import MAN_PAGES, documented_metrics, manual_section

PROGRAMS = tuple(MAN_PAGES)
# Signals that the C library, libev and the sanitizers catch.
INTERNAL = {signal.SIGCHLD, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_metric_is_in_the_man_page(running, program):
    """And vice versa, each with its labels."""
    page = parse(running[program].metrics(), old_counters=SIDECAR_COUNTERS)
    told: dict[str, set[str]] = {}
    for name, metric in page.items():
        labels = {label for _, have in metric.samples for label, _ in have}
        general = re.sub(r"^kubedns_probe_(skydns|tls|https)_", "kubedns_probe_LABEL_", name)
        told[general.removeprefix(f"{program}_")] = labels
    assert told == documented_metrics(program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_path_is_in_the_man_page(running, program):
    """Exactly those with a route in the source, and each replies."""
    heads = re.findall(r"^\*(/[^*]+)\*", manual_section(program, "HTTP"), re.M)
    documented = {re.split(r"[?]", head)[0] for head in heads}
    root = Path(__file__).resolve().parents[2]
    folder = root / program
    files = [*folder.rglob("*.c"), *(root.glob("common/page/*.c") if (folder / "page").is_dir() else ())]
    source = "".join(path.read_text() for path in files)
    routes = set(re.findall(r'(?:\(struct http_route\)\{|add\(pages, )"(/[a-z]+)"', source))
    assert routes and documented == routes | ({"/healthz", "/healthcheck/LABEL"} if program == "exechealthz" else set())
    arguments = {
        "/explain": "?name=x.cluster.local&service=default/kubernetes",
        "/history": "?name=x.cluster.local",
        "/search": "?q=x",
        "/wait": "?revision=1&service=default/kubernetes&resourceVersion=1",
    }
    for path in documented - {"/quit", "/live", "/watch", "/flush"}:  # which need a flag or POST, or do not end
        argument = arguments.get(path, "")
        ask = path.replace("LABEL", "skydns") + argument
        url = running[program].url + ask
        wait_until(lambda url=url: http_get(url)[0] == 200, path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_signal_is_in_the_man_page(running, program):
    heads = [line for line in manual_section(program, "SIGNALS").splitlines() if line.startswith("*")]
    documented = {signal.Signals[name] for line in heads for name in re.findall(r"\*(SIG[A-Z]+)\*", line)}
    status = Path(f"/proc/{running[program].pid}/status").read_text()
    mask = int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16)
    caught = {number for number in signal.Signals if mask >> (number - 1) & 1 and number < signal.SIGRTMIN}
    assert caught - INTERNAL == documented


def test_skydns_own_metrics_are_in_the_man_page(bare_bed, monkeypatch):
    """The metrics at PROMETHEUS_PORT."""
    bed = bare_bed
    port = bed.healthz_port
    monkeypatch.setenv("PROMETHEUS_PORT", str(port))
    bed.start_etcd()
    bed.start_skydns()
    text = http_get(f"http://127.0.0.1:{port}/metrics")[1]
    names = set(re.findall(r"^# TYPE skydns_skydns_(\w+)", text, re.M))
    told = manual_section("skydns", "LEGACY METRICS")
    assert len(names) > 4
    assert {name for name in names if name in told} == names
    for name in set(re.findall(r"\bdns_\w+", told)):
        assert name in names, name

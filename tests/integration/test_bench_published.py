"""What the answer benchmark publishes: the tables of the documents and the plot. They show only what a machine measured
that was quiet by the benchmark's own test.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from bench_runs import one_run, quiet_runs

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import readme_table  # noqa: E402
from answers import plot, servers, summary, tables, versions  # noqa: E402

NOISY = "This machine could not measure quietly: "


def all_patterns(runs: list[dict]) -> list[dict]:
    """The runs under two patterns, A and SRV, and at two numbers of Services."""
    return [
        run | {"pattern": pattern, "services": services}
        for run in runs
        for pattern in ("a", "srv")
        for services in (10_000, 100_000)
    ]


def noisy_where(runs: list[dict], **which) -> list[dict]:
    """Those that match have lost queries."""
    return [run | {"faults": ["lost"]} if which.items() <= run.items() else run for run in runs]


def summarise(runs: list[dict], values: dict | None = None, busy: float = 0.0) -> summary.Summary:
    return summary.summarise(runs, values or {}, busy)


def plot_texts(image: str) -> list[str]:
    return [element.text for element in xml.etree.ElementTree.fromstring(image).iter("{http://www.w3.org/2000/svg}text")]


# ---- Tables ----


def test_table_shows_every_server():
    told = summarise(quiet_runs(), {"resident_mib.10000.skydns": 12.0})
    table = tables.markdown(told, "a machine", {})
    assert all(title in table for title in ("a machine", "bare responder", "skydns", "gdnsd"))
    assert "| **skydns** | **1.10** |" in table and "| **12** |" in table
    assert "?" not in table and NOISY not in table


def test_noisy_column_is_left_out_and_named():
    runs = noisy_where(all_patterns(quiet_runs()), pattern="srv", services=100_000)
    told = summarise(runs)
    assert told.noisy == {(100_000, "srv")}
    readme = tables.compact(told, "a machine", {})
    assert "| **skydns** | **1.10 / 1.10** | – | – | **1.10 / –** | – |" in readme
    assert "| bare responder | 1.02 µs / 1.02 µs | – | – | 1.02 µs / – | – |" in readme
    assert f"{NOISY}SRV (100,000 Services)." in readme.splitlines()
    figures = tables.markdown(told, "a machine", {})
    quiet, noisy = figures[: figures.index("UDP, 100,000")], figures[figures.index("UDP, 100,000") :]
    assert "| **skydns** | **1.10** | – | – | **1.10** | – |" in quiet and NOISY not in quiet
    assert "| **skydns** | **1.10** | – | – | – | – |" in noisy and f"{NOISY}SRV." in noisy.splitlines()


def test_column_whose_bare_responder_drifts_is_left_out():
    runs = all_patterns(quiet_runs())
    for run in runs:
        if run["round"] == 2 and run["pattern"] == "a":
            run["figures"] = run["figures"] | {"server_us": 2 * run["figures"]["server_us"]}
    readme = tables.compact(summarise(runs), "", {})
    assert "| **skydns** | – | – | – | **1.10 / 1.10** | – |" in readme
    assert f"{NOISY}A (10,000 Services), A (100,000 Services)." in readme.splitlines()


def test_figure_with_too_few_usable_rounds_is_left_out_and_named():
    runs = quiet_runs()
    for number in (0, 1):
        next(run for run in runs if run["server"] == "gdnsd" and run["round"] == number)["faults"] = ["lost"]
    told = summarise(runs)
    assert not told.noisy
    table = tables.markdown(told, "", {})
    assert "| gdnsd | – |" in table and "| **skydns** | **1.10** |" in table
    assert f"{NOISY}A of gdnsd." in table.splitlines()
    assert plot_texts(tables.svg(told, "")).count("gdnsd") == 0


def test_no_figure_is_compared_with_a_bare_responder_that_was_disturbed():
    runs = [run for run in quiet_runs() if run["server"] != "bare" or run["figures"]["server_us"] < run["round"] * 0.02 + 1]
    more = [run | {"server": name} for run in runs for name in ("nsd", "knot", "unbound") if run["server"] == "gdnsd"]
    told = summarise(noisy_where(runs + more, server="bare"))
    assert not told.noisy and not told.cell(10_000, "a", "bare").is_trusted
    assert told.quiet_cell(10_000, "a", "skydns") is None
    assert tables.compact(told, "", {}) == "" and tables.svg(told, "") == ""


def test_table_of_noisy_columns_alone_is_a_line():
    tcp = [run | {"pattern": "tcp-one", "faults": ["lost"]} for run in quiet_runs()]
    tcp = [run | {"server": "bare-tcp"} if run["server"] == "bare" else run for run in tcp]
    table = tables.markdown(summarise(quiet_runs() + tcp), "", {})
    assert "| TCP |" not in table and "| UDP, 10,000 Services |" in table
    assert f"TCP: {NOISY}one at a time on 64 connections." in table.splitlines()


def test_busy_machine_shows_nothing():
    told = summarise(quiet_runs(), {"start_s.100000": 0.5, "dnsperf_qps": 1e5, "resident_mib.10000.skydns": 12.0}, 0.5)
    assert tables.compact(told, "", {}) == "" and tables.svg(told, "") == ""
    table = tables.markdown(told, "", {})
    assert "|" not in table
    assert f"{NOISY}skydns start with 100,000 Services in etcd, until ready; dnsperf, A mix." in table.splitlines()


def test_value_that_comes_from_noisy_rounds_is_left_out():
    servers_us = {"unsigned": {"bare": 4.0, "skydns-signing": 4.5}, "signed": {"bare-signed": 4.5, "skydns-signing": 5.75}}
    runs = [one_run(0, name, us, pattern=pattern) for pattern, of in servers_us.items() for name, us in of.items()]
    row = "| a kept signature, beyond what the longer reply costs the bare responder | 0.75 µs |"
    values = {"kept_signature_us": 0.75, "dnsperf_lost": 0.0}
    assert row in tables.markdown(summarise(runs, values), "", {})
    noisy = tables.markdown(summarise(noisy_where(runs, pattern="signed"), values), "", {})
    assert row not in noisy and "| queries that dnsperf lost | 0 |" in noisy
    assert f"{NOISY}a kept signature, beyond what the longer reply costs the bare responder." in noisy.splitlines()


# ---- Versions ----


@pytest.mark.parametrize(
    "output, version",
    [
        ("CoreDNS-1.11.1\nlinux/amd64, go1.20.7, ae2bbc2", "1.11.1"),
        ("NSD version 4.6.1\nWritten by NLnet Labs.\n", "4.6.1"),
        ("knotd (Knot DNS), version 3.2.6\n", "3.2.6"),
        ("BIND 9.18.49-1~deb12u3-Debian (Extended Support Version) <id:>", "9.18.49"),
        ("Dnsmasq version 2.90  Copyright (c) 2000-2024 Simon Kelley", "2.90"),
        ("gdnsd: no such option", ""),
        ("", ""),
    ],
)
def test_version_is_understood(output, version):
    assert versions.parse(output) == version


def coredns(command: Path) -> servers.Kind:
    return replace(servers.kind(servers.SKYDNS), name="coredns", title="CoreDNS", command=str(command))


def test_server_is_asked_for_its_version(tmp_path):
    program = tmp_path / "coredns"
    program.write_text('#!/bin/sh\n[ "$*" = -version ] && echo "CoreDNS-1.13.2" >&2\nexit 1\n')
    program.chmod(0o755)
    assert versions.versions_of([servers.kind(servers.SKYDNS), coredns(program)]) == {"coredns": "1.13.2"}
    program.write_text("#!/bin/sh\nexit 0\n")
    assert versions.versions_of([coredns(program)]) == {}
    assert versions.versions_of([coredns(tmp_path / "absent")]) == {}


def test_coredns_has_a_row_with_its_version_if_it_was_measured():
    runs = quiet_runs()
    theirs = [one_run(number, "coredns", 25 * speed) for number, speed in enumerate((1.0, 1.02, 1.04))]
    stated = {"coredns": "1.13.2", "nsd": "4.6.1", "gdnsd": "3.8.1"}
    for table in (tables.compact, tables.markdown):
        beside = table(summarise(runs + theirs), "", stated)
        assert "| CoreDNS 1.13.2 | 25.00 |" in beside and "| gdnsd 3.8.1 | 1.20 |" in beside
        assert "CoreDNS" not in table(summarise(runs), "", stated) and "NSD" not in beside


@pytest.mark.parametrize("name, told", [("", ([], [])), ("coredns", (["CoreDNS"], [])), ("absent", ([], ["CoreDNS"]))])
def test_coredns_is_measured_if_it_is_named(name, told, tmp_path):
    (tmp_path / "coredns").write_text("#!/bin/sh\n")
    (tmp_path / "coredns").chmod(0o755)
    script = """
from answers.servers import KINDS, chosen, is_bare
there, absent = chosen(["coredns"], KINDS)
print(([kind.title for kind in there if not is_bare(kind.name)], absent))
"""
    environment = dict(os.environ, COREDNS=str(tmp_path / name) if name else "", PYTHONPATH=os.pathsep.join(sys.path))
    printed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == str(told)


@pytest.mark.parametrize("built, told", [("None", []), ("Path('/peers')", ["/peers/coredns"])])
def test_coredns_of_the_peers_is_measured(built, told):
    """In every part, unless COREDNS names another."""
    script = f"""
from pathlib import Path
import peers
peers.folder_of = lambda _: {built}
from answers import encrypted, resolvers, servers
lists = (servers.KINDS, resolvers.KINDS, encrypted.KINDS)
print([[kind.command for kind in kinds if kind.name == "coredns"] for kinds in lists])
"""
    environment = {name: text for name, text in os.environ.items() if name != "COREDNS"}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == str(3 * [told])


# ---- Plot ----


def test_plot_is_svg_with_a_bar_for_each_server():
    image = tables.svg(summary.summarise(quiet_runs(), {}, busy=0.0), "a <machine>")
    root = xml.etree.ElementTree.fromstring(image)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "10,000 Services; a <machine>. Dashed: the bare responder" in texts and "skydns" in texts and "1.10" in texts
    assert texts.count("skydns") == 1 and "bare responder" not in texts


def test_bar_that_is_too_long_is_cut():
    def width(value: float) -> float:
        image = plot.bars("", "", [plot.Group("", [plot.Bar("x", value, "#000")])], 3.0, 1.0)
        rects = list(xml.etree.ElementTree.fromstring(image).iter("{http://www.w3.org/2000/svg}rect"))
        return float(rects[1].get("width"))

    assert width(1.5) == pytest.approx(width(3.0) / 2, abs=0.1)
    assert width(14.0) == width(3.0)


def test_table_takes_its_place_in_the_readme():
    marked = f"before\n{readme_table.BEGIN}\nold\n\n{readme_table.END}after\n"
    once = readme_table.with_table(marked, "| new |\n")
    assert "old" not in once and "| new |" in once
    assert once.startswith("before\n") and once.endswith("after\n")
    assert readme_table.with_table(once, "| new |\n") == once
    with pytest.raises(SystemExit):
        readme_table.with_table("no marks", "")


@pytest.mark.parametrize("name", [readme_table.README, readme_table.FIGURES])
def test_documents_have_their_marks(name):
    document = (Path(__file__).parents[2] / name).read_text()
    assert readme_table.with_table(document, "x") != document


def results_of(runs: list[dict], busy: float = 0.0) -> dict:
    values = {f"resident_mib.{services}.skydns": services / 1000 for services in (10_000, 100_000)}
    head = {"head": "a machine; 3 rounds", "machine": "a machine", "versions": {"gdnsd": "3.8.1"}}
    return head | {"runs": runs, "values": values, "busy": busy}


@pytest.fixture
def marked(tmp_path):
    """A tree with the documents, their tables still to be written."""
    for name in (readme_table.README, readme_table.FIGURES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{readme_table.BEGIN}old\n{readme_table.END}")
    return tmp_path


def test_readme_has_all_numbers_of_services_in_one_table(marked):
    runs = [run | {"services": services} for run in quiet_runs() for services in (10_000, 100_000)]
    assert readme_table.write(marked, results_of(runs)) == 0
    readme, figures = ((marked / name).read_text() for name in (readme_table.README, readme_table.FIGURES))
    assert "a machine; 3 rounds" in readme and readme.count("| A |") == 1
    assert "| 10,000 / 100,000 Services | A |" in readme
    assert "| **skydns** | **1.10 / 1.10** |" in readme and "| **10 / 100** |" in readme
    assert "| gdnsd 3.8.1 |" in readme and "| gdnsd 3.8.1 |" in figures
    assert "old" not in readme + figures and "?" not in readme + figures
    assert "UDP, 10,000 Services" in figures and "UDP, 100,000 Services" in figures
    assert (marked / readme_table.PLOT).read_text().startswith("<svg")


def assert_nothing_written(root: Path) -> None:
    for name in (readme_table.README, readme_table.FIGURES):
        assert (root / name).read_text() == f"{readme_table.BEGIN}old\n{readme_table.END}"
    assert not (root / readme_table.PLOT).exists()


def test_busy_machine_is_refused(marked, capsys):
    assert readme_table.write(marked, results_of(quiet_runs(), busy=0.5)) == 1
    assert "others used 50% of the machine" in capsys.readouterr().err
    assert_nothing_written(marked)


def test_noisy_columns_alone_are_refused(marked, capsys):
    assert readme_table.write(marked, results_of(noisy_where(quiet_runs()))) == 1
    assert "nothing written" in capsys.readouterr().err
    assert_nothing_written(marked)


def test_noisy_columns_are_left_out_of_all_documents(marked, capsys):
    runs = noisy_where(all_patterns(quiet_runs()), pattern="srv")
    assert readme_table.write(marked, results_of(runs)) == 0
    assert "SRV, 10,000 Services: of 12 runs 12 are left out" in capsys.readouterr().err
    readme, figures = ((marked / name).read_text() for name in (readme_table.README, readme_table.FIGURES))
    assert f"{NOISY}SRV (10,000 Services), SRV (100,000 Services)." in readme and f"{NOISY}SRV." in figures
    assert {"A", "SRV"} & set(plot_texts((marked / readme_table.PLOT).read_text())) == {"A"}


def test_plot_has_the_smallest_number_of_services_with_a_figure(marked):
    runs = noisy_where(all_patterns(quiet_runs()), services=10_000)
    assert readme_table.write(marked, results_of(runs)) == 0
    assert any(text.startswith("100,000 Services; ") for text in plot_texts((marked / readme_table.PLOT).read_text()))


def test_results_without_udp_are_not_written(marked, capsys):
    runs = [run | {"pattern": "tcp-one", "server": "bare-tcp"} for run in quiet_runs() if run["server"] == "bare"]
    assert readme_table.write(marked, results_of(runs)) == 1
    assert "no quiet figure of UDP" in capsys.readouterr().err
    assert_nothing_written(marked)

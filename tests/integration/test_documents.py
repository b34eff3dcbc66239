"""The documents beside what they speak of: files, links, targets of make, metrics, flags and ports."""

import re
import subprocess

import manifests
import pytest
from bed import BIN_DIR
from manifests import KUBE_DNS, ROOT
from prometheus import parse

DOCUMENTS = ("README.md", "OPERATING.md", "CONTRIBUTING.md", "ARCHITECTURE.md")


def text(name: str) -> str:
    return (ROOT / name).read_text()


def anchors(name: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text(name), re.M)
    return {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)]+)\)", text(name)):
        path, _, anchor = target.partition("#")
        assert (ROOT / path).exists(), target
        assert not anchor or anchor in anchors(path or name), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_of_docker_are_there(name):
    for path in re.findall(r"\bdocker/[\w./-]*\w", text(name)):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_targets_of_make_exist(name):
    rules = set(re.findall(r"^([a-z][a-z0-9_.-]*):", text("Makefile"), re.M))
    named = set(re.findall(r"(?:`|^)make ([a-z][a-z0-9_.-]*[a-z])", text(name), re.M))
    assert named <= rules, named - rules


def test_metrics_exist(running):
    told = {name for one in running.values() for name in parse(one.metrics(), ("kubedns_probe_skydns_errors",))}
    named = set(re.findall(r"\b((?:skydns|kube2sky)_[a-z_]+)", text("OPERATING.md")))
    assert {name for name in named if not name.startswith("skydns_skydns_")} <= told


def test_ports_and_paths_are_those_of_the_manifest():
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", text("OPERATING.md"), re.M)
    told = {(program, int(port)) for port, program in rows}
    pod = {(one.program, number) for one in manifests.containers(KUBE_DNS) for number in one.ports.values()}
    assert told == {(program, number) for program, number in pod if number != 53}


def test_flags_exist():
    """Each is one of some program's, of etcd's, or of a container engine's."""
    known = {"quota-backend-bytes", "enable-v2", "endpoints", "ulimit"}
    for program in manifests.PROGRAMS:
        shown = subprocess.run([str(BIN_DIR / program), "-help"], capture_output=True, text=True, timeout=60).stdout
        known |= set(re.findall(r"^  -([a-z0-9-]+)", shown, re.M))
    kube_dns = text("OPERATING.md").split("| kube-dns | here |")
    assert len(kube_dns) == 2
    own = kube_dns[0] + "".join(row.split("|")[2] for row in kube_dns[1].splitlines() if row.count("|") == 3)
    spans = [span for span in re.findall(r"`([^`\n]+)`", own) if re.match(r"(kube2sky|skydns)? ?--?[a-z]", span)]
    named = {flag for span in spans for flag in re.findall(r"(?:^|\s)--?([a-z][a-z0-9-]*)", span)}
    assert len(named) > 10 and named <= known, named - known

"""The documents against what they name: files, links, targets of make, metrics, flags and ports."""

import posixpath
import re
import subprocess

import manifests
import pytest
import rooms
from bed import BIN_DIR
from chapters import GUIDE
from manifests import KUBE_DNS, ROOT
from prometheus import SIDECAR_COUNTERS, parse

DOCUMENTS = (
    "README.md",
    "COMPATIBILITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "proto/README.md",
    "tests/bench/README.md",
    *(f"docs/operator/{path.name}" for path in sorted(GUIDE.glob("*.md"))),
)
README_WORDS_MOST = 1000
# Five minutes. One page is for looking up.
PAGE_WORDS_MOST = 1600
LOOKED_UP = GUIDE / "messages.md"
# What a backticked text with a slash must start with to be a path of the tree.
TREE = ("common", "docker", "docs", "exechealthz", "kube2sky", "proto", "skydns", "tests", ".ci")


def text(name: str) -> str:
    return (ROOT / name).read_text()


def guide() -> str:
    return "\n".join(path.read_text() for path in sorted(GUIDE.glob("*.md")))


def prose(name: str) -> str:
    """Without the blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", text(name), flags=re.M | re.S)


def anchors(name: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", prose(name), re.M)
    return {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


def missing_links(name: str, content: str) -> list[str]:
    """Relative links of a document that lead nowhere."""
    missing = []
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", content):
        path, _, anchor = target.partition("#")
        # As the reader's viewer does: relative to the document.
        full = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if full.startswith("..") or not (ROOT / full).exists() or (anchor and anchor not in anchors(full)):
            missing.append(target)
    return missing


def missing_paths(content: str) -> list[str]:
    """Backticked paths of the tree that are not there. `<name>`, `*` and `{a,b}` stand for any text, generated files
    are left out, and a program's own name may lead a path without an extension (`skydns/fast` for fast.c)."""
    missing = []
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", content):
        if re.fullmatch(rf"(?:{'|'.join(map(re.escape, TREE))})/[\w./<>*{{}},-]*", span):
            pattern = re.sub(r"<[^>]*>|\{[^}]*\}", "*", span.rstrip("/"))
            found = any(True for _ in ROOT.glob(pattern)) or any(True for _ in ROOT.glob(f"{pattern}.[ch]"))
            if not found:
                missing.append(span)
    return missing


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    assert missing_links(name, prose(name)) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_exist(name):
    assert missing_paths(prose(name)) == []


def test_wrong_links_and_paths_are_found():
    links = "[a](README.md) [b](NONE.md) [c](README.md#none) [d](../README.md) [e](https://example.com/x)"
    assert missing_links("README.md", links) == ["NONE.md", "README.md#none", "../README.md"]
    assert missing_links("tests/bench/README.md", "[a](results.svg) [b](README.md#results) [c](tests)") == ["tests"]
    paths = "`skydns/answer/answer.c` `skydns/none.c` `tests/unit/<component>/test_*.c` `common/none/` `skydns/main`"
    assert missing_paths(paths) == ["skydns/none.c", "common/none/"]


def test_every_document_is_checked():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    assert set(listed.stdout.split()) == set(DOCUMENTS)


def test_readme_is_short():
    assert len(text("README.md").split()) <= README_WORDS_MOST


@pytest.mark.parametrize("page", sorted(set(GUIDE.glob("*.md")) - {LOOKED_UP}), ids=lambda page: page.stem)
def test_a_page_of_the_guide_is_short(page):
    assert len(page.read_text().split()) <= PAGE_WORDS_MOST


def test_the_guide_lists_its_pages():
    linked = set(re.findall(r"\]\((\S+\.md)\)", (GUIDE / "README.md").read_text()))
    assert linked == {page.name for page in GUIDE.glob("*.md")} - {"README.md"}


def test_rooms_are_those_of_the_lint():
    rows = re.findall(r"^\| `([\w/]+)` \| ([\w/ ]+) \| [^|]+ \|$", text("ARCHITECTURE.md").split("## kube2sky")[0], re.M)
    assert {room: "" if may == "nothing else" else may for room, may in rows} == rooms.ROOMS


def test_functions_are_in_their_files():
    """`file.c` (`function`"""
    named = re.findall(r"`([\w/]+\.c)` \(`(\w+)`", text("ARCHITECTURE.md"))
    assert len(named) >= 3
    assert [f"{function} in {path}" for path, function in named if f"{function}(" not in text(path)] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_of_docker_are_there(name):
    for path in re.findall(r"\bdocker/[\w./-]*\w", text(name)):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_targets_of_make_exist(name):
    rules = set(re.findall(r"^([a-z][\w.-]*):", text("Makefile"), re.M))
    named = set(re.findall(r"(?:`|^)make ([a-z][\w.-]*\w)", text(name), re.M))
    assert named <= rules, named - rules


def test_metrics_exist(running):
    told = {name for one in running.values() for name in parse(one.metrics(), SIDECAR_COUNTERS)}
    named = set(re.findall(r"\b((?:skydns|kube2sky)_[a-z_]+)", guide()))
    assert len(named) > 40
    assert {name for name in named if not name.startswith(("skydns_skydns_", "skydns_dns_"))} <= told


def unknown_lines(content: str, code: str) -> list[str]:
    """What the first column of the tables of trouble quotes, and no program logs, shows or counts: `text … field=`."""
    unknown = []
    for row in re.findall(r"^\| (?!you see)(.*`.*?) \|", content, re.M):
        for span in re.findall(r"`([^`]+)`", row.split(" | ")[0]):
            line, _, fields = span.partition(" … ")
            told = [f'"{field}"' for field in re.findall(r"(\w+)=", fields)]
            if not re.match(r"[/?]|\w+_\w+$", line) and not all(part in code for part in (line, *told)):
                unknown.append(span)
    return unknown


def test_lines_of_trouble_exist():
    paths = [path for program in ("common", *manifests.PROGRAMS) for path in (ROOT / program).rglob("*.c")]
    code = re.sub(r'"\s*\n\s*"', "", "\n".join(path.read_text() for path in paths))
    trouble = text("docs/operator/messages.md")
    assert trouble.count("\n| ") > 20
    assert unknown_lines(trouble, code) == []
    assert unknown_lines("| `etcd is followed … after_ms=` |\n| `etcd is awry` | x |\n| `etcd is followed … x=` | |", code) == [
        "etcd is awry",
        "etcd is followed … x=",
    ]


def test_ports_and_paths_are_those_of_the_manifest():
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", text("docs/operator/monitor.md"), re.M)
    told = {(program, int(port)) for port, program in rows}
    pod = {(one.program, number) for one in manifests.containers(KUBE_DNS) for number in one.ports.values()}
    assert told == {(program, number) for program, number in pod if number != 53}


def test_flags_exist():
    """Each flag is one of our programs' and scripts', etcd's or etcdutl's, a container engine's, kubeadm's, helm's, the autoscaler's or
    external-dns's.
    """
    known = {"quota-backend-bytes", "max-request-bytes", "max-txn-ops", "enable-v2", "endpoints", "ulimit", "security-opt"}
    known |= {"bump-revision", "mark-compacted", "skip-phases", "target", "provider", "take-ownership", "force-conflicts"}
    known |= {"registry", "policy", "coredns-strictly-owned", "domain-filter"}
    known |= {"auto-compaction-mode", "auto-compaction-retention", "etcd-compaction-interval"}
    for program in manifests.PROGRAMS:
        shown = subprocess.run([str(BIN_DIR / program), "-help"], capture_output=True, text=True, timeout=60).stdout
        known |= set(re.findall(r"^  -([a-z0-9-]+)", shown, re.M))
    known |= set(re.findall(r"--([a-z-]+)\]", text("docker/node-local/node-local")))
    known |= set(re.findall(r"^\t(?:-. \| )?--([a-z-]+)\) ", text("docker/kubectl/kubectl-dns"), re.M))
    before, head, table = guide().partition("| kube-dns | here |\n|---|---|\n")
    assert head
    rows, _, after = table.partition("\n\n")
    own = f"{before}\n{after}" + "".join(f"{row.split('|')[2]}\n" for row in rows.splitlines())
    spans = [span for span in re.findall(r"`([^`\n]+)`", own) if re.match(r"(kube2sky|skydns)? ?--?[a-z]", span)]
    named = {flag for span in spans for flag in re.findall(r"(?:^|\s)--?([a-z][a-z0-9-]*)", span)}
    assert len(named) > 10 and named <= known, named - known

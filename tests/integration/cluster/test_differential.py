"""CoreDNS beside us: kube2sky with skydns -schema=kubernetes, and CoreDNS's kubernetes plugin, follow the same cluster
and get the same random questions. Their answers are equal, up to the differences of differential_accepted.py.

DIFFERENTIAL_QUESTIONS (2,000), half of them before and half after changes to the cluster; DIFFERENTIAL_SEED (1): another
cluster, other questions, another configuration of pods and endpoint names.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import differential_accepted
import peers
import pytest
from cluster import Cluster, require_peers
from differential_asking import Question, ask_all
from differential_bed import Pair
from differential_case import RULES, Case, judge
from differential_questions import Questions
from differential_view import View
from differential_world import World

ROOT = Path(__file__).resolve().parents[3]
QUESTIONS = int(os.environ.get("DIFFERENTIAL_QUESTIONS", "2000"))
SEED = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
CHANGES = 120
SHOWN = 10  # differences in a failure's text
TRIES = 5  # controllers may change something while the servers are asked
PODS, NAMES = ("verified", "insecure", "disabled"), ("address", "pod")


@pytest.fixture
def pair(tmp_path, request):
    """On a cluster of its own: the random one leaves no room for other tests."""
    require_peers()
    if reason := peers.missing("coredns"):
        pytest.skip(reason)
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.start()
        cluster.add_nodes(1)
        folder = tmp_path / "pair"
        folder.mkdir()
        pair = Pair(folder, cluster, peers.program("coredns", "coredns"), PODS[SEED % 3], NAMES[SEED % 2])
        request.node.cluster_bed = pair
        try:
            pair.start()
            yield pair
        finally:
            pair.close()
    finally:
        cluster.stop()


def _told(case: Case, used: list[str], left) -> str:
    ours, theirs = list(case.ours.lines()), list(left.lines())
    lines = [f"{case.question}   {' '.join(used)}"]
    lines += [f"    skydns   {line}" for line in ours if line not in theirs]
    lines += [f"    CoreDNS  {line}" for line in theirs if line not in ours]
    return "\n".join(lines[:30])


def _ask(pair: Pair, questions: Questions, count: int) -> list[tuple[Question, tuple]]:
    made = questions.make(count)
    return list(zip(made, ask_all(pair.ports, made)))


def _compare(pair: Pair, earlier: list[View], count: int) -> tuple[Counter, View]:
    """How often each rule applied, and what the cluster had meanwhile."""
    for number in range(TRIES):
        view = pair.settle()
        asked = _ask(pair, Questions(view, earlier, SEED), count)
        if pair.view().versions() == view.versions():
            break
    else:
        pytest.fail("the cluster never rests")
    counts, unexplained = Counter(), []
    for question, (ours, theirs) in asked:
        case = Case(question, view, ours, theirs)
        used, left = judge(case)
        counts.update(used)
        if left != ours:
            unexplained.append(_told(case, used, left))
    shown = "\n".join(unexplained[:SHOWN])
    assert not unexplained, f"seed {SEED}: {len(unexplained)} of {count} answers differ\n{shown}"
    return counts, view


@pytest.mark.cluster
def test_answers_are_those_of_coredns(pair, record_property):
    print(f"DIFFERENTIAL_SEED={SEED}")
    world = World(pair.kube, "node-0", SEED)
    world.build()
    counts, before = _compare(pair, [], QUESTIONS // 2)
    world.change(CHANGES)
    more, _ = _compare(pair, [before], QUESTIONS - QUESTIONS // 2)
    counts += more
    told = " ".join(f"{rule.id}={counts[rule.id]}" for rule in RULES if counts[rule.id])
    unused = " ".join(rule.id for rule in RULES if not counts[rule.id])
    record_property("figure", f"differential: seed {SEED}, {QUESTIONS} questions; {told}; unused: {unused or 'none'}")


def test_the_document_has_the_accepted_differences():
    """COMPATIBILITY.md has the table as the program prints it."""
    program = differential_accepted.__file__
    path = os.pathsep.join(sys.path)
    printed = subprocess.run(
        [sys.executable, program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert printed.returncode == 0, printed.stderr
    chapter = (ROOT / "COMPATIBILITY.md").read_text().split("## Beside CoreDNS")[1].split("\n## ")[0]
    assert [line for line in chapter.splitlines() if line.startswith("|")] == printed.stdout.splitlines()


def test_ids_are_unique():
    assert len({rule.id for rule in RULES}) == len(RULES)

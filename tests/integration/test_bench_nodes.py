"""`make bench-node-memory`, `bench-node-readers` and `bench-node-local` at sizes that take seconds: each figure is there.
No test depends on speed.
"""

import sys
from argparse import Namespace
from pathlib import Path

import pytest
from bed import BIN_DIR

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import node_local  # noqa: E402
import node_memory  # noqa: E402
import node_readers  # noqa: E402
from nodes import flags, world  # noqa: E402

BUILD, SERVICES = BIN_DIR.parent, 30


def test_memory(monkeypatch):
    monkeypatch.setattr(node_memory, "ASKED", 100)
    monkeypatch.setattr(node_memory, "CACHED", 100)
    found = node_memory.run_round(BUILD, [SERVICES])
    assert all(found[figure.name] > 0 for figure in node_memory.figures([SERVICES]))
    goals = {figure.name: figure.goal for figure in node_memory.figures([1_000, 10_000]) if figure.goal}
    assert goals == {"1000_asked_rss": 12, "10000_asked_rss": 20}


def test_readers(monkeypatch):
    monkeypatch.setattr(node_readers, "IDLE_S", 0.1)
    monkeypatch.setattr(node_readers, "PUTS", 10)
    monkeypatch.setattr(node_readers, "PUTS_PER_S", 100)
    options = Namespace(build=BUILD, readers=5, cold=3, proxies=2, services=SERVICES, pods=50, pods_per_s=500)
    found = node_readers.run_round(options)
    assert {figure.name for figure in node_readers.figures(options)} <= set(found)
    assert found["keys"] == 3 * SERVICES + 50 + 10 + 1  # the pods of the rollout, the puts, and the client
    assert 0 < found["put_p50_ms"] <= found["put_p99_ms"] and 0 < found["roll_p50_ms"]


def test_node_local_costs(monkeypatch):
    if reason := world.missing():
        pytest.skip(reason)
    monkeypatch.setattr(node_local, "RATE", 100)
    monkeypatch.setattr(node_local, "RUN_S", 1)
    found = node_local.measure(BUILD, SERVICES, world.World.start_skydns, ["costs"])
    rows = [row for row in node_local.ROWS if row.startswith(("cached", "missed", "mib", "with"))]
    assert all(float(found[row]) >= 0 for row in rows)


def test_the_longest_time_without_an_answer():
    asked = ["0.0 1.0", "0.5 -1.000", "1.0 -1.000", "1.5 2.0", "2.0 1.0"]
    assert node_local.told(asked) == (5, 2, 1.5)
    assert node_local.told(asked[:1]) == (1, 0, 0.0)
    assert node_local.told(["0.0 -1.000", "3.0 -1.000"]) == (2, 2, 3.0)


def test_a_flag_that_the_manifest_lacks_is_an_error():
    assert "-machines=http://127.0.0.1:1" in flags.of_program("skydns", {"machines": "http://127.0.0.1:1"})
    with pytest.raises(ValueError, match="skydns has no rcache"):
        flags.of_program("skydns", {"rcache": "1"})

"""`make bench-scale` at sizes that take seconds: every figure is there, and goals are those of the full sizes."""

import subprocess
import sys
from pathlib import Path

from bed import BIN_DIR

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.append(str(BENCH))

import scale  # noqa: E402

SIZES = [200, 400]


def test_objects_through_kube2sky():
    """The other half wants a core for the load generator; its figures are looked at by the same code."""
    command = [sys.executable, BENCH / "scale.py", f"--build={BIN_DIR.parent}", "--only=objects", "--services"]
    done = subprocess.run([*map(str, command), *map(str, SIZES)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    measures = [one for one in scale.OBJECTS if one.name != "fill_ratio"]
    lines = [line for line in done.stdout.splitlines() if "400 Services" in line]
    assert len(lines) == len(measures)
    assert "0 of 0 goals missed" in done.stdout
    restart = next(line for line in lines if "writes of it" in line)
    assert float(restart.split()[0]) <= 1  # the base of serials, or that comes a moment later


def test_growth_is_for_each_service():
    measures = [
        scale.Measure("cpu_s", "s", growth=1.2),
        scale.Measure("a_service_bytes", "bytes", growth=1.2),
        scale.Measure("latency_ms", "ms", steady=2.0),
        scale.Measure("keys", "keys"),
    ]
    small, large = scale.FULL
    values = {f"{one.name}.{small}": 2.0 for one in measures} | {f"{one.name}.{large}": 6.0 for one in measures}
    values[f"cpu_s.{large}"] = 30.0
    grown = scale.with_growth(measures, list(scale.FULL), values)
    assert (grown["cpu_s.growth"], grown["a_service_bytes.growth"], grown["latency_ms.growth"]) == (1.5, 3.0, 3.0)
    assert "keys.growth" not in grown
    goals = {figure.name: figure.goal for figure in scale.figures(measures, list(scale.FULL))}
    assert (goals["cpu_s.growth"], goals["latency_ms.growth"], goals[f"keys.{large}"]) == (1.2, 2.0, None)
    assert all(figure.goal is None for figure in scale.figures(measures, SIZES))
    assert not any("growth" in figure.name for figure in scale.figures(measures, SIZES[:1]))


def test_goals_are_of_a_million():
    goals = {figure.name: figure.goal for figure in scale.figures(scale.RECORDS, list(scale.FULL))}
    assert goals["snapshot_not_right.1000000"] == 0
    assert goals["snapshot_not_right.100000"] is None

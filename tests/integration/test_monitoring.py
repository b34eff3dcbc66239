"""docker/monitoring: the programs have every metric, label and value that the alerts and the dashboard use, and
promtool accepts the rules and passes their tests.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from manifests import ROOT
from prometheus import SIDECAR_COUNTERS, parse

FOLDER = ROOT / "docker/monitoring"
ALERTS, ALERT_TESTS = FOLDER / "alerts.yaml", FOLDER / "alerts_test.yaml"
# Labels that Prometheus or its configuration adds to every sample.
TARGET_LABELS = {"instance", "job", "pod", "node"}
COLUMNS = 24
CRITICAL_MAX = 12

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is missing: tests/support/deps monitoring"
)


# ---- Metrics, labels and values used ----


class Expression:
    """The samples that a PromQL expression uses: [(metric, {label: required value or None})]."""

    _WORDS = {"and", "or", "unless", "on", "ignoring", "group_left", "group_right", "bool", "offset"}
    _SELECTOR = re.compile(r'([a-zA-Z_:][\w:]*)\s*(?:\{((?:[^}"]|"[^"]*")*)\})?(?!\s*[({\w])')

    def __init__(self, text: str):
        self.text = text
        grouping = r"\b(?:by|without)\s*\(([^)]*)\)"
        self.groups = [set(re.findall(r"\w+", names)) for names in re.findall(grouping, text)]
        plain = re.sub(r"\[[^\]]*\]", "", re.sub(grouping, "", text))
        self.selectors = []
        for name, matchers in self._SELECTOR.findall(plain):
            if name not in self._WORDS:
                found = re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers)
                self.selectors.append((name, {label: value if way == "=" else None for label, way, value in found}))


class Told:
    """For each sample name, its labels and their values."""

    def __init__(self, *pages: str):
        self.labels: dict[str, dict[str, set[str]]] = {}
        for page in pages:
            for metric in parse(page, old_counters=SIDECAR_COUNTERS).values():
                for name, labels in metric.samples:
                    known = self.labels.setdefault(name, {})
                    for label, value in labels:
                        known.setdefault(label, set()).add(value)

    def check(self, text: str, shown: set[str] = frozenset()) -> None:
        """shown: labels of the result that a text next to the expression uses."""
        expression = Expression(text)
        assert expression.selectors, f"no metric in {text}"
        for name, matchers in expression.selectors:
            assert name in self.labels, f"no program has {name}"
            own = self.labels[name]
            for label, value in matchers.items():
                assert label in own or label in TARGET_LABELS, f"{name} has no label {label}"
                assert label in TARGET_LABELS or value is None or value in own[label], f'no {name}{{{label}="{value}"}}'
            for group in expression.groups:
                assert group <= own.keys() | TARGET_LABELS, f"{name} has not all of {group}"
            left = set.union(*expression.groups) if expression.groups else own.keys() | TARGET_LABELS
            assert shown <= left, f"{shown - left} does not remain after {text}"


@pytest.fixture(scope="module")
def told(running):
    return Told(*(one.metrics() for one in running.values()))


def alerts() -> list[dict]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def dashboard() -> dict:
    return json.loads((FOLDER / "dashboard.json").read_text())


def targets() -> list[tuple[str, str]]:
    """(expression, legend) of every graph."""
    return [(one["expr"], one["legendFormat"]) for panel in dashboard()["panels"] for one in panel.get("targets", [])]


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule["alert"]) for rule in alerts()])
def test_an_alert_uses_what_there_is(told, rule):
    shown = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    told.check(rule["expr"], shown)
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}


def test_few_alerts_wake_somebody():
    assert len([rule for rule in alerts() if rule["labels"]["severity"] == "critical"]) <= CRITICAL_MAX


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule["alert"]) for rule in alerts()])
def test_an_alert_s_runbook_is_a_heading(rule):
    """A link that leads nowhere opens the top of the page, when somebody has no time to search."""
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    text = (ROOT / page).read_text()
    headings = re.findall(r"^### (\w+)\n\n(?!#)\S", text, re.M)
    assert [one.lower() for one in headings].count(anchor) == 1
    assert anchor == rule["alert"].lower()


def test_the_dashboard_uses_what_there_is(told):
    assert targets()
    for text, legend in targets():
        told.check(text, set(re.findall(r"\{\{(\w+)\}\}", legend)))
    for one in dashboard()["annotations"]["list"]:
        told.check(one["expr"], set(re.findall(r"\{\{(\w+)\}\}", one["titleFormat"])))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("skydns_typo > 0", set()),
        ('rate(skydns_replies_total{code="SERVFAIL"}[5m])', set()),
        ('skydns_replies_total{rcode="SERVFAILED"}', set()),
        ("sum by (rcode) (skydns_queries_total)", set()),
        ("sum by (verdict) (skydns_queries_total)", {"transport"}),
        ("skydns_ready", {"kind"}),
        ("1 > 0", set()),
    ],
)
def test_what_there_is_not_is_found(told, text, shown):
    with pytest.raises(AssertionError):
        told.check(text, shown)


def color_at(steps: list[dict], value: float) -> str:
    return [step["color"] for step in steps if step["value"] is None or step["value"] <= value][-1]


def test_zero_and_nothing_are_never_green():
    panels = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    for panel in panels:
        defaults = panel["fieldConfig"]["defaults"]
        assert color_at(defaults["thresholds"]["steps"], 0) != "green", panel["title"]
        assert panel["type"] != "stat" or defaults["noValue"] == "no data", panel["title"]
    of = {panel["title"]: panel["fieldConfig"]["defaults"]["thresholds"]["steps"] for panel in panels}
    assert [color_at(of["Readers ready"], n) for n in (0, 1)] == ["red", "green"]
    assert [color_at(of["SERVFAIL"], n) for n in (0, 0.05)] == ["text", "red"]


def test_the_dashboard_s_panels_have_room():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= COLUMNS and not cells & taken, panel["title"]
        taken |= cells
        names = [one["refId"] for one in panel.get("targets", [])]
        assert len(set(names)) == len(names)
    variables = {one["name"] for one in dashboard()["templating"]["list"] + dashboard()["__inputs"]}
    used = set(re.findall(r"\$\{?(\w+)", (FOLDER / "dashboard.json").read_text()))
    assert used - {"__rate_interval", "__all"} <= variables


# ---- Grafana's JSON model ----

# What Grafana reads of each object, with its type; null where a new dashboard has nothing yet.
MODEL = {
    "title": str, "uid": str, "id": type(None), "schemaVersion": int, "version": int, "editable": bool, "tags": list,
    "timezone": str, "time": dict, "refresh": str, "templating": dict, "annotations": dict, "links": list, "panels": list,
}  # fmt: skip
PANEL = {"id": int, "type": str, "title": str, "gridPos": dict}
GRAPH = PANEL | {"datasource": dict, "fieldConfig": dict, "options": dict, "targets": list}
TARGET = {"refId": str, "expr": str, "legendFormat": str, "datasource": dict}
INPUT = dict.fromkeys(("name", "label", "description", "type", "pluginId", "pluginName"), str)
REQUIREMENT = dict.fromkeys(("type", "id", "name", "version"), str)


def check_model(value: dict, model: dict[str, type]) -> None:
    wrong = [name for name, kind in model.items() if not isinstance(value.get(name, ...), kind)]
    assert not wrong, f"{wrong} of {str(value)[:200]}"


def test_the_dashboard_is_of_grafana_s_model():
    value = dashboard()
    check_model(value, MODEL)
    for panel in value["panels"]:
        check_model(panel, PANEL if panel["type"] == "row" else GRAPH)
        check_model(panel["gridPos"], dict.fromkeys("xywh", int))
        for target in panel.get("targets", []):
            check_model(target, TARGET)
    for one in value["templating"]["list"]:
        check_model(one, {"name": str, "type": str, "label": str})


def test_the_import_asks_for_what_the_dashboard_needs():
    """Grafana puts the answers in the places of ${DS_…}, wherever they are: here, in the variable that all panels use."""
    value, text = dashboard(), (FOLDER / "dashboard.json").read_text()
    for one in value["__inputs"]:
        check_model(one, INPUT)
        assert one["type"] == "datasource" and one["pluginId"] == "prometheus"
    assert set(re.findall(r"\$\{(DS_\w+)\}", text)) == {one["name"] for one in value["__inputs"]} != set()
    for one in value["__requires"]:
        check_model(one, REQUIREMENT)
    required = {(one["type"], one["id"]) for one in value["__requires"]}
    shown = {("panel", panel["type"]) for panel in value["panels"] if panel["type"] != "row"}
    assert required == shown | {("grafana", "grafana"), ("datasource", "prometheus")}
    (variable,) = [one for one in value["templating"]["list"] if one["type"] == "datasource"]
    assert variable["current"]["value"] == f"${{{value['__inputs'][0]['name']}}}"
    chosen = {"type": "prometheus", "uid": f"${{{variable['name']}}}"}
    graphs = [panel for panel in value["panels"] if panel["type"] != "row"]
    asked = [*graphs, *(target for panel in graphs for target in panel["targets"]), *value["annotations"]["list"]]
    assert all(one["datasource"] == chosen for one in asked)


@pytest.mark.parametrize(("change", "named"), [({"panels": {}}, "panels"), ({"schemaVersion": "36"}, "schemaVersion")])
def test_another_model_is_found(change, named):
    with pytest.raises(AssertionError, match=named):
        check_model(dashboard() | change, MODEL)


# ---- promtool's checks ----


def promtool(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=600)


@needs_promtool
def test_the_rules_are_rules():
    done = promtool("check", "rules", str(ALERTS))
    assert done.returncode == 0 and f"{len(alerts())} rules found" in done.stdout, done.stdout + done.stderr


def alert_of(test: dict) -> str:
    return re.search(r'alertname="(\w+)"', test["expr"])[1]


def outcomes(case: dict) -> set[str]:
    return {alert_of(one) for one in case["promql_expr_test"]}


def test_every_alert_is_tested_both_ways():
    fires, is_silent = set(), set()
    for case in yaml.safe_load(ALERT_TESTS.read_text())["tests"]:
        for one in case["promql_expr_test"]:
            (fires if one["exp_samples"] else is_silent).add(alert_of(one))
    assert fires == is_silent == {rule["alert"] for rule in alerts()}


# promtool tries every rule in every case: the fewer together, the faster.
AT_ONCE = 4


def run_cases(folder: Path, change=lambda rule: rule):
    """promtool's runs of all cases, a few alerts and their cases at a time. change: of each rule."""
    tests, groups = yaml.safe_load(ALERT_TESTS.read_text()), yaml.safe_load(ALERTS.read_text())["groups"]
    names = [rule["alert"] for rule in alerts()]
    for first in range(0, len(names), AT_ONCE):
        cases = [case for case in tests["tests"] if min(outcomes(case)) in names[first : first + AT_ONCE]]
        tried = set().union(*map(outcomes, cases))
        some = [group | {"rules": [change(rule) for rule in group["rules"] if rule["alert"] in tried]} for group in groups]
        (folder / ALERTS.name).write_text(yaml.safe_dump({"groups": some}))
        (folder / ALERT_TESTS.name).write_text(yaml.safe_dump(tests | {"tests": cases}))
        yield promtool("test", "rules", str(folder / ALERT_TESTS.name))


@needs_promtool
def test_the_alerts_pass_their_tests(tmp_path):
    for done in run_cases(tmp_path):
        assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("wrong", ["({right}) > 1e99", "vector(1)"])
def test_an_alert_that_never_or_always_fires_fails_its_tests(tmp_path, wrong):
    failed = set()
    for done in run_cases(tmp_path, lambda rule: rule | {"expr": wrong.format(right=rule["expr"])}):
        assert done.returncode != 0
        failed |= set(re.findall(r'alertname=\\?"(\w+)', done.stdout + done.stderr))
    assert failed == {rule["alert"] for rule in alerts()}


@needs_promtool
def test_the_dashboard_s_expressions_are_expressions(tmp_path):
    text = [one.replace("$__rate_interval", "1m") for one, _ in targets()]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(text)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", str(tmp_path / "rules.yaml"))
    assert done.returncode == 0 and f"{len(rules)} rules found" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_the_scrape_configuration_is_one(tmp_path):
    """Debian's promtool has no Kubernetes discovery: that part is compared with its documentation."""
    config = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    for job in config["scrape_configs"]:
        (discovery,) = job.pop("kubernetes_sd_configs")
        assert discovery == {"role": "pod", "namespaces": {"names": ["kube-system"]}}
        job["static_configs"] = [{"targets": ["127.0.0.1:1"]}]
    shutil.copy(ALERTS, tmp_path)
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(config))
    done = promtool("check", "config", str(tmp_path / "prometheus.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr

"""A strict parser of Prometheus' text format 0.0.4: everything that the format does not allow is an error, and
so is what it allows but our pages never do (a metric without help, samples apart from their header).
"""

import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HELP = re.compile(rf"# HELP ({_NAME}) ((?:[^\\]|\\[\\n])+)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram)")
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?)")

# Of the probes of the fixture `running`, counters named as the old program's.
# exechealthz has them under the names of kube-dns's sidecar.
SIDECAR_COUNTERS = (
    *(f"kubedns_probe_{label}_errors" for label in ("skydns", "tls", "https", "kubedns", "dnsmasq")),
    *(f"kubedns_dnsmasq_{name}" for name in ("hits", "misses", "evictions", "insertions", "errors")),
)

Labels = tuple[tuple[str, str], ...]


class Metric:
    def __init__(self, kind: str, help_text: str):
        self.kind = kind
        self.help = help_text
        self.samples: dict[tuple[str, Labels], float] = {}  # by name (a histogram has three) and labels


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def _labels(text: str | None) -> Labels:
    pairs = re.findall(r'([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"', text or "")
    labels = tuple(sorted((name, _unescape(value)) for name, value in pairs))
    assert len({name for name, _ in labels}) == len(labels), f"duplicate label: {text}"
    return labels


def _check_histogram(name: str, metric: Metric) -> None:
    """Checks one histogram for each combination of the other labels."""
    families: dict[Labels, list[tuple[float, float]]] = {}
    for (sample, labels), value in metric.samples.items():
        if sample == name + "_bucket":
            others = tuple(pair for pair in labels if pair[0] != "le")
            bound = float(dict(labels)["le"].replace("+Inf", "inf"))
            families.setdefault(others, []).append((bound, value))
    assert families, f"{name}: no buckets"
    for others, buckets in families.items():
        assert buckets[-1][0] == float("inf"), f"{name}: no +Inf bucket at the end"
        assert buckets == sorted(buckets), f"{name}: decreasing bounds"
        counts = [count for _, count in buckets]
        assert counts == sorted(counts), f"{name}: decreasing counts"
        assert metric.samples[(name + "_count", others)] == buckets[-1][1], f"{name}: count"
        assert (name + "_sum", others) in metric.samples, f"{name}: no sum"


def parse(text: str, old_counters: tuple[str, ...] = ()) -> dict[str, Metric]:
    """The metrics of a page by name. AssertionError on any defect."""
    assert text.endswith("\n"), "no newline at the end"
    metrics: dict[str, Metric] = {}
    lines = iter(text[:-1].split("\n"))
    name = ""
    for line in lines:
        if line.startswith("# "):
            head, kind = _HELP.fullmatch(line), _TYPE.fullmatch(next(lines))
            assert head and kind and head[1] == kind[1], f"expected HELP and TYPE of one metric: {line!r}"
            name = head[1]
            assert name not in metrics, f"{name} twice"
            is_named_counter = name.endswith("_total") or name in old_counters  # a name from the old program
            assert (kind[2] == "counter") == is_named_counter, f"{name} is a {kind[2]}"
            metrics[name] = Metric(kind[2], _unescape(head[2]))
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, f"not a sample: {line!r}"
        assert name, f"sample without HELP and TYPE: {line!r}"
        metric = metrics[name]
        allowed = [name] if metric.kind != "histogram" else [name + s for s in ("_bucket", "_sum", "_count")]
        assert sample[1] in allowed, f"{sample[1]} under {name}"
        key = (sample[1], _labels(sample[2]))
        assert key not in metric.samples, f"{key} twice"
        metric.samples[key] = float(sample[3])
        assert metric.kind == "gauge" or metric.samples[key] >= 0, f"{key} is negative"
    for name, metric in metrics.items():
        assert metric.samples, f"{name} has no sample"
        if metric.kind == "histogram":
            _check_histogram(name, metric)
    return metrics


class Page:
    """A parsed page; the names are without the prefix. Those of the process have the usual one, process_."""

    def __init__(self, text: str, prefix: str):
        self.prefix = prefix
        self.metrics = parse(text)
        assert all(name.startswith((prefix, "process_")) for name in self.metrics), sorted(self.metrics)

    def names(self) -> set[str]:
        return {name.removeprefix(self.prefix) for name in self.metrics}

    def get(self, name: str, **labels: str) -> float:
        full = self.prefix + name
        return self.metrics[full].samples[(full, tuple(sorted(labels.items())))]

    def total(self, name: str, **labels: str) -> float:
        """The sum over all samples with these labels."""
        wanted = set(labels.items())
        samples = self.metrics[self.prefix + name].samples
        return sum(value for (_, have), value in samples.items() if wanted <= set(have))

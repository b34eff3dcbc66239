"""Where the time of a change goes between the API server and the answer: the means of its hops, of which each program
measures its own in its histograms (the man pages have them).

    POST acknowledged ─▶ event at kube2sky ─▶ transaction sent ─▶ acknowledged ─▶ event at skydns ─▶ seen ─▶ asked
                      api                  planned             committed       (etcd)             seen     asked

What no program can see of itself, api (with etcd's own event) and asked, is the rest of what was measured outside.
"""

import statistics

from measuring import Figure
from programs import http_get
from prometheus import parse

# A hop's histogram, and of which program.
HISTOGRAMS = {
    "planned": ("kube2sky", "kube2sky_change_planned_seconds"),
    "committed": ("kube2sky", "kube2sky_transaction_seconds"),
    "seen": ("skydns", "skydns_change_seconds"),
}


def hop_figures(server: str) -> list[Figure]:
    return [
        Figure(f"{server} api_ms", "  ms of it: events of the API server and of etcd on their way, mean"),
        Figure(f"{server} planned_ms", "  ms: kube2sky, from the event to the sent transaction"),
        Figure(f"{server} committed_ms", "  ms: etcd, until the transaction is acknowledged"),
        Figure(f"{server} seen_ms", "  ms: skydns, from etcd's event until all threads see the record"),
        Figure(f"{server} asked_ms", "  ms: until the next query and its answer"),
    ]


def sums(pages: dict[str, str]) -> dict[str, tuple[float, float]]:
    """For each histogram its sum, s, and count, from the programs' pages of metrics."""
    found = {}
    for hop, (program, name) in HISTOGRAMS.items():
        samples = parse(pages[program])[name].samples
        found[hop] = samples[(name + "_sum", ())], samples[(name + "_count", ())]
    return found


def shares(before: dict, after: dict, to_etcd_ms: list[float], to_answer_ms: list[float]) -> dict[str, float]:
    """The hops' means, ms. to_etcd_ms: of each change, from the API server's acknowledgement to etcd's event;
    to_answer_ms: from there to the right answer. Each change is one transaction and one version.
    """
    means = {}
    for hop in HISTOGRAMS:
        sum_s, count = (new - old for new, old in zip(after[hop], before[hop]))
        if not count:
            raise ValueError(f"no change was counted by {HISTOGRAMS[hop][1]}")
        means[hop] = sum_s / count * 1e3
    means["api"] = statistics.mean(to_etcd_ms) - means["planned"] - means["committed"]
    means["asked"] = statistics.mean(to_answer_ms) - means["seen"]
    return means


class Hops:
    """Counts from its creation on; of the programs of a bed."""

    def __init__(self, bed):
        self._bed = bed
        self._before = self._read()

    def _read(self) -> dict[str, tuple[float, float]]:
        return sums({name: http_get(url + "/metrics")[1] for name, url in self._bed.pages().items()})

    def note(self, figures: dict, server: str, to_etcd_ms: list[float], to_answer_ms: list[float]) -> None:
        for hop, mean_ms in shares(self._before, self._read(), to_etcd_ms, to_answer_ms).items():
            figures[f"{server} {hop}_ms"] = mean_ms

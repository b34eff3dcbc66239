"""What the programs tell about themselves: /metrics, /readiness?strict, and the lines of an outage."""

import re
import signal
from pathlib import Path

import pytest
from kube import service
from programs import http_get, wait_until
from prometheus import Page, parse
from test_pipeline import WEB

ROOT = Path(__file__).resolve().parents[2]


class Watched:
    """A program under test, asked over HTTP."""

    def __init__(self, program, port: int, prefix: str):
        self.program = program
        self.port = port
        self.prefix = prefix

    def ask(self, path: str) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.port}{path}")

    def metrics(self) -> Page:
        status, text = self.ask("/metrics")
        assert status == 200
        return Page(text, self.prefix)

    def wait_metric(self, value: float, name: str, **labels: str) -> None:
        self.program.wait_ready(lambda: self.metrics().get(name, **labels) == value, f"{name} {labels} {value}")

    def wait_strict(self, status: int) -> str:
        def body() -> str | None:
            got, text = self.ask("/readiness?strict")
            assert self.ask("/readiness") == (200, self.ask("/readiness")[1]), "the plain probe stays 200"
            return text if got == status else None

        return self.program.wait_ready(body, f"/readiness?strict {status}")

    def lines(self, part: str, since: int) -> list[str]:
        return [line for line in self.program.lines[since:] if part in line]


def watched_kube2sky(bed, *flags: str) -> Watched:
    bed.start_kube2sky("--etcd-mutation-timeout=1s", *flags)
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    watched.wait_strict(200)
    return watched


@pytest.mark.parametrize("text", [
    "a 1",  # no newline
    "a 1\n",  # no head
    "# HELP a b\n# TYPE a gauge\n",  # no sample
    "# HELP a b\n# TYPE a counter\na 1\n",  # a counter's name
    "# HELP a b\n# TYPE a gauge\nb 1\n",  # another metric's sample
    "# HELP a b\n# TYPE a gauge\na 1\na 2\n",  # twice
    '# HELP a b\n# TYPE a gauge\na{x="1" 1\n',
    '# HELP a b\n# TYPE a gauge\na{x="\\q"} 1\n',
    "# HELP a b\n# TYPE a gauge\na nan\n",
    '# HELP a b\n# TYPE a histogram\na_bucket{le="+Inf"} 2\na_sum 1\na_count 3\n',
])  # fmt: skip
def test_the_reader_of_metrics_is_strict(text):
    with pytest.raises(AssertionError):
        parse(text)


def documented(man: str) -> set[str]:
    """The names in the METRICS table of a man page."""
    table = (ROOT / man).read_text().split("# METRICS\n")[1].split("\n[[ ")[1].split("\n\n")[0]
    cells = re.findall(r"^\| +(.+)$", table, re.M)
    return {name for cell in cells for name in re.sub(r"\{.*?\}", "", cell).split(", ")}


def test_kube2sky_counts_what_it_does(bed):
    watched = watched_kube2sky(bed)
    before = watched.metrics()
    assert before.names() == documented("kube2sky/kube2sky.8.scd")
    made = bed.kube.create("services", service("web"))
    watched.wait_metric(before.get("keys_actual") + 1, "keys_actual")
    watched.wait_metric(0, "transactions_in_flight")  # acknowledged, too
    after = watched.metrics()
    assert after.get("keys_written_total") == before.get("keys_written_total") + 1
    assert after.get("transactions_total") == before.get("transactions_total") + 1
    assert after.get("keys_desired") == after.get("keys_actual")
    assert after.get("objects", kind="services") == before.get("objects", kind="services") + 1
    assert after.get("etcd_revision") == bed.etcd.revision()
    assert after.get("etcd_up") == after.get("ready") == after.get("etcd_reads_total") == 1
    histogram = after.metrics["kube2sky_transaction_seconds"].samples
    assert histogram[("kube2sky_transaction_seconds_count", ())] == after.get("transactions_total")
    for kind in ("services", "endpoints"):
        assert after.get("api_up", kind=kind) == after.get("api_lists_total", kind=kind) == 1
    assert after.get("objects_skipped_total", kind="services") == 0
    bed.kube.control(
        "put", resource="services", object={"metadata": {**made["metadata"], "name": "bad"}, "spec": 17}
    )
    watched.wait_metric(1, "objects_skipped_total", kind="services")
    bed.kube.delete("services", "web")
    watched.wait_metric(before.get("keys_actual"), "keys_actual")
    watched.wait_metric(0, "transactions_in_flight")
    assert watched.metrics().get("keys_deleted_total") == before.get("keys_deleted_total") + 1
    assert watched.ask("/healthz") == (200, "ok\n")


def check_an_etcd_outage(bed, watched: Watched, take_away, bring_back, reason: str) -> None:
    """etcd goes and comes back: everything tells, once each, and nothing else does."""
    watched.wait_metric(1, "etcd_up")
    before = watched.metrics().total("etcd_reconnects_total")
    since = len(watched.program.lines)
    take_away()
    why = watched.wait_strict(503)
    assert why.startswith("etcd has been failing for more than 1000 ms: etcd at http://127.0.0.1"), why
    page = watched.metrics()
    assert page.get("etcd_up") == 0
    assert page.get("etcd_overdue") == 1
    assert page.get("etcd_silence_seconds") >= 1
    assert page.total("etcd_reconnects_total") == before
    bring_back()
    assert watched.wait_strict(200) == "ok\n"
    watched.wait_metric(1, "etcd_up")
    page = watched.metrics()
    assert page.get("etcd_overdue") == 0
    assert page.total("etcd_reconnects_total") == before + 1
    assert page.get("etcd_reconnects_total", reason=reason) >= 1
    errors = watched.lines("etcd has been failing for longer than", since)
    assert len(errors) == 1 and errors[0].startswith("error "), errors
    assert len(watched.lines(" after_ms=", since)) >= 1


def test_kube2sky_without_etcd(bed):
    watched = watched_kube2sky(bed)
    since = len(bed.kube2sky.lines)
    check_an_etcd_outage(bed, watched, bed.etcd_program.kill, bed.start_etcd, "unavailable")
    away = watched.lines("etcd cannot be followed", since)
    assert away and len(set(line.split(" ", 2)[2] for line in away)) == len(away), "no line twice"
    assert len(watched.lines("etcd is followed after_ms=", since)) == 1
    made = bed.kube.create("services", service("web"))
    bed.start_skydns()
    bed.wait_answers(WEB, "A", [made["spec"]["clusterIP"]])


def test_kube2sky_with_a_stopped_etcd(bed):
    """Connected and silent: the transaction that gets no answer tells first, the ping after it."""
    watched = watched_kube2sky(bed)
    check_an_etcd_outage(
        bed,
        watched,
        lambda: bed.etcd_program.signal(signal.SIGSTOP),
        lambda: bed.etcd_program.signal(signal.SIGCONT),
        "unavailable",
    )


def test_kube2sky_without_the_api(bed):
    watched = watched_kube2sky(bed)
    since = len(bed.kube2sky.lines)
    bed.apiserver.kill()
    why = watched.wait_strict(503)
    assert why.startswith("the Kubernetes API has been failing for more than 1000 ms: GET http://127.0.0.1"), why
    page = watched.metrics()
    assert page.get("api_overdue") == 1
    assert page.total("api_up") == 0
    assert page.get("etcd_up") == 1
    bed.apiserver.start()
    assert watched.wait_strict(200) == "ok\n"
    page = watched.metrics()
    assert page.get("api_overdue") == 0
    assert page.total("api_up") == 2
    for kind in ("services", "endpoints"):
        assert page.total("api_reconnects_total", kind=kind) == 1
        away = watched.lines(f"API cannot be followed, trying again kind={kind}", since)
        assert away and len(set(line.split(" ", 2)[2] for line in away)) == len(away), "no line twice"
        assert len(watched.lines(f"API is followed kind={kind} after_ms=", since)) == 1
    assert len(watched.lines("the API has been failing for longer than", since)) == 1


def test_kube2sky_before_its_first_sync(bare_bed):
    bed = bare_bed
    bed.start_apiserver()
    bed.start_kube2sky("--etcd-mutation-timeout=1s", is_waiting=False)
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    bed.kube2sky.wait_ready(lambda: watched.ask("/readiness?strict")[0] == 503, "/readiness?strict 503")
    bed.kube2sky.wait_ready(lambda: watched.ask("/readiness")[0] == 503, "/readiness 503")
    page = watched.metrics()
    assert page.get("ready") == page.get("etcd_up") == page.get("etcd_revision") == 0
    bed.start_etcd()
    wait_until(lambda: watched.ask("/readiness?strict") == (200, "ok\n"), "ready")
    assert watched.metrics().total("etcd_reconnects_total") == 0, "the first connection is none again"

"""docs/operator/alerts.md, followed: for each critical alert, and some others, a fault of real programs makes its expression true, what the
paragraph names tells the reason, and what it says to do ends it. Only DNSSignaturesEnd would need another clock. How long
an expression must hold (`for`) is alerts_test.yaml's.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bed import make_certificate
from chapters import blocks, chapter, run_in
from kube import service
from programs import http_get, reserve_port, wait_until
from prometheus import SIDECAR_COUNTERS, parse
from records import SVC
from test_etcd_space import PORTS
from test_monitoring import alerts
from test_stub_zones import says
from upstream import IMPATIENT, Upstream

PAGE = Path(__file__).resolve().parents[2] / "docs/operator/alerts.md"
RULES = {rule["alert"]: rule for rule in alerts()}
CRITICAL = [name for name, rule in RULES.items() if rule["labels"]["severity"] == "critical"]
WAIT_S = 40.0


def paragraph(alert: str) -> str:
    return re.search(rf"^### {alert}\n\n(.*?)(?=^#|\Z)", PAGE.read_text(), re.M | re.S)[1]


# ---- Expressions ----


class Scrapes:
    """What Prometheus would have of one program: (time, {metric: its samples}) at each look, the latest at the end."""

    def __init__(self, port: int):
        self._url = f"http://127.0.0.1:{port}/metrics"
        self.seen: list[tuple[float, dict[str, list[float]]]] = []

    def look(self) -> None:
        found: dict[str, list[float]] = {}
        try:
            metrics = parse(http_get(self._url)[1], old_counters=SIDECAR_COUNTERS)
        except OSError:
            metrics = {}  # it does not run, so its metrics are absent
        for metric in metrics.values():
            for (name, _), value in metric.samples.items():
                found.setdefault(name, []).append(value)
        self.seen.append((time.monotonic(), found))

    def value(self, name: str) -> float:
        """The largest of a metric's samples; NaN, which no comparison is true of, if there is none."""
        return max(self.seen[-1][1].get(name, []), default=float("nan"))

    def sum(self, name: str) -> float:
        found = self.seen[-1][1].get(name)
        return sum(found) if found else float("nan")

    def rate(self, name: str) -> float:
        """Since the look before."""
        if len(self.seen) < 2:
            return float("nan")
        (before_s, before), (now_s, now) = self.seen[-2:]
        return (max(now.get(name, [0])) - max(before.get(name, [0]))) / (now_s - before_s)

    def maximum(self, name: str) -> float:
        return max((max(found[name]) for _, found in self.seen if name in found), default=float("nan"))


def evaluate(expression: str, scrapes: Scrapes) -> bool:
    """An alert's expression, of those forms that critical ones have, on one program."""
    text = re.sub(r"\brate\((\w+)\[\w+\]\)", r'scrapes.rate("\1")', expression)
    text = re.sub(r"\bmax_over_time\((\w+)\[\w+\]\)", r'scrapes.maximum("\1")', text)
    text = re.sub(r"\bsum\((\w+)\)", r'scrapes.sum("\1")', text)
    text = re.sub(r"\babsent\((\w+ == 1)\)", r"not (\1)", text)
    text = re.sub(r"(?<![\w.\"])(?:skydns|kube2sky|exechealthz|kubedns)_\w+", lambda found: f'scrapes.value("{found[0]}")', text)
    return bool(eval(text, {"scrapes": scrapes, "time": time.time}))


class Alert:
    """Of one program."""

    def __init__(self, name: str, port: int):
        self.expression, self._scrapes, self.name = RULES[name]["expr"], Scrapes(port), name
        self.text = paragraph(name)

    def fires(self) -> bool:
        self._scrapes.look()
        return evaluate(self.expression, self._scrapes)

    def wait(self, fires: bool) -> None:
        wait_until(lambda: self.fires() == fires, f"{self.name} {'fires' if fires else 'ends'}", WAIT_S)

    def names(self, *words: str) -> None:
        """The paragraph tells of these."""
        assert not [word for word in words if word not in self.text], self.text


@pytest.mark.parametrize("name", CRITICAL)
def test_each_expression_can_be_evaluated(name, running):
    """And is false on healthy programs."""
    expression = RULES[name]["expr"]
    program = re.search(r"(skydns|kube2sky|exechealthz|kubedns)_", expression)[1].replace("kubedns", "exechealthz")
    scrapes = Scrapes(int(running[program].url.rsplit(":", 1)[1]))
    scrapes.look()
    scrapes.look()
    # This one has a stub zone, TLS and probes of which nobody answers, but what is asked of the others is answered.
    assert evaluate(expression, scrapes) is False


# ---- skydns ----


@pytest.fixture
def http_port():
    return reserve_port()


def start_reader(bed, http_port: int, *flags: str, is_waiting: bool = True) -> None:
    bed.start_skydns(f"-http-addr=127.0.0.1:{http_port}", *(flags or ("-no-rec",)), is_waiting=is_waiting)


def ask(port: int, path: str) -> str:
    return http_get(f"http://127.0.0.1:{port}{path}")[1]


def test_dns_down(bare_bed, http_port):
    start_reader(bare_bed, http_port, is_waiting=False)
    bare_bed.skydns.wait_line("started")
    alert = Alert("DNSDown", http_port)
    alert.wait(True)
    alert.names("`/readiness`", "bring it back")
    assert "etcd" in ask(http_port, "/readiness")
    bare_bed.start_etcd()
    alert.wait(False)


def test_dns_domain_incomplete(bed, http_port):
    bed.start_kube2sky()
    start_reader(bed, http_port)
    alert = Alert("DNSDomainIncomplete", http_port)
    bed.kube2sky.stop()
    bed.etcd.delete("/kube2sky/cluster.local/store")
    alert.wait(True)
    alert.names("`/readiness?strict`", "start one")
    assert "/kube2sky/cluster.local/store" in ask(http_port, "/readiness?strict")
    bed.start_kube2sky()
    alert.wait(False)


def test_dns_few_records(bed, http_port):
    for number in range(4):
        bed.kube.create("services", service(f"web-{number}", *PORTS))
    bed.start_kube2sky()
    start_reader(bed, http_port)
    alert = Alert("DNSFewRecords", http_port)
    assert not alert.fires()
    bed.kube2sky.stop()
    bed.etcd.delete_prefix(f"{SVC}/default/web")
    alert.wait(True)
    alert.names("Start a kube2sky", "`kube2sky --dry-run`")
    dry = bed.command("kube2sky", "--dry-run", "--domain=cluster.local", f"--etcd-server={bed.etcd_urls[0]}", *bed.kube_flags)
    dry.start()
    dry.wait()
    assert any("web-0" in line for line in dry.lines), dry.lines
    bed.start_kube2sky()
    alert.wait(False)


def test_dns_nameservers_dead(bare_bed, http_port):
    bare_bed.start_etcd()
    port = reserve_port()
    start_reader(bare_bed, http_port, f"-nameservers=127.0.0.1:{port}", IMPATIENT)
    alert = Alert("DNSNameserversDead", http_port)
    numbers = iter(range(1000))
    wait_until(lambda: bare_bed.dns.answers(f"{next(numbers)}.test") == ["SERVFAIL"] and alert.fires(), "it fires", WAIT_S)
    alert.names("`-explain`", "the alert ends by itself")
    assert f"127.0.0.1:{port}" in ask(http_port, "/explain?name=www.test&type=A&text")
    server = Upstream(says("192.0.2.1"), port)
    try:
        alert.wait(False)
    finally:
        server.close()


def test_dns_certificate_ended(bare_bed, http_port):
    bare_bed.start_etcd()
    certificate, key = make_certificate(bare_bed.folder)
    again = ["openssl", "x509", "-in", certificate, "-signkey", key, "-days", "-1", "-out", certificate]
    subprocess.run(again, check=True, capture_output=True, timeout=60)
    listener = f"-addr=127.0.0.1:{bare_bed.dns.port},tls://127.0.0.1:{reserve_port()}"
    start_reader(bare_bed, http_port, "-no-rec", listener, f"-cert={certificate}", f"-key={key}")
    alert = Alert("DNSCertificateEnded", http_port)
    alert.wait(True)
    alert.names("Replace the files", "within 15 s")
    make_certificate(bare_bed.folder)
    alert.wait(False)


# ---- kube2sky ----


def test_dns_writer_down(bed):
    alert = Alert("DNSWriterDown", bed.readiness_port)
    alert.wait(True)
    alert.names("is there a kube2sky? Start it", "`/readiness`")
    bed.start_kube2sky()
    alert.wait(False)


def test_dns_no_leader(bed):
    key = "/kube2sky/cluster.local/leader"
    bed.etcd.put(key, "by hand")
    bed.start_kube2sky("--leader-elect", "--leader-elect-lease-duration=60s", is_waiting=False)
    alert = Alert("DNSNoLeader", bed.readiness_port)
    alert.wait(True)
    alert.names("`/readiness?strict`", "del /kube2sky/<domain>/leader", "without a lease")
    wait_until(lambda: f"{key} has no lease" in ask(bed.readiness_port, "/readiness?strict"), "reported")
    bed.etcd.delete(key)
    alert.wait(False)


def test_dns_writer_without_etcd(bed):
    bed.start_kube2sky("--etcd-mutation-timeout=1s")
    alert = Alert("DNSWriterWithoutEtcd", bed.readiness_port)
    bed.etcd_program.kill()
    alert.wait(True)
    alert.names("`/readiness?strict`", "Bring etcd back")
    assert "Connection refused" in ask(bed.readiness_port, "/readiness?strict")
    bed.kube.create("services", service("web"))
    bed.start_etcd()
    alert.wait(False)
    bed.wait_model()  # what has changed meanwhile is written


def test_dns_writer_without_api(bed):
    bed.start_kube2sky("--etcd-mutation-timeout=1s")
    alert = Alert("DNSWriterWithoutAPI", bed.readiness_port)
    bed.kube.control("forbid", resource="services")
    alert.wait(True)
    alert.names("`/readiness?strict`", "`403`", "ClusterRole")
    assert "403" in ask(bed.readiness_port, "/readiness?strict")
    bed.kube.control("forbid", resource="services", on=False)
    alert.wait(False)


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is missing")
def test_dns_etcd_full(bare_bed):
    """With the commands of the page that the paragraph leads to."""
    bed = bare_bed
    bed.etcd_program.argv.append(f"--quota-backend-bytes={4 << 20}")
    bed.start_etcd()
    bed.start_apiserver()
    bed.start_kube2sky()
    alert = Alert("DNSEtcdFull", bed.readiness_port)
    with pytest.raises(Exception, match="space"):  # etcd's refusal, as its gateway puts it
        for _ in range(200):
            bed.etcd.put("/changes", "x" * 100_000)
    bed.kube.create("services", service("web"))
    alert.wait(True)
    alert.names("(scale.md#etcd-space)", "`etcdctl alarm disarm`")
    environment = os.environ | {"ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": bed.etcd_urls[0]}
    (commands,) = blocks(chapter("scale.md", "etcd space"))
    run_in(bed.folder, environment, *commands)
    alert.wait(False)
    bed.wait_model()  # what has waited is written


# ---- exechealthz ----


def test_dns_probe_fails(bed):
    bed.start_writer_and_reader()
    target = f"kubernetes.default.svc.cluster.local,A,127.0.0.1:{bed.dns.port}"
    bed.start_exechealthz(f"-dns=skydns={target}", "-period=100ms", "-timeout=500ms")
    alert = Alert("DNSProbeFails", bed.healthz_port)
    bed.skydns.signal(signal.SIGSTOP)  # it hangs
    alert.wait(True)
    alert.names("`/healthcheck/skydns`", "delete the pod")
    wait_until(lambda: http_get(f"http://127.0.0.1:{bed.healthz_port}/healthcheck/skydns")[0] == 503, "the last failure")
    bed.skydns.kill()
    bed.start_skydns()
    alert.wait(False)


def test_dns_command_fails(bare_bed):
    checked = bare_bed.folder / "checked"
    bare_bed.start_exechealthz(f"-cmd=cat {checked}", "-url=/healthz", "-period=100ms")
    alert = Alert("DNSCommandFails", bare_bed.healthz_port)
    alert.wait(True)
    alert.names("output", "correct what")
    assert "No such file" in bare_bed.healthz()[1]
    checked.write_text("")
    alert.wait(False)

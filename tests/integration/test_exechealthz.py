"""exechealthz around a real skydns, and around commands that fail, hang and talk."""

import shlex

from programs import http_get, wait_until
from records import SVC, value


def test_follows_skydns(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/kubernetes/x", value("10.0.0.1"))
    bed.start_skydns()
    lookup = "kubernetes.default.svc.cluster.local 127.0.0.1 >/dev/null"
    command = f"nslookup -port={bed.dns.port} -timeout=1 -retry=0 {lookup}"
    bed.start_exechealthz(f"--cmd={command}", "--period=100ms", "--latency=20s")
    assert bed.healthz() == (200, "ok")
    bed.skydns.stop()
    wait_until(lambda: bed.healthz()[0] == 503, "503 without skydns")
    assert "exit status 1" in bed.healthz()[1]
    bed.start_skydns()
    wait_until(lambda: bed.healthz() == (200, "ok"), "200 with skydns")


def test_output_is_shown_as_it_is(bare_bed):
    bare_bed.start_exechealthz("--cmd=echo 100%s %n; exit 3", "--period=50ms", "--quiet")
    wait_until(lambda: bare_bed.healthz()[0] == 503, "503")
    body = bare_bed.healthz()[1]
    assert "100%s %n" in body and "exit status 3" in body


def test_a_command_that_hangs_is_503_after_the_latency(bare_bed, tmp_path):
    fifo = tmp_path / "fifo"
    command = f"mkfifo {shlex.quote(str(fifo))} 2>/dev/null; cat {shlex.quote(str(fifo))}"
    bare_bed.start_exechealthz(f"--cmd={command}", "--period=50ms", "--latency=300ms")
    wait_until(lambda: bare_bed.healthz()[0] == 503, "503")
    assert "too old" in bare_bed.healthz()[1]


def test_other_paths_are_404(bare_bed):
    bare_bed.start_exechealthz("--cmd=true", "--period=1s")
    for path in ("/", "/quit", "/healthz/x"):
        assert http_get(f"http://127.0.0.1:{bare_bed.healthz_port}{path}")[0] == 404
    assert bare_bed.healthz()[0] == 200

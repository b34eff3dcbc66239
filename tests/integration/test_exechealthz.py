"""exechealthz with a real skydns, and with commands that fail, hang, fork and print; its HTTP as users of the
old program know it.
"""

import http.client
import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
from programs import http_get, reserve_port, wait_equal, wait_until
from prometheus import parse
from records import SVC, value

NAME = "kubernetes.default.svc.cluster.local"
TEXT = "text/plain; charset=utf-8"
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d*[1-9])? \+0000 UTC"
LINKS = ("/healthz", "/quit")


def ask(bed, path, method="GET", body=None):
    """(status, content type, body)"""
    connection = http.client.HTTPConnection("127.0.0.1", bed.healthz_port, timeout=20)
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return reply.status, reply.getheader("Content-Type"), reply.read().decode()
    finally:
        connection.close()


def metrics(bed):
    return parse(ask(bed, "/metrics")[2])


def sample(bed, name, **labels):
    return metrics(bed)[name].samples[(name, tuple(sorted(labels.items())))]


def start_store(bed):
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/kubernetes/x", value("10.0.0.1"))
    bed.start_skydns()


# ---- The old program's replies ----


def test_follows_skydns(bare_bed):
    bed = bare_bed
    start_store(bed)
    command = f"nslookup -port={bed.dns.port} -timeout=20 -retry=0 {NAME} 127.0.0.1 >/dev/null"
    bed.start_exechealthz(f"--cmd={command}", "--period=100ms", "--latency=1h")
    assert bed.healthz() == (200, "ok")
    bed.skydns.stop()
    wait_until(lambda: bed.healthz()[0] == 503, "503 without skydns")
    assert "exit status 1" in bed.healthz()[1]
    bed.start_skydns()
    wait_until(lambda: bed.healthz() == (200, "ok"), "200 with skydns")


def test_the_default_command(bare_bed):
    bare_bed.start_exechealthz("--output", "--period=50ms")
    wait_until(lambda: bare_bed.healthz() == (200, "healthz\n"), "the output")
    assert ask(bare_bed, "/healthz")[1] == TEXT


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_any_method(bare_bed, method):
    bare_bed.start_exechealthz("--cmd=true")
    body = "x" * 1000 if method in ("POST", "PUT") else None
    assert ask(bare_bed, "/healthz", method, body) == (200, TEXT, "ok")


def test_head_has_no_body(bare_bed):
    bare_bed.start_exechealthz("--cmd=true")
    assert ask(bare_bed, "/healthz", "HEAD") == (200, TEXT, "")


def test_a_failure_is_told_verbatim(bare_bed):
    bare_bed.start_exechealthz("--cmd=echo 100%s %n; exit 3", "--period=50ms", "--quiet")
    wait_until(lambda: bare_bed.healthz()[0] == 503, "503")
    status, kind, body = ask(bare_bed, "/healthz")
    assert (status, kind) == (503, TEXT)
    assert re.fullmatch(
        r"Healthz probe on /healthz error: Result of last exec: 100%s %n\n, at "
        + TIME
        + r", error exit status 3\n",
        body,
    )


def test_a_command_that_hangs_is_503_after_the_latency(bare_bed, tmp_path):
    fifo = tmp_path / "fifo"
    command = f"mkfifo {shlex.quote(str(fifo))} 2>/dev/null; cat {shlex.quote(str(fifo))}"
    flags = ("--period=50ms", "--latency=300ms", "--timeout=1h")
    bare_bed.start_exechealthz(f"--cmd={command}", *flags)
    wait_until(lambda: bare_bed.healthz()[0] == 503, "503")
    pattern = r"Latest result too old to be useful: Result of last exec: , at " + TIME + r", error None\.\n"
    assert re.fullmatch(pattern, bare_bed.healthz()[1])


def test_several_commands_have_their_paths(bare_bed):
    bed = bare_bed
    flags = ["--cmd=echo one", "--url=/one", "--cmd=echo two; false", "--url=/two/"]
    bed.command("exechealthz", f"--port={bed.healthz_port}", "--output", "--period=50ms", *flags).start()
    wait_until(lambda: ask(bed, "/one") == (200, TEXT, "one\n"), "the first")
    wait_until(lambda: ask(bed, "/two/")[0] == 503, "the second")
    assert ask(bed, "/two/")[2].startswith("Healthz probe on /two/ error: Result of last exec: two\n, at ")
    assert ask(bed, "/healthz")[0] == 404
    assert ask(bed, "/two/sub")[0] == 404  # for which the old program closed the connection


def test_a_user_s_path_goes_before_ours(bare_bed):
    bed = bare_bed
    bed.command("exechealthz", f"--port={bed.healthz_port}", "--cmd=true", "--url=/metrics").start()
    wait_until(lambda: ask(bed, "/metrics") == (200, TEXT, "ok"), "the command's result")


def test_other_paths_are_404(bare_bed):
    bare_bed.start_exechealthz("--cmd=true", "--period=1s")
    for path in ("/", "/quit", "/healthz/x", "/healthz/", "/healthcheck/x", "/debug/pprof/"):
        assert http_get(f"http://127.0.0.1:{bare_bed.healthz_port}{path}")[0] == 404
    assert bare_bed.healthz()[0] == 200


def test_legacy_pages(bare_bed):
    bed = bare_bed
    bed.start_exechealthz("--cmd=true", "--legacy-pages")
    for path in ("/", "/nothing/here"):
        status, kind, body = ask(bed, path)
        assert (status, kind) == (200, "text/html; charset=utf-8")
        assert body.startswith("<b> Kubernetes healthz sidecar container </b>")
        for link in LINKS:
            assert f'<a href="{link}">{link}: ' in body
    assert bed.healthz() == (200, "ok")
    try:
        ask(bed, "/quit")
    except (http.client.HTTPException, OSError):
        pass  # it may exit before its reply arrives
    assert bed.exechealthz.wait() == 0


def test_version(bare_bed):
    program = bare_bed.command("exechealthz", "--version").start()
    assert program.wait() == 0
    assert re.fullmatch(r"exechealthz \S+", program.lines[0])


def test_different_numbers_of_commands_and_paths(bare_bed):
    program = bare_bed.command("exechealthz", "--cmd=a", "--cmd=b").start()
    assert program.wait() == 2
    assert "number of cmds and urls are different" in program.lines[0]


def test_quiet_logs_changes_only(bare_bed):
    bed = bare_bed
    bed.start_exechealthz("--cmd=true", "--period=10ms", "--quiet")
    wait_until(lambda: sample(bed, "exechealthz_runs_total", path="/healthz") >= 5, "runs")
    assert bed.healthz()[0] == 200
    assert not [line for line in bed.exechealthz.lines if "request" in line or "command run" in line]


# ---- New in this program ----


def test_starts_unhealthy_when_told_to(bare_bed, tmp_path):
    bed, gate = bare_bed, tmp_path / "gate"
    os.mkfifo(gate)
    bed.start_exechealthz(f"--cmd=cat {gate}", "--period=1h", "--latency=2h", "--start-unhealthy")
    status, body = bed.healthz()
    assert status == 503 and body.endswith("error waiting for first run\n")
    gate.write_text("open")
    wait_until(lambda: bed.healthz() == (200, "ok"), "200 after the first run")


def test_listens_on_the_address_alone(bare_bed):
    bed = bare_bed
    bed.command("exechealthz", "--address=127.0.0.2", f"--port={bed.healthz_port}", "--cmd=true").start()
    wait_until(lambda: http_get(f"http://127.0.0.2:{bed.healthz_port}/healthz")[0] == 200, "127.0.0.2")
    with pytest.raises(OSError):
        http_get(f"http://127.0.0.1:{bed.healthz_port}/healthz")


def test_listens_on_a_unix_socket_without_a_port(bare_bed):
    bed = bare_bed
    path = bed.folder / "healthz"
    for _ in range(2):  # the second replaces the socket that the first, killed, has left
        program = bed.command("exechealthz", f"--address=unix:{path}", "--cmd=true").start()

        def check(page: str) -> int:
            return bed.command("exechealthz", f"-healthcheck=http://unix:{path}:{page}").start().wait()

        wait_until(lambda: check("/healthz") == 0, "healthy")
        assert check("/no-such-page") == 1
        program.kill()
        assert check("/healthz") == 1
    path.unlink()
    path.write_text("a file")
    program = bed.command("exechealthz", f"--address=unix:{path}", "--cmd=true").start()
    assert program.wait() == 1 and path.read_text() == "a file"


def test_metrics(bare_bed):
    bed = bare_bed
    flags = ["--cmd=true", "--url=/good", "--cmd=false", "--url=/bad", "--cmd=cat /dev/zero", "--url=/slow"]
    bed.command("exechealthz", f"--port={bed.healthz_port}", "--period=10ms", "--timeout=3s", *flags).start()
    wait_until(lambda: sample(bed, "exechealthz_run_timeouts_total", path="/slow") >= 2, "timeouts")
    wait_until(lambda: sample(bed, "exechealthz_run_failures_total", path="/bad") >= 2, "failures")
    wait_until(lambda: sample(bed, "exechealthz_runs_total", path="/good") >= 2, "runs")
    page = metrics(bed)
    healthy = page["exechealthz_healthy"].samples
    assert [healthy[("exechealthz_healthy", (("path", p),))] for p in ("/good", "/bad", "/slow")] == [1, 0, 0]
    runs = sum(page["exechealthz_runs_total"].samples.values())
    assert page["exechealthz_run_seconds"].samples[("exechealthz_run_seconds_count", ())] == runs
    assert sample(bed, "exechealthz_run_timeouts_total", path="/bad") == 0


def is_alive(pid: int) -> bool:
    """A zombie counts as dead: reaping it is its parent's job."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def started_by(program, path: Path) -> list[int]:
    """The pids in the first complete line of the file, once it is written."""
    text = program.wait_ready(lambda: path.exists() and "\n" in path.read_text() and path.read_text(), path)
    return [int(pid) for pid in text.split("\n")[0].split()]


def family(path: Path) -> str:
    """A command with children and grandchildren that ignores SIGTERM, as they do, and never ends."""
    return f"trap '' TERM; (sleep 1000 & wait) & a=$!; sleep 1000 & echo $$ $a $! >>{path}; wait"


def test_a_family_that_ignores_sigterm_is_gone_at_the_timeout(bare_bed, tmp_path):
    pids = tmp_path / "pids"
    bare_bed.start_exechealthz(f"--cmd={family(pids)}", "--period=50ms", "--timeout=500ms")
    family_pids = started_by(bare_bed.exechealthz, pids)
    assert len(family_pids) == 3
    wait_until(lambda: not any(is_alive(pid) for pid in family_pids), "all gone")
    wait_until(lambda: "signal: killed" in bare_bed.healthz()[1], "the reason")


def test_sigterm_ends_it_at_once_with_its_command(bare_bed, tmp_path):
    pids = tmp_path / "pids"
    bare_bed.start_exechealthz(f"--cmd={family(pids)}", "--period=10ms", "--latency=1h")
    family_pids = started_by(bare_bed.exechealthz, pids)
    bare_bed.exechealthz.signal(signal.SIGTERM)
    assert bare_bed.exechealthz.wait() == 0
    wait_until(lambda: not any(is_alive(pid) for pid in family_pids), "all gone")


def test_commands_at_changes_of_health(bare_bed, tmp_path):
    """All probes together: skydns and a file. The variables say which probe failed and why; the end is unhealthy."""
    bed = bare_bed
    start_store(bed)
    flag, log = tmp_path / "flag", tmp_path / "log"
    flag.touch()
    told = f"echo $EXECHEALTHZ_PROBE,$EXECHEALTHZ_REASON >>{log}"
    bed.start_exechealthz(
        f"--cmd=test -e {flag}", f"--dns=kubedns={NAME},A,127.0.0.1:{bed.dns.port}", "--period=50ms", "--timeout=5s",
        f"--on-unhealthy=echo down >>{log}; {told}", f"--on-healthy=echo up >>{log}",
    )  # fmt: skip
    right = ["up"]

    def wait_told(*more: str) -> None:
        right.extend(more)
        wait_equal(lambda: log.read_text().splitlines() if log.exists() else [], right, "the lines of the commands")

    wait_told()
    flag.unlink()
    wait_told("down", "/healthz,exit status 1")
    flag.touch()
    wait_told("up")
    bed.skydns.stop()
    wait_told("down", f"kubedns,ask 127.0.0.1:{bed.dns.port}: Connection refused")
    bed.start_skydns()
    wait_told("up")
    wait_until(lambda: 'action_runs_total{flag="on-healthy"} 3\n' in ask(bed, "/metrics")[2], "the last one has ended")
    page = ask(bed, "/metrics")[2]
    for line in ('runs_total{flag="on-unhealthy"} 2', 'runs_total{flag="on-healthy"} 3', 'failures_total{flag="on-healthy"} 0'):
        assert f"exechealthz_action_{line}\n" in page
    bed.exechealthz.signal(signal.SIGTERM)
    assert bed.exechealthz.wait() == 0
    assert log.read_text().splitlines() == [*right, "down", ",exechealthz stops"]


# ---- DNS ----


def test_dns_probe_follows_skydns(bare_bed):
    bed = bare_bed
    start_store(bed)
    server = f"127.0.0.1:{bed.dns.port}"
    bed.start_exechealthz(f"--dns=kubedns={NAME},A,{server}", "--period=100ms", "--timeout=20s", "--start-unhealthy")
    wait_until(lambda: ask(bed, "/healthcheck/kubedns")[0] == 200, "an answer")
    status, kind, body = ask(bed, "/healthcheck/kubedns")
    assert (status, kind) == (200, "application/json")
    reply = json.loads(body)
    assert list(reply) == ["IsOk", "LatencySeconds", "Err"]
    assert reply["IsOk"] is True and 0 < reply["LatencySeconds"] < 20 and reply["Err"] == ""
    assert bed.healthz() == (200, "ok")
    bed.skydns.stop()
    wait_until(lambda: ask(bed, "/healthcheck/kubedns")[0] == 503, "503 without skydns")
    assert json.loads(ask(bed, "/healthcheck/kubedns")[2])["IsOk"] is False
    status, body = bed.healthz()
    assert status == 503 and body.startswith(f"DNS probe kubedns of {server}, A: ")
    bed.start_skydns()
    wait_until(lambda: bed.healthz() == (200, "ok"), "200 with skydns")


def test_dns_probes_of_several_kinds(bare_bed):
    bed = bare_bed
    start_store(bed)
    server = f"127.0.0.1:{bed.dns.port}"
    bed.start_exechealthz(
        "--cmd=true",
        f"--dns={NAME},{server}",
        f"--dns=srv={NAME},SRV,{server}",
        f"--dns=second={NAME.upper()}.,a,{server}",
        f"--dns=none=nothing.default.svc.cluster.local,{server}",
        "--period=50ms",
        "--timeout=20s",
    )
    for label in ("kubernetes", "srv", "second"):
        wait_until(lambda: ask(bed, f"/healthcheck/{label}")[0] == 200, label)
    wait_until(lambda: "NXDOMAIN" in ask(bed, "/healthcheck/none")[2], "the reason")
    assert bed.healthz() == (200, "ok")  # the command's samples
    labels = ("kubernetes", "srv", "second", "none")
    page = parse(ask(bed, "/metrics")[2], old_counters=tuple(f"kubedns_probe_{n}_errors" for n in labels))
    latency = page["kubedns_probe_srv_latency_ms"].samples
    bounds = [dict(labels)["le"] for name, labels in latency if name.endswith("_bucket")]
    assert bounds == [f"{0.25 * 2**n:.15g}" for n in range(16)] + ["+Inf"]
    assert latency[("kubedns_probe_srv_latency_ms_count", ())] >= 1
    assert page["kubedns_probe_srv_errors"].samples[("kubedns_probe_srv_errors", ())] == 0
    assert page["kubedns_probe_none_errors"].samples[("kubedns_probe_none_errors", ())] >= 1


def test_dns_probe_needs_no_shell_and_no_resolver(bare_bed, tmp_path):
    """No PATH, no resolver settings: nobody listens, and the reply says so: refused."""
    bed = bare_bed
    program = bed.command("exechealthz", f"--port={bed.healthz_port}", f"--dns=x={NAME},127.0.0.1:{reserve_port()}")
    program.env = {"PATH": "/nonexistent", "LOCALDOMAIN": "", "RES_OPTIONS": ""}
    program.start()
    wait_until(lambda: "refused" in ask(bed, "/healthcheck/x")[2].lower(), "refused")

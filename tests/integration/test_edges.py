"""Wrong command lines, ports in use, missing peers, and the end by SIGTERM."""

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import reserve_port

ETCD = "--etcd-server=http://127.0.0.1:1"
CONTEXT = "contexts: [{name: c, context: {cluster: a}}]\n"
PROGRAMS = ("kube2sky", "skydns", "exechealthz")


def run(program: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(BIN_DIR / program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def assert_one_line(result: subprocess.CompletedProcess, status: int, *words: str) -> None:
    lines = result.stderr.splitlines()
    assert result.returncode == status, result
    assert len(lines) == 1, result.stderr
    assert result.stdout == ""
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("kube2sky", ["--nonsense"], ["nonsense"]),
        ("kube2sky", ["stray"], ["stray"]),
        ("kube2sky", ["--healthz-port=http"], ["healthz-port", "http"]),
        ("kube2sky", ["--healthz-port=70000"], ["healthz-port", "70000"]),
        ("kube2sky", ["--etcd-mutation-timeout=soon"], ["etcd-mutation-timeout", "soon"]),
        ("kube2sky", ["--etcd-server=ftp://x"], ["ftp://x"]),
        ("kube2sky", ["--etcd-server"], ["etcd-server"]),
        ("kube2sky", ["--domain=bad..name"], ["bad..name"]),
        ("kube2sky", [ETCD, "--kube-master-url=nonsense"], ["nonsense"]),
        ("kube2sky", ["--ttl=0"], ["-ttl", "from 1 to"]),
        ("kube2sky", ["--log-format=xml"], ["-log-format", "xml", "text|json"]),
        ("skydns", ["-log-format=xml"], ["-log-format", "xml", "text|json"]),
        ("kube2sky", ["--log-level=loud"], ["-log-level", "loud", "error|warn|info|debug"]),
        ("skydns", ["-log-level=loud"], ["-log-level", "loud", "error|warn|info|debug"]),
        ("exechealthz", ["--log-level="], ["-log-level", "``", "error|warn|info|debug"]),
        ("kube2sky", ["--etcd-certfile=/a"], ["-etcd-certfile", "-etcd-keyfile"]),
        ("skydns", ["-nonsense"], ["nonsense"]),
        ("skydns", ["-tls-key=/a"], ["-tls-key", "-tls-pem"]),
        ("skydns", ["-addr=localhost:53"], ["addr", "localhost:53"]),
        ("skydns", ["-addr=127.0.0.1"], ["addr", "127.0.0.1"]),
        ("skydns", ["-nameservers=127.0.0.1:0"], ["nameservers", "127.0.0.1"]),
        ("skydns", ["-machines=nonsense"], ["nonsense"]),
        ("skydns", ["-domain=bad..name"], ["bad..name"]),
        ("skydns", ["-round-robin=perhaps"], ["round-robin", "perhaps"]),
        ("exechealthz", ["--nonsense"], ["nonsense"]),
        ("exechealthz", ["--port=x"], ["port", "x"]),
        ("exechealthz", ["--period=2x"], ["period", "2x"]),
        ("exechealthz", ["--cmd="], ["-cmd", "expected a shell command"]),
    ],
)
def test_wrong_command_lines(program, arguments, words):
    assert_one_line(run(program, *arguments), 2, *words)


@pytest.mark.parametrize(
    ("program", "flags"),
    [
        ("kube2sky", ["--etcd-cafile", "--etcd-certfile", "--etcd-keyfile"]),
        ("skydns", ["-ca-cert", "-tls-pem", "-tls-key"]),
    ],
)
def test_tls_files_that_cannot_be_used(program, flags, tmp_path):
    own = {"kube2sky": [f"--healthz-port={reserve_port()}"], "skydns": [f"-addr=127.0.0.1:{reserve_port()}"]}
    ca, cert, key = flags
    absent, text = tmp_path / "absent", tmp_path / "text"
    text.write_text("no certificate\n")
    for arguments, file in [
        ([f"{ca}={absent}"], absent),
        ([f"{ca}={text}"], text),
        ([f"{cert}={absent}", f"{key}={text}"], absent),
        ([f"{cert}={text}", f"{key}={absent}"], text),
    ]:
        assert_one_line(run(program, *own[program], *arguments), 1, "TLS", str(file))


@pytest.mark.parametrize(
    ("program", "arguments", "flag"),
    [
        ("skydns", ["-addr=127.0.0.1:{free}", "-http-addr=127.0.0.1:{taken}"], "-http-addr"),
        ("kube2sky", ["--kube-master-url=http://127.0.0.1:{free}", "--healthz-port={taken}"], "-healthz-port"),
        ("exechealthz", ["--cmd=true", "--port={taken}"], "-port"),
    ],
)
def test_http_port_in_use_names_its_flag(program, arguments, flag, taken_port):
    values = {"taken": taken_port, "free": reserve_port()}
    result = run(program, *(argument.format(**values) for argument in arguments))
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]  # skydns may warn of few descriptors before
    assert f"flag {flag}: " in last and str(taken_port) in last and "Address already in use" in last


def test_bare_programs_look_for_etcd_in_the_same_places():
    defaults = {
        re.search(r"-(?:machines|etcd-server)=.*\n.*\(default (.*?)\)", run(program, "-help").stdout)[1]
        for program in ("skydns", "kube2sky")
    }
    assert len(defaults) == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_and_version(program):
    shown = run(program, "--help")
    assert shown.returncode == 0 and shown.stderr == "" and len(shown.stdout.splitlines()) > 4
    version = run(program, "--version")
    assert version.returncode == 0 and any(c.isdigit() for c in version.stdout)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["kubeconfig"]),
        ("", ["kubeconfig"]),
        ("{[", ["kubeconfig"]),
        ("apiVersion: v1\nkind: Config\n", ["kubeconfig"]),
        ("clusters: [{name: a, cluster: {}}]\n" + CONTEXT + "current-context: c\n", ["server"]),
        ("clusters: [{name: a, cluster: {server: 'http://x'}}]\n" + CONTEXT + "current-context: d\n", ["d"]),
    ],
    ids=["absent", "empty", "no yaml", "no clusters", "no server", "no such context"],
)
def test_unreadable_kubeconfig(tmp_path, text, words):
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    result = run("kube2sky", ETCD, f"--kubecfg-file={path}", f"--healthz-port={reserve_port()}")
    assert result.returncode in (1, 2) and len(result.stderr.splitlines()) == 1
    for word in [str(path), *words]:
        assert word in result.stderr


def test_no_service_account_and_no_server_said():
    result = run("kube2sky", ETCD, f"--healthz-port={reserve_port()}")
    assert result.returncode in (1, 2) and len(result.stderr.splitlines()) == 1
    assert "KUBERNETES_SERVICE_HOST" in result.stderr or "serviceaccount" in result.stderr


def flags_in_help(program: str) -> set[str]:
    return set(re.findall(r"^  -([a-z0-9-]+)", run(program, "-help").stdout, re.M))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_flag_is_in_the_man_page_and_the_compatibility_table(program):
    """And they name no flag that there is not."""
    root = Path(__file__).resolve().parents[2]
    page = (root / program / f"{program}.8.scd").read_text()
    options = re.search(r"^# (?:OPTIONS|FLAGS)\n(.*?)^# ", page, re.M | re.S).group(1)
    heads = [line for line in options.splitlines() if re.match(r"\*-", line)]
    in_page = {name for line in heads for name in re.findall(r"\*--?([a-z0-9-]+)\*", line)} - {"help"}
    row = re.search(rf"^\| {program} \|(.*)$", (root / "COMPATIBILITY.md").read_text(), re.M).group(1)
    in_table = {name for span in re.findall(r"`([^`]*)`", row) for name in re.findall(r"(?:^|\s)--?([a-z0-9-]+)", span)}
    shown = flags_in_help(program)
    hidden = {name for name in in_page - shown if run(program, f"-{name}=true", "-version").returncode == 0}
    assert in_page == shown | hidden
    assert in_table - shown <= hidden and shown - in_table <= {"v", "version"}


def test_glog_flags_that_change_nothing_are_told(bed):
    bed.start_kube2sky("--log_dir=/tmp", "--logtostderr", "--v=2")
    bed.kube2sky.wait_line("flag ignored")  # HTTP may be ahead of the log's pipe
    told = [line for line in bed.kube2sky.lines if "flag ignored" in line]
    assert len(told) == 1 and told[0].startswith("warn ") and "flag=log-dir" in told[0]


def test_json_lines(bed):
    bed.start_kube2sky("--log-format=json")
    bed.start_skydns("-no-rec", "-log-format=json", "-verbose")
    assert bed.dns.answers("kubernetes.default.svc.cluster.local")
    bed.skydns.wait_line(r"kubernetes\.default")
    for program in (bed.kube2sky, bed.skydns):
        program.stop()
        lines = [json.loads(line) for line in program.lines]
        assert lines
        for line in lines:
            assert list(line)[:3] == ["level", "time", "message"]


def test_exit_on_etcd_timeout(bare_bed):
    """With the flag it exits, at the start and later."""
    bed = bare_bed
    bed.start_etcd()
    bed.start_apiserver()
    bed.start_kube2sky("--exit-on-etcd-timeout", "--etcd-mutation-timeout=4s")  # a slow machine starts in less
    bed.etcd_program.stop(expected=(0, -15))
    assert bed.kube2sky.wait() == 255
    assert any("error " in line and "exiting" in line for line in bed.kube2sky.lines)
    bed.kube2sky.argv.append("--etcd-mutation-timeout=200ms")  # etcd is away: nothing can be too slow
    bed.start_kube2sky(is_waiting=False)
    assert bed.kube2sky.wait() == 255


def test_another_ttl_rewrites_every_record(bed):
    bed.start_kube2sky()
    before = bed.etcd.values("/skydns/")
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.start_kube2sky("--ttl=5")
    after = bed.etcd.values("/skydns/")
    assert sorted(after.values()) == sorted(text.replace('"ttl":30', '"ttl":5') for text in before.values())


@pytest.fixture
def taken_port():
    number = reserve_port()
    with socket.create_server(("0.0.0.0", number)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", number))
        yield number


def test_kube2sky_address_of_another_machine():
    result = run("kube2sky", ETCD, "--kube-master-url=http://127.0.0.1:1", "--healthz-address=192.0.2.1")
    assert_one_line(result, 1, "flag -healthz-address: listen on 192.0.2.1:8081")


def test_skydns_port_in_use(taken_port):
    assert_one_line(
        run("skydns", "-machines=http://127.0.0.1:1", f"-addr=127.0.0.1:{taken_port}", "-no-rec"),
        1,
        str(taken_port),
    )


def test_sigterm_while_every_peer_is_away(bare_bed):
    """A program that waits for a missing peer must still end with status 0."""
    bed = bare_bed
    bed.use_kube(None, ["--kube-master-url=http://127.0.0.1:1"])
    bed.start_kube2sky(is_waiting=False)
    bed.start_skydns(is_waiting=False)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 503, "answers 503")
    bed.skydns.wait_ready(lambda: bed.dns.answers("x.cluster.local") == ["SERVFAIL"], "answers SERVFAIL")
    bed.skydns.stop()
    bed.kube2sky.stop()


def test_sigterm_as_soon_as_kube2sky_has_started(bed):
    """Whatever it is doing at that moment."""
    for _ in range(10):
        since = len(bed.kube2sky.lines) if bed.kube2sky else 0
        bed.start_kube2sky(is_waiting=False)
        bed.kube2sky.wait_line(r"\bstarted\b", since)
        bed.kube2sky.stop()


def test_prometheus_port_of_a_service_is_no_port(bare_bed):
    """Kubernetes sets PROMETHEUS_PORT=tcp://… for a Service of that name; skydns must start anyway."""
    bed = bare_bed
    bed.start_etcd()
    bed.skydns = bed.command(
        "skydns",
        f"-machines=http://127.0.0.1:{bed.etcd_port}",
        f"-addr=127.0.0.1:{bed.dns.port}",
        "-domain=cluster.local.",
        "-no-rec",
    )
    bed.skydns.env = {"PROMETHEUS_PORT": "tcp://10.0.0.3:9090"}
    bed.start_skydns()
    assert bed.dns.answers("x.cluster.local") == ["NXDOMAIN"]

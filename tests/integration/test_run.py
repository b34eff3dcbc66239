"""`make run`: the whole system with one command, its output, and that nothing is left behind."""

import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from bed import BIN_DIR
from dns_client import Dns
from kube import Kube, service
from programs import Program, http_get, reserve_port, wait_until
from records import label, value

SCRIPT = Path(__file__).resolve().parents[1] / "support/run.py"
COMMAND = ["/usr/bin/python3", str(SCRIPT), "--bin", str(BIN_DIR)]
STARTED = ("etcd", "python3", "kube2sky", "skydns", "exechealthz")  # in this order
READY = r"==== Ready: DNS on 127\.0\.0\.1:(\d+), health on (http://[\d.:]+/healthz)"


class Run:
    def __init__(self, program: Program):
        self.program = program.start()
        ready = re.search(READY, program.wait_line(READY, timeout_s=60))
        self.dns = Dns(int(ready[1]))
        self.health_url = ready[2]
        self.text = "\n".join(program.lines)
        self.children = children_of(program.pid)


def children_of(pid: int) -> set[str]:
    """Processes, as pid and start time, so that a reused pid counts as another process."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == pid and fields[0] != "Z":
            found.add(f"{stat.parent.name} {fields[19]}")
    return found


def marked(mark: str) -> list[str]:
    """Every process that inherited MARK, including a probe's commands."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}" in environ.read_text(errors="replace").split("\0"):
                found.append(environ.parent.name)
        except OSError:
            continue  # it has just exited, or is another user's
    return found


def interrupt_at(line: str, kubeconfig: str = "", number: int = signal.SIGINT) -> Program:
    """make run, which gets the signal once it has printed the line; nothing is left behind."""
    mark = uuid.uuid4().hex
    program = Program("run", COMMAND, env={"KUBECONFIG": kubeconfig, "MARK": mark}).start()
    program.wait_line(line)
    wait_until(lambda: len(marked(mark)) > 1, "its first child")
    program.signal(number)
    assert program.wait() == 0
    wait_until(lambda: not marked(mark), "every process has ended")
    return program


def is_alive(child: str) -> bool:
    pid, started = child.split()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return fields[19] == started and fields[0] != "Z"


def child_pid(run: Run, name: str) -> int:
    pids = [int(child.split()[0]) for child in run.children]
    return next(pid for pid in pids if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == name)


def nothing_left(run: Run) -> None:
    wait_until(lambda: not any(is_alive(child) for child in run.children), "every child has ended")


@pytest.fixture
def start_run():
    started = []

    def start(**env: str) -> Run:
        program = Program("run", COMMAND, env={"KUBECONFIG": ""} | env)
        started.append(program)
        return Run(program)

    yield start
    for program in started:
        program.kill()
        program.check_output()


def test_shows_the_system_and_ends_without_a_trace(start_run):
    run = start_run()
    assert len(run.children) == 5
    # The commands, with their real output.
    assert re.search(r"^\$ etcdctl .*get --prefix /skydns$", run.text, re.M)
    assert f"/skydns/local/cluster/svc/default/kubernetes/{label('10.96.0.1')}\n{value('10.96.0.1')}" in run.text
    assert "/skydns/local/cluster/svc/default/db/db-0\n" + value("10.1.0.1") in run.text
    assert re.search(r"^\$ nslookup -port=\d+ kubernetes\.default\.svc\.cluster\.local 127\.0\.0\.1$", run.text, re.M)
    assert re.search(r"^Address: 10\.96\.0\.1$", run.text, re.M)
    assert re.search(r"^\$ dig @127\.0\.0\.1 .* SRV$", run.text, re.M)
    assert re.search(r"IN\s+SRV\s+10 100 8080 api\.default\.svc\.cluster\.local\.", run.text)
    assert re.search(r"^\$ curl .*/healthz$", run.text, re.M) and "HTTP/1.1 200 OK" in run.text
    # Each program's lines begin with its name.
    # Explains an answer, and shows the other pages.
    command = next(line[2:] for line in run.program.lines if re.match(r"\$ \S*skydns -explain ", line))
    shown = subprocess.run(command, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout
    answer = "\nanswer     kubernetes.default.svc.cluster.local. 30 A 10.96.0.1\n"
    assert answer in shown and answer in run.text
    skydns, kube2sky, cache = re.findall(r"^curl (http://127\.0\.0\.1:\d+/(?:metrics|cache))$", run.text, re.M)
    assert "\nskydns_ready 1\n" in http_get(skydns)[1] and "\nkube2sky_build_info" in http_get(kube2sky)[1]
    assert any(record["host"] == "10.96.0.1" for record in json.loads(http_get(cache)[1])["records"])
    command = next(line[2:] for line in run.program.lines if re.match(r"\$ \S*kube2sky --explain ", line))
    why = subprocess.run(command, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout
    assert "default/kubernetes" in why and why.splitlines()[0] in run.text
    for name in ("skydns", "kube2sky"):
        page = re.search(rf"^{name}'s page +(http://127\.0\.0\.1:\d+/)$", run.text, re.M)[1]
        assert f"<title>{name}</title>" in http_get(page)[1]
    names = {line.split("|")[0].strip() for line in run.program.lines if re.match(r"\S+ +\| ", line)}
    assert {"etcd", "kube2sky", "skydns"} <= names
    assert http_get(run.health_url) == (200, "ok")
    assert run.dns.answers("db.default.svc.cluster.local") == ["10.1.0.1", "10.1.0.2"]

    run.program.signal(signal.SIGINT)
    assert run.program.wait() == 0
    nothing_left(run)
    assert "killed" not in "\n".join(run.program.lines)


def test_a_service_added_as_it_says(start_run):
    run = start_run()
    create, ask, delete = (
        next(line for line in run.program.lines if re.match(start, line))
        for start in ("kubectl.* create ", "dig .* web", "kubectl.* delete ")
    )
    if shutil.which("kubectl"):
        subprocess.run(create, shell=True, check=True, capture_output=True, timeout=60)
    else:
        Kube(re.search(r"http://\S+", create)[0]).create("services", service("web"))
    name = "web.default.svc.cluster.local"
    wait_until(lambda: run.dns.answers(name)[0].startswith("10.96."), "the new Service is answered")
    shown = subprocess.run(ask, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout
    assert shown.split() == run.dns.answers(name)
    if shutil.which("kubectl"):
        subprocess.run(delete, shell=True, check=True, capture_output=True, timeout=60)
    else:
        Kube(re.search(r"http://\S+", create)[0]).delete("services", "web")
    wait_until(lambda: run.dns.answers(name) == ["NXDOMAIN"], "the deleted Service is not answered")
    run.program.stop()
    nothing_left(run)


def test_a_second_one_beside_the_first_takes_other_ports(start_run):
    first = start_run()
    second = start_run()
    assert first.dns.port != second.dns.port
    assert second.dns.answers("kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    second.program.stop()
    assert first.dns.answers("kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    first.program.stop()


def test_nothing_survives_its_kill(start_run):
    run = start_run()
    run.program.kill()
    nothing_left(run)


def test_a_program_that_dies_ends_the_rest(start_run):
    run = start_run()
    os.kill(child_pid(run, "skydns"), signal.SIGKILL)
    assert run.program.wait() == 1
    assert any("skydns has ended with status -9" in line for line in run.program.lines)
    nothing_left(run)


def test_a_program_that_hangs_does_not_keep_it(start_run):
    run = start_run()
    os.kill(child_pid(run, "skydns"), signal.SIGSTOP)
    run.program.signal(signal.SIGINT)
    assert run.program.wait() == 0
    assert any("skydns did not exit: killed" in line for line in run.program.lines)
    nothing_left(run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("line", [*(rf"^run +\| \S*{name} " for name in STARTED), "^====", r"^\$ dig"])
def test_ctrl_c_while_it_starts(line, number):
    program = interrupt_at(line, number=number)
    # Later lines may still appear.
    assert "etcd" not in line or not any(re.search(READY, line) for line in program.lines)


def listening_sockets(pid: int) -> list[tuple[str, str]]:
    """TCP listeners, and UDP sockets that accept datagrams from anyone: protocol and address."""
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(fd)))
        except OSError:
            continue  # it has just closed
    found = []
    for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for row in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == state and fields[9] in inodes:
                found.append((protocol, address_of(fields[1].split(":")[0])))
    return found


def address_of(text: str) -> str:
    """From /proc/net: words in the machine's byte order."""
    words = [int(text[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(text), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def test_listens_on_loopback_only(start_run):
    """Even if the environment names other addresses."""
    asked = f"http://0.0.0.0:{reserve_port()}"
    run = start_run(PROMETHEUS_PORT=str(reserve_port()), ETCD_LISTEN_METRICS_URLS=asked)
    pids = {name: child_pid(run, name) for name in STARTED if name != "python3"}
    (pids["apiserver"],) = {int(child.split()[0]) for child in run.children} - set(pids.values())
    sockets = {name: listening_sockets(pid) for name, pid in pids.items()}
    # etcd: clients and peers; skydns: HTTP, and DNS over TCP and, in each worker, UDP.
    streams = {name: sum(protocol.startswith("tcp") for protocol, _ in found) for name, found in sockets.items()}
    assert streams == {"etcd": 2, "kube2sky": 1, "skydns": 2, "exechealthz": 1, "apiserver": 1}
    assert any(protocol.startswith("udp") for protocol, _ in sockets["skydns"])
    outside = [(name, at) for name, found in sockets.items() for at in found if not is_loopback(at[1])]
    assert not outside
    assert not listening_sockets(run.program.pid)


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def test_programs_that_are_not_built_are_one_line(tmp_path):
    program = Program("run", ["/usr/bin/python3", str(SCRIPT), "--bin", str(tmp_path)], env={"KUBECONFIG": ""}).start()
    assert program.wait() == 1
    assert any(line.startswith("run: ") and "kube2sky cannot be started" in line for line in program.lines)

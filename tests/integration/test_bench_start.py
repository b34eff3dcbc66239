"""The tool that tells when a server just started gives right answers, against a server whose answers are scripted. No
test depends on speed.
"""

import subprocess
import sys

from bed import BIN_DIR
from programs import reserve_port

TOOL = BIN_DIR.parent / "tests/bench/start/bench_start"
NAMES = [f"svc-{number}.test" for number in range(100)]
LAST = NAMES[-1]

# Answers each A query with 10.0.0.1, but so many times for each name in `worse` with what stands there.
SERVER = """
import socket, sys, time
import dns.message, dns.rrset
port, worse = int(sys.argv[1]), eval(sys.argv[2])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", port))
while True:
    wire, peer = server.recvfrom(512)
    query = dns.message.from_wire(wire)
    asked = query.question[0].name
    name = asked.to_text(omit_final_dot=True)
    what = worse[name].pop(0) if worse.get(name) else "10.0.0.1"
    reply = dns.message.make_response(query)
    if what == "nxdomain":
        reply.set_rcode(3)
    elif what == "other question":
        reply.question[0].name = dns.name.from_text("x" + name)
    elif what not in ("nodata", "silent", "exit"):
        reply.answer = [dns.rrset.from_text(asked, 30, "IN", "A", *what.split())]
    if what == "exit":
        sys.exit(0)
    if what != "silent":
        server.sendto(reply.to_wire(), peer)
"""


def run(tmp_path, worse: dict[str, list[str]]) -> subprocess.CompletedProcess:
    names, port = tmp_path / "names", str(reserve_port())
    names.write_text("".join(f"{name} 10.0.0.1\n" for name in NAMES))
    command = [TOOL, port, names, sys.executable, "-c", SERVER, port, repr(worse)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def measured(done: subprocess.CompletedProcess) -> dict[str, float]:
    assert done.returncode == 0, done.stderr
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def test_times_are_in_order(tmp_path):
    got = measured(run(tmp_path, {}))
    assert 0 < got["first_s"] <= got["spread_s"] <= got["pass_s"]
    assert got["not_right"] == 0


NOT_RIGHT = ["nxdomain", "nodata", "10.0.0.2", "10.0.0.1 10.0.0.2", "silent", "other question"]


def test_answers_that_are_not_right_are_counted(tmp_path):
    worse = {NAMES[10 + number]: [what] for number, what in enumerate(NOT_RIGHT)}
    assert measured(run(tmp_path, worse))["not_right"] == len(NOT_RIGHT)


def test_clock_runs_until_the_first_right_answer(tmp_path):
    """Those before it do not count as wrong: the server is not ready yet."""
    assert measured(run(tmp_path, {LAST: NOT_RIGHT * 2}))["not_right"] == 0


def test_server_that_exits_is_seen(tmp_path):
    done = run(tmp_path, {NAMES[50]: ["exit"]})
    assert done.returncode == 2
    assert "exited" in done.stderr

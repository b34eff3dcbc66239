"""The bed of the fault tests: a cluster's worth of Services that never change, under a query load; a writer that
changes others; and the checks after every fault.

    with bed.under_load() as load: the fault starts and ends
    # here: no wrong answer, no SERVFAIL, no unanswered query, and every record is right again
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from bed import BIN_DIR, Bed
from churn import STEADY, Churn
from dns_client import Dns
from etcd_client import EtcdClient
from kube import port, service
from programs import reserve_port, wait_until
from query_load import Question, QueryLoad
from records import SVC, service_records
from restarts import Restarts
from watched import Watched

SERVICES = 200

# Only ends a hang. The figures show the times in seconds; a slow machine must not fail a test.
PATIENCE_S = 60.0
# Tests assert time goals multiplied by this.
SLACK = 10

# A longer outage of etcd shows in /readiness?strict.
_OVERDUE = "1s"

_SUMMARY = BIN_DIR.parent / "faults.txt"


def missing_flags(*flags: str) -> str:
    """Why a test that needs these flags of skydns or kube2sky cannot run; empty if it can."""
    missing = [flag for flag in flags if not re.search(rf"^ +{flag}\b", _help_text(), re.M)]
    return f"no flag {', '.join(missing)}" if missing else ""


@cache
def _help_text() -> str:
    """The help of both programs."""
    commands = ([str(BIN_DIR / name), "-help"] for name in ("skydns", "kube2sky"))
    return "".join(subprocess.run(c, capture_output=True, text=True, timeout=60).stdout for c in commands)


def full(name: str) -> str:
    return f"{name}.default.svc.cluster.local"


class FaultBed(Bed):
    def __init__(self, folder: Path, name: str):
        super().__init__(folder)
        self.name = name  # the test's, in the summary
        self.figures: list[str] = []
        self.kube2sky_flags: list[str] = []
        self.skydns_flags: list[str] = []
        self.skydns_prefix: tuple[str, ...] = ()  # a command that executes skydns
        self.churn: Churn | None = None  # while under load
        self.watched: list[Watched] = []  # both programs
        self._markers = 0

    # ---- Start ----

    def command(self, name: str, *arguments: str):
        """Memory that a sanitizer holds back after free must not look like growth."""
        program = super().command(name, *arguments)
        options = os.environ.get("ASAN_OPTIONS", "")
        program.env = {"ASAN_OPTIONS": f"{options}:quarantine_size_mb=8".lstrip(":")}
        return program

    def start(self) -> None:
        """API server and both programs, everything in sync. etcd must already serve."""
        self.start_apiserver()
        self.kube.control("bulk", count=SERVICES, prefix="stable-")
        http_port = reserve_port()
        self.start_kube2sky(f"--etcd-mutation-timeout={_OVERDUE}", *self.kube2sky_flags)
        flags = ("-no-rec", f"-etcd-timeout={_OVERDUE}", f"-http-addr=127.0.0.1:{http_port}", *self.skydns_flags)
        self.start_skydns(*flags, prefix=self.skydns_prefix)
        self.watched = [
            Watched(self.skydns, http_port, "skydns_"),
            Watched(self.kube2sky, self.readiness_port, "kube2sky_"),
        ]

    def use_cluster(self, cluster) -> None:
        """Replaces the bed's own etcd."""
        self.etcd_urls = cluster.urls()
        self.programs = [member.program for member in cluster.members]
        self.use_store_of(cluster.members[0])

    def use_store_of(self, member) -> None:
        """Chooses the member that the test itself queries."""
        self.etcd = EtcdClient(member.client_port, member.address)

    def questions(self, churn: Churn) -> list[Question]:
        """All kinds: addresses, a name without such records, a name that does not exist, SRV."""
        questions = [Question(full(STEADY), "A", [churn.steady_ip])]
        for item in self.kube.request("GET", "/api/v1/services")["items"]:
            name, ip = item["metadata"]["name"], item["spec"]["clusterIP"]
            if name.startswith("stable-"):
                questions += [
                    Question(full(name), "A", [ip]),
                    Question(full(name), "AAAA", []),
                    Question(full(f"no-{name}"), "A", ["NXDOMAIN"]),
                    Question(f"_http._tcp.{full(name)}", "SRV", [f"10 100 80 {full(name)}."]),
                ]
        assert len(questions) == 1 + 4 * SERVICES
        return questions

    @contextmanager
    def under_load(self, is_restarting: bool = False):
        """Queries and changes during the body; at its end everything must be right. is_restarting: also of another
        reader, with a snapshot, that is killed and started again all the time.
        """
        with Churn(self.kube.url) as churn, ExitStack() as stack:
            self.churn = churn
            self.wait_right({full(STEADY): [churn.steady_ip]})
            questions, restarts = self.questions(churn), None
            if is_restarting:
                restarts = stack.enter_context(Restarts(self, questions, *self.skydns_flags))
            load = QueryLoad(self.dns.port, questions)
            with load:
                yield load
                before = churn.changes
                wait_until(lambda: churn.changes >= before + 20, "changes after the fault", PATIENCE_S)
                churn.stop()
                self.wait_right(churn.right_answers())
                if restarts:
                    restarts.wait_right(churn.right_answers())
        if restarts:
            self.note(restarts.text())
        self.wait_store()
        for watched in self.watched:
            watched.wait_metric(1, "etcd_up")
            watched.wait_strict(200)
        self.note(load.result.text() + f"; {churn.changes} changes")

    def check_away(self, stop, start, goal_s: float) -> None:
        """What is changed after stop() is visible soon after start(); queries are answered in between."""
        with self.under_load(is_restarting=True) as load:
            stop()
            made = self.change()
            load.wait_sent(2000)
            start()
            self.wait_visible(made, time.monotonic(), "changes visible after", goal_s)

    def close(self) -> None:
        """Kills etcd members: without a quorum they take long to shut down, which is not tested here."""
        members = [program for program in self.programs if program.name.startswith("etcd")]
        self.programs = [program for program in self.programs if program not in members]
        for program in self.programs:
            if program.is_running():
                program.signal(signal.SIGCONT)  # a test that failed may have left it stopped
        try:
            super().close()
        finally:
            for program in members:
                program.kill()

    # ---- Checks ----

    def wait_right(self, right: dict[str, list[str]]) -> None:
        impatient = Dns(self.dns.port, timeout_s=2.0)
        wrong = dict(right)

        def is_right() -> bool:
            for name in list(wrong):
                if impatient.answers(name) == wrong[name]:
                    del wrong[name]
            return not wrong

        try:
            wait_until(is_right, "the records", PATIENCE_S)
        except AssertionError:
            got = {name: impatient.answers(name) for name in wrong}
            raise AssertionError(f"expected {wrong}, got {got}\n{self.log_text()}") from None

    def wait_store(self) -> None:
        """etcd holds the keys of the API's Services, nothing else."""
        right = {}
        for item in self.kube.request("GET", "/api/v1/services")["items"]:
            ports = [(p["protocol"].lower(), p["name"], p["port"]) for p in item["spec"]["ports"]]
            right |= service_records(item["metadata"]["name"], item["spec"]["clusterIP"], *ports)
        self.wait_records(SVC + "/", right)

    def log_lengths(self) -> list[int]:
        """For wait_told: the place in the logs from which it searches."""
        return [len(watched.program.lines) for watched in self.watched]

    def wait_told(self, pattern: str, since: list[int]) -> None:
        """Both programs report that etcd is unusable: in a log line, the metrics and the strict probe."""
        for watched, first in zip(self.watched, since):
            watched.program.wait_line(pattern, first, PATIENCE_S)
            what = f"/readiness?strict 503 with {pattern}"
            watched.program.wait_ready(lambda w=watched: re.search(pattern, w.wait_strict(503)), what, PATIENCE_S)
            page = watched.metrics()
            assert (page.get("etcd_up"), page.get("etcd_overdue")) == (0, 1)

    def check_counted(self, name: str, **labels: str) -> None:
        """Both programs have counted it at least once."""
        for watched in self.watched:
            assert watched.metrics().get(name, **labels) >= 1, (watched.prefix, name, labels)

    # ---- Many Services at once, by the API server's bulk control ----

    def _bulk_ip(self, number: int, salt: int) -> str:
        value = number + salt
        return f"172.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"

    def wait_bulk(self, count: int, salt: int) -> None:
        """Waits until etcd has all of them."""
        right = {}
        for number in range(count):
            right |= service_records(f"bulk-{number}", self._bulk_ip(number, salt), ("tcp", "http", 80))

        def is_written() -> bool:
            values = self.etcd.values(f"{SVC}/default/bulk-")
            return values == right

        wait_until(is_written, f"{len(right)} keys", PATIENCE_S)

    def wait_last_of_bulk(self, count: int, salt: int) -> None:
        """Waits until etcd has the last one changed."""
        name = f"bulk-{count - 1}"
        right = service_records(name, self._bulk_ip(count - 1, salt), ("tcp", "http", 80))

        def is_written() -> bool:
            return self.etcd.values(f"{SVC}/default/{name}/") == right

        wait_until(is_written, name, PATIENCE_S)

    def newest_bulk(self) -> dict[str, list[str]]:
        """The last one changed."""
        entries = self.etcd.get_prefix(f"{SVC}/default/bulk-")
        newest = max(
            (key for key in entries if "/_tcp/" not in key), key=lambda key: entries[key].mod_revision
        )
        name = newest.split("/")[-2]
        return {full(name): [json.loads(entries[newest].value)["host"]]}

    def check_bulk(self, count: int, salt: int) -> None:
        for number in range(count):
            assert self.dns.answers(full(f"bulk-{number}")) == [self._bulk_ip(number, salt)]

    # ---- Times ----

    def change(self) -> dict[str, list[str]]:
        """Creates a Service: the answers expected once it has arrived."""
        self._markers += 1
        made = self.kube.create("services", service(f"marker-{self._markers}", port(80, "http")))
        return {full(made["metadata"]["name"]): [made["spec"]["clusterIP"]]}

    def undo(self, made: dict[str, list[str]]) -> dict[str, list[str]]:
        for name in made:
            self.kube.delete("services", name.split(".")[0])
        return {name: ["NXDOMAIN"] for name in made}

    def seconds_until_right(self, right: dict[str, list[str]]) -> float:
        since_s = time.monotonic()
        self.wait_right(right)
        return time.monotonic() - since_s

    def wait_visible(self, right: dict[str, list[str]], since_s: float, what: str, goal_s: float) -> None:
        self.wait_right(right)
        self.note_time(what, time.monotonic() - since_s, goal_s)

    def note_time(self, what: str, seconds: float, goal_s: float) -> None:
        self.note(f"{what} {seconds:.2f} s (goal {goal_s:g})")
        assert seconds <= goal_s * SLACK, f"{what}: {seconds:.2f} s, expected {goal_s:g}"

    # ---- Summary ----

    def note(self, figure: str) -> None:
        self.figures.append(figure)

    def write_summary(self) -> None:
        """One line per test, replaced when it runs again. Other files' tests may run at the same time."""
        with open(_SUMMARY, "a+") as summary:
            fcntl.flock(summary, fcntl.LOCK_EX)
            summary.seek(0)
            lines = [line for line in summary.read().splitlines() if not line.startswith(self.name + ": ")]
            if self.figures:
                lines.append(f"{self.name}: " + "; ".join(self.figures))
            summary.truncate(0)
            summary.write("".join(line + "\n" for line in sorted(lines)))


class PeakMemory:
    """Growth of a program's peak memory during the body."""

    def __init__(self, program):
        self._folder = Path(f"/proc/{program.pid}")

    def __enter__(self) -> "PeakMemory":
        (self._folder / "clear_refs").write_text("5")  # resets the peak to the current size
        self._before_kib = self._peak_kib()
        return self

    def __exit__(self, *exc) -> None:
        self.growth_kib = self._peak_kib() - self._before_kib

    def _peak_kib(self) -> int:
        status = (self._folder / "status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def news_port(pid: int) -> int:
    """The remote port of the process's TCP connection that received data last: while records change, that is a
    watch, not a connection left open after a single call.
    """
    command = ["ss", "--tcp", "--info", "--numeric", "--processes", "--no-header", "--oneline"]
    text = subprocess.run(
        [*command, "state", "established"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    ages_ms = {}
    for line in text.splitlines():
        if f"pid={pid}," in line:
            age = re.search(r"lastrcv:(\d+)", line)  # omitted if 0
            remote = line.split()[3]
            ages_ms[int(remote.rsplit(":", 1)[1])] = int(age[1]) if age else 0
    return min(ages_ms, key=ages_ms.__getitem__)

"""Several kube2sky on one etcd: one of them writes, and whatever happens to it, nothing is lost and only the
leader writes.
"""

import re
import signal
import time

import pytest
from kube import port, service
from programs import http_get, reserve_port, wait_until
from prometheus import Page
from records import SVC, service_records

LEADER_KEY = "/kube2sky/cluster.local/leader"
LEASE_S = 10
PATIENCE_S = 60.0
# Changed repeatedly while the leader is stopped: enough for transactions to be in flight.
COUNT = 5_000


class Writer:
    def __init__(self, bed):
        self._bed = bed
        self._port = reserve_port()
        self.program = bed.command(
            "kube2sky",
            f"--etcd-server={bed.etcd_urls[0]}",
            f"--healthz-port={self._port}",
            "--leader-elect",
            *bed.kube_flags,
        )
        self.program.start().wait_ready(lambda: self.ask("/readiness")[0] == 200, "ready")

    def ask(self, path: str) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self._port}{path}")

    def metrics(self) -> Page:
        return Page(self.ask("/metrics")[1], "kube2sky_")

    def is_leading(self) -> bool:
        """According to etcd: the leader's key has the name that this one last logged."""
        names = [re.search(r" leading as=(\S+)", line) for line in self.program.lines]
        held = self._bed.etcd.values(LEADER_KEY).get(LEADER_KEY)
        return held in [name[1] for name in names if name][-1:]

    def writes(self) -> int:
        page = self.metrics()
        return page.get("keys_written_total") + page.get("keys_deleted_total")


@pytest.fixture
def pair(fault_bed):
    """(bed, the leader, the other): both in sync."""
    bed = fault_bed
    bed.start_etcd()
    bed.start_apiserver()
    first = Writer(bed)
    wait_until(first.is_leading, "the only one leads")
    second = Writer(bed)
    assert not second.is_leading() and second.writes() == 0
    return bed, first, second


def make(bed, name: str) -> dict[str, str]:
    """Creates a Service and returns its keys."""
    made = bed.kube.create("services", service(name, port(80, "http")))
    return service_records(name, made["spec"]["clusterIP"], ("tcp", "http", 80))


def wait_made(bed, name: str, right: dict[str, str]) -> None:
    wait_until(lambda: bed.etcd.values(f"{SVC}/default/{name}/") == right, name, PATIENCE_S)


def check_who_wrote(bed, old: Writer | None, new: Writer) -> None:
    """Every write after the new leader's key is the new leader's, every write before it the old one's."""
    wait_until(lambda: new.metrics().get("transactions_in_flight") == 0, "acknowledged", PATIENCE_S)
    taken_over = bed.etcd.get_prefix(LEADER_KEY)[LEADER_KEY].create_revision
    changes = [revision for revision, key in bed.etcd.history(1) if key.startswith("/skydns/")]
    assert new.writes() == sum(revision > taken_over for revision in changes) > 0
    if old:
        assert old.writes() == sum(revision < taken_over for revision in changes) > 0


@pytest.mark.faults
def test_a_stopped_leader_hands_over_at_once(pair):
    bed, first, second = pair
    lease = bed.etcd.get_prefix(LEADER_KEY)[LEADER_KEY]
    first.program.stop()
    assert bed.etcd.get_prefix(LEADER_KEY).get(LEADER_KEY) != lease, "given back before it ended"
    stopped_s = time.monotonic()
    right = make(bed, "web")
    wait_made(bed, "web", right)
    bed.note_time("taken over after a SIGTERM within", time.monotonic() - stopped_s, 1)
    wait_until(second.is_leading, "the other one leads")  # its line may come after its keys
    bed.wait_model()
    check_who_wrote(bed, None, second)


@pytest.mark.faults
def test_a_killed_leader_is_replaced(pair):
    bed, first, second = pair
    first.program.kill()
    killed_s = time.monotonic()
    wait_made(bed, "web", make(bed, "web"))
    bed.note_time("taken over after a SIGKILL within", time.monotonic() - killed_s, 1.5 * LEASE_S)
    bed.wait_model()
    check_who_wrote(bed, None, second)


@pytest.mark.faults
def test_a_leader_paused_past_its_lease_writes_nothing_when_it_wakes(pair):
    """The leader is stopped in the middle of its work; its plan is outdated when it resumes."""
    bed, first, second = pair
    bed.kube.control("bulk", count=COUNT)
    wait_until(lambda: bed.etcd.get_prefix(f"{SVC}/default/bulk-"), "the first of many", PATIENCE_S)
    first.program.signal(signal.SIGSTOP)
    stopped_s = time.monotonic()
    bed.kube.control("bulk", verb="replace", count=COUNT, salt=1 << 16)
    bed.kube.control("bulk", verb="delete", count=COUNT // 2)
    wait_made(bed, "web", make(bed, "web"))
    bed.note_time("taken over after a SIGSTOP within", time.monotonic() - stopped_s, 1.5 * LEASE_S)
    wait_until(second.is_leading, "the other one leads")
    bed.wait_model()
    first.program.signal(signal.SIGCONT)
    first.program.wait_line("no longer leading", timeout_s=PATIENCE_S)
    wait_made(bed, "last", make(bed, "last"))
    wait_until(lambda: first.metrics().get("transactions_in_flight") == 0, "it has given up", PATIENCE_S)
    bed.wait_model()
    assert not first.is_leading() and second.is_leading()
    check_who_wrote(bed, first, second)

"""The legacy pod in containers: each is killed in turn, and hung in turn. The tests share one pod, and leave it healthy."""

import os
import shutil
import signal
import time

import pytest
from legacy_pod import NAMES, PATIENCE_S
from programs import wait_until

pytestmark = pytest.mark.pod

# Containers whose probe rightly fails with another's: healthz' HEALTHCHECK reports whether skydns answers.
_FALLS_WITH = {"skydns": ("healthz",)}
# A busy machine needs a few times as long as an idle one.
_SLACK = 4


class Accident:
    """A fault of one container, and the pod's time to recover: an AssertionError if another container was restarted,
    or the pod did not recover within its probe's time.
    """

    def __init__(self, pod, note, what: str, name: str):
        self._pod, self._note, self._what = pod, note, what
        self.name = name
        self.before = pod.pids()
        assert all(self.before.values())
        self._since_s = time.monotonic()

    def signal(self, number: int) -> None:
        os.kill(self.before[self.name], number)

    def wait_over(self) -> tuple[str, str]:
        """Returns a Service that was created afterwards."""
        self._pod.wait_restarted(self.name, self.before)
        service = self._pod.wait_well()
        seconds = time.monotonic() - self._since_s
        self._note(f"{self._what} {self.name}: well after {seconds:.1f} s (probe's time {self._pod.probe_s:g} s)")
        after, fallen = self._pod.pids(), (self.name, *_FALLS_WITH.get(self.name, ()))
        assert [n for n in NAMES if n not in fallen and after[n] != self.before[n]] == [], "restarted, too"
        assert seconds < self._pod.probe_s * _SLACK
        return service


@pytest.fixture
def accident(pod, note):
    def happen(what: str, name: str) -> Accident:
        return Accident(pod, note, what, name)

    return happen


def test_up(pod, note):
    """A Service is answered inside the healthz container, its keys are in etcd, and no process is root."""
    name, address = pod.wait_well()
    assert not pod.is_answered(name + "-not", address)
    assert any(key.startswith(f"/skydns/local/cluster/svc/default/{name}/") for key in pod.keys(name))
    for each in NAMES:
        assert pod.run_in(each, "id", "-u") == (0, "65532\n")
        whole, own = pod.resident_kib(each)
        note(
            f"{each}: at work {pod.seconds_to_work(each):.2f} s after its container's start,"
            f" resident {whole / 1024:.1f} MiB, of its own {own / 1024:.1f} MiB"
        )


@pytest.mark.parametrize("name", NAMES)
def test_killed(accident, name):
    killed = accident("killed", name)
    killed.signal(signal.SIGKILL)
    killed.wait_over()


def test_etcd_killed_and_emptied(pod, accident):
    """The emptyDir is emptied, too: kube2sky writes everything again."""
    before = pod.wait_well()
    killed = accident("killed and emptied", "etcd")
    data = pod.etcd_data()
    for entry in data.iterdir():
        shutil.rmtree(entry)
    killed.signal(signal.SIGKILL)
    killed.wait_over()
    pod.wait_right(before)


def _while_hung(pod, name: str, service: tuple[str, str]) -> None:
    """What must hold until a probe has restarted the container."""
    if name in ("etcd", "kube2sky"):
        assert pod.is_answered(*service), "skydns answers from memory"
    if name == "skydns":
        wait_until(lambda: pod.health() == 503, "the manifest's own probe fails", PATIENCE_S)


@pytest.mark.parametrize("name", NAMES)
def test_hung(pod, accident, name):
    """The container is stopped: its probe fails up to the threshold, and it is killed and restarted."""
    service = pod.wait_well()
    hung = accident("hung", name)
    hung.signal(signal.SIGSTOP)
    _while_hung(pod, name, service)
    hung.wait_over()

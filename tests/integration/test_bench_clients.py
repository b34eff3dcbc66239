"""Clients come and go while they ask, as `make bench-clients` does it at speed: here without regard to time, so that
each event is one to be settled, none is answered by another namespace's search path once it is, and those at rest are
answered right all the time.
"""

import sys
from pathlib import Path

import pytest
from bed import BIN_DIR

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import clients  # noqa: E402

PODS, EVENTS = 40, 25


@pytest.fixture
def flock():
    with clients.Bed(BIN_DIR.parent, PODS) as bed:
        bed.start("-autopath")
        yield bed


def events_of(bed, numbers: range) -> clients.Events:
    return clients.Events(bed.etcd.port, bed.skydns.port, list(numbers), 1)


def test_each_event_is_settled(flock, monkeypatch):
    monkeypatch.setattr(clients, "LATE_S", 20.0)  # only an answer that is never right comes so late
    events = events_of(flock, range(PODS))
    events.run(EVENTS, 0.0)
    assert len(events.settled_s) == EVENTS
    assert (events.late, events.wrong) == (0, 0)
    assert events.asked >= 4 * EVENTS


def test_what_is_not_right_is_counted(flock):
    """A pod that has left without the bench's knowledge."""
    events = events_of(flock, range(4))
    for number in range(4):
        flock.etcd.client.delete(clients.pod_key(number, number))
        flock.etcd.client.put(clients.pod_key(number, number + 1), clients.value(clients.address(number)))
    client = clients.Client(3, flock.skydns.port)
    clients.wait_until(lambda: client.is_of(4), "the last change")
    client.close()
    events.check(0, 1)
    assert (events.late, events.wrong) == (1, 1)

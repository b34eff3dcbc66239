"""Rounds of random objects, faults and restarts, of two kube2sky with a leader: after each, etcd holds what an
independent model demands (rounds_world.py, model.py), and nobody has touched the names of a namespace that nothing
happens to, though all others claim its addresses. Limits are low: four operations in a transaction, pages of five
objects, a history of 50, a lease of 2 s; a Service has too many records at times, and etcd no space.

ROUNDS is the number of rounds of all worlds together, SEED selects them: `make check-rounds ROUNDS=300`.
"""

import os
import random
import time

import pytest
from programs import wait_until
from rounds_faults import LEASE_S, PATIENCE_S, Faults, LossyPeer, Writer
from rounds_world import World, difference

ROUNDS = int(os.environ.get("ROUNDS") or 9)
SEED = os.environ.get("SEED") or "1"
CHANGES_MAX = 25
# Endpoints' names, and further flags of kube2sky; of the API server.
WORLDS = [
    ("hash", [], []),
    ("pod", ["--pods=disabled"], ["--json-only"]),
    ("address", ["--own-only-written=false"], ["--bookmark-interval=0.2"]),
]
FLAGS = ["--nodes", "--namespace-visibility", "--config-map=kube-dns", "--endpoints=slices", "--leader-elect"]
FLAGS += [f"--leader-elect-lease-duration={LEASE_S}s", "--etcd-max-txn-ops=4", "--etcd-mutation-timeout=1s"]


class Rounds:
    def __init__(self, bed, peer: LossyPeer, number: int):
        names, flags, _ = WORLDS[number]
        self._bed, self._random = bed, random.Random(f"{SEED}/{number}")
        self._world = World(bed.kube, self._random.randrange(1 << 32), names, "--pods=disabled" not in flags)
        all_flags = [*FLAGS, *flags, f"--endpoint-names={names}"]
        self._writers = [Writer(bed, f"http://127.0.0.1:{peer.port}", *all_flags) for _ in range(2)]
        self._faults = Faults(bed, peer, self._world, self._writers, self._random)
        for one in self._writers:
            one.start()
        self._wait_right("the start")
        self._steady = self._steady_revisions()

    def run(self, number: int) -> str:
        """Returns the names of the faults."""
        self._change()
        try:
            told = "+".join(self._faults.begin()) or "none"
            self._change()
        finally:
            self._faults.repair()
        self._change()
        self._wait_right(f"round {number}, faults {told}")
        self._check_steady(f"round {number}, faults {told}")
        return told

    def _change(self) -> None:
        for _ in range(self._random.randrange(CHANGES_MAX)):
            self._world.change()
        if self._random.random() < 0.1:
            self._world.toggle_big()
        if self._faults.can_write and self._random.random() < 0.5:
            self._faults.interfere()

    def _stored(self) -> dict[str, str]:
        return self._bed.etcd.values("/skydns/") | self._bed.etcd.values("/kube2sky/cluster.local/")

    def _wait_right(self, what: str) -> None:
        right, last = self._world.right(), {}

        def is_right() -> bool:
            last.clear()
            last.update(difference(self._world, right, self._stored(), self._faults.foreign))
            return not last and all(one.is_well() for one in self._writers)

        try:
            wait_until(is_right, "etcd holds what it must", PATIENCE_S)
        except AssertionError as error:
            told = "\n".join(one.told() for one in self._writers if one.program.is_running())
            raise AssertionError(f"SEED={SEED} ROUNDS={ROUNDS}, {what}: wanted, stored: {last}; {error}\n{told}") from None

    def _steady_revisions(self) -> dict[str, tuple[str, int]]:
        stored = self._bed.etcd.get_prefix("/skydns/arpa/")
        mine = [key for key in self._world.steady_keys() if ".steady." in stored[key].value]
        return {key: (stored[key].value, stored[key].mod_revision) for key in mine}

    def _check_steady(self, what: str) -> None:
        """Not written since, unless etcd lost everything: then somebody else may be the first to have a name."""
        now = self._steady_revisions()
        if self._faults.is_lost:
            self._steady = now
        lost = {key: pair for key, pair in self._steady.items() if now.get(key) != pair}
        assert not lost, f"SEED={SEED} ROUNDS={ROUNDS}, {what}: {lost}, now {now}"
        self._steady = now

    def end(self) -> None:
        """Both are started anew: everything was right already."""
        for one in self._writers:
            one.program.stop()
        before = self._bed.etcd.get_prefix("/skydns/")
        for one in self._writers:
            one.start()
        self._wait_right("the end")
        after = self._bed.etcd.get_prefix("/skydns/")
        changed = {key: (before.get(key), after.get(key)) for key in {*before, *after} if before.get(key) != after.get(key)}
        assert not changed, f"SEED={SEED} ROUNDS={ROUNDS}: written at the last start: {changed}"


@pytest.mark.parametrize("number", range(len(WORLDS)), ids=[name for name, _, _ in WORLDS])
def test_rounds(bare_bed, record_property, number):
    count = (ROUNDS + number) // len(WORLDS)
    bed, began, seen = bare_bed, time.monotonic(), {}
    print(f"SEED={SEED} ROUNDS={ROUNDS}")  # shown on failure
    bed.start_etcd()
    bed.start_apiserver("--no-mirroring", "--page-max=5", "--history=50", *WORLDS[number][2])
    with LossyPeer(bed.etcd_port) as peer:
        rounds = Rounds(bed, peer, number)
        for one in range(count):
            for name in rounds.run(one).split("+"):
                seen[name] = seen.get(name, 0) + 1
        rounds.end()
        bed.close()
    faults = ", ".join(f"{name} {times}" for name, times in sorted(seen.items()))
    record_property("figure", f"{count} rounds of SEED={SEED} in {time.monotonic() - began:.0f} s: {faults}")

"""Random faults of three members, the network between them and kube2sky, in any order: every answer is right all
the time, and every record afterwards. FAULT_STEPS is the number of faults, FAULT_SEED selects them.
"""

import os
import random
import signal

import pytest
from fault_bed import PATIENCE_S
from programs import wait_until

_STEPS = int(os.environ.get("FAULT_STEPS") or 40)
_QUERIES_MAX = 2000  # between two steps


class Chaos:
    def __init__(self, bed, cluster, network, seed: int):
        self.bed, self.cluster, self.network = bed, cluster, network
        self.random = random.Random(seed)
        self.undo = {}  # a member's fault, by the member's number -> its repair

    def step(self) -> None:
        number = self.random.randrange(len(self.cluster.members) + 1)
        if number == len(self.cluster.members):
            self.restart_kube2sky()
        elif number in self.undo:
            self.undo.pop(number)()
        else:
            ways = [self.kill, self.stop, self.cut, self.mute, self.part]
            self.undo[number] = self.random.choice(ways)(number)

    def end(self) -> None:
        for undo in self.undo.values():
            undo()
        self.cluster.wait_healthy(self.cluster.members)

    def restart_kube2sky(self) -> None:
        self.bed.kube2sky.kill()
        self.bed.start_kube2sky(is_waiting=False)

    def kill(self, number: int):
        program = self.cluster.members[number].program
        program.kill()
        return program.start

    def stop(self, number: int):
        program = self.cluster.members[number].program
        program.signal(signal.SIGSTOP)
        return lambda: program.signal(signal.SIGCONT)

    def cut(self, number: int):
        self.network.cut(number)
        return lambda: self.network.mend(number)

    def mute(self, number: int):
        self.network.mute(number)
        return lambda: self.network.unmute(number)

    def part(self, number: int):
        self.network.part(number)
        return lambda: self.network.rejoin(number)


@pytest.mark.faults
def test_anything(network_cluster):
    bed, members, network = network_cluster
    seed = int(os.environ.get("FAULT_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"FAULT_SEED={seed}")  # shown on failure
    chaos = Chaos(bed, members, network, seed)
    with bed.under_load(is_restarting=True) as load:
        for _ in range(_STEPS):
            chaos.step()
            enough = load.count() + chaos.random.randrange(_QUERIES_MAX)
            wait_until(lambda: load.count() >= enough, "queries", PATIENCE_S)
        chaos.end()
    bed.note(f"{_STEPS} faults, FAULT_SEED={seed}")

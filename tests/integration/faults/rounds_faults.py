"""What goes wrong in a round of test_rounds.py: the API server, etcd, the network to it, both kube2sky, and others who
write in etcd. A fault that lasts returns its repair.
"""

import re
import shutil
import signal
import socket

from peer import Peer
from programs import http_get, is_etcd_healthy, reserve_port, wait_until
from records import SVC
from records import value as record
from rounds_world import NAMESPACES, World, orphan
from test_config_map import DOCUMENT, STUB
from test_kube_random import ADDRESSES, CLUSTER_IPS

LEASE_S = 2
LEADER_KEY = "/kube2sky/cluster.local/leader"
PATIENCE_S = 90.0
_FIGURES = re.compile(r"kube2sky_(transaction|services_|keys_|leader|contested|etcd_)[a-z_]* ")
RESOURCES = ["services", "endpointslices", "pods", "nodes", "namespaces", "configmaps"]


class LossyPeer(Peer):
    """etcd, of which the replies can be lost: requests still arrive."""

    is_losing = False

    def pass_on(self, data: bytes, source: socket.socket, target: socket.socket) -> None:
        if not self.is_losing or source.getpeername()[1] != self._real_port:
            target.sendall(data)


class Writer:
    """One kube2sky of two."""

    def __init__(self, bed, url: str, *flags: str):
        self._port = reserve_port()
        self.program = bed.command("kube2sky", f"--etcd-server={url}", f"--healthz-port={self._port}", *bed.kube_flags, *flags)

    def start(self) -> None:
        self.program.start()

    def is_ready(self) -> bool:
        return http_get(f"http://127.0.0.1:{self._port}/readiness")[0] == 200

    def told(self) -> str:
        """What it says of itself, for a failure: twice, to see what goes on."""
        pages = [http_get(f"http://127.0.0.1:{self._port}{path}")[1] for path in ("/readiness?strict", "/plan", "/metrics", "/metrics")]
        figures = [[line for line in page.splitlines() if _FIGURES.match(line)] for page in pages[2:]]
        return f"{pages[0]}{pages[1][:2000]}{figures}"

    def is_well(self) -> bool:
        return self.is_ready() and http_get(f"http://127.0.0.1:{self._port}/healthz")[0] == 200


class Faults:
    def __init__(self, bed, peer: LossyPeer, world: World, writers: list[Writer], random):
        self._bed, self._peer, self._world, self._writers, self._random = bed, peer, world, writers, random
        self._control = bed.kube.control
        self._repairs: list = []
        self.foreign: dict[str, str] = {}  # reverse keys of another cluster
        self.is_lost = False  # etcd's data, in this round
        self.can_write = True  # etcd answers the test itself
        api = [self.drop_watches, self.silence, self.expire, self.forbid, self.fail, self.delay, self.hang_up]
        api += [self.cut_watch, self.api_away, self.duplicate, self.expire_continue]
        etcd = [self.drop_etcd, self.refuse_etcd, self.lose_replies, self.stop_etcd, self.kill_etcd, self.compact]
        etcd += [self.fill_etcd, self.wipe_etcd]
        writers = [self.kill_one, self.restart_one, self.pause_one, self.restart_all]
        self._kinds = [api, etcd, writers]

    def begin(self) -> list[str]:
        """At most one of each kind; returns their names."""
        self.is_lost, self.can_write, names = False, True, []
        for kind in self._kinds:
            if self._random.random() < 0.6:
                fault = self._random.choice(kind)
                names.append(fault.__name__)
                self._repairs.append(fault() or (lambda: None))
        return names

    def repair(self) -> None:
        while self._repairs:
            self._repairs.pop(0)()
        wait_until(lambda: is_etcd_healthy(self._bed.etcd_port), "etcd healthy", PATIENCE_S)
        self.can_write = True

    def interfere(self) -> None:
        """Somebody else writes, as wildly as anybody who has no permission to."""
        stored = self._bed.etcd.values("/skydns/") | self._bed.etcd.values("/kube2sky/cluster.local/")
        mine = [k for k in stored if self._world.covers(k) and k != DOCUMENT and k not in self._world.steady_keys()]
        mine = sorted(k for k in mine if f"{SVC}/steady/" not in k and k not in self.foreign and ".big." not in stored[k])
        for key in self._random.sample(mine, min(len(mine), self._random.randrange(4))):
            # A key that the ConfigMap no longer asks for would be the test's own, and stay.
            if self._random.random() < 0.5 or key.startswith(STUB):
                self._bed.etcd.delete(key)
            else:
                namespace = self._random.choice(NAMESPACES)
                host = f"stolen.{namespace}.svc.cluster.local." if "/arpa/" in key else "10.9.9.9"
                self._bed.etcd.put(key, record(host))
        if self._random.random() < 0.3:
            self._bed.etcd.put_all(orphan(self._random.randrange(5)))
        self._change_foreign()

    def _change_foreign(self) -> None:
        """Another cluster's reverse names: they stay until it deletes them."""
        for key in list(self.foreign):
            if self._random.random() < 0.3:
                self._bed.etcd.delete(key)
                del self.foreign[key]
        if self._random.random() < 0.3:
            ip = self._random.choice([ip for ip in ADDRESSES + CLUSTER_IPS if ":" not in ip])
            key = f"/skydns/arpa/in-addr/{ip.replace('.', '/')}"
            self.foreign[key] = record("x.default.svc.other.local.")
            self._bed.etcd.put(key, self.foreign[key])

    # ---- The API server ----

    def drop_watches(self):
        self._control("drop-watches")

    def silence(self):
        self._control("silence")
        return lambda: self._control("silence", on=False)

    def expire(self):
        self._control("expire-history")
        self._control("drop-watches")

    def forbid(self):
        resource = self._random.choice(RESOURCES)
        self._control("forbid", resource=resource)
        return lambda: self._control("forbid", resource=resource, on=False)

    def _some(self) -> dict:
        return {"count": self._random.randrange(1, 4), "match": self._random.choice(["limit=", "watch="])}

    def fail(self):
        self._control("fail", status=self._random.choice([403, 410, 429, 500, 503]), **self._some())
        self._control("drop-watches", resource=self._random.choice(RESOURCES))

    def delay(self):
        self._control("delay", seconds=self._random.random(), **self._some())
        self.expire()

    def hang_up(self):
        self._control("hang-up", **self._some())
        self._control("drop-watches")

    def cut_watch(self):
        self._control("cut-watch", resource=self._random.choice(RESOURCES))

    def api_away(self):
        self._control("refuse")
        return lambda: self._control("accept")

    def duplicate(self):
        self._control("duplicate", resource=self._random.choice(RESOURCES), count=3)

    def expire_continue(self):
        self._control("expire-continue", count=2)
        self.expire()

    # ---- etcd, and the way to it ----

    def drop_etcd(self):
        self._peer.drop()

    def refuse_etcd(self):
        self._peer.refuse()
        return self._peer.accept

    def lose_replies(self):
        def repair() -> None:
            self._peer.drop()  # first: no connection loses bytes in its middle
            self._peer.is_losing = False

        self._peer.is_losing = True
        return repair

    def stop_etcd(self):
        program = self._bed.etcd_program
        program.signal(signal.SIGSTOP)
        self.can_write = False
        return lambda: program.signal(signal.SIGCONT)

    def kill_etcd(self):
        self._bed.etcd_program.kill()
        self.can_write = False
        return self._bed.start_etcd

    def compact(self):
        self._peer.drop()
        self._compact()
        return self._compact

    def _compact(self) -> None:
        self._bed.etcd.put("/rounds/compacted", "")  # it refuses to do so twice at one revision
        self._bed.etcd.compact()

    def fill_etcd(self):
        """Its quota is reached: it refuses all but deletes."""
        self._bed.etcd.raise_no_space(True)
        self.can_write = False
        return lambda: self._bed.etcd.raise_no_space(False)

    def wipe_etcd(self):
        def repair() -> None:
            shutil.rmtree(self._bed.folder / "etcd")
            self.foreign.clear()
            self._bed.start_etcd()

        self._bed.etcd_program.kill()
        self.is_lost, self.can_write = True, False
        return repair

    # ---- Both kube2sky ----

    def _one(self) -> Writer:
        return self._random.choice(self._writers)

    def kill_one(self):
        one = self._one()
        one.program.kill()
        return one.start

    def restart_one(self):
        one = self._one()
        one.program.stop()
        one.start()

    def restart_all(self):
        """What they remember is gone: only etcd knows who holds a name."""
        for one in self._writers:
            one.program.kill()

        def repair() -> None:
            for one in self._writers:
                one.start()

        return repair

    def pause_one(self):
        """Past its lease if it leads; it wakes in the middle of its work."""
        one = self._one()
        one.program.signal(signal.SIGSTOP)
        return lambda: one.program.signal(signal.SIGCONT)

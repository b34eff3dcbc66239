"""-dnssec: keys are changed under load, and no validator notices; the clock jumps, and no signature does."""

import random
import struct
import subprocess
import threading
import time
from itertools import count
from pathlib import Path

import dns.rcode
import dns.rdatatype
import pytest
from dnssec_bed import SECURE, Key, Resolver, Server, keygen, ldns_keygen, tags_of, unbound
from dnssec_proofs import Proofs
from dnssec_world import as_json
from programs import wait_until
from records import SVC, value

CONFIG = "/skydns/config"
WEB = "web.default.svc.cluster.local"
# The resolver keeps nothing for longer.
SHORT = ("cache-max-ttl: 1", "cache-max-negative-ttl: 1", "cache-min-ttl: 0", "prefetch: no")
# After this time it validates with no DNSKEYs of before: they end a second later, by a clock of whole seconds.
EXPIRED_S = 3


class Load:
    """Asks a resolver for names, existing and not, one after the other, and tells which answers were not secure."""

    def __init__(self, resolver: Resolver):
        self._resolver, self._stop = resolver, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._random = random.Random(1)
        self.count, self.wrong = 0, []

    def _run(self) -> None:
        for number in count():
            if self._stop.is_set():
                return
            name, rdtype, rcode = self._question(number)
            verdict, reply = self._resolver.judge(name, rdtype)
            if verdict != SECURE or reply.rcode() != rcode:
                self.wrong.append(f"{name} {rdtype}: {verdict}\n{reply}")
            self.count += 1

    def _question(self, number: int) -> tuple[str, str, dns.rcode.Rcode]:
        if number % 3 == 0:
            return f"no{number}.default.svc.cluster.local", "A", dns.rcode.NXDOMAIN
        name = f"web{self._random.randrange(20)}.default.svc.cluster.local"
        return name, "A" if number % 3 == 1 else "MX", dns.rcode.NOERROR

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        self._thread.join()
        if exc[0] is None:
            assert self.wrong == [], f"{len(self.wrong)} of {self.count}: {self.wrong[0]}"

    def wait_more(self) -> None:
        wanted = self.count + 60
        wait_until(lambda: self.count >= wanted, "60 more answers", 120)


class Rollover:
    """A zone, its keys in force, and a resolver that trusts all SEP keys that there will ever be."""

    def __init__(self, bed, first: list[Key], later: list[Key]):
        self.bed, self.keys = bed, list(first)
        bed.start_etcd()
        for number in range(20):
            bed.etcd.put(f"{SVC}/default/web{number}/a", value(f"10.0.0.{number}"))
        self.server = Server(bed, "-no-rec", keys=tuple(first)).start()
        self.server.wait_etcd(1)
        anchors = [key for key in (*first, *later) if key.is_sep]
        self.resolver = unbound(bed.folder, self.server.dns.port, anchors, *SHORT).start()

    def use(self, *keys: Key) -> None:
        """By the document; they are in force when this returns."""
        self.keys = list(keys)
        self.bed.etcd.put(CONFIG, as_json(dnssec=[str(key.base) for key in keys]))
        self.wait()

    def remove(self, *keys: Key) -> None:
        """Their files."""
        for key in keys:
            self.keys.remove(key)
            key.remove()
        self.wait()

    def wait(self) -> None:
        want = {key.tag for key in self.keys}
        self.server.program.wait_ready(lambda: self.server.tags() == want, f"the keys {want}")

    def let_expire(self, load: Load) -> None:
        """Until the resolver has the keys that are in force, and none of before."""
        since_s = time.monotonic()
        want = {key.tag for key in self.keys}
        wait_until(lambda: tags_of(self.resolver.ask("cluster.local", "DNSKEY")) == want, "the resolver's keys", 60)
        wait_until(lambda: time.monotonic() - since_s > EXPIRED_S, "the TTL of the keys", 60)
        load.wait_more()

    def end(self) -> None:
        assert self.resolver.complaints() == []
        self.resolver.stop()


def test_zone_key_then_key_key_then_algorithm(bare_bed):
    folder = bare_bed.folder
    ksk, zsk = keygen(folder, "cluster.local"), keygen(folder, "cluster.local", sep=False)
    zsk2 = ldns_keygen(folder, "cluster.local", sep=False)
    ksk2 = ldns_keygen(folder, "cluster.local")
    ksk3, zsk3 = keygen(folder, "cluster.local", 15), keygen(folder, "cluster.local", 15, sep=False)
    roll = Rollover(bare_bed, [ksk, zsk], [ksk2, ksk3])
    with Load(roll.resolver) as load:
        load.wait_more()
        roll.use(ksk, zsk, zsk2)
        roll.let_expire(load)
        roll.remove(zsk)
        load.wait_more()
        roll.use(ksk, ksk2, zsk2)
        roll.let_expire(load)
        roll.remove(ksk)
        load.wait_more()
        roll.use(ksk2, zsk2, ksk3, zsk3)
        roll.let_expire(load)
        roll.use(ksk3, zsk3)
        load.wait_more()
    roll.end()


def test_a_pair_that_is_replaced(bare_bed):
    """By another one in the same files, with a moment in which the halves do not match"""
    folder = bare_bed.folder
    one, two = keygen(folder, "cluster.local"), keygen(folder, "cluster.local")
    roll = Rollover(bare_bed, [one, two], [])
    third = keygen(folder, "cluster.local")
    tag = third.tag
    with Load(roll.resolver) as load:
        load.wait_more()
        for new, old in zip(third.files(), one.files()):
            new.replace(old)
        want = {two.tag, tag}
        roll.server.program.wait_ready(lambda: roll.server.tags() == want, f"the keys {want}")
        load.wait_more()
    roll.end()


# ---- The clock ----

# The wall clock is moved by what SHIFT_FILE has: seconds, which the test changes while the program runs.
_CLOCK_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile int64_t *shift_s;

__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("SHIFT_FILE"), O_RDONLY);
    shift_s = mmap(NULL, sizeof(*shift_s), PROT_READ, MAP_SHARED, fd, 0);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, now);
    if ((id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && shift_s && shift_s != MAP_FAILED) {
        now->tv_sec += *shift_s;
    }
    return status;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret) {
        *ret = now.tv_sec;
    }
    return now.tv_sec;
}
"""


class Clock:
    def __init__(self, folder: Path):
        self._file = folder / "shift"
        self._file.write_bytes(struct.pack("q", 0))
        library, source = folder / "clock.so", folder / "clock.c"
        source.write_text(_CLOCK_C)
        command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True, timeout=60)
        self.env = {"LD_PRELOAD": str(library), "SHIFT_FILE": str(self._file)}

    def shift(self, seconds: int) -> None:
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))


@pytest.mark.parametrize("shift_s", [-2 * 86400, -3600, 5 * 86400, 30 * 86400])
def test_a_clock_that_jumps(bare_bed, shift_s):
    """Signatures that are kept from before are not used if they are not valid now, or soon end; and back again."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    clock = Clock(bed.folder)
    env = {**clock.env, "ASAN_OPTIONS": "verify_asan_link_order=0"}
    server = Server(bed, "-no-rec", keys=(keygen(bed.folder, "cluster.local"),), env=env).start()
    server.wait_etcd(1)
    proofs = Proofs([server.ask("cluster.local", "DNSKEY").answer[0]])
    proofs.ahead_s = 3 * 3600  # one of before that is valid now serves

    def check(now_s: float) -> None:
        for name, rdtype in ((WEB, "A"), (WEB, "MX"), (f"no.{WEB}", "A"), ("cluster.local", "DNSKEY")):
            for _ in range(2):
                proofs.check(server.ask(name, rdtype), now_s)

    check(time.time())
    for moved_s in (shift_s, 0):
        since = len(server.program.lines)
        clock.shift(moved_s)
        check(time.time() + moved_s)
        server.program.wait_line(r"warn .*the wall clock jumped", since)

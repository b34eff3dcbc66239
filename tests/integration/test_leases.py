"""Records with an etcd lease: their TTL never exceeds the lease's remaining time."""

import threading
import time

from programs import http_get, wait_until
from records import SVC, value

NAME = "leased.default.svc.cluster.local"
KEY = f"{SVC}/default/leased/a"
ADDRESS = "10.9.0.1"
VALUE_TTL_S = 30  # the TTL of value()


def ttl_of(bed, name: str = NAME) -> int | None:
    """None: the name does not exist."""
    reply = bed.dns.query(name)
    return reply.answer[0].ttl if reply.answer else None


def lease_questions(bed) -> int:
    """How often etcd was queried for a lease's remaining time."""
    text = http_get(f"http://127.0.0.1:{bed.etcd_port}/metrics")[1]
    return sum(
        int(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith("grpc_server_started_total") and 'grpc_method="LeaseTimeToLive"' in line
    )


def test_lease_that_expires(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns()
    lease = bed.etcd.grant_lease(10)
    bed.etcd.put(KEY, value(ADDRESS), lease)
    bed.wait_answers(NAME, "A", [ADDRESS])
    seen = []

    def has_gone():
        left = bed.etcd.lease_left(lease)  # whole seconds, rounded down
        ttl = ttl_of(bed)
        if ttl is None:
            return True
        assert 1 <= ttl <= max(left + 1, 1)
        seen.append(ttl)
        return False

    wait_until(has_gone, "the record of an expired lease to go")
    assert seen == sorted(seen, reverse=True) or seen[1:] == sorted(seen[1:], reverse=True)
    assert len(set(seen)) >= 4  # it counted down second by second
    assert bed.etcd.lease_left(lease) <= 0


def test_lease_kept_alive(bare_bed):
    """The lease is shorter than the record's TTL, so the TTL always counts down, and it is renewed all the time."""
    bed = bare_bed
    bed.start_etcd()
    bed.start_skydns()
    granted_s = 6
    lease = bed.etcd.grant_lease(granted_s)
    renewed = 0
    stop = threading.Event()

    def keep_alive():
        nonlocal renewed
        while not stop.is_set():
            bed.etcd.keep_lease_alive(lease)
            renewed += 1
            stop.wait(0.5)

    keeper = threading.Thread(target=keep_alive)
    keeper.start()
    try:
        bed.etcd.put(KEY, value(ADDRESS), lease)
        bed.wait_answers(NAME, "A", [ADDRESS])
        before, since_s = lease_questions(bed), time.monotonic()
        asked = 0

        def has_outlived_two_leases():
            nonlocal asked
            asked += 1
            ttl = ttl_of(bed)
            assert ttl is not None and 1 <= ttl <= granted_s
            return renewed >= 4 * granted_s + 1

        wait_until(has_outlived_two_leases, "renewals", 60)
        questions = lease_questions(bed) - before
        # A third of the TTL apart, for any number of queries.
        assert questions <= 3 * (time.monotonic() - since_s) / granted_s + 2
        assert asked > questions
    finally:
        stop.set()
        keeper.join()


def test_long_lease_of_many_keys(bare_bed):
    """The value's TTL applies while the lease has more left, and etcd is queried once for all keys."""
    bed = bare_bed
    bed.start_etcd()
    lease = bed.etcd.grant_lease(3600)
    for number in range(100):
        bed.etcd.put(f"{SVC}/default/many/{number}", value(f"10.8.0.{number}"), lease)
    bed.start_skydns()
    bed.etcd.put(KEY, value(ADDRESS), lease)
    bed.wait_answers(NAME, "A", [ADDRESS])
    wait_until(lambda: ttl_of(bed) == VALUE_TTL_S, "the value's TTL")
    wait_until(lambda: ttl_of(bed, "many.default.svc.cluster.local") == VALUE_TTL_S, "the value's TTL")
    assert lease_questions(bed) == 1

    bed.etcd.put(KEY, value(ADDRESS))  # without the lease: revoking it deletes only the others
    bed.etcd.revoke_lease(lease)
    bed.wait_answers("many.default.svc.cluster.local", "A", ["NXDOMAIN"])
    assert bed.dns.answers(NAME) == [ADDRESS]
    assert ttl_of(bed) == VALUE_TTL_S

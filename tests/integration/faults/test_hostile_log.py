"""Nobody reads the log of a skydns that logs each query: DNS goes on, and the lines that did not fit are counted."""

import re

import pytest
from fault_bed import PATIENCE_S, PeakMemory

pytestmark = pytest.mark.faults

# The pipe's 64 KiB and the queue's 512 KiB take about 4,500 lines of a query.
LOST = 500

# The queue, and garbage of a few store versions: with a thread stuck in one, the garbage of every
# rewrite of 2,000 Services would stay in memory, about 2 MiB each.
REWRITES = 4
REWRITTEN = 2000
GROWTH_MAX_KIB = 6 * 1024


def test_nobody_reads_the_log_of_every_query(fault_bed):
    bed = fault_bed
    bed.skydns_flags = ["-verbose"]
    bed.start_etcd()
    bed.start()
    skydns, watched = bed.skydns, bed.watched[0]
    bed.kube.control("bulk", count=REWRITTEN)
    bed.wait_bulk(REWRITTEN, 0)
    skydns.stall_reader()
    with bed.under_load() as load:

        def lost() -> float:
            return watched.metrics().get("log_lines_lost_total")

        skydns.wait_ready(lambda: lost() >= LOST, "lines are lost", PATIENCE_S)
        with PeakMemory(skydns) as memory:
            for salt in (number << 16 for number in range(1, 1 + REWRITES)):
                bed.kube.control("bulk", verb="replace", count=REWRITTEN, salt=salt)
                bed.wait_last_of_bulk(REWRITTEN, salt)
                bed.wait_right(bed.newest_bulk())
        assert memory.growth_kib <= GROWTH_MAX_KIB
        bed.note(f"memory grew by {memory.growth_kib} KiB while nobody read the log")
        since = len(skydns.lines)
        skydns.resume_reader()
        told = skydns.wait_line(r"^warn \S+ log lines were lost count=\d+$", since, PATIENCE_S)
        assert int(re.search(r"count=(\d+)$", told)[1]) >= LOST
        skydns.wait_line(" query client=", len(skydns.lines), PATIENCE_S)
        skydns.stall_reader()
        before = lost()
        skydns.wait_ready(lambda: lost() > before, "lines are lost again", PATIENCE_S)
    bed.note(f"{lost():.0f} lines lost")
    skydns.stop()  # and nobody reads on: the exit does not wait for it

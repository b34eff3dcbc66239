#!/usr/bin/python3
"""etcd_client.py --bench PROGRAM: what the etcd client costs, against an etcd of its own (`make bench-etcd`).

Each round has a fresh etcd (ETCD names another program than `etcd`), so that rounds compare. Prints the median of
the rounds with the smallest and largest beside the goal, and says so when the machine was busy with other things:
then etcd, the writer and the client shared two cores with somebody, and only the ratio of the last line counts.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from programs import etcd, is_etcd_healthy, reserve_port  # noqa: E402

# figure, unit, goal, True: at most the goal
FIGURES = [
    ("cpu_us_per_put", "us CPU per put, 64 outstanding", 5.0, True),
    ("puts_per_s", "puts/s, 64 outstanding", None, False),
    ("cpu_us_per_key", "us CPU per key, 128-op transactions, 8 in flight", 1.2, True),
    ("keys_per_s", "keys/s, the same", None, False),
    ("mirrored_s", "s until 100,000 keys are mirrored", 0.5, True),
    ("cpu_us_per_key_mirrored", "us CPU per key mirrored", None, True),
    ("cpu_us_per_event", "us CPU per watch event", 2.0, True),
    ("events_per_s", "events/s while another process writes", None, False),
    ("idle_percent", "% CPU over 10 s with a watch open", 0.1, True),
    ("reconciler_cpu_us_per_key", "us CPU per key, planned and written by kube2sky's reconciler", None, True),
    ("reconciler_keys_per_s", "keys/s of the reconciler", None, False),
    ("reconciler_ratio", "reconciler's keys/s to those of bare transactions", 0.8, False),
]

# Of the machine's time, used by others than us and our etcd or stolen: more is noise.
BUSY_MAX = 0.1


class Round:
    def __init__(self, bench, folder):
        self.bench = bench
        self.folder = folder
        self.figures = {}

    def take(self, output):
        for line in output.splitlines():
            name, _, value = line.partition(" ")
            if value:
                self.figures[name] = float(value)

    def run_on_fresh_etcd(self, *modes):
        port = reserve_port()
        program = etcd(str(self.folder / f"etcd-{modes[0]}"), port, reserve_port())
        program.start()
        try:
            program.wait_ready(lambda: is_etcd_healthy(port), "healthy")
            for mode in modes:
                run = self.run_events if mode == "events" else self.run_mode
                run(f"http://127.0.0.1:{port}", mode)
        finally:
            program.kill()

    def run_mode(self, url, mode):
        done = subprocess.run([self.bench, url, mode], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise SystemExit(done.stderr)  # else it is what the reconciler logs
        self.take(done.stdout)

    def run_events(self, url, mode):
        """Another process writes: this one's CPU is the reader's alone."""
        with subprocess.Popen([self.bench, url, mode], stdout=subprocess.PIPE, text=True) as reader:
            if reader.stdout.readline().strip() != "ready":
                raise SystemExit("the reader has failed")
            subprocess.run([self.bench, url, "txns"], check=True, stdout=subprocess.DEVNULL, timeout=300)
            self.take(reader.communicate(timeout=300)[0])
        if reader.returncode != 0:
            raise SystemExit("the reader has failed")


def run_round(bench):
    with tempfile.TemporaryDirectory(prefix="bench-etcd-") as folder:
        one = Round(bench, Path(folder))
        one.run_on_fresh_etcd("puts")
        one.run_on_fresh_etcd("txns", "mirror", "events", "idle")
        one.run_on_fresh_etcd("reconciler")
    one.figures["reconciler_ratio"] = one.figures["reconciler_keys_per_s"] / one.figures["keys_per_s"]
    return one.figures


def machine_seconds():
    """CPU time of the whole machine that was used or stolen."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this process and the children that have ended: every etcd and every run of the driver."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def print_table(rounds, busy):
    print(f"{'median':>10} {'min':>10} {'max':>10} {'goal':>8}")
    for name, unit, goal, is_maximum in FIGURES:
        values = [figures[name] for figures in rounds]
        median = statistics.median(values)
        met, wanted = "", ""
        if goal is not None:
            wanted = f"{'<=' if is_maximum else '>='} {goal:g}"
            met = "" if (median <= goal if is_maximum else median >= goal) else "  MISSED"
        digits = 0 if median >= 1000 else 3
        cells = " ".join(f"{value:10.{digits}f}" for value in (median, min(values), max(values)))
        print(f"{cells} {wanted:>8}  {unit}{met}")
    print(f"{len(rounds)} rounds; others used {busy:.0%} of the machine"
          + (": NOISY, absolute figures say little" if busy > BUSY_MAX else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="the driver, tests/bench/etcd/bench_etcd as built")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    started_s, machine_s, own_s = time.monotonic(), machine_seconds(), own_seconds()
    rounds = [run_round(arguments.bench) for _ in range(arguments.rounds)]
    others_s = (machine_seconds() - machine_s) - (own_seconds() - own_s)
    busy = max(0.0, others_s) / (time.monotonic() - started_s) / os.cpu_count()
    print_table(rounds, busy)


if __name__ == "__main__":
    main()

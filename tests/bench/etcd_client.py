#!/usr/bin/python3
"""etcd_client.py --bench PROGRAM: cost of the etcd client, with its own etcd (`make bench-etcd`).

Each round has a fresh etcd (ETCD may name another program than `etcd`), so that rounds are comparable. Prints the
median, smallest and largest of the rounds next to the goal, and notes whether the machine was busy with other things:
then etcd, the writer and the client did not have the cores to themselves, and only the ratio in the last line counts.
"""
import argparse
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from certificates import Authority  # noqa: E402
from measuring import Figure, run_benchmark  # noqa: E402
from programs import etcd, is_etcd_healthy, reserve_port  # noqa: E402

FIGURES = [
    Figure("cpu_us_per_put", "us CPU per put, 64 outstanding", 5.0),
    Figure("puts_per_s", "puts/s, 64 outstanding"),
    Figure("cpu_us_per_key", "us CPU per key, 128-op transactions, 8 in flight", 1.2),
    Figure("keys_per_s", "keys/s, the same"),
    Figure("mirrored_s", "s until 100,000 keys are mirrored", 0.5),
    Figure("cpu_us_per_key_mirrored", "us CPU per key mirrored"),
    Figure("cpu_us_per_event", "us CPU per watch event", 2.0),
    Figure("events_per_s", "events/s while another process writes"),
    Figure("idle_percent", "% CPU over 10 s with a watch open", 0.1),
    Figure("read_etcd_ms", "ms CPU of etcd per restart that reads 100,000 keys"),
    Figure("read_bytes", "bytes from etcd, the same"),
    Figure("resume_etcd_ms", "ms CPU of etcd per restart that resumes"),
    Figure("resume_calls", "calls to etcd, the same; 2 are watches"),
    Figure("resume_bytes", "bytes from etcd, the same"),
    Figure("resume_percent", "% of etcd's CPU for such a read that a resumed restart costs", 2.0),
    Figure("reconciler_cpu_us_per_key", "us CPU per key, planned and written by kube2sky's reconciler"),
    Figure("reconciler_keys_per_s", "keys/s of the reconciler"),
    Figure("mirrored_mb_per_s", "MB/s of keys and values mirrored"),
    Figure("tls_cpu_us_per_key", "us CPU per key over TLS, transactions as above"),
    Figure("tls_keys_per_s", "keys/s, the same"),
    Figure("tls_cpu_us_per_key_mirrored", "us CPU per key mirrored over TLS"),
    Figure("tls_mirrored_mb_per_s", "MB/s, the same"),
    Figure("tls_ratio", "MB/s mirrored over TLS to those without"),
    Figure("reconciler_ratio", "reconciler's keys/s to those of bare transactions", 0.8, is_least=True),
]

# As in bench_etcd.c.
READS, RESUMES = 5, 500


def usage(url):
    """What etcd has used so far: CPU in ms, calls begun, bytes sent."""
    sums = dict.fromkeys(("etcd_ms", "calls", "bytes"), 0.0)
    names = {"process_cpu_seconds_total": "etcd_ms", "grpc_server_started_total": "calls",
             "etcd_network_client_grpc_sent_bytes_total": "bytes"}  # fmt: skip
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as reply:
        for line in reply.read().decode().splitlines():
            name = names.get(line.split("{")[0].split(" ")[0])
            if name:
                sums[name] += float(line.rpartition(" ")[2]) * (1000 if name == "etcd_ms" else 1)
    return sums


class Round:
    def __init__(self, bench, folder):
        self.bench = bench
        self.folder = folder
        self.figures = {}

    def take(self, output, prefix=""):
        for line in output.splitlines():
            name, _, value = line.partition(" ")
            if value:
                self.figures[prefix + name] = float(value)

    def run_on_fresh_etcd(self, *modes):
        port = reserve_port()
        program = etcd(str(self.folder / f"etcd-{modes[0]}"), port, reserve_port())
        program.start()
        try:
            program.wait_ready(lambda: is_etcd_healthy(port), "healthy")
            for mode in modes:
                run = {"events": self.run_events, "restarts": self.run_restarts}.get(mode, self.run_mode)
                run(f"http://127.0.0.1:{port}", mode)
        finally:
            program.kill()

    def run_restarts(self, url, mode):
        """What restarts cost etcd, as it counts itself; this process reads its counters in between."""
        with subprocess.Popen(
            [self.bench, url, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as restarts:
            usages = []
            for step in ("ready", "read", "resumed"):
                if restarts.stdout.readline().strip() != step:
                    raise SystemExit("restarting has failed")
                usages.append(usage(url))
                restarts.stdin.write("\n")
                restarts.stdin.flush()
        before, read, resumed = usages
        for kind, count, start, end in (("read", READS, before, read), ("resume", RESUMES, read, resumed)):
            for name in start:
                self.figures[f"{kind}_{name}"] = (end[name] - start[name]) / count
        self.figures["resume_percent"] = 100 * self.figures["resume_etcd_ms"] / self.figures["read_etcd_ms"]

    def run_over_tls(self, *modes):
        port, health_port = reserve_port(), reserve_port()
        authority = Authority(self.folder, "ca")
        certificate, key = authority.sign("server")
        program = etcd(str(self.folder / "etcd-tls"), port, reserve_port())
        url = f"https://127.0.0.1:{port}"
        for flag in ("--listen-client-urls", "--advertise-client-urls"):
            program.argv[program.argv.index(flag) + 1] = url
        program.argv += ["--cert-file", certificate, "--key-file", key]
        program.argv += ["--listen-metrics-urls", f"http://127.0.0.1:{health_port}"]
        program.start()
        try:
            program.wait_ready(lambda: is_etcd_healthy(health_port), "healthy")
            for mode in modes:
                self.run_mode(url, mode, authority.certificate, prefix="tls_")
        finally:
            program.kill()

    def run_mode(self, url, mode, *more, prefix=""):
        done = subprocess.run([self.bench, url, mode, *more], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise SystemExit(done.stderr)  # after success, stderr is only the reconciler's log
        self.take(done.stdout, prefix)

    def run_events(self, url, mode):
        """Another process writes, so that this one's CPU time is only the reader's."""
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
        one.run_on_fresh_etcd("txns", "mirror", "restarts", "events", "idle")
        one.run_on_fresh_etcd("reconciler")
        one.run_over_tls("txns", "mirror")
    one.figures["tls_ratio"] = one.figures["tls_mirrored_mb_per_s"] / one.figures["mirrored_mb_per_s"]
    one.figures["reconciler_ratio"] = one.figures["reconciler_keys_per_s"] / one.figures["keys_per_s"]
    return one.figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="the driver, tests/bench/etcd/bench_etcd as built")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    return run_benchmark("bench-etcd", FIGURES, arguments.rounds, lambda: run_round(arguments.bench))


if __name__ == "__main__":
    sys.exit(main())

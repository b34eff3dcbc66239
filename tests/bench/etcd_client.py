#!/usr/bin/python3
"""Cost of the etcd client, with its own etcd (`make bench-etcd`).

Each round has a fresh etcd (ETCD may name another program than `etcd`), so that rounds are comparable. Prints the
median, smallest and largest of the rounds next to the goal, and notes whether the machine was busy with other things:
then etcd, the writer and the client did not have the cores to themselves, and only the ratio in the last line counts.
"""
import subprocess
import sys

from measuring import Figure, options_parser, parse_options, read_figures, run_benchmark, run_tool

from beds import Bed, Etcd
from certificates import Authority
from programs import Program, is_etcd_healthy, serve_tls

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


def usage(etcd: Etcd) -> dict[str, float]:
    """What etcd has used so far: CPU in ms, calls begun, bytes sent."""
    names = ("process_cpu_seconds_total", "grpc_server_started_total", "etcd_network_client_grpc_sent_bytes_total")
    used_s, calls, sent = etcd.figures(*names)
    return {"etcd_ms": used_s * 1000, "calls": calls, "bytes": sent}


class Round:
    def __init__(self, bed: Bed):
        self._bed, self._bench = bed, bed.tool("etcd/bench_etcd")
        self.figures: dict[str, float] = {}

    def run_on_fresh_etcd(self, *modes: str) -> None:
        etcd = self._bed.start_etcd()
        for mode in modes:
            run = {"events": self.run_events, "restarts": self.run_restarts}.get(mode, self.run_mode)
            run(etcd.url, mode)
        etcd.kill()

    def run_restarts(self, url, mode):
        """What restarts cost etcd, as it counts itself; this process reads its counters in between."""
        with subprocess.Popen(
            [self._bench, url, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as restarts:
            usages = []
            for step in ("ready", "read", "resumed"):
                if restarts.stdout.readline().strip() != step:
                    raise SystemExit("restarting has failed")
                usages.append(usage(self._bed.etcd))
                restarts.stdin.write("\n")
                restarts.stdin.flush()
        before, read, resumed = usages
        for kind, count, start, end in (("read", READS, before, read), ("resume", RESUMES, read, resumed)):
            for name in start:
                self.figures[f"{kind}_{name}"] = (end[name] - start[name]) / count
        self.figures["resume_percent"] = 100 * self.figures["resume_etcd_ms"] / self.figures["read_etcd_ms"]

    def run_over_tls(self, *modes: str) -> None:
        authority = Authority(self._bed.folder, "ca")
        etcd = self._bed.add(Etcd(self._bed.folder / "etcd-tls"))
        health_port = serve_tls(etcd, etcd.port, *authority.sign("server"))
        Program.start(etcd).wait_ready(lambda: is_etcd_healthy(health_port), "healthy")
        for mode in modes:
            told = run_tool(self._bench, f"https://127.0.0.1:{etcd.port}", mode, authority.certificate)
            self.figures |= {f"tls_{name}": value for name, value in told.items()}

    def run_mode(self, url: str, mode: str) -> None:
        self.figures |= run_tool(self._bench, url, mode)

    def run_events(self, url, mode):
        """Another process writes, so that this one's CPU time is only the reader's."""
        with subprocess.Popen([self._bench, url, mode], stdout=subprocess.PIPE, text=True) as reader:
            if reader.stdout.readline().strip() != "ready":
                raise SystemExit("the reader has failed")
            subprocess.run([self._bench, url, "txns"], check=True, stdout=subprocess.DEVNULL, timeout=300)
            self.figures |= read_figures(reader.communicate(timeout=300)[0])
        if reader.returncode != 0:
            raise SystemExit("the reader has failed")


def run_round(build):
    with Bed(build) as bed:
        one = Round(bed)
        one.run_on_fresh_etcd("puts")
        one.run_on_fresh_etcd("txns", "mirror", "restarts", "events", "idle")
        one.run_on_fresh_etcd("reconciler")
        one.run_over_tls("txns", "mirror")
    one.figures["tls_ratio"] = one.figures["tls_mirrored_mb_per_s"] / one.figures["mirrored_mb_per_s"]
    one.figures["reconciler_ratio"] = one.figures["reconciler_keys_per_s"] / one.figures["keys_per_s"]
    return one.figures


def main():
    arguments = parse_options(options_parser(__doc__, 3))
    return run_benchmark("bench-etcd", FIGURES, arguments.rounds, lambda: run_round(arguments.build))


if __name__ == "__main__":
    sys.exit(main())

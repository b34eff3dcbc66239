"""skydns' half of `make bench-scale`: the keys of N Services in an etcd, what etcd makes of them, and skydns."""

import subprocess
import time
from itertools import islice, pairwise
from pathlib import Path

from answers import bed as answers
from answers import data, path, rounds, servers
from beds import PATIENCE_S, Skydns
from measuring import cpu_s, memory_mib, percentile, run_tool
from records import value
from scaling import probes
from transfers import Secondary, thread_s

# Asked for after the start from a snapshot; all records are published at once.
ASKED = 10_000
CHANGED = 20_000
KEYS_EACH = 3  # of one Service
PLAIN_PAGE_KEYS = 50_000
ROUNDS, TRIES = 3, 9  # a run of another process on a core is left out
MIXES = ("a", "kubernetes")
PATTERNS = [pattern for pattern in rounds.UDP_PATTERNS if pattern.mix in MIXES]


class Bed(answers.Bed):
    """Without what other servers than skydns would read."""

    def fill(self) -> None:
        self.certificate = self.key = ""
        self.questions = data.write_questions(self.services, self.folder)
        self.start_etcd(*probes.ETCD_FLAGS)
        self.loop_s = self.put(data.key_lines(self.services))

    @property
    def snapshot(self) -> Path:
        return self.folder / "snapshot"


def store_figures(bed: Bed) -> dict[str, float]:
    keys = bed.etcd.figure("etcd_debugging_mvcc_keys_total")
    resident, peak = memory_mib(bed.etcd.pid)
    in_use = bed.etcd.in_use_bytes()
    return {
        "store_keys": keys,
        "store_s": bed.loop_s,
        "store_mib": resident,
        "store_peak_mib": peak,
        "store_db_mib": in_use / 2**20,
        "store_key_bytes": in_use / keys,
        "store_service_bytes": in_use / bed.services,
        "store_fit_millions": probes.QUOTA_BYTES / (in_use / bed.services) / 1e6,
    }


def plain_read(bed: Bed) -> dict[str, float]:
    """What etcd itself needs for these keys: in pages whose ends are known, it walks no key that it does not send."""
    keys = sorted(key for key, _ in data.keys(bed.services))
    ends = [*keys[::PLAIN_PAGE_KEYS], keys[-1] + "!"]
    command = ["etcdctl", f"--endpoints={bed.etcd.url}", "get", "--write-out=protobuf"]
    etcd_s = cpu_s(bed.etcd.pid)
    for pair in pairwise(ends):
        subprocess.run([*command, *pair], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    return {"plain_etcd_cpu_s": cpu_s(bed.etcd.pid) - etcd_s}


def read(bed: Bed, skydns: Skydns) -> dict[str, float]:
    """The start from etcd, and the snapshot at its end."""
    etcd_s = cpu_s(bed.etcd.pid)
    found = {"start_s": skydns.start_s()}
    found["start_cpu_s"] = cpu_s(skydns.pid)
    found["start_etcd_cpu_s"] = cpu_s(bed.etcd.pid) - etcd_s
    found["reader_mib"], found["reader_peak_mib"] = memory_mib(skydns.pid)
    found["reader_service_bytes"] = found["reader_mib"] * 2**20 / bed.services
    found["reader_watches"] = bed.etcd.figure("etcd_debugging_mvcc_watcher_total")
    skydns.wait_ready(lambda: skydns.metric("snapshot_writes_total") >= 1, "snapshot", PATIENCE_S)
    found["snapshot_peak_mib"] = memory_mib(skydns.pid)[1]
    found["snapshot_mib"] = bed.snapshot.stat().st_size / 2**20
    return found


def pages(bed: Bed, skydns: Skydns) -> dict[str, float]:
    name = data.name(bed.services // 2)
    paths = {"page": "/", "metrics": "/metrics", "cache": "/cache", "explain": f"/explain?name={name}&type=A"}
    paths["suggest"] = f"/explain?name=x{name}&type=A"
    paths |= {"search": f"/search?q={name.split('.')[0]}", "search_all": "/search?q="}
    found = probes.pages(skydns.http_port, paths)
    command = [bed.bin_dir / "skydns", f"-explain={name}", f"-http-addr=127.0.0.1:{skydns.http_port}"]
    found |= probes.page("command", skydns.http_port, lambda: probes.run_text(*command))
    return {f"reader_{name}": value for name, value in found.items()}


def updates(bed: Bed, skydns: Skydns) -> dict[str, float]:
    """New Services one by one, from etcd's acknowledgement to the answer; then many with other addresses."""
    server = servers.Server("skydns", "skydns", skydns, skydns.port)
    late = path.propagation(bed.tools, bed.etcd.url, server)
    found = {f"answer_{part}_ms": late[f"propagation_{part}_ms"] for part in ("p50", "p99")}
    count = min(CHANGED, bed.services // 2)
    changed = islice(data.keys(count), 0, None, KEYS_EACH)  # the addresses' keys
    lines = [f"{key}\t{value(data.ip(number ^ 1))}\n" for number, (key, _) in enumerate(changed)]
    pid = skydns.pid
    before_s, before_mib = cpu_s(pid), memory_mib(pid)[0]
    bed.put("".join(lines).encode())
    probes.wait_settled(skydns, "caught up", lambda: skydns.metric("store_revision"))
    found["change_cpu_us"] = (cpu_s(pid) - before_s) / count * 1e6
    found["change_growth_percent"] = 100 * (memory_mib(pid)[0] / before_mib - 1)
    return found


def end(bed: Bed, skydns: Skydns) -> dict[str, float]:
    """A change is there, so that it writes its snapshot before it ends."""
    began = time.monotonic()
    before = bed.snapshot.stat().st_mtime_ns
    skydns.stop(timeout_s=PATIENCE_S)  # it may still be writing its snapshot
    took_s = time.monotonic() - began
    if bed.snapshot.stat().st_mtime_ns == before:
        raise ValueError("skydns ended without a snapshot of the changes")
    return {"end_s": took_s}


def start_from_snapshot(bed: Bed, skydns: Skydns) -> dict[str, float]:
    """Of Services that have not changed."""
    asked = range(min(CHANGED, bed.services // 2), bed.services, max(1, bed.services // ASKED))
    names = bed.folder / "names"
    names.write_text("".join(f"{data.name(number)} {data.ip(number)}\n" for number in asked))
    told = run_tool(bed.tool("start/bench_start"), skydns.port, names, *skydns.argv)
    return {"snapshot_first_s": told["first_s"], "snapshot_not_right": told["not_right"]}


def transfer(bed: Bed) -> dict[str, float]:
    """The whole zone."""
    skydns = bed.new_skydns("-workers=1", "-schema=kubernetes", "-transfer-to=127.0.0.0/8")
    skydns.start_s()
    secondary = Secondary(skydns.port)
    while not secondary.fetch() or secondary.size < bed.services:
        secondary.size = 0  # its first version is not there yet
    before_s, began = thread_s(skydns.pid, "transfers"), time.monotonic()
    secondary.fetch()
    found = {"transfer_s": time.monotonic() - began, "transfer_mib": secondary.size / 2**20}
    found["transfer_cpu_s"] = thread_s(skydns.pid, "transfers") - before_s
    found["transfer_reader_mib"], found["transfer_peak_mib"] = memory_mib(skydns.pid)
    skydns.stop()
    return found


def answers_cost(bed: Bed, is_first: bool) -> dict[str, float]:
    """CPU time for each answer, over the bare responder's of the same round."""
    with probes.before_all_others(is_first):
        return _answers_cost(bed)


def _answers_cost(bed: Bed) -> dict[str, float]:
    generator = bed.generator(1.0)
    pair = bed.start(servers.kind(servers.BARE_UDP)), bed.start(servers.kind("skydns"))
    found = {}
    for pattern in PATTERNS:
        ratios, faults = [], set()
        for _ in range(TRIES):
            runs = [generator.run(pattern, server) for server in pair]
            if found_now := {fault for run in runs for fault in run["faults"]}:
                faults |= found_now
                continue
            bare, ours = (run["figures"]["server_us"] for run in runs)
            ratios.append(ours / bare)
            if len(ratios) == ROUNDS:
                break
        if not ratios:
            raise ValueError(f"{pattern.title}: {', '.join(sorted(faults))} in each of {TRIES} runs")
        found[f"ratio_{pattern.mix}"] = percentile(ratios, 0.5)
    for server in pair:
        server.program.kill()
    return found


def measure(services: int, build: Path, is_first: bool) -> dict[str, float]:
    began = time.monotonic()
    with Bed(build, services) as bed:
        found = store_figures(bed)
        skydns = bed.new_skydns("-workers=1", f"-snapshot={bed.snapshot}", "-snapshot-interval=1h")
        found |= plain_read(bed) | read(bed, skydns) | pages(bed, skydns) | updates(bed, skydns)
        found |= end(bed, skydns) | start_from_snapshot(bed, skydns)
        found |= transfer(bed) | answers_cost(bed, is_first)
    found["records_took_s"] = time.monotonic() - began
    return found

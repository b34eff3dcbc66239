"""kube2sky's half of `make bench-scale`: N Services from the tests' API server through kube2sky into an etcd."""

import tempfile
import time
from pathlib import Path

from cluster_bed import Bed, Follower, bulk_keys, list_all
from etcd_client import EtcdClient
from measuring import percentile
from records import SVC
from scaling import probes
from scaling.stall import Stall

# One request of the API server's control creates so many: it has to end within the client's patience.
CREATED = 50_000
CHANGES, CHANGES_PER_S = 5_000, 1_000


def create(bed: Bed, services: int) -> None:
    for start in range(0, services, CREATED):
        bed.kube.control("bulk", start=start, count=min(CREATED, services - start))


def fill(bed: Bed, services: int) -> dict[str, float]:
    """An empty etcd filled by kube2sky."""
    create(bed, services)
    list_all(bed.kube, "services")  # encodes them, which must not be measured
    found = {"list_s": list_all(bed.kube, "services")}
    store = bed.start_etcd("filled", *probes.ETCD_FLAGS)
    with Stall(bed.http_port, is_running=False) as stall:
        found["fill_s"] = bed.start_kube2sky()
    pid = bed.kube2sky.pid
    found |= {"fill_stall_ms": stall.longest_ms, "fill_cpu_s": probes.cpu_s(pid)}
    found["writer_mib"], found["writer_peak_mib"] = probes.memory_mib(pid)
    found["writer_service_bytes"] = found["writer_mib"] * 2**20 / services
    keys = probes.etcd_figure(store.port, "etcd_debugging_mvcc_keys_total")
    if keys < 3 * services:
        raise ValueError(f"kube2sky was ready with {keys:.0f} keys")
    return found


def pages(bed: Bed, services: int) -> dict[str, float]:
    middle, port = f"default/bulk-{services // 2}", bed.http_port
    paths = {"page": "/", "metrics": "/metrics", "plan": "/plan", "explain": f"/explain?service={middle}"}
    paths["suggest"] = f"/explain?service={middle}x"  # is not there: similar names are looked for
    found = probes.pages(port, paths)
    command = [bed.bin_dir / "kube2sky", f"--explain={middle}", f"--healthz-port={port}"]
    found |= probes.page("command", port, lambda: probes.run_text(*command))
    return {f"writer_{name}": value for name, value in found.items()}


def changes(bed: Bed, store: str, services: int) -> dict[str, float]:
    """From the API server's event to etcd's, one change at a time at a steady rate; and what it leaves behind."""
    port, pid = int(bed.etcd_url.rsplit(":", 1)[1]), bed.kube2sky.pid
    before_bytes, before_s, before_mib = probes.etcd_in_use_bytes(port), probes.cpu_s(pid), probes.memory_mib(pid)[0]
    count, salt = min(CHANGES, services), 1 << 22
    with Follower(bed, store) as follower:
        wanted = bulk_keys(count, salt)
        what = {"verb": "replace", "count": count, "salt": salt, "rate": CHANGES_PER_S, "stamps": True}
        sent = bed.kube.control("bulk", **what)["stamps_ns"]
        seen = follower.wait_times_ns(wanted)
    late_ms = [(there - at) / 1e6 for there, at in zip(seen, sent)]
    after_s, after_mib = probes.cpu_s(pid), probes.memory_mib(pid)[0]
    return {
        "event_p50_ms": percentile(late_ms, 0.5),
        "event_p99_ms": percentile(late_ms, 0.99),
        "event_cpu_us": (after_s - before_s) / count * 1e6,
        "event_growth_percent": 100 * (after_mib / before_mib - 1),
        "event_etcd_bytes": (probes.etcd_in_use_bytes(port) - before_bytes) / count,
    }


def restart(bed: Bed) -> dict[str, float]:
    port = int(bed.etcd_url.rsplit(":", 1)[1])
    bed.kube2sky.stop()
    revision = EtcdClient(port).revision()
    found = {"restart_s": bed.start_kube2sky()}
    pid = bed.kube2sky.pid
    found["restart_cpu_s"] = probes.cpu_s(pid)
    found["restart_mib"], found["restart_peak_mib"] = probes.memory_mib(pid)
    found["restart_writes"] = EtcdClient(port).revision() - revision
    found["writer_watches"] = probes.etcd_figure(port, "etcd_debugging_mvcc_watcher_total")
    return found


def measure(services: int, build: Path) -> dict[str, float]:
    began, store = time.monotonic(), str(build / "tests/bench/kube2sky/bench_store")
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as folder, Bed(Path(folder), build / "bin", store) as bed:
        found = fill(bed, services)
        for step in (lambda: pages(bed, services), lambda: changes(bed, store, services), lambda: restart(bed)):
            found |= step()
        last = f"{SVC}/default/bulk-{services - 1}/"
        if not EtcdClient(int(bed.etcd_url.rsplit(":", 1)[1])).values(last):
            raise ValueError(f"etcd has no key below {last}")
    found["objects_took_s"] = time.monotonic() - began
    return found

"""kube2sky's half of `make bench-scale`: N Services from the tests' API server through kube2sky into an etcd."""

import time
from pathlib import Path

from cluster_bed import Bed, Follower, bulk_keys, list_all
from measuring import cpu_s, memory_mib, spread
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
    etcd = bed.start_etcd(*probes.ETCD_FLAGS)
    with Stall(bed.http_port, is_running=False) as stall:
        found["fill_s"] = bed.start_kube2sky()
    pid = bed.kube2sky.pid
    found |= {"fill_stall_ms": stall.longest_ms, "fill_cpu_s": cpu_s(pid)}
    found["writer_mib"], found["writer_peak_mib"] = memory_mib(pid)
    found["writer_service_bytes"] = found["writer_mib"] * 2**20 / services
    keys = etcd.figure("etcd_debugging_mvcc_keys_total")
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


def changes(bed: Bed, services: int) -> dict[str, float]:
    """From the API server's event to etcd's, one change at a time at a steady rate; and what it leaves behind."""
    etcd, pid = bed.etcd, bed.kube2sky.pid
    before_bytes, before_s, before_mib = etcd.in_use_bytes(), cpu_s(pid), memory_mib(pid)[0]
    count, salt = min(CHANGES, services), 1 << 22
    with Follower(bed) as follower:
        wanted = bulk_keys(count, salt)
        what = {"verb": "replace", "count": count, "salt": salt, "rate": CHANGES_PER_S, "stamps": True}
        sent = bed.kube.control("bulk", **what)["stamps_ns"]
        seen = follower.wait_times_ns(wanted)
    late_ms = [(there - at) / 1e6 for there, at in zip(seen, sent)]
    after_s, after_mib = cpu_s(pid), memory_mib(pid)[0]
    return {
        **spread("event", late_ms),
        "event_cpu_us": (after_s - before_s) / count * 1e6,
        "event_growth_percent": 100 * (after_mib / before_mib - 1),
        "event_etcd_bytes": (etcd.in_use_bytes() - before_bytes) / count,
    }


def restart(bed: Bed) -> dict[str, float]:
    bed.kube2sky.stop()
    revision = bed.etcd.client.revision()
    found = {"restart_s": bed.start_kube2sky()}
    pid = bed.kube2sky.pid
    found["restart_cpu_s"] = cpu_s(pid)
    found["restart_mib"], found["restart_peak_mib"] = memory_mib(pid)
    found["restart_writes"] = bed.etcd.client.revision() - revision
    found["writer_watches"] = bed.etcd.figure("etcd_debugging_mvcc_watcher_total")
    return found


def measure(services: int, build: Path) -> dict[str, float]:
    began = time.monotonic()
    with Bed(build) as bed:
        found = fill(bed, services)
        for step in (lambda: pages(bed, services), lambda: changes(bed, services), lambda: restart(bed)):
            found |= step()
        last = f"{SVC}/default/bulk-{services - 1}/"
        if not bed.etcd.client.values(last):
            raise ValueError(f"etcd has no key below {last}")
    found["objects_took_s"] = time.monotonic() - began
    return found

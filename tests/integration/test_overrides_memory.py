"""What 100,000 overrides take: skydns' resident memory without keys, with the keys alone, and with -overrides."""

import re
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import http_get, reserve_port
from records import SVC, value
from test_overrides import note

OVERRIDES = 100_000
MEMORY_MIB = 100
BATCH = 128  # etcd's limit for a transaction


def resident_mib(bed, *flags: str) -> float:
    """When it has read everything, and knows the last name if it has overrides."""
    http = reserve_port()
    bed.skydns = None
    bed.start_skydns("-no-rec", "-schema=kubernetes", f"-http-addr=127.0.0.1:{http}", *flags)
    overrides = int(re.search(r"^skydns_overrides (\d+)$", http_get(f"http://127.0.0.1:{http}/metrics")[1], re.M)[1])
    assert overrides == (OVERRIDES if flags else 0)
    if flags:
        assert bed.dns.answers("app-99999.example.com") == [address(OVERRIDES - 1)]
    status = Path(f"/proc/{bed.skydns.pid}/status").read_text()
    bed.skydns.stop()
    return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.M)[1]) / 1024


def address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


@pytest.mark.skipif("release" not in BIN_DIR.parts, reason="sanitizers have memory of their own")
def test_a_hundred_thousand(bare_bed, record_property):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/prod/web/w", value("10.0.0.1"))
    empty_mib = resident_mib(bed)
    for start in range(0, OVERRIDES, BATCH):
        numbers = range(start, min(start + BATCH, OVERRIDES))
        bed.etcd.put_all({f"/skydns/com/example/app-{i:05}/{i * 40503 & 0xffffffff:08x}": note(address(i)) for i in numbers})
    keys_mib = resident_mib(bed)
    overrides_mib = resident_mib(bed, "-overrides")
    for name, mib in (("empty", empty_mib), ("keys", keys_mib), ("overrides", overrides_mib)):
        record_property(f"{name}_mib", f"{mib:.1f}")
    print(f"resident MiB: {empty_mib:.1f} without keys, {keys_mib:.1f} with keys, {overrides_mib:.1f} with -overrides")
    assert keys_mib < overrides_mib <= empty_mib + MEMORY_MIB

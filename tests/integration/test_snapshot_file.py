"""The file of skydns -snapshot: when it is written, what it costs if that fails, and when it is not used."""

import ctypes
import os
import re
import signal
import struct
import threading
import time

import pytest
from programs import wait_until
from records import SVC, value
from snapshot_bed import KEYS, WEB, SnapshotBed, needs_mounts
from systemd_sockets import SystemdSockets
from test_sockets import answers as answers_at

USER, GROUP = 65532, 65533
NEVER = "-snapshot-interval=1h"


def refused(snapshots: SnapshotBed, *flags: str, shift_s: int = 0) -> str:
    """The one warning of a start that does not use the file; then it is as without."""
    skydns = snapshots.prepare(*(flags or ("-no-rec",)))
    skydns.env = snapshots.shifted(shift_s) if shift_s else None
    skydns.start()
    skydns.wait_line("skydns started")
    assert snapshots.bed.dns.answers(WEB) == ["SERVFAIL"]
    assert snapshots.watched.ask("/readiness")[0] == 503
    assert snapshots.metric("snapshot_bytes") == snapshots.metric("snapshot_age_seconds") == 0
    skydns.stop()
    [line] = snapshots.warnings()
    assert str(snapshots.file) in line and "reason=" in line
    return line


def test_damaged_ones_are_not_used(snapshots):
    bed = snapshots.bed
    snapshots.fill()
    bed.etcd_program.kill()
    good = snapshots.file.read_bytes()
    half = len(good) // 2
    damaged = [
        b"",
        good[:20],
        good[:half],
        good[:-1],
        good + b"\0",
        b"X" + good[1:],
        good[:half] + bytes([good[half] ^ 1]) + good[half + 1 :],
        good[:-1] + bytes([good[-1] ^ 0x80]),
    ]
    for content in damaged:
        snapshots.file.write_bytes(content)
        refused(snapshots)
        assert snapshots.file.read_bytes() == content  # what cannot be used is not replaced by nothing
    snapshots.file.write_bytes(good)
    snapshots.start()
    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    assert snapshots.warnings() == []


def with_lease(content: bytes) -> bytes:
    """A whole file, but its one lease has a key that there is no record of."""
    at = 12
    for _ in range(4):  # the header and the sections before the leases'
        at += 4 + int.from_bytes(content[at : at + 4], "big")
    end = at + 4 + int.from_bytes(content[at : at + 4], "big")
    minute_ms = 60000
    lease = struct.pack(">QQBQQ", 1, 7, 1, minute_ms, minute_ms)
    lease += b"\x06\x04none\0" + struct.pack(">QIB", 1, 0, 0) + bytes(8)
    body = content[:at] + struct.pack(">I", len(lease)) + lease + content[end:-8]
    xxhash = ctypes.CDLL("libxxhash.so.0")
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return body + struct.pack(">Q", xxhash.XXH3_64bits(body, len(body)))


def test_one_that_contradicts_itself_is_not_used(snapshots):
    """Nor its settings; seen only when its records are there."""
    bed = snapshots.bed
    bed.etcd.put("/skydns/config", '{"ttl":77}')
    snapshots.fill()
    bed.etcd_program.kill()
    good = snapshots.file.read_bytes()
    snapshots.file.write_bytes(with_lease(good))
    assert "does not fit together" in refused(snapshots)
    assert not any("caught up with etcd" in line for line in snapshots.skydns.lines)
    bed.start_etcd()
    bed.etcd.delete("/skydns/config")
    snapshots.start()
    snapshots.wait_followed()
    reply = bed.dns.query(WEB, "A")
    assert reply.answer[0].ttl != 77


def test_those_of_others_are_not_used(snapshots):
    """Another prefix, first domain or schema, too old, or from the future."""
    bed, hour_s, begun_s = snapshots.bed, 3600, time.time()
    snapshots.fill()
    bed.etcd_program.kill()
    assert "other" in refused(snapshots, "-no-rec", "-path-prefix=other")
    assert "b.test" in refused(snapshots, "-no-rec", "-domain=b.test,cluster.local")
    assert "schema" in refused(snapshots, "-no-rec", "-schema=kubernetes")
    assert "old" in refused(snapshots, shift_s=25 * hour_s)
    assert "future" in refused(snapshots, shift_s=-hour_s - 60)
    for flags, shift_s, age, least_s in (
        ((), 30, r"(\d+)s", 30),
        ((), -hour_s + 60, r"(\d+)s", 0),
        (("-snapshot-max=0",), 1000 * hour_s, r"1000h\w*", None),
    ):
        snapshots.prepare("-no-rec", *flags).env = snapshots.shifted(shift_s)
        snapshots.skydns.start()
        snapshots.skydns.wait_line("skydns started")
        assert bed.dns.answers(WEB) == ["10.0.0.1"]
        told = re.search(f"answers from a snapshot of {age} ago", snapshots.strict()[1])
        assert told, snapshots.strict()
        assert least_s is None or least_s <= int(told[1]) <= least_s + 1 + time.time() - begun_s
        snapshots.skydns.stop()
        assert snapshots.warnings() == []


def test_a_folder_instead_of_it_and_a_pipe(snapshots):
    snapshots.bed.etcd_program.kill()
    snapshots.file.mkdir()
    refused(snapshots)
    snapshots.file.rmdir()
    os.mkfifo(snapshots.file)
    refused(snapshots)


def test_none_yet(snapshots):
    """No warning, and as without."""
    snapshots.bed.etcd_program.kill()
    snapshots.start()
    assert snapshots.bed.dns.answers(WEB) == ["SERVFAIL"]
    assert snapshots.metric("snapshot_writes_total") == snapshots.metric("snapshot_failures_total") == 0
    snapshots.skydns.stop()
    assert snapshots.warnings() == []
    assert list(snapshots.folder.iterdir()) == []


def test_no_more_often_than_the_interval(snapshots):
    """Written soon after the first read, then not until the end, whatever changes; and read again at once."""
    bed = snapshots.bed
    bed.etcd.put_all(KEYS)
    snapshots.start("-no-rec", NEVER)
    wait_until(lambda: snapshots.metric("snapshot_writes_total") == 1, "the first one")
    first = snapshots.file.stat()
    for number in range(1, 30):
        bed.etcd.put(f"{SVC}/default/more/a", value(f"10.1.0.{number}"))
        bed.wait_answers("more.default.svc.cluster.local", "A", [f"10.1.0.{number}"])
    assert snapshots.metric("snapshot_writes_total") == 1
    assert snapshots.file.stat().st_ino == first.st_ino
    assert snapshots.file.stat().st_mtime_ns == first.st_mtime_ns
    assert snapshots.metric("snapshot_bytes") == first.st_size
    snapshots.skydns.stop()
    assert snapshots.file.stat().st_ino != first.st_ino
    bed.etcd_program.kill()
    snapshots.start()
    assert bed.dns.answers("more.default.svc.cluster.local") == ["10.1.0.29"]


def check_cannot_write(snapshots: SnapshotBed, reason: str, mount: str) -> None:
    """One warning for the interval, and everything else goes on."""
    bed = snapshots.bed
    bed.etcd.put_all(KEYS)
    bed.etcd.put_all({f"{SVC}/default/fill/{number}": '{"text":"%s"}' % ("x" * 1000) for number in range(100)})
    snapshots.start("-no-rec", NEVER, prefix=("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"))
    line = snapshots.skydns.wait_line(r"warn .*cannot write the snapshot")
    assert str(snapshots.file) in line and reason in line
    for number in range(1, 10):
        bed.etcd.put(f"{SVC}/default/more/a", value(f"10.1.0.{number}"))
        bed.wait_answers("more.default.svc.cluster.local", "A", [f"10.1.0.{number}"])
    assert snapshots.metric("snapshot_failures_total") == 1
    assert snapshots.metric("snapshot_writes_total") == snapshots.metric("snapshot_bytes") == 0
    assert len(snapshots.warnings()) == 1
    snapshots.watched.wait_strict(200)
    snapshots.skydns.stop()  # with status 0


@needs_mounts
def test_a_full_disk(snapshots):
    check_cannot_write(snapshots, "No space left on device", f"mount -t tmpfs -o size=16k none {snapshots.folder}")


@needs_mounts
def test_a_folder_that_cannot_be_written(snapshots):
    folder = snapshots.folder
    bind = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}"
    check_cannot_write(snapshots, "Read-only file system", bind)


def test_a_folder_that_does_not_exist(snapshots):
    bed, missing = snapshots.bed, snapshots.folder / "no" / "snapshot"
    bed.etcd.put_all(KEYS)
    snapshots.start("-no-rec", NEVER, file=missing)
    bed.wait_answers(WEB, "A", ["10.0.0.1"])
    assert str(missing) in snapshots.skydns.wait_line(r"warn .*snapshot.*No such file or directory")
    assert snapshots.strict()[0] == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_folder_of_the_user(snapshots):
    bed, user = snapshots.bed, f"-user={USER}:{GROUP}"
    for folder in (snapshots.folder, *snapshots.folder.parents):
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(0o711)  # the folders of tests are closed
    os.chown(snapshots.folder, USER, GROUP)
    bed.etcd.put_all(KEYS)
    environment = {"LSAN_OPTIONS": "detect_leaks=0"}  # its tracer needs what is dropped
    for _ in range(2):
        snapshots.prepare("-no-rec", user).env = environment
        snapshots.skydns.start()
        bed.wait_answers(WEB, "A", ["10.0.0.1"])
        snapshots.wait_followed()
        snapshots.skydns.stop()
        assert (snapshots.file.stat().st_uid, snapshots.file.stat().st_mode & 0o777) == (USER, 0o600)
    bed.etcd_program.kill()
    snapshots.prepare("-no-rec", user).env = environment
    snapshots.skydns.start()
    snapshots.skydns.wait_line("skydns started")
    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    assert snapshots.warnings() == []


def test_queries_held_on_systemd_s_sockets_are_answered(snapshots):
    """Sent while nobody listens and etcd is away: right, over UDP and TCP, from every worker."""
    bed = snapshots.bed
    bed.etcd.put("/skydns/local/cluster/a", value("10.0.0.1"))
    sockets = SystemdSockets(bed, f"-snapshot={snapshots.file}")
    sockets.start()
    wait_until(lambda: answers_at("127.0.0.1", sockets.port) == ["10.0.0.1"], "the records")
    sockets.skydns.stop()
    bed.etcd_program.kill()
    held: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda tcp=tcp: held.append(answers_at("127.0.0.1", sockets.port, tcp)))
        for tcp in (False, True) * 8
    ]
    for thread in threads:
        thread.start()
    sockets.start()
    for thread in threads:
        thread.join()
    assert held == [["10.0.0.1"]] * len(threads)
    sockets.skydns.signal(signal.SIGKILL)
    sockets.skydns.wait()
    sockets.close()

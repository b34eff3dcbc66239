"""An etcd restored from a backup, which has the store key of before: while kube2sky runs, while it is away, again and
again. No answer is ever wrong, and skydns trusts the store once kube2sky has written what it lacks.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable

import peers
import pytest
from bed import Bed
from programs import http_get, reserve_port, wait_until
from test_stores import STORE_KEY, etcd_elsewhere, every_name_asked, make_services, store_id, wait_all_there, wipe

SERIAL_KEY = "/kube2sky/cluster.local/serial"


def copy_aside(bed: Bed) -> Callable[[], None]:
    """etcd's data folder is copied while it is stopped. Returns what puts the copy in its place."""
    bed.etcd_program.kill()
    shutil.copytree(bed.folder / "etcd", bed.folder / "copy")
    bed.start_etcd()
    return lambda: shutil.copytree(bed.folder / "copy", bed.folder / "etcd")


def save_snapshot(bed: Bed, *flags: str) -> Callable[[], None]:
    """The same by etcdctl, for a running etcd."""
    file = str(bed.folder / "backup.db")

    def etcdctl(*arguments: str) -> None:
        command = ["etcdctl", f"--endpoints={bed.etcd_urls[0]}", "snapshot", *arguments]
        subprocess.run(command, env=os.environ | {"ETCDCTL_API": "3"}, check=True, capture_output=True, timeout=60)

    etcdctl("save", file)
    return lambda: etcdctl("restore", file, f"--data-dir={bed.folder / 'etcd'}", *flags)


def save_as_same_member(bed: Bed) -> Callable[[], None]:
    """With the parameters of before, hence the ids of cluster and member."""
    argv = bed.etcd_program.argv
    flags = ("--name", "--initial-advertise-peer-urls", "--initial-cluster")
    return save_snapshot(bed, *(f"{flag}={argv[argv.index(flag) + 1]}" for flag in flags))


def save_for_higher_revisions(bed: Bed) -> Callable[[], None]:
    """Restored as etcd's documentation says for those who watch: revisions jump, and all of before count as compacted.
    From then on, etcd is today's.
    """
    save_snapshot(bed)
    command = [peers.program("etcd", "etcdutl"), "snapshot", "restore", str(bed.folder / "backup.db")]
    command += [f"--data-dir={bed.folder / 'etcd'}", "--bump-revision=1000000000", "--mark-compacted"]

    def put_back() -> None:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        bed.etcd_program.argv[0] = peers.program("etcd", "etcd")

    return put_back


BACKUPS = {"copy": copy_aside, "same_member": save_as_same_member, "new_cluster": save_snapshot}
needs_etcdutl = pytest.mark.skipif(bool(peers.missing("etcd")), reason=peers.missing("etcd"))


@pytest.fixture(params=[*BACKUPS, pytest.param("higher", marks=needs_etcdutl)])
def backup(request):
    return BACKUPS.get(request.param, save_for_higher_revisions)


def strict(bed: Bed) -> int:
    return http_get(f"http://127.0.0.1:{bed.http_port}/readiness?strict")[0]


def start(bed: Bed, *kube2sky_flags: str) -> dict[str, list[str]]:
    """With old names kept for ever. The names made so far, and their answers."""
    bed.http_port = reserve_port()
    names = make_services(bed, "web", 10)
    bed.start_kube2sky(*kube2sky_flags)
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}", "-stale-max=0")
    wait_until(lambda: store_id(bed), "the store key")
    return wait_all_there(bed, names)


def restore(bed: Bed, put_back: Callable[[], None]) -> None:
    """In a later second than whatever was written before: serials follow a clock of whole seconds, and two of the same
    second may be equal. No etcd is restored as quickly as here.
    """
    written_s = int(time.time())
    wipe(bed)
    put_back()
    wait_until(lambda: int(time.time()) > written_s, "the next second")


def delete_service(bed: Bed, name: str) -> None:
    bed.kube.delete("services", name.partition(".")[0])


def wait_trusted(bed: Bed, since_s: float, gone: list[str], record_property) -> None:
    """Strictly ready again, and what was deleted is denied."""
    for name in gone:
        bed.wait_answers(name, "A", ["NXDOMAIN"])
    wait_until(lambda: strict(bed) == 200, "strict readiness")
    record_property("figure", f"the restored store is trusted after {time.monotonic() - since_s:.2f} s")


def test_restored_while_kube2sky_runs(bed, backup, record_property):
    """Twice from one backup, whose id is the one that the first restoration replaced."""
    rights = start(bed)
    put_back, ids = backup(bed), {store_id(bed)}
    for number in range(2):
        rights |= wait_all_there(bed, make_services(bed, f"late-{number}", 5))
        since = len(bed.skydns.lines)
        with every_name_asked(bed, rights):
            restore(bed, put_back)
            bed.start_etcd()
            began_s = time.monotonic()
            wait_until(lambda: store_id(bed) not in ids, "another store key")
            bed.skydns.wait_line("etcd holds another data set", since)
            wait_trusted(bed, began_s, [], record_property)
        ids.add(store_id(bed))
        gone = next(name for name in rights if name.startswith(f"late-{number}"))
        rights.pop(gone)
        delete_service(bed, gone)
        bed.wait_answers(gone, "A", ["NXDOMAIN"])

    def replaced() -> int:
        return sum("cause=complete" in line or "old_records=replaced" in line for line in bed.skydns.lines)

    wait_until(lambda: replaced() >= 2, "the lines, from the log's thread")
    assert replaced() == 2


def test_restored_with_a_standby(bed, record_property):
    """Leader and standby both see that etcd was restored; one replaces the store key, the other takes over later."""
    rights = start(bed, "--leader-elect")
    standby = bed.command(
        "kube2sky",
        "--domain=cluster.local",
        f"--etcd-server=http://127.0.0.1:{bed.etcd.port}",
        f"--healthz-port={reserve_port()}",
        "--leader-elect",
        *bed.kube_flags,
    ).start()
    standby.wait_line("etcd is followed")
    since = len(bed.kube2sky.lines)
    put_back, before = copy_aside(bed), store_id(bed)
    bed.kube2sky.wait_line("etcd is followed", since)
    since, standby_since = len(bed.skydns.lines), len(standby.lines)
    rights |= wait_all_there(bed, make_services(bed, "late", 5))
    with every_name_asked(bed, rights):
        restore(bed, put_back)
        bed.start_etcd()
        began_s = time.monotonic()
        wait_until(lambda: store_id(bed) not in ("", before), "another store key")
        bed.skydns.wait_line("etcd holds another data set", since)
        standby.wait_line("etcd holds another data set", standby_since)
        wait_trusted(bed, began_s, [], record_property)
        replaced = store_id(bed)
        bed.kube2sky.stop()
        standby.wait_line("base of zones' serials written")
    assert store_id(bed) == replaced
    standby.stop()


def test_restored_while_kube2sky_is_away(bed, backup, record_property):
    """Its start says that the store is complete, though it finds nothing to tell the store from the one before."""
    rights = start(bed)
    put_back = backup(bed)
    for number in range(2):
        rights |= wait_all_there(bed, make_services(bed, f"late-{number}", 5))
        bed.kube2sky.stop()
        gone = next(name for name in rights if name.startswith(f"late-{number}"))
        held = rights | {gone: rights[gone]}
        since = len(bed.skydns.lines)
        with every_name_asked(bed, held):
            restore(bed, put_back)
            bed.start_etcd()
            bed.skydns.wait_line("etcd holds another data set", since)
            bed.skydns.wait_line("records reread .*cause=another", since)
            assert strict(bed) == 503
        rights.pop(gone)
        delete_service(bed, gone)
        before = store_id(bed)
        with every_name_asked(bed, rights):
            bed.start_kube2sky()
            wait_trusted(bed, time.monotonic(), [gone], record_property)
        assert store_id(bed) == before


def test_restored_and_filled_before_it_is_met(bed, backup):
    """What the backup lacks was written by a kube2sky that nobody here knew of. Deleted names go at once; those of a
    backup that nobody filled stay, whatever its store key.
    """
    rights = start(bed)
    put_back = backup(bed)
    rights |= wait_all_there(bed, make_services(bed, "late", 5))
    gone = next(name for name in rights if name.startswith("late"))
    with every_name_asked(bed, {name: right for name, right in rights.items() if name != gone}):
        bed.kube2sky.stop()
        restore(bed, put_back)
        delete_service(bed, gone)
        since = len(bed.skydns.lines)
        with etcd_elsewhere(bed):
            before = bed.etcd.get_prefix(SERIAL_KEY)
            writer = bed.command(
                "kube2sky",
                "--domain=cluster.local",
                f"--etcd-server=http://127.0.0.1:{bed.etcd.port}",
                f"--healthz-port={reserve_port()}",
                *bed.kube_flags,
            ).start()
            wait_until(lambda: bed.etcd.get_prefix(SERIAL_KEY) != before, "everything written")
            writer.stop()
        bed.start_etcd()
        bed.skydns.wait_line("etcd holds another data set.*old_records=replaced", since)
        bed.wait_answers(gone, "A", ["NXDOMAIN"])
        wait_until(lambda: strict(bed) == 200, "strict readiness")


def test_an_older_backup_than_the_reader(bed):
    """Its store key was replaced before the reader began, so that the reader has never seen it."""
    put_back = None
    bed.http_port = reserve_port()
    names = make_services(bed, "web", 5)
    bed.start_kube2sky()
    wait_until(lambda: store_id(bed), "the store key")
    since = len(bed.kube2sky.lines)
    put_back, first = copy_aside(bed), store_id(bed)
    bed.kube2sky.wait_line("etcd is followed", since)
    since = len(bed.kube2sky.lines)
    make_services(bed, "late", 1)
    bed.kube2sky.wait_line("in sync", since)
    restore(bed, put_back)
    bed.start_etcd()
    wait_until(lambda: store_id(bed) != first, "another store key")
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}", "-stale-max=0")
    rights = wait_all_there(bed, [*names, "late-0.default.svc.cluster.local"])
    with every_name_asked(bed, rights):
        bed.kube2sky.stop()
        since = len(bed.skydns.lines)
        restore(bed, put_back)
        bed.start_etcd()
        bed.skydns.wait_line('etcd holds another data set.*old_records="kept', since)
        assert bed.etcd.values(STORE_KEY)[STORE_KEY] == first
    bed.start_kube2sky()
    wait_until(lambda: strict(bed) == 200, "strict readiness")

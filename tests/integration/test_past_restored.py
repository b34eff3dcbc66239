"""/explain?at= and /history after etcd was restored from a backup: revisions go back, or jump ahead, and times of before
must not lead into the history that took the place of theirs.
"""

import json
import shutil
import signal
import subprocess
import time

import peers
import pytest
from programs import http_get, wait_until
from records import SVC, value
from test_at import ask, explain, past_bed, start, wait_next_second, wait_revision
from test_restored_stores import BACKUPS

__all__ = ["past_bed"]

KEY = f"{SVC}/default/web/a"
NAME = "web.default.svc.cluster.local"


def at_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time()))


def put_followed(bed, *addresses: str) -> list[str]:
    """Each in a second of its own. The times between them."""
    times = []
    for address in addresses:
        wait_revision(bed, bed.etcd.put(KEY, value(address)))
        wait_next_second()
        times.append(at_now())
    return times


def is_followed(bed) -> bool:
    """The past can be asked for."""
    return ask(bed, "history", name=NAME, since="0s")[0] == 200


def wait_other_data_set(bed, address: str) -> None:
    bed.wait_answers(NAME, "A", [address])
    wait_until(lambda: is_followed(bed), "etcd to be followed")


def told(bed, page: str, **arguments: object) -> tuple[int, str]:
    """Waits while etcd is away for a moment, as when everything is read once more."""

    def told_now() -> tuple[int, str] | None:
        status, text = ask(bed, page, **arguments)
        return (status, text) if status != 503 else None

    return wait_until(told_now, f"{page} of the past")


def check_truth(bed, backup_revision: int, lost: list[str], made: dict[int, str]) -> None:
    """Nothing is told of the history that was lost; of the one in its place, what it has."""
    for moment in lost:
        status, text = told(bed, "explain", name=NAME, at=moment)
        assert status == 410, text
        assert json.loads(text)["oldest"]["time"] > moment
    assert json.loads(told(bed, "explain", name=NAME, at=backup_revision)[1])["answer"][0].endswith(" 10.0.0.1")
    for revision, address in made.items():
        answer = json.loads(told(bed, "explain", name=NAME, at=revision)[1])
        assert answer["revision"] == revision and answer["answer"][0].endswith(f" {address}")
    status, text = told(bed, "history", name=NAME, since=backup_revision)
    history = json.loads(text)
    assert status == 200
    assert [(c["revision"], json.loads(c["after"])["host"]) for c in history["changes"]] == sorted(made.items(), reverse=True)
    for change in history["changes"]:
        assert "time" not in change or change["time"] > lost[-1]
    # Since a lost time: from where this server knows the times of what etcd has now.
    history = json.loads(told(bed, "history", name=NAME, since=lost[0])[1])
    assert history["cut"] == "unmarked" and history["from"]["time"] > lost[-1]
    assert "10.0.0.2" not in json.dumps(history) and "10.0.0.3" not in json.dumps(history)


@pytest.mark.parametrize("meanwhile", ["runs", "stands", "restarts"])
@pytest.mark.parametrize("backup", BACKUPS)
def test_restored(past_bed, backup, meanwhile):
    """skydns follows; does not see etcd until it is beyond all that skydns knew; or has only its snapshot."""
    bed = past_bed
    kept = [f"-snapshot={bed.folder / 'skydns.snapshot'}"] if meanwhile == "restarts" else []
    backup_revision = bed.etcd.put(KEY, value("10.0.0.1"))
    start(bed, "-no-rec", "-stale-max=1s", *kept)
    put_back = BACKUPS[backup](bed)
    wait_until(lambda: is_followed(bed), "etcd to be followed")
    wait_next_second()
    lost = put_followed(bed, "10.0.0.2", "10.0.0.3")
    assert explain(bed, NAME, at=lost[0])["answer"][0].endswith(" 10.0.0.2")
    if meanwhile == "stands":
        bed.skydns.signal(signal.SIGSTOP)
    if meanwhile == "restarts":
        bed.skydns.stop()
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")
    put_back()
    bed.start_etcd()
    assert bed.etcd.revision() == backup_revision
    made = {bed.etcd.put(KEY, value(f"10.0.1.{n}")): f"10.0.1.{n}" for n in range(2, 12)}
    if meanwhile == "stands":
        bed.skydns.signal(signal.SIGCONT)
    if meanwhile == "restarts":
        start(bed)
    wait_other_data_set(bed, "10.0.1.11")
    check_truth(bed, backup_revision, lost, made)


@pytest.mark.skipif(bool(peers.missing("etcd")), reason=peers.missing("etcd"))
@pytest.mark.parametrize("meanwhile", ["runs", "restarts"])
@pytest.mark.parametrize("bump", [1000000, 1000000000])
def test_restored_with_higher_revisions(past_bed, bump, meanwhile):
    """As etcdutl does for those who watch: all revisions of before count as compacted. Only the greater jump is known as
    another data set.
    """
    bed = past_bed
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")
    bed.etcd_program.argv[0] = peers.program("etcd", "etcd")
    bed.start_etcd()
    kept = [f"-snapshot={bed.folder / 'skydns.snapshot'}"] if meanwhile == "restarts" else []
    bed.etcd.put(KEY, value("10.0.0.1"))
    start(bed, "-no-rec", "-stale-max=1s", *kept)
    file, folder = str(bed.folder / "backup.db"), str(bed.folder / "etcd")
    save = [peers.program("etcd", "etcdctl"), f"--endpoints={bed.etcd_urls[0]}", "snapshot", "save", file]
    subprocess.run(save, check=True, capture_output=True, timeout=60)
    wait_until(lambda: is_followed(bed), "etcd to be followed")
    wait_next_second()
    lost = put_followed(bed, "10.0.0.2", "10.0.0.3")
    if meanwhile == "restarts":
        bed.skydns.stop()
    bed.etcd_program.kill()
    shutil.rmtree(folder)
    restore = [peers.program("etcd", "etcdutl"), "snapshot", "restore", file, f"--data-dir={folder}",
               f"--bump-revision={bump}", "--mark-compacted"]  # fmt: skip
    subprocess.run(restore, check=True, capture_output=True, timeout=60)
    bed.start_etcd()
    first = bed.etcd.put(KEY, value("10.0.1.2"))
    assert first > bump
    if meanwhile == "restarts":
        start(bed)
    wait_other_data_set(bed, "10.0.1.2")
    for moment in lost:
        status, text = ask(bed, "explain", name=NAME, at=moment)
        assert status == 410, text
    assert explain(bed, NAME, at=first)["answer"][0].endswith(" 10.0.1.2")
    history = json.loads(ask(bed, "history", name=NAME, since=lost[0])[1])
    assert history["cut"] in ("compacted", "unmarked")
    assert "10.0.0." not in json.dumps([change.get("after") for change in history["changes"]])
    assert http_get(f"http://127.0.0.1:{bed.http_port}/readiness")[0] == 200

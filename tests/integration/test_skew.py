"""The previous release's programs beside these, as they meet in an upgrade and in its rollback: what one writes, the other
reads, and no record changes because the writer did. `make previous` builds them.
"""

import sys
from pathlib import Path

import pytest
from bed import BIN_DIR, Bed
from kube import endpoint, endpoint_slice, headless, port, service
from programs import Program, wait_until
from records import SVC, value
from snapshot_bed import KEYS, WEB, SnapshotBed, said

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from previous import find_previous  # noqa: E402

NEW, OLD = "this", "previous"
DB = "db.default.svc.cluster.local"
LATER = "/kube2sky/cluster.local/later/kind"
# Set wherever kube2sky fills etcd, in every release.
_READER = ("-no-rec", "-require-store-key", "-round-robin=false")


class SkewBed(Bed):
    """`releases` says of which release each program is started."""

    releases: dict[str, str]
    previous: Path

    def command(self, name: str, *arguments: str) -> Program:
        folder = self.previous if self.releases.get(name) == OLD else BIN_DIR
        return self._add(Program(name, [str(folder / name), *arguments]))

    def start_kube2sky_of(self, release: str) -> None:
        self.releases["kube2sky"] = release
        self.kube2sky = None
        self.start_kube2sky()

    def start_skydns_of(self, release: str) -> None:
        self.releases["skydns"] = release
        self.skydns = None
        self.start_skydns(*_READER)


@pytest.fixture
def skew(tmp_path):
    previous = find_previous(BIN_DIR.absolute().parents[1])
    if previous is None:
        pytest.skip("no programs of the previous release; `make previous` builds them, once there is a tag")
    bed = SkewBed(tmp_path)
    bed.previous, bed.releases = previous, {}
    bed.start_etcd()
    yield bed
    bed.close()


def fill_cluster(kube) -> str:
    """A Service with ports, and a headless one with a named endpoint. Returns the first one's address."""
    made = kube.create("services", service("web", port(80, "http"), port(53, "dns", "UDP")))
    kube.create("services", headless("db", port(5432, "pg")))
    ready = [endpoint("10.1.0.1", hostname="db-0"), endpoint("10.1.0.2")]
    kube.create("endpointslices", endpoint_slice("db-1", "db", ready, port(5432, "pg")))
    return made["spec"]["clusterIP"]


def check_cluster(bed, web: str, db: list[str]) -> None:
    bed.wait_answers(WEB, "A", [web])
    bed.wait_answers(f"_http._tcp.{WEB}", "SRV", [f"10 100 80 {WEB}."])
    bed.wait_answers(DB, "A", db)
    bed.wait_answers(f"db-0.{DB}", "A", ["10.1.0.1"])
    bed.wait_answers(".".join(reversed(web.split("."))) + ".in-addr.arpa", "PTR", [f"{WEB}."])
    bed.wait_answers("no.default.svc.cluster.local", "A", ["NXDOMAIN"])


@pytest.mark.parametrize("reader", [OLD, NEW])
@pytest.mark.parametrize("writer", [OLD, NEW])
def test_any_writer_with_any_reader(skew, writer, reader):
    """Also what comes and goes while both run."""
    web = fill_cluster(skew.start_apiserver())
    skew.start_kube2sky_of(writer)
    skew.start_skydns_of(reader)
    check_cluster(skew, web, ["10.1.0.1", "10.1.0.2"])
    made = skew.kube.create("services", service("more", port(80)))
    skew.wait_answers("more.default.svc.cluster.local", "A", [made["spec"]["clusterIP"]])
    skew.kube.delete("services", "more")
    skew.wait_answers("more.default.svc.cluster.local", "A", ["NXDOMAIN"])


@pytest.mark.parametrize("releases", [(OLD, NEW, OLD), (NEW, OLD, NEW)], ids=["upgrade and back", "back and upgrade"])
def test_keys_outlive_their_writer(skew, releases):
    """No record is written anew or goes for a while: its key has the revision that it had. What changes while no writer
    runs is made good by the next one, of whichever release. A key of a kind that neither knows stays."""
    skew.etcd.put(LATER, "{}")
    web = fill_cluster(skew.start_apiserver())
    skew.start_kube2sky_of(releases[0])
    skew.start_skydns_of(NEW)
    skew.wait_model()
    check_cluster(skew, web, ["10.1.0.1", "10.1.0.2"])
    before = records_of_both(skew.etcd)
    for number, release in enumerate(releases[1:]):
        skew.kube2sky.stop()
        made = skew.kube.create("services", service(f"more-{number}", port(80)))
        skew.start_kube2sky_of(release)
        skew.wait_answers(f"more-{number}.default.svc.cluster.local", "A", [made["spec"]["clusterIP"]])
        skew.wait_model()
        assert records_of_both(skew.etcd) == before
        check_cluster(skew, web, ["10.1.0.1", "10.1.0.2"])
    assert skew.etcd.values(LATER) == {LATER: "{}"}


def records_of_both(etcd) -> dict:
    """The records of fill_cluster's Services, with the revisions at which they were made and last written."""
    return {key: entry for key, entry in etcd.get_prefix(f"{SVC}/default/").items() if "/more-" not in key}


@pytest.mark.parametrize("before, after", [(OLD, NEW), (NEW, OLD)], ids=["upgrade", "back"])
def test_a_snapshot_of_the_other_release(skew, before, after):
    """It is answered from while etcd is away."""
    snapshots = SnapshotBed(skew)
    skew.etcd.put_all(KEYS)
    skew.releases["skydns"] = before
    snapshots.start()
    snapshots.wait_followed()
    right = said(skew.dns)
    snapshots.skydns.stop()
    skew.etcd_program.kill()
    skew.releases["skydns"] = after
    snapshots.start()
    assert said(skew.dns) == right
    snapshots.check_from_snapshot()
    skew.start_etcd()
    snapshots.watched.wait_strict(200)
    skew.etcd.put(f"{SVC}/default/web/a", value("10.0.0.9"))
    wait_until(lambda: skew.dns.answers(WEB) == ["10.0.0.9"], "a change after the snapshot")

"""Programs that die and come back: nothing is lost, no answer is wrong meanwhile, nothing is rewritten
needlessly.
"""

import signal

from dns_client import Dns, QueryLoad
from kube import endpoints, headless, port, service
from model import reverse_key
from programs import wait_until
from records import SVC, service_records, value
from test_pipeline import WEB

# kube2sky's line with the result of the first comparison.
RECONCILED = r"in sync keys_written={written} keys_deleted={deleted}\b"
KUBERNETES = "kubernetes.default.svc.cluster.local"


def test_etcd_killed_and_restarted(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    gone = kube.create("services", service("gone"))
    bed.start_writer_and_reader()
    bed.wait_answers("gone.default.svc.cluster.local", "A", [gone["spec"]["clusterIP"]])
    right = bed.dns.answers(KUBERNETES)
    with QueryLoad(bed.dns, KUBERNETES, right) as load:
        bed.etcd_program.kill()
        made = kube.create("services", service("web"))
        kube.delete("services", "gone")
        before = load.count
        wait_until(lambda: load.count >= before + 50, "queries while etcd is away")
        bed.start_etcd()
        bed.wait_answers(WEB, "A", [made["spec"]["clusterIP"]])
        bed.wait_answers("gone.default.svc.cluster.local", "A", ["NXDOMAIN"])
    assert bed.readiness()[0] == 200


def test_etcd_killed_again_and_again(bed):
    bed.start_kube2sky()
    bed.start_skydns()
    right = bed.dns.answers(KUBERNETES)
    with QueryLoad(bed.dns, KUBERNETES, right):
        for number in range(3):
            bed.etcd_program.kill()
            made = bed.kube.create("services", service(f"web-{number}"))
            bed.start_etcd()
            bed.wait_answers(f"web-{number}.default.svc.cluster.local", "A", [made["spec"]["clusterIP"]])


def test_kube2sky_killed_and_services_deleted_meanwhile(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    for number in range(5):
        kube.create("services", service(f"keep-{number}", port(80, "http")))
    made = kube.create("services", service("gone", port(80, "http"), port(443, "https")))
    bed.start_writer_and_reader()
    before = bed.etcd.get_prefix("/skydns/")
    bed.kube2sky.kill()
    kube.delete("services", "gone")
    since = len(bed.kube2sky.lines)
    bed.start_kube2sky()
    after = bed.etcd.get_prefix("/skydns/")
    removed = {k for k in before if k.startswith(f"{SVC}/default/gone/")}
    removed.add(reverse_key(made["spec"]["clusterIP"]))
    assert len(removed) == 4
    assert after == {
        k: v for k, v in before.items() if k not in removed
    }  # revisions, too: nothing else was written
    bed.kube2sky.wait_line(RECONCILED.format(written=0, deleted=4), since)
    bed.wait_answers("gone.default.svc.cluster.local", "A", ["NXDOMAIN"])


def test_kube2sky_killed_and_services_created_meanwhile(bed):
    bed.start_kube2sky()
    bed.kube2sky.kill()
    made = bed.kube.create("services", service("web", port(80, "http")))
    since = len(bed.kube2sky.lines)
    bed.start_kube2sky()
    assert bed.etcd.values(f"{SVC}/default/web/") == service_records(
        "web", made["spec"]["clusterIP"], ("tcp", "http", 80)
    )
    bed.kube2sky.wait_line(RECONCILED.format(written=3, deleted=0), since)


def test_restart_with_nothing_changed_writes_nothing(cluster_bed):
    bed, kube = cluster_bed, cluster_bed.kube
    kube.create("services", service("web", port(80, "http")))
    kube.create("services", headless("db", port(5432, "pg")))
    kube.create("endpoints", endpoints("db", [("10.1.0.1", "db-0"), "10.1.0.2"], port(5432, "pg")))
    bed.start_kube2sky()
    bed.kube2sky.stop()
    records = bed.etcd.get_prefix("/skydns/")
    bed.start_kube2sky()
    bed.kube2sky.stop()
    assert bed.etcd.get_prefix("/skydns/") == records


def test_skydns_before_its_first_sync_is_servfail(bare_bed):
    bed = bare_bed
    bed.start_skydns(is_waiting=False)
    quick = Dns(bed.dns.port, timeout_s=0.5)
    for name, rdtype in ((KUBERNETES, "A"), ("nothing.cluster.local", "SRV"), ("cluster.local", "SOA")):
        bed.skydns.wait_ready(
            lambda name=name, rdtype=rdtype: quick.answers(name, rdtype) == ["SERVFAIL"],
            f"{name} {rdtype} SERVFAIL",
        )
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/kubernetes/x", value("10.0.0.1"))
    bed.wait_answers(KUBERNETES, "A", ["10.0.0.1"])
    bed.skydns.wait_line(r"ready for queries on cluster\.local\. for udp://")


def test_skydns_restarted_has_everything(bed):
    bed.kube.control("bulk", count=500)
    bed.start_kube2sky()
    bed.start_skydns()
    bed.skydns.kill()
    bed.start_skydns()
    assert bed.dns.answers("bulk-499.default.svc.cluster.local") == ["172.0.1.243"]


def test_skydns_catches_up_after_a_compaction(bed):
    """etcd's history no longer has what it missed: it rereads everything, and answers all the time."""
    bed.start_kube2sky()
    bed.start_skydns()
    right = bed.dns.answers(KUBERNETES)
    bed.kube2sky.stop()
    bed.skydns.signal(signal.SIGSTOP)
    for number in range(20):
        bed.etcd.put(f"{SVC}/default/web/{number}", value("10.0.0.9"))
    bed.etcd_program.kill()
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/last", value("10.0.0.10"))
    bed.etcd.compact()
    with QueryLoad(bed.dns, KUBERNETES, right):
        bed.skydns.signal(signal.SIGCONT)
        bed.wait_answers(f"last.{WEB}", "A", ["10.0.0.10"])

"""The programs' monitoring: /metrics, /readiness?strict, and the log lines of an outage."""

import re
import shutil
import signal
import socket

import dns.flags
import dns.message
import dns.query
import dns.rcode
import pytest
from bed import make_certificate, make_signing_key
from dns_client import TIMEOUT_S, QueryLoad
from kube import service
from programs import http_get, reserve_port, wait_until
from prometheus import Page, parse
from records import SVC, value
from test_pipeline import WEB
from upstream import PATIENT, Upstream, address
from watched import Watched, documented_metrics


def watched_kube2sky(bed, *flags: str) -> Watched:
    bed.start_kube2sky("--etcd-mutation-timeout=1s", *flags)
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    watched.wait_strict(200)
    bed.kube2sky.wait_line("etcd is followed")  # what HTTP tells may be ahead of the pipe
    return watched


@pytest.mark.parametrize("text", [
    "a 1",  # no newline
    "a 1\n",  # no HELP and TYPE
    "# HELP a b\n# TYPE a gauge\n",  # not a sample
    "# HELP a b\n# TYPE a counter\na 1\n",  # a counter's name
    "# HELP a b\n# TYPE a gauge\nb 1\n",  # another metric's sample
    "# HELP a b\n# TYPE a gauge\na 1\na 2\n",  # twice
    '# HELP a b\n# TYPE a gauge\na{x="1" 1\n',
    '# HELP a b\n# TYPE a gauge\na{x="\\q"} 1\n',
    "# HELP a b\n# TYPE a gauge\na nan\n",
    '# HELP a b\n# TYPE a histogram\na_bucket{le="+Inf"} 2\na_sum 1\na_count 3\n',
])  # fmt: skip
def test_the_reader_of_metrics_is_strict(text):
    with pytest.raises(AssertionError):
        parse(text)


def test_kube2sky_counts_what_it_does(bed):
    watched = watched_kube2sky(bed)
    wait_until(lambda: "/kube2sky/cluster.local/store" in bed.etcd.values("/kube2sky/"), "the store key, which comes last")
    before = watched.metrics()
    assert before.names() == documented_metrics("kube2sky").keys()
    made = bed.kube.create("services", service("web"))
    watched.wait_metric(before.get("keys_actual") + 2, "keys_actual")
    watched.wait_metric(before.get("keys_actual") + 2, "keys_actual")  # the address and its name
    watched.wait_metric(0, "transactions_in_flight")  # acknowledged, too
    after = watched.metrics()
    assert after.get("keys_written_total") == before.get("keys_written_total") + 2
    assert after.get("transactions_total") == before.get("transactions_total") + 1
    assert after.get("keys_desired") == after.get("keys_actual")
    assert after.get("objects", kind="services") == before.get("objects", kind="services") + 1
    assert after.get("etcd_revision") == bed.etcd.revision()
    assert after.get("etcd_up") == after.get("ready") == after.total("etcd_reads_total") == 1
    histogram = after.metrics["kube2sky_transaction_seconds"].samples
    assert histogram[("kube2sky_transaction_seconds_count", ())] == after.get("transactions_total")
    for kind in ("services", "endpoints", "pods"):
        assert after.get("api_up", kind=kind) == after.get("api_lists_total", kind=kind) == 1
    assert after.get("objects_skipped_total", kind="services") == 0
    bed.kube.delete("services", "web")
    watched.wait_metric(before.get("keys_actual"), "keys_actual")
    watched.wait_metric(0, "transactions_in_flight")
    assert watched.metrics().get("keys_deleted_total") == before.get("keys_deleted_total") + 2
    bed.kube.control("put", resource="services", object={"metadata": {**made["metadata"], "name": "bad"}, "spec": 17})
    watched.wait_metric(1, "objects_skipped_total", kind="services")
    assert watched.ask("/healthz") == (200, "ok\n")


def reasons(lines: list[str]) -> list[str]:
    return [line.split(" reason=")[1].split(" after_ms=")[0] for line in lines]


def check_an_etcd_outage(bed, watched: Watched, take_away, bring_back, reason: str, is_refusing: bool = False) -> None:
    """etcd goes and comes back: every signal reports it, once each, and nothing else does."""
    watched.wait_metric(1, "etcd_up")
    before = watched.metrics().total("etcd_reconnects_total")
    since = len(watched.program.lines)
    take_away()
    why = watched.wait_strict(503)
    assert why.startswith("etcd has been failing for more than 1000 ms: etcd at http://127.0.0.1"), why
    if is_refusing:  # the reason of now, not of how it began
        current = re.compile(r": connect: Connection refused \(for \d+ s(, \d+ s in all)?\)$", re.M)
        watched.program.wait_ready(lambda: current.search(watched.ask("/readiness?strict")[1]), "the current reason")
    page = watched.metrics()
    assert page.get("etcd_up") == 0
    assert page.get("etcd_overdue") == 1
    assert page.get("etcd_silence_seconds") >= 1
    assert page.total("etcd_reconnects_total") == before
    bring_back()
    assert watched.wait_strict(200).strip() == "ok"
    watched.wait_metric(1, "etcd_up")
    page = watched.metrics()
    assert page.get("etcd_overdue") == 0
    assert page.total("etcd_reconnects_total") == before + 1
    assert page.get("etcd_reconnects_total", reason=reason) >= 1
    watched.program.wait_line(r"^error ", since)  # HTTP may be ahead of the log's pipe
    errors = [line for line in watched.program.lines[since:] if line.startswith("error ")]
    assert len(errors) == 1 and "-timeout, still retrying timeout_ms=1000 reason=" in errors[0], errors
    assert len(watched.lines("is followed after_ms=", since)) >= 1


def test_kube2sky_without_etcd(bed):
    watched = watched_kube2sky(bed)
    since = len(bed.kube2sky.lines)
    check_an_etcd_outage(bed, watched, bed.etcd_program.kill, bed.start_etcd, "unavailable", True)
    away = watched.lines("etcd cannot be followed", since)
    assert away and len(set(reasons(away))) == len(away), "no line twice"
    back = watched.lines("etcd is followed after_ms=", since)
    assert len(back) == 1 and back[0].endswith(f" endpoint=http://127.0.0.1:{bed.etcd_port}"), back
    made = bed.kube.create("services", service("web"))
    bed.start_skydns()
    bed.wait_answers(WEB, "A", [made["spec"]["clusterIP"]])


def test_kube2sky_with_a_stopped_etcd(bed):
    """Connected but silent: the unanswered transaction reports it first, then the ping."""
    watched = watched_kube2sky(bed)
    check_an_etcd_outage(
        bed,
        watched,
        lambda: bed.etcd_program.signal(signal.SIGSTOP),
        lambda: bed.etcd_program.signal(signal.SIGCONT),
        "unavailable",
    )


def test_kube2sky_without_the_api(bed):
    watched = watched_kube2sky(bed)
    for kind in ("services", "endpoints", "pods"):
        watched.wait_metric(1, "api_up", kind=kind)  # ready does not mean that all is watched
    since = len(bed.kube2sky.lines)
    bed.apiserver.kill()
    why = watched.wait_strict(503)
    assert why.startswith("the Kubernetes API has been failing for more than 1000 ms: GET http://127.0.0.1"), why
    page = watched.metrics()
    assert page.get("api_overdue") == 1
    assert page.total("api_up") == 0
    assert page.get("etcd_up") == 1
    bed.apiserver.start()
    assert watched.wait_strict(200) == "ok\n"
    page = watched.metrics()
    assert page.get("api_overdue") == 0
    assert page.total("api_up") == 3
    for kind in ("services", "endpoints", "pods"):
        assert page.total("api_reconnects_total", kind=kind) == 1
        resource = "endpointslices" if kind == "endpoints" else kind
        away = watched.lines(f"API cannot be followed, retrying kind={resource} ", since)
        assert away and len(set(reasons(away))) == len(away), "no line twice"
        assert len(watched.lines(f"API is followed kind={resource} after_ms=", since)) == 1
    assert len(watched.lines("the API has been failing for longer than", since)) == 1


def watched_skydns(bed, *flags: str) -> Watched:
    port = reserve_port()
    bed.start_skydns(f"-http-addr=127.0.0.1:{port}", "-etcd-timeout=1s", *(flags or ("-no-rec",)))
    watched = Watched(bed.skydns, port, "skydns_")
    assert watched.wait_strict(200) == "ok"
    bed.skydns.wait_line("etcd is followed")  # what HTTP tells may be ahead of the pipe
    return watched


def test_skydns_tells_that_it_answers_what_etcd_lost(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    watched = watched_skydns(bed)
    since = len(bed.skydns.lines)
    assert watched.metrics().get("etcd_store_key") == watched.metrics().get("store_holds_old") == 0
    bed.etcd_program.kill()
    shutil.rmtree(bed.folder / "etcd")
    bed.start_etcd()
    watched.wait_metric(1, "store_holds_old")
    watched.wait_metric(1, "etcd_up")
    status, why = watched.ask("/readiness?strict")
    assert status == 503 and why.startswith("etcd came back without its data or with older data; for "), why
    assert watched.ask("/readiness") == (200, "ok")
    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    assert len(watched.lines("etcd holds another data set", since)) == 1

    bed.etcd.put("/kube2sky/cluster.local/store", "new")
    watched.wait_metric(0, "store_holds_old")
    assert watched.wait_strict(200) == "ok"
    assert bed.dns.answers(WEB) == ["NXDOMAIN"]
    page = watched.metrics()
    assert page.get("etcd_store_key") == 1
    for cause in ("first", "another", "complete"):
        assert page.get("etcd_reads_total", cause=cause) == 1
    assert page.total("etcd_reads_total") == 3


def test_skydns_counts_what_it_does(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.etcd.put(f"{SVC}/default/bad/a", "no JSON")
    for number in range(100):
        bed.etcd.put(f"{SVC}/default/many/{number}", value(f"10.0.1.{number}"))
    nobody = reserve_port()
    certificate, key = make_certificate(bed.folder)
    watched = watched_skydns(
        bed, f"-nameservers=127.0.0.1:{nobody}", f"-stub=acme.test=127.0.0.1:{nobody}", PATIENT,
        f"-addr=127.0.0.1:{bed.dns.port},tls://127.0.0.1:{reserve_port()}", f"-cert={certificate}", f"-key={key}",
        f"-dnssec={make_signing_key(bed.folder)}",
    )
    before = watched.metrics()
    of_nameservers = {"upstream_queries_total", "upstream_failures_total", "upstream_seconds"}  # once they are asked
    of_clients = {"namespace_queries_total"}  # once one is known, or somebody reads /clients
    assert before.names() == documented_metrics("skydns").keys() - of_nameservers - of_clients
    assert before.get("store_records") == 101
    assert before.get("keys_skipped_total") == 1
    assert before.get("store_versions_total") == before.get("etcd_up") == 1
    assert before.total("etcd_reads_total") == before.get("etcd_reads_total", cause="first") == 1
    assert before.get("store_revision") == before.get("etcd_revision") == bed.etcd.revision()
    assert before.total("queries_total") == before.total("replies_total") == 0

    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    assert bed.dns.answers("no.svc.cluster.local") == ["NXDOMAIN"]
    assert bed.dns.answers("www.example.org") == ["SERVFAIL"]
    assert watched.ask("/clients")[0] == 200
    assert watched.metrics().names() == documented_metrics("skydns").keys()
    assert bed.dns.query("many.default.svc.cluster.local").flags & dns.flags.TC
    from_the_future = dns.message.make_query(WEB, "A")
    from_the_future.use_edns(1)
    assert bed.dns.send(from_the_future).rcode() == dns.rcode.BADVERS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"no query", ("127.0.0.1", bed.dns.port))
    with socket.create_connection(("127.0.0.1", bed.dns.port), TIMEOUT_S) as tcp:
        for name, rcode in ((WEB, dns.rcode.NOERROR), ("other.example.org", dns.rcode.SERVFAIL)):
            dns.query.send_tcp(tcp, dns.message.make_query(name, "A"))
            assert dns.query.receive_tcp(tcp)[0].rcode() == rcode
        watched.wait_metric(1, "tcp_connections")
    watched.wait_metric(0, "tcp_connections")
    watched.wait_metric(1, "queries_total", transport="udp", verdict="dropped")

    after = watched.metrics()
    assert after.get("queries_total", transport="udp", verdict="answered") == 4
    assert after.get("queries_total", transport="udp", verdict="deferred") == 1
    assert after.get("queries_total", transport="tcp", verdict="answered") == 1
    assert after.get("queries_total", transport="tcp", verdict="deferred") == 1
    assert after.total("queries_total") == 8
    for rcode, count in {"NOERROR": 2, "NXDOMAIN": 1, "SERVFAIL": 1, "BADVERS": 1}.items():
        assert after.get("replies_total", transport="udp", rcode=rcode) == count, rcode
    assert after.get("replies_total", transport="tcp", rcode="NOERROR") == 1
    assert after.get("replies_total", transport="tcp", rcode="SERVFAIL") == 1
    assert after.total("replies_total") == 7
    assert after.get("truncated_total", transport="udp") == 1
    assert after.get("truncated_total", transport="tcp") == 0
    assert after.get("forwarded_total") == after.get("forward_failures_total") == 2
    assert after.get("udp_unsent_total") == 0
    assert watched.ask("/healthz")[0] == 200

    bed.etcd.put("/skydns/com/other", "no JSON")
    watched.wait_metric(bed.etcd.revision(), "etcd_revision")
    assert watched.metrics().get("store_revision") == before.get("store_revision")
    bed.etcd.put(f"{SVC}/default/web/b", value("10.0.0.2"))
    watched.wait_metric(bed.etcd.revision(), "store_revision")
    assert watched.metrics().get("store_versions_total") == 2


@pytest.mark.parametrize("way", ["killed", "stopped"])
def test_skydns_without_etcd(bare_bed, way):
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    watched = watched_skydns(bed)
    since = len(bed.skydns.lines)
    with QueryLoad(bed.dns, WEB, ["10.0.0.1"]):
        if way == "killed":
            check_an_etcd_outage(bed, watched, bed.etcd_program.kill, bed.start_etcd, "unavailable", True)
        else:
            stop, go = signal.SIGSTOP, signal.SIGCONT
            check_an_etcd_outage(
                bed,
                watched,
                lambda: bed.etcd_program.signal(stop),
                lambda: bed.etcd_program.signal(go),
                "unavailable",
            )
    away = watched.lines("etcd away, answering from memory", since)
    assert away and len(set(reasons(away))) == len(away), "no line twice"
    assert len(watched.lines("etcd is followed after_ms=", since)) == 1


def test_skydns_before_its_first_sync(bare_bed):
    bed = bare_bed
    port = reserve_port()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{port}", "-etcd-timeout=1s", is_waiting=False)
    watched = Watched(bed.skydns, port, "skydns_")
    bed.skydns.wait_line("etcd has been away for longer than etcd-timeout")
    for path in ("/readiness", "/readiness?strict"):
        status, why = watched.ask(path)
        assert status == 503 and "etcd has not been read yet: etcd at http" in why, why
    page = watched.metrics()
    assert page.get("ready") == page.get("etcd_up") == page.get("store_records") == 0
    assert page.get("etcd_overdue") == 1
    bed.start_etcd()
    wait_until(lambda: watched.ask("/readiness?strict") == (200, "ok"), "ready")
    assert watched.metrics().total("etcd_reconnects_total") == 0


def test_kube2sky_before_its_first_sync(bare_bed):
    bed = bare_bed
    bed.start_apiserver()
    bed.start_kube2sky("--etcd-mutation-timeout=1s", is_waiting=False)
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    bed.kube2sky.wait_ready(lambda: watched.ask("/readiness?strict")[0] == 503, "/readiness?strict 503")
    bed.kube2sky.wait_ready(lambda: watched.ask("/readiness")[0] == 503, "/readiness 503")
    page = watched.metrics()
    assert page.get("ready") == page.get("etcd_up") == page.get("etcd_revision") == 0
    bed.start_etcd()
    wait_until(lambda: watched.ask("/readiness?strict") == (200, "ok\n"), "ready")
    assert watched.metrics().total("etcd_reconnects_total") == 0, "the first connection is not a reconnect"


def test_the_metrics_of_skydns(bare_bed, monkeypatch):
    """With PROMETHEUS_*: a page at that port and path, with SkyDNS's names in addition to ours."""
    bed = bare_bed
    port, nobody = reserve_port(), reserve_port()
    for name, text in {"PORT": str(port), "PATH": "/told", "NAMESPACE": "ns", "SUBSYSTEM": "dns"}.items():
        monkeypatch.setenv(f"PROMETHEUS_{name}", text)
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.etcd.put("/skydns/arpa/in-addr/10/0/0/1", '{"host":"web.cluster.local."}')
    for number in range(100):
        bed.etcd.put(f"{SVC}/default/many/{number}", value(f"10.0.1.{number}"))
    upstream = Upstream(address)
    flags = (f"-nameservers=127.0.0.1:{nobody}", f"-stub=acme.test=127.0.0.1:{upstream.port}", PATIENT)
    bed.start_skydns(*flags)
    bed.skydns.wait_line(rf"skydns: metrics enabled on :{port}/told")
    assert bed.dns.answers("www.acme.test") == ["192.0.2.7"]
    is_kept = re.compile("^skydns_cache_entries 1$", re.M)
    wait_until(lambda: is_kept.search(http_get(f"http://127.0.0.1:{port}/told")[1]), "the reply is kept")
    for _ in range(2):
        assert bed.dns.answers("www.acme.test") == ["192.0.2.7"]
    upstream.close()
    assert bed.dns.answers(WEB) == ["10.0.0.1"]
    assert bed.dns.answers("no.svc.cluster.local") == ["NXDOMAIN"]
    assert bed.dns.answers(WEB, "AAAA") == []
    assert bed.dns.answers("cluster.local", "ANY") == ["REFUSED"]
    assert bed.dns.query("many.default.svc.cluster.local").flags & dns.flags.TC
    assert len(bed.dns.query("many.default.svc.cluster.local", tcp=True).answer[0]) == 100
    assert bed.dns.answers("1.0.0.10.in-addr.arpa", "PTR") == ["web.cluster.local."]
    assert bed.dns.answers("www.example.org") == ["SERVFAIL"]
    status, text = http_get(f"http://127.0.0.1:{port}/told")
    assert status == 200
    page = Page("".join(line + "\n" for line in text.splitlines() if "ns_dns_" in line), "ns_dns_")
    systems = ("auth", "cache", "recursive", "reverse")
    assert [page.get("dns_request_count_total", system=system) for system in systems] == [6, 2, 2, 1]
    assert page.get("dns_cachemiss_count_total", cache="response") == 2
    assert page.get("dns_cachemiss_count_total", cache="signature") == 0
    for cause in ("nxdomain", "nodata", "refused", "truncated"):
        assert page.get("dns_error_count_total", system="auth", cause=cause) == 1, cause
    assert page.get("dns_error_count_total", system="recursive", cause="servfail") == 1
    assert page.total("dns_error_count_total") == 5
    durations = page.metrics["ns_dns_dns_request_duration_seconds"].samples
    sizes = page.metrics["ns_dns_dns_response_size_bytes"].samples
    for samples, name in ((durations, "request_duration_seconds"), (sizes, "response_size_bytes")):
        assert samples[(f"ns_dns_dns_{name}_count", (("system", "auth"),))] == 6
    assert sizes[("ns_dns_dns_response_size_bytes_bucket", (("le", "512"), ("system", "auth")))] == 5
    assert durations[("ns_dns_dns_request_duration_seconds_sum", (("system", "recursive"),))] > 0
    assert "skydns_queries_total" in text
    assert http_get(f"http://127.0.0.1:{port}/metrics")[0] == 404


def test_a_service_named_prometheus(bare_bed, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_PORT", "tcp://10.0.0.1:9090")
    bare_bed.start_etcd()
    bare_bed.start_skydns()
    assert any("accepted and ignored settings=PROMETHEUS_PORT" in line for line in bare_bed.skydns.lines)


def test_settings_that_cannot_be_used(bare_bed):
    """Each source by itself, and until it is mended."""
    bed = bare_bed
    http_port = reserve_port()
    config, hosts = bed.folder / "config.json", bed.folder / "hosts"
    config.write_text('{"nameservers":["127.0.0.1:9"]}')
    hosts.write_text("192.0.2.9 printer.office\n")
    bed.start_etcd()
    bed.start_skydns(f"-http-addr=127.0.0.1:{http_port}", f"-config={config}", f"-hosts={hosts}")
    watched = Watched(bed.skydns, http_port, "skydns_")

    def refused() -> set[str]:
        page = watched.metrics()
        return {one for one in ("etcd", "kube2sky", "file", "hosts") if page.get("config_refused", source=one)}

    assert refused() == set()
    config.write_text('{"nameservers":"x"}')
    wait_until(lambda: refused() == {"file"}, "the file is refused")
    bed.etcd.put("/skydns/config", "{")
    wait_until(lambda: refused() == {"file", "etcd"}, "the document is refused")
    bed.etcd.put("/kube2sky/cluster.local/config", '{"nameservers":["no address"]}')
    wait_until(lambda: refused() == {"file", "etcd", "kube2sky"}, "kube2sky's document is refused")
    hosts.unlink()
    wait_until(lambda: refused() == {"file", "etcd", "kube2sky", "hosts"}, "the hosts file is gone")
    assert bed.dns.answers("printer.office") == ["192.0.2.9"]
    config.write_text("{}")
    hosts.write_text("192.0.2.10 printer.office\n")
    bed.etcd.delete("/skydns/config")
    bed.etcd.put("/kube2sky/cluster.local/config", "{}")
    wait_until(lambda: refused() == set(), "all are mended")
    bed.wait_answers("printer.office", "A", ["192.0.2.10"])

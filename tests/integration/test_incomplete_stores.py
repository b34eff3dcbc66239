"""A store known to be incomplete: names that it lacks are SERVFAIL or have their old answers, never NXDOMAIN."""

import dns.edns
import dns.rcode
from programs import http_get, reserve_port, wait_until
from records import SVC, value
from test_stores import make_services, store_id, wait_all_there, wipe


class Outcomes:
    """Every response code that skydns gives while an etcd without its data is filled again, or is not."""

    def __init__(self, bed, names: list[str]):
        self._bed, self._names = bed, names
        self.seen: set[str] = set()

    def ask_all(self) -> set[str]:
        now = {dns.rcode.to_text(self._bed.dns.query(name, "A").rcode()) for name in self._names}
        self.seen |= now
        return now


def strict(bed) -> tuple[int, str]:
    return http_get(f"http://127.0.0.1:{bed.http_port}/readiness?strict")


def test_never_nxdomain_from_an_etcd_emptied_without_kube2sky(bed):
    """After -stale-max nothing is known of the records: SERVFAIL, until kube2sky has written them again."""
    bed.http_port = reserve_port()
    names = make_services(bed, "web", 5)
    bed.start_kube2sky()
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}", "-stale-max=1s")
    wait_until(lambda: store_id(bed), "the store key")
    wait_all_there(bed, names)
    bed.kube2sky.stop()
    outcomes, since = Outcomes(bed, names), len(bed.skydns.lines)
    wipe(bed)
    assert outcomes.ask_all() == {"NOERROR"}
    bed.start_etcd()
    wait_until(lambda: outcomes.ask_all() == {"SERVFAIL"}, "old answers gone")
    assert outcomes.seen == {"NOERROR", "SERVFAIL"}
    bed.skydns.wait_line("domain incomplete, its store key is missing", since)
    status, text = strict(bed)
    assert status == 503 and "/kube2sky/cluster.local/store" in text and "SERVFAIL" in text
    assert bed.dns.query("cluster.local", "SOA").rcode() == dns.rcode.NOERROR
    reply = bed.dns.query(names[0], "A", use_edns=0)
    assert [option.code for option in reply.options if option.otype == dns.edns.EDE] == [14]
    bed.start_kube2sky()
    wait_until(lambda: outcomes.ask_all() == {"NOERROR"}, "all names again")
    bed.skydns.wait_line("domain complete", since)
    assert "NXDOMAIN" not in outcomes.seen
    wait_until(lambda: bed.dns.answers("nothing.default.svc.cluster.local") == ["NXDOMAIN"], "denials again")
    assert strict(bed)[0] == 200


def test_required_store_key(bed):
    """The first read of an etcd that no kube2sky has completed does not count."""
    bed.http_port = reserve_port()
    names = make_services(bed, "web", 5)
    bed.etcd.put(f"{SVC}/default/own/x", value("10.0.0.1"))
    http = f"-http-addr=127.0.0.1:{bed.http_port}"
    bed.start_skydns("-no-rec", http, "-require-store-key", is_waiting=False)
    bed.skydns.wait_line("records read keys=1")
    outcomes = Outcomes(bed, names)
    assert outcomes.ask_all() == {"SERVFAIL"}
    assert bed.dns.answers("own.default.svc.cluster.local") == ["10.0.0.1"]
    status, text = http_get(f"http://127.0.0.1:{bed.http_port}/readiness")
    assert status == 503 and "/kube2sky/cluster.local/store" in text and "-require-store-key" in text
    bed.start_kube2sky()
    bed.skydns.wait_line("ready for queries")
    assert outcomes.ask_all() == {"NOERROR"}
    assert bed.dns.answers("nothing.default.svc.cluster.local") == ["NXDOMAIN"]
    assert "NXDOMAIN" not in outcomes.seen
    assert strict(bed)[0] == 200


def test_each_domain_is_judged_alone(bare_bed):
    """One domain's store key is gone; the other one was never marked, and is answered as before."""
    bed = bare_bed
    bed.http_port = reserve_port()
    bed.start_etcd()
    domains = ("cluster.local", "b.test", "hand.test")
    for domain in domains:
        path = "/".join(reversed(domain.split(".")))
        bed.etcd.put(f"/skydns/{path}/svc/default/web/x", value("10.0.0.1"))
    for domain in domains[:2]:
        bed.etcd.put(f"/kube2sky/{domain}/store", "one")
    flag = "-domain=" + ",".join(domains)
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{bed.http_port}", flag)
    denied = {domain: (lambda domain=domain: bed.dns.answers(f"no.{domain}")) for domain in domains}
    assert [denied[domain]() for domain in domains] == [["NXDOMAIN"]] * 3
    bed.etcd.delete("/kube2sky/b.test/store")
    wait_until(lambda: denied["b.test"]() == ["SERVFAIL"], "b.test incomplete")
    assert denied["cluster.local"]() == denied["hand.test"]() == ["NXDOMAIN"]
    assert bed.dns.answers("web.default.svc.b.test") == ["10.0.0.1"]
    assert strict(bed)[0] == 503 and "b.test" in strict(bed)[1] and "cluster.local" not in strict(bed)[1]
    bed.etcd.delete("/kube2sky/cluster.local/store")
    wait_until(lambda: denied["cluster.local"]() == ["SERVFAIL"], "cluster.local incomplete")
    metrics = http_get(f"http://127.0.0.1:{bed.http_port}/metrics")[1]
    for domain, number in zip(domains, (1, 1, 0)):
        assert f'skydns_domain_incomplete{{domain="{domain}."}} {number}' in metrics
    since = len(bed.skydns.lines)
    for domain in domains[:2]:
        bed.etcd.put(f"/kube2sky/{domain}/store", "two")
        wait_until(lambda domain=domain: denied[domain]() == ["NXDOMAIN"], f"{domain} complete")
        bed.skydns.wait_line(f"domain complete domain={domain}", since)
    assert strict(bed)[0] == 200


def test_keys_of_another_domain(bare_bed):
    """kube2sky's --domain and skydns' -domain differ."""
    bed = bare_bed
    bed.start_etcd()
    bed.etcd.put(f"{SVC}/default/web/x", value("10.0.0.1"))
    bed.etcd.put("/skydns/arpa/in-addr/10/0/0/1", value("web.default.svc.cluster.local."))
    bed.start_skydns("-no-rec", "-domain=cluster.locl", is_waiting=False)
    line = bed.skydns.wait_line("etcd has no key of a domain, but keys of another one")
    assert "domain=cluster.locl." in str(line) and "other=cluster.local." in str(line)

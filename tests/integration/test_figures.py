"""Figures of /metrics by nameserver and by type, and what the process takes, also when it is confined."""

import json
import urllib.request

import dns.message
from foreign_server import errors
from programs import http_get, reserve_port, wait_until
from prometheus import parse
from records import SVC, value
from test_extended_errors import FOREIGN, IMPATIENT, OURS, refuse
from upstream import Upstream


class Figures:
    def __init__(self, bed, *flags: str):
        self.bed, self.port = bed, reserve_port()
        bed.start_etcd()
        bed.etcd.put(f"{SVC}/default/web/1", value("10.0.0.1"))
        bed.start_skydns(f"-http-addr=127.0.0.1:{self.port}", *flags)

    def get(self, name: str, **labels: str) -> float:
        """-1: it is not there. Of a histogram, the number of observations."""
        page = parse(http_get(f"http://127.0.0.1:{self.port}/metrics")[1])
        for sample in (name, f"{name}_count"):
            if name in page and (found := page[name].samples.get((sample, tuple(sorted(labels.items()))))) is not None:
                return found
        return -1

    def live(self) -> dict:
        """The first event of /live."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/live", timeout=20) as reply:
            return json.loads(reply.readline().removeprefix(b"data: "))

    def of(self, port: int) -> tuple[float, ...]:
        at = {"zone": ".", "address": f"127.0.0.1:{port}", "transport": "udp"}
        names = ("queries_total", "failures_total", "seconds")
        return tuple(self.get(f"skydns_upstream_{name}", **at) for name in names)


def test_each_nameserver_has_its_figures(bare_bed):
    good, bad, dead = Upstream(dns.message.make_response), Upstream(refuse), reserve_port()
    try:
        servers = ",".join(f"127.0.0.1:{port}" for port in (dead, bad.port, good.port))
        figures = Figures(bare_bed, f"-nameservers={servers}", "-rcache=0", IMPATIENT)
        assert figures.of(good.port) == (-1, -1, -1)
        assert all("queries" not in server for server in figures.live()["nameservers"])
        assert bare_bed.dns.query(FOREIGN, "A").rcode() == 0
        wait_until(lambda: figures.of(good.port) == (1, 0, 1), "the good one's figures")
        assert figures.of(bad.port) == (1, 1, 1)
        assert figures.of(dead) == (1, 1, 0)
        shown = {server["address"]: server for server in figures.live()["nameservers"]}
        for port, queries, failures in ((good.port, 1, 0), (bad.port, 1, 1), (dead, 1, 1)):
            server = shown[f"127.0.0.1:{port}"]
            assert (server["queries"], server["failures"], server["seconds"] > 0) == (queries, failures, port != dead)
    finally:
        good.close()
        bad.close()


def test_types(bare_bed):
    figures = Figures(bare_bed, "-no-rec")
    before = figures.get("skydns_query_types_total", type="AAAA")
    bare_bed.dns.query(OURS, "AAAA")
    bare_bed.dns.query(OURS, "AAAA", tcp=True)
    assert errors(bare_bed.dns.query(FOREIGN, "NAPTR", use_edns=0)) == [20]
    wait_until(lambda: figures.get("skydns_query_types_total", type="AAAA") == before + 2, "both transports")
    assert figures.get("skydns_query_types_total", type="other") >= 1
    assert figures.get("skydns_query_types_total", type="NAPTR") == -1


def test_what_the_process_takes(bare_bed):
    figures = Figures(bare_bed, "-no-rec")
    assert figures.get("process_cpu_seconds_total") > 0
    assert figures.get("process_resident_memory_bytes") > 1 << 20
    assert figures.get("process_threads") >= 2
    assert 10 < figures.get("process_open_fds") < figures.get("process_max_fds")
    assert figures.get("process_start_time_seconds") == figures.get("skydns_start_time_seconds")

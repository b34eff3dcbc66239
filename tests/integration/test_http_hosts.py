"""DNS rebinding: pages answer only requests that name an address, one label or a name of ours; see -http-hosts."""

import http.client
import subprocess

import pytest
from bed import BIN_DIR
from programs import reserve_port

PATHS = ("/", "/metrics", "/readiness", "/explain", "/live", "/nothing")
ALLOWED = ["localhost", "127.0.0.1", "[::1]", "kube-dns", "kube-dns.kube-system.svc.cluster.local.", "Pages.example.com"]
REFUSED = ["rebind.example.net", "127.0.0.1.nip.io", "x.pages.example.com"]


def status_of(port: int, path: str, host: str | None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest("GET", path, skip_host=True)
        if host is not None:
            connection.putheader("Host", host)
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, "" if reply.status == 200 and path == "/live" else reply.read().decode()
    finally:
        connection.close()


def test_only_hosts_of_ours(bed, monkeypatch):
    http_port, prometheus_port = reserve_port(), reserve_port()
    monkeypatch.setenv("PROMETHEUS_PORT", str(prometheus_port))
    bed.start_kube2sky("--http-hosts=pages.example.com")
    bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{http_port}", "-http-hosts=pages.example.com,b.example")
    for port, paths in ((http_port, PATHS), (bed.readiness_port, PATHS), (prometheus_port, ("/metrics",))):
        for path in paths:
            without = status_of(port, path, "localhost")[0]
            for host in ALLOWED:
                assert status_of(port, path, f"{host}:{port}")[0] == without, (path, host)
            for host in REFUSED:
                status, text = status_of(port, path, f"{host}:{port}")
                assert status == 421 and host in text and "-http-hosts" in text, (path, host, status, text)
    for port, program, count in ((http_port, "skydns", len(PATHS) + 1), (bed.readiness_port, "kube2sky", len(PATHS))):
        page = status_of(port, "/metrics", "localhost")[1]
        assert f"\n{program}_http_hosts_refused_total {len(REFUSED) * count}\n" in page, program
    bed.skydns.wait_line("HTTP request refused.* host=rebind.example.net:")
    bed.kube2sky.wait_line("HTTP request refused.* host=rebind.example.net:")


@pytest.mark.parametrize("name", ["skydns", "kube2sky"])
def test_a_wrong_value(name):
    done = subprocess.run(
        [str(BIN_DIR / name), "-http-hosts=a.example:80"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "flag -http-hosts: `a.example:80`: expected comma-separated host names" in done.stderr

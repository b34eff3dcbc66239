"""kube2sky and skydns with etcd's grpc-proxy between them and etcd: everything is as it is with etcd itself. What a
proxy can break and they must notice: faults/test_grpc_proxy_faults.py.
"""

import re
import signal

import pytest
from certificates import Authority
from grpc_proxy import GrpcProxy, Reader, put_behind_proxy, start_tls_etcd
from kube import port, service
from programs import http_get, reserve_port, wait_until
from records import SVC, value

KEYS = 20_000
# Beyond two looks at the store (common/etcd/etcd_mirror_check.c); only ends a hang.
PATIENCE_S = 60.0
BATCH = 100  # of a transaction: etcd allows 128
# etcd brings a watch up to date in batches of 1,000 revisions; a proxy loses all batches but the first.
MISSED = 2_500
WATCHES = "etcd_debugging_mvcc_watcher_total"


def full(name: str) -> str:
    return f"{name}.default.svc.cluster.local"


def key(number: int) -> str:
    return f"{SVC}/default/n{number}/a"


def address(number: int, net: int = 9) -> str:
    return f"10.{net}.{number >> 8}.{number & 255}"


def fill(bed, count: int) -> None:
    for first in range(0, count, BATCH):
        bed.etcd.put_all({key(n): value(address(n)) for n in range(first, first + BATCH)})


def etcd_metric(bed, name: str) -> float:
    text = http_get(f"http://127.0.0.1:{bed.etcd_port}/metrics")[1]
    return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])


@pytest.fixture
def behind(bare_bed):
    """A bed with etcd, a proxy before it, and an API server: (bed, proxy)."""
    bare_bed.start_etcd()
    proxy = put_behind_proxy(bare_bed)
    bare_bed.start_apiserver()
    return bare_bed, proxy


def test_first_fill_and_changes(behind):
    bed, _ = behind
    bed.kube.control("bulk", count=50)
    bed.start_writer_and_reader()
    bed.wait_model()
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_answers(full("web"), "A", [made["spec"]["clusterIP"]])
    bed.kube.delete("services", "web")
    bed.wait_answers(full("web"), "A", ["NXDOMAIN"])
    bed.wait_model()


def test_full_read_of_many_pages(behind):
    bed, _ = behind
    fill(bed, KEYS)
    bed.start_skydns()
    for number in (0, KEYS // 2, KEYS - 1):
        assert bed.dns.answers(full(f"n{number}")) == [address(number)]
    assert any(re.search(rf"records read keys={KEYS} skipped=0 ", line) for line in bed.skydns.lines)


def test_many_readers_are_one_watch(behind):
    """What the proxy is for: readers that come one after another add no watch to etcd."""
    bed, _ = behind
    fill(bed, BATCH)
    readers = [Reader(bed).start()]
    readers[0].wait_followed()
    watches = etcd_metric(bed, WATCHES)
    assert watches > 0
    readers += [Reader(bed).start() for _ in range(5)]
    for reader in readers:
        reader.wait_followed()
    assert etcd_metric(bed, WATCHES) == watches
    bed.etcd.put(key(1), value(address(1)))
    for reader in readers:
        wait_until(lambda reader=reader: reader.dns.answers(full("n1")) == [address(1)], "the change")


def test_leased_record(behind):
    bed, _ = behind
    bed.start_skydns()
    lease = bed.etcd.grant_lease(20)
    bed.etcd.put(key(1), value(address(1)), lease)
    bed.wait_answers(full("n1"), "A", [address(1)])
    assert 1 <= bed.dns.query(full("n1")).answer[0].ttl <= 21
    bed.etcd.revoke_lease(lease)
    bed.wait_answers(full("n1"), "A", ["NXDOMAIN"])


def test_leader_election(behind):
    """The lease's grant, keep-alives and revocation pass: the second kube2sky takes over when the first one stops."""
    bed, _ = behind
    bed.start_kube2sky("--leader-elect")
    first = bed.kube2sky
    first.wait_line(" leading as=")
    bed.kube2sky, bed.readiness_port = None, reserve_port()
    bed.start_kube2sky("--leader-elect")
    bed.start_skydns()
    first.stop()
    bed.kube2sky.wait_line(" leading as=")
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_answers(full("web"), "A", [made["spec"]["clusterIP"]])


def test_reader_that_fell_behind(behind):
    """While one reader is stopped, there are more changes than etcd brings in one batch. Whatever the proxy does with
    its watch, no change is missing in the end.
    """
    bed, proxy = behind
    fill(bed, BATCH)
    slow, quick = Reader(bed).start(), Reader(bed).start()
    slow.program.signal(signal.SIGSTOP)
    proxy.restart()  # else the changes wait for it in the connection
    for number in range(MISSED):
        bed.etcd.put(key(number % BATCH), value(address(number, 8)))
    last = address(MISSED - 1, 8)
    wait_until(lambda: quick.dns.answers(full(f"n{(MISSED - 1) % BATCH}")) == [last], "the last change")
    slow.program.signal(signal.SIGCONT)
    for number in range(MISSED - BATCH, MISSED):
        name, right = full(f"n{number % BATCH}"), [address(number, 8)]
        wait_until(lambda name=name, right=right: slow.dns.answers(name) == right, f"{name} {right}")


# ---- TLS and users ----


def test_tls_on_both_sides(bare_bed):
    """The programs' certificates are for the proxy; etcd sees only the proxy's own."""
    bed = bare_bed
    trusted, outer = Authority(bed.folder, "trusted"), Authority(bed.folder, "outer")
    start_tls_etcd(bed, trusted)
    # With a common name, etcd would take each reader for that user: the proxy refuses to start.
    to_etcd, to_etcd_key = trusted.sign("proxy-client", has_name=False)
    served, served_key = outer.sign("proxy")
    client, client_key = outer.sign("client")
    proxy = GrpcProxy(
        bed.folder, f"https://127.0.0.1:{bed.etcd_port}",
        f"--cacert={trusted.certificate}", f"--cert={to_etcd}", f"--key={to_etcd_key}",
        f"--cert-file={served}", f"--key-file={served_key}", f"--trusted-ca-file={outer.certificate}",
        scheme="https",
    )  # fmt: skip
    bed.programs.append(proxy.program)
    proxy.start()
    bed.etcd_urls = [proxy.url]
    bed.start_apiserver()
    bed.start_kube2sky(
        f"--etcd-cafile={outer.certificate}", f"--etcd-certfile={client}", f"--etcd-keyfile={client_key}"
    )
    bed.start_skydns(
        "-no-rec", f"-ca-cert={outer.certificate}", f"-tls-pem={client}", f"-tls-key={client_key}"
    )
    made = bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_answers(full("web"), "A", [made["spec"]["clusterIP"]])


def start_guarded(bed, *proxy_flags: str, ttl_s: int) -> GrpcProxy:
    """etcd with users, and a password file for the programs."""
    bed.etcd_program.argv += ["--auth-token-ttl", str(ttl_s)]
    bed.start_etcd()
    bed.etcd.add_writer("dns", "secret", "/skydns/", "/kube2sky/")
    bed.etcd.enable_authentication("root-secret")
    bed.etcd.log_in("root", "root-secret")
    (bed.folder / "password").write_text("secret\n")
    return put_behind_proxy(bed, *proxy_flags)


@pytest.mark.faults
def test_user_and_password(bare_bed):
    """The proxy hands the programs' tokens on. They expire while nothing changes, but it goes on using them, so that no
    watch tells the readers of the change: they read it in the end.
    """
    bed = bare_bed
    start_guarded(bed, ttl_s=2)
    bed.start_apiserver()
    password = bed.folder / "password"
    bed.start_kube2sky("--etcd-username=dns", f"--etcd-password-file={password}")
    flags = ("-username=dns", f"-password-file={password}")
    readers = [Reader(bed, *flags).start()]
    wait_until(lambda: readers[0].metrics().get("etcd_tokens_total") >= 2, "another token", PATIENCE_S)
    readers.append(Reader(bed, *flags).start())
    made = bed.kube.create("services", service("web", port(80, "http")))
    right = [made["spec"]["clusterIP"]]
    for reader in readers:
        wait_until(lambda r=reader: r.dns.answers(full("web")) == right, "the change", PATIENCE_S)


def test_wrong_password(bare_bed):
    """The reason is etcd's, as without a proxy."""
    bed = bare_bed
    start_guarded(bed, ttl_s=300)
    (bed.folder / "password").write_text("wrong\n")
    flags = ("-no-rec", "-username=dns", f"-password-file={bed.folder / 'password'}")
    bed.start_skydns(*flags, is_waiting=False)
    bed.skydns.wait_line(r"(?i)password|authenticat")

"""skydns with the flags of a Corefile's translation allows nothing that the Corefile does not: nobody else is answered,
at no other address, nobody else transfers, and no other name reaches a nameserver."""

import socket

import dns.message
import dns.query
import dns.rcode
import dns.tsig
import pytest
from kube import service, service_import
from programs import wait_until
from test_signed_queries import SECRETS, key_of, keys_in
from test_stub_zones import at, says
from test_translate_corefile import commands, translate
from upstream import Upstream

NAME, ADDRESS = "web.default.svc.cluster.local", "10.96.0.7"
KUBERNETES = "kubernetes cluster.local {\npods verified\n}\n"
STRANGER = "127.0.0.2"


def start(bed, corefile: str, *more: str, right: list[str], name: str = NAME) -> None:
    """The programs with what is printed for the Corefile, whose %s is the port of DNS, when this is the answer."""
    file = bed.folder / "Corefile"
    file.write_text(corefile.replace("%s", str(bed.dns.port)))
    done = translate(file)
    assert done.returncode in (0, 3) and not done.stderr
    both = commands(done.stdout)
    if "kube2sky" in both:
        bed.kube.create("services", service("web", clusterIP=ADDRESS))
        own = [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={bed.readiness_port}"]
        bed.command("kube2sky", *both["kube2sky"], *own, *bed.kube_flags).start()
    bed.skydns = bed.command("skydns", *both["skydns"], f"-machines={bed.etcd_urls[0]}", *more).start()
    bed.wait_answers(name, "A", right)


def ask(bed, name: str = NAME, source: str = "127.0.0.1", tcp: bool = False) -> dns.message.Message:
    query = dns.message.make_query(name, "A")
    over = dns.query.tcp if tcp else dns.query.udp
    return over(query, "127.0.0.1", timeout=20, port=bed.dns.port, source=source)


def is_answered_at(bed, address: str) -> bool:
    """Whether somebody listens there, over UDP or TCP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.connect((address, bed.dns.port))
        client.send(dns.message.make_query(NAME, "A").to_wire())
        try:
            client.recv(512)
            return True
        except ConnectionRefusedError:
            pass
    with socket.socket() as client:
        return client.connect_ex((address, bed.dns.port)) == 0


# ---- Addresses ----


@pytest.mark.parametrize(
    "corefile",
    [
        "(here) {\nbind 127.0.0.1\n}\n.:%s {\nimport here\n" + KUBERNETES + "}",
        ".:%s {\nbind 127.0.0.1 127.0.0.2 {\nexcept 127.0.0.2\n}\n" + KUBERNETES + "}",
        ".:%s {\nbind 127.0.0.1 lo\n" + KUBERNETES + "}",
        ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + "}\na.test:%s {\nbind 127.0.0.2\nforward . 127.0.0.1:9\n}",
    ],
    ids=["snippet", "except", "interface", "blocks"],
)
def test_no_other_address_answers(bed, corefile):
    start(bed, corefile, right=[ADDRESS])
    assert is_answered_at(bed, "127.0.0.1")
    assert not is_answered_at(bed, "127.0.0.2")


# ---- Clients ----


@pytest.mark.parametrize(
    "rules",
    [
        f"acl {{\nblock net {STRANGER}\n}}",
        f"acl {{\nallow net 127.0.0.1\nblock type A net {STRANGER}\n}}",
        f"acl a.test {{\ndrop net {STRANGER}\n}}",
    ],
    ids=["all", "types", "names"],
)
def test_whom_an_acl_keeps_out(bed, rules):
    start(bed, ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + rules + "\n}", right=[ADDRESS])
    for tcp in False, True:
        assert ask(bed, tcp=tcp).answer
        assert ask(bed, source=STRANGER, tcp=tcp).rcode() == dns.rcode.REFUSED


@pytest.mark.parametrize(
    "line",
    ["import custom/*.override", "view inner {\nexpr client_ip() == '10.0.0.1'\n}", "tsig {\nrequire all\n}"],
    ids=["import", "view", "tsig"],
)
def test_nobody_is_answered_where_no_flag_tells_clients_apart(bed, line):
    start(bed, ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + line + "\n}", right=["REFUSED"])


# ---- Names ----


def test_a_second_domain_of_another_kube2sky(bed):
    """The first has the names that it says, those of the second are nobody's, and the server is ready."""
    more = "kubernetes other.test {\nnamespaces shop\nttl 5\n}"
    start(bed, ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + more + "\n}", right=[ADDRESS])
    assert ask(bed, NAME.replace("cluster.local", "other.test")).rcode() in (dns.rcode.SERVFAIL, dns.rcode.REFUSED)


def test_imported_services_alone_in_their_zone(bed):
    bed.kube.control("imports")
    bed.kube.control("put", resource="serviceimports", object=service_import("far", ips=("10.42.0.1",)))
    more = KUBERNETES.replace("cluster.local", "other.test cluster.local").replace("}", "multicluster other.test\n}")
    start(bed, ".:%s {\nbind 127.0.0.1\n" + more + "\n}", right=["10.42.0.1"], name="far.default.svc.other.test")
    bed.wait_answers(NAME, "A", [ADDRESS])
    other = NAME.replace("cluster.local", "other.test")
    wait_until(lambda: ask(bed, other).rcode() == dns.rcode.NXDOMAIN, "NXDOMAIN once the imports are complete")
    assert ask(bed, "far.default.svc.cluster.local").rcode() == dns.rcode.NXDOMAIN


# ---- Transfers ----


def may_transfer(bed, key: dns.tsig.Key | None = None) -> bool:
    """Once the serials have a base: until then it is SERVFAIL for those who may."""
    keys = {"keyring": {key.name: key}, "keyname": key.name, "keyalgorithm": key.algorithm} if key else {}
    options = {"port": bed.dns.port, "lifetime": 20, "relativize": False, **keys}
    outcome: list = []

    def is_settled() -> bool:
        try:
            outcome[:] = dns.query.xfr("127.0.0.1", "cluster.local", "AXFR", **options)
        except dns.query.TransferError as error:
            outcome[:] = [error.rcode]
        return outcome != [dns.rcode.SERVFAIL]

    wait_until(is_settled, "transferred or refused")
    return outcome != [dns.rcode.REFUSED] and any(
        str(rrset.name) == f"{NAME}." for message in outcome for rrset in message.answer
    )


def test_transfers_that_must_be_signed(bed):
    tsig = f"tsig {{\nsecret transfer. {SECRETS['transfer.']}\nrequire AXFR IXFR\n}}"
    corefile = ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + "transfer {\nto *\n}\n" + tsig + "\n}"
    start(bed, corefile, f"-tsig-keys={keys_in(bed.folder)}", right=[ADDRESS])
    assert not may_transfer(bed)
    assert not may_transfer(bed, key_of("other.key."))
    assert may_transfer(bed, key_of("transfer."))


@pytest.mark.parametrize(
    ("transfer", "may"),
    [
        ("transfer {\nto *\n}", True),
        ("transfer example.org {\nto *\n}\nfile db.example.org example.org", False),
        ("transfer {\nto *\n}\ntransfer cluster.local {\nto 192.0.2.1\n}", False),
        ("transfer {\nto *\n}\nacl {\nblock type AXFR IXFR\n}", False),
    ],
    ids=["this", "another", "longest", "acl"],
)
def test_transfers_of_another_zone(bed, transfer, may):
    start(bed, ".:%s {\nbind 127.0.0.1\n" + KUBERNETES + transfer + "\n}", right=[ADDRESS])
    assert may_transfer(bed) == may


# ---- Nameservers ----


@pytest.fixture
def upstream():
    server = Upstream(says("192.0.2.1"))
    yield server
    server.close()


def asked(upstream: Upstream) -> set[str]:
    return {str(query.question[0].name) for _, query in upstream.seen}


def start_forwarding(bed, upstream: Upstream, lines: str, *more: str, right: str) -> None:
    """A server block that begins with these lines, UPSTREAM in them being the nameserver."""
    bed.start_etcd()
    corefile = ".:%s {\nbind 127.0.0.1\n" + lines.replace("UPSTREAM", at(upstream)) + "\n}"
    start(bed, corefile, *more, right=[right], name="www.example.test")


@pytest.mark.parametrize(
    "forward",
    [
        "forward . quic://127.0.0.1",
        "forward . https://127.0.0.1/dns-query",
        "forward . dns.example.test",
        "forward . tls://dns.example.test",
        "forward . https://127.0.0.1\nforward . UPSTREAM",
    ],
    ids=["quic", "https", "name", "tls", "second"],
)
def test_nothing_is_forwarded_in_another_way(bare_bed, upstream, forward):
    """The flag more stands in for the nameservers of this host's resolv.conf."""
    start_forwarding(bare_bed, upstream, forward, f"-nameservers={at(upstream)}", right="SERVFAIL")
    assert asked(upstream) == set()


@pytest.mark.parametrize(
    "more",
    [
        "forward . UPSTREAM {\nexcept corp.test\n}",
        "forward . UPSTREAM\nfile db.corp.test corp.test",
        "forward . UPSTREAM\ntemplate ANY ANY corp.test {\nrcode NXDOMAIN\n}",
        "forward . UPSTREAM\nrewrite continue name exact www.corp.test www.a.test",
        "forward corp.test tls://dns.corp.test\nforward . UPSTREAM",
        "forward . UPSTREAM\n}\ncorp.test:%s {\nbind 127.0.0.1\nerrors",
    ],
    ids=["except", "file", "template", "rewrite", "unknown", "block"],
)
def test_names_that_stay(bare_bed, upstream, more):
    start_forwarding(bare_bed, upstream, more, right="192.0.2.1")
    assert ask(bare_bed, "www.corp.test").rcode() == dns.rcode.SERVFAIL
    assert asked(upstream) == {"www.example.test."}

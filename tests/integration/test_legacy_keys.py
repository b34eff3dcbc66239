"""The old pod's keys, byte for byte, written out here; and skydns' answers from them."""

import pytest
from kube import endpoints, headless, pod, port, service

DNS = "cluster.local"
TREE = "/skydns/local/cluster"


def ip_value(ip: str) -> str:
    return f'{{"host":"{ip}","priority":10,"weight":10,"ttl":30,"targetstrip":0}}'


def port_value(host: str, number: int) -> str:
    return f'{{"host":"{host}.","port":{number},"priority":10,"weight":10,"ttl":30,"targetstrip":0}}'


# Labels are FNV-1a hashes of the address's value, as in the old program.
KEYS = {
    f"{TREE}/svc/default/kubernetes/c88f1059": ip_value("10.0.0.1"),
    f"{TREE}/svc/default/kubernetes/_tcp/_https/c88f1059": port_value(f"kubernetes.default.svc.{DNS}", 443),
    f"{TREE}/svc/kube-system/kube-dns/21172049": ip_value("10.0.0.10"),
    f"{TREE}/svc/kube-system/kube-dns/_udp/_dns/21172049": port_value(f"kube-dns.kube-system.svc.{DNS}", 53),
    f"{TREE}/svc/kube-system/kube-dns/_tcp/_dns-tcp/21172049": port_value(
        f"kube-dns.kube-system.svc.{DNS}", 53
    ),
    # Its hash has seven digits, without a leading zero.
    f"{TREE}/svc/default/short/19ccb11": ip_value("10.0.0.9"),
    f"{TREE}/svc/default/db/db-0": ip_value("10.1.0.5"),
    f"{TREE}/svc/default/db/_tcp/_pg/db-0": port_value(f"db-0.db.default.svc.{DNS}", 5432),
    f"{TREE}/svc/default/db/479bcb2e": ip_value("fd00::1"),
    f"{TREE}/svc/default/db/_tcp/_pg/479bcb2e": port_value(f"479bcb2e.db.default.svc.{DNS}", 5432),
    f"{TREE}/pod/default/10-0-0-10/21172049": ip_value("10.0.0.10"),
}

ANSWERS = [
    (f"kubernetes.default.svc.{DNS}", "A", ["10.0.0.1"]),
    (f"kubernetes.default.svc.{DNS}", "AAAA", []),
    (f"_https._tcp.kubernetes.default.svc.{DNS}", "SRV", [f"10 100 443 kubernetes.default.svc.{DNS}."]),
    (f"_dns._udp.kube-dns.kube-system.svc.{DNS}", "SRV", [f"10 100 53 kube-dns.kube-system.svc.{DNS}."]),
    (f"_nope._tcp.kubernetes.default.svc.{DNS}", "SRV", ["NXDOMAIN"]),
    (f"short.default.svc.{DNS}", "SRV", [f"10 100 0 19ccb11.short.default.svc.{DNS}."]),
    (f"short.default.svc.{DNS}", "CNAME", []),
    (f"db.default.svc.{DNS}", "A", ["10.1.0.5"]),
    (f"db.default.svc.{DNS}", "AAAA", ["fd00::1"]),
    (f"db-0.db.default.svc.{DNS}", "A", ["10.1.0.5"]),
    (f"479bcb2e.db.default.svc.{DNS}", "AAAA", ["fd00::1"]),
    (
        f"_pg._tcp.db.default.svc.{DNS}",
        "SRV",
        [f"10 50 5432 479bcb2e.db.default.svc.{DNS}.", f"10 50 5432 db-0.db.default.svc.{DNS}."],
    ),
    (f"10-0-0-10.default.pod.{DNS}", "A", ["10.0.0.10"]),
    (f"10-0-0-11.default.pod.{DNS}", "A", ["NXDOMAIN"]),
    (f"default.svc.{DNS}", "A", ["10.0.0.1", "10.0.0.9", "10.1.0.5"]),
    (f"kube-dns.*.svc.{DNS}", "A", ["10.0.0.10"]),
    ("10.0.0.10.in-addr.arpa", "PTR", [f"kube-dns.kube-system.svc.{DNS}."]),
]


@pytest.mark.parametrize("source", ["endpoints", "slices"])
def test_keys_and_answers_of_the_old_pod(bare_bed, source):
    bed = bare_bed
    bed.start_etcd()
    kube = bed.start_apiserver("--service-cidr", "10.0.0.0/24")
    dns_ports = [port(53, "dns", "UDP"), port(53, "dns-tcp")]
    kube.create("services", service("kube-dns", *dns_ports, namespace="kube-system", clusterIP="10.0.0.10"))
    kube.create("services", service("short", clusterIP="10.0.0.9"))
    kube.create("services", headless("db", port(5432, "pg")))
    kube.create("endpoints", endpoints("db", [("10.1.0.5", "db-0"), "fd00::1"], port(5432, "pg")))
    kube.put_pod(pod("kube-dns", "10.0.0.10"))
    bed.start_kube2sky(f"--endpoints={source}")
    bed.start_skydns()
    bed.wait_records(TREE + "/", KEYS)
    for name, rdtype, right in ANSWERS:
        assert bed.dns.answers(name, rdtype) == right, (name, rdtype)

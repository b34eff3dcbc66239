"""What the queries of a recording are answered from: 12 configurations of skydns, as flags, and the versions of its
records: none, some of every kind, and 4,000 addresses at a name."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from keys import COOKIE_SECRET, TSIG_FILE, TSIG_KEY, ZONE_KEYS

DOMAIN, NESTED = "cluster.local", "deep.sub.cluster.local"

PODS = [("default", "10.244.0.1"), ("team-a", "10.244.1.1"), ("team-b", "10.244.2.1"), ("default", "fd00:244::1")]
LISTED = [("team-a", "team-b"), ("team-c", "*")]

COMMON = [
    f"-domain={DOMAIN}",
    "-nameservers=192.0.2.53",
    "-allow-recursion=10.0.0.0/8,192.168.0.0/16,fd00::/8",
    "-reverse-zones=10.96.0.0/16",
    "-workers=1",
]
KUBERNETES = "-schema=kubernetes"

HOSTS = "192.0.2.9 printer.office.test printer\n2001:db8::9 printer.office.test\n192.0.2.10 scanner.office.test\n"

NAMES = (
    "skydns", "kubernetes", "insecure", "disabled", "autopath", "visibility", "dnssec", "tsig", "cookies", "rate",
    "allow", "nested",
)  # fmt: skip


@dataclass
class Configuration:
    name: str
    flags: list[str]
    pods: list[tuple[str, str]] = field(default_factory=list)
    listed: list[tuple[str, str]] = field(default_factory=list)


def configurations(folder: Path) -> list[Configuration]:
    """Their files are in the folder."""
    cookies, tsig, hosts = (folder / name for name in ("cookies", "tsig", "hosts"))
    ours, ours_ksk, reverse, nested = (str(folder / base) for base in ZONE_KEYS)
    flags = {
        "skydns": ["-pods=verified"],
        "kubernetes": [KUBERNETES, "-any=hinfo", "-round-robin"],
        "insecure": [KUBERNETES, "-pods=insecure", "-ndots=1", "-chaos=false", "-rcache=20"],
        "disabled": [KUBERNETES, "-pods=disabled", "-rcache=0", "-local=a.dns.cluster.local"],
        "autopath": [KUBERNETES, "-autopath", "-search=corp.example,example.com"],
        "visibility": [KUBERNETES, "-visibility=own", "-public-namespaces=kube-system", "-autopath"],
        "dnssec": [KUBERNETES, f"-dnssec={ours},{ours_ksk},{reverse}", "-autopath", "-round-robin"],
        "tsig": [KUBERNETES, f"-tsig-keys={tsig}", f"-transfer-to=key:{TSIG_KEY}.", f"-dnssec={ours}"],
        "cookies": [f"-cookie-secret={cookies}", "-max-udp-size=4096", "-rcache-ttl=60"],
        "rate": [KUBERNETES, "-rate=2/4", f"-cookie-secret={cookies}"],
        "allow": [KUBERNETES, "-allow=10.0.0.0/8,fd00::/8", "-no-rec", "-rcache-stale=0"],
        "nested": [
            KUBERNETES, f"-domain={DOMAIN},{NESTED}", f"-hosts={hosts}", "-stub=stub.test=192.0.2.54",
            f"-stub=in.acme.{DOMAIN}=192.0.2.55", f"-dnssec={ours},{nested}", f"-tsig-keys={tsig}",
            f"-cookie-secret={cookies}", "-round-robin",
        ],
    }  # fmt: skip
    pods = {name: PODS for name in ("autopath", "visibility", "dnssec")}
    return [
        Configuration(name, ["skydns", *COMMON, *flags[name]], pods.get(name, []), LISTED if name in pods else [])
        for name in NAMES
    ]


def write_files(folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    for base, (public, private) in ZONE_KEYS.items():
        (folder / f"{base}.key").write_text(public)
        (folder / f"{base}.private").write_text(private)
        (folder / f"{base}.private").chmod(0o600)
    for name, text in {"cookies": COOKIE_SECRET.hex() + "\n", "hosts": HOSTS, "tsig": TSIG_FILE}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)


# ---- Records ----

Records = list[tuple[str, str]]


def value(host: str, **more) -> str:
    return json.dumps({"host": host, "priority": 10, "weight": 10, "ttl": 30, "targetstrip": 0, **more})


def hashed(path: str, text: str) -> tuple[str, str]:
    """As kube2sky's keys: the last part is a hash of the value."""
    return f"/skydns/{path}/{hashlib.sha256(text.encode()).hexdigest()[:8]}", text


def service(name: str, ip: str, *ports: tuple[str, str, int]) -> Records:
    path = f"local/cluster/svc/{name}"
    namespace, label = name.split("/")
    host = f"{label}.{namespace}.svc.{DOMAIN}."
    records = [hashed(path, value(ip))]
    records += [hashed(f"{path}/_{protocol}/_{port}", value(host, port=number)) for port, protocol, number in ports]
    if ":" not in ip:
        records.append((f"/skydns/arpa/in-addr/{ip.replace('.', '/')}", value(host)))
    return records


def headless(name: str, addresses: list[str], ttl: int = 30) -> Records:
    namespace, label = name.split("/")
    path = f"local/cluster/svc/{name}"
    records = []
    for number, ip in enumerate(addresses):
        pod = f"{label}-{number}"
        records.append((f"/skydns/{path}/{pod}", value(ip, ttl=ttl)))
        target = f"{pod}.{label}.{namespace}.svc.{DOMAIN}."
        records.append((f"/skydns/{path}/_tcp/_peer/{pod}", value(target, port=7000, ttl=ttl)))
    return records


def pod_key(namespace: str, ip: str) -> tuple[str, str]:
    return f"/skydns/local/cluster/pod/{namespace}/{ip.replace('.', '-')}", value(ip)


def small() -> Records:
    """Some of every kind: Services, aliases inside and outside, loops, groups, texts, mail, what only SkyDNS had."""
    records = [
        *service("default/web", "10.96.0.10", ("http", "tcp", 80), ("dns", "udp", 53)),
        *service("default/web6", "fd00:96::10", ("http", "tcp", 80)),
        *service("team-a/api", "10.96.1.10", ("https", "tcp", 443)),
        *service("team-b/api", "10.96.2.10", ("https", "tcp", 443)),
        *service("team-c/api", "10.96.3.10"),
        *service("kube-system/kube-dns", "10.96.0.11", ("dns", "udp", 53), ("dns-tcp", "tcp", 53)),
        *headless("default/db", ["10.244.0.11", "10.244.0.12", "10.244.0.13", "fd00:244::11"]),
        *headless("team-a/mixed", [f"10.244.1.{10 + i}" for i in range(40)], ttl=5),
        *headless("default/many", [f"10.245.{i // 250}.{1 + i % 250}" for i in range(200)]),
        *(pod_key(namespace, ip) for namespace, ip in PODS if "." in ip),
        pod_key("default", "10.244.0.11"),
    ]
    svc = "/skydns/local/cluster/svc/default"
    records += [
        (f"{svc}/external", value("www.example.com")),
        (f"{svc}/external-short", value("example")),
        (f"{svc}/alias", value(f"web.default.svc.{DOMAIN}")),
        (f"{svc}/alias-alias", value(f"alias.default.svc.{DOMAIN}")),
        (f"{svc}/alias-away", value(f"external.default.svc.{DOMAIN}")),
        (f"{svc}/alias-team", value(f"api.team-a.svc.{DOMAIN}")),
        (f"{svc}/alias-none", value(f"none.default.svc.{DOMAIN}")),
        (f"{svc}/loop-a", value(f"loop-b.default.svc.{DOMAIN}")),
        (f"{svc}/loop-b", value(f"loop-a.default.svc.{DOMAIN}")),
        (f"{svc}/text/1", value("", text="a text; with \\ and \"")),
        (f"{svc}/text/2", value("10.96.0.20", text="x" * 300)),
        (f"{svc}/mail/1", value("mx.example.org", mail=True, priority=20)),
        (f"{svc}/mail/2", value(f"web.default.svc.{DOMAIN}", mail=True)),
        (f"{svc}/group/1", value("10.96.0.31", group="g1")),
        (f"{svc}/group/2", value("10.96.0.32", group="g1")),
        (f"{svc}/group/sub/3", value("10.96.0.33", group="g2")),
        (f"{svc}/strip/a/1", value("10.96.0.41", targetstrip=1, port=99)),
        (f"{svc}/strip/b/1", value("10.96.0.42", targetstrip=2, port=99)),
        (f"{svc}/both/1", value("10.96.0.52")),
        (f"{svc}/both/2", value(f"web.default.svc.{DOMAIN}")),
        (f"{svc}/both/sub/3", value("www.example.org")),
        (f"{svc}/alias-both", value(f"both.default.svc.{DOMAIN}")),
        hashed("local/cluster/svc/default/alias-hashed", value(f"web.default.svc.{DOMAIN}")),
        hashed("local/cluster/svc/default/alias-deep/x", value("www.example.com")),
        (f"{svc}/alias-two/1", value(f"alias.default.svc.{DOMAIN}")),
        (f"{svc}/alias-two/2", value("www.example.org")),
        (f"{svc}/printer", value("Printer.office.test")),
        (f"{svc}/stub", value("www.stub.test")),
        (f"{svc}/_tcp/_print/1", value("printer.office.test", port=631)),
        (f"{svc}/cross/_tcp/_x/1", value(f"api.team-a.svc.{DOMAIN}.", port=443)),
        (f"{svc}/zero", value("10.96.0.50", ttl=0)),
        (f"{svc}/plain", '{"host":"10.96.0.51"}'),
        ("/skydns/local/cluster/dns/ns/ns1", value("10.96.0.11")),
        ("/skydns/local/cluster/dns/ns/ns2", value("fd00:96::11")),
        ("/skydns/local/cluster/sub/deep/svc/default/web/1", value("10.97.0.10")),
        ("/skydns/local/cluster/acme/hidden/1", value("10.98.0.1")),
        ("/skydns/local/cluster/a/b/c/d/e/1", value("10.96.9.1")),
        ("/skydns/local/cluster/a/b/x/1", value("10.96.9.2", port=8080, weight=0)),
        ("/skydns/arpa/in-addr/10/97/0/10", value(f"web.default.svc.{NESTED}.")),
    ]
    for i in range(10):
        target = f"chain-{i + 1}" if i < 9 else "web"
        records.append((f"{svc}/chain-{i}", value(f"{target}.default.svc.{DOMAIN}")))
    for i in range(20):
        records.append((f"{svc}/targets/_tcp/_out/{i}", value(f"host-{i}.example.net", port=1000 + i)))
    return records


def big() -> Records:
    """Also 4,000 addresses at a name, 700 ports of another, and a name with more targets than an answer looks up."""
    addresses = [f"10.{200 + i // 60000}.{i // 250 % 240}.{1 + i % 250}" for i in range(4000)]
    ports = [
        (f"/skydns/local/cluster/svc/default/wide/_tcp/_p{i}/1", value(f"wide.default.svc.{DOMAIN}.", port=i + 1))
        for i in range(700)
    ]
    records = [*headless("default/big", addresses)[::2], *ports]
    records.append(("/skydns/local/cluster/svc/default/wide/1", value("10.96.0.60")))
    return small() + records


@dataclass
class Version:
    name: str
    records: Records | None  # None: etcd was not read yet


def versions() -> list[Version]:
    return [Version("none", None), Version("empty", []), Version("small", small()), Version("big", big())]

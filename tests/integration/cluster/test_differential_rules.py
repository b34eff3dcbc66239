"""The rules of differential_accepted.py hide no fault: for each right pair of answers that they accept, there are wrong
ones that they do not.
"""

from dataclasses import replace

import differential_accepted  # noqa: F401, its rules
import dns.rdatatype
import pytest
from differential_asking import Answer, Question, Record
from differential_case import Case, judge
from differential_view import View
from kube import endpoint, endpoint_slice, headless, pod, port, service

D = "svc.cluster.local."
_SOA = "ns.dns.cluster.local. hostmaster.cluster.local."
OURS_SOA = f"cluster.local. 5 SOA {_SOA} 1 28800 7200 604800 5"
THEIR_SOA = f"cluster.local. 30 SOA {_SOA} 1 7200 1800 86400 30"


def objects() -> dict[str, list[dict]]:
    services = [
        service("web", port(80, "http"), type="ClusterIP", clusterIP="10.96.0.5", clusterIPs=["10.96.0.5"]),
        headless("db", port(5432, "pg"), type="ClusterIP"),
        service("out", type="ExternalName", externalName="www.ext.test"),
        service("in", type="ExternalName", externalName="db.default.svc.cluster.local"),
    ]
    slices = [
        endpoint_slice("web-1", "web", [endpoint("10.1.0.9")], port(80, "http")),
        endpoint_slice("db-1", "db", [endpoint("10.1.0.1", hostname="db-0"), endpoint("10.1.0.2")], port(5432, "pg")),
        endpoint_slice("other-1", "gone", [endpoint("10.1.0.2")], port(80, "http")),
    ]
    return {
        "namespaces": [{"metadata": {"name": "default"}}],
        "services": services,
        "endpointslices": slices,
        "pods": [pod("a", "10.2.0.1")],
    }


def answer(text: str, is_ours: bool) -> Answer:
    """`NXDOMAIN`, `NODATA`, or records in lines; `; ` begins the additional section."""
    flags = {"AA", "RD", "RA"} if is_ours else {"AA", "RD"}
    if text in ("NXDOMAIN", "NODATA"):
        authority = records(OURS_SOA if is_ours else THEIR_SOA)
        return Answer("NXDOMAIN" if text == "NXDOMAIN" else "NOERROR", frozenset(flags), "", (), authority)
    first, _, more = text.partition("; ")
    return Answer("NOERROR", frozenset(flags), "", records(first), (), records(more))


def records(text: str) -> tuple[Record, ...]:
    split = [line.strip().split(" ", 3) for line in text.split(",") if line.strip()]
    return tuple(sorted(Record(owner, int(ttl), kind, data) for owner, ttl, kind, data in split))


def is_accepted(question: str, ours: Answer, theirs: str, pods: str = "verified") -> bool:
    name, rdtype = question.split()
    view = View(objects(), pods, "address")
    case = Case(Question(name, dns.rdatatype.from_text(rdtype)), view, ours, answer(theirs, False))
    return judge(case)[1] == ours


# Question, our answer, CoreDNS's, and wrong ones of ours.
DB_0, DB_1 = f"db.default.{D} 30 A 10.1.0.1", f"db.default.{D} 30 A 10.1.0.2"
SRV = f"_http._tcp.web.default.{D} 30 SRV {{}} 100 {{}} web.default.{D}; web.default.{D} 30 A 10.96.0.5"
PG = "_pg._tcp.db.default.svc.cluster.local."
ENDS = {"db-0": "10.1.0.1", "10-1-0-2": "10.1.0.2"}
ALIAS, PTR = f"in.default.{D} 30 CNAME db.default.{D}", "2.0.1.10.in-addr.arpa. 30 PTR "
CASES = [
    (f"web.default.{D} A", f"web.default.{D} 30 A 10.96.0.5", f"web.default.{D} 30 A 10.96.0.5",
     ["NXDOMAIN", "NODATA", f"web.default.{D} 29 A 10.96.0.5", f"web.default.{D} 30 A 10.96.0.6"]),
    (f"db.default.{D} A", f"{DB_0},{DB_1}", f"{DB_0},{DB_1}", [DB_0, f"{DB_0},{DB_1},db.default.{D} 30 A 10.1.0.3"]),
    (f"_http._tcp.web.default.{D} SRV", SRV.format(10, 80), SRV.format(0, 80),
     [SRV.format(10, 81), SRV.format(5, 80), SRV.format(10, 80).split(";")[0], "NXDOMAIN"]),
    (f"_http._tcp.web.default.{D} A", "NODATA", f"_http._tcp.web.default.{D} 30 A 10.96.0.5", ["NXDOMAIN"]),
    (f"_ftp._tcp.web.default.{D} A", "NXDOMAIN", "NXDOMAIN", ["NODATA"]),
    (f"10-1-0-9.web.default.{D} A", "NXDOMAIN", f"10-1-0-9.web.default.{D} 30 A 10.1.0.9", ["NODATA"]),
    (f"db-0.db.default.{D} A", f"db-0.db.default.{D} 30 A 10.1.0.1", f"db-0.db.default.{D} 30 A 10.1.0.1",
     ["NXDOMAIN", "NODATA"]),
    (f"db-0._pg._tcp.db.default.{D} SRV",
     f"db-0.{PG} 30 SRV 10 100 5432 db-0.db.default.{D}; db-0.db.default.{D} 30 A 10.1.0.1", "NXDOMAIN",
     [f"db-0.{PG} 30 SRV 10 100 5433 db-0.db.default.{D}", "NODATA"]),
    (f"in.default.{D} HTTPS", ALIAS, "NODATA", [f"in.default.{D} 30 CNAME web.default.{D}", "NODATA", "NXDOMAIN"]),
    (f"in.default.{D} A", f"{ALIAS},{DB_0},{DB_1}", f"{ALIAS},{DB_0},{DB_1}", [ALIAS, f"{ALIAS},{DB_0}", "NODATA"]),
    (f"out.default.{D} TXT", f"out.default.{D} 30 CNAME www.ext.test.", "NODATA",
     [f"out.default.{D} 30 CNAME six.ext.test.", "NODATA"]),
    (f"default.{D} TXT", "NODATA", "NXDOMAIN", ["NXDOMAIN", f'default.{D} 30 TXT "x"']),
    (f"nope.{D} SOA", "NXDOMAIN", "NODATA", ["NODATA"]),
    ("2.0.1.10.in-addr.arpa. PTR", f"{PTR}10-1-0-2.db.default.{D}",
     f"{PTR}10-1-0-2.db.default.{D},{PTR}10-1-0-2.gone.default.{D}", [f"{PTR}10-1-0-2.gone.default.{D}", "NODATA"]),
    ("10-2-0-1.default.pod.cluster.local. A", "10-2-0-1.default.pod.cluster.local. 30 A 10.2.0.1",
     "10-2-0-1.default.pod.cluster.local. 30 A 10.2.0.1",
     ["NXDOMAIN", "10-2-0-1.default.pod.cluster.local. 30 A 10.2.0.2"]),
]  # fmt: skip


@pytest.mark.parametrize("question, right, theirs, wrong", CASES, ids=[case[0] for case in CASES])
def test_faults_are_not_hidden(question, right, theirs, wrong):
    ours = answer(right, True)
    assert is_accepted(question, ours, theirs)
    for text in wrong:
        if text != theirs:
            assert not is_accepted(question, answer(text, True), theirs), text
    assert not is_accepted(question, replace(ours, flags=ours.flags - {"AA"}), theirs)
    assert not is_accepted(question, replace(ours, flags=ours.flags | {"AD"}), theirs)


@pytest.mark.parametrize("right, is_right", [("1.2.3.4", True), ("1.2.3.5", False)])
def test_unchecked_pods(right, is_right):
    name = "1-2-3-4.nope.pod.cluster.local."
    assert is_accepted(f"{name} A", answer(f"{name} 3600 A {right}", True), "NXDOMAIN", "insecure") == is_right

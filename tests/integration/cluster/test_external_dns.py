"""external-dns beside kube2sky: Services of a real Kubernetes tell both which external names to write into one etcd, and
skydns answers from both. By the logs of the two, each change in etcd is of one of them, and no key is of both.
"""

import itertools
import json
import random
import re
from collections import Counter
from pathlib import Path

import peers
import pytest
from asking import PATIENCE_S
from bed import Bed
from cluster import Cluster
from kube import service
from programs import Program, reserve_port, wait_equal, wait_until
from records import hash_of
from scripted import Nameserver, reply, soa

pytestmark = pytest.mark.cluster

ALIASES = "dns.kube2sky/aliases"
THEIR_ANNOTATIONS = "external-dns.alpha.kubernetes.io/"
CONFIG = "/skydns/config"
NONE = ["NXDOMAIN"]  # the upstream's answer
SYNC = ("--registry=txt", "--policy=sync")

_numbers = itertools.count(1)


def key_of(name: str) -> str:
    return "/skydns/" + "/".join(reversed(name.split(".")))


class Both:
    """kube2sky, external-dns and skydns around one etcd. The Services of a namespace lead them, to names in a zone that
    is called after it; external-dns reads whatever lies in etcd.
    """

    def __init__(self, folder: Path, cluster: Cluster, *flags: str):
        """flags: external-dns's."""
        self.namespace = f"external-dns-{next(_numbers)}"
        self.bed, self.kube = Bed(folder), cluster.connect()
        self.upstream = Nameserver()
        self.upstream.always = reply(rcode="NXDOMAIN", authority=(soa("com."),))
        self.bed.use_kube(self.kube, cluster.kube2sky_flags())
        self.external_dns = Program(
            "external-dns",
            [
                peers.program("external-dns", "external-dns"), "--provider=coredns", "--source=service",
                f"--kubeconfig={cluster.kubeconfig}", f"--namespace={self.namespace}", "--events",
                "--interval=100ms", "--min-event-sync-interval=0s", "--service-type-filter=LoadBalancer", "--txt-owner-id=cluster",
                f"--annotation-prefix={THEIR_ANNOTATIONS}", f"--metrics-address=127.0.0.1:{reserve_port()}", *flags,
            ],
            env={"ETCD_URLS": self.bed.etcd_urls[0]},
        )  # fmt: skip
        self.bed.programs.append(self.external_dns)

    def start(self) -> None:
        self.kube.create_namespace(self.namespace)
        self.bed.start_etcd()
        self.bed.etcd.put(CONFIG, json.dumps({"overrides": True, "ttl": 60}))
        self.bed.start_kube2sky("--override-zones=example.com", "--pods=disabled", "--log-level=debug")
        self.bed.start_skydns("-schema=kubernetes", f"-nameservers=127.0.0.1:{self.upstream.port}")
        self.external_dns.start()

    def close(self) -> None:
        try:
            self.bed.close()
        finally:
            self.upstream.close()
            self.kube.send("DELETE", self.kube.path("namespaces", name=self.namespace), None, {})

    def name(self, label: str) -> str:
        return f"{label}.{self.namespace}.example.com"

    # ---- Services ----

    def _put(self, name: str, annotations: dict[str, str], **spec) -> str:
        """Creates the Service, or changes its annotations; its cluster IP."""
        path = self.kube.path("services", self.namespace, name)
        if self.kube.send("GET", path, None, {})[0] == 200:
            changed = self.kube.patch("services", name, {"metadata": {"annotations": annotations}}, self.namespace)
            return changed["spec"]["clusterIP"]
        value = service(name, namespace=self.namespace, ipFamilyPolicy="SingleStack", **spec)
        value["metadata"]["annotations"] = annotations
        return self.kube.create("services", value)["spec"]["clusterIP"]

    def put_outer(self, name: str, label: str, *targets: str) -> None:
        """One for external-dns. targets: addresses, or a host name."""
        values = {"hostname": self.name(label), "target": ",".join(targets)}
        annotations = {f"{THEIR_ANNOTATIONS}{key}": text for key, text in values.items()}
        self._put(name, annotations, type="LoadBalancer", allocateLoadBalancerNodePorts=False)

    def put_inner(self, name: str, *labels: str) -> str:
        """One for kube2sky; its cluster IP."""
        return self._put(name, {ALIASES: ", ".join(self.name(label) for label in labels)})

    def delete(self, name: str) -> None:
        self.kube.delete("services", name, self.namespace)

    # ---- What comes of it ----

    def wait_answers(self, label: str, right: list[str], rdtype: str = "A") -> None:
        name, last = self.name(label), []

        def is_right() -> bool:
            last[:] = self.bed.dns.answers(name, rdtype)
            return last == right

        try:
            wait_until(is_right, f"{name} {rdtype}: {right}", PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; got {last}") from None

    def is_ours_at(self, label: str) -> bool:
        """Whether kube2sky's key of the Service `inner` is there; not, that external-dns's are."""
        labels = {key.rsplit("/", 1)[1] for key in self.bed.etcd.values(f"{key_of(self.name(label))}/")}
        is_ours = labels == {hash_of(f"{self.namespace}/inner")}
        assert is_ours or hash_of(f"{self.namespace}/inner") not in labels
        return is_ours

    def wait_pass(self) -> None:
        """Until external-dns has read all, which is as it now is, and found nothing to do."""
        since, idle = len(self.external_dns.lines), "All records are already up to date"

        def is_idle() -> bool:
            return sum(idle in line for line in self.external_dns.lines[since:]) > 1  # the first may have read before

        self.external_dns.wait_ready(is_idle, "idle", PATIENCE_S)

    # ---- Who wrote it ----

    def _told(self) -> list[Counter]:
        """How often, by key, kube2sky and external-dns say to have put it, and to have deleted it."""
        key = r"(/skydns/\S+)"
        patterns = {
            rf"^debug \S+ key written .*\bkey={key}": self.bed.kube2sky,
            rf"Add/set key {key} to ": self.external_dns,
            rf"^debug \S+ key deleted .*\bkey={key}": self.bed.kube2sky,
            rf"Delete key {key} ": self.external_dns,
        }
        return [
            Counter(found[1] for line in program.lines if (found := re.search(pattern, line)))
            for pattern, program in patterns.items()
        ]

    def _untold(self) -> dict[str, str]:
        """Changes in etcd that neither tells, by key."""
        changes = [one for one in self.bed.etcd.changes(1, "/skydns/") if one[1] != CONFIG]
        puts = Counter(key for _, key, value in changes if value is not None)
        deletes = Counter(key for _, key, value in changes if value is None)
        ours_put, theirs_put, ours_deleted, theirs_deleted = self._told()
        found = {key: "put" for key, count in puts.items() if count != ours_put[key] + theirs_put[key]}
        for key, count in deletes.items():
            # external-dns also deletes what it has deleted.
            if count != ours_deleted[key] if key in ours_put else count > theirs_deleted[key]:
                found[key] = "deleted"
        return found

    def check_writers(self) -> tuple[int, int]:
        """Each change in etcd is one that kube2sky or external-dns tells, at keys of its own. How often each wrote."""
        wait_equal(self._untold, {}, "the writer of each change")  # a program tells it afterwards
        ours_put, theirs_put, ours_deleted, theirs_deleted = self._told()
        assert not ours_put.keys() & (theirs_put.keys() | theirs_deleted.keys())
        assert not ours_deleted.keys() & theirs_put.keys()
        return ours_put.total(), theirs_put.total()


@pytest.fixture
def start(cluster, tmp_path):
    """Starts one with these flags of external-dns."""
    if reason := peers.missing("external-dns"):
        pytest.skip(reason)
    started: list[Both] = []

    def start(*flags: str) -> Both:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Both(folder, cluster, *flags))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_a_hundred_changes(start):
    """Of Services for external-dns, in tens, and as many for kube2sky meanwhile."""
    both, chance, kinds = start(*SYNC), random.Random(40), Counter()
    host, address = f"inner.{both.namespace}.svc.cluster.local", both.put_inner("inner")
    choices = [[host], ["203.0.113.1"], ["203.0.113.2"], ["203.0.113.1", "203.0.113.3"], ["2001:db8::1"]]
    outer: dict[int, tuple[str, list[str]]] = {}  # number → (label, targets)
    inner: dict[int, tuple[str, str]] = {}  # number → (label, address)

    def wait_outer(label: str, targets: list[str]) -> None:
        resolved = [address] if targets == [host] else targets
        for rdtype, mark in (("A", "."), ("AAAA", ":")):
            both.wait_answers(label, [one for one in resolved if mark in one], rdtype)

    for _ in range(10):
        gone: set[str] = set()
        for number in chance.sample(range(16), 10):
            label, targets = outer.pop(number, ("", []))
            kind = chance.choice(("target", "name", "delete")) if label else "create"
            kinds[kind] += 1
            if kind in ("name", "delete"):
                gone.add(label)
            if kind == "delete":
                both.delete(f"outer-{number}")
                continue
            if kind != "target":
                label = f"n{number}" if label[:1] != "n" else f"m{number}"
            if kind != "name":
                targets = chance.choice([one for one in choices if one != targets])
            both.put_outer(f"outer-{number}", label, *targets)
            outer[number] = label, targets
        for number in chance.sample(range(16), 10):
            label, _ = inner.pop(number, ("", ""))
            gone |= {label} if label else set()
            if label and chance.random() < 0.3:
                both.delete(f"inner-{number}")
                continue
            label = f"i{number}" if label[:1] != "i" else f"j{number}"
            inner[number] = label, both.put_inner(f"inner-{number}", label)
        for label in gone:
            both.wait_answers(label, NONE)
        for label, ip in inner.values():
            both.wait_answers(label, [ip])
        for label, targets in outer.values():
            wait_outer(label, targets)
    assert kinds.total() == 100 and len(kinds) == 4
    ours, theirs = both.check_writers()
    assert ours > 100 and theirs > 50


def test_a_name_that_both_claim(start):
    """With a registry of its own records, without, and with one in the records themselves."""
    first, theirs = "first", ["203.0.113.1"]
    txt, strict = start(*SYNC), start(*SYNC, "--coredns-strictly-owned")
    upsert = start("--registry=noop", "--policy=upsert-only")
    all_three = (txt, strict, upsert)
    ours = {one: [one.put_inner("inner", first)] for one in all_three}
    for one in all_three:
        one.wait_answers(first, ours[one])
        one.put_outer("outer", first, *theirs)
        one.put_outer("later", "later", "203.0.113.2")
    for one in all_three:
        one.wait_answers("later", ["203.0.113.2"])
    # Records that are not in its registry are not touched; a registry in the records shows no others; without, all are its.
    txt.wait_pass()
    assert txt.is_ours_at(first) and txt.bed.dns.answers(txt.name(first)) == ours[txt]
    for one in (strict, upsert):
        one.wait_answers(first, theirs)
        assert not one.is_ours_at(first)
    # A name that kube2sky gives up is external-dns's, and stays so when a Service asks for it again.
    for one in all_three:
        one.put_inner("inner", "second")
    for one in all_three:
        one.wait_answers("second", ours[one])
        one.wait_answers(first, theirs)
        one.put_inner("inner", "third", first)
    for one in all_three:
        one.wait_answers("third", ours[one])
        assert not one.is_ours_at(first) and one.bed.dns.answers(one.name(first)) == theirs
        one.delete("outer")
    for one in (txt, strict):
        one.wait_answers(first, ours[one])
        assert one.is_ours_at(first)
    for one in all_three:
        since = one.bed.etcd.revision() + 1
        one.wait_pass()
        assert not one.bed.etcd.changes(since, f"{key_of(one.namespace + '.example.com')}/")
        one.check_writers()
    upsert.wait_answers(first, theirs)  # it deletes nothing


def test_a_name_handed_over(start):
    """A name that external-dns led to a host name, until the Service asks kube2sky for it. external-dns leaves its
    registry's record behind, which must not make it take kube2sky's for its own.
    """
    both = start(*SYNC, "--coredns-strictly-owned")
    address = both.put_inner("inner")
    both.put_outer("outer", "app", f"inner.{both.namespace}.svc.cluster.local")
    both.wait_answers("app", [address])
    both.delete("outer")
    both.wait_answers("app", NONE)
    both.put_inner("inner", "app")
    both.wait_answers("app", [address])
    both.wait_pass()
    assert both.is_ours_at("app")
    both.check_writers()

"""A skydns with -snapshot that is started again and again on the same file."""

import os
import re
import subprocess
from pathlib import Path

import dns.flags
import dns.rcode
import dns.rdatatype
import pytest
from programs import Program, reserve_port, wait_until
from records import SVC, value
from watched import Watched

WEB = "web.default.svc.cluster.local"
KEYS = {
    f"{SVC}/default/web/a": value("10.0.0.1"),
    f"{SVC}/default/web/b": value("fd00::1"),
    f"{SVC}/default/web/_tcp/_http/a": value(f"{WEB}.", 80),
    f"{SVC}/default/web/_txt/a": '{"text":"one \\\\195\\\\188 two","ttl":5}',
    f"{SVC}/default/web/_mail/a": f'{{"host":"{WEB}.","mail":true,"priority":7}}',
    "/skydns/arpa/in-addr/10/0/0/1": value(f"{WEB}."),
}
# Each with an answer of its own, positive and negative.
QUESTIONS = [
    (WEB, "A"),
    (WEB, "AAAA"),
    (WEB, "NS"),
    ("*.web.default.svc.cluster.local", "SRV"),
    (f"_http._tcp.{WEB}", "SRV"),
    (f"_txt.{WEB}", "TXT"),
    (f"_mail.{WEB}", "MX"),
    ("1.0.0.10.in-addr.arpa", "PTR"),
    ("no.default.svc.cluster.local", "A"),
    ("cluster.local", "SOA"),
]
# Moves the wall clock by SHIFT_S.
_CLOCK_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, now);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
        now->tv_sec += atol(getenv("SHIFT_S"));
    }
    return status;
}
"""

needs_mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, timeout=20).returncode != 0,
    reason="a mount namespace needs root",
)


def said(dns_client) -> dict[tuple[str, str], tuple]:
    """Everything in the replies but ids, order and the zone's serial."""
    return {(name, rdtype): _contents(dns_client.query(name, rdtype, use_edns=0)) for name, rdtype in QUESTIONS}


def _contents(reply) -> tuple:
    sections = (
        sorted(_line(rrset, rdata) for rrset in section for rdata in rrset)
        for section in (reply.answer, reply.authority, reply.additional)
    )
    return dns.rcode.to_text(reply.rcode()), dns.flags.to_text(reply.flags), *sections


def _line(rrset, rdata) -> str:
    if rrset.rdtype == dns.rdatatype.SOA:
        rdata = rdata.replace(serial=0)
    return f"{rrset.name} {rrset.ttl} {rdata.to_text()}"


class SnapshotBed:
    """Around a bed with etcd."""

    def __init__(self, bed):
        self.bed = bed
        self.folder: Path = bed.folder / "state"
        self.folder.mkdir(exist_ok=True)
        self.file = self.folder / "snapshot"
        self.dns = bed.dns
        self.skydns: Program | None = None
        self.watched: Watched | None = None

    def prepare(self, *flags: str, prefix: tuple[str, ...] = (), file: Path | None = None) -> Program:
        """Another process at the same address, not yet started, with a log of its own."""
        http_port = reserve_port()
        self.skydns = self.bed.command(
            "skydns",
            f"-machines={','.join(self.bed.etcd_urls)}",
            f"-addr=127.0.0.1:{self.dns.port}",
            f"-http-addr=127.0.0.1:{http_port}",
            f"-snapshot={file or self.file}",
            "-domain=cluster.local.",
            "-ns-rotate=false",
            "-round-robin=false",
            "-workers=2",
            *flags,
        )
        self.skydns.argv[:0] = prefix
        self.watched = Watched(self.skydns, http_port, "skydns_")
        return self.skydns

    def start(self, *flags: str, prefix: tuple[str, ...] = (), file: Path | None = None) -> Program:
        """It answers, whatever."""
        self.prepare(*(flags or ("-no-rec",)), prefix=prefix, file=file).start()
        self.skydns.wait_line("skydns started")
        return self.skydns

    def fill(self, *flags: str) -> None:
        """A snapshot of KEYS."""
        self.bed.etcd.put_all(KEYS)
        self.start(*flags)
        self.wait_followed()
        self.skydns.stop()
        assert self.file.stat().st_mode & 0o777 == 0o600

    def wait_followed(self) -> None:
        """All that etcd has is published."""
        self.skydns.wait_line("ready for queries")
        self.watched.wait_strict(200)
        self.skydns.wait_ready(lambda: self.metric("etcd_revision") == self.bed.etcd.revision(), "etcd's revision")

    def metric(self, name: str, **labels: str) -> float:
        return self.watched.metrics().get(name, **labels)

    def reads(self) -> float:
        """Full ones, since the start."""
        return self.watched.metrics().total("etcd_reads_total")

    def strict(self) -> tuple[int, str]:
        return self.watched.ask("/readiness?strict")

    def check_from_snapshot(self) -> None:
        status, text = self.strict()
        assert status == 503 and re.search(r"answers from a snapshot of \d+s ago", text), text
        assert self.watched.ask("/readiness")[0] == 200

    def warnings(self) -> list[str]:
        return [line for line in self.skydns.lines if line.startswith("warn ") and "snapshot" in line]

    def wait_written(self, more: int = 1) -> None:
        """While something changes."""
        wanted = self.metric("snapshot_writes_total") + more
        wait_until(lambda: self.metric("snapshot_writes_total") >= wanted, "a snapshot")

    def shifted(self, seconds: int) -> dict[str, str]:
        """The environment of a process whose clock is so far ahead."""
        library = self.bed.folder / "clock.so"
        if not library.exists():
            source = self.bed.folder / "clock.c"
            source.write_text(_CLOCK_C)
            command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
            subprocess.run(command, check=True, timeout=60)
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0".lstrip(":")
        return {"LD_PRELOAD": str(library), "SHIFT_S": str(seconds), "ASAN_OPTIONS": options}

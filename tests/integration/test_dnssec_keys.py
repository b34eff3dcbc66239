"""The keys of -dnssec: flags, the document, files that change, and -print-ds."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import dns.flags
import dns.rdatatype
import prometheus
import pytest
from bed import BIN_DIR
from nameservers import needs
from programs import http_get, reserve_port, wait_until
from records import SVC, value
from test_config import KEY
from test_explain_signed import make_key, tag_of

WEB = "web.default.svc.cluster.local"
REFUSED = {"source": "dnssec"}


class Signed:
    """skydns with a record and keys in a folder of their own."""

    def __init__(self, bed):
        self.bed, self.http, self.folder = bed, reserve_port(), bed.folder / "keys"
        self.folder.mkdir()

    def make(self, *flags: str) -> str:
        return make_key(self.folder, *flags)

    def start(self, *flags: str) -> None:
        self.bed.start_etcd()
        self.bed.etcd.put(f"{SVC}/default/web", '{"host":"10.0.0.1"}')
        self.bed.start_skydns("-no-rec", f"-http-addr=127.0.0.1:{self.http}", *flags)

    def put(self, **fields) -> None:
        self.bed.etcd.put(KEY, json.dumps(fields))

    def metric(self, name: str, **labels: str) -> float:
        page = prometheus.Page(http_get(f"http://127.0.0.1:{self.http}/metrics")[1], "skydns_")
        return page.get(name, **labels)

    def wait_metric(self, number: float, name: str, **labels: str) -> None:
        wait_until(lambda: self.metric(name, **labels) == number, f"{name} {number}")

    def signers(self, name: str = WEB, rdtype: str = "A") -> set[int]:
        """The tags of the keys that signed the answer."""
        reply = self.bed.dns.query(name, rdtype, want_dnssec=True)
        assert not reply.flags & dns.flags.AD
        return {rdata.key_tag for rrset in reply.answer if rrset.rdtype == dns.rdatatype.RRSIG for rdata in rrset}

    def wait_signers(self, *bases: str) -> None:
        wait_until(lambda: self.signers() == {tag_of(base) for base in bases}, f"signatures of {bases}")


@pytest.fixture
def signed(bare_bed):
    return Signed(bare_bed)


def replace(base: str, by: str) -> None:
    """The files of one key by those of another, one after the other."""
    for ending in (".private", ".key"):
        new = Path(base + ".new")
        shutil.copyfile(by + ending, new)
        new.rename(base + ending)


def remove(base: str) -> None:
    for ending in (".private", ".key"):
        Path(base + ending).unlink()


def run_skydns(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([BIN_DIR / "skydns", *flags], capture_output=True, text=True, timeout=60, check=False)


def ds_of(base: str) -> str:
    """As the tool prints it, with a TTL."""
    done = subprocess.run(
        [needs("dnssec-dsfromkey"), "-2", base], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip().replace(" IN DS ", " 3600 IN DS ")


# ---- -print-ds ----


def test_print_ds(tmp_path):
    keys = [make_key(tmp_path), make_key(tmp_path, "-f", "KSK"), make_key(tmp_path, "-f", "KSK")]
    done = run_skydns("-print-ds", f"-dnssec={','.join(keys)}", "-machines=http://127.0.0.1:9")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(ds_of(base) for base in keys[1:])
    done = run_skydns("-print-ds", f"-dnssec={keys[0]}")
    assert done.stdout == ds_of(keys[0]) + "\n"


def test_print_ds_of_the_file(tmp_path):
    base, config = make_key(tmp_path), tmp_path / "config"
    config.write_text(json.dumps({"dnssec": [base]}))
    done = run_skydns("-print-ds", f"-config={config}")
    assert (done.returncode, done.stdout, done.stderr) == (0, ds_of(base) + "\n", "")
    config.write_text("{}")
    done = run_skydns("-print-ds", f"-config={config}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "skydns: flag -print-ds: expected -dnssec with it\n"


def test_print_ds_without_keys(tmp_path):
    done = run_skydns("-print-ds")
    assert (done.returncode, done.stderr) == (2, "skydns: flag -print-ds: expected -dnssec with it\n")
    done = run_skydns("-print-ds", f"-dnssec={tmp_path}/Kx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"skydns: flag -dnssec: read `{tmp_path}/Kx.key`: No such file or directory\n"


def test_a_full_disk(tmp_path):
    base = make_key(tmp_path)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [BIN_DIR / "skydns", "-print-ds", f"-dnssec={base}"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1 and done.stderr.startswith("skydns: print: "), done


# ---- The start ----


def test_ready_line(signed):
    base = signed.make()
    signed.start(f"-dnssec={base}", "-scache=500")
    for over in ("tcp", "udp"):
        line = signed.bed.skydns.wait_line(rf"ready for queries on cluster\.local\. for {over}://")
        assert line.endswith(f"127.0.0.1:{signed.bed.dns.port}, signing with {base} [scache 500]"), line
    signed.bed.skydns.wait_line(rf"signing answers zone=cluster\.local\. keys={tag_of(base)}/13$")
    assert signed.signers() == {tag_of(base)}
    assert signed.metric("dnssec_signatures_max") >= 500
    assert signed.metric("dnssec_key_files_unusable") == 0


def test_two_kinds(signed):
    ksk, zsk = signed.make("-f", "KSK"), signed.make()
    signed.start(f"-dnssec={ksk},{zsk}")
    signed.bed.skydns.wait_line(rf"key_signing_keys={tag_of(ksk)}/13 zone_signing_keys={tag_of(zsk)}/13$")
    assert signed.signers() == {tag_of(zsk)}
    assert signed.signers("cluster.local", "DNSKEY") == {tag_of(ksk)}


def test_reverse_zone(signed):
    folder = signed.folder
    command = [needs("dnssec-keygen"), "-q", "-K", str(folder), "-a", "ED25519", "100.10.in-addr.arpa"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    base = f"{folder}/{done.stdout.strip()}"
    signed.start(f"-dnssec={base}", "-reverse-zones=10.96.0.0/12")
    signed.bed.etcd.put("/skydns/arpa/in-addr/10/100/0/1", value("web.cluster.local."))
    wait_until(lambda: signed.signers("1.0.100.10.in-addr.arpa", "PTR") == {tag_of(base)}, "a signed reverse name")
    assert signed.signers() == set()
    line = next(line for line in signed.bed.skydns.lines if "ready for queries" in line)
    assert "signing" not in line


def refused(bed, *flags: str) -> tuple[int, str]:
    done = run_skydns(f"-addr=127.0.0.1:{bed.dns.port}", f"-machines={bed.etcd_urls[0]}", "-no-rec", *flags)
    return done.returncode, done.stderr


def test_unusable_at_the_start(signed):
    """Exit status 1: a file; 2: a value."""
    bed, base, other = signed.bed, signed.make(), signed.make()
    bed.start_etcd()
    own = "-domain=cluster.local"
    shutil.copyfile(other + ".private", base + ".private")
    status, told = refused(bed, own, f"-dnssec={other},{base}")
    assert status == 1 and f"flag -dnssec: `{base}.key`, `{base}.private`: " in told, told
    Path(base + ".private").unlink()
    status, told = refused(bed, own, f"-dnssec={base}")
    assert status == 1 and f"read `{base}.private`: No such file" in told, told
    status, told = refused(bed, "-domain=other.local", f"-dnssec={other}")
    assert status == 2 and f"flag -dnssec: `{other}`: a key of cluster.local.: expected one of the domains" in told, told
    status, told = refused(bed, own, f"-dnssec={other},{other}")
    assert status == 2 and "expected each key once" in told, told
    status, told = refused(bed, own, f"-dnssec={','.join(f'K{i}' for i in range(65))}")
    assert status == 2 and "expected at most 64 keys" in told, told
    status, told = refused(bed, own, f"-dnssec={','.join(signed.make() for _ in range(9))}")
    assert status == 2 and "flag -dnssec: " in told, told
    config = bed.folder / "config"
    config.write_text(json.dumps({"dnssec": f"{signed.folder}/Knone"}))
    status, told = refused(bed, own, f"-config={config}")
    assert status == 1 and "Knone.key" in told, told


def test_domain_of_the_document(signed):
    """etcd says which domain there is; the key is its."""
    base = signed.make()
    signed.bed.start_etcd()
    signed.put(domain="cluster.local")
    skydns = signed.bed.command(
        "skydns", f"-machines={signed.bed.etcd_urls[0]}", f"-addr=127.0.0.1:{signed.bed.dns.port}", f"-dnssec={base}"
    )
    skydns.start()
    skydns.wait_line(r"ready for queries on cluster\.local\. .*, signing with ")


# ---- Changes ----


def test_replaced_in_place(signed):
    base, new = signed.make(), signed.make()
    signed.start(f"-dnssec={base}")
    signed.wait_signers(base)
    replace(base, new)
    wait_until(lambda: signed.signers() == {tag_of(new)}, "the new key")
    dnskeys = signed.bed.dns.query("cluster.local", "DNSKEY").answer[0]
    assert len(dnskeys) == 1
    assert not [line for line in signed.bed.skydns.lines if "cannot use" in line]


def test_rollover(signed):
    """Add a file, wait, remove one: at each moment, who trusts one of the keys finds its signature."""
    old, new = signed.make(), signed.make()
    signed.start(f"-dnssec={old}")
    signed.wait_signers(old)
    signed.put(dnssec=[old, new])
    signed.wait_signers(old, new)
    remove(old)
    signed.wait_signers(new)
    assert signed.metric("dnssec_key_files_unusable") == 0
    remove(new)
    signed.bed.skydns.wait_line(r"error .*the files of a key are gone, keeping it")
    assert signed.signers() == {tag_of(new)}
    signed.wait_metric(1, "dnssec_key_files_unusable")


def test_files_that_cannot_be_used(signed):
    base, other = signed.make(), signed.make()
    signed.start(f"-dnssec={base}")
    private = Path(base + ".private")
    content = private.read_text()
    shutil.copyfile(other + ".private", private)
    line = signed.bed.skydns.wait_line(r"error .*cannot use the changed files of a key, keeping their last good content")
    assert base in line and content.split("PrivateKey: ")[1].split()[0] not in line
    signed.wait_metric(1, "dnssec_key_files_unusable")
    assert signed.signers() == {tag_of(base)}
    private.write_text("half of a fi")
    signed.bed.skydns.wait_line(r"cannot use the changed files of a key.*Private-key-format")
    private.write_text(content)
    signed.wait_metric(0, "dnssec_key_files_unusable")
    assert signed.signers() == {tag_of(base)}


def test_document(signed):
    first, second = signed.make(), signed.make()
    missing = f"{signed.folder}/Kcluster.local.+013+00001"
    signed.start(f"-dnssec={first}")
    signed.wait_signers(first)
    signed.put(dnssec=f"{first},{missing}", ttl=77)
    signed.bed.skydns.wait_line(rf"error .*cannot use the keys of the changed list.*{re.escape(missing)}\.key")
    signed.wait_metric(1, "config_refused", **REFUSED)
    assert signed.signers() == {tag_of(first)}
    assert signed.bed.dns.query(WEB, "A").answer[0].ttl == 77  # the rest counts
    replace(missing, second)  # it appears
    wait_until(lambda: signed.signers() == {tag_of(first), tag_of(second)}, "both")
    signed.wait_metric(0, "config_refused", **REFUSED)
    signed.put(dnssec=[], scache=99)
    wait_until(lambda: signed.signers() == set(), "unsigned answers")
    signed.bed.skydns.wait_line(r"no longer signing answers zone=cluster\.local\.")
    signed.put(scache=123456)
    signed.wait_signers(first)
    assert signed.metric("dnssec_signatures_max") >= 123456
    signed.put(dnssec={"a": 1})
    signed.bed.skydns.wait_line(r"error .*cannot use the configuration in etcd.*field `dnssec`")
    assert signed.signers() == {tag_of(first)}


def test_unsigned_at_first(signed):
    """Keys from the document alone, where the files of flags are."""
    base = signed.make()
    hosts = signed.folder / "hosts"
    hosts.write_text("")
    signed.start(f"-hosts={hosts}")
    assert signed.signers() == set()
    signed.put(dnssec=base)
    signed.wait_signers(base)
    signed.bed.etcd.delete(KEY)
    wait_until(lambda: signed.signers() == set(), "unsigned answers")


def test_hangup_reads_again(signed):
    base, new = signed.make(), signed.make()
    signed.start(f"-dnssec={base}")
    replace(base, new)
    signed.bed.skydns.signal(signal.SIGHUP)
    wait_until(lambda: signed.signers() == {tag_of(new)}, "the new key")


def test_warnings(signed):
    base = signed.make()
    Path(base + ".private").chmod(0o644)
    signed.start(f"-dnssec={base}")
    signed.bed.skydns.wait_line(rf"warn .*others may read a private key.* key={re.escape(base)}")

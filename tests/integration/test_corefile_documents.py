"""The examples of CoreDNS's plugin documentation through -translate-corefile. Where one is carried over as a whole,
skydns with the printed flags and CoreDNS with the file give the same answers. Skipped without `make peers`, from whose
Go modules the documentation is, too.
"""

import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import dns.rrset
import peers
import pytest
from bed import BIN_DIR
from programs import Program, reserve_port, wait_until
from test_stub_zones import at
from test_translate_corefile import commands, translate
from upstream import Upstream

PEER = Path(__file__).resolve().parents[1] / "peers/coredns"
FIRST_LABELS, TYPES = ("www", "no", "a.b", "no.c", "d-e"), ("A", "AAAA", "TXT", "MX")  # 20 questions
BLOCKS_MIN, SAME_MIN = 100, 15  # so that none of both goes away unseen


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> dict[Path, str]:
    """The blocks marked as Corefiles, each in a file."""
    if reason := peers.missing("coredns"):
        pytest.skip(reason)
    if not shutil.which("go"):
        pytest.skip("no Go here, which knows where CoreDNS's module is")
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "github.com/coredns/coredns"]
    environment = os.environ | {"GOFLAGS": "-mod=readonly"}
    found = subprocess.run(command, cwd=PEER, env=environment, capture_output=True, text=True, timeout=60)
    plugins = Path(found.stdout.strip() or "/nonexistent") / "plugin"
    if not plugins.is_dir():
        pytest.skip("CoreDNS's Go module is not in the cache (make peers)")
    folder, made = tmp_path_factory.mktemp("examples"), {}
    for path in sorted(plugins.glob("*/README.md")):
        blocks = re.findall(r"^ *(?:~~~|```) *corefile *\n(.*?)^ *(?:~~~|```)", path.read_text(), re.M | re.S | re.I)
        for number, text in enumerate(blocks):
            file = folder / f"{path.parent.name}-{number}"
            file.write_text(text)
            made[file] = text
    assert len(made) >= BLOCKS_MIN
    return made


def test_each_is_told_or_translated(examples):
    """Nothing crashes, and skydns takes what is printed: all flags are checked before it asks one that is not there."""

    def check(file: Path) -> None:
        done = translate(file)
        assert done.returncode in (0, 3) and not done.stderr, file
        command = [BIN_DIR / "skydns", *commands(done.stdout)["skydns"], "-http-addr=127.0.0.1:1", "-explain=a.test"]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (asked.returncode, asked.stderr[:32]) == (1, "skydns: get http://127.0.0.1:1: "), (file, asked.stderr)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, examples))


def answer(query: dns.message.Message) -> dns.message.Message:
    """NXDOMAIN below "no", an address for A, no data of other types."""
    reply = dns.message.make_response(query)
    question = query.question[0]
    if question.name.labels[0] == b"no":
        reply.set_rcode(dns.rcode.NXDOMAIN)
    elif question.rdtype == dns.rdatatype.A:
        reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", "192.0.2.1"))
    return reply


def made_local(text: str, nameserver: str) -> str | None:
    """The example with this nameserver in the place of all, answered at the port of the command line. None: it needs
    another server."""
    if "tls://" in text:
        return None
    text = re.sub(r"^ *bind .*\n", "", text, flags=re.M)
    text = re.sub(r"localhost:\d+", lambda _: f"localhost:{reserve_port()}", text)
    return re.sub(
        r"^( *forward +\S+) .*?( *\{)?$",
        lambda found: f"{found[1]} {nameserver}{found[2] or ''}",
        text.replace("\t", " "),
        flags=re.M,
    )


def questions_of(text: str) -> list[tuple[str, str]]:
    zones = [zone for keys in re.findall(r"^([^\s(][^{\n]*)\{", text, re.M) for zone in keys.split()]
    ends = ["example.org" if zone == "." else zone for zone in zones]
    names = [f"{label}.{ends[i % len(ends)]}" for i, label in enumerate(FIRST_LABELS) if ends]
    return [(name, rdtype) for name in names for rdtype in TYPES]


def ask(port: int, name: str, rdtype: str, timeout_s: float = 20) -> tuple[str, list[str]]:
    reply = dns.query.udp(dns.message.make_query(name, rdtype), "127.0.0.1", port=port, timeout=timeout_s)
    if reply.rcode() in (dns.rcode.REFUSED, dns.rcode.SERVFAIL):
        return "nobody answers", []  # without a plugin or nameserver for it, CoreDNS says the one, skydns the other
    records = sorted(f"{rrset.name} {rrset.rdtype} {one}" for rrset in reply.answer for one in rrset)
    return dns.rcode.to_text(reply.rcode()), records


def is_answered(port: int) -> bool:
    try:
        return bool(ask(port, "www.example.org", "A", timeout_s=0.5))  # a port that is closed does not say so
    except (OSError, dns.exception.Timeout):
        return False


class Both:
    """CoreDNS and skydns with one Corefile."""

    def __init__(self, bed, file: Path, flags: list[str]):
        self.ports = reserve_port(), reserve_port()
        theirs, ours = self.ports
        own = [f"-addr=127.0.0.1:{ours}", f"-http-addr=127.0.0.1:{reserve_port()}", "-lameduck=0"]
        own.append(f"-machines={bed.etcd_urls[0]}")
        coredns = peers.program("coredns", "coredns")
        kept = [flag for flag in flags if not flag.startswith(("-addr=", "-http-addr=", "-lameduck="))]
        self.programs = [
            Program(f"coredns-{file.name}", [coredns, "-conf", file, f"-dns.port={theirs}"]),
            Program(f"skydns-{file.name}", [BIN_DIR / "skydns", *kept, *own]),
        ]
        bed.programs += self.programs

    def stop(self) -> None:
        theirs, ours = self.programs
        theirs.stop(expected=(0, -signal.SIGTERM))  # it answers before it takes signals
        ours.stop()

    def compare(self, questions: list[tuple[str, str]]) -> list[str]:
        for program in self.programs:
            program.start()
        for port in self.ports:
            wait_until(lambda port=port: is_answered(port), "answered")
        both = [(question, *(ask(port, *question) for port in self.ports)) for question in questions]
        self.stop()
        return [f"{question}: {theirs} {ours}" for question, theirs, ours in both if theirs != ours]


def prepare(bed, examples: dict[Path, str], nameserver: str) -> list[tuple[Both, list[tuple[str, str]]]]:
    """Those that are carried over as a whole, with the questions. In one thread, as ports are reserved in one."""
    made = []
    for file, example in examples.items():
        text = made_local(example, nameserver)
        questions = questions_of(text) if text else []
        if questions and translate(file).returncode == 0:
            local = bed.folder / file.name
            local.write_text(text)
            made.append((Both(bed, local, commands(translate(local).stdout)["skydns"]), questions))
    return made


def test_those_carried_over_answer_alike(bare_bed, examples):
    bare_bed.start_etcd()
    upstream = Upstream(answer)
    try:
        pairs = prepare(bare_bed, examples, at(upstream))
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda pair: (pair[0].programs[0].name, pair[0].compare(pair[1])), pairs))
    finally:
        upstream.close()
    assert len(found) >= SAME_MIN
    assert [one for one in found if one[1]] == []

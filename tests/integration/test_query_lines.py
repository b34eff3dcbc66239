"""-query-log: a line for each query, or for some of them, over each transport; and what becomes of lines that nobody reads."""

import json
import re
import signal
import socket
import struct

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import pytest
from dns_client import TIMEOUT_S
from programs import http_get, reserve_port, wait_until
from prometheus import Page
from records import SVC, value
from test_edges import assert_one_line, run
from transports import KINDS, Listeners
from upstream import Upstream
from upstream import address as upstream_answer

CONFIG = "/skydns/config"
WEB = "web.default.svc.cluster.local."
STRANGER = "127.0.0.9"  # outside -allow
ALLOW = "-allow=127.0.0.1/32"
FIELDS = {"client", "transport", "name", "type", "flags", "rcode", "size", "seconds"}  # besides namespace

# The reader's buffer, the pipe's 64 KiB and the queue's 512 KiB, twice, take some 7,000 lines; tests keep 20,000.
FLOOD_MAX = 15_000

_LINE = re.compile(r"info \S+Z query((?: [a-z_]+=(?:\"(?:[^\"\\]|\\.)*\"|[^ \"=\\]+))+)")
_FIELD = re.compile(r" ([a-z_]+)=(?:\"((?:[^\"\\]|\\.)*)\"|([^ \"=\\]+))")
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|(.))")


def unquote(text: str) -> str:
    return _ESCAPED.sub(lambda m: chr(int(m[1], 16)) if m[1] else "\n" if m[2] == "n" else m[2], text)


def parse(line: str) -> dict[str, str] | None:
    """The fields of a query's line; None: it is another one. AssertionError: it is broken."""
    if not re.match(r"info \S+ query( |$)", line):
        return None
    whole = _LINE.fullmatch(line)
    assert whole, line
    found = _FIELD.findall(whole[1])
    fields = {key: unquote(quoted) if quoted else plain for key, quoted, plain in found}
    assert len(fields) == len(found), f"a field twice: {line}"
    return checked(fields)


def checked(fields: dict) -> dict:
    assert set(fields) - {"namespace"} == FIELDS, fields
    assert 0 <= float(fields["seconds"]) < TIMEOUT_S
    assert int(fields["size"]) >= 12
    return fields


def message(name, rdtype: str = "A", **options) -> dns.message.Message:
    return dns.message.make_query(name, rdtype, **options)


class Server:
    """skydns with a record, its log and clients. Replies are bytes, since sizes are compared."""

    def __init__(self, bed, *flags: str, listeners: bool = False, keys: dict[str, str] | None = None):
        self.bed, self.http = bed, reserve_port()
        self.listeners = Listeners(bed.folder) if listeners else None
        bed.start_etcd()
        for key, text in (keys or {}).items():
            bed.etcd.put(key, text)
        bed.etcd.put(f"{SVC}/default/web/w", value("10.0.0.1"))
        more = self.listeners.flags(bed.dns.port) if listeners else []
        bed.start_skydns(f"-http-addr=127.0.0.1:{self.http}", *(flags or ("-no-rec",)), *more)
        self.log = bed.skydns
        self.first = 0
        wait_until(lambda: dns.message.from_wire(self.udp(message(WEB))).answer, "the record")
        self.forget()

    # ---- Its log ----

    def flush(self) -> None:
        """Lines are in the order of their events: those of queries answered by now are here when a later one is."""
        since = len(self.log.lines)
        self.log.signal(signal.SIGHUP)
        self.log.wait_line("configuration reloaded", since)

    def forget(self) -> None:
        self.flush()
        self.first = len(self.log.lines)

    def logged(self) -> list[dict[str, str]]:
        """Of the queries answered since forget()."""
        self.flush()
        return [fields for line in self.log.lines[self.first :] if (fields := parse(line)) is not None]

    def page(self) -> Page:
        return Page(http_get(f"http://127.0.0.1:{self.http}/metrics")[1], "skydns_")

    def dropped(self) -> int:
        return int(self.page().get("query_log_dropped_total"))

    # ---- Clients ----

    def udp(self, question: dns.message.Message | bytes, source: str = "127.0.0.1") -> bytes:
        wire = question if isinstance(question, bytes) else question.to_wire()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(TIMEOUT_S)
            sock.bind((source, 0))
            sock.connect(("127.0.0.1", self.bed.dns.port))
            sock.send(wire)
            self.client = "%s:%d" % sock.getsockname()
            return sock.recv(65535)

    def tcp(self, question: dns.message.Message, source: str = "127.0.0.1") -> bytes:
        wire = question.to_wire()
        with socket.create_connection(("127.0.0.1", self.bed.dns.port), TIMEOUT_S, (source, 0)) as sock:
            sock.sendall(struct.pack("!H", len(wire)) + wire)
            self.client = "%s:%d" % sock.getsockname()
            with sock.makefile("rb") as stream:
                return stream.read(struct.unpack("!H", stream.read(2))[0])

    def ask(self, kind: str, question: dns.message.Message, source: str = "127.0.0.1") -> bytes:
        """Over udp, tcp or one of KINDS, on a connection of its own."""
        if kind in ("udp", "tcp"):
            return getattr(self, kind)(question, source)
        with self.listeners.asker(kind, source_address=(source, 0)) as asker:
            return asker.exchange(question.to_wire())


# ---- Modes ----

TRANSPORTS = ("udp", "tcp", "tls", "https", "https-1.1", "http", "grpc")
ERRORS = {"servfail", "refused", "formerr", "notimp"}
DENIALS = {"nxdomain", "nodata"}
RCODES = {
    "found": "NOERROR",
    "nodata": "NOERROR",
    "nxdomain": "NXDOMAIN",
    "servfail": "SERVFAIL",
    "refused": "REFUSED",
    "formerr": "FORMERR",
    "notimp": "NOTIMP",
}


def questions() -> dict[str, dns.message.Message]:
    """One for each outcome, with -no-rec; `refused` is to come from a STRANGER."""
    status = message(WEB, "TXT")
    status.set_opcode(dns.opcode.STATUS)
    bad_subnet = dns.edns.GenericOption(dns.edns.OptionType.ECS, b"\x00\x01\xff\x00")
    return {
        "found": message(WEB),
        "nodata": message(WEB, "AAAA"),
        "nxdomain": message("nx.default.svc.cluster.local."),
        "servfail": message("www.foreign.test."),
        "refused": message(WEB, "MX"),
        "formerr": message(WEB, "SRV", use_edns=0, options=[bad_subnet]),
        "notimp": status,
    }


@pytest.mark.parametrize(
    ("flag", "wanted"),
    [
        ("-query-log=all", set(RCODES)),
        ("-verbose", set(RCODES)),
        ("-query-log=1/1", set(RCODES)),
        ("-query-log=errors", ERRORS),
        ("-query-log=denials", DENIALS),
        ("-query-log=off", set()),
        ("-verbose=false", set()),
    ],
)
def test_modes(bare_bed, flag, wanted):
    """Over each transport, in the order of the answers."""
    server = Server(bare_bed, "-no-rec", ALLOW, flag, listeners=True)
    expected = []
    for kind in TRANSPORTS:
        transport = kind if kind in ("udp", "tcp") else KINDS[kind][0]
        for outcome, question in questions().items():
            reply = server.ask(kind, question, STRANGER if outcome == "refused" else "127.0.0.1")
            assert dns.rcode.to_text(dns.message.from_wire(reply).rcode()) == RCODES[outcome], (kind, outcome)
            if outcome in wanted:
                rdtype = dns.rdatatype.to_text(question.question[0].rdtype)
                name = question.question[0].name.to_text()
                expected.append((transport, name, rdtype, RCODES[outcome], str(len(reply))))
    keys = ("transport", "name", "type", "rcode", "size")
    assert [tuple(line[key] for key in keys) for line in server.logged()] == expected
    assert server.dropped() == 0


def test_one_in_many(bare_bed):
    """The share is met: fewer or more than these are a chance of one in a million millions."""
    server = Server(bare_bed, "-no-rec", "-query-log=1/4")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(("127.0.0.1", bare_bed.dns.port))
        wire = message(WEB).to_wire()
        for _ in range(2000):
            sock.send(wire)
            sock.recv(512)
    assert 360 <= len(server.logged()) <= 640


# ---- The line ----


def test_client_flags_and_case(bare_bed):
    server = Server(bare_bed, "-no-rec", "-query-log=all")
    asked = []
    for kind in ("udp", "tcp"):
        for flags in ([], ["rd"], ["ad"], ["cd"], ["do"], ["rd", "do"], ["rd", "ad", "cd", "do"]):
            question = message("Web.Default.SVC.cluster.local.", "TYPE65280", use_edns=0, want_dnssec="do" in flags)
            question.flags = sum(dns.flags.from_text(flag.upper()) for flag in flags if flag != "do")
            server.ask(kind, question, "127.0.0.3")
            asked.append((server.client, kind, ",".join(flags)))
    lines = server.logged()
    assert [(line["client"], line["transport"], line["flags"]) for line in lines] == asked
    assert {(line["name"], line["type"]) for line in lines} == {("Web.Default.SVC.cluster.local.", "TYPE65280")}


def test_the_size_is_what_the_client_got(bare_bed):
    """What was cut does not count, and padding over TLS does, of late answers, too."""
    upstream = Upstream(upstream_answer)
    try:
        flags = (f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=20s", "-rcache=0")
        server = Server(bare_bed, "-query-log=all", *flags, listeners=True)
        for n in range(100):
            bare_bed.etcd.put(f"{SVC}/default/many/x{n}", value(f"10.1.0.{n}"))
        bare_bed.wait_answers("x99.many.default.svc.cluster.local", "A", ["10.1.0.99"])
        server.forget()
        padding = dns.edns.GenericOption(dns.edns.OptionType.PADDING, bytes(16))
        sizes = [len(server.udp(message("many.default.svc.cluster.local.")))]
        assert sizes[0] <= 512
        for kind in ("tls", "https"):
            for name in (WEB, "www.foreign.test."):
                sizes.append(len(server.ask(kind, message(name, use_edns=0, options=[padding]))))
                assert sizes[-1] % 468 == 0
        lines = server.logged()
    finally:
        upstream.close()
    assert [int(line["size"]) for line in lines] == sizes


HOSTILE = [
    b"x\ninfo 2026-01-01T00:00:00.000Z query name=fake.",
    b'quote" =back\\slash\\n',
    b"\r\x1b[2J\x00\x7f\xff tab\t",
    b"\xe2\x80\xa8.dot",
    *(bytes(range(start, start + 32)) for start in range(0, 256, 32)),
]


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_names_stay_in_their_lines(bare_bed, form):
    server = Server(bare_bed, "-no-rec", "-query-log=all", f"-log-format={form}")
    names = [dns.name.Name([label, b"cluster", b"local", b""]) for label in HOSTILE]
    names.append(dns.name.Name([b"\\" * 63, b'"' * 63, b"\n" * 63, b"\xff" * 61, b""]))  # the longest line
    for name in names:
        server.udp(message(name))
    server.flush()
    lines = server.log.lines[server.first :]
    if form == "json":
        lines = [fields for line in lines if (fields := json.loads(line))["message"] == "query"]
        for fields in lines:
            assert fields.pop("level") == "info" and fields.pop("time") and fields.pop("message")
            assert isinstance(fields["size"], int) and isinstance(fields["seconds"], float)
            checked(fields)
    else:
        lines = [fields for line in lines if (fields := parse(line)) is not None]
    assert [dns.name.from_text(fields["name"]) for fields in lines] == names


def test_what_is_no_question(bare_bed):
    """It has a line if it has a reply, with what there is of it."""
    server = Server(bare_bed, "-no-rec", "-query-log=errors")
    head = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0)
    replies = [server.udp(head + rest) for rest in (b"", b"\x03www", b"\xc0\x0c\x00\x01\x00\x01", b"\x01a\x00\x00")]
    assert [reply[3] & 15 for reply in replies] == [dns.rcode.FORMERR] * 4
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for wire in (b"", b"\x00", head[:11], bytes([7, 7, 0x81]) + head[3:]):  # no header, or a response: no reply
            sock.sendto(wire, ("127.0.0.1", bare_bed.dns.port))
    lines = server.logged()
    assert [(line["name"], line["type"], line["flags"], line["rcode"]) for line in lines[:3]] == [
        ("", "", "rd", "FORMERR")
    ] * 3
    assert lines[3]["rcode"] == "FORMERR" and len(lines) == 4


def test_codes_beyond_the_header(bare_bed):
    """BADVERS is in OPT, behind which a reply over TLS has padding."""
    server = Server(bare_bed, "-no-rec", "-query-log=all", listeners=True)
    padding = dns.edns.GenericOption(dns.edns.OptionType.PADDING, bytes(16))
    for kind in TRANSPORTS:
        for options in ([], [padding]):
            question = message(WEB, use_edns=0, options=options)
            question.ednsflags |= 1 << 16  # version 1
            reply = server.ask(kind, question)
            assert dns.message.from_wire(reply).rcode() == dns.rcode.BADVERS
    assert [line["rcode"] for line in server.logged()] == ["BADVERS"] * 2 * len(TRANSPORTS)
    page = server.page()
    assert page.total("replies_total", rcode="BADVERS") == 2 * len(TRANSPORTS)


POD = "/skydns/local/cluster/pod"


def test_the_namespace_of_a_client_that_is_known(bare_bed):
    """Of queries answered at once and late ones."""
    pod, nobody = "127.0.0.5", "127.0.0.6"
    upstream = Upstream(upstream_answer)
    try:
        keys = {f"{POD}/team-a/127-0-0-5/a": value(pod)}
        flags = (f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=300ms", "-rcache=0", "-public-namespaces=default")
        server = Server(bare_bed, "-visibility=own", "-query-log=all", *flags, listeners=True, keys=keys)
        for kind in ("udp", "tcp", "tls"):
            for source in (pod, nobody):
                for name in (WEB, "www.foreign.test.", "silent.foreign.test."):
                    server.ask(kind, message(name), source)
        lines = server.logged()
    finally:
        upstream.close()
    assert [(line["transport"], line["client"].split(":")[0], line.get("namespace", "")) for line in lines] == [
        (kind, source, namespace)
        for kind in ("udp", "tcp", "tls")
        for source, namespace in ((pod, "team-a"), (nobody, ""))
        for _ in range(3)
    ]


# ---- Late, limited and refused replies ----


def test_late_answers(bare_bed):
    """Forwarded ones, over each transport, with the query's flags and the time that the client waited."""
    upstream = Upstream(upstream_answer)
    try:
        flags = (f"-nameservers=127.0.0.1:{upstream.port}", "-rtimeout=300ms", "-rcache=0")
        server = Server(bare_bed, "-query-log=all", *flags, listeners=True)
        expected = []
        for kind in TRANSPORTS:
            transport = kind if kind in ("udp", "tcp") else KINDS[kind][0]
            for name in ("nx.foreign.test.", "silent.foreign.test."):
                question = message(name, use_edns=0, want_dnssec=True)
                question.flags |= dns.flags.CD
                reply = server.ask(kind, question)
                rcode = dns.rcode.to_text(dns.message.from_wire(reply).rcode())
                expected.append((transport, name, "rd,cd,do", rcode, str(len(reply))))
        lines = server.logged()
    finally:
        upstream.close()
    keys = ("transport", "name", "flags", "rcode", "size")
    assert [tuple(line[key] for key in keys) for line in lines] == expected
    silent = [line for line in lines if line["name"].startswith("silent")]
    assert all(line["rcode"] == "SERVFAIL" and float(line["seconds"]) >= 0.25 for line in silent)  # of 0.3


def test_limited_clients(bare_bed):
    """A reply that only tells a client to come over TCP has a line; what is dropped has none."""
    server = Server(bare_bed, "-no-rec", "-rate=1000000", "-query-log=all")
    bare_bed.etcd.put(CONFIG, '{"rate":"1"}')
    server.log.wait_line("configuration changed settings=rate")
    server.forget()
    before = server.page().total("replies_total", transport="udp")
    sizes, wire = [], message(WEB).to_wire()
    while len(set(sizes)) < 2:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(TIMEOUT_S)
            sock.connect(("127.0.0.1", bare_bed.dns.port))
            for _ in range(2):  # beyond the rate, every second one gets a reply
                sock.send(wire)
            sizes.append(len(sock.recv(512)))
    lines = server.logged()
    assert {int(line["size"]) for line in lines} == set(sizes)
    assert {line["rcode"] for line in lines} == {"NOERROR"}
    assert len(lines) == server.page().total("replies_total", transport="udp") - before
    assert server.page().get("rate_limited_total", reply="truncated") >= 1


# ---- Settings ----


@pytest.mark.parametrize("text", ["some", "1/0", "1/", "1/x", "1/-2", "1/1.5", "2/3", "0/5", "5", f"1/{10**30}"])
def test_wrong_values(text):
    result = run("skydns", f"-query-log={text}")
    assert_one_line(result, 2, f"flag -query-log: `{text}`: expected ")
    for choice in ("off", "all", "errors", "denials", "1/N"):
        assert choice in result.stderr


def test_the_document_changes_it_while_it_runs(bare_bed):
    server = Server(bare_bed, "-no-rec", "-query-log=errors", listeners=True)
    etcd = bare_bed.etcd
    asked = {key: questions()[key] for key in ("found", "nxdomain", "servfail")}

    def ask_all() -> list[str]:
        server.forget()
        for kind in ("udp", "tcp", "tls"):
            for question in asked.values():
                server.ask(kind, question)
        return [line["rcode"] for line in server.logged()]

    def change(document: dict | None, text: str) -> None:
        since = len(server.log.lines)
        if document is None:
            etcd.delete(CONFIG)
        else:
            etcd.put(CONFIG, json.dumps(document))
        server.log.wait_line(rf'configuration changed settings=query_log query_log="{text}"', since)

    assert ask_all() == ["SERVFAIL"] * 3
    change({"query_log": "denials"}, "errors -> denials")
    assert ask_all() == ["NXDOMAIN"] * 3
    change({"query_log": "all"}, "denials -> all")
    assert ask_all() == ["NOERROR", "NXDOMAIN", "SERVFAIL"] * 3
    change({"query_log": "1/1000000"}, "all -> 1/1000000")
    since = len(server.log.lines)
    etcd.put(CONFIG, '{"query_log":"sometimes"}')
    line = server.log.wait_line("error .*cannot use", since)
    assert "query_log" in line and "sometimes" in line and "1/N" in line
    change({"query_log": ""}, "1/1000000 -> off")  # the default
    assert ask_all() == []
    change(None, "off -> errors")
    assert ask_all() == ["SERVFAIL"] * 3


def test_the_document_of_the_start(bare_bed):
    server = Server(bare_bed, "-no-rec", "-verbose", keys={CONFIG: '{"query_log":"denials"}'})
    asked = questions()
    for outcome in ("servfail", "nodata", "found", "nxdomain", "notimp"):
        server.udp(asked[outcome])
    assert [line["rcode"] for line in server.logged()] == ["NOERROR", "NXDOMAIN"]


# ---- Nobody reads ----


def ask_many(server: Server, count: int) -> None:
    """Over UDP; each is answered."""
    wire = message(WEB).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(("127.0.0.1", server.bed.dns.port))
        for _ in range(count):
            sock.send(wire)
            assert sock.recv(512)[:2] == wire[:2]


def test_lines_that_nobody_reads(bare_bed):
    """Answers go on over each transport, each line is written or counted, and warnings are not pushed out."""
    server = Server(bare_bed, "-no-rec", ALLOW, "-query-log=all", listeners=True)
    server.log.stall_reader()
    count = 0
    while server.dropped() == 0:
        assert count < FLOOD_MAX, "no line is dropped"
        ask_many(server, 250)
        count += 250
    before = server.dropped()
    for kind in TRANSPORTS:
        assert dns.message.from_wire(server.ask(kind, message(WEB))).answer
    refused = dns.message.from_wire(server.udp(message(WEB), STRANGER))  # the first one has a warning
    assert refused.rcode() == dns.rcode.REFUSED
    ask_many(server, 100)
    count += len(TRANSPORTS) + 1 + 100
    assert server.dropped() == before + len(TRANSPORTS) + 1 + 100

    since = len(server.log.lines)
    server.log.resume_reader()
    server.log.wait_line(rf"^warn .*refusing queries from clients outside -allow client={STRANGER}:", since)
    server.log.wait_line(r"^warn \S+ log lines were lost count=\d+$", since)
    lines = server.logged()
    assert count == len(lines) + server.dropped()
    ask_many(server, 100)
    assert len(server.logged()) == len(lines) + 100


def test_nobody_reads_at_the_end(bare_bed):
    """The exit does not wait for a reader; the bed checks its status."""
    server = Server(bare_bed, "-no-rec", "-query-log=all")
    server.log.stall_reader()
    while server.dropped() == 0:
        ask_many(server, 250)
    server.log.stop()

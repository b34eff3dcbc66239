"""skydns' answers, over each transport, from records that the tests write into etcd."""

import json
import socket
import struct

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from records import SVC, value
from transports import KINDS

WEB = "web.default.svc.cluster.local"
MANY = "many.default.svc.cluster.local"
MANY_COUNT = 60


@pytest.fixture(scope="module")
def bed(dns_bed):
    """A bed with records; all have arrived once the last one is answered."""
    put = dns_bed.etcd.put
    base = f"{SVC}/default"
    put(f"{base}/web/a", value("10.0.0.1"))
    put(f"{base}/web/_tcp/_http/a", value(f"{WEB}.", 80))
    put(f"{base}/db/db-0", value("10.1.0.1"))
    put(f"{base}/db/db-1", value("10.1.0.2"))
    put(f"{base}/db/six", value("fd00::2"))
    for host in ("db-0", "db-1"):
        put(f"{base}/db/_tcp/_pg/{host}", value(f"{host}.db.default.svc.cluster.local.", 5432))
    for number in range(MANY_COUNT):
        put(f"{base}/many/{number}", value(f"10.2.0.{number}"))
    put("/skydns/local/cluster/text", json.dumps({"text": "hello", "ttl": 30}))
    escaped = {"text": "v=DKIM1\\; p=\\065\\\\" + 300 * "\\;", "ttl": 30}
    put("/skydns/local/cluster/escaped", json.dumps(escaped))
    put("/skydns/local/cluster/alias", value(f"{WEB}."))
    put("/skydns/local/cluster/broken", "not json")
    put("/skydns/local/cluster/last", value("10.3.0.1"))
    dns_bed.wait_answers("last.cluster.local", "A", ["10.3.0.1"])
    return dns_bed


@pytest.mark.parametrize(
    ("name", "rdtype", "want"),
    [
        (WEB, "A", ["10.0.0.1"]),
        (WEB, "AAAA", []),
        ("escaped.cluster.local", "TXT", ['"v=DKIM1; p=A\\\\' + 242 * ";" + '" "' + 58 * ";" + '"']),
        (WEB, "TXT", []),
        (WEB, "MX", []),
        ("absent.default.svc.cluster.local", "A", ["NXDOMAIN"]),
        ("x.web.default.svc.cluster.local", "A", ["NXDOMAIN"]),
        ("db.default.svc.cluster.local", "A", ["10.1.0.1", "10.1.0.2"]),
        ("db.default.svc.cluster.local", "AAAA", ["fd00::2"]),
        ("db-1.db.default.svc.cluster.local", "A", ["10.1.0.2"]),
        ("*.db.default.svc.cluster.local", "A", ["10.1.0.1", "10.1.0.2"]),
        ("web.*.svc.cluster.local", "A", ["10.0.0.1"]),
        ("_http._tcp." + WEB, "SRV", [f"10 100 80 {WEB}."]),
        ("_http._tcp.*.default.svc.cluster.local", "SRV", []),  # a listing hides labels that begin with _
        (WEB, "SRV", [f"10 100 0 a.{WEB}."]),
        ("text.cluster.local", "TXT", ['"hello"']),
        ("text.cluster.local", "A", []),
        ("broken.cluster.local", "A", ["NXDOMAIN"]),
        ("alias.cluster.local", "CNAME", [f"{WEB}."]),
        ("alias.cluster.local", "A", ["10.0.0.1", f"{WEB}."]),
        (WEB, "ANY", ["REFUSED"]),
    ],
)
def test_answers(bed, client, name, rdtype, want):
    assert client.answers(name, rdtype) == want


def test_header_and_ttl_of_an_answer(bed, client):
    reply = client.query(WEB)
    assert reply.flags == dns.flags.QR | dns.flags.AA | dns.flags.RD | dns.flags.RA
    assert reply.answer[0].ttl == 30 and reply.answer[0].name.to_text() == WEB + "."
    assert reply.authority == [] and reply.additional == []


@pytest.mark.parametrize(
    ("name", "rcode"), [("absent.cluster.local", dns.rcode.NXDOMAIN), (WEB, dns.rcode.NOERROR)]
)
def test_negative_answers_carry_the_soa(bed, client, name, rcode):
    reply = client.query(name, "AAAA")
    assert reply.rcode() == rcode and reply.answer == []
    assert reply.flags & dns.flags.AA and reply.flags & dns.flags.RA
    (soa,) = reply.authority
    assert soa.rdtype == dns.rdatatype.SOA and soa.name.to_text() == "cluster.local."
    assert soa[0].mname.to_text() == "ns.dns.cluster.local."


def test_soa_at_the_apex(bed, client):
    (soa,) = client.query("cluster.local", "SOA").answer[0]
    assert (soa.refresh, soa.retry, soa.expire) == (28800, 7200, 604800) and soa.serial > 0


def test_srv_brings_the_addresses_of_its_targets(bed, client):
    reply = client.query("_pg._tcp.db.default.svc.cluster.local", "SRV")
    assert sorted(r.to_text() for r in reply.answer[0]) == [
        f"10 50 5432 db-{n}.db.default.svc.cluster.local." for n in (0, 1)
    ]
    additional = {(rrset.name.to_text(), rdata.to_text()) for rrset in reply.additional for rdata in rrset}
    assert additional == {(f"db-{n}.db.default.svc.cluster.local.", f"10.1.0.{n + 1}") for n in (0, 1)}


def test_case_is_kept(bed, client):
    name = "WeB.dEfAuLt.SVC.Cluster.LOCAL."
    reply = client.query(name)
    assert str(reply.question[0].name) == name and str(reply.answer[0].name) == name
    assert reply.answer[0][0].to_text() == "10.0.0.1"


def test_a_change_in_etcd_is_answered(bed):
    key, name = "/skydns/local/cluster/moving", "moving.cluster.local"
    bed.etcd.put(key, value("10.4.0.1"))
    bed.wait_answers(name, "A", ["10.4.0.1"])
    bed.etcd.put(key, value("10.4.0.2"))
    bed.wait_answers(name, "A", ["10.4.0.2"])
    bed.etcd.put(key, "{")
    bed.wait_answers(name, "A", ["NXDOMAIN"])
    bed.skydns.wait_line(r"/skydns/local/cluster/moving")
    bed.etcd.put(key, value("10.4.0.3"))
    bed.wait_answers(name, "A", ["10.4.0.3"])
    bed.etcd.delete(key)
    bed.wait_answers(name, "A", ["NXDOMAIN"])


# ---- EDNS and truncation ----


def test_edns_is_answered_with_edns_and_nothing_with_nothing(bed, client):
    assert client.query(WEB, use_edns=0, payload=4096).edns == 0
    assert client.query(WEB).edns == -1


def test_unknown_edns_version_is_badvers(bed, client):
    question = dns.message.make_query(WEB, "A")
    question.use_edns(1)
    reply = client.send(question)
    assert reply.rcode() == dns.rcode.BADVERS and reply.edns == 0 and reply.answer == []


def test_unknown_edns_options_are_ignored(bed, client):
    option = dns.edns.GenericOption(65001, b"\x01\x02")
    assert client.query(WEB, use_edns=0, options=[option]).answer[0][0].to_text() == "10.0.0.1"


@pytest.mark.parametrize(
    ("payload", "limit"), [(None, 512), (100, 512), (512, 512), (900, 900), (4096, 1232), (65535, 1232)]
)
def test_truncation(bed, payload, limit):
    """60 addresses take 982 bytes and an OPT 11 more: TC exactly if they do not fit, never more than the limit."""
    options = {} if payload is None else {"use_edns": 0, "payload": payload}
    question = dns.message.make_query(MANY, "A", **options)
    wire, _ = ask_udp(bed, question.to_wire())
    reply = dns.message.from_wire(wire, raise_on_truncation=False)
    count = sum(len(rrset) for rrset in reply.answer)
    assert len(wire) <= limit
    assert bool(reply.flags & dns.flags.TC) == (limit < 1000)
    assert (count == MANY_COUNT) == (limit >= 1000)
    assert count > 20


def test_truncated_answers_are_whole_over_tcp(bed):
    reply, used_tcp = dns.query.udp_with_fallback(
        dns.message.make_query(MANY, "A"), "127.0.0.1", timeout=20, port=bed.dns.port
    )
    assert used_tcp and len(reply.answer[0]) == MANY_COUNT and not reply.flags & dns.flags.TC


def test_large_answers_are_whole_over_streams(bed, clients):
    for kind in KINDS:
        reply = clients[kind].query(MANY)
        assert len(reply.answer[0]) == MANY_COUNT and not reply.flags & dns.flags.TC, kind


# ---- TCP ----


def framed(question: dns.message.Message) -> bytes:
    wire = question.to_wire()
    return struct.pack("!H", len(wire)) + wire


def connect(bed) -> socket.socket:
    return socket.create_connection(("127.0.0.1", bed.dns.port), timeout=20)


def receive_exactly(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        assert part, f"connection ended after {len(data)} of {count} bytes"
        data += part
    return data


def receive_reply(client: socket.socket) -> dns.message.Message:
    (length,) = struct.unpack("!H", receive_exactly(client, 2))
    return dns.message.from_wire(receive_exactly(client, length))


def test_tcp_several_queries_one_after_the_other(bed):
    with connect(bed) as client:
        for name, rcode in ((WEB, 0), (MANY, 0), ("absent.cluster.local", 3), (WEB, 0)):
            question = dns.message.make_query(name, "A")
            client.sendall(framed(question))
            reply = receive_reply(client)
            assert question.is_response(reply) and reply.rcode() == rcode


def test_tcp_many_queries_in_flight(bed):
    questions = [dns.message.make_query(WEB if n % 2 else MANY, "A") for n in range(200)]
    for number, question in enumerate(questions):
        question.id = number
    with connect(bed) as client:
        client.sendall(b"".join(framed(q) for q in questions))
        replies = {reply.id: reply for reply in (receive_reply(client) for _ in questions)}
    assert len(replies) == 200
    assert all(questions[n].is_response(reply) and reply.rcode() == 0 for n, reply in replies.items())


def test_tcp_byte_by_byte(bed):
    question = dns.message.make_query(WEB, "A")
    with connect(bed) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in framed(question):
            client.sendall(bytes([byte]))
        assert question.is_response(receive_reply(client))


def test_tcp_half_closed_after_the_query(bed):
    question = dns.message.make_query(WEB, "A")
    with connect(bed) as client:
        client.sendall(framed(question))
        client.shutdown(socket.SHUT_WR)
        assert question.is_response(receive_reply(client))
        assert client.recv(1) == b""


def test_tcp_broken_frames_end_their_connection_alone(bed):
    with connect(bed) as good:
        for data in (b"\x00\x00", b"\x00\x05abcde", struct.pack("!H", 65535) + b"x" * 65535):
            with connect(bed) as bad:
                bad.sendall(data)
                bad.shutdown(socket.SHUT_WR)
                drain(bad)
        question = dns.message.make_query(WEB, "A")
        good.sendall(framed(question))
        assert question.is_response(receive_reply(good))


def drain(client: socket.socket) -> None:
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        pass


def test_many_tcp_connections(bed):
    clients = [connect(bed) for _ in range(100)]
    try:
        for client in clients:
            client.sendall(framed(dns.message.make_query(WEB, "A")))
        for client in clients:
            assert receive_reply(client).answer[0][0].to_text() == "10.0.0.1"
    finally:
        for client in clients:
            client.close()


# ---- Malformed queries ----


def ask_udp(bed, packet: bytes) -> tuple[bytes, list[bytes]]:
    """The reply to a packet, empty if none, and all replies that came before the reply to a good query sent
    after it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.connect(("127.0.0.1", bed.dns.port))
        client.send(packet)
        good = dns.message.make_query(WEB, "A")
        good.id = 0xBEEF
        client.send(good.to_wire())
        before = []
        while (reply := client.recv(65535))[:2] != b"\xbe\xef":
            before.append(reply)
        return (before[0] if before else b""), before


HEADER = struct.Struct("!HHHHHH")
QUESTION = b"\x03web\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01"


def packet(flags: int = 0x0100, counts: tuple = (1, 0, 0, 0), body: bytes = QUESTION) -> bytes:
    return HEADER.pack(0x1234, flags, *counts) + body


FORMERR, NOTIMP, SILENCE = "FORMERR", "NOTIMP", "silence"


@pytest.mark.parametrize(
    ("data", "want"),
    [
        pytest.param(b"", [SILENCE], id="empty"),
        pytest.param(packet()[:11], [SILENCE], id="short of a header"),
        pytest.param(packet(flags=0x8100), [SILENCE], id="a response"),
        pytest.param(packet(counts=(0, 0, 0, 0), body=b""), [FORMERR], id="no question"),
        pytest.param(packet(counts=(2, 0, 0, 0), body=QUESTION * 2), [FORMERR], id="two questions"),
        pytest.param(packet(body=QUESTION[:-4]), [FORMERR], id="question cut"),
        pytest.param(packet(body=QUESTION[:9]), [FORMERR], id="name cut"),
        pytest.param(packet(body=b"\xc0\x0c\x00\x01\x00\x01"), [FORMERR], id="name pointing to itself"),
        pytest.param(packet(body=b"\x40" + b"a" * 64 + b"\x00\x00\x01\x00\x01"), [FORMERR], id="label of 64"),
        pytest.param(
            packet(body=(b"\x3f" + b"a" * 63) * 4 + b"\x00\x00\x01\x00\x01"), [FORMERR], id="name of 257"
        ),
        pytest.param(packet(counts=(1, 0, 0, 1)), [FORMERR], id="additional record missing"),
        pytest.param(
            packet(counts=(1, 0, 0, 1), body=QUESTION + b"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x05ab"),
            [FORMERR],
            id="OPT cut",
        ),
        pytest.param(
            packet(counts=(1, 0, 0, 2), body=QUESTION + b"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00" * 2),
            [FORMERR],
            id="two OPT",
        ),
        pytest.param(packet(flags=0x2000), [NOTIMP], id="NOTIFY"),
        pytest.param(packet(flags=0x2800), [NOTIMP], id="UPDATE"),
        pytest.param(packet(flags=0x1000), [NOTIMP], id="STATUS"),
        pytest.param(b"\xff" * 512, [SILENCE, FORMERR], id="ones"),
        pytest.param(b"\x00" * 512, [SILENCE, FORMERR], id="zeros"),
    ],
)
def test_malformed_queries(bed, data, want):
    reply, all_replies = ask_udp(bed, data)
    assert len(all_replies) <= 1
    if not reply:
        assert SILENCE in want
        return
    assert reply[:2] == data[:2] and reply[2] & 0x80
    assert dns.rcode.to_text(reply[3] & 15) in want


def test_version_bind(bed, client):
    reply = client.query("version.bind", "TXT", rdclass="CH")
    assert reply.rcode() == dns.rcode.NOERROR and len(reply.answer[0]) == 1

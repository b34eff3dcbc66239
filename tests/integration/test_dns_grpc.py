"""CoreDNS's DNS over gRPC, with hyper-h2: calls, statuses, late answers, in the clear and over TLS."""

import dns.message
import dns.rcode
import h2.config
import h2.connection
import h2.events
import pytest
import transports
from bed import Bed
from doh_client import ask_http2
from programs import reserve_port
from records import SVC, value
from transports import GRPC_PATH, Listeners, message_of, packet

WEB = "web.default.svc.cluster.local"
OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = "0", "3", "8", "12"
HEAD = {"content-type": "application/grpc", "te": "trailers"}


def query(name: str = WEB, rdtype: str = "A") -> bytes:
    return dns.message.make_query(name, rdtype, id=5).to_wire()


class Client(transports._Grpc):
    def __init__(self, listeners: Listeners, is_plain: bool = False):
        super().__init__(listeners, "grpc", {})
        self._socket = listeners.connect("grpc") if not is_plain else None
        if is_plain:
            self._socket = transports.socket.create_connection(("127.0.0.1", listeners.ports["grpc"]), 20)
        self._opened()

    def call(self, body: bytes, path: str = GRPC_PATH, method: str = "POST", fields=None) -> tuple[dict, bytes]:
        """All fields, trailers included."""
        return ask_http2(self, method, path, HEAD if fields is None else fields, body)


@pytest.fixture(scope="module")
def listeners(tmp_path_factory):
    return Listeners(tmp_path_factory.mktemp("listeners"))


@pytest.fixture(scope="module")
def dns_bed(tmp_path_factory, listeners):
    bed = Bed(tmp_path_factory.mktemp("dns"))
    bed.start_etcd()
    bed.start_skydns("-no-rec", *listeners.flags(bed.dns.port))
    bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bed.wait_answers(WEB, "A", ["10.0.0.1"])
    yield bed
    bed.close()


@pytest.fixture
def client(dns_bed, listeners):
    with Client(listeners) as client:
        yield client


def check_answer(fields: dict, body: bytes) -> None:
    assert (fields[":status"], fields["content-type"]) == ("200", "application/grpc")
    assert fields["grpc-status"] == OK
    message = dns.message.from_wire(message_of(body))
    assert message.id == 5 and message.answer[0][0].address == "10.0.0.1"


def test_calls(client):
    for content_type in ("application/grpc", "application/grpc+proto", "Application/GRPC;x=y"):
        check_answer(*client.call(packet(query()), fields={**HEAD, "content-type": content_type}))
    for number in range(200):
        _, body = client.call(packet(query(f"x{number}.{WEB}")))
        assert dns.message.from_wire(message_of(body)).rcode() == dns.rcode.NXDOMAIN


def test_unknown_fields(client):
    frame = packet(query())
    message = b"\x10\x07" + frame[5:] + b"\x1d1234"
    check_answer(*client.call(b"\0" + len(message).to_bytes(4, "big") + message))


BODIES = [
    (b"\0\0\0\0\0", INVALID_ARGUMENT),
    (b"\0\0\0\0\2\n\0", INVALID_ARGUMENT),
    (packet(b"abc"), INVALID_ARGUMENT),
    (packet(query()[:2] + b"\x81" + query()[3:]), INVALID_ARGUMENT),
    (packet(query()[:4] + bytes(8)), INVALID_ARGUMENT),
    (packet(query())[:-1], INVALID_ARGUMENT),
    (packet(query()) + packet(query()), INVALID_ARGUMENT),
    (b"\0\0\0\0\3\n\5x", INVALID_ARGUMENT),
    (b"\1" + packet(query())[1:], UNIMPLEMENTED),
    (packet(query() + bytes(65536)), RESOURCE_EXHAUSTED),
    (b"\0\xff\xff\xff\xff", RESOURCE_EXHAUSTED),
]


@pytest.mark.parametrize(("body", "status"), BODIES, ids=range(len(BODIES)))
def test_statuses(client, body, status):
    fields, got = client.call(body)
    assert (fields[":status"], fields["content-type"]) == ("200", "application/grpc")
    assert fields["grpc-status"] == status and fields["grpc-message"]
    assert got == b""
    check_answer(*client.call(packet(query())))


@pytest.mark.parametrize("path", ["/", "/coredns.dns.DnsService/Watch", "/coredns.dns.DnsService/Query/"])
def test_other_methods(client, path):
    fields, _ = client.call(packet(query()), path)
    assert fields["grpc-status"] == UNIMPLEMENTED


def test_what_is_no_grpc(client):
    for content_type in ("application/dns-message", "application/grpc-web", "text/plain"):
        assert client.call(packet(query()), fields={"content-type": content_type})[0][":status"] == "415"
    assert client.call(packet(query()), fields={})[0][":status"] == "415"
    fields, _ = client.call(b"", method="GET")
    assert fields[":status"] == "405" and fields["allow"] == "POST"


def test_many_calls_at_once(dns_bed, listeners):
    """More streams than one at a time, up to the limit that the server tells."""
    with listeners.connect("grpc") as sock:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        connection.initiate_connection()
        sock.sendall(connection.data_to_send())
        bodies, ended = {}, set()
        for _ in range(100):
            stream = connection.get_next_available_stream_id()
            fields = {":method": "POST", ":scheme": "https", ":authority": "x", ":path": GRPC_PATH, **HEAD}
            connection.send_headers(stream, list(fields.items()))
            connection.send_data(stream, packet(query()), end_stream=True)
            bodies[stream] = b""
        sock.sendall(connection.data_to_send())
        while len(ended) < 100:
            for event in connection.receive_data(sock.recv(65536)):
                if isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] += event.data
                elif isinstance(event, h2.events.StreamEnded):
                    ended.add(event.stream_id)
        assert {message_of(body) for body in bodies.values()} == {message_of(bodies[1])}


def test_without_a_certificate(bare_bed):
    """In the clear."""
    bare_bed.start_etcd()
    port = reserve_port()
    bare_bed.start_skydns("-no-rec", f"-addr=127.0.0.1:{bare_bed.dns.port},grpc://127.0.0.1:{port}")
    bare_bed.etcd.put(f"{SVC}/default/web/a", value("10.0.0.1"))
    bare_bed.wait_answers(WEB, "A", ["10.0.0.1"])

    class Plain:
        ports = {"grpc": port}

    with Client(Plain, is_plain=True) as client:
        check_answer(*client.call(packet(query())))

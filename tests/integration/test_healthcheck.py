"""-healthcheck: each program probes a running one, as the HEALTHCHECK of its image does."""

import socket
import threading

import pytest
from programs import reserve_port, wait_until

_PROGRAMS = ("kube2sky", "skydns", "exechealthz")
_OK = b"HTTP/1.0 200 OK\r\n\r\nok"

EXPECTED = "http://IP:PORT/PATH, http://unix:FILE:/PATH or udp://IP:PORT"


def _check(bed, program: str, url: str) -> tuple[int, str]:
    """Exit status and output."""
    client = bed.command(program, f"-healthcheck={url}")
    client.start()
    return client.wait(), "\n".join(client.lines)


@pytest.fixture
def tcp_peer():
    """A function that sends the bytes on each connection, then leaves it open or closes it; returns the port."""
    listeners, kept = [], []

    def serve(reply: bytes, is_closed: bool = True) -> int:
        listener = socket.create_server(("127.0.0.1", reserve_port()))
        listeners.append(listener)

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(4096)
                connection.sendall(reply)
                kept.append(connection)
                if is_closed:
                    connection.close()

        threading.Thread(target=run, daemon=True).start()
        return listener.getsockname()[1]

    yield serve
    for each in listeners:
        each.shutdown(socket.SHUT_RDWR)
    for each in listeners + kept:
        each.close()


@pytest.fixture
def udp_peer():
    """A function that answers the n-th datagram with the n-th function's result; returns the port."""
    sockets = []

    def serve(*replies) -> int:
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        peer.bind(("127.0.0.1", reserve_port()))
        sockets.append(peer)

        def run() -> None:
            for reply in replies:
                query, client = peer.recvfrom(4096)
                if reply(query):
                    peer.sendto(reply(query), client)

        threading.Thread(target=run, daemon=True).start()
        return peer.getsockname()[1]

    yield serve
    for each in sockets:
        each.close()


def _answer(query: bytes) -> bytes:
    return query[:2] + b"\x84\x05" + query[4:]  # REFUSED is an answer, too


def _no_answer(_query: bytes) -> bytes:
    return b""


def _of_another(query: bytes) -> bytes:
    return bytes([query[0] ^ 1]) + _answer(query)[1:]


@pytest.mark.parametrize("program", _PROGRAMS)
def test_well(bare_bed, tcp_peer, program):
    assert _check(bare_bed, program, f"http://127.0.0.1:{tcp_peer(_OK)}/x?y") == (0, "")


@pytest.mark.parametrize(
    ("reply", "is_closed", "says"),
    [
        (b"HTTP/1.1 503 No\r\n\r\nwaiting for etcd\nmore\n", True, "/x: status 503: waiting for etcd"),
        (b"SSH-2.0-x\r\n\r\n", True, "does not speak HTTP"),
        (b"", True, "closed the connection without a response"),
        (_OK, False, "timed out"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 70000, True, "more than 65536 bytes"),
    ],
)
def test_not_well(bare_bed, tcp_peer, reply, is_closed, says):
    status, output = _check(bare_bed, "kube2sky", f"http://127.0.0.1:{tcp_peer(reply, is_closed)}/x")
    assert status == 1
    assert output.startswith("kube2sky: ") and says in output


def test_nobody_there(bare_bed):
    port = reserve_port()
    status, output = _check(bare_bed, "exechealthz", f"http://127.0.0.1:{port}/healthz")
    assert (status, output) == (1, f"exechealthz: get http://127.0.0.1:{port}: Connection refused")
    status, output = _check(bare_bed, "skydns", f"udp://127.0.0.1:{port}")
    assert (status, output) == (1, f"skydns: query udp://127.0.0.1:{port}: Connection refused")


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:53",
        "https://127.0.0.1:8081/x",
        "http://localhost:8081/x",
        "http://127.0.0.1:8081",
        "http://127.0.0.1/x",
        "http://127.0.0.1:8081/x y",
        "udp://127.0.0.1:53/x",
        "udp://127.0.0.1:0",
        "udp://" + "1" * 100,
    ],
)
def test_wrong_url(bare_bed, url):
    status, output = _check(bare_bed, "skydns", url)
    assert status == 2
    assert output == f"skydns: flag -healthcheck: `{url}`: expected {EXPECTED}"


@pytest.mark.parametrize("program", ["kube2sky", "exechealthz"])
def test_no_url(bare_bed, program):
    """As from a script's unset variable: nothing is started instead."""
    assert _check(bare_bed, program, "") == (2, f"{program}: flag -healthcheck: ``: expected {EXPECTED}")


def test_udp_lost_and_foreign_datagrams(bare_bed, udp_peer):
    port = udp_peer(_no_answer, _of_another, _answer)
    assert _check(bare_bed, "skydns", f"udp://127.0.0.1:{port}") == (0, "")


def test_udp_silence(bare_bed, udp_peer):
    status, output = _check(bare_bed, "skydns", f"udp://127.0.0.1:{udp_peer(*[_no_answer] * 4)}")
    assert status == 1 and "timed out" in output


def test_programs_themselves(bare_bed):
    """Before etcd starts, skydns is alive and kube2sky is not ready; afterwards all three are healthy."""
    bed = bare_bed
    ready = f"http://127.0.0.1:{bed.readiness_port}/readiness"
    bed.start_skydns(is_waiting=False)
    bed.skydns.wait_line("skydns started")
    assert _check(bed, "skydns", f"udp://127.0.0.1:{bed.dns.port}") == (0, "")
    bed.start_apiserver()
    bed.start_kube2sky(is_waiting=False)
    wait_until(lambda: bed.readiness()[0] == 503, "kube2sky listens")
    status, output = _check(bed, "kube2sky", ready)
    assert status == 1 and "status 503" in output
    bed.start_etcd()
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    assert _check(bed, "kube2sky", ready) == (0, "")
    bed.start_exechealthz("-cmd=true")
    assert _check(bed, "exechealthz", f"http://127.0.0.1:{bed.healthz_port}/healthz") == (0, "")

"""A burst of connections to a page of ours: whoever sends a request gets its reply."""

import socket

import pytest

pytestmark = pytest.mark.faults

CONNECTIONS, ROUNDS = 100, 10
TIMEOUT_S = 60.0


def burst(port: int, path: str, addresses: int) -> int:
    """Of connections that are all open before the first request: how many got a whole reply."""
    clients = []
    for number in range(CONNECTIONS):
        client = socket.socket()
        client.settimeout(TIMEOUT_S)
        client.bind((f"127.0.0.{20 + number % addresses}", 0))
        client.connect(("127.0.0.1", port))
        clients.append(client)
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    for client in clients:
        client.sendall(request)
    return sum(is_whole(client) for client in clients)


def is_whole(client: socket.socket) -> bool:
    data = b""
    try:
        while more := client.recv(1 << 16):
            data += more
    except ConnectionResetError:
        return False
    finally:
        client.close()
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((line[16:] for line in head.split(b"\r\n") if line.startswith(b"Content-Length: ")), b"-1")
    return head.startswith(b"HTTP/1.1 200 ") and len(body) == int(length)


@pytest.mark.parametrize("addresses", [1, 10])
def test_attack_http_bursts(single, addresses):
    single.start_exechealthz("--cmd=true", "--period=1s", "--quiet")
    pages = [(watched.port, path) for watched in single.watched for path in ("/healthz", "/metrics", "/")]
    pages.append((single.healthz_port, "/healthz"))
    for port, path in pages:
        answered = [burst(port, path, addresses) for _ in range(ROUNDS)]
        assert answered == [CONNECTIONS] * ROUNDS, f"{path} of {port}"
    single.note(f"{CONNECTIONS} connections at once from {addresses} addresses, {len(pages) * ROUNDS} times: all answered")

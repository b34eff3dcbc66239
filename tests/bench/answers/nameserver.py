#!/usr/bin/python3
"""The nameserver of other domains: `nameserver.py PORT`. Knows every name: A is an address, other types have no data,
both for a day; names beginning with `big` have addresses for 64 KB, over TCP. A message too short for a query gets
the number of questions so far, without those of type HINFO, by which skydns looks for loops.
"""

import itertools
import socket
import struct
import sys
import threading

TTL_S = 86400
_A, _HINFO = 1, 13
_BIG = 4060  # addresses in a reply of 65,000 bytes
_BUFFER = 4 << 20
_HEADER = struct.Struct("!HHHHHH")
_FLAGS, _TC = 0x8580, 0x0200  # QR, AA, RD, RA
_OWNER = b"\xc0\x0c"
_ADDRESS = _OWNER + struct.pack("!HHIH4B", _A, 1, TTL_S, 4, 192, 0, 2, 1)
_SOA_DATA = b"\0\0" + struct.pack("!5I", 1, 7200, 1800, TTL_S, TTL_S)
_SOA = b"\3com\0" + struct.pack("!HHIH", 6, 1, TTL_S, len(_SOA_DATA)) + _SOA_DATA
_OPT = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)


def question_end(query: bytes) -> int:
    at = _HEADER.size
    while query[at]:
        at += 1 + query[at]
    return at + 5


def reply(query: bytes, is_tcp: bool) -> bytes:
    end = question_end(query)
    rdtype = query[end - 3]
    flags, answers, authority = _FLAGS, b"", b""
    if rdtype != _A:
        authority = _SOA
    elif query[13:16] != b"big":
        answers = _ADDRESS
    elif is_tcp:
        answers = b"".join(_ADDRESS[:-2] + struct.pack("!H", number) for number in range(_BIG))
    else:
        flags |= _TC
    opt = _OPT if query[11] else b""
    counts = (len(answers) // len(_ADDRESS), len(authority) // len(_SOA), len(opt) // len(_OPT))
    return _HEADER.pack(int.from_bytes(query[:2], "big"), flags, 1, *counts) + query[12:end] + answers + authority + opt


def _serve_connection(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as stream:
        while len(head := stream.read(2)) == 2:
            made = reply(stream.read(int.from_bytes(head, "big")), is_tcp=True)
            connection.sendall(len(made).to_bytes(2, "big") + made)


def _serve_tcp(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve_connection, args=(connection,), daemon=True).start()


def main() -> None:
    port = int(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    threading.Thread(target=_serve_tcp, args=(listener,), daemon=True).start()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    udp.bind(("127.0.0.1", port))
    asked = 0
    for _ in itertools.count():
        query, client = udp.recvfrom(1500)
        if len(query) < _HEADER.size:
            udp.sendto(str(asked).encode(), client)
            continue
        asked += query[question_end(query) - 3] != _HINFO
        udp.sendto(reply(query, is_tcp=False), client)


if __name__ == "__main__":
    main()

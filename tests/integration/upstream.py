"""A nameserver that skydns forwards to: it replies with a function of the query. That of scripted.py goes by names."""

import socket
import struct
import threading

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
from programs import reserve_port

# skydns waits for a nameserver for twice as long: a thread of ours may be slow on a busy machine.
PATIENT = "-rtimeout=20s"
# For those that are silent; no other is asked.
IMPATIENT = "-rtimeout=300ms"


class Upstream:
    """A nameserver on UDP and TCP that replies with a function of the query and records the queries:
    (transport, message). No reply is silence; an empty one closes the connection; over UDP there may be a list of them.
    """

    def __init__(self, answer, port: int | None = None):
        self.port = port or reserve_port()
        self.seen: list[tuple[str, dns.message.Message]] = []
        self._answer = answer
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._tcp = socket.create_server(("127.0.0.1", self.port))
        self._fault: Exception | None = None
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._serve_udp, self._serve_tcp)]
        for thread in self._threads:
            thread.start()

    def _reply(self, transport: str, wire: bytes) -> bytes | None:
        query = dns.message.from_wire(wire)
        if query.question[0].rdtype == dns.rdatatype.HINFO:
            return None  # skydns checks whether we forward back to it
        self.seen.append((transport, query))
        reply = self._answer(query)
        return reply.to_wire() if reply else None

    def _reply_or_fault(self, transport: str, wire: bytes) -> bytes | None:
        """A reply that cannot be made is silence, and close() tells why."""
        try:
            return self._reply(transport, wire)
        except Exception as fault:
            self._fault = fault
            return None

    def _serve_udp(self) -> None:
        try:
            while True:
                wire, client = self._udp.recvfrom(65535)
                if not wire:
                    return  # shut down
                self._serve_one(wire, client)
        except OSError:
            pass  # closed

    def _serve_one(self, wire: bytes, client) -> None:
        reply = self._reply_or_fault("udp", wire)
        for one in reply if isinstance(reply, list) else [reply] if reply else []:
            self._udp.sendto(one, client)

    def _serve_tcp(self) -> None:
        try:
            while True:
                client, _ = self._tcp.accept()
                threading.Thread(target=self._serve_connection, args=(client,), daemon=True).start()
        except OSError:
            pass  # closed

    def _serve_connection(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as stream:
            while len(head := stream.read(2)) == 2:
                reply = self._reply_or_fault("tcp", stream.read(struct.unpack("!H", head)[0]))
                if reply == b"":
                    return  # closes the connection
                if reply:
                    client.sendall(struct.pack("!H", len(reply)) + reply)

    def close(self) -> None:
        """Frees the port: a socket stays open while a thread receives from it."""
        for server, thread in zip((self._udp, self._tcp), self._threads):
            try:
                server.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a UDP socket has no peer; the call still wakes the receiving thread
            thread.join()
            server.close()
        if self._fault:
            raise self._fault


def address(query: dns.message.Message) -> dns.message.Message:
    """192.0.2.7 for any A, NXDOMAIN for names beginning with nx., nothing for those beginning with silent."""
    name, rdtype = query.question[0].name, query.question[0].rdtype
    if name.labels[0] == b"silent":
        return None
    reply = dns.message.make_response(query, recursion_available=True)
    if name.labels[0] == b"nx":
        reply.set_rcode(dns.rcode.NXDOMAIN)
    elif rdtype == dns.rdatatype.A:
        reply.answer.append(dns.rrset.from_text(name, 77, "IN", "A", "192.0.2.7"))
    return reply

"""HTTP responses that come later, or bit by bit: requests for /wait and streams of /watch."""

import http.client
import json
import select
import socket
import time
from urllib.parse import urlencode, urlsplit

READ_S = 20
EVENT_S = 40


class Held:
    """One request on a connection of its own, sent and perhaps not answered yet. source: the client's address."""

    def __init__(self, url: str, path: str, source: str = "127.0.0.1", method: str = "GET", buffer: int = 0, **arguments):
        host = urlsplit(url)
        self.socket = socket.socket()
        self.socket.settimeout(READ_S)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.bind((source, 0))
        self.socket.connect((host.hostname, host.port))
        target = f"{path}?{urlencode(arguments)}" if arguments else path
        self.socket.sendall(f"{method} {target} HTTP/1.1\r\nHost: {host.netloc}\r\n\r\n".encode())
        self._method = method
        self._reply = None

    def is_answered(self) -> bool:
        return bool(select.select([self.socket], [], [], 0)[0])

    def reply(self) -> http.client.HTTPResponse:
        if self._reply is None:
            self._reply = http.client.HTTPResponse(self.socket, method=self._method)
            self._reply.begin()
        return self._reply

    def result(self) -> tuple[int, str]:
        """Waits for the response: status and body."""
        reply = self.reply()
        status, text = reply.status, reply.read().decode()
        self.close()
        return status, text

    def close(self) -> None:
        if self._reply is not None:
            self._reply.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc) -> None:
        self.close()


class Stream(Held):
    """A stream of /watch."""

    def event(self) -> tuple[str, dict]:
        """The next event: its name and data. Comments are passed over; ("", {}) is the end."""
        name, data, until = "message", None, time.monotonic() + EVENT_S
        while True:
            assert time.monotonic() < until, "no event, but comments"
            line = self.reply().readline().decode()
            if not line:
                return "", {}
            line = line.rstrip("\n")
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif not line and data is not None:
                return name, data

    def answer(self) -> list[str]:
        """The data of the records of the next answer, sorted."""
        name, data = self.event()
        assert name == "message", (name, data)
        return sorted(text.split(" ", 4)[-1].split()[-1] for text in data.get("answer", []))

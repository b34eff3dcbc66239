"""What a program tells about itself over HTTP, and in its log."""

import re

from programs import http_get
from prometheus import Page


class Watched:
    """A program under test, asked over HTTP."""

    def __init__(self, program, port: int, prefix: str):
        self.program = program
        self.port = port
        self.prefix = prefix

    def ask(self, path: str) -> tuple[int, str]:
        return http_get(f"http://127.0.0.1:{self.port}{path}")

    def metrics(self) -> Page:
        status, text = self.ask("/metrics")
        assert status == 200
        return Page(text, self.prefix)

    def wait_metric(self, value: float, name: str, **labels: str) -> None:
        self.program.wait_ready(lambda: self.metrics().get(name, **labels) == value, f"{name} {labels} {value}")

    def wait_strict(self, status: int) -> str:
        def body() -> str | None:
            got, text = self.ask("/readiness?strict")
            assert self.ask("/readiness") == (200, self.ask("/readiness")[1]), "the plain probe stays 200"
            return text if got == status else None

        return self.program.wait_ready(body, f"/readiness?strict {status}")

    def lines(self, part: str, since: int) -> list[str]:
        """At least one: what was logged before an HTTP answer may be read from the pipe after it."""
        self.program.wait_line(re.escape(part), since)
        return [line for line in self.program.lines[since:] if part in line]

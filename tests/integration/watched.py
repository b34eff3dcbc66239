"""A program's metrics, readiness and log."""

import re
from pathlib import Path

from programs import http_get
from prometheus import Page

_ROOT = Path(__file__).resolve().parents[2]
# The source of each page about a program. Of the pages of one program, each section is in one.
MAN_PAGES = {
    "kube2sky": ("kube2sky/kube2sky.8.scd",),
    "skydns": (
        "skydns/skydns.8.scd",
        "skydns/skydns.conf.5.scd",
        "skydns/skydns-metrics.7.scd",
        "skydns/skydns-http.7.scd",
    ),
    "exechealthz": ("exechealthz/exechealthz.8.scd",),
}


def manual_section(program: str, name: str) -> str:
    pages = "\n".join((_ROOT / path).read_text() for path in MAN_PAGES[program])
    (text,) = re.findall(rf"^# {name}\n(.*?)(?=^# |\Z)", pages, re.M | re.S)
    return text


def documented_metrics(program: str) -> dict[str, set[str]]:
    """The names in the METRICS section of its man pages, and the labels of each."""
    names = re.findall(r"^\*([^*/]+)\*$", manual_section(program, "METRICS"), re.M)
    parts = [name.rstrip("}").partition("{") for name in names]
    return {name.removeprefix(f"{program}_"): set(labels.split(",")) - {""} for name, _, labels in parts}


class Watched:
    """A program under test, queried over HTTP."""

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
        """Waits for at least one line: it may arrive on the pipe after an HTTP reply that was sent later."""
        self.program.wait_line(re.escape(part), since)
        return [line for line in self.program.lines[since:] if part in line]

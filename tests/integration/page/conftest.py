"""Fixtures of the tests of the pages, in a real browser: run by `make check-page`."""

import json
import os
import socket
from pathlib import Path

import pytest
from browser import Browser, missing
from programs import http_get, reserve_port
from records import value

SHOWN = "document.querySelector('#state').textContent !== 'waiting'"
# Nothing listens here: a nameserver that is down.
DISCARD = "127.0.0.1:9"


class Page:
    """skydns with records, a browser, and its page in it."""

    def __init__(self, bed, browser: Browser):
        self.bed = bed
        self.browser = browser
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}/"

    def start_skydns(self) -> None:
        self.bed.start_skydns(f"-http-addr=127.0.0.1:{self.port}", f"-nameservers={DISCARD}")

    def put(self, name: str, *addresses: str) -> None:
        """web.default: below svc."""
        path = "/".join(reversed(name.split(".")))
        self.bed.etcd.put(f"/skydns/local/cluster/svc/{path}", value(*addresses))

    def open(self, section: str = "now") -> None:
        self.browser.open("about:blank")
        self.browser.open(f"{self.url}#{section}")
        self.browser.wait(SHOWN, "figures")

    def ask(self, name: str, count: int) -> None:
        """That many queries at once; the replies do not matter."""
        question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0\0\1\0\1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", self.bed.dns.port))
            for number in range(count):
                client.send(number.to_bytes(2, "big") + b"\1\0\0\1\0\0\0\0\0\0" + question)


    def stream(self) -> socket.socket:
        """A reader of /live."""
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        stream.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return stream

    def readiness(self) -> tuple[int, str]:
        return http_get(f"{self.url}readiness")


@pytest.fixture
def browser(tmp_path):
    if missing():
        pytest.skip(missing())
    browser = Browser(tmp_path)
    yield browser
    browser.close()


@pytest.fixture
def page(bare_bed, browser):
    """Nothing in it is asked of elsewhere, and its console stays silent, whatever the test does."""
    bare_bed.start_etcd()
    page = Page(bare_bed, browser)
    page.put("web.default", "10.0.0.1")
    page.put("db.default", "10.0.0.2")
    page.start_skydns()
    page.quiet = True
    yield page
    own = (page.url, "data:", "about:", "chrome:", "chrome-untrusted:")  # the last are Chromium's first tab
    assert [url for url in browser.requests() if not url.startswith(own)] == []
    if page.quiet:
        assert browser.console() == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, or a skip."""
    folder = Path(os.environ.get("PAGE_NODE_MODULES", "build/page/node_modules"))
    script = folder / "axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip(f"no {script}: npm could not install it")
    assert json.loads((script.parent / "package.json").read_text())["name"] == "axe-core"
    return script.read_text()

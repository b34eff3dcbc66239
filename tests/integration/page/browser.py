"""Chromium, driven by chromedriver over the WebDriver protocol (https://www.w3.org/TR/webdriver2/), with what its
DevTools add: https://chromedevtools.github.io/devtools-protocol/.
"""

import base64
import json
import os
import shutil
import signal
import urllib.error
import urllib.request
from pathlib import Path

from programs import Program, reserve_port, wait_until

# Nothing of its own goes to the network; no profile but the test's.
FLAGS = [
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
]
# Only ends a test that hangs.
PATIENCE_S = 60

# Of WebDriver's key codes.
TAB, ENTER, ARROW_LEFT, ARROW_DOWN, ESCAPE, SHIFT = "\ue004", "\ue007", "\ue012", "\ue015", "\ue00c", "\ue008"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing() -> str:
    """Why Chromium cannot be driven here, or ""."""
    absent = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"not installed: {' '.join(absent)} (tests/support/deps page)" if absent else ""


class Browser:
    """One window. Each script runs in the page, and its JSON value comes back."""

    def __init__(self, folder: Path):
        port = reserve_port()
        home = folder / "home"
        home.mkdir()
        self._url = f"http://127.0.0.1:{port}"
        environment = {"HOME": str(home), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        self._driver = Program("chromedriver", ["chromedriver", f"--port={port}"], env=environment)
        self._driver.start()
        self._driver.wait_ready(self._is_ready, "ready")
        flags = [*FLAGS, f"--user-data-dir={folder / 'profile'}", *(["--no-sandbox"] if os.getuid() == 0 else [])]
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": flags},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._post("/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._session = f"/session/{session['sessionId']}"
        self._requests: list[str] = []

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/status", timeout=20) as reply:
                return json.load(reply)["value"]["ready"]
        except OSError:
            return False

    def _call(self, method: str, path: str, body: dict | None = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {json.load(error)['value']['message']}") from None

    def _post(self, path: str, body: dict):
        return self._call("POST", path, body)

    def close(self) -> None:
        self._call("DELETE", self._session)
        self._driver.stop(expected=(0, -signal.SIGTERM))

    # ---- The page ----

    def open(self, url: str) -> None:
        self._post(f"{self._session}/url", {"url": url})

    def run(self, script: str, *args):
        """The value of an expression, awaited; `args` are in it."""
        code = (
            f"const done = arguments[arguments.length - 1], args = [...arguments];"
            f"(async () => ({script}))().then((value) => done({{value}}), (error) => done({{error: String(error)}}))"
        )
        result = self._post(f"{self._session}/execute/async", {"script": code, "args": list(args)})
        assert "error" not in result, result["error"]
        return result.get("value")

    def execute(self, script: str) -> None:
        """Statements. The page's policy does not hold for what DevTools runs."""
        self._post(f"{self._session}/execute/sync", {"script": script, "args": []})

    def wait(self, script: str, what: str) -> None:
        """Until the expression is true."""
        wait_until(lambda: self.run(script), what, PATIENCE_S)

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def wait_text(self, selector: str, part: str) -> None:
        self.wait(
            f"document.querySelector({json.dumps(selector)}).innerText.includes({json.dumps(part)})",
            f"{part!r} in {selector}",
        )

    # ---- The user ----

    def press(self, *keys: str, held: str = "") -> None:
        actions = [{"type": "keyDown", "value": held}] if held else []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        actions += [{"type": "keyUp", "value": held}] if held else []
        self._post(f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def type(self, text: str) -> None:
        self.press(*text)

    def click(self, selector: str) -> None:
        element = self._post(f"{self._session}/element", {"using": "css selector", "value": selector})[ELEMENT]
        self._post(f"{self._session}/element/{element}/click", {})

    # ---- The machine ----

    def _devtools(self, method: str, **parameters) -> dict:
        return self._post(f"{self._session}/goog/cdp/execute", {"cmd": method, "params": parameters})

    def set_size(self, width: int, height: int, is_phone: bool = False) -> None:
        self._devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )

    def set_media(self, **features: str) -> None:
        """prefers_color_scheme="dark", ..."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self._devtools("Emulation.setEmulatedMedia", features=named)

    def picture(self, path: Path) -> None:
        """A PNG of what is in the window."""
        path.write_bytes(base64.b64decode(self._call("GET", f"{self._session}/screenshot")))

    def console(self) -> list[str]:
        """What the console has said since the last call, warnings and errors."""
        entries = self._post(f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self) -> list[str]:
        """All URLs asked for since the start."""
        for entry in self._post(f"{self._session}/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._requests.append(message["params"]["request"]["url"])
        return self._requests


def serious_findings(browser: Browser) -> list[tuple[str, list[str]]]:
    """What axe, which the page has, finds to shut people out."""
    return [
        (finding["id"], [node["html"] for node in finding["nodes"]])
        for finding in browser.run("axe.run(document)")["violations"]
        if finding["impact"] in ("serious", "critical")
    ]


# Faults of a page on a phone: an element beyond its edge, one that scrolls sideways, a word that is broken
# (of letters, and shorter than a line; code may be), a column so narrow that its text is a tower.
_PHONE_FAULTS = """(() => {
  const faults = [], shown = (element) => element.checkVisibility() && element.getBoundingClientRect().right > 0;
  const tell = (what, element) => faults.push(`${what}: ${element.tagName} ${element.textContent.slice(0, 60)}`);
  for (const element of document.querySelectorAll('body, body *:not(svg *)')) {
    if (!shown(element)) continue;
    if (element.getBoundingClientRect().right > innerWidth + 1) tell('beyond the edge', element);
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (style.overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1) tell('scrolls', element);
    if (style.display === 'table-cell' && box.width < 100 && box.height > 80) tell('a tower', element);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (walker.nextNode()) {
    const text = walker.currentNode, around = text.parentElement;
    if (!shown(around) || around.closest('code, pre, .mono, svg, script, style')) continue;
    for (const word of text.data.matchAll(/(?<!\\S)[\\p{L}’-]{2,24}(?!\\S)/gu)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (tops.size > 1 && !word[0].includes('-')) tell(`broken ${word[0]}`, around);
    }
  }
  return faults;
})()"""


def phone_faults(browser: Browser) -> list[str]:
    return browser.run(_PHONE_FAULTS)

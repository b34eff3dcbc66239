"""Runs docker/kubectl/kubectl-dns with a kubectl of the tests (fake_kubectl.py), and reads what doctor finds."""

import http.server
import json
import os
import re
import subprocess
import threading
from pathlib import Path

from bed import BIN_DIR
from manifests import ROOT
from programs import http_get, reserve_port

PLUGIN = ROOT / "docker/kubectl/kubectl-dns"
ADDRESS, DOMAIN = "10.96.0.10", "cluster.local"
KUBELET = {"kubeletconfig": {"clusterDNS": [ADDRESS], "clusterDomain": DOMAIN}}


class Renamed:
    """The pages of a skydns of another version, while it is open: the port."""

    def __init__(self, port: int):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = http_get(f"http://127.0.0.1:{port}{self.path}")
                self.send_response(status)
                self.end_headers()
                self.wfile.write(re.sub(r'version="[^"]*"', 'version="0.0.9"', text).encode())

            def log_message(self, *_) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", reserve_port()), Handler)

    def __enter__(self) -> int:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self._server.server_port

    def __exit__(self, *exc) -> None:
        self._server.shutdown()
        self._server.server_close()


class Plugin:
    """`state` is fake_kubectl.py's."""

    def __init__(self, folder: Path, state: dict):
        self.folder, self.state = folder, state | {"bin": str(BIN_DIR)}
        tools = folder / "tools"
        tools.mkdir(parents=True)
        fake = Path(__file__).with_name("fake_kubectl.py")
        (tools / "kubectl").write_text(f'#!/bin/sh\nexec /usr/bin/python3 -IS {fake} {folder / "state.json"} "$@"\n')
        (tools / "kubectl").chmod(0o755)
        self.environment = os.environ | {"PATH": f"{tools}:/usr/bin:/bin", "TMPDIR": str(folder)}

    def write_state(self) -> None:
        (self.folder / "state.json").write_text(json.dumps(self.state))

    def start(self, *arguments: str) -> subprocess.Popen:
        self.write_state()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([PLUGIN, *arguments], env=self.environment, text=True, **pipes)

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=60)
        assert not self.work(), "its folder is left"
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def work(self) -> list[Path]:
        """Its folder."""
        return list(self.folder.glob("tmp.*"))

    def faults(self) -> list[str]:
        """What doctor finds, each with what to do."""
        done = self.run("doctor")
        assert done.stderr == ""
        lines = done.stdout.splitlines()
        found = [line.removeprefix("FAULT ") for line in lines if line.startswith("FAULT ")]
        assert len([line for line in lines if line.startswith("      do: ") and len(line) > 20]) == len(found)
        assert lines[-1] == f"faults: {len(found)}" and done.returncode == (1 if found else 0), done.stdout
        return found

    def fault(self) -> str:
        """The only one."""
        found = self.faults()
        assert len(found) == 1, found
        return found[0]

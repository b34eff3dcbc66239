#!/usr/bin/python3
"""Runs the whole system in the foreground, on free loopback ports (`make run`). Python's standard
library only.

    run.py --bin build/release/bin

Starts etcd, kube2sky, skydns and exechealthz, and the project's Kubernetes API server with some Services
unless KUBECONFIG names a cluster to follow. Waits until everything works, shows it with the usual client
commands, and suggests what to try next. Ctrl-C or SIGTERM ends everything within two seconds, with
status 0; if a program exits by itself, the rest ends, too, with status 1.

In the cluster of a KUBECONFIG it creates one namespace with a unique name, and deletes it at the end, so
Ctrl-C may take a few seconds longer; it writes nothing else there. If the cluster refuses access, it exits
at once with one line and status 1.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from programs import (
    Program,
    TimeUp,
    apiserver,
    clean_environment,
    etcd,
    http_get,
    is_etcd_healthy,
    reserve_port,
    wait_until,
)
from trial import Namespace, Taken, explain_refusal, refusal

READY_TIMEOUT_S = 60
SHOW_TIMEOUT_S = 15
# For one poll while waiting: short, since Ctrl-C is checked between polls.
ASK_TIMEOUT_S = 0.5
# Shutdown: the programs get a second, then etcd and the API server half a second; the rest is killed.
STOP_S, STOP_SERVED_S = 1.0, 0.5

DOMAIN = "cluster.local"
KUBERNETES = f"kubernetes.default.svc.{DOMAIN}"

_print_lock = threading.Lock()
_stop = threading.Event()


class Stopped(Exception):
    """Ctrl-C during a wait."""


class Failed(Exception):
    """Something does not work; the message names it."""


def say(text: str = "") -> None:
    try:
        with _print_lock:
            print(text, flush=True)
    except BrokenPipeError:
        _stop.set()


# ---- Example objects ----


def _service(name: str, spec: dict) -> dict:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _port(name: str, number: int) -> dict:
    return {"name": name, "port": number, "protocol": "TCP"}


EXAMPLES = {
    "services": [
        _service("frontend", {"ports": [{"port": 80, "protocol": "TCP"}]}),
        _service("api", {"ports": [_port("http", 8080), _port("metrics", 9090)]}),
        _service("six", {"ports": [_port("http", 80)], "ipFamilies": ["IPv6"]}),
        _service("db", {"clusterIP": "None", "ports": [_port("postgres", 5432)]}),
    ],
    "endpoints": [
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "db"},
            "subsets": [
                {
                    "addresses": [
                        {"ip": "10.1.0.1", "hostname": "db-0"},
                        {"ip": "10.1.0.2", "hostname": "db-1"},
                    ],
                    "ports": [_port("postgres", 5432)],
                }
            ],
        }
    ],
}


def create_examples(url: str) -> None:
    for resource, objects in EXAMPLES.items():
        for value in objects:
            request = urllib.request.Request(
                f"{url}/api/v1/namespaces/default/{resource}",
                json.dumps(value).encode(),
                {"Content-Type": "application/json"},
            )
            urllib.request.urlopen(request, timeout=5).close()


# ---- Queries ----


def has_address(port: int, name: str) -> bool:
    """Whether a server on 127.0.0.1 answers an A query with a record."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack("!6H", 0x2B2B, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(ASK_TIMEOUT_S)
        client.connect(("127.0.0.1", port))
        client.send(query)
        reply = client.recv(4096)
    return len(reply) > 12 and reply[:2] == query[:2] and reply[3] & 15 == 0 and reply[6:8] != b"\0\0"


def is_http_ok(url: str) -> bool:
    return http_get(url, ASK_TIMEOUT_S)[0] == 200


class System:
    """The programs and their ports."""

    def __init__(self, bin_dir: Path, folder: str, kubeconfig: str):
        self._bin_dir = bin_dir
        self._folder = folder
        self.kubeconfig = kubeconfig
        self.programs: list[Program] = []
        self.etcd_port = reserve_port(12379)
        self.api_url = "" if kubeconfig else f"http://127.0.0.1:{reserve_port(18001)}"
        self.readiness_port = reserve_port(18081)
        self.dns_port = reserve_port(10053)
        self.http_port = reserve_port(18080)
        self.healthz_port = reserve_port(10080)

    def start(self) -> None:
        self._run(
            etcd(os.path.join(self._folder, "etcd"), self.etcd_port, reserve_port(self.etcd_port + 1)),
            lambda: is_etcd_healthy(self.etcd_port),
        )
        if self.api_url:
            port = int(self.api_url.rsplit(":", 1)[1])
            self._run(apiserver(port), lambda: is_http_ok(self.api_url + "/readyz"))
            try:
                create_examples(self.api_url)
            except OSError as error:
                raise Failed(f"the example objects cannot be created: {error}") from None
            cluster = f"--kube-master-url={self.api_url}"
        else:
            cluster = f"--kubecfg-file={self.kubeconfig}"
        etcd_url = f"http://127.0.0.1:{self.etcd_port}"
        self._run(
            self._ours(
                "kube2sky",
                f"--domain={DOMAIN}",
                f"--etcd-server={etcd_url}",
                cluster,
                "--healthz-address=127.0.0.1",
                f"--healthz-port={self.readiness_port}",
            ),
            self._is_following,
        )
        self._run(
            self._ours(
                "skydns",
                f"-machines={etcd_url}",
                f"-addr=127.0.0.1:{self.dns_port}",
                f"-http-addr=127.0.0.1:{self.http_port}",
                "-ns-rotate=false",
                f"-domain={DOMAIN}.",
            ),
            lambda: has_address(self.dns_port, KUBERNETES),
        )
        probe = f"nslookup -port={self.dns_port} {KUBERNETES} 127.0.0.1 >/dev/null"
        self._run(
            self._ours(
                "exechealthz", f"--cmd={probe}", "--address=127.0.0.1", f"--port={self.healthz_port}", "--quiet"
            ),
            lambda: is_http_ok(f"http://127.0.0.1:{self.healthz_port}/healthz"),
        )

    def _ours(self, name: str, *arguments: str) -> Program:
        return Program(name, [self.path(name), *arguments])

    def path(self, name: str) -> str:
        """One of our programs, as typed on a command line."""
        path = self._bin_dir / name
        return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)

    def _is_following(self) -> bool:
        """Whether kube2sky has written everything. Failed, without a wait, if the KUBECONFIG's cluster refuses."""
        status, body = http_get(f"http://127.0.0.1:{self.readiness_port}/readiness", ASK_TIMEOUT_S)
        reason = "" if status == 200 or not self.kubeconfig else refusal(body)
        if reason:
            raise Failed(explain_refusal(self._cluster_url(), reason, self.kubeconfig))
        return status == 200

    def _cluster_url(self) -> str:
        """The API server's URL as kube2sky read it from the kubeconfig."""
        program = next(p for p in self.programs if p.name == "kube2sky")
        line = program.wait_line(r"\bapi=\S")  # it answers HTTP before its log's thread has written this
        return re.search(r"\bapi=(\S+)", line)[1]

    def _run(self, program: Program, is_ready) -> None:
        program.on_line = lambda line: say(f"{program.name:11} | {line}")
        say(f"{'run':11} | {shlex.join(program.argv)}")
        try:
            program.start()
        except OSError as error:
            raise Failed(f"{program.argv[0]} cannot be started: {error.strerror}") from None
        self.programs.append(program)

        def ask() -> bool:
            if _stop.is_set():
                raise Stopped
            self.check()
            return is_ready()

        try:
            wait_until(ask, f"{program.name} is ready", READY_TIMEOUT_S)
        except TimeUp as error:
            raise Failed(str(error)) from None

    def check(self) -> None:
        for program in self.programs:
            if not program.is_running():
                status = program.wait()
                if self.kubeconfig and status == 1 and "kubeconfig" in (program.lines or [""])[-1]:
                    raise Failed(f"{program.lines[-1]}: correct that file, or let KUBECONFIG name another")
                raise Failed(f"{program.name} has ended with status {status}")

    def stop(self) -> None:
        """Stops clients before their servers, so that they do not end with errors about them."""
        served = [p for p in self.programs if p.name in ("etcd", "apiserver")]
        following = [p for p in self.programs if p not in served]
        for group, limit_s in ((following, STOP_S), (served, STOP_SERVED_S)):
            running = [p for p in reversed(group) if p.is_running()]
            for program in running:
                program.signal(signal.SIGTERM)
            deadline = time.monotonic() + limit_s
            for program in running:
                try:
                    program.wait(max(0.0, deadline - time.monotonic()))
                except TimeUp:
                    say(f"{'run':11} | {program.name} did not exit: killed")
                    program.kill()


# ---- The summary ----


def show(command: str) -> None:
    """A command as typed, and its output."""
    say(f"$ {command}")
    words = shlex.split(command)
    if shutil.which(words[0]) is None:
        say(f"({words[0]} is not installed)\n")
        return
    program = Program(words[0], words).start()
    try:
        wait_until(lambda: _stop.is_set() or not program.is_running(), command, SHOW_TIMEOUT_S)
    except TimeUp:
        say(f"(not finished within {SHOW_TIMEOUT_S} s)")
    program.kill()
    if _stop.is_set():
        raise Stopped
    say("\n".join(program.lines) + "\n")


def summarise(system: System, namespace: Namespace | None) -> None:
    dns = f"@127.0.0.1 -p {system.dns_port}"
    http, kube2sky = f"127.0.0.1:{system.http_port}", f"127.0.0.1:{system.readiness_port}"
    limit = " --limit=20" if system.kubeconfig else ""
    say("\n==== The records in etcd, and the answers\n")
    show(f"etcdctl --endpoints=127.0.0.1:{system.etcd_port} get --prefix /skydns{limit}")
    show(f"nslookup -port={system.dns_port} {KUBERNETES} 127.0.0.1")
    srv = f"_https._tcp.{KUBERNETES}" if system.kubeconfig else f"_http._tcp.api.default.svc.{DOMAIN}"
    show(f"dig {dns} {srv} SRV")
    show(f"curl -si http://127.0.0.1:{system.healthz_port}/healthz")
    say("==== Explain an answer, read the metrics, list all records\n")
    show(f"{system.path('skydns')} -explain {KUBERNETES} -http-addr={http}")
    listening = f"--healthz-address=127.0.0.1 --healthz-port={system.readiness_port}"
    show(f"{system.path('kube2sky')} --explain default/kubernetes {listening}")
    say(f"curl http://{http}/metrics")
    say(f"curl http://{kube2sky}/metrics")
    say(f"curl http://{http}/cache\n")
    say("==== In a browser: what happens now, and why\n")
    say(f"skydns's page    http://{http}/")
    say(f"kube2sky's page  http://{kube2sky}/\n")
    if namespace is None:
        say_how_to_add(f"kubectl --server {system.api_url}", "default", dns)
        if shutil.which("kubectl") is None:
            say_how_without_kubectl(system.api_url)
    elif create(namespace):
        say_how_to_add(f"{namespace.kubectl} --namespace {namespace.name}", namespace.name, dns)
    say(
        f"\n==== Ready: DNS on 127.0.0.1:{system.dns_port}, "
        f"health on http://127.0.0.1:{system.healthz_port}/healthz. "
        "Ctrl-C ends everything.\n"
    )


def create(namespace: Namespace) -> bool:
    """Whether the namespace was created: a user may be allowed to read the cluster but not to write."""
    say("==== A namespace to try things in, deleted at the end\n")
    if _stop.is_set():
        raise Stopped
    try:
        command, output = namespace.create()
    except Taken:
        raise Failed(
            f"the cluster has a namespace {namespace.name} already, which is left alone: choose another name"
        ) from None
    except OSError as error:
        say(f"(no namespace {namespace.name}, the cluster is only followed: {error})")
        return False
    say(f"$ {command}\n{output}\n")
    return True


def say_how_to_add(kubectl: str, namespace: str, dns: str) -> None:
    say("==== Add a Service, query it, delete it\n")
    say(f"{kubectl} create service clusterip web --tcp=80:80")
    say(f"dig {dns} +short web.{namespace}.svc.{DOMAIN}")
    say(f"{kubectl} delete service web")


def say_how_without_kubectl(api_url: str) -> None:
    services = f"{api_url}/api/v1/namespaces/default/services"
    body = json.dumps({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    say(
        f"\nWithout kubectl:  curl -H 'Content-Type: application/json' -d '{body}' {services}\n"
        f"                  curl -X DELETE {services}/web"
    )


def watch_over(system: System) -> None:
    """Until Ctrl-C, or until a program ends by itself."""
    while not _stop.wait(0.1):
        system.check()


def run(bin_dir: Path, namespace_name: str) -> int:
    kubeconfig = os.environ.get("KUBECONFIG", "")
    if os.pathsep in kubeconfig:
        raise Failed("KUBECONFIG names several files; name one")
    kubeconfig = os.path.abspath(kubeconfig) if kubeconfig else ""
    namespace = Namespace(kubeconfig, namespace_name) if kubeconfig else None
    with tempfile.TemporaryDirectory(prefix="dns-run-") as folder:
        system = System(bin_dir, folder, kubeconfig)
        try:
            system.start()
            summarise(system, namespace)
            watch_over(system)
        finally:
            stop(system, namespace)
    return 0


def stop(system: System, namespace: Namespace | None) -> None:
    """Deletes the namespace while the programs end."""
    try:
        if namespace:
            namespace.start_deleting()
    finally:
        system.stop()
    last = namespace.finish_deleting() if namespace else ""
    if last:
        say(f"{'run':11} | {last}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True, help="folder of kube2sky, skydns and exechealthz")
    parser.add_argument("--namespace", default="", help="namespace to create (default: a unique name)")
    arguments = parser.parse_args()
    clean_environment()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _stop.set())
    try:
        return run(arguments.bin.resolve(), arguments.namespace)
    except Stopped:
        return 0
    except Failed as error:
        print(f"run: {error}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())

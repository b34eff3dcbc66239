#!/usr/bin/python3
"""What it costs an answer to be watched (`make bench-watching`): CPU time of all of skydns's threads for each UDP
answer, on one core, plain; with a page open; with -query-log=1/100 and all, into /dev/null; and with -dnstap to
fstrm_capture, which has the other core. Beside them, dnstap of unbound, and of Knot where its module is installed,
and of CoreDNS its `log` where COREDNS names it.

Each round takes all in turn. Goals: a page open, and one query in 100 logged, at most 2 % each of a plain answer.
"""

import os
import statistics
import sys
import threading
import urllib.request
from pathlib import Path

from measuring import options_parser, parse_options

from answers import data, rounds, servers
from answers.bed import Bed
from answers.servers import Kind, Server, Setting
from programs import Program, reserve_port
from records import DOMAIN

SHARE_MAX = 0.02
PATTERN = rounds.UDP_PATTERNS[[mix.name for mix in data.MIXES].index("a")]
KNOT_MODULE = Path("/usr/lib/x86_64-linux-gnu/knot/modules-3.2/dnstap.so")
# The log's lines go where they cost their writing alone.
UNSEEN = ("sh", "-c", 'exec "$@" 2>/dev/null', "sh")


class Page(threading.Thread):
    """Reads /live as an open page does."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self.stream = urllib.request.urlopen(f"http://127.0.0.1:{port}/live", timeout=20)
        self.start()

    def run(self) -> None:
        try:
            while self.stream.readline():
                pass
        except OSError:
            pass


def sink(bed: Bed, name: str) -> str:
    """A listener for dnstap that throws everything away: its socket."""
    path = str(bed.folder / f"{name}.sock")
    argv = ["fstrm_capture", "-t", "protobuf:dnstap.Dnstap", "-u", path, "-w", "/dev/null"]
    program = bed.add(Program(f"sink-{name}", ["taskset", "-c", str(servers.GENERATOR_CORE), *argv]))
    program.start().wait_ready(lambda: os.path.exists(path), "listens")
    return path


def skydns(name: str, *flags: str) -> Kind:
    return Kind(name, name, servers.skydns("127.0.0.1", *flags))


def unbound_dnstap(path: str):
    section = f'dnstap:\n  dnstap-enable: yes\n  dnstap-socket-path: "{path}"\n'
    section += "  dnstap-log-client-query-messages: yes\n  dnstap-log-client-response-messages: yes\n"

    def argv(s: Setting) -> list[str]:
        return servers.unbound_own_names(s, '  module-config: "iterator"\n', section)

    return argv


def knot_dnstap(path: str):
    def argv(s: Setting) -> list[str]:
        command = servers.knot_with(s, "    global-module: mod-dnstap/bench\n")
        file = s.folder / "knot.conf"
        module = f"module:\n  - id: mod-dnstap\nmod-dnstap:\n  - id: bench\n    sink: unix:{path}\n"
        file.write_text(module + file.read_text())
        return command

    return argv


def coredns_log(s: Setting) -> list[str]:
    text = f"{DOMAIN}:{s.port} {{\n  bind 127.0.0.1\n  log\n  file {s.zones}/{DOMAIN} {DOMAIN}\n}}\n"
    return [os.environ["COREDNS"], "-conf", servers.write(s.folder / "Corefile", text)]


def start_all(bed: Bed) -> dict[str, tuple[Server, str]]:
    """Each server, and the name of the one that it is compared with."""
    found = {}

    def start(kind: Kind, plain: str, **more) -> None:
        found[kind.name] = (bed.start(kind, **more), plain)

    start(skydns("skydns"), "skydns")
    port = reserve_port()
    start(skydns("skydns, a page open", f"-http-addr=127.0.0.1:{port}"), "skydns")
    Page(port)
    start(skydns("skydns, 1/100 logged", "-query-log=1/100"), "skydns", prefix=UNSEEN)
    start(skydns("skydns, all logged", "-query-log=all"), "skydns", prefix=UNSEEN)
    start(skydns("skydns, dnstap", f"-dnstap=unix:{sink(bed, 'skydns')}"), "skydns")
    if servers.kind("unbound").is_there():
        start(servers.kind("unbound"), "unbound")
        start(Kind("unbound, dnstap", "", unbound_dnstap(sink(bed, "unbound"))), "unbound")
    if servers.kind("knot").is_there() and KNOT_MODULE.exists():
        start(servers.kind("knot"), "knot")
        start(Kind("knot, dnstap", "", knot_dnstap(sink(bed, "knot"))), "knot")
    if os.environ.get("COREDNS"):
        start(servers.kind("coredns"), "coredns")
        start(Kind("coredns, log", "", coredns_log, env=(("GOMAXPROCS", "1"),)), "coredns", prefix=UNSEEN)
    return found


def measure(bed: Bed, arguments) -> dict[str, float]:
    """The medians of microseconds per answer, and of the share more than plain in the same round."""
    generator = bed.generator(arguments.seconds)
    all_servers = start_all(bed)
    us: dict[str, list[float]] = {name: [] for name in all_servers}
    for _ in range(arguments.rounds):
        for name, (server, _) in all_servers.items():
            run = generator.run(PATTERN, server)
            us[name].append(run["figures"]["server_us"])
            if run["faults"]:
                print(f"{name}: {', '.join(run['faults'])}", file=sys.stderr)
    shares = {}
    for name, (_, plain) in all_servers.items():
        more = [one / other - 1 for one, other in zip(us[name], us[plain])]
        shares[name] = statistics.median(more)
        print(f"{name:24} {statistics.median(us[name]):7.3f} us  {shares[name]:+7.1%}", flush=True)
    return shares


def main() -> int:
    parser = options_parser(__doc__, 7)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parse_options(parser)
    with Bed(arguments.build, arguments.services) as bed:
        shares = measure(bed, arguments)
    missed = [name for name in ("skydns, a page open", "skydns, 1/100 logged") if shares[name] > SHARE_MAX]
    for name in missed:
        print(f"missed: {name}: {shares[name]:+.1%}, goal {SHARE_MAX:.0%}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

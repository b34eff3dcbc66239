"""Third-party nameservers for skydns to forward to: unbound and Knot DNS. Both serve `real.test.`:
www has one address (the server's number at its end), big has 200 and is truncated over UDP.
"""

import shutil
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import pytest
from programs import Program

BIG = [f"198.51.100.{n}" for n in range(1, 201)]


def needs(command: str) -> str:
    path = shutil.which(command, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if path is None:
        pytest.skip(f"no {command} here")
    return path


def address(number: int) -> str:
    return f"192.0.2.{number}"


def _is_up(host: str, port: int) -> bool:
    try:
        dns.query.udp(dns.message.make_query("www.real.test", "A"), host, timeout=0.3, port=port)
    except dns.exception.Timeout:
        return False
    return True


def unbound(folder: Path, number: int, port: int, *more: str, host: str = "127.0.0.1", prefix=()) -> Program:
    """`more`: extra configuration lines."""
    records = [f"www.real.test. 77 A {address(number)}", "www.real.test. 77 TXT some-text"]
    records += [f"big.real.test. 77 A {ip}" for ip in BIG]
    lines = [
        "server:",
        f"interface: {host}@{port}",
        "do-daemonize: no",
        'chroot: ""',
        'username: ""',
        'pidfile: ""',
        "use-syslog: no",
        "num-threads: 1",
        "access-control: 0.0.0.0/0 allow",
        "do-not-query-localhost: no",
        "local-zone: real.test. static",
        *[f"local-data: '{record}'" for record in records],
        *more,
    ]
    path = folder / f"unbound-{number}.conf"
    path.write_text("\n".join(lines) + "\n")
    return Program(f"unbound-{number}", [*prefix, needs("unbound"), "-d", "-c", str(path)])


def knot(folder: Path, number: int, port: int) -> Program:
    home = folder / f"knot-{number}"
    home.mkdir()
    zone = home / "real.test.zone"
    records = ["@ 77 SOA ns hostmaster 1 3600 600 86400 60", "@ 77 NS ns", "ns 77 A 127.0.0.1"]
    records += [f"www 77 A {address(number)}", "www 77 TXT some-text"]
    records += [f"big 77 A {ip}" for ip in BIG]
    zone.write_text("$ORIGIN real.test.\n" + "\n".join(records) + "\n")
    path = home / "knot.conf"
    path.write_text(
        f"server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-max-payload: 1232\n"
        f"log:\n  - target: stderr\n    any: warning\ndatabase:\n  storage: {home}\n"
        f"zone:\n  - domain: real.test.\n    file: {zone}\n    zonefile-sync: -1\n    journal-content: none\n"
    )
    return Program(f"knot-{number}", [needs("knotd"), "-c", str(path)])


def start(server: Program, port: int, host: str = "127.0.0.1") -> Program:
    server.start()
    server.wait_ready(lambda: _is_up(host, port), "answers")
    return server

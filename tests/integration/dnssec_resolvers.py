"""More validating resolvers that ask skydns for everything, beside those of dnssec_bed.py: Knot Resolver, PowerDNS
Recursor and systemd-resolved.
"""

import os
import subprocess
from pathlib import Path

import pytest
from dnssec_bed import Key, Resolver
from nameservers import needs
from programs import Program, reserve_port

# Where tests/support/deps unpacks systemd-resolved.
_UNPACKED = Path("/usr/local/lib/dns-tests")
_RESOLVED = "lib/systemd/systemd-resolved"

# In a mount namespace: its settings, its user and what it writes are of this test alone. Arguments: the folder of
# those, the folder of its libraries, the program.
_RESOLVED_SCRIPT = """
mount --bind "$1/systemd" /etc/systemd &&
mount --bind "$1/passwd" /etc/passwd &&
mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd &&
mkdir -p /etc/dnssec-trust-anchors.d && mount --bind "$1/anchors" /etc/dnssec-trust-anchors.d &&
LD_LIBRARY_PATH="$2" exec "$3"
"""


def kresd(folder: Path, upstream: int, keys: list[Key]) -> Resolver:
    port = reserve_port()
    home = folder / f"kresd-{port}"
    home.mkdir()
    (home / "anchors").write_text("".join(f"{key.record.to_text()}\n" for key in keys))
    lines = [
        f"net.listen('127.0.0.1', {port}, {{ kind = 'dns' }})",
        "log_target('stderr')",
        "log_level('notice')",
        f"trust_anchors.add_file('{home}/anchors', true)",
        f"policy.add(policy.all(policy.FORWARD('127.0.0.1@{upstream}')))",
        "cache.size = 10 * MB",
    ]
    (home / "config").write_text("\n".join(lines) + "\n")
    return Resolver(Program(f"kresd-{port}", [needs("kresd"), "-n", "-c", str(home / "config"), str(home)]), port)


def pdns_recursor(folder: Path, upstream: int, keys: list[Key]) -> Resolver:
    port = reserve_port()
    home = folder / f"recursor-{port}"
    home.mkdir()
    anchors = [f"addTA('{key.zone}', '{' '.join(key.ds())}')" for key in keys]
    (home / "anchors.lua").write_text("\n".join(["clearTA()", *anchors]) + "\n")
    settings = [
        "local-address=127.0.0.1",
        f"local-port={port}",
        f"forward-zones-recurse=.=127.0.0.1:{upstream}",
        "dnssec=validate",
        "dnssec-log-bogus=yes",
        "serve-rfc1918=no",
        "dont-query=",
        "threads=1",
        "daemon=no",
        "disable-syslog=yes",
        "security-poll-suffix=",
        f"socket-dir={home}",
        f"lua-config-file={home}/anchors.lua",
        "setuid=",
        "setgid=",
    ]
    (home / "recursor.conf").write_text("\n".join(settings) + "\n")
    return Resolver(Program(f"recursor-{port}", [needs("pdns_recursor"), f"--config-dir={home}"]), port)


def _resolved_root() -> Path:
    for root in (_UNPACKED, Path("/")):
        if (root / _RESOLVED).exists():
            return root
    pytest.skip("no systemd-resolved here")


def resolved(folder: Path, upstream: int, keys: list[Key]) -> Resolver:
    root = _resolved_root()
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("systemd-resolved needs a mount namespace, and that needs root")
    port = reserve_port()
    home = folder / f"resolved-{port}"
    home.mkdir()
    (home / "systemd").mkdir()
    (home / "anchors").mkdir()
    anchors = [f"{key.zone} IN DNSKEY {key.rdata.to_text()}" for key in keys]
    (home / "anchors/test.positive").write_text("\n".join(anchors) + "\n")
    # Without any, those that are built in: `local` is one.
    (home / "anchors/test.negative").write_text("none.invalid\n")
    (home / "passwd").write_text(
        Path("/etc/passwd").read_text() + "systemd-resolve:x:65533:65533::/:/usr/sbin/nologin\n"
    )
    settings = [
        "[Resolve]",
        f"DNS=127.0.0.1:{upstream}",
        "FallbackDNS=",
        "Domains=~.",
        "DNSSEC=yes",
        "LLMNR=no",
        "MulticastDNS=no",
        "DNSStubListener=no",
        f"DNSStubListenerExtra=127.0.0.1:{port}",
        "ReadEtcHosts=no",
    ]
    (home / "systemd/resolved.conf").write_text("\n".join(settings) + "\n")
    [libraries, *_] = [*root.glob("usr/lib/*/systemd"), root]
    command = ["unshare", "--mount", "sh", "-c", _RESOLVED_SCRIPT, "sh", str(home), str(libraries), str(root / _RESOLVED)]
    return Resolver(Program(f"resolved-{port}", command, {"SYSTEMD_LOG_TARGET": "console"}), port)

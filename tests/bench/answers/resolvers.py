"""The measured servers that keep other domains' names: skydns, and others if installed, each with one worker and room
for twice the names asked for. All but dnsdist also know the Services.
"""

import getpass

from answers import data
from answers.servers import (
    BARE_TCP,
    BARE_UDP,
    COREDNS,
    SKYDNS,
    SKYDNS_SEARCH,
    Kind,
    Setting,
    bare,
    coredns,
    unbound_own_names,
    write,
)
from records import DOMAIN

NAMESERVER_HOST = "127.0.0.1"


def _room(s: Setting) -> int:
    return 2 * s.kept


def _skydns(s: Setting) -> list[str]:
    command = [str(s.bin_dir / "skydns"), f"-machines={s.etcd_url}", f"-addr=127.0.0.1:{s.port}", f"-domain={DOMAIN}."]
    command += [f"-nameservers={NAMESERVER_HOST}:{s.nameserver}", "-workers=1"]
    return command + (s.flags or [f"-rcache={_room(s)}"])


def _skydns_search(s: Setting) -> list[str]:
    return [*_skydns(s), "-autopath"]


def _unbound(s: Setting) -> list[str]:
    more = f"""  do-not-query-localhost: no
  msg-cache-size: {_room(s) * 2 // 1000 + 4}m
  rrset-cache-size: {_room(s) * 2 // 1000 + 4}m
  msg-cache-slabs: 1
  rrset-cache-slabs: 1
"""
    forward = f'forward-zone:\n  name: "."\n  forward-addr: {NAMESERVER_HOST}@{s.nameserver}\n'
    return unbound_own_names(s, more, forward)


def _dnsmasq(s: Setting) -> list[str]:
    services = "".join(f"{data.ip(number)} {data.name(number)}\n" for number in range(s.kept))
    return [
        *("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--no-daemon"),
        *(f"--port={s.port}", "--listen-address=127.0.0.1", "--bind-interfaces", f"--user={getpass.getuser()}"),
        *(f"--server={NAMESERVER_HOST}#{s.nameserver}", "--dns-forward-max=10000", f"--cache-size={_room(s)}"),
        *(f"--local=/{DOMAIN}/", f"--addn-hosts={write(s.folder / 'hosts', services)}", "--pid-file="),
    ]


def _dnsdist(s: Setting) -> list[str]:
    text = f"""setLocal("127.0.0.1:{s.port}")
newServer({{address="{NAMESERVER_HOST}:{s.nameserver}"}}):setUp()
getPool(""):setCache(newPacketCache({_room(s)}, {{maxTTL=86400}}))
setMaxUDPOutstanding(10000)
setSecurityPollSuffix("")
"""
    return ["dnsdist", "--supervised", "--disable-syslog", "-C", write(s.folder / "dnsdist.conf", text)]


def _coredns(s: Setting) -> list[str]:
    zone = f"{DOMAIN}:{s.port} {{\n  bind 127.0.0.1\n  file {s.zones}/{DOMAIN} {DOMAIN}\n}}\n"
    room = f"success {_room(s)} 86400\n    denial {_room(s)} 86400"
    forward = f"forward . {NAMESERVER_HOST}:{s.nameserver}\n  cache {{\n    {room}\n  }}"
    text = f"{zone}.:{s.port} {{\n  bind 127.0.0.1\n  {forward}\n}}\n"
    return [COREDNS, "-conf", write(s.folder / "Corefile", text)]


KINDS = [
    Kind(BARE_UDP, "bare responder", bare("udp")),
    Kind(BARE_TCP, "bare TCP responder", bare("tcp")),
    Kind(SKYDNS, "skydns", _skydns),
    Kind(SKYDNS_SEARCH, "skydns with search paths", _skydns_search),
    Kind("unbound", "unbound", _unbound, "unbound"),
    Kind("dnsmasq", "dnsmasq", _dnsmasq, "dnsmasq"),
    Kind("dnsdist", "dnsdist", _dnsdist, "dnsdist"),
]
KINDS += coredns(_coredns)


def kind(name: str) -> Kind:
    return next(one for one in KINDS if one.name == name)

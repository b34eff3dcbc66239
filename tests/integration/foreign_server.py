"""A skydns with a scripted nameserver, and what its replies about other domains say."""

import time

import dns.edns
import dns.message
from bed import Bed
from programs import reserve_port, wait_until
from scripted import Nameserver
from watched import Watched

# Longer than any test lasts: a nameserver that is silent has not failed yet.
RTIMEOUT = "20s"


class Server:
    """A skydns without records of its own, and its nameserver."""

    def __init__(self, bed: Bed, *flags: str, nameserver: Nameserver | None = None, rtimeout: str = RTIMEOUT):
        self.bed, self.nameserver = bed, nameserver or Nameserver()
        port = reserve_port()
        nameservers = f"-nameservers=127.0.0.1:{self.nameserver.port}"
        bed.start_skydns(nameservers, f"-http-addr=127.0.0.1:{port}", f"-rtimeout={rtimeout}", *flags)
        self.watched = Watched(bed.skydns, port, "skydns_")
        self.ask = bed.dns.query

    def metric(self, name: str, **labels: str) -> float:
        return self.watched.metrics().get(name, **labels) or 0

    def hits(self, kind: str) -> float:
        return self.metric("cache_hits_total", kind=kind)

    def chaos(self, name: str) -> int:
        [rrset] = self.ask(name, "TXT", rdclass="CH").answer
        return int(rrset[0].strings[0])

    def wait_expired(self, name: str, asked: int = 1, rdtype: str = "A") -> dns.message.Message:
        """Asks until the nameserver has been asked once more than `asked`; the reply to that query."""
        return wait_until(
            lambda: (got := self.ask(name, rdtype, use_edns=0)) and self.nameserver.asked(name, rdtype) > asked and got,
            f"{name} is asked again",
        )


def errors(message: dns.message.Message) -> list[int]:
    """The extended errors in a reply."""
    return [int(option.code) for option in message.options if option.otype == dns.edns.EDE]


def ttls(message: dns.message.Message) -> list[int]:
    return [rrset.ttl for rrset in message.answer + message.authority]


def is_aged(shown_s: int, ttl_s: int, since_s: float) -> bool:
    """A kept reply's time, which began not before that moment: down by the seconds that have passed."""
    return 0 <= ttl_s - shown_s <= time.monotonic() - since_s + 1


def texts(message: dns.message.Message) -> list[str]:
    return sorted(rdata.to_text() for rrset in message.answer for rdata in rrset)

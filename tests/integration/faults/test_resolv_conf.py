"""resolv.conf is replaced while skydns forwards. Its nameservers need port 53, so they run in a network namespace."""

import dns.message
import dns.query
import nameservers
import pytest
from nameservers import address
from netns import Network, network_missing
from programs import Program, reserve_port, wait_until

pytestmark = pytest.mark.faults
DNS_PORT = 5300


def test_another_nameserver_without_a_restart(bare_bed):
    reason = network_missing()
    if reason:
        pytest.skip(reason)
    bed = bare_bed
    with Network(count=1) as network:
        inside = network.command(0)
        host = network.addresses[0]
        servers = {"127.0.0.1": 1, "127.0.0.2": 2}
        for ip, number in servers.items():
            server = nameservers.unbound(bed.folder, number, 53, host=ip, prefix=inside)
            bed.programs.append(server)
            server.start()
            server.wait_line("start of service")
        conf = bed.folder / "resolv.conf"
        conf.write_text("nameserver 127.0.0.1\n")
        bind = f'mount --bind {conf} /etc/resolv.conf && exec "$@"'
        argv = [*inside, "unshare", "-m", "sh", "-c", bind, "sh", str(bed.command("skydns").argv[0])]
        argv += [f"-addr={host}:{DNS_PORT}", "-domain=cluster.local.", "-rtimeout=600ms"]
        argv += [f"-machines=http://127.0.0.1:{reserve_port()}"]  # other names do not wait for etcd
        skydns = Program("skydns", argv)
        bed.programs.append(skydns)
        skydns.start()

        def answers() -> list[str]:
            query = dns.message.make_query("www.real.test", "A")
            reply = dns.query.udp(query, host, timeout=1, port=DNS_PORT)
            return [rr.to_text() for rrset in reply.answer for rr in rrset]

        def is_answer(number: int) -> bool:
            try:
                return answers() == [address(number)]
            except dns.exception.Timeout:
                return False

        wait_until(lambda: is_answer(1), "the first nameserver's answer")
        conf.write_text("nameserver 127.0.0.2\n")
        wait_until(lambda: is_answer(2), "the second nameserver's answer")
        skydns.wait_line("configuration changed settings=nameservers")
        conf.write_text("# being written\n")
        skydns.wait_line("lists no upstream")
        assert is_answer(2)
        bed.close()

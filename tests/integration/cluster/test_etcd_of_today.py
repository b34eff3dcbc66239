"""A cluster's records in today's etcd: open, with users who have only the permissions that the operator's guide names, and those
over TLS with client certificates. The other tests use the etcd of the machine.
"""

import peers
import pytest
from asking import PATIENCE_S
from etcd_users import add_documented_users
from secured_etcd import Secured

pytestmark = pytest.mark.cluster

_TOKEN_TTL_S = 1
_PASSWORD = "secret"


class Store:
    """The etcd of a bed."""

    def __init__(self, bed, kind: str):
        self.bed, self.has_users = bed, kind != "open"
        self._secured = Secured(bed) if kind == "TLS" else None

    def start(self) -> None:
        bed = self.bed
        bed.etcd_program.argv[0] = peers.program("etcd", "etcd")
        if self._secured:
            self._secured.configure()
        if self.has_users:
            bed.etcd_program.argv += ["--auth-token-ttl", str(_TOKEN_TTL_S)]
        self._run()
        if self.has_users:
            self._add_users()

    def _run(self) -> None:
        (self._secured or self.bed).start_etcd()

    def _add_users(self) -> None:
        bed = self.bed
        file = bed.folder / "password"
        file.write_text(f"{_PASSWORD}\n")
        add_documented_users(bed.etcd, _PASSWORD, has_options=False)
        bed.etcd.enable_authentication("root")
        bed.etcd.log_in("root", "root")
        bed.kube2sky_flags += ["--etcd-username=kube2sky", f"--etcd-password-file={file}"]
        bed.skydns_flags += ["-username=skydns", f"-password-file={file}"]

    def kill(self) -> None:
        self.bed.etcd_program.kill()

    def restart(self) -> None:
        """No earlier token is valid any more."""
        self._run()

    def wait_token_expired(self) -> None:
        """A token that nobody uses; while queries are answered, which need no etcd."""
        token = self.bed.etcd.token()
        self.bed.load.wait_sent(500 * 4 * _TOKEN_TTL_S)
        with pytest.raises(AssertionError, match="invalid auth token"):
            self.bed.etcd.revision_by(token)


@pytest.fixture(params=["open", "users", "TLS"])
def store(request, idle_dns):
    return Store(idle_dns, request.param)


@pytest.fixture
def dns(idle_dns, store):
    idle_dns.start(store.start)
    return idle_dns


def test_restarted_and_quiet_for_longer_than_a_token_lives(shop, dns, store):
    with shop.asked():
        shop.change(gone=0, pods=4)
        dns.wait_model()
        since = len(dns.kube2sky.lines)
        store.kill()
        dns.kube2sky.wait_line(r"etcd cannot be followed, retrying", since, PATIENCE_S)
        shop.change(gone=1, pods=8)
        dns.load.wait_sent(500)
        store.restart()
        dns.wait_model()
        if store.has_users:
            store.wait_token_expired()
        shop.change(gone=2, pods=3)
    assert not [line for line in (*dns.kube2sky.lines, *dns.skydns.lines) if "denied" in line]

"""etcd with users: tokens that expire, a password that changes, a permission that is revoked."""

import os
import subprocess
import time

import pytest
from fault_bed import PATIENCE_S, missing_flags

_MISSING = missing_flags("-username", "-password-file", "-etcd-username", "-etcd-password-file")

pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(_MISSING), reason=_MISSING)]

_TOKEN_TTL_S = 2
_RANGES = (("/skydns/", "/skydns0"), ("/kube2sky/", "/kube2sky0"))


class Guarded:
    """The bed, and an administrator of its etcd."""

    def __init__(self, bed):
        self.bed = bed
        self._endpoint = f"http://127.0.0.1:{bed.etcd_port}"
        self._login: list[str] = []
        self.password_file = bed.folder / "password"

    def ctl(self, *arguments: str, said: str = "") -> None:
        options = ["--endpoints", self._endpoint, "--command-timeout=50s"]  # by itself, 5 s
        command = ["etcdctl", *options, *self._login, *arguments]
        environment = os.environ | {"ETCDCTL_API": "3"}
        done = subprocess.run(
            command, env=environment, input=said, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)

    def start(self) -> None:
        bed = self.bed
        bed.etcd_program.argv += ["--auth-token-ttl", str(_TOKEN_TTL_S)]
        bed.start_etcd()
        self.ctl("user", "add", "root:secret")
        self.ctl("user", "grant-role", "root", "root")
        self.ctl("role", "add", "dns")
        self.grant()
        self.ctl("user", "add", "dns:first")
        self.ctl("user", "grant-role", "dns", "dns")
        self.ctl("auth", "enable")
        self._login = ["--user", "root:secret"]
        bed.etcd.log_in("root", "secret")
        self.password_file.write_text("first\n")
        bed.skydns_flags = ["-username=dns", f"-password-file={self.password_file}"]
        bed.kube2sky_flags = ["--etcd-username=dns", f"--etcd-password-file={self.password_file}"]
        bed.start()

    def grant(self) -> None:
        for start, end in _RANGES:
            self.ctl("role", "grant-permission", "dns", "readwrite", start, end)

    def revoke(self) -> None:
        for start, end in _RANGES:
            self.ctl("role", "revoke-permission", "dns", start, end)

    def restart_etcd(self) -> None:
        """No earlier token is valid any more."""
        self.bed.etcd_program.kill()
        self.bed.start_etcd()


@pytest.fixture
def guarded(fault_bed):
    guarded = Guarded(fault_bed)
    guarded.start()
    return guarded


def test_token_expired(guarded):
    """Nothing is written for longer than a token lives: a look at etcd is the first to find it expired, or the change
    after it. How a write goes on is in tests/unit/common/etcd/test_etcd_auth.c.
    """
    bed = guarded.bed
    with bed.under_load(is_restarting=True) as load:
        bed.churn.pause()
        tokens, ours = bed.watched[1].metrics().get("etcd_tokens_total"), bed.etcd.token()
        load.wait_sent(3000 * _TOKEN_TTL_S)
        with pytest.raises(AssertionError, match="invalid auth token"):
            bed.etcd.revision_by(ours)
        bed.wait_visible(bed.change(), time.monotonic(), "changes visible after", 2)
        # Looks lengthen a token's life while they are less than a life apart; each of a row waits twice as long.
        bed.watched[1].program.wait_ready(
            lambda: bed.watched[1].metrics().get("etcd_tokens_total") > tokens, "another token of kube2sky", PATIENCE_S
        )
        bed.wait_visible(bed.change(), time.monotonic(), "changes visible after", 2)
        bed.churn.resume()


def wait_away(bed, load, made, since, pattern) -> None:
    """Both programs have logged why, no changes arrive, and the old records are answered."""
    bed.wait_told(pattern, since)
    load.wait_sent(1000)
    assert bed.dns.answers(next(iter(made))) == ["NXDOMAIN"]


def test_password_changed_then_its_file(guarded):
    bed = guarded.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        guarded.ctl("user", "passwd", "dns", "--interactive=false", said="second\n")
        guarded.restart_etcd()
        made = bed.change()
        wait_away(bed, load, made, since, r"(?i)password|authenticat")
        bed.check_counted("etcd_token_failures_total")
        guarded.password_file.write_text("second\n")
        bed.wait_visible(made, time.monotonic(), "changes visible after", 6)


def test_permission_removed(guarded):
    bed = guarded.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        guarded.revoke()
        guarded.restart_etcd()
        made = bed.change()
        wait_away(bed, load, made, since, r"(?i)permission.*/skydns")
        guarded.grant()
        bed.wait_visible(made, time.monotonic(), "changes visible after", 6)

"""etcd over TLS, with certificates on both sides that are replaced while everything runs."""

import time

import pytest
from fault_bed import missing_flags
from secured_etcd import Secured

_MISSING = missing_flags("-ca-cert", "-tls-pem", "-tls-key", "-etcd-cafile", "-etcd-certfile", "-etcd-keyfile")

pytestmark = [pytest.mark.faults, pytest.mark.skipif(bool(_MISSING), reason=_MISSING)]


@pytest.fixture
def secured(fault_bed):
    secured = Secured(fault_bed)
    secured.configure()
    secured.start_etcd()
    fault_bed.start()
    return secured


def test_server_certificate_replaced(secured):
    bed = secured.bed
    with bed.under_load(is_restarting=True):
        secured.trusted.sign("server")
        secured.restart_etcd()
        made = bed.change()
        bed.wait_visible(made, time.monotonic(), "changes visible after", 2)


def test_client_certificate_rotated(secured):
    """etcd accepts only the new authority's certificates; the programs get their new files later, at the same paths."""
    bed = secured.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        secured.trust_clients_of(secured.new_clients)
        secured.restart_etcd()
        made = bed.change()
        bed.wait_told(r"(?i)certificate", since)
        load.wait_sent(1000)
        assert bed.dns.answers(next(iter(made))) == ["NXDOMAIN"], "the old certificate was accepted"
        secured.new_clients.sign("client")
        bed.wait_visible(made, time.monotonic(), "changes visible after", 5)
        bed.check_counted("etcd_credentials_changes_total", result="used")
        bed.check_counted("etcd_connections_total", tls="yes")


def test_server_of_a_foreign_authority(secured):
    bed = secured.bed
    with bed.under_load(is_restarting=True) as load:
        since = bed.log_lengths()
        secured.foreign.sign("server")
        secured.restart_etcd()
        made = bed.change()
        bed.wait_told(r"certificate is not from a CA in .*trusted\.crt", since)
        bed.check_counted("etcd_connection_failures_total", kind="refused")
        load.wait_sent(1000)
        assert bed.dns.answers(next(iter(made))) == ["NXDOMAIN"], "the foreign certificate was accepted"
        secured.trusted.sign("server")
        secured.restart_etcd()
        bed.wait_visible(made, time.monotonic(), "changes visible after", 5)

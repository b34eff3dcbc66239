"""The ways to reach an API server: client certificates, proxies, names, a pod's service account; and the
messages when one of them fails.
"""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import reserve_port, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from certificates import Authority  # noqa: E402
from gates import Gate, HttpProxy, SocksProxy, server_tls, tls_gate  # noqa: E402

TOKEN = "s3cret"
NAME = "api.example.invalid"  # not resolvable


@pytest.fixture
def reach(bed):
    """A bed with an authority, and an API server that requires TLS with one of its certificates."""
    bed.authority = Authority(bed.folder, "authority")
    bed.certificate, bed.key = bed.authority.sign("server")
    with tls_gate(bed.kube.url, server_tls(bed.certificate, bed.key)) as gate:
        bed.port = gate.port
        yield bed


def kubeconfig(bed, cluster: str = "", user: str = "", server: str = "") -> str:
    path = bed.folder / "kubeconfig"
    server = server or f"https://127.0.0.1:{bed.port}"
    path.write_text(
        "current-context: here\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}', {cluster}}}}}]\n"
        f"users: [{{name: u, user: {{{user}}}}}]\n"
        "contexts: [{name: here, context: {cluster: c, user: u}}]\n"
    )
    bed.kube_flags = [f"--kubecfg-file={path}"]
    return str(path)


def trusting(bed) -> str:
    return f"certificate-authority: {bed.authority.certificate}"


def assert_reached(bed) -> None:
    bed.start_kube2sky()
    assert bed.etcd.values("/skydns/local/cluster/svc/default/kubernetes")


def reason(bed) -> str:
    """The logged reason why the API is not followed, in quotes; kube2sky keeps retrying."""
    bed.start_kube2sky(is_waiting=False)
    line = bed.kube2sky.wait_line("API cannot be followed")
    return line.split("reason=", 1)[1]


# ---- Certificates ----


@pytest.mark.parametrize("form", ["files", "data"])
def test_client_certificate(bed, form):
    authority = Authority(bed.folder, "authority")
    certificate, key = authority.sign("server")
    client, client_key = authority.sign("client")
    with tls_gate(bed.kube.url, server_tls(certificate, key, authority.certificate)) as gate:
        bed.authority, bed.port = authority, gate.port
        if form == "files":
            user = f"client-certificate: {client}, client-key: {client_key}"
        else:
            data = [base64.b64encode(Path(path).read_bytes()).decode() for path in (client, client_key)]
            user = f"client-certificate-data: {data[0]}, client-key-data: {data[1]}"
        kubeconfig(bed, trusting(bed), user)
        assert_reached(bed)


def test_client_certificate_that_is_missing_or_of_another_authority(bed):
    authority, other = Authority(bed.folder, "authority"), Authority(bed.folder, "other")
    certificate, key = authority.sign("server")
    stranger, stranger_key = other.sign("stranger")
    with tls_gate(bed.kube.url, server_tls(certificate, key, authority.certificate)) as gate:
        bed.authority, bed.port = authority, gate.port
        kubeconfig(bed, trusting(bed))
        why = reason(bed)
        assert "TLS: tlsv13 alert certificate required" in why and "sent: no credentials" in why
        bed.kube2sky.stop()
        bed.kube2sky = None
        kubeconfig(bed, trusting(bed), f"client-certificate: {stranger}, client-key: {stranger_key}")
        why = reason(bed)
        assert "TLS: " in why and f"sent: the client certificate in {stranger}" in why


def test_client_certificate_that_is_written_anew(bed):
    """The certificate in use is rejected; its replacement is accepted."""
    authority, other = Authority(bed.folder, "authority"), Authority(bed.folder, "other")
    certificate, key = authority.sign("server")
    client, client_key = other.sign("client")
    with tls_gate(bed.kube.url, server_tls(certificate, key, authority.certificate)) as gate:
        bed.authority, bed.port = authority, gate.port
        kubeconfig(bed, trusting(bed), f"client-certificate: {client}, client-key: {client_key}")
        reason(bed)
        authority.sign("client")
        bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready with the new certificate")


def test_server_name(reach):
    """A certificate for an address other than the server's."""
    certificate, key = reach.authority.sign("elsewhere", "10.96.0.1")
    with tls_gate(reach.kube.url, server_tls(certificate, key)) as gate:
        reach.port = gate.port
        kubeconfig(reach, trusting(reach))
        why = reason(reach)
        assert "SSL: no alternative certificate subject name matches" in why and f"trusted: the CAs in {reach.authority.certificate}" in why
        reach.kube2sky.stop()
        reach.kube2sky = None
        kubeconfig(reach, trusting(reach) + ", tls-server-name: 10.96.0.1")
        assert_reached(reach)


def test_unknown_authority(reach):
    kubeconfig(reach)
    assert "issuer certificate" in (why := reason(reach)) and "trusted: the system's CAs" in why


def test_unverified(reach):
    kubeconfig(reach, "insecure-skip-tls-verify: true")
    assert_reached(reach)


def test_no_tls_there(bed):
    """An https:// URL of a plain HTTP server, which replies 400 to what it does not understand."""

    def answer(client) -> None:
        client.recv(1)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with Gate(answer) as gate:
        kubeconfig(bed, server=f"https://127.0.0.1:{gate.port}")
        assert "TLS: " in (why := reason(bed)) and "is it http:// there?" in why


def test_ipv6(reach):
    certificate, key = reach.authority.sign("six", "::1")
    with tls_gate(reach.kube.url, server_tls(certificate, key), "::1") as gate:
        kubeconfig(reach, trusting(reach), server=f"https://[::1]:{gate.port}")
        assert_reached(reach)


# ---- Proxies ----


def test_http_proxy(reach):
    """The proxy sees no credentials of the server, and the proxy resolves the name."""
    certificate, key = reach.authority.sign("named", "127.0.0.1")
    with tls_gate(reach.kube.url, server_tls(certificate, key)) as gate:
        proxy = HttpProxy()
        with proxy.gate:
            cluster = f"tls-server-name: 127.0.0.1, proxy-url: http://me:pw@127.0.0.1:{proxy.gate.port}"
            kubeconfig(
                reach, f"{trusting(reach)}, {cluster}", f"token: {TOKEN}", f"https://{NAME}:{gate.port}"
            )
            assert_reached(reach)
            assert set(proxy.asked) == {f"{NAME}:{gate.port}"}
            for head in proxy.heads:
                assert "Proxy-Authorization: Basic bWU6cHc=" in head
                assert TOKEN not in head and "kube2sky" not in head


def test_https_proxy(reach):
    certificate, key = reach.authority.sign("proxy")
    proxy = HttpProxy(server_tls(certificate, key))
    with proxy.gate:
        kubeconfig(reach, f"{trusting(reach)}, proxy-url: https://127.0.0.1:{proxy.gate.port}")
        assert_reached(reach)
        assert proxy.asked


def test_socks_proxy(reach):
    proxy = SocksProxy()
    with proxy.gate:
        cluster = f"tls-server-name: 127.0.0.1, proxy-url: socks5://127.0.0.1:{proxy.gate.port}"
        kubeconfig(reach, f"{trusting(reach)}, {cluster}", server=f"https://{NAME}:{reach.port}")
        assert_reached(reach)
        assert set(proxy.asked) == {f"{NAME}:{reach.port}"}


def test_proxies_that_do_not_lead_there(reach):
    """The message names the proxy, and never its password."""
    refusing, forbidding = HttpProxy(refusal="407 Proxy Authentication Required"), SocksProxy(refusal=2)
    nobody = reserve_port()
    with refusing.gate, forbidding.gate:
        for url, shown, words in [
            (f"http://me:pw@127.0.0.1:{nobody}", f"http://127.0.0.1:{nobody}", "Connection refused"),
            (
                f"http://me:pw@127.0.0.1:{refusing.gate.port}",
                f"http://127.0.0.1:{refusing.gate.port}",
                "answered 407 instead of connecting",
            ),
            (
                f"socks5://127.0.0.1:{forbidding.gate.port}",
                f"socks5://127.0.0.1:{forbidding.gate.port}",
                "SOCKS5",
            ),
        ]:
            kubeconfig(reach, f"{trusting(reach)}, proxy-url: '{url}'")
            why = reason(reach)
            assert f"the proxy {shown}" in why and words in why and "pw" not in why
            reach.kube2sky.stop()
            reach.kube2sky = None


def test_proxy_of_the_environment_is_not_for_loopback(reach):
    kubeconfig(reach, trusting(reach))
    reach.kube2sky = reach.command("kube2sky", f"--etcd-server={reach.etcd_urls[0]}",
                                   f"--healthz-port={reach.readiness_port}", *reach.kube_flags)  # fmt: skip
    reach.kube2sky.env = {"https_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}
    assert_reached(reach)


# ---- Names and variables ----


def test_variables_in_the_master_url(bed):
    port = bed.kube.url.rsplit(":", 1)[1]
    bed.kube_flags = ["--kube_master_url=http://${KUBERNETES_SERVICE_HOST}:$KUBERNETES_SERVICE_PORT"]
    bed.kube2sky = bed.command("kube2sky", f"--etcd-server={bed.etcd_urls[0]}",
                               f"--healthz-port={bed.readiness_port}", *bed.kube_flags)  # fmt: skip
    bed.kube2sky.env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
    assert_reached(bed)


def test_host_name_that_is_not_found(bed):
    kubeconfig(bed, server=f"http://{NAME}:1")
    assert "host name not found" in (why := reason(bed)) and NAME in why


# ---- In a pod ----

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def can_mount() -> bool:
    return (
        os.geteuid() == 0
        and subprocess.run(["unshare", "-m", "true"], capture_output=True, timeout=20).returncode == 0
    )


@pytest.mark.skipif(not can_mount(), reason="a mount namespace needs root")
def test_service_account(bare_bed):
    """The pod's own files, at the usual path, and a token that is replaced."""
    bed = bare_bed
    bed.start_etcd()
    bed.start_tls_apiserver(TOKEN)
    account = bed.folder / "account"
    account.mkdir()
    (account / "token").write_text("old")
    (account / "ca.crt").write_bytes(Path(bed.kube.ca_file).read_bytes())
    port = bed.kube.url.rsplit(":", 1)[1]
    script = (
        f"mount -t tmpfs none $(readlink -f /var/run) && mkdir -p {_ACCOUNT} && "
        f'mount --bind {account} {_ACCOUNT} && exec "$@"'
    )
    bed.kube2sky = bed.command("kube2sky", f"--etcd-server={bed.etcd_urls[0]}",
                               f"--healthz-port={bed.readiness_port}")  # fmt: skip
    bed.kube2sky.argv = ["unshare", "-m", "sh", "-c", script, "sh", *bed.kube2sky.argv]
    bed.kube2sky.env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
    assert f"401 Unauthorized: Unauthorized; sent: the token in {_ACCOUNT}/token" in reason(bed)
    (account / "token").write_text(TOKEN)
    wait_until(lambda: bed.readiness()[0] == 200, "ready with the new token")

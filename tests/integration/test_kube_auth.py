"""How kube2sky reaches an API server with TLS and a token, by a kubeconfig."""

import base64
import os
import signal
from pathlib import Path

import pytest
from bed import make_certificate
from kube import service
from programs import wait_until
from records import SVC, service_records
from test_kube_faults import watches_open
from test_pipeline import kubernetes_records

TOKEN = "s3cret"


def write_kubeconfig(bed, cluster: str, user: str) -> str:
    path = bed.folder / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        f"clusters:\n- name: c\n  cluster: {{server: '{bed.kube.url}', {cluster}}}\n"
        f"users:\n- name: u\n  user: {{{user}}}\n"
        "contexts:\n- name: elsewhere\n  context: {cluster: none, user: none}\n"
        "- name: here\n  context: {cluster: c, user: u}\n"
    )
    return f"--kubecfg-file={path}"


@pytest.fixture
def bed(bare_bed):
    bare_bed.start_etcd()
    bare_bed.start_tls_apiserver(TOKEN)
    return bare_bed


def data_of(path: str) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


@pytest.mark.parametrize("form", ["files", "relative files", "data"])
def test_authority_and_token(bed, form):
    (bed.folder / "token").write_text(TOKEN + "\n")
    cluster, user = {
        "files": (f"certificate-authority: {bed.kube.ca_file}", f"tokenFile: {bed.folder / 'token'}"),
        "relative files": ("certificate-authority: tls.crt", "tokenFile: token"),
        "data": (f"certificate-authority-data: {data_of(bed.kube.ca_file)}", f"token: {TOKEN}"),
    }[form]
    bed.start_kube2sky(write_kubeconfig(bed, cluster, user))
    made = bed.kube.create("services", service("web"))
    bed.wait_records(f"{SVC}/default/web/", service_records("web", made["spec"]["clusterIP"]))


def test_master_url_over_the_kubeconfig(bed):
    """The flag gives the server, the file the user."""
    config = write_kubeconfig(bed, f"certificate-authority: {bed.kube.ca_file}", f"token: {TOKEN}")
    path = bed.folder / "kubeconfig"
    path.write_text(path.read_text().replace(bed.kube.url, "https://127.0.0.1:1"))
    bed.start_kube2sky(config, f"--kube-master-url={bed.kube.url}")
    assert bed.etcd.values(SVC) == kubernetes_records(bed.kube)


def refused(bed, cluster: str, user: str) -> str:
    """The reason in readiness; kube2sky keeps retrying."""
    bed.start_kube2sky(write_kubeconfig(bed, cluster, user), is_waiting=False)
    bed.kube2sky.wait_line(r"^(warn|error) .* kind=services ")
    status, body = wait_until(bed.readiness, "readiness answers")
    assert status == 503 and bed.kube2sky.is_running()
    return body


def test_wrong_token_is_a_reason(bed):
    assert "401" in refused(bed, f"certificate-authority: {bed.kube.ca_file}", "token: wrong")


def test_wrong_authority_is_a_reason(bed):
    other, _ = make_certificate(bed.folder, "other")
    assert "ertificate" in refused(bed, f"certificate-authority: {other}", f"token: {TOKEN}")


def test_token_file_that_is_written_anew(bed):
    """Tokens are rotated in place: the next request must use the new one."""
    token = bed.folder / "token"
    token.write_text("old")
    refused(bed, f"certificate-authority: {bed.kube.ca_file}", f"tokenFile: {token}")
    token.write_text(TOKEN)
    wait_until(lambda: bed.readiness()[0] == 200, "ready with the new token", timeout_s=60)


def rotate(bed, new: str) -> None:
    """The server accepts only the new token, and has closed all connections."""
    bed.kube.control("token", token=new)
    bed.kube.control("drop-watches")
    bed.kube.token = new


@pytest.mark.parametrize("order", ["the file first", "the server first"])
def test_token_rotated_while_it_runs(bed, order):
    token = bed.folder / "token"
    token.write_text(TOKEN)
    user = f"tokenFile: {token}"
    config = write_kubeconfig(bed, f"certificate-authority: {bed.kube.ca_file}", user)
    bed.start_kube2sky(config, "--log-level=debug")  # a warning does not repeat within a minute
    for number in range(3):
        watches_open(bed)
        new = f"token-{number}"
        if order == "the file first":
            token.write_text(new)
            rotate(bed, new)
        else:
            since = len(bed.kube2sky.lines)
            rotate(bed, new)
            bed.kube2sky.wait_line("^debug .*401", since)
            token.write_text(new)
        made = bed.kube.create("services", service(f"web-{number}"))
        right = service_records(f"web-{number}", made["spec"]["clusterIP"])
        bed.wait_records(f"{SVC}/default/web-{number}/", right)


def test_sighup_reads_what_looks_unchanged(bed):
    """The new certificate has the same size and time as the old one: only the signal reveals the change."""
    ca = bed.folder / "ca.crt"
    right = Path(bed.kube.ca_file).read_bytes()
    wrong = Path(make_certificate(bed.folder, "other")[0]).read_bytes()
    size = max(len(right), len(wrong))
    ca.write_bytes(wrong.ljust(size))
    times = (ca.stat().st_atime_ns, ca.stat().st_mtime_ns)
    refused(bed, f"certificate-authority: {ca}", f"token: {TOKEN}")
    ca.write_bytes(right.ljust(size))
    os.utime(ca, ns=times)
    bed.kube2sky.signal(signal.SIGHUP)
    bed.kube2sky.wait_line("reloading the credential files")
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0] == 200, "ready with the other authority")

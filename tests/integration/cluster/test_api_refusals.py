"""The API server no longer knows kube2sky's token, or no longer permits something. kube2sky's watches end, as they do
about every minute: a relay cuts them.
"""

import base64
import json

import pytest
from asking import PATIENCE_S
from peer import Peer
from programs import wait_until
from shop import KINDS

pytestmark = pytest.mark.cluster

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kube2sky"
BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kube2sky"
PATHS = {"services": "/api/v1/services", "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices"}


@pytest.fixture
def relay(cluster):
    """Between kube2sky and the API server."""
    with Peer(int(cluster.url.rsplit(":", 1)[1])) as relay:
        yield relay


@pytest.fixture
def dns(relay, idle_dns):
    idle_dns.kube_flags.append(f"--kube-master-url=https://127.0.0.1:{relay.port}")
    idle_dns.start()
    return idle_dns


def wait_status(cluster, token: str, path: str, status: int) -> None:
    """Of a list with the token: roles are in force a moment after they have changed."""
    kube = cluster.connect(token)
    wait_until(lambda: kube.send("GET", path, None, {})[0] == status, f"{status} for {path}", PATIENCE_S)


# ---- The token ----


def used_tokens(cluster) -> list[str]:
    """The identities of the tokens of kube2sky's requests."""
    field = "authentication.kubernetes.io/credential-id"
    return [one for event in cluster.audit() for one in event["user"].get("extra", {}).get(field, [])]


def identity(token: str) -> str:
    payload = token.split(".")[1]
    return "JTI=" + json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]


def test_token_rotated_then_revoked(shop, cluster, relay):
    """The new one is in use as soon as a request is made. Revoked, it is as good as none until there is another."""
    dns = shop.dns
    try:
        with shop.asked():
            dns.kube.create("secrets", {"metadata": {"name": "holder", "namespace": "kube-system"}})
            first = cluster.renew_token("holder")
            relay.drop()
            wait_until(lambda: identity(first) in used_tokens(cluster), "requests with the new token", PATIENCE_S)
            shop.change(gone=0, pods=4)
            dns.wait_model()

            known, since = shop.objects(), len(dns.kube2sky.lines)
            dns.kube.delete("secrets", "holder", "kube-system")
            cluster.restart_apiserver()  # it forgets tokens that it has found valid
            shop.wait_away("401", since)
            shop.change(gone=1, pods=7)
            shop.wait_known(known)

            second = cluster.renew_token()
            dns.wait_model()
            assert identity(second) in used_tokens(cluster)
    finally:
        cluster.renew_token()


# ---- The role ----


def take_away(cluster, refused: tuple[str, ...]) -> None:
    kube = cluster.connect()
    if refused == KINDS:
        kube.request("DELETE", BINDING)
    else:
        rules = [rule for rule in kube.request("GET", ROLE)["rules"] if rule["resources"] != list(refused)]
        kube.request("PATCH", ROLE, {"rules": rules}, "application/merge-patch+json")
    for kind in refused:
        wait_status(cluster, cluster.token_file.read_text(), PATHS[kind], 403)


@pytest.mark.parametrize("refused", [KINDS[:1], KINDS[1:], KINDS], ids="-".join)
def test_role_taken_away_and_given_back(shop, cluster, relay, refused):
    """What is refused stays as it was last seen, and holds up nothing else."""
    dns = shop.dns
    try:
        with shop.asked():
            last, since = shop.objects(), len(dns.kube2sky.lines)
            take_away(cluster, refused)
            relay.drop()
            shop.wait_away("403", since, refused)
            shop.change(gone=0, pods=3)
            now = shop.objects()
            shop.wait_known({kind: (last if kind in refused else now)[kind] for kind in KINDS})
            cluster.restore_account()
    finally:
        cluster.restore_account()

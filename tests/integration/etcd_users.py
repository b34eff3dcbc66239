"""Users of etcd with the permissions that docs/operator/install.md says are enough, and no others."""

import re
from chapters import GUIDE
from etcd_client import EtcdClient

_BASE = "/kube2sky/cluster.local"


def add_documented_users(etcd: EtcdClient, password: str, has_options: bool) -> None:
    """kube2sky and skydns, before authentication is enabled. has_options: also what only some flags need."""
    for user in ("kube2sky", "skydns"):
        etcd.add_user(user, password)
        reads, writes = documented_permissions(user, has_options)
        for keys in sorted(reads | writes):
            etcd.permit(user, "READ" * (keys in reads) + "WRITE" * (keys in writes), keys)


def documented_permissions(user: str, has_options: bool) -> tuple[set[str], set[str]]:
    """The keys that it reads and writes; / at the end: all below. Behind a semicolon is what some flags need."""
    table = (GUIDE / "install.md").read_text().partition("| user | reads | writes |")[2].partition("\n\n")[0]
    (row,) = re.findall(rf"^\| {user} \|(.*)\|(.*)\|$", table, re.M)
    cells = [cell if has_options else cell.partition(";")[0] for cell in row]
    reads, writes = ({key.replace("…", _BASE) for key in re.findall(r"`([/…].*?)`", cell)} for cell in cells)
    assert {f"{_BASE}/", f"{_BASE}/config"} & reads
    return reads, writes

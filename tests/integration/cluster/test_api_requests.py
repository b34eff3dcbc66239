"""What kube2sky asks an API server for, by its audit log: as little as client-go."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from programs import wait_until

pytestmark = pytest.mark.cluster

# Kinds of the manifest's kube2sky that the cluster has.
_KINDS = {"services", "endpointslices"}


def requests(events: list[dict]) -> list[tuple[str, str, dict]]:
    """Verb, resource and query of each, once."""
    by_id = {event["auditID"]: event for event in events if event.get("objectRef")}
    return [
        (one["verb"], one["objectRef"]["resource"], {k: v[0] for k, v in parse_qs(urlsplit(one["requestURI"]).query).items()})
        for one in by_id.values()
    ]


def test_lists_and_watches(cluster, idle_dns):
    """Each object is sent once: as events, without a page. Watches last 5 to 10 minutes."""
    dns = idle_dns
    dns.wait_alone()  # all Services are counted below
    known = {one["auditID"] for one in cluster.audit()}  # the watches of earlier tests end a moment later
    flags = [*dns.kube_flags, "--log-level=debug"]
    dns.use_kube(dns.kube, flags)
    dns.start()
    services = len(dns.kube.items("services"))

    def asked() -> list[tuple[str, str, dict]] | None:
        new = [one for one in cluster.audit() if one["auditID"] not in known]
        found = [one for one in requests(new) if one[1] in _KINDS]
        watched = {resource for _, resource, query in found if "sendInitialEvents" not in query}
        return found if watched == _KINDS else None

    found = wait_until(asked, "the watches in the audit log")
    assert {verb for verb, _, _ in found} == {"watch"}
    lists = [resource for _, resource, query in found if query.get("sendInitialEvents") == "true"]
    assert sorted(lists) == sorted(_KINDS)
    timeouts = [int(query["timeoutSeconds"]) for _, _, query in found if "sendInitialEvents" not in query]
    assert timeouts and all(300 <= timeout <= 600 for timeout in timeouts)
    line = dns.kube2sky.wait_line(r"list received as events kind=services\b")
    assert int(re.search(r"objects=(\d+)", line)[1]) == services

"""docker/manifests and docker/compose.yaml: they are consistent with each other and with the programs, they run, and
kube2sky has exactly the rights it needs. test_manifests_real.py checks them with a real kube-apiserver.
"""

import contextlib
import difflib
import re
import shutil

import manifests
import pytest
import yaml
from bed import BIN_DIR
from certificates import Authority
from dns_client import Dns
from kube import endpoint, endpoint_slice, headless, port, service
from manifests import AUTOPATH, EXTERNAL_ETCD, KUBE_DNS, PROGRAMS, TLS, Pod
from programs import ETCD, http_get, is_etcd_healthy, output, serve_tls, wait_until
from scripted import ADDRESS, Nameserver
from watched import Watched

NAMES = manifests.names()
OURS = [KUBE_DNS, AUTOPATH, TLS, EXTERNAL_ETCD]  # for current clusters; the others are as of their time
KUBERNETES = "kubernetes.default.svc.cluster.local"
COMPOSE = manifests.ROOT / "docker/compose.yaml"
USER = 65532
DNS_PORTS = {"dns", "dns-tcp", "dns-tls", "dns-https"}


def flags_of(program: str, arguments: list[str]) -> set[str]:
    words = ["grpc-proxy", "start"] if "grpc-proxy" in arguments else []
    text = output(ETCD, *words, "--help") if program == "etcd" else output(str(BIN_DIR / program), "-help")
    return set(re.findall(r"^ +-{1,2}([a-z0-9-]+)", text, re.M))


def check_flags(program: str, arguments: list[str]) -> None:
    names = [re.match(r"-{1,2}([a-zA-Z0-9_-]+)", text) for text in arguments]  # none: a value of its own
    given = {match[1].replace("_", "-") for match in names if match}
    known = flags_of(program, arguments)
    assert given <= known, f"{program} has no {given - known}"
    if program in PROGRAMS:  # and takes their values: it reads all of them before it prints this
        output(str(BIN_DIR / program), *arguments, "-version")


def all_containers() -> list[manifests.Container]:
    return [one for name in NAMES for one in manifests.containers(name)]


def our_containers() -> list:
    return [pytest.param(one, id=f"{one.manifest}-{one.owner}-{one.program}") for one in all_containers()
            if one.manifest in OURS]  # fmt: skip


# ---- Contents ----


def test_there_are_some():
    assert set(OURS) <= set(NAMES)
    for name in OURS:
        assert {one.program for one in manifests.containers(name)} >= set(PROGRAMS)


@pytest.mark.parametrize("name", NAMES)
def test_objects_have_what_every_object_has(name):
    found = [(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in manifests.objects(name)]
    assert found and len(set(found)) == len(found)


@pytest.mark.parametrize("one", [pytest.param(o, id=f"{o.manifest}-{o.owner}-{o.program}") for o in all_containers()])
def test_flags_exist(one):
    # The old manifests omit the image's entry point from their arguments, and leave a template's values in them.
    check_flags(one.program, one.arguments)


def test_a_flag_that_does_not_exist_is_found():
    with pytest.raises(AssertionError, match="typo"):
        check_flags("skydns", ["-typo=1"])
    with pytest.raises(AssertionError, match="many"):
        check_flags("skydns", ["-workers=many"])


@pytest.mark.parametrize("one", our_containers())
def test_ports_and_probes_are_those_of_the_container(one):
    assert one.probes(), "every container has a probe"
    for probe in one.probes():
        assert probe["port"] in one.ports
    text = " ".join(one.arguments)
    for name, number in one.ports.items():
        assert re.search(rf"[:=]{number}\b", text), f"no flag says {name}, {number}"


@pytest.mark.parametrize("one", our_containers())
def test_every_container_is_confined(one):
    pod, own = one.pod["securityContext"], one.value["securityContext"]
    assert pod["runAsNonRoot"] is True and pod["runAsUser"] == pod["runAsGroup"] == USER
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["readOnlyRootFilesystem"] is True and own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]}
    if one.program == "skydns":
        assert pod["sysctls"] == [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]
    assert set(one.value["resources"]) == {"requests", "limits"} and "memory" in one.value["resources"]["limits"]


@pytest.mark.parametrize("one", our_containers())
def test_files_in_flags_are_in_volumes(one):
    mounts = {mount["mountPath"]: mount for mount in one.value.get("volumeMounts", [])}
    volumes = {volume["name"] for volume in one.pod.get("volumes", [])}
    assert {mount["name"] for mount in mounts.values()} <= volumes
    for path in re.findall(r"=(/[^,\s]+)", " ".join(one.arguments)):
        assert any(path.startswith(f"{mount}/") for mount in mounts), path


@pytest.mark.parametrize("name", OURS)
def test_the_snapshot_is_where_its_user_can_write(name):
    """The only file that skydns writes, in a volume that lives as long as the pod."""
    (one,) = [one for one in manifests.containers(name) if one.program == "skydns"]
    assert f"-snapshot={manifests.STATE}/snapshot" in one.arguments
    (mount,) = [mount for mount in one.value["volumeMounts"] if mount["mountPath"] == manifests.STATE]
    assert "readOnly" not in mount and one.pod["securityContext"]["fsGroup"] == USER
    (volume,) = [volume for volume in one.pod["volumes"] if volume["name"] == mount["name"]]
    assert set(volume) == {"name", "emptyDir"} and "medium" not in volume["emptyDir"]


def content(name: str) -> list[str]:
    lines = (manifests.FOLDER / name).read_text().splitlines()
    return [line.strip() for line in lines if not line.lstrip().startswith("#")]


def test_the_variant_for_known_clients_differs_in_nothing_else():
    changes = [line for line in difflib.ndiff(content(KUBE_DNS), content(AUTOPATH)) if line[0] in "+-"]
    assert changes == [
        "- resources: [services]",
        "+ resources: [services, pods]",
        "- - --pods=disabled",
        "+ - --pods=verified",
        "- - -pods=insecure",
        "+ - -pods=verified",
        "+ - -autopath",
    ]


def test_the_variant_over_tls_differs_in_nothing_else():
    changes = [line for line in difflib.ndiff(content(KUBE_DNS), content(TLS)) if line[0] in "+-"]
    ports = [(name, number) for name, number in (("dns-tls", 853), ("dns-https", 443))]
    in_service = [
        f"+ {line}"
        for name, number in ports
        for line in (f"- name: {name}", f"port: {number}", "protocol: TCP", f"targetPort: {name}")
    ]
    in_pod = [
        f"+ {line}"
        for name, number in ports
        for line in (f"- name: {name}", f"containerPort: {number}", "protocol: TCP")
    ]
    probe = f"{KUBERNETES},A"
    assert sorted(changes) == sorted([
        *in_service,
        *in_pod,
        "+ - name: skydns-tls",
        "+ secret:",
        "+ secretName: kube-dns-tls",
        "+ defaultMode: 0440",
        "- - -addr=0.0.0.0:53",
        "+ - -addr=0.0.0.0:53,tls://0.0.0.0:853,https://0.0.0.0:443",
        f"+ - -cert={manifests.TLS_FILES}/tls.crt",
        f"+ - -key={manifests.TLS_FILES}/tls.key",
        "+ - name: skydns-tls",
        f"+ mountPath: {manifests.TLS_FILES}",
        "+ readOnly: true",
        f"+ - -dns=tls={probe},tls://127.0.0.1:853",
        f"+ - -dns=https={probe},https://127.0.0.1:443",
        "- path: /healthz",
        "+ path: /healthcheck/skydns",
    ])  # fmt: skip


def test_the_certificate_is_a_secret_as_cert_manager_makes_it():
    """A whole volume: files mounted by subPath are never replaced in a running pod."""
    (one,) = [one for one in manifests.containers(TLS) if one.program == "skydns"]
    (mount,) = [mount for mount in one.value["volumeMounts"] if mount["mountPath"] == manifests.TLS_FILES]
    assert mount["readOnly"] is True and "subPath" not in mount
    (volume,) = [volume for volume in one.pod["volumes"] if volume["name"] == mount["name"]]
    assert volume["secret"] == {"secretName": "kube-dns-tls", "defaultMode": 0o440}
    assert one.pod["securityContext"]["fsGroup"] == USER


def test_an_expired_certificate_takes_no_pod_out_of_the_service():
    """All of them share it: readiness is that of UDP, which goes on."""
    (one,) = [one for one in manifests.containers(TLS) if one.program == "exechealthz"]
    over_tls = {text.split("=")[1] for text in one.arguments if "://" in text}
    assert over_tls == {"tls", "https"}
    paths = [probe["path"] for probe in one.probes()]
    assert "/healthcheck/skydns" in paths
    assert not {"/healthz", *(f"/healthcheck/{label}" for label in over_tls)} & set(paths)


@pytest.mark.parametrize("name", [KUBE_DNS, AUTOPATH, TLS])
def test_the_network_policy_is_for_every_port_of_the_pod(name):
    (policy,) = manifests.of_kind("network-policy.yaml", "NetworkPolicy")
    (deployment,) = manifests.of_kind(name, "Deployment")
    template = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= template.items()
    assert policy["metadata"]["namespace"] == deployment["metadata"]["namespace"]
    dns, operators = policy["spec"]["ingress"]
    assert set(dns) == {"ports"}, "from everywhere"
    open_to_all = {(port["port"], port["protocol"]) for port in dns["ports"]}
    assert open_to_all == {(53, "UDP"), (53, "TCP"), (853, "TCP"), (443, "TCP")}
    containers = manifests.containers(name)
    asked = {(port["containerPort"], port["protocol"]) for one in containers for port in one.value["ports"]
             if port["name"] in DNS_PORTS}  # fmt: skip
    assert asked <= open_to_all and (asked == open_to_all) == (name == TLS)
    pod = {port for one in containers for port in one.ports}
    assert {port["port"] for port in operators["ports"]} == pod - DNS_PORTS and len(operators["from"]) == 1


def test_the_old_pod_has_no_snapshot():
    (one,) = [one for one in manifests.containers("legacy-pod.yaml") if one.program == "skydns"]
    assert not [text for text in one.arguments if "snapshot" in text] and "volumeMounts" not in one.value


@pytest.mark.parametrize("name", OURS)
def test_only_pods_have_the_label_of_cluster_dns(name):
    """kubeadm takes each Deployment in kube-system with it for CoreDNS's."""
    (owner,) = [
        one for one in manifests.objects(name) if one["metadata"]["name"] == "skydns" and manifests.pod_spec(one)
    ]
    assert owner["spec"]["template"]["metadata"]["labels"]["k8s-app"] == "kube-dns"
    assert "k8s-app" not in owner["metadata"]["labels"]


@pytest.mark.parametrize("name", OURS)
def test_selectors_and_references_meet(name):
    owners = [one for one in manifests.objects(name) if manifests.pod_spec(one)]
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in owners]

    def selected(selector: dict) -> list[dict]:
        return [one for one, own in zip(owners, labels) if selector.items() <= own.items()]

    for one in owners:
        assert selected(one["spec"]["selector"]["matchLabels"]) == [one], "its own pods and no others"
        assert manifests.pod_spec(one).get("priorityClassName") in ("system-cluster-critical", "system-node-critical")
        assert manifests.pod_spec(one)["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]
        for constraint in manifests.pod_spec(one).get("topologySpreadConstraints", []):
            assert selected(constraint["labelSelector"]["matchLabels"]) == [one]
    (dns,) = manifests.of_kind(name, "Service")
    (behind,) = selected(dns["spec"]["selector"])
    ports = {k: v for one in manifests.containers(name) for k, v in one.ports.items() if behind["kind"] in one.owner}
    assert {(p["name"], p["port"], p["protocol"]) for p in dns["spec"]["ports"]} >= {
        ("dns", 53, "UDP"), ("dns-tcp", 53, "TCP")}  # fmt: skip
    for one in dns["spec"]["ports"]:
        assert one["targetPort"] in ports or one["targetPort"] in ports.values()
    for budget in manifests.of_kind(name, "PodDisruptionBudget"):
        check_budget(budget)
        (guarded,) = selected(budget["spec"]["selector"]["matchLabels"])
        assert budget["spec"]["minAvailable"] < guarded["spec"]["replicas"], "or no node can ever be drained"
    (account,) = manifests.of_kind(name, "ServiceAccount")
    (role,) = manifests.of_kind(name, "ClusterRole")
    (binding,) = manifests.of_kind(name, "ClusterRoleBinding")
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                  "name": role["metadata"]["name"]}  # fmt: skip
    where = {key: account["metadata"][key] for key in ("name", "namespace")}
    assert binding["subjects"] == [{"kind": "ServiceAccount"} | where]
    (role,) = manifests.of_kind(name, "Role")
    (narrow,) = manifests.of_kind(name, "RoleBinding")
    assert narrow["subjects"] == binding["subjects"] and narrow["roleRef"]["name"] == role["metadata"]["name"]
    assert role["metadata"]["namespace"] == narrow["metadata"]["namespace"] == "kube-system"
    assert [rule["resourceNames"] for rule in role["rules"]] == [["kube-dns"]]
    for one in owners:
        pod = manifests.pod_spec(one)
        programs = {manifests.program_of(container["image"]) for container in pod["containers"]}
        assert pod.get("serviceAccountName") == (where["name"] if "kube2sky" in programs else None)
        assert "kube2sky" in programs or pod["automountServiceAccountToken"] is False


def check_budget(budget: dict) -> None:
    """policy/v1, for which the tests' API server may be too old: all allowed fields, with their types."""
    assert budget["apiVersion"] == "policy/v1" and set(budget) == {"apiVersion", "kind", "metadata", "spec"}
    spec = dict(budget["spec"])
    assert set(spec.pop("selector")) <= {"matchLabels", "matchExpressions"}
    ((name, value),) = spec.items()
    assert name in ("minAvailable", "maxUnavailable")
    assert (isinstance(value, int) and value >= 0) or re.fullmatch(r"\d+%", value)


# ---- Running them ----


def rights(name: str) -> set[tuple[str, str]]:
    """(verb, resource) of the roles."""
    roles = [*manifests.of_kind(name, "ClusterRole"), *manifests.of_kind(name, "Role")]
    rules = [rule for role in roles for rule in role["rules"]]
    return {(verb, resource) for rule in rules for verb in rule["verbs"] for resource in rule["resources"]}


def check_rights(bed, name: str) -> None:
    """kube2sky's requests to the API are exactly those that the role allows; a kind without objects may be last."""

    def asked() -> set[tuple[str, str]]:
        keys = {tuple(key.split(" ")) for key in bed.kube.control("state")["requests"]}
        return {(verb, resource) for verb, resource in keys if verb in ("list", "watch", "get")}

    wait_until(lambda: asked() >= rights(name), "all requests")
    assert asked() == rights(name)


@pytest.fixture
def run_pod(bare_bed):
    """A function that starts containers as processes, with the bed's API server. Their end waits for no lame duck,
    unless they are to be as shipped in this, too.
    """

    def run(containers, edit=str, is_lame_duck: bool = False) -> Pod:
        def edit_all(text: str) -> str:
            return edit(text if is_lame_duck else re.sub(r"^-lameduck=\d+$", "-lameduck=0", text))

        pod = Pod(containers, bare_bed.folder, BIN_DIR, edit_all)
        if "kube2sky" in pod.programs:
            pod.programs["kube2sky"].argv += bare_bed.kube_flags
        bare_bed.programs += pod.programs.values()
        pod.start()
        return pod

    return run


def check_service_is_answered(bed, dns: Dns, name: str) -> None:
    address = bed.kube.create("services", service(name, port(80, "http")))["spec"]["clusterIP"]
    fqdn = f"{name}.default.svc.cluster.local"
    wait_until(lambda: dns.answers(fqdn) == [address], f"{fqdn} {address}")
    assert dns.answers(f"_http._tcp.{fqdn}", "SRV") == [f"10 100 80 {fqdn}."]
    assert dns.answers("default.svc.cluster.local") == [], "the Kubernetes schema"


def test_kube_dns_runs(bare_bed, run_pod):
    """Every probe is 200 with the manifest's flags, and the pod answers queries."""
    bed = bare_bed
    bed.start_apiserver()
    pod = run_pod(manifests.containers(KUBE_DNS), is_lame_duck=True)
    dns = Dns(pod.port(53))
    assert dns.answers("dns-version.cluster.local", "TXT") == ['"1.1.0"']
    check_service_is_answered(bed, dns, "web")
    assert dns.answers("10-1-2-3.default.pod.cluster.local") == ["10.1.2.3"]
    bed.kube.create("services", headless("db", port(80, "http")))
    bed.kube.create("endpointslices", endpoint_slice("db-1", "db", [endpoint("10.1.0.1")], port(80, "http")))
    wait_until(lambda: dns.answers("db.default.svc.cluster.local") == ["10.1.0.1"], "the slice's endpoint")
    check_rights(bed, KUBE_DNS)
    assert dns.query("cluster.local", "SOA").answer[0][0].rname.to_text() == "hostmaster.cluster.local."


def test_kube_dns_answers_after_a_restart_without_etcd(bare_bed, run_pod):
    bed = bare_bed
    bed.start_apiserver()
    pod = run_pod(manifests.containers(KUBE_DNS))
    dns = Dns(pod.port(53))
    check_service_is_answered(bed, dns, "web")
    here = dns.answers("web.default.svc.cluster.local")
    pod.programs["skydns"].stop()
    pod.programs["etcd"].kill()
    pod.programs["skydns"].start()
    (url,) = [url for url in pod.probe_urls("skydns") if url.endswith("/readiness")]
    pod.programs["skydns"].wait_ready(lambda: http_get(url)[0] == 200, url)
    assert dns.answers("web.default.svc.cluster.local") == here
    assert dns.answers("nosuch.default.svc.cluster.local") == ["NXDOMAIN"]
    assert re.fullmatch(r"answers from a snapshot of \d+s ago\n", http_get(f"{url}?strict")[1])


def test_kube_dns_tls_runs(bare_bed, run_pod):
    """Over TLS and HTTPS too, from its own probes and from a client that checks the certificate."""
    bed = bare_bed
    bed.start_apiserver()
    authority = Authority(bed.folder, "ca")
    certificate, key = authority.sign("tls")
    assert (certificate, key) == (f"{bed.folder}/tls.crt", f"{bed.folder}/tls.key")
    pod = run_pod(manifests.containers(TLS), lambda text: text.replace(manifests.TLS_FILES, str(bed.folder)))
    check_service_is_answered(bed, Dns(pod.port(53)), "web")
    here = Dns(pod.port(53)).answers("web.default.svc.cluster.local")
    (ready,) = [url for url in pod.probe_urls("exechealthz") if url.endswith("/healthcheck/skydns")]
    for label in ("tls", "https"):
        url = ready.replace("/skydns", f"/{label}")
        pod.programs["exechealthz"].wait_ready(lambda: http_get(url)[0] == 200, url)
    assert http_get(ready.replace("/healthcheck/skydns", "/healthz")) == (200, "ok")
    trust = [f"+tls-ca={authority.certificate}", "+tls-hostname=127.0.0.1", "+short"]
    for port_number, flags in ((853, ["+tls"]), (443, ["+https"])):
        asked = ["kdig", "@127.0.0.1", "-p", str(pod.port(port_number)), *flags, *trust]
        assert output(*asked, "web.default.svc.cluster.local").split() == here


@pytest.fixture
def nameserver():
    with contextlib.closing(Nameserver()) as server:
        yield server


def test_kube_dns_follows_kube_dns_s_settings(bare_bed, run_pod, nameserver):
    """From the ConfigMap of settings.yaml to answers: records, stub domains, nameservers."""
    bed = bare_bed
    bed.start_apiserver()
    pod = run_pod(manifests.containers(KUBE_DNS))
    dns, here = Dns(pod.port(53)), f"127.0.0.1:{nameserver.port}"
    value = settings("kube-dns")
    value["data"]["stubDomains"] = value["data"]["stubDomains"].replace("198.51.100.2", here)
    bed.kube.create("configmaps", value)
    wait_until(lambda: dns.answers("db.cluster.local") == ["203.0.113.7"], "the record")
    wait_until(lambda: dns.answers("www.corp.example") == [ADDRESS], "the stub domain")
    value["data"] = {"upstreamNameservers": f'["{here}"]'}
    bed.kube.replace("configmaps", value)
    wait_until(lambda: dns.answers("www.example.com") == [ADDRESS], "the nameserver")
    wait_until(lambda: dns.answers("db.cluster.local") == ["NXDOMAIN"], "no record any more")


def test_skydns_takes_the_file_of_settings(bare_bed, run_pod, nameserver):
    """The other ConfigMap of settings.yaml, as the kubelet mounts it; test_from_coredns.py adds it to a Deployment."""
    bed = bare_bed
    bed.start_apiserver()
    text = settings("skydns")["data"]["config.json"]
    for address in ("192.0.2.1:53", "192.0.2.2:53", "198.51.100.1:53"):
        assert address in text
        text = text.replace(address, f"127.0.0.1:{nameserver.port}")
    file = bed.folder / "config.json"
    file.write_text(text)
    containers = manifests.containers(KUBE_DNS)
    (skydns,) = [one for one in containers if one.program == "skydns"]
    skydns.value["args"].append(f"-config={file}")
    dns = Dns(run_pod(containers).port(53))
    assert dns.answers("www.example.com") == dns.answers("www.acme.local") == [ADDRESS]


def settings(name: str) -> dict:
    (value,) = [one for one in manifests.of_kind("settings.yaml", "ConfigMap") if one["metadata"]["name"] == name]
    return value


def test_external_etcd_runs(bare_bed, run_pod):
    """With etcd over TLS: two writers, one of which leads, and a reader."""
    bed = bare_bed
    bed.start_apiserver()
    authority = Authority(bed.folder, "ca")
    certificate, key = authority.sign("member")
    own_certificate, own_key = authority.sign("pod")
    health = start_tls_etcd(bed, authority.certificate, certificate, key)
    files = {"ca.crt": authority.certificate, "tls.crt": own_certificate, "tls.key": own_key}

    def edit(text: str) -> str:
        text = re.sub(r"(https://)etcd-\d\.etcd\.example:2379", rf"\g<1>127.0.0.1:{bed.etcd_port}", text)
        return re.sub(r"/etc/etcd-tls/([a-z.]+)", lambda m: files[m[1]], text)

    assert http_get(health)[0] == 200
    (writers,) = manifests.of_kind(EXTERNAL_ETCD, "Deployment")
    assert writers["spec"]["replicas"] == 2
    found = manifests.containers(EXTERNAL_ETCD)
    (writer,) = [one for one in found if one.program == "kube2sky"]
    readers = [one for one in found if one is not writer]
    pods = [run_pod([writer], edit) for _ in range(2)]
    reader = run_pod(readers, edit)
    watched = [Watched(pod.programs["kube2sky"], pod.port(8081), "kube2sky_") for pod in pods]
    assert sorted(one.metrics().get("leader") for one in watched) == [0, 1]
    dns = Dns(reader.port(53))
    check_service_is_answered(bed, dns, "web")
    assert dns.answers("10-1-2-3.default.pod.cluster.local") == ["NXDOMAIN"], "verified"
    check_rights(bed, EXTERNAL_ETCD)


def start_tls_etcd(bed, authority: str, certificate: str, key: str) -> str:
    """With certificates on both sides; where its health is."""
    flags = ("--client-cert-auth", "--trusted-ca-file", authority)
    health_port = serve_tls(bed.etcd_program, bed.etcd_port, certificate, key, *flags)
    bed.etcd_program.start().wait_ready(lambda: is_etcd_healthy(health_port), "healthy")
    return f"http://127.0.0.1:{health_port}/health"


# ---- Without Kubernetes ----


def compose() -> dict:
    return yaml.safe_load(COMPOSE.read_text())["services"]


@pytest.mark.parametrize("name", compose())
def test_compose_has_flags_that_exist(name):
    check_flags(manifests.program_of(compose()[name]["image"]), compose()[name]["command"])


def test_compose_has_the_images_of_the_manifests():
    images = {one.value["image"] for one in all_containers() if one.manifest in OURS}
    assert {one["image"] for one in compose().values()} == images


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="docker-compose is missing: tests/support/deps monitoring")
def test_compose_is_understood():
    shown = output("docker-compose", "-f", str(COMPOSE), "--profile", "cluster", "config")
    assert set(yaml.safe_load(shown)["services"]) == {"etcd", *PROGRAMS}

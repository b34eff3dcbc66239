"""skydns -translate-corefile: what it prints works when it is pasted."""

import json
import re
import shlex
import shutil
import subprocess

import pytest
from bed import BIN_DIR
from dns_client import Dns
from kube import endpoint, endpoint_slice, headless, port
from programs import http_get, reserve_port

# kubeadm's, with its ports replaced.
KUBEADM = """.:{dns} {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :{http}
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success cluster.local
       disable denial cluster.local
    }}
    loop
    reload
    loadbalance
}}
"""


def translate(path) -> subprocess.CompletedProcess:
    command = [BIN_DIR / "skydns", f"-translate-corefile={path}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def commands(text: str) -> dict[str, list[str]]:
    """Each program's arguments, as a shell reads them."""
    lines = text.replace("\\\n", "").splitlines()
    found = [shlex.split(line) for line in lines if line and not line.startswith("#")]
    return {words[0]: words[1:] for words in found}


def test_what_it_prints_for_kubeadm_works(bed):
    dns, http = reserve_port(), reserve_port()
    file = bed.folder / "Corefile"
    file.write_text(KUBEADM.format(dns=dns, http=http))
    done = translate(file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Without a counterpart" not in done.stdout
    both = commands(done.stdout)
    bed.kube.create("services", headless("web", port(80, "http")))
    entries = [endpoint("10.1.2.3", ready=True)]
    bed.kube.create("endpointslices", endpoint_slice("web-1", "web", entries, port(80, "http")))
    own = [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={bed.readiness_port}"]
    bed.command("kube2sky", *both["kube2sky"], *own, *bed.kube_flags).start()
    # For the test's end, no lame duck.
    skydns = bed.command("skydns", *both["skydns"], f"-machines={bed.etcd_urls[0]}", "-lameduck=0").start()
    skydns.wait_ready(lambda: http_get(f"http://127.0.0.1:{http}/readiness")[0] == 200, "ready")
    client = Dns(dns)
    assert client.answers("10-1-2-3.web.default.svc.cluster.local") == ["10.1.2.3"]
    assert client.answers("10-2-3-4.default.pod.cluster.local") == ["10.2.3.4"]
    assert client.answers("3.2.1.10.in-addr.arpa", "PTR") == ["10-1-2-3.web.default.svc.cluster.local."]


def test_every_flag_it_prints_exists(tmp_path):
    """From a file that has every plugin with counterparts, and each of their options."""
    file = tmp_path / "Corefile"
    file.write_text(
        "acme.local {\nbind 127.0.0.1\nforward . 10.0.0.1\n}\n"
        ". {\nbind 127.0.0.1\nkubernetes a.org 10.0.0.0/8 {\nendpoint http://x\nkubeconfig /k\n"
        "namespaces a\nlabels a=b\npods verified\nendpoint_pod_names\nttl 9\n}\n"
        "etcd b.org {\npath /p\nendpoint http://e\ncredentials u p\ntls a b c\n}\n"
        "forward . 1.1.1.1 {\npolicy sequential\nread_timeout 1s\n}\n"
        "cache 60 {\nsuccess 100\nserve_stale 1h\n}\nhosts /etc/hosts {\n10.0.0.1 a\nfallthrough\n}\n"
        "health {\nlameduck 1s\n}\nlog\ndebug\nany\nbufsize 1400\nmultisocket 2\n}\n"
    )
    done = translate(file)
    assert done.returncode == 3  # there is a password to be put into a file
    for program, words in commands(done.stdout.split("END\n", 2)[-1]).items():
        known = set(re.findall(r"^  (-[a-z0-9-]+)", help_text(program), re.M))
        flags = {re.sub("^-+", "-", word.split("=")[0]) for word in words}
        assert len(flags) >= 8 and flags <= known, flags - known
    document = re.search(r"^# (\{.*\})$", done.stdout, re.M)[1]
    assert json.loads(document) == {
        "nameservers": ["1.1.1.1:53"],
        "stubs": {"acme.local": ["10.0.0.1:53"]},
        "ttl": 300,
        "rcache": 10084,
        "rcache_ttl": 60,
        "rcache_stale": 3600,
    }


KUBERNETES = "kubernetes cluster.local in-addr.arpa ip6.arpa"
MANY = " ".join(f"10.0.0.{i}" for i in range(1, 41))

# What a flag would refuse, and what is said of it instead.
BEYOND_FLAGS = {
    "cluster.local {\nforward . 10.0.0.1\n}\n. {\n" + KUBERNETES + "\n}": "forward cluster.local=10.0.0.1:53: none",
    "(s) {\nforward Cluster.Local. 10.0.0.1\n}\n. {\nimport s\n" + KUBERNETES + "\n}": "the zone is one that is answered here",
    "skydns.local {\nforward . 10.0.0.1\n}": "the zone is one that is answered here",
    ". {\nforward . " + MANY + "\n}": "more than the flag takes",
    "a.test {\nforward . " + MANY + "\n}": "more than the flag takes",
    "\n".join(f"z{i}.test {{\nforward . 10.0.0.1\n}}" for i in range(70)): "more than the flag takes",
    "a.test {\nforward . 10.0.0.1\nforward . 10.0.0.2\n}": "another block has upstreams",
    ". {\n" + "\n".join(f"kubernetes d{i}.test" for i in range(20)) + "\n}": "more than the flag takes",
    ". {\n" + "\n".join(f"kubernetes d.test 10.{i}.0.0/16" for i in range(40)) + "\n}": "more than the flag takes",
    ". {\nbind " + MANY + "\n}": "more than the flag takes",
    ". {\nforward . 10.0.0.1 {\nread_timeout 1h\n}\n}": "read_timeout 1h: beyond what the flag takes",
    ". {\nforward . 10.0.0.1 {\nread_timeout soon\n}\n}": "read_timeout soon: expected a duration",
    ". {\nhealth {\nlameduck 5h\n}\n}": "lameduck 5h: beyond what the flag takes",
    ". {\nforward . 10.0.0.1\ncache 30 {\nserve_stale 999h\n}\n}": "720h is its limit",
    '. {\netcd a.test {\ncredentials "" ""\n}\n}': "expected a user",
    '. {\netcd a.test {\ntls cert ""\n}\n}': "expected a certificate and its key",
    ". {\netcd a.test {\nendpoint ftp://x\n}\n}": "expected URLs",
    ". {\nkubernetes a.test\netcd b.test {\nendpoint http://e:1\npath /p\n}\n}": "kube2sky writes below /skydns",
    ". {\nproxy . 10.0.0.1 10.0.0.2 {\nspray\nfail_timeout 9s\n}\nnsid\n}": "nsid: without a text",
    ". {\nkubernetes a.test\nkubernetes b.test {\nnamespaces shop\n}\n}": "a kube2sky and a skydns of its own",
    ". {\nkubernetes b.test {\nmulticluster b.test\n}\n}": "multicluster b.test: imported Services have a zone beside",
    ". {\nkubernetes a.test b.a.test {\nmulticluster b.a.test\n}\n}": "multicluster b.a.test: imported Services have a zone",
    ". {\nkubernetes a.test b.test c.test {\nmulticluster b.test c.test\n}\n}": "imported Services have one zone: the others",
    ". {\nkubernetes a.test {\nmulticluster b.test\n}\n}": "multicluster b.test: expected one of the plugin's zones",
    ". {\nk8s_external a.test\n" + KUBERNETES + "\nforward . 10.0.0.1\n}\na.test {\nforward . 10.0.0.1\n}": "forward a.test=",
    ". {\n" + KUBERNETES + "\nk8s_external a.test b.test\n}": "--external-zone is one zone: the others are left out",
    ". {\n" + KUBERNETES + "\nk8s_external b.cluster.local onion _a.test\n}": "onion _a.test: expected a zone beside the domains",
    ". {\n" + KUBERNETES + "\nk8s_external a.test {\napex ns\nfallthrough\n}\n}": "apex ns: none: its label is dns",
    ". {\nk8s_external a.test\n}": "k8s_external a.test: expected the plugin kubernetes in its block",
    ". {\n" + KUBERNETES + "\nk8s_external a.test\n}\nb.test {\nkubernetes b.a.test\n}": "kubernetes b.a.test: it overlaps the zone of k8s_external",
    "tls://. {\n}": "tls://0.0.0.0:853: expected the plugin tls",
    "tls://. https://. grpc://. {\ntls c k\n}": "grpc://0.0.0.0:443: another protocol has its port",
    "tls://. {\ntls c k ca {\nclient_auth require_and_verify\n}\n}\n. {\ntls d k\n}": "which is shown to all",
}


def refusal_of(flags: list[str]) -> str:
    """Why skydns refuses them; empty if it does not: all flags are checked before it asks a skydns that is not there."""
    command = [BIN_DIR / "skydns", *flags, "-http-addr=127.0.0.1:1", "-explain=a.test"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    is_asking = asked.returncode == 1 and asked.stderr.startswith("skydns: get http://127.0.0.1:1: ")
    return "" if is_asking else asked.stderr or f"exit status {asked.returncode}"


@pytest.mark.parametrize(("text", "note"), BEYOND_FLAGS.items(), ids=range(len(BEYOND_FLAGS)))
def test_what_it_prints_is_accepted(tmp_path, text, note):
    file = tmp_path / "Corefile"
    file.write_text(text)
    done = translate(file)
    assert done.returncode == 3
    assert note in done.stdout
    assert refusal_of(commands(done.stdout)["skydns"]) == ""


REWRITES = "".join(f"rewrite name exact a{i}.test web.prod.svc.cluster.local answer auto\n" for i in range(65))


def test_as_many_aliases_as_skydns_takes(tmp_path):
    """Of 65 rules, 64 are flags that skydns takes, and the last one is a note; one more flag would be refused."""
    file = tmp_path / "Corefile"
    file.write_text(". {\n" + KUBERNETES + "\n" + REWRITES + "etcd b.test {\nfallthrough\n}\nforward . 10.0.0.1\n}\n")
    done = translate(file)
    assert done.returncode == 3
    assert len(re.findall(r"a64\.test.*more than the flag takes", done.stdout)) == 1
    flags = commands(done.stdout)["skydns"]
    assert [flag for flag in flags if flag.startswith("-alias=")] == [
        f"-alias=a{i}.test=web.prod.svc.cluster.local" for i in range(64)
    ]
    assert "-overrides" in flags
    document = json.loads(re.search(r"^# (\{.*\})$", done.stdout, re.M)[1])
    assert len(document["aliases"]) == 64 and document["overrides"] is True
    assert refusal_of(flags) == ""
    assert "-alias: given more than 64 times" in refusal_of([*flags, "-alias=a64.test=web.prod.svc.cluster.local"])


def test_what_external_names_become_is_what_skydns_answers(bare_bed):
    """The translated flags, with etcd's records and aliases behind them."""
    file = bare_bed.folder / "Corefile"
    file.write_text(
        ". {\n" + KUBERNETES + "\nrewrite name exact api.b.test web.prod.svc.cluster.local answer auto\n"
        "rewrite name suffix .old.test .svc.cluster.local answer auto\n"
        "etcd {\nfallthrough\n}\nforward . 127.0.0.1:1\n}\n"
    )
    flags = commands(translate(file).stdout)["skydns"]
    bare_bed.start_etcd()
    bare_bed.etcd.put("/skydns/local/cluster/svc/prod/web/w", '{"host":"10.0.0.1"}')
    bare_bed.etcd.put("/skydns/test/b/www/3f", '{"host":"192.0.2.1","text":"heritage=external-dns","targetstrip":1}')
    kept = [flag for flag in flags if not flag.startswith(("-addr=", "-http-addr=", "-lameduck="))]
    own = [f"-machines={bare_bed.etcd_urls[0]}", f"-addr=127.0.0.1:{bare_bed.dns.port}", "-lameduck=0"]
    bare_bed.skydns = bare_bed.command("skydns", *kept, *own)
    bare_bed.start_skydns(is_waiting=False)
    bare_bed.wait_answers("www.b.test", "A", ["192.0.2.1"])
    bare_bed.wait_answers("api.b.test", "A", ["10.0.0.1"])
    bare_bed.wait_answers("web.prod.old.test", "A", ["10.0.0.1"])


def test_no_cache_is_no_cache_in_the_document_too(tmp_path):
    file = tmp_path / "Corefile"
    file.write_text(". {\nforward . 10.0.0.1\n}")
    done = translate(file)
    assert "-rcache=0" in commands(done.stdout)["skydns"]
    assert json.loads(re.search(r"^# (\{.*\})$", done.stdout, re.M)[1])["rcache"] == 0


def help_text(program: str) -> str:
    return subprocess.run([BIN_DIR / program, "-help"], capture_output=True, text=True, timeout=60).stdout


# A restriction without a flag, a stricter flag, no counterpart; a line that needs no flag is none of these.
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("view v {\nexpr true\n}", 3),
        ("acl {\nblock type A net 10.0.0.1\n}", 3),
        ("forward . 10.0.0.1 {\nexcept corp.test\n}", 3),
        ("tsig {\nrequire all\n}", 3),
        ("nsid", 3),
        ("errors", 0),
    ],
)
def test_the_status_says_whether_something_is_not_carried_over(tmp_path, line, status):
    file = tmp_path / "Corefile"
    file.write_text(". {\nkubernetes cluster.local\n" + line + "\n}")
    done = translate(file)
    assert (done.returncode, done.stderr) == (status, "")
    assert "skydns" in commands(done.stdout)


def test_a_config_map_as_kubectl_prints_it(tmp_path):
    file = tmp_path / "coredns.yaml"
    corefile = ". {\n    kubernetes cluster.local\n    nsid\n}\n"
    lines = "".join(f"    {line}\n" for line in corefile.splitlines())
    file.write_text(f"apiVersion: v1\ndata:\n  Corefile: |\n{lines}kind: ConfigMap\n")
    done = translate(file)
    assert done.returncode == 3 and "coredns.yaml:6: nsid" in done.stdout
    assert "-domain=cluster.local" in commands(done.stdout)["skydns"]


def test_skydns_runs_the_translator_beside_it(tmp_path):
    file = tmp_path / "Corefile"
    file.write_text(". {\n    nsid\n}\n")
    direct = subprocess.run([BIN_DIR / "corefile-to-skydns", file], capture_output=True, text=True, timeout=60)
    assert translate(file).stdout == direct.stdout and direct.returncode == 3
    alone = shutil.copy(BIN_DIR / "skydns", tmp_path / "skydns")
    done = subprocess.run([alone, f"-translate-corefile={file}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot run corefile-to-skydns, expected beside skydns: No such file" in done.stderr
    for arguments in ([], [""], [file, file]):
        done = subprocess.run([BIN_DIR / "corefile-to-skydns", *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "expected one argument" in done.stderr


def test_a_file_that_cannot_be_read(tmp_path):
    done = translate(tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"corefile-to-skydns: {tmp_path}/none: No such file or directory\n"
    (tmp_path / "open").write_text(". {\n any\n")
    done = translate(tmp_path / "open")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"corefile-to-skydns: {tmp_path}/open:2: expected }}, found the end of the file\n"
    done = translate(tmp_path)
    assert done.returncode == 2 and str(tmp_path) in done.stderr

"""The chart's skydns.files: the flags lead to the files that the kubelet makes of its volume, and skydns can use each."""

import json
import secrets
from pathlib import Path

import chart
import manifests
import pytest
from bed import make_signing_key
from certificates import Authority
from programs import reserve_port

FOLDER = "/etc/skydns/files"
SERVING = {"client-ca", "tls-ticket-keys"}


def pod(name: str) -> dict:
    (found,) = [one for one in chart.objects(chart.SCENARIOS["files"]) if one["metadata"]["name"] == name and manifests.pod_spec(one)]
    return manifests.pod_spec(found)


def skydns_of(spec: dict) -> dict:
    (one,) = [one for one in spec["containers"] if one["name"] == "skydns"]
    return one


def file_flags(spec: dict) -> list[tuple[str, list[str]]]:
    """(flag, the files that it names)"""
    given = [text[1:].split("=", 1) for text in skydns_of(spec)["args"] if FOLDER in text]
    return [(flag, value.split(",")) for flag, value in given]


def files_of(spec: dict) -> dict[str, tuple[str, str, str]]:
    """Path: the object and the key that the volume has there."""
    (mount,) = [one for one in skydns_of(spec)["volumeMounts"] if one["name"] == "skydns-files"]
    assert mount["mountPath"] == FOLDER and mount["readOnly"]
    (volume,) = [one for one in spec["volumes"] if one["name"] == mount["name"]]
    found = {}
    for source in volume["projected"]["sources"]:
        ((kind, of),) = source.items()
        for item in of["items"]:
            assert item["path"] not in found
            found[f"{FOLDER}/{item['path']}"] = (kind, of["name"], item["key"])
    return found


@pytest.mark.parametrize("name", ["skydns", "node-local"])
def test_flags_lead_to_the_files(name):
    """node-local has no TLS listeners."""
    spec = pod(name)
    files, expected = files_of(spec), []
    for entry in chart.SCENARIOS["files"]["skydns"]["files"]:
        kind = "secret" if "secret" in entry else "configMap"
        if entry["flag"] not in SERVING or name == "skydns":
            expected += [(entry["flag"], (kind, entry[kind], key)) for key in entry["keys"]]
    found = []
    for flag, paths in file_flags(spec):
        for path in paths:
            kind, of, key = files[path if flag != "dnssec" else f"{path}.key"]
            found.append((flag, (kind, of, key.removesuffix(".key") if flag == "dnssec" else key)))
    assert sorted(found) == sorted(expected)


def test_probes_are_without_a_certificate():
    (healthz,) = [one for one in pod("skydns")["containers"] if one["name"] == "healthz"]
    assert not [text for text in healthz["args"] if "tls://" in text or "https://" in text]


def contents(folder: Path) -> dict[tuple[str, str], str]:
    """(object, key): something that skydns can use."""
    authority = Authority(folder, "ca")
    certificate, key = authority.sign("tls")
    ca = Path(authority.certificate).read_text()
    found = {
        ("dns-hosts", "hosts"): "192.0.2.1 one.example\n", ("dns-hosts", "more"): "192.0.2.2 two.example\n",
        ("dns-more-hosts", "hosts"): "192.0.2.3 three.example\n",
        ("dns-upstream", "ca.crt"): ca, ("dns-clients", "ca.crt"): ca,
        ("dns-upstream", "tls.crt"): Path(certificate).read_text(), ("dns-upstream", "tls.key"): Path(key).read_text(),
        ("dns-shared", "tickets"): secrets.token_hex(80), ("dns-shared", "cookies"): secrets.token_hex(16),
        ("dns-shared", "tsig"): 'key "k." { algorithm hmac-sha256; secret "MDEyMzQ1Njc4OWFiY2RlZg=="; };\n',
    }  # fmt: skip
    for name in ("one", "two"):
        base = make_signing_key(folder)
        for ending in ("key", "private"):
            found["dns-keys", f"{name}.{ending}"] = Path(f"{base}.{ending}").read_text()
    return found


def test_skydns_starts_with_them(bare_bed):
    bed, spec = bare_bed, pod("skydns")
    volume, texts = bed.folder / "files", contents(bed.folder)
    for path, (_, name, key) in files_of(spec).items():
        place = volume / Path(path).relative_to(FOLDER)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(texts[name, key])
    flags = [f"-{flag}={','.join(paths)}".replace(FOLDER, str(volume)) for flag, paths in file_flags(spec)]
    listen = f"127.0.0.1:{bed.dns.port},tls://127.0.0.1:{reserve_port()}"
    bed.start_etcd()
    bed.start_skydns("-no-rec", f"-addr={listen}", f"-cert={bed.folder}/tls.crt", f"-key={bed.folder}/tls.key", *flags)
    assert [bed.dns.answers(f"{name}.example") for name in ("one", "two", "three")] == [["192.0.2.1"], ["192.0.2.2"], ["192.0.2.3"]]
    assert {flag for flag, _ in file_flags(spec)} == set(
        json.loads((chart.CHART / "values.schema.json").read_text())["definitions"]["file"]["properties"]["flag"]["enum"]
    )

"""docker/release without its hour of building: layers and images made twice are the same bytes and run without anything
else, bills of materials are CycloneDX, and release-verify finds what is not as released.
"""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from release_bed import PROGRAMS, RELEASE, ROOT, TIME_S, VERSION, command, missing, package_programs

import dockerfile  # found by release_bed
import images
import notes
import oci
import sbom
from image_root import ImageRoot
from layer import Entry, Tree, gzip_bytes, permitted_capability, tar_bytes

# ---- Layers ----


def small_tree(paths: list[str], folder: Path) -> Tree:
    tree = Tree()
    tree.folder("tmp", 0o1777)
    tree.link("lib", "usr/lib")
    for path in paths:
        source = folder / path.replace("/", "_")
        source.write_text(path)
        os.utime(source, (len(paths), len(path)))
        source.chmod(0o700 if "bin" in path else 0o640)
        tree.copy(source, path, permitted_capability(10) if path.endswith("skydns") else None)
    tree.folder("var/lib/skydns", 0o700, 65532)
    return tree


def test_a_layer_is_the_same_bytes(tmp_path):
    paths = ["usr/bin/skydns", "etc/passwd", "usr/lib/libz.so.1"]
    layers = []
    for order in (paths, paths[::-1]):
        folder = tmp_path / str(len(layers))
        folder.mkdir()
        layers.append(tar_bytes(small_tree(order, folder), TIME_S))
    assert layers[0] == layers[1] and gzip_bytes(layers[0]) == gzip_bytes(layers[1])
    with tarfile.open(fileobj=io.BytesIO(layers[0])) as tar:
        members = {member.name: member for member in tar}
    assert list(members) == sorted(members)
    assert {member.mtime for member in members.values()} == {TIME_S}
    assert members["usr/bin/skydns"].mode == 0o755 and members["etc/passwd"].mode == 0o644
    assert members["tmp"].mode == 0o1777
    assert (members["var/lib/skydns"].uid, members["var/lib/skydns"].mode) == (65532, 0o700)
    assert {member.uid for name, member in members.items() if name != "var/lib/skydns"} == {0}


def test_a_layer_keeps_the_capability(tmp_path):
    if os.geteuid() != 0 or not shutil.which("getcap"):
        pytest.skip("file capabilities take root and getcap")
    (tmp_path / "root").mkdir()
    (tmp_path / "layer.tar").write_bytes(tar_bytes(small_tree(["usr/bin/skydns"], tmp_path), TIME_S))
    unpack = ("tar", "--xattrs", "--xattrs-include=*", "-xf", tmp_path / "layer.tar", "-C", tmp_path / "root")
    done = command(*unpack)
    assert done.returncode == 0, done.stderr
    assert command("getcap", tmp_path / "root/usr/bin/skydns").stdout.split()[-1] == "cap_net_bind_service=p"


def test_no_way_through_a_link():
    tree = Tree()
    tree.link("lib", "usr/lib")
    with pytest.raises(AssertionError, match="lib/x: lib is no folder"):
        tree.add("lib/x", Entry(0o644, b""))


# ---- Images ----


def test_what_the_dockerfile_says():
    read = {name: dockerfile.read_stage(ROOT / "docker/Dockerfile", name, {"VERSION": "9.8"}) for name in images.IMAGES}
    for name, config in read.items():
        assert config["Labels"]["org.opencontainers.image.title"] == name
        assert config["Labels"]["org.opencontainers.image.version"] == "9.8"
        program = "exechealthz" if name == "node-local" else name
        assert config["Entrypoint"] == [f"/usr/bin/{program}"]
        assert config["User"] == ("0:0" if name == "node-local" else "65532:65532")
    assert set(read["skydns"]["ExposedPorts"]) == {"53/udp", "53/tcp", "853/tcp", "443/tcp"}
    assert read["kube2sky"]["Healthcheck"] == {
        "Test": ["CMD", "/usr/bin/kube2sky", "--healthcheck=http://127.0.0.1:8081/readiness"],
        "Interval": 10 * 10**9,
        "Timeout": 5 * 10**9,
        "StartPeriod": 30 * 10**9,
        "Retries": 3,
    }
    with pytest.raises(ValueError, match="no stage other"):
        dockerfile.read_stage(ROOT / "docker/Dockerfile", "other", {})


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    if reason := missing():
        pytest.skip(reason)
    return package_programs(tmp_path_factory.mktemp("package"))


@pytest.fixture(params=images.IMAGES)
def image(request, systems):
    root = ImageRoot(systems, "amd64")
    images.fill(root, request.param)
    return request.param, root


def test_an_image_is_the_same_bytes_and_small(image, systems, record_property):
    name, root = image
    again = ImageRoot(systems, "amd64")
    images.fill(again, name)
    layer = tar_bytes(root.tree, TIME_S)
    assert layer == tar_bytes(again.tree, TIME_S)
    record_property("figure", f"{name}: {len(layer) / 2**20:.1f} MiB without certificates")
    assert len(layer) < images.SIZE_MAX


def test_an_image_has_no_other_programs(image):
    name, root = image
    programs = {
        path
        for path, entry in root.tree.entries.items()
        if re.match("(usr/)?s?bin/", path) and entry.data is not None
    }
    right = {f"usr/bin/{each}" for each in PROGRAMS if each.startswith(name) or (name, each[:8]) == ("skydns", "corefile")}
    if name in ("exechealthz", "node-local"):
        right = {"usr/bin/exechealthz", "usr/bin/busybox"}
    if name == "node-local":
        right |= {"usr/bin/ip", "usr/sbin/nft", "usr/bin/mawk", "usr/bin/node-local"}
    assert programs == right
    applets = set(command("busybox", "--list").stdout.split())
    links = {path.rpartition("/")[2] for path, entry in root.tree.entries.items() if entry.link == "busybox"}
    assert links <= applets and ("sh" in links) == (name in ("exechealthz", "node-local"))


def test_an_image_runs_by_itself(image, tmp_path):
    """Its libraries are all there: nothing of this machine is left in a changed root."""
    name, root = image
    if os.geteuid() != 0:
        pytest.skip("a changed root takes root")
    (tmp_path / "layer.tar").write_bytes(tar_bytes(root.tree, TIME_S))
    there = tmp_path / "root"
    there.mkdir()
    assert command("tar", "-xf", tmp_path / "layer.tar", "-C", there).returncode == 0
    program = dockerfile.read_stage(ROOT / "docker/Dockerfile", name, {})["Entrypoint"][0]
    assert command("chroot", there, program, "-version").stdout.strip().endswith(VERSION)
    if name in ("exechealthz", "node-local"):
        assert command("chroot", there, "/bin/sh", "-c", "echo a b | awk '{ print $2 }' | sed s/b/c/").stdout == "c\n"
    if name == "node-local":
        assert "iproute2" in command("chroot", there, "ip", "-V").stdout
        assert "nftables" in command("chroot", there, "nft", "-v").stdout
        usage = command("chroot", there, "node-local", "on", "nonsense")
        assert usage.returncode == 2 and "nonsense" in usage.stderr


def test_an_archive_is_a_layout(image):
    """Each blob has the digest and size by which it is named; Docker's list names the same ones."""
    name, root = image
    layer = tar_bytes(root.tree, TIME_S)
    config = dockerfile.read_stage(ROOT / "docker/Dockerfile", name, {"VERSION": VERSION})
    packed = gzip_bytes(layer)
    data = oci.archive(f"{name}:{VERSION}", "amd64", config, layer, packed, TIME_S)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    blobs = {path: blob for path, blob in files.items() if path.startswith("blobs/")}
    for path, blob in blobs.items():
        assert path == f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"

    def follow(descriptor: dict) -> bytes:
        blob = blobs["blobs/" + descriptor["digest"].replace(":", "/")]
        assert len(blob) == descriptor["size"]
        return blob

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (listed,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(follow(listed))
    image_config = json.loads(follow(manifest["config"]))
    assert image_config["architecture"] == listed["platform"]["architecture"] == "amd64"
    assert image_config["created"] == "2023-11-14T22:13:20Z"
    assert image_config["config"]["Entrypoint"] == config["Entrypoint"]
    assert [follow(each) for each in manifest["layers"]] == [packed]
    assert image_config["rootfs"]["diff_ids"] == [oci.digest(layer)]
    (for_docker,) = json.loads(files["manifest.json"])
    assert files[for_docker["Config"]] == follow(manifest["config"]) and files[for_docker["Layers"][0]] == packed


# ---- Bills of materials ----


def test_a_bill_of_materials(image):
    """CycloneDX 1.5's rules: what is required, references that are unique and known, package URLs."""
    name, root = image
    packages = list(root.packages.values())
    written = sbom.bill("container", name, VERSION, b"image", packages, TIME_S)
    assert written == sbom.bill("container", name, VERSION, b"image", packages[::-1], TIME_S)
    bill = json.loads(written)
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    subject = bill["metadata"]["component"]
    assert subject["type"] == "container" and subject["hashes"][0]["content"] == hashlib.sha256(b"image").hexdigest()
    for component in bill["components"]:
        assert component["type"] in ("application", "library") and component["name"] and component["version"]
        assert re.fullmatch(r"pkg:deb/[a-z0-9-]+/[a-z0-9.%B+-]+@[^/@:+]+\?arch=(amd64|all)(&distro=debian-12)?", component["purl"])
        for license in component.get("licenses", []):
            assert set(license["license"]) in ({"id"}, {"name"})
    references = [subject["bom-ref"]] + [component["bom-ref"] for component in bill["components"]]
    assert len(set(references)) == len(references)
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    assert all(set(each.get("dependsOn", [])) <= set(references) for each in bill["dependencies"])
    names = {component["name"] for component in bill["components"]}
    assert {"ours", "libc6", "libssl3", "libgcc-s1"} <= names
    assert ("busybox" in names) == (name in ("exechealthz", "node-local"))


# ---- Notes ----


def test_notes_of_a_release():
    changelog = "# Changelog\n\n## 0.2.0\n\nSee [Install](docs/operator/install.md#images).\n\n### Fixed\n\n* All.\n\n## 0.1.0\n\nOld.\n"
    names = ["skydns_0.2.0_arm64.oci.tar", "skydns_0.2.0-0local1_amd64.deb", "build-environment.txt", "kube2sky-skydns.json"]
    text = notes.notes("0.2.0", changelog, names)
    assert "See Install (docs/operator/install.md)." in text and "* All." in text and "Old." not in text
    assert "| skydns_0.2.0_arm64.oci.tar | image, arm64:" in text
    assert all(notes.kind(name) for name in names)
    with pytest.raises(ValueError, match="expected a heading '## 0.3.0'"):
        notes.notes("0.3.0", changelog, [])
    assert "Not yet." in notes.notes("0.3.0", "## Unreleased\n\nNot yet.\n" + changelog, [])


def test_notes_of_this_tree():
    text = notes.notes(VERSION, (ROOT / "CHANGELOG.md").read_text(), [])
    assert "release-verify" in text
    assert not re.search(r"\]\((?!https?:)", text)


# ---- What is refused before anything is built ----


@pytest.mark.skipif(os.geteuid() != 0, reason="a release takes root, and says so first")
@pytest.mark.parametrize(
    "key, said",
    [
        ("", "holds no release; expected an empty folder, or none"),
        ("/nowhere/key", "RELEASE_KEY=/nowhere/key: no such file; expected a secret key of minisign"),
    ],
)
def test_refuses_what_it_cannot_use(tmp_path, key, said):
    (tmp_path / "precious").write_text("kept")
    tarball = tmp_path / "kube2sky-skydns-1.2.3.tar.gz"
    done = command(RELEASE / "release", tarball, tmp_path, env=os.environ | {"RELEASE_KEY": key})
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert (tmp_path / "precious").exists()


# ---- Verifying ----


@pytest.fixture
def released(tmp_path):
    """A folder as `release` leaves it, with a signature, and the public key."""
    if not shutil.which("minisign"):
        pytest.skip("no minisign")
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "skydns.deb").write_text("a package")
    (folder / "RELEASE_NOTES.md").write_text("# Notes\n")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))
    for name in ("key", "other"):
        made = command("minisign", "-G", "-W", "-p", tmp_path / f"{name}.pub", "-s", tmp_path / f"{name}.sec")
        assert made.returncode == 0, made.stdout + made.stderr
    signed = command("minisign", "-S", "-s", tmp_path / "key.sec", "-m", folder / "SHA256SUMS", "-t", "test")
    assert signed.returncode == 0, signed.stdout + signed.stderr
    return folder, tmp_path / "key.pub"


def verify(folder: Path, key: str | Path | None) -> subprocess.CompletedProcess:
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("RELEASE_", "MAKE", "MFLAGS"))}
    if key is not None:
        environment["RELEASE_PUBKEY"] = str(key)
    return command(RELEASE / "verify", folder, env=environment)


def test_verifies_a_release(released):
    folder, key = released
    done = verify(folder, key)
    assert done.returncode == 0 and "2 files are as released" in done.stdout, done.stdout + done.stderr
    words = ("make", "-s", "-C", ROOT, "release-verify", f"RELEASE_DIR={folder}")
    by_make = command(*words, f"RELEASE_PUBKEY={key.read_text().splitlines()[-1]}")
    assert by_make.returncode == 0 and "2 files are as released" in by_make.stdout, by_make.stdout + by_make.stderr


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda folder: (folder / "skydns.deb").write_text("another"), "files differ from SHA256SUMS"),
        (lambda folder: (folder / "skydns.deb").unlink(), "files differ from SHA256SUMS"),
        (lambda folder: (folder / "more.deb").write_text("more"), "not in SHA256SUMS: more.deb"),
        (lambda folder: (folder / "SHA256SUMS").write_text(""), "its signature is not of this key"),
        (lambda folder: (folder / "SHA256SUMS.minisig").unlink(), "its signature is not of this key"),
        (lambda folder: (folder / "SHA256SUMS").unlink(), "SHA256SUMS: not found"),
    ],
    ids=["file changed", "file gone", "file added", "sums changed", "no signature", "no sums"],
)
def test_finds_what_is_not_as_released(released, change, said):
    folder, key = released
    change(folder)
    done = verify(folder, key)
    assert done.returncode == 1 and said in done.stderr, done.stdout + done.stderr


def test_another_key(released, tmp_path):
    done = verify(released[0], tmp_path / "other.pub")
    assert done.returncode == 1 and "its signature is not of this key" in done.stderr


def test_no_key(released):
    done = verify(released[0], None)
    assert done.returncode == 2
    assert "RELEASE_PUBKEY is not set; expected a public key of minisign" in done.stderr
    unsigned = verify(released[0], "none")
    assert unsigned.returncode == 0 and "no signature checked" in unsigned.stdout

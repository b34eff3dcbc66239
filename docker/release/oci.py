"""An OCI image layout of one image in one tar archive (image-spec 1.0), for `podman load`, `skopeo copy oci-archive:`
and, by the manifest.json beside it, `docker load`. The same image gives the same bytes.

The OCI has no health check: Docker and its engine read the one in the config all the same, Kubernetes has its probes.
"""

import hashlib
import io
import json
import tarfile
import time

_MEDIA = "application/vnd.oci.image"


def _json(value) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def archive(name: str, architecture: str, config: dict, layer: bytes, packed: bytes, time_s: int) -> bytes:
    """`name` with its tag; `layer` is a tar archive, `packed` the same by gzip."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s))
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    image = _json(
        {
            "created": created,
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": [path], **config},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            "history": [{"created": created, "comment": "docker/release"}],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(f"{_MEDIA}.config.v1+json", image),
            "layers": [_descriptor(f"{_MEDIA}.layer.v1.tar+gzip", packed)],
            "annotations": config.get("Labels", {}),
        }
    )
    listed = _descriptor(f"{_MEDIA}.manifest.v1+json", manifest) | {
        "platform": {"os": "linux", "architecture": architecture},
        "annotations": {"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name},
    }
    index = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [listed]}
    for_docker = [{"Config": _path(image), "RepoTags": [name], "Layers": [_path(packed)]}]
    files = {_path(blob): blob for blob in (image, manifest, packed)} | {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        "manifest.json": _json(for_docker),
    }
    return _archive(files, time_s)


def _descriptor(media_type: str, blob: bytes) -> dict:
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob)}


def _path(blob: bytes) -> str:
    return "blobs/" + digest(blob).replace(":", "/")


def _archive(files: dict[str, bytes], time_s: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, data in sorted(files.items()):
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.mtime = len(data), 0o644, time_s
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()

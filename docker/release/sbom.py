"""A CycloneDX 1.5 bill of materials: which packages a file of the release consists of, or needs. From dpkg's data
(packages.py); the same input gives the same bytes, serial number included.
"""

import hashlib
import json
import time
import uuid

from packages import Package

OURS = "kube2sky-skydns"
_OUR_LICENSE = [{"license": {"id": "Apache-2.0"}}]


def _component(package: Package, kind: str) -> dict:
    component = {
        "type": kind,
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "properties": [
            {"name": "dpkg:architecture", "value": package.architecture},
            {"name": "dpkg:source", "value": package.source},
        ],
    }
    if package.vendor == OURS:
        component["licenses"] = _OUR_LICENSE
    elif package.licenses:
        component["licenses"] = [{"license": {"name": name}} for name in package.licenses]
    return component


def bill(kind: str, name: str, version: str, data: bytes, packages: list[Package], time_s: int) -> bytes:
    """`kind`: container or file; `data`: what it consists of, or what names all of that; `packages`: those in it, and
    those that it needs. Ours need all the others.
    """
    subject = {
        "type": kind,
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}],
        "licenses": _OUR_LICENSE,
    }
    ours = [package for package in packages if package.vendor == OURS]
    others = [package for package in packages if package.vendor != OURS]
    components = [_component(package, "application") for package in _sorted(ours)]
    components += [_component(package, "library") for package in _sorted(others)]
    needed = [package.purl for package in _sorted(others)]
    dependencies = [{"ref": subject["bom-ref"], "dependsOn": [package.purl for package in _sorted(ours)] or needed}]
    dependencies += [{"ref": package.purl, "dependsOn": needed} for package in _sorted(ours)]
    dependencies += [{"ref": ref} for ref in needed]
    content = {
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s)),
            "tools": {"components": [{"type": "application", "name": "docker/release/sbom.py", "version": version}]},
            "component": subject,
        },
        "components": components,
        "dependencies": dependencies,
    }
    seed = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, seed)}",
        "version": 1,
    }
    return (json.dumps(head | content, indent=1) + "\n").encode()


def _sorted(packages: list[Package]) -> list[Package]:
    return sorted(packages, key=lambda package: package.purl)

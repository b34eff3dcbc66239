"""Notes of a release in Markdown, as GitHub and others show them beside the files: what CHANGELOG.md says of the
version (of what is unreleased, if it does not name the version), then what each file is and how it is verified.

    notes.py VERSION CHANGELOG.md FOLDER
"""

import re
import sys
from pathlib import Path

_VERIFY = """## Verify

```
minisign -Vm SHA256SUMS -P "$RELEASE_PUBKEY"
sha256sum --check --strict --ignore-missing SHA256SUMS
```

`make release-verify RELEASE_DIR=FOLDER RELEASE_PUBKEY=KEY REBUILD=1` in the unpacked sources, FOLDER with these files,
builds everything again and compares.
"""

_KINDS = (
    (r".*\.tar\.gz", "sources"),
    (r".*-dbgsym_.*_(\w+)\.deb", "debug symbols, {}"),
    (r".*_(\w+)\.deb", "Debian 12 package, {}"),
    (r".*_(\w+)\.oci\.tar", "image, {}: `podman load -i`, `docker load -i`, `skopeo copy oci-archive:`"),
    (r".*_(\w+)\.cdx\.json", "bill of materials, {}, CycloneDX 1.5"),
    (r"kube2sky-skydns\.json", "seccomp profile for the pods' containers"),
    (r"build-environment\.txt", "Debian packages that everything was built with"),
)


def section(changelog: str, version: str) -> str:
    """The text below the version's heading; a ValueError if there is neither that nor one of what is unreleased."""
    parts = re.split(r"^## +(.+)$", changelog, flags=re.M)
    texts = dict(zip(parts[1::2], parts[2::2]))
    for heading, text in texts.items():
        if heading.split()[0].strip("[]v") == version:
            return text.strip()
    if "Unreleased" not in texts:
        raise ValueError(f"no section {version}; expected a heading '## {version}'")
    return texts["Unreleased"].strip()


def without_relative_links(text: str) -> str:
    """Links within the tree lead nowhere beside a release: their text and file remain."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:)([^)#]+)(#[^)]*)?\)", r"\1 (\2)", text)


def kind(name: str) -> str:
    for pattern, text in _KINDS:
        match = re.fullmatch(pattern, name)
        if match:
            return text.format(*match.groups())
    return ""


def notes(version: str, changelog: str, names: list[str]) -> str:
    rows = "".join(f"| {name} | {kind(name)} |\n" for name in sorted(names))
    files = f"## Files\n\n| file | what it is |\n|---|---|\n{rows}"
    return f"# {version}\n\n{without_relative_links(section(changelog, version))}\n\n{files}\n{_VERIFY}"


def main() -> None:
    version, changelog, folder = sys.argv[1:]
    names = [path.name for path in Path(folder).iterdir()]
    print(notes(version, Path(changelog).read_text(), names), end="")


if __name__ == "__main__":
    main()

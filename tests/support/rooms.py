"""Who may include whom: the folders of the programs as layers (ARCHITECTURE.md), checked by `make lint`.

    rooms.py --list            the folders, one per line: FOLDER TAB what it may include
    rooms.py FOLDER            prints the includes that FOLDER may not have; exit status 1 if any
    rooms.py --headers         the same for the names of headers: exactly those that no other folder sees,
                               directly or through a public header, end in `_internal.h`
    rooms.py --shape           the same for the table: no circle, no folder of more files than one can know
    --root DIR                 checks another tree (for the test that plants wrong includes)

Ignores system and third-party headers; tests/support/lint fences those.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A folder may include itself and the folders on its line, which are above it here: data goes down the table.
# `common` means all folders of common.
ROOMS = {
    "common/base": "",
    "common/dns": "common/base",
    "common/http": "common/base",
    "common/health": "common/base common/dns common/http",
    "common/page": "common/base common/http",
    "common/tls": "common/base",
    "common/grpc": "common/base common/tls",
    "common/http2": "common/base",
    "common/term": "common/base",
    "common/live": "common/base common/http common/term",
    "common/etcd": "common/base common/tls common/grpc",
    "kube2sky/api": "common",
    "kube2sky/naming": "common kube2sky/api",
    "kube2sky/reconcile": "common kube2sky/naming",
    "kube2sky": "common kube2sky/api kube2sky/naming kube2sky/reconcile",
    "skydns/clients": "common",
    "skydns/dnssec": "common",
    "skydns/tsig": "common",
    "skydns/dnstap": "common",
    "skydns/confine": "common",
    "skydns/records": "common",
    "skydns/wire": "common skydns/clients skydns/tsig skydns/records",
    "skydns/external": "common skydns/clients skydns/wire",
    "skydns/publish": "common skydns/clients skydns/dnssec skydns/tsig skydns/records skydns/external",
    "skydns/listen": "common skydns/wire",
    "skydns/handover": "common skydns/wire skydns/listen",
    "skydns/tap": "common skydns/clients skydns/dnstap skydns/wire skydns/listen",
    "skydns/settings": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/confine skydns/external skydns/publish skydns/listen skydns/tap",
    "skydns/answer": "common skydns/clients skydns/records skydns/wire skydns/external skydns/publish",
    "skydns/sign": "common skydns/clients skydns/dnssec skydns/records skydns/wire skydns/external skydns/publish skydns/answer",
    "skydns/fast": "common skydns/clients skydns/records skydns/wire skydns/external skydns/publish skydns/answer",
    "skydns/engine": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/records skydns/wire skydns/external skydns/publish skydns/answer skydns/sign skydns/fast",
    "skydns/upstream": "common skydns/clients skydns/dnstap skydns/records skydns/wire skydns/external skydns/publish",
    "skydns/transfer": "common skydns/tsig skydns/records skydns/wire skydns/publish skydns/answer skydns/sign",
    "skydns/resolver": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream",
    "skydns/streams": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver",
    "skydns/udp": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver",
    "skydns/doh": "common skydns/wire skydns/streams",
    "skydns/dnsgrpc": "common skydns/wire skydns/streams",
    "skydns/snapshot": "common skydns/records skydns/publish",
    "skydns/sync": "common skydns/clients skydns/records skydns/external skydns/publish skydns/settings skydns/snapshot",
    "skydns/config": "common skydns/clients skydns/dnssec skydns/tsig skydns/external skydns/publish skydns/settings skydns/sync",
    "skydns/corefile": "common",
    "skydns/pages": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/confine skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/settings skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver skydns/streams skydns/udp skydns/doh skydns/dnsgrpc skydns/snapshot skydns/sync skydns/config skydns/corefile",
    "skydns/watch": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/confine skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/settings skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver skydns/streams skydns/udp skydns/doh skydns/dnsgrpc skydns/snapshot skydns/sync skydns/config skydns/corefile skydns/pages",
    "skydns/past": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/confine skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/settings skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver skydns/streams skydns/udp skydns/doh skydns/dnsgrpc skydns/snapshot skydns/sync skydns/config skydns/corefile skydns/pages",
    "skydns": "common skydns/clients skydns/dnssec skydns/tsig skydns/dnstap skydns/confine skydns/records skydns/wire skydns/external skydns/publish skydns/listen skydns/tap skydns/settings skydns/answer skydns/sign skydns/fast skydns/engine skydns/upstream skydns/transfer skydns/resolver skydns/streams skydns/udp skydns/doh skydns/dnsgrpc skydns/snapshot skydns/sync skydns/config skydns/corefile skydns/handover skydns/pages skydns/past skydns/watch",
    "exechealthz": "common",
}
FILES_MOST = 60
# Nothing lies above these, so all their headers are private.
TOPS = {"kube2sky", "skydns", "exechealthz"}

Include = collections.namedtuple("Include", "file line_number header")


def parent(path):
    return path.rpartition("/")[0]


def allowed(folder):
    names = ROOMS[folder].split()
    common = [name for name in ROOMS if name.startswith("common/")] if "common" in names else []
    return {folder, *names, *common}


def source_files(root, folders=ROOMS):
    for folder in folders:
        yield from sorted(path for path in (root / folder).glob("*.[ch]"))


def includes(root, folders=ROOMS):
    for path in source_files(root, folders):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if match:
                yield Include(str(path.relative_to(root)), number, match[1])


def wrong_includes(root, folder):
    """Every folder may include generated code (proto/, included by its bare name)."""
    may = allowed(folder)
    return [f'{include.file}:{include.line_number}: {folder} may not include "{include.header}"'
            for include in includes(root, [folder])
            if "/" in include.header and parent(include.header) not in may]


def strangers(root):
    """Source files in a folder without a line in ROOMS."""
    known = set(source_files(root))
    for top in ["common", *sorted(TOPS)]:
        for path in sorted((root / top).rglob("*.[ch]")):
            if path not in known:
                yield f"{path.relative_to(root)}: its folder has no line in tests/support/rooms.py"


def wrong_shape(root, table=ROOMS):
    """Folders that include one further down the table, or have too many files."""
    seen = set()
    for folder, may in table.items():
        yield from (f"{folder}: {name} is not above it in tests/support/rooms.py"
                    for name in may.split() if name not in seen | {"common"})
        seen.add(folder)
        count = len(list(source_files(root, [folder])))
        if count > FILES_MOST:
            yield f"{folder}: {count} files, more than {FILES_MOST}"


def visible_headers(root):
    """Headers that another folder includes, directly or through other visible headers."""
    users = collections.defaultdict(set)
    for include in includes(root):
        users[include.header].add(include.file)
    visible = {header for header, files in users.items() if any(parent(file) != parent(header) for file in files)}
    while True:
        more = {header for header, files in users.items() if files & visible} - visible
        if not more:
            return visible
        visible |= more


def wrong_headers(root):
    visible = visible_headers(root)
    for path in source_files(root):
        header = str(path.relative_to(root))
        if not header.endswith(".h") or parent(header) in TOPS:
            continue
        if header.endswith("_internal.h") and header in visible:
            yield f"{header}: private to {parent(header)}, yet other folders see it"
        if not header.endswith("_internal.h") and header not in visible:
            yield f"{header}: no other folder sees it: its name should end in _internal.h"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", choices=ROOMS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--shape", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    options = parser.parse_args()
    if options.list:
        print("".join(f"{folder}\t{may or 'nothing else'}\n" for folder, may in ROOMS.items()), end="")
        return 0
    if options.headers:
        wrong = [*strangers(options.root), *wrong_headers(options.root)]
    elif options.shape:
        wrong = list(wrong_shape(options.root))
    else:
        wrong = wrong_includes(options.root, options.folder)
    print("".join(f"{line}\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

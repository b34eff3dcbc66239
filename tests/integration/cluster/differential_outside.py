"""The nameserver of the differential test, to which both servers forward: more blocks of the same CoreDNS, on another
port. A nameserver in Python could be too slow on a busy machine, and would then count as dead.
"""

from pathlib import Path

TTL_S = 3600  # none expires in a test
_SOA = f"{TTL_S} IN SOA ns.ext.test. hostmaster.ext.test. 1 7200 1800 86400 {TTL_S}"

# Below ext.test: name, type, data. broken.ext.test fails, everything else does not exist.
_RECORDS = [
    ("@", "NS", "ns"),
    ("ns", "A", "192.0.2.53"),
    ("www", "A", "192.0.2.1"),
    ("www", "TXT", '"some text"'),
    ("six", "AAAA", "2001:db8::6"),
    ("both", "A", "192.0.2.2"),
    ("both", "A", "192.0.2.3"),
    ("both", "AAAA", "2001:db8::2"),
    ("both", "MX", "10 www"),
    ("both", "SRV", "1 2 80 www"),
    ("both", "HTTPS", '1 . alpn="h2"'),
    ("nodata", "HINFO", "a b"),
    ("alias", "CNAME", "www"),
    ("alias-missing", "CNAME", "missing"),
    ("xn--bcher-kva", "A", "192.0.2.9"),
    *(("many", "A", f"192.0.2.{n}") for n in range(1, 60)),
]


def data_of(name: str, rdtype: str) -> set[str]:
    """Of the records at the name itself."""
    return {data for label, kind, data in _RECORDS if (f"{label}.ext.test.", kind) == (name, rdtype)}


def write(folder: Path, port: int) -> str:
    """The blocks of the Corefile, whose zone is in the folder."""
    lines = ["$ORIGIN ext.test.", f"@ {_SOA}", *(f"{name} {TTL_S} IN {kind} {data}" for name, kind, data in _RECORDS)]
    (folder / "ext.test").write_text("\n".join(lines) + "\n")
    return f"""ext.test:{port} {{
    bind 127.0.0.1
    file {folder}/ext.test
}}
broken.ext.test:{port} {{
    bind 127.0.0.1
    template ANY ANY {{
        rcode SERVFAIL
    }}
}}
.:{port} {{
    bind 127.0.0.1
    template ANY ANY {{
        rcode NXDOMAIN
        authority ". {_SOA}"
    }}
}}
"""

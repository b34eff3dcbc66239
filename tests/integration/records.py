"""The keys and values of objects, computed here from their specification, without the programs' code."""

import ipaddress
from functools import cache

SVC = "/skydns/local/cluster/svc"
DOMAIN = "cluster.local"


def value(host: str, port: int = 0) -> str:
    middle = f'"port":{port},' if port else ""
    return f'{{"host":"{host}",{middle}"priority":10,"weight":10,"ttl":30,"targetstrip":0}}'


@cache
def label(ip: str) -> str:
    """The hash of the address's value."""
    return hash_of(value(str(ipaddress.ip_address(ip))))


def hash_of(text: str) -> str:
    """FNV-1a, 32 bits."""
    result = 0x811C9DC5
    for byte in text.encode():
        result = (result ^ byte) * 0x01000193 % 2**32
    return f"{result:x}"


def service_records(name: str, ip: str, *ports: tuple[str, str, int], namespace: str = "default") -> dict[str, str]:
    """Keys of a Service with one cluster IP; ports: (protocol, name, number)."""
    base = f"{SVC}/{namespace}/{name}"
    records = {f"{base}/{label(ip)}": value(str(ipaddress.ip_address(ip)))}
    for protocol, port_name, number in ports:
        records[f"{base}/_{protocol}/_{port_name}/{label(ip)}"] = value(f"{name}.{namespace}.svc.{DOMAIN}.", number)
    return records


def endpoint_records(
    name: str, addresses: dict[str, str], *ports: tuple[str, str, int], namespace: str = "default"
) -> dict[str, str]:
    """Keys of a headless Service; addresses: IP -> hostname or ""."""
    base, records = f"{SVC}/{namespace}/{name}", {}
    for ip, hostname in addresses.items():
        first = hostname or label(ip)
        records[f"{base}/{first}"] = value(str(ipaddress.ip_address(ip)))
        for protocol, port_name, number in ports:
            host = f"{first}.{name}.{namespace}.svc.{DOMAIN}."
            records[f"{base}/_{protocol}/_{port_name}/{first}"] = value(host, number)
    return records

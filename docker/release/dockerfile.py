"""What docker/Dockerfile says of its final stages: user, labels, ports, health check and command, so that a release's
images and those of `make images` cannot differ in it. Reads the few forms that this file has.
"""

import json
import re
import shlex
from pathlib import Path

_UNITS_NS = {"s": 10**9}


def read_stage(path: Path, stage: str, arguments: dict[str, str]) -> dict:
    """The config of `stage` as an image has it, with what it takes over from the stage that it is made from."""
    stages: dict[str, tuple[str, list[str]]] = {}
    instructions: list[str] = []
    for line in _lines(path.read_text()):
        match = re.fullmatch(r"FROM (\S+) AS (\S+)", line)
        if match:
            instructions = []
            stages[match[2]] = (match[1], instructions)
        else:
            instructions.append(line)
    if stage not in stages:
        raise ValueError(f"{path}: no stage {stage}")
    base, instructions = stages[stage]
    config = read_stage(path, base, arguments) if base in stages else {}
    for line in instructions:
        name, _, rest = line.partition(" ")
        _apply(config, name, re.sub(r"\$\{(\w+)\}", lambda found: arguments.get(found[1], ""), rest.strip()))
    return config


def _lines(text: str) -> list[str]:
    """Instructions, continued lines joined, without comments."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", kept)
    return [line.strip() for line in joined.splitlines() if line.strip()]


def _apply(config: dict, name: str, rest: str) -> None:
    if name == "LABEL":
        config.setdefault("Labels", {}).update(word.split("=", 1) for word in shlex.split(rest))
    elif name == "USER":
        config["User"] = rest
    elif name == "EXPOSE":
        config.setdefault("ExposedPorts", {}).update({port: {} for port in rest.split()})
    elif name == "ENTRYPOINT":
        config["Entrypoint"] = json.loads(rest)
    elif name == "HEALTHCHECK":
        options, _, command = rest.partition(" CMD ")
        config["Healthcheck"] = {"Test": ["CMD", *json.loads(command)]}
        for option, value, unit in re.findall(r"--([a-z-]+)=(\d+)(s?)", options):
            key = "".join(word.capitalize() for word in option.split("-"))
            config["Healthcheck"][key] = int(value) * _UNITS_NS.get(unit, 1)

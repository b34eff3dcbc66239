"""The command lines of docker/manifests/node-local.yaml, where the certificates, etcd and addresses are a benchmark's."""

import re

import manifests

MANIFEST = "node-local.yaml"


def of_program(program: str, replaced: dict[str, str]) -> list[str]:
    """The arguments of the manifest's container. `replaced`: new values by flag; a flag that it lacks is an error."""
    (container,) = [one for one in manifests.containers(MANIFEST) if one.program == program]
    arguments, left = [], dict(replaced)
    for text in container.arguments:
        name = re.match(r"-*([a-z-]+)", text)[1]
        arguments.append(f"-{name}={left.pop(name)}" if name in left else text)
    if left:
        raise ValueError(f"{MANIFEST}: {program} has no {', '.join(left)}")
    return arguments

"""`make run` in an existing cluster: a namespace to try things in, and the reason for a refusal.
Python's standard library only.
"""

import re
import secrets
import shlex
import shutil

from programs import Program, TimeUp

# kubectl gives up on a silent server after this; the deletion must not delay Ctrl-C for longer.
REQUEST_S = 5
# For all of kubectl, which first asks for the server's resources.
KUBECTL_S = 2 * REQUEST_S

# The advice for the first of these that kube2sky's reason contains.
_ADVICE = {
    " 401": "put a token or certificate that the cluster accepts into {file}",
    " 403": "let the user of {file} list and watch services, pods and endpointslices or endpoints in all namespaces",
    "ertificate": "correct the CA, the certificate or the server's name in {file}",
    "": "start the cluster, or correct `server` in {file}",
}


def refusal(readiness: str) -> str:
    """Why kube2sky cannot list, from the body of its /readiness; "" if it has not failed."""
    match = re.match(r"[^:]* yet: (.+)", readiness)
    return match[1] if match else ""


def explain_refusal(url: str, reason: str, kubeconfig: str) -> str:
    advice = next(text for sign, text in _ADVICE.items() if sign in reason)
    return f"the cluster at {url} cannot be followed: {reason}; {advice.format(file=kubeconfig)}"


class Taken(Exception):
    """The namespace already exists."""


class Namespace:
    """Deleted at the end only if it was created here."""

    def __init__(self, kubeconfig: str, name: str = ""):
        self.name = name or f"dns-trial-{secrets.token_hex(4)}"
        self.kubectl = shlex.join(["kubectl", "--kubeconfig", kubeconfig])
        self._is_ours = False
        self._deleting: Program | None = None

    def create(self) -> tuple[str, str]:
        """Command and output. OSError with the reason if it was not created, Taken if it existed already.
        Runs to its end despite signals: we must know what was created.
        """
        command = f"{self.kubectl} create namespace {self.name}"
        if not shutil.which("kubectl"):
            raise OSError("kubectl is not installed")
        program = _start(command)
        try:
            status = program.wait(KUBECTL_S)
        except TimeUp:
            program.kill()
            raise OSError(f"no answer within {KUBECTL_S} s; it may exist anyway") from None
        output = "\n".join(program.lines)
        if status != 0 and "AlreadyExists" in output:
            raise Taken
        if status != 0:
            raise OSError(program.lines[-1] if program.lines else f"kubectl exited with status {status}")
        self._is_ours = True
        return command, output

    def start_deleting(self) -> None:
        """With everything in it. The cluster finishes the deletion by itself."""
        if self._is_ours:
            self._deleting = _start(f"{self._delete()} --wait=false")

    def finish_deleting(self) -> str:
        """The last line to print, "" if none."""
        if not self._is_ours:
            return ""
        try:
            status = self._deleting.wait(KUBECTL_S)
        except TimeUp:
            self._deleting.kill()
            status = -1
        if status == 0:
            return f"namespace {self.name} deleted"
        reason = self._deleting.lines[-1] if self._deleting.lines else "no answer"
        return f"namespace {self.name} is still there: {reason}; delete it with: {self._delete()}"

    def _delete(self) -> str:
        return f"{self.kubectl} delete namespace {self.name}"


def _start(command: str) -> Program:
    argv = shlex.split(command)
    return Program("kubectl", [argv[0], f"--request-timeout={REQUEST_S}s", *argv[1:]]).start()

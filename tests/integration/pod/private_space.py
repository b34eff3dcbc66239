"""A network namespace and a mount namespace for the tests. The network has only loopback, with every port free: for a
pod with hostNetwork, the API server and their clients. podman's machine-wide state, its locks and its mark that
containers are alive, is hidden, so that the end of another podman does not end these containers. Needs root.
"""

import subprocess

from programs import Program

_HIDDEN = ("/run/libpod", "/dev/shm")
_SCRIPT = 'ip link set lo up && mkdir -p "$@" && for d; do mount -t tmpfs tmpfs "$d" || exit; done'


class PrivateSpace:
    """Lives as long as its holder program or a process in it."""

    def __init__(self):
        script = f"{_SCRIPT}; echo ready; exec sleep infinity"
        self._holder = Program("space", ["unshare", "--net", "--mount", "sh", "-c", script, "sh", *_HIDDEN])

    def __enter__(self) -> "PrivateSpace":
        self._holder.start()
        self._holder.wait_line("^ready$")
        # Command prefixes to run here, without or with the private network. They lose the working directory.
        self.apart = ["nsenter", f"--target={self._holder.pid}", "--mount"]
        self.inside = [*self.apart, "--net"]
        return self

    def __exit__(self, *exc) -> None:
        self._holder.kill()

    def output(self, command: list[str]) -> str:
        """The output of a command in it; an AssertionError if it fails."""
        done = subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def http_status(self, url: str) -> int:
        """0 if there is no reply."""
        command = [*self.inside, "curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return int(done.stdout or 0)

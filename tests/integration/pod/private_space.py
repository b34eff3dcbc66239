"""A network and a mount namespace of the tests' own. The network has nothing but loopback, and every port of it is free:
a pod with hostNetwork, the API server and whoever asks them have it to themselves. What podman keeps for the whole
machine, its locks and the sign that containers are alive, is hidden, so that another podman's end is not that of these
containers. Needs root.
"""

import subprocess

from programs import Program

_HIDDEN = ("/run/libpod", "/dev/shm")
_SCRIPT = 'ip link set lo up && mkdir -p "$@" && for d; do mount -t tmpfs tmpfs "$d" || exit; done'


class PrivateSpace:
    """Lives as long as the program that holds it, and what runs in it."""

    def __init__(self):
        script = f"{_SCRIPT}; echo ready; exec sleep infinity"
        self._holder = Program("space", ["unshare", "--net", "--mount", "sh", "-c", script, "sh", *_HIDDEN])

    def __enter__(self) -> "PrivateSpace":
        self._holder.start()
        self._holder.wait_line("^ready$")
        # What a command begins with to run here, without or with the private network. The working directory is lost.
        self.apart = ["nsenter", f"--target={self._holder.pid}", "--mount"]
        self.inside = [*self.apart, "--net"]
        return self

    def __exit__(self, *exc) -> None:
        self._holder.kill()

    def output(self, command: list[str]) -> str:
        """Of a command in it; an AssertionError when it fails."""
        done = subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def http_status(self, url: str) -> int:
        """0 when there is no answer."""
        command = [*self.inside, "curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return int(done.stdout or 0)

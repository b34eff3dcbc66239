"""A network namespace with nothing but loopback, in which every port is free: a pod with hostNetwork, the API server
and whoever asks them have it to themselves. Needs root.
"""

import os
import subprocess

# Of the family of faults/netns.py, which removes what a killed run has left.
_NAME = f"dp{os.getpid()}n99"


class PrivateNetwork:
    def __enter__(self) -> "PrivateNetwork":
        self._ip("netns", "add", _NAME)
        self._ip("-n", _NAME, "link", "set", "lo", "up")
        return self

    def __exit__(self, *exc) -> None:
        self._ip("netns", "del", _NAME)

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)

    # Not `ip netns exec`, which hides /sys and with it the cgroups that containers need.
    inside = ["nsenter", f"--net=/run/netns/{_NAME}"]
    """What a command begins with to run in it."""

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

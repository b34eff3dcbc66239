import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import pytest  # noqa: E402
from kube import Kube  # noqa: E402
from programs import apiserver, http_get, reserve_port  # noqa: E402


@pytest.fixture
def start_apiserver():
    """A function that starts the project's API server with some flags and gives its client."""
    started = []

    def start(*flags: str) -> Kube:
        number = reserve_port()
        program = apiserver(number, *flags).start()
        started.append(program)
        program.wait_ready(lambda: http_get(f"http://127.0.0.1:{number}/readyz")[0] == 200, "readyz")
        return Kube(f"http://127.0.0.1:{number}")

    yield start
    for program in started:
        program.stop()


@pytest.fixture
def kube(start_apiserver) -> Kube:
    return start_apiserver()

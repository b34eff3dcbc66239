"""Flag completion in bash: it offers the flags of -help, with = if a value follows."""

import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import TimeUp, wait_until

SCRIPT = Path(__file__).resolve().parents[2] / "common/completion.bash"
LOADER = Path("/usr/share/bash-completion/bash_completion")
PROGRAMS = ("kube2sky", "skydns", "exechealthz")


def offered(program: str, *words: str) -> list[str]:
    """The completions of the last word; the words are split as bash does it."""
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$(complete -p "${1##*/}" |'
        " sed 's/.* -F \\([^ ]*\\) .*/\\1/')\" \"$1\" \"${COMP_WORDS[COMP_CWORD]}\"; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    command = ["bash", "--norc", "-c", script, "bash", str(SCRIPT), str(BIN_DIR / program), *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


def help_text(program: str) -> str:
    return subprocess.run([BIN_DIR / program, "-help"], capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_flags_are_those_of_help(program):
    flags = re.findall(r"^  (-[a-z0-9-]+=?)", help_text(program), re.M)
    assert len(flags) > 10
    assert offered(program, "-") == offered(program, "") == flags
    assert offered(program, "--") == [f"-{flag}" for flag in flags]
    assert offered(program, "-ve") == [flag for flag in flags if flag.startswith("-ve")] != []
    assert offered(program, "--version") == ["--version"]
    assert offered(program, "-nonsense") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_choices_are_those_of_help(program):
    for flag, choices in re.findall(r"^  -([a-z0-9-]+)=([a-z]+\|[a-z|]+)$", help_text(program), re.M):
        choices = choices.split("|")
        assert offered(program, f"--{flag}", "=") == choices
        assert offered(program, f"-{flag}", "=", choices[0][:1])[0] == choices[0]
        assert offered(program, f"-{flag}", "") == choices
        assert offered(program, f"-{flag}={choices[-1][:2]}") == [choices[-1]]


def test_values_are_not_taken_for_flags():
    assert offered("skydns", "-tls-key", "=", "") == offered("skydns", "-tls-key", "") == []
    assert offered("skydns", "-addr=") == []
    assert "-addr=" in offered("skydns", "-verbose", "")
    assert "-addr=" in offered("skydns", "-addr=127.0.0.1:53", "-")


class Terminal:
    """An interactive bash."""

    def __init__(self, *arguments: str):
        self._own, theirs = pty.openpty()
        os.set_blocking(self._own, False)
        environment = {"PATH": f"{BIN_DIR}:/usr/bin:/bin", "TERM": "dumb", "HISTFILE": ""}
        self._process = subprocess.Popen(
            ["bash", *arguments, "-i"],
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def _read(self) -> None:
        while select.select([self._own], [], [], 0)[0]:
            self.text += os.read(self._own, 4096).decode()

    def wait(self, text: str) -> None:
        def has_come() -> bool:
            self._read()
            return text in self.text

        try:
            wait_until(has_come, repr(text))
        except TimeUp as error:
            raise AssertionError(f"{error}; the terminal shows {self.text!r}") from None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._own)


@pytest.fixture(params=["own", "package"])
def terminal(request, tmp_path):
    """With the script alone, and loaded by the package bash-completion at the first completion."""
    rc = tmp_path / "bashrc"
    prompt = "PS1='ready: '\n"
    rc.write_text(f"{prompt}source {SCRIPT}\n")
    if request.param == "package":
        if not LOADER.is_file():
            pytest.skip("no bash-completion (Debian package bash-completion)")
        folder = tmp_path / "completions"
        folder.mkdir()
        for program in PROGRAMS:
            (folder / program).symlink_to(SCRIPT)
        rc.write_text(f"{prompt}BASH_COMPLETION_USER_DIR={tmp_path}\nsource {LOADER}\n")
    terminal = Terminal("--rcfile", str(rc))
    yield terminal
    terminal.close()


def test_the_tab_key(terminal, tmp_path):
    terminal.wait("ready: ")
    terminal.type("echo skydns; skydns -sche\t")
    terminal.wait("skydns -schema=")
    terminal.type("kub\t")
    terminal.wait("-schema=kubernetes ")
    (tmp_path / "the-only-key.pem").write_text("")
    terminal.type(f"-tls-key={tmp_path}/the-on\t")
    terminal.wait("the-only-key.pem")
    terminal.type("\x15kube2sky --kubecf\t")
    terminal.wait("kube2sky --kubecfg-file=")

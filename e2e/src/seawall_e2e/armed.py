"""A signal that is sent at once: its shell runs on the node already, and knows the processes."""

from __future__ import annotations

import subprocess
from typing import IO, Self

from seawall_e2e.cluster import PLATFORM
from seawall_e2e.objects import get

SECONDS = 20.0
_SCRIPT = """cd /proc && found=; for each in $(grep -ls "$0" [0-9]*/cgroup); do found="$found ${each%/cgroup}"; done
    [ -n "$found" ] && echo armed && read -r _ && kill -"$1" $found && echo sent"""


class ArmedSignal:
    """Finds all processes of a pod on entering the context; `fire` sends them a signal within a few milliseconds."""

    def __init__(self, namespace: str, pod: str, signal: str) -> None:
        uid = get(namespace, "pods", pod)["metadata"]["uid"].replace("-", "[-_]")
        self._pod = pod
        self._command = [str(PLATFORM / "cluster"), "shell", "sh", "-c", _SCRIPT, f"pod{uid}", signal]
        self._shell: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._shell = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._expect("armed")
        return self

    def __exit__(self, *_: object) -> None:
        if self._shell is not None:
            self._shell.communicate(timeout=SECONDS)  # without a line the shell ends, and sends nothing

    def fire(self) -> None:
        """Sends it. Raises AssertionError when the processes were not there any more."""
        _open(self._shell.stdin if self._shell else None).write("now\n")
        self._expect("sent")

    def _expect(self, word: str) -> None:
        said = _open(self._shell.stdout if self._shell else None).readline().strip()
        if said != word:
            raise AssertionError(f"the shell on the node of {self._pod} said {said!r}, not {word!r}")


def _open(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise AssertionError("the signal is not armed")
    return pipe

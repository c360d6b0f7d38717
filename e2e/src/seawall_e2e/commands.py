"""Commands with a bound in time."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from seawall_e2e.waiting import patience

AnswerT = TypeVar("AnswerT")
Object = dict[str, Any]
"""A Kubernetes object as JSON."""

LONGEST_WORD = 200
"""A class path has thousands of characters."""
OWN_BOUND = re.compile(r"--timeout=(\d+)s")
"""As kubectl and helm take it."""


class CommandFailed(AssertionError):  # noqa: N818 - named for what happened
    """A command said no, or nothing at all; `said` is what it wrote to stderr."""

    def __init__(self, command: tuple[str | Path, ...], reason: str, said: str) -> None:
        words = " ".join(str(word)[:LONGEST_WORD] for word in command)
        super().__init__(f"{words} {reason}\n{said}".rstrip())
        self.said = said


def asked(ask: Callable[[], AnswerT]) -> AnswerT | None:
    """What it answers; None while nobody does."""
    try:
        return ask()
    except CommandFailed:
        return None


def run(*command: str | Path, stdin: str = "", timeout: float = 60, show_progress: bool = False) -> str:
    """Runs a command to its end and returns its stdout; failure and delay are CommandFailed.

    Its bound, and the one that it is told, are those of a quiet machine (`patience`): helm that is ended in the middle
    leaves a release that no other helm may touch. With `show_progress` its stderr goes to ours instead of into the
    error.
    """
    stderr, times = None if show_progress else subprocess.PIPE, patience()
    command, timeout = tuple(_told(word, times) for word in command), timeout * times
    try:
        done = subprocess.run(
            command, input=stdin, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=timeout, check=False
        )
    except FileNotFoundError:
        raise CommandFailed(command, "is not installed", "") from None
    except subprocess.TimeoutExpired as late:
        said = late.stderr.decode(errors="replace") if isinstance(late.stderr, bytes) else ""
        raise CommandFailed(command, f"did not end within {timeout:g} s", said) from None
    if done.returncode != 0:
        raise CommandFailed(command, f"ended with {done.returncode}", (done.stderr or done.stdout).strip())
    return done.stdout


def _told(word: str | Path, times: float) -> str | Path:
    own = OWN_BOUND.fullmatch(word) if isinstance(word, str) else None
    return word if own is None else f"--timeout={int(own[1]) * times:.0f}s"


def kubectl(*words: str, stdin: str = "", timeout: float = 60) -> str:
    """Runs kubectl on the cluster of KUBECONFIG."""
    return run("kubectl", *words, stdin=stdin, timeout=timeout)


def helm(*words: str, timeout: float = 120) -> str:
    """Runs helm on the cluster of KUBECONFIG."""
    return run("helm", *words, timeout=timeout)


def refusal_of(*words: str) -> str:
    """The sentence with which the API server refuses what this kubectl command asks for; it must refuse."""
    try:
        answer = kubectl(*words)
    except CommandFailed as refused:
        return refused.said
    raise AssertionError(f"kubectl {' '.join(words)} was not refused: {answer}")

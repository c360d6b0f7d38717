"""How the demo talks to people: steps with their times, commands with what they say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from seawall_e2e.commands import kubectl, run

STARTED = time.monotonic()


@contextmanager
def step(title: str) -> Iterator[None]:
    """Says what is done, and how long it took."""
    started = time.monotonic()
    print(f"\n== {title}", flush=True)
    yield
    tell(f"done, {time.monotonic() - started:.1f} s")


def tell(text: str) -> None:
    """Prints one line with the seconds since the start."""
    print(f"{time.monotonic() - STARTED:5.0f}s  {text}", flush=True)


def say(text: str) -> None:
    """Prints text, indented."""
    for line in text.rstrip().splitlines():
        print(f"        {line}", flush=True)


def echo(*command: str) -> None:
    """Prints a command that a person could type."""
    say(
        "$ " + " ".join(word if word.isprintable() and not set(word) & set(' {}"') else f"'{word}'" for word in command)
    )


def run_and_show(*words: str) -> None:
    """Runs kubectl; prints the command and what it says."""
    echo("kubectl", *words)
    say(kubectl(*words))


def run_and_say(*command: str) -> None:
    """Runs a command; prints it by the name that people type, and what it says."""
    program, *words = command
    echo(program.rpartition("/")[2], *words)
    say(run(*command))

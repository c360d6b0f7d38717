"""How the demo talks to people: steps with their times, commands with what they say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seawall_e2e.commands import kubectl, run
from seawall_e2e.waiting import wait_until

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


def follow(look: Callable[[], tuple[str, bool]], what: str, *, within: float, explain: Callable[[], object]) -> None:
    """Prints what a look says, whenever that changes, until a look says, too, that it is over: `what`.

    Raises:
        WaitedInVain: it is not over within so many seconds.
    """
    said = [""]

    def is_over() -> bool:
        line, over = look()
        if line != said[-1]:
            said.append(line)
            tell(line)
        return over

    wait_until(is_over, what, within=within, every=0.5, explain=explain)


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

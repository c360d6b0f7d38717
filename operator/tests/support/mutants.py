"""Guards that are taken away one by one: a story that a guard makes true must then fail."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

import seawall

SOURCE, TESTS = Path(seawall.__file__).parent, Path(__file__).parents[1]
Mutant = tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]
"""What takes a guard away, and the story that needs it."""


WorldT = TypeVar("WorldT")


def in_a_copy(world: WorldT, story: Callable[[WorldT], object]) -> Callable[[], None]:
    """The story, in a world that was brought up once for all of them."""

    def tell() -> None:
        story(copy.deepcopy(world))

    return tell


def find_survivors(mutants: Sequence[Mutant]) -> list[str]:
    """The names of the guards that no story misses; prints how many were killed."""
    alive: list[str] = []
    for mutate, story in mutants:
        with pytest.MonkeyPatch.context() as patch:
            mutate(patch)
            try:
                story()
            except AssertionError as failed:
                if _is_of_the_mutant(failed):
                    raise
                continue
            except pytest.fail.Exception as failed:
                if str(failed).startswith("Timeout"):  # the hang guard of the test, which kills nobody
                    raise
                continue
        alive.append(mutate.__name__)
    print(f"mutants {len(mutants)}, killed {len(mutants) - len(alive)}")  # noqa: T201 - the count is the evidence
    return alive


def _is_of_the_mutant(failed: AssertionError) -> bool:
    """Whether the code that was changed asserts it itself, as the honest one nowhere does: then no story misses it."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(failed.__traceback__)]
    ours = [file for file in files if file.is_relative_to(SOURCE) or file.is_relative_to(TESTS)]
    return bool(ours) and ours[-1].is_relative_to(SOURCE)  # assert_never is the standard library's

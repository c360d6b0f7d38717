"""What kills a mutant: the assertion of a story, and nothing that the mutant itself brings."""

from __future__ import annotations

from functools import partial

import pytest

from seawall.domain import text
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

FOUND = "    if len(names) == 1:"


def names_are_listed(*names: str) -> None:
    assert text.listed(list(names)) == "2 topics (a, b)"


def test_a_story_that_misses_a_guard_kills_and_one_that_does_not_lets_live() -> None:
    comma = rewritten(text, "listed", '", "', '"; "')
    assert find_survivors([(comma, partial(names_are_listed, "a", "b"))]) == []
    alone = rewritten(text, "listed", "== 1", "== 7")
    assert find_survivors([(alone, partial(names_are_listed, "a", "b"))]) == ["listed: == 1"]


@pytest.mark.parametrize(
    "assertion", ["assert len(names) == 9", "from typing import assert_never; assert_never(names)"]
)
def test_what_a_mutant_asserts_itself_is_no_kill(assertion: str) -> None:
    mutant = rewritten(text, "listed", FOUND, f"    {assertion}\n{FOUND}")
    with pytest.raises(AssertionError):
        find_survivors([(mutant, partial(names_are_listed, "a", "b"))])

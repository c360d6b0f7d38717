"""Each rule of the reader, taken away: a story that needs it must fail."""

from __future__ import annotations

from random import Random

import pytest
from database_reader import RELEASES
from test_database_reader import disagreement, harmed, in_parts

from tests.support.mutants import Mutant, find_survivors
from walrecord import Middle, reader
from walrecord.reassembly import _Unfinished


def _agrees_with_the_database() -> None:
    for version in RELEASES:
        random = Random(f"mutants of {version}")  # noqa: S311 - the same each time
        assert all(disagreement(harmed(random), version) is None for _ in range(300))


def _opens_a_repeated_middle_since_1_1_3() -> None:
    parts = in_parts(1, 7, 5)
    log = [*parts[:2], *parts[1:]]
    assert all(disagreement(log, version) is None for version in RELEASES)


def any_middle_may_follow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Unfinished, "may_go_on_with", lambda _self, _number: True)


def a_first_middle_may_have_any_number(patch: pytest.MonkeyPatch) -> None:
    real = _Unfinished.may_go_on_with
    patch.setattr(
        _Unfinished,
        "may_go_on_with",
        lambda self, number: not isinstance(self.types[-1], Middle) or real(self, number),
    )


def every_version_drops_repeats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reader, "DROPS_REPEATED_MIDDLE_SINCE", (0, 0, 0))


def no_version_drops_repeats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reader, "DROPS_REPEATED_MIDDLE_SINCE", (99, 0, 0))


MUTANTS: tuple[Mutant, ...] = (
    (any_middle_may_follow, _agrees_with_the_database),
    (a_first_middle_may_have_any_number, _agrees_with_the_database),
    (every_version_drops_repeats, _opens_a_repeated_middle_since_1_1_3),
    (no_version_drops_repeats, _opens_a_repeated_middle_since_1_1_3),
)


def test_no_rule_can_be_taken_away() -> None:
    for _, story in MUTANTS:
        story()
    assert find_survivors(MUTANTS) == []

"""What a hold says of a database that deletes by itself: guards are taken away one by one. Prints the kills."""

from __future__ import annotations

import pytest

from seawall.domain.hold import decide, view
from seawall.domain.ledger.held import HoldView
from tests.hold import test_wal_hold as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def no_obstacle(patch: Patch) -> None:
    """Holds are granted, whoever deletes."""
    patch.setattr(HoldView, "why_no_promise", None)


def no_risk(patch: Patch) -> None:
    """What was granted is not in doubt, whoever deletes."""
    patch.setattr(HoldView, "second_pruner", None)


def granted_all_the_same(patch: Patch) -> None:
    """The condition Granted is of what was granted once."""
    patch.setattr(decide, "_is_worth", lambda *_: True)


def silence_believed(patch: Patch) -> None:
    """Where nobody knows whether the database deletes, it does not."""
    patch.setattr(decide, "_is_worth", lambda _, __, deletes: not deletes)


def unknown_is_no(patch: Patch) -> None:
    """The granter takes a metasrv that does not say for one that deletes nothing."""
    patch.setattr(view, "HoldView", lambda topics, deletes=False, cure="": HoldView(topics, bool(deletes), cure))


MUTANTS: tuple[Mutant, ...] = (
    (no_obstacle, stories.test_while_the_database_deletes_a_hold_is_not_granted_and_its_sentence_has_the_key),
    (no_risk, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
    (granted_all_the_same, stories.test_a_hold_at_risk_for_another_reason_says_that_it_is_not_granted_any_more),
    (silence_believed, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
    (unknown_is_no, stories.test_a_granted_hold_says_at_once_that_it_is_worth_nothing_and_does_not_believe_silence),
)


def test_every_guard_of_a_promise_is_needed() -> None:
    assert not find_survivors(MUTANTS)

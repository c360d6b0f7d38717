"""Planted bugs: guards that are taken away, each of which the simulation must find in few seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from seawall.domain import conditions
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.columns import Ids, Numbers
from seawall.domain.ledger import offsets
from tests.adversary.test_adversary_mutants import grants_what_is_gone, no_holds, no_reread
from tests.backup.test_backup_mutants import nobody_holds_between
from tests.datanodes.test_restart_mutants import maintenance_kept, no_finalizer, others_ignored
from tests.reassignment.test_reassignment_mutants import (
    batch_too_large,
    min_isr_raised_at_once,
    no_throttle,
    throttle_left,
)
from tests.simulation.clocks import ProcessClock
from tests.simulation.run import simulate
from tests.subscription.test_foreign_writer_mutants import all_is_ours
from tests.subscription.test_subscription_mutants import hold_of_what_was_sent
from tests.verification.test_verification_mutants import hold_stays

Patch = pytest.MonkeyPatch


def one_clock(patch: Patch) -> None:
    """The API server's clock is taken for the operator's."""

    def trusted(self: ProcessClock) -> TrustedTime:
        now = self.now()
        zero = now - now
        return TrustedTime(now, ServerTime(now, zero, zero))

    patch.setattr(ProcessClock, "trusted", trusted)


def newest_region_counts(patch: Patch) -> None:
    """What the region needs that has flushed most is taken for what all need."""

    def greatest_of(self: Ids, groups: Numbers, count: int) -> Ids:
        found: list[int | None] = [None] * count
        for group, number, is_known in zip(groups, self.numbers, self.known, strict=True):
            if is_known:
                found[group] = max(found[group] or 0, int(number))
        return Ids.of(found)

    patch.setattr(Ids, "least_of_all_by", greatest_of)


def times_always_new(patch: Patch) -> None:
    """A condition that stays as it is changes its time with every look: the status is written for ever."""
    patch.setattr(conditions, "find_condition", lambda *_: None)


def one_too_many(patch: Patch) -> None:
    """The record at the floor goes, too, and one more: keepEntries is counted the wrong way."""
    original = offsets.purge_to
    patch.setattr(offsets, "purge_to", lambda floor_, bounds: original(floor_ + 2, bounds))


@dataclass(frozen=True)
class Bug:
    """A bug that somebody might make.

    Attributes:
        plant: takes the guard away.
        breaks: what must be said of it: the letters of invariants. That the operator only falls over does not count.
    """

    plant: Callable[[Patch], None]
    breaks: frozenset[str]

    @property
    def name(self) -> str:
        """What takes the guard away."""
        return getattr(self.plant, "__name__", "")


def _bug(plant: Callable[[Patch], None], *breaks: str) -> Bug:
    return Bug(plant, frozenset(breaks))


BUGS: tuple[Bug, ...] = (
    _bug(no_holds, "H"),
    _bug(grants_what_is_gone, "H"),
    _bug(one_clock, "H"),
    _bug(newest_region_counts, "I1"),
    _bug(one_too_many, "I1", "I4", "H", "C"),
    _bug(times_always_new, "Q"),
    _bug(no_reread, "L"),
    _bug(throttle_left, "T"),
    _bug(no_throttle, "R"),
    _bug(batch_too_large, "R"),
    _bug(min_isr_raised_at_once, "R"),
    _bug(maintenance_kept, "C", "M"),
    _bug(no_finalizer, "N", "M"),
    _bug(others_ignored, "R"),
    _bug(hold_stays, "C"),
    _bug(hold_of_what_was_sent, "S2"),
    _bug(all_is_ours, "S2"),
    _bug(nobody_holds_between, "K"),
)
QUICK = frozenset({"no_finalizer", "no_throttle"})
"""Those that one of the first days finds, so that a short test may ask for them."""


def find(bug: Bug, seeds: range) -> tuple[int, str] | None:
    """The first seed that finds a bug, and what it says; None: none does."""
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            bug.plant(patch)
            said = simulate(seed).violation
        if said is not None and said.partition(":")[0] in bug.breaks:
            return seed, said
    return None

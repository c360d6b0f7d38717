"""Planted bugs: guards that are taken away, each of which the simulation must find in few seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.domain import conditions
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.columns import Ids, Numbers
from seawall.domain.ledger import offsets
from tests.adversary.test_adversary_mutants import grants_what_is_gone, no_holds, no_reread
from tests.reassignment.test_reassignment_mutants import (
    batch_too_large,
    min_isr_raised_at_once,
    no_throttle,
    throttle_left,
)
from tests.rollout.test_restart_mutants import maintenance_kept, no_finalizer, others_ignored
from tests.simulation.clocks import ProcessClock
from tests.simulation.run import simulate
from tests.verification.test_verification_mutants import hold_stays

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]


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


BUGS: tuple[Bug, ...] = (
    no_holds,
    grants_what_is_gone,
    one_clock,
    newest_region_counts,
    one_too_many,
    times_always_new,
    no_reread,
    throttle_left,
    no_throttle,
    batch_too_large,
    min_isr_raised_at_once,
    maintenance_kept,
    no_finalizer,
    others_ignored,
    hold_stays,
)
QUICK: tuple[Bug, ...] = (newest_region_counts, no_throttle)
"""Those that one of the first days finds, so that a short test may ask for them."""


def find(bug: Bug, seeds: range) -> tuple[int, str] | None:
    """The first seed that finds a bug, and what it says; None: none does."""
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            bug(patch)
            found = simulate(seed)
        if found.violation is not None:
            return seed, found.violation
    return None

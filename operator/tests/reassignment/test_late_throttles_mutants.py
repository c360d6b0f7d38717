"""The guards against a throttle that comes late are taken away one by one: each story must then end badly."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest

from seawall.controllers import reassignment as replication
from seawall.domain.reassignment import run as decide
from seawall.domain.reassignment import throttling
from seawall.domain.reassignment.actions import RememberLists
from seawall.domain.reassignment.observed import Line
from tests.adversary.replicas import balancing, growing
from tests.reassignment import test_late_throttles as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def what_comes_late_stays(patch: Patch) -> None:
    """Nobody looks whether a throttle came after the end."""
    patch.setattr(decide, "late_throttle", lambda *_: None)


def any_rate_came_late(patch: Patch) -> None:
    """Whose rates stand is not asked."""
    patch.setattr(throttling, "is_foreign", lambda *_: False)
    patch.setattr(throttling, "_are_own", lambda rates, status: rates != throttling.before_run(status))


def any_list_came_late(patch: Patch) -> None:
    """Lists of what did not move go, too."""
    patch.setattr(throttling, "_names_only", lambda *_: True)


def others_at_rest_unseen(patch: Patch) -> None:
    """Who is at rest does not look whether another WALCluster has begun."""
    patch.setattr(replication, "find_line", lambda *_: Line())


def written_by_a_sleeper(patch: Patch) -> None:
    """What others throttle is written down although somebody else has the turn by now."""
    original = replication.ReplicationController._require_unchanged

    def of_kafka_only(self: replication.ReplicationController, obj: Any) -> None:
        caller = current.f_back if (current := inspect.currentframe()) else None
        if caller is None or not isinstance(caller.f_locals.get("action"), RememberLists):
            original(self, obj)

    patch.setattr(replication.ReplicationController, "_require_unchanged", of_kafka_only)


asleep = stories.test_an_operator_that_sleeps_before_a_call_leaves_no_throttle

MUTANTS: tuple[Mutant, ...] = (
    (what_comes_late_stays, stories.test_what_a_sleeper_left_is_removed_within_ten_minutes_and_told),
    (what_comes_late_stays, partial(asleep, balancing)),
    (any_rate_came_late, stories.test_a_rate_that_no_run_has_set_stays_with_its_lists),
    (any_list_came_late, stories.test_a_list_of_what_the_run_did_not_move_stays),
    (others_at_rest_unseen, stories.test_a_throttle_that_another_wal_cluster_has_just_set_stays),
    (written_by_a_sleeper, partial(asleep, growing)),
)


def test_every_guard_against_a_throttle_that_comes_late_is_needed() -> None:
    assert not find_survivors(MUTANTS)

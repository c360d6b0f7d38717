"""A verification dies at every call to the outside: the next process ends at the same place."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.spark_job import Outcome
from tests.support.deaths import die_at_every_call
from tests.worlds.verification_world import VerificationWorld

CHANGES = frozenset({"create", "delete", "replace_status", "write_config_map"})


def end_state(world: VerificationWorld) -> Any:
    status = world.verification().status
    return (
        (status.stage, status.outcome, status.attempt, status.topics, status.findings, status.counts, status.message),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
        world.holds(),
        sorted(key.name for key in world.spark.applications),
        sorted(key.name for key in world.spark.specs),
        world.log_starts(),
    )


@pytest.mark.parametrize(
    ("bad", "dies", "outcome"), [(set(), 0, Outcome.PASSED), ({"wal_1"}, 0, Outcome.FAILED), (set(), 1, Outcome.PASSED)]
)
def test_a_death_at_any_call_of_a_verification_changes_nothing_about_the_end(
    bad: set[str], dies: int, outcome: Outcome
) -> None:
    world = VerificationWorld(bad=bad, dies=dies)
    world.start()
    worlds = die_at_every_call(
        world, lambda each, guard: each.settle_verification(each.verifier(guard)), end_state, CHANGES
    )
    assert world.verification().status.outcome is outcome
    assert worlds > 15

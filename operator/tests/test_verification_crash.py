"""A verification dies at every call to the outside, before it and after it; the next process ends at the same place.

As in `test_purge_crash.py` a death leaves the world as it is at that moment, so one undisturbed verification meets all
of them: each world that a death would leave is finished by a new process.
"""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.wal_verification import Outcome
from tests.test_purge_crash import Deaths
from tests.verification_world import VerificationWorld

CHANGES = frozenset({"create", "delete", "replace_status", "write_config_map"})


class VerificationDeaths(Deaths[VerificationWorld]):
    """Copies the world at each call; those between two changes are the same."""

    changing = CHANGES


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
    deaths = VerificationDeaths(world)
    found = world.settle_verification(world.verifier(deaths))
    assert found.status.outcome is outcome
    wanted = end_state(world)
    failures = []
    for at, left in deaths.worlds.items():
        left.settle_verification()
        if end_state(left) != wanted:
            failures.append(at)
    calls = len(deaths.names)
    print(f"calls {calls}, runs {deaths.deaths} ({len(deaths.worlds)} worlds), failures {len(failures)}")  # noqa: T201 - evidence
    assert deaths.deaths == 2 * calls
    assert not failures
    assert len(deaths.worlds) > 15

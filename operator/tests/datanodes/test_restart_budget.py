"""A PodDisruptionBudget that forbids a restart: the database is not in maintenance while that is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.rollout import ForbiddenEviction, RestartStatus, RollStage
from seawall.domain.datanodes.budget import in_its_words
from seawall.domain.datanodes.maintenance import enter
from seawall.domain.rollout.workload import Eviction, Pod
from seawall.domain.rollout_reasons import Reason
from seawall.domain.times import MAINTENANCE_LEASE, MAINTENANCE_LONGEST_REST, MAINTENANCE_REST
from tests.datanodes.test_left_out import LAST, scale
from tests.datanodes.test_left_out import asked as last_is_asked
from tests.datanodes.test_restart import ALL, waits
from tests.domain.datanodes.builders import NOW, make_facts
from tests.support.deaths import die_at_every_call
from tests.worlds.restart_world import CHANGES, DATANODES, NAMESPACE, World

SECOND = timedelta(seconds=1)
SENTENCE = "Cannot evict pod as it would violate the pod's disruption budget."
LATE = 8.0


@dataclass
class BudgetWorld(World):
    """A world with a PodDisruptionBudget.

    Attributes:
        maintained: for how long the database has been in maintenance.
        allows_at: when the budget allows evictions again; None: a test says so.
    """

    maintained: timedelta = timedelta()
    allows_at: datetime | None = None

    def pass_time(self, time: timedelta) -> None:
        """A second at a time."""
        end = self.time.time + time
        while self.time.time < end:
            self.maintained += SECOND if self.data_plane.maintenance else timedelta()
            super().pass_time(SECOND)
            if self.allows_at is not None and self.time.time >= self.allows_at:
                self.datanodes.forbids = None


def forbidden() -> BudgetWorld:
    """A budget allows no eviction, and the first one was tried."""
    world = BudgetWorld()
    world.settle()
    world.datanodes.forbids = SENTENCE
    world.annotate(restart="monday")
    world.settle(until=lambda: world.restart().reason == "DisruptionBudget")
    return world


def count(world: World, reason: str) -> int:
    """The events with this reason."""
    return len([line for line in world.lines if line.startswith(f"{reason}: ")])


@pytest.mark.parametrize("minutes", [60])
def test_a_budget_that_forbids_for_an_hour_keeps_no_maintenance_on_and_is_one_event(minutes: int) -> None:
    world = forbidden()
    first = world.time.now()
    reasons, tries, answer = set[str](), list[datetime](), world.datanodes.evict

    def evict(pod: Pod) -> Eviction:
        tries.append(world.time.now())
        return answer(pod)

    def is_over() -> bool:
        reasons.add(world.restart().reason)
        return world.time.now() >= end

    world.datanodes.evict = evict  # type: ignore[method-assign]
    for passed in range(5, minutes + 1, 5):
        end = first + timedelta(minutes=passed)
        world.settle(until=is_over)
        assert world.maintained < MAINTENANCE_LEASE
        assert reasons == {"DisruptionBudget"}
        assert count(world, "DisruptionBudget") == 1
        assert count(world, "ChangeUnanswered") == 0, "it is an answer, and in the status"
    assert world.went == []
    assert minutes / 6 <= len(tries) <= minutes / 6 + 6, "ever less often, and it is tried all the same"
    world.datanodes.evict = answer  # type: ignore[method-assign]
    world.datanodes.forbids = None
    world.settle(until=lambda: bool(world.went))
    assert world.time.now() <= tries[-1] + MAINTENANCE_LONGEST_REST + timedelta(minutes=1)
    world.settle()
    assert sorted(world.went) == ALL
    assert world.restart().forbidden is None
    assert not world.data_plane.maintenance


def test_maintenance_is_given_back_at_once_and_the_next_try_takes_it_anew() -> None:
    world = forbidden()
    assert world.data_plane.maintenance
    first = world.time.now()
    world.settle(until=lambda: not world.data_plane.maintenance)
    assert world.time.now() <= first + timedelta(seconds=5)
    world.settle(until=lambda: world.restart().maintenance is None)
    world.settle(until=lambda: world.data_plane.maintenance)
    assert world.time.now() >= first + MAINTENANCE_REST
    assert world.disruption() is not None, "an operator that slept may still evict that pod"


def test_where_datanodes_are_looked_at_it_is_said_what_is_waited_for_and_that_maintenance_is_not_kept() -> None:
    world = forbidden()
    waits(world, seconds=60)
    status, health = world.restart(), world.health()
    assert status.stage is RollStage.RESTARTING
    assert SENTENCE in status.message
    assert "not kept in maintenance" in status.message
    assert (health.status, health.reason) == ("True", "Serving")
    assert health.message.endswith(status.message)
    world.datanodes.forbids = None
    world.settle()
    assert "PodDisruptionBudget" not in world.health().message


def test_the_gate_is_asked_while_a_budget_forbids_and_its_reason_comes_first() -> None:
    world = forbidden()
    world.annotate(paused="true")
    waits(world, seconds=60)
    assert world.restart().reason == "Paused"
    world.annotate(paused=None)
    waits(world, seconds=5)
    assert world.restart().reason == "DisruptionBudget"


def test_a_try_that_waits_for_a_database_which_does_not_answer_says_so_instead() -> None:
    status = RestartStatus(forbidden=ForbiddenEviction(message=SENTENCE, from_time=NOW, next_time=NOW))
    for answer, reason in ((None, Reason.ENTERING_MAINTENANCE), (False, Reason.DISRUPTION_BUDGET)):
        facts = make_facts(in_maintenance=answer)
        tried = enter(status, facts, RollStage.RESTARTING)
        assert tried is not None
        assert in_its_words(tried, "datanode-0", facts).verdict.reason == reason


def test_the_next_datanode_does_not_rest_for_what_was_forbidden_before() -> None:
    world = forbidden()
    world.datanodes.forbids = None
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    assert world.restart().forbidden is None
    world.settle(until=lambda: len(world.went) == 2)
    assert count(world, "DisruptionBudget") == 1


def test_a_datanode_that_is_scaled_away_is_no_more_forbidden() -> None:
    world = last_is_asked()
    world.datanodes.forbids = SENTENCE
    world.settle(until=lambda: world.restart().forbidden is not None)
    scale(world, DATANODES - 1)
    world.settle()
    assert Key(NAMESPACE, LAST) not in world.datanodes.running
    assert (world.disruption(), world.restart().forbidden) == (None, None)


@pytest.mark.parametrize("seconds", [1, 45])
def test_a_death_at_any_call_while_a_budget_forbids_changes_nothing_about_the_end(seconds: int) -> None:
    world = BudgetWorld(late=LATE)
    world.settle()
    world.annotate(restart="monday")
    world.datanodes.forbids = SENTENCE
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    world.allows_at = world.time.now() + timedelta(seconds=seconds)

    def end_state(each: BudgetWorld) -> object:
        status = each.restart()
        ended = (status.stage, status.restarted, status.done_request, status.maintenance, status.forbidden)
        return sorted(each.went), each.data_plane.maintenance, ended, each.cluster().metadata.finalizers

    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state, CHANGES)
    assert sorted(world.went) == ALL
    assert not world.data_plane.maintenance
    assert worlds > len(ALL)

"""What tells of failed actions is taken away, piece by piece: then something fails in silence, or again and again."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.controllers.ledger import LedgerWatch
from seawall.domain.brokers.decide import Observed
from seawall.reconciler import Reconciler
from tests.kernel import failure_scenes as scenes
from tests.kernel import test_failed_actions as failed
from tests.kernel import test_lost_events as lost
from tests.support.mutants import Mutant, find_survivors
from tests.support.refusals import ACTIONS
from tests.support.source_mutants import rewritten


def nothing(*_: Any) -> None:
    """Instead of what a guard does."""


def story(kind: str, scene: scenes.Scene) -> None:
    """All that is promised of a scene's failures."""
    for error in (failed.REFUSED, failed.UNANSWERED):
        failed.test_what_fails_is_told_by_a_condition_and_one_event_logged_and_tried_again_until_it_works(
            kind, scene, ACTIONS, error
        )


def brokers() -> None:
    story("Brokers", scenes.corrects_topics_of_kafka)


def status_of_a_hold() -> None:
    failed.test_a_status_that_cannot_be_written_is_an_event_and_in_the_log(
        "WALHold", scenes.holds, ACTIONS, failed.UNANSWERED
    )


def conflicts() -> None:
    failed.test_a_conflict_that_comes_back_each_time_is_told_until_it_works(
        "Brokers", scenes.corrects_topics_of_kafka, ACTIONS
    )


def status_meets_conflicts() -> None:
    failed.test_a_status_whose_every_write_meets_a_conflict_is_an_event_and_in_the_log("WALHold", scenes.holds, ACTIONS)


def conflicts_are_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_counted", lambda *args: args[-1])


def no_event_of_actions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_tell", nothing)


def no_event_of_a_status(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_tell", nothing)


def no_memory_of_what_was_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_remember", nothing)


def told_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_is_over", nothing)


def no_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reconciler, "_log_failure", nothing)


def clusters_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("seawall.domain.decision.standing_failure", nothing)


def policies_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("seawall.domain.decision.standing_failure", nothing)


def schedules_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("seawall.domain.decision.standing_failure", nothing)


def the_ledger_keeps_it_to_itself(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerWatch, "_keep_problem", nothing)


def brokers_forget(patch: pytest.MonkeyPatch) -> None:
    def forgotten(*observed: Any, **_: Any) -> Observed:
        return Observed(*observed[:3])

    patch.setattr("seawall.controllers.brokers.Observed", forgotten)


def datanodes_are_healthy_whatever_fails(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("seawall.domain.datanodes.health.FAILURES", frozenset[str]())


MUTANTS: tuple[Mutant, ...] = (
    (conflicts_are_nothing, conflicts),
    (conflicts_are_nothing, status_meets_conflicts),
    (no_event_of_actions, brokers),
    (no_event_of_a_status, status_of_a_hold),
    (no_memory_of_what_was_told, brokers),
    (
        rewritten(Reconciler, "_explain", "if failure.is_reported_by(posted):", "if True:"),
        lambda: lost.test_what_failed_while_the_lease_was_not_renewed_is_told_when_it_is(failed.UNANSWERED),
    ),
    (
        rewritten(
            Reconciler, "_tell", "self.controller.post(obj, event)", "(self.controller.post(obj, event) or True)"
        ),
        lambda: lost.test_what_the_api_server_did_not_take_is_posted_at_the_next_try(failed.REFUSED),
    ),
    (told_for_ever, failed.test_the_same_failure_after_it_worked_is_told_again),
    (no_log, brokers),
    (clusters_forget, lambda: story("WALCluster", scenes.creates_topics)),
    (policies_forget, lambda: story("WALPurgePolicy", scenes.follows_a_policy)),
    (schedules_forget, lambda: story("VerificationSchedule", scenes.keeps_a_schedule)),
    (the_ledger_keeps_it_to_itself, lambda: story("Ledger", scenes.watches_a_ledger)),
    (brokers_forget, brokers),
    (datanodes_are_healthy_whatever_fails, lambda: story("Restart", scenes.restarts)),
)


def test_every_story_is_true_while_nothing_is_taken_away() -> None:
    for _, each in MUTANTS:
        each()


def test_nothing_that_tells_of_failures_can_be_left_out() -> None:
    assert find_survivors(MUTANTS) == []

"""The rule that makes a step of a decision: a table of all that may come together."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.deletion_status import DeletionStatus
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict, find_condition, transition_events
from seawall.domain.decision import Decision, Failure, Published, settle, silent
from seawall.domain.step import Act, Record, Wait
from seawall.domain.times import REFUSED_SECONDS, UNANSWERED_SECONDS
from tests.domain.builders import NOW, make_cluster

AFTER = 7.0
VERDICT = Verdict(Outlook.PROGRESSING, "Working", "it works on it", AFTER)
RECENT = WALClusterStatus(deletion=DeletionStatus(decided_at=NOW, topics=3))
REFUSED, UNANSWERED = Failure("you may not", final=True), Failure("no answer", final=False)
BOOLS = (False, True)


def decide(
    cluster: WALCluster, *, changed_status: bool = False, acts: bool = False, **other: Any
) -> Decision[Any, str]:
    """A decision whose status says what is news, and whose conditions say the verdict."""
    status = cluster.status.model_copy(update={"deletion": RECENT.deletion}) if changed_status else cluster.status

    def publish(verdict: Verdict) -> Published[WALClusterStatus]:
        build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, NOW)
        reported = status.model_copy(update={"conditions": build.kstatus(verdict)})
        return Published(reported, transition_events(cluster.status.conditions, reported.conditions))

    where = ConditionType.READY if other.get("publishes_first") else None
    return Decision(status, VERDICT, ("act",) if acts else (), publish, **{"published_in": where, **other})


def after_record(cluster: WALCluster, step: Any) -> WALCluster:
    assert isinstance(step, Record), step
    return replace(cluster, status=step.status)


def ready(step: Any) -> tuple[str, str, str]:
    assert isinstance(step, Record), step
    found = find_condition(step.status.conditions, ConditionType.READY)
    assert found is not None
    return found.status, found.reason, found.message


@pytest.mark.parametrize(("changed_status", "acts", "first", "is_published"), list(product(BOOLS, BOOLS, BOOLS, BOOLS)))
def test_news_are_recorded_then_it_acts_then_it_publishes_then_it_waits(
    changed_status: bool,  # noqa: FBT001 - a parameter
    acts: bool,  # noqa: FBT001 - a parameter
    first: bool,  # noqa: FBT001 - a parameter
    is_published: bool,  # noqa: FBT001 - a parameter
) -> None:
    cluster = make_cluster()
    if is_published:  # the verdict stands in the status already
        cluster = after_record(cluster, settle(cluster, decide(cluster)))
    decision = decide(cluster, changed_status=changed_status, acts=acts, publishes_first=first)
    step = settle(cluster, decision)
    if changed_status or (not is_published and (first or not acts)):
        assert ready(step)[1] == VERDICT.reason
        assert step.after == (0.0 if changed_status or acts else AFTER)  # type: ignore[union-attr]
    else:
        assert step == (Act(("act",)) if acts else Wait(VERDICT.message, AFTER))


@pytest.mark.parametrize(("failure", "after"), [(REFUSED, REFUSED_SECONDS), (UNANSWERED, UNANSWERED_SECONDS)])
@pytest.mark.parametrize("first", BOOLS)
def test_a_failure_is_published_once_and_nothing_is_done_until_it_is_tried_again(
    failure: Failure,
    after: float,
    first: bool,  # noqa: FBT001 - a parameter
) -> None:
    cluster = make_cluster()
    cluster = after_record(cluster, settle(cluster, decide(cluster)))
    step = settle(cluster, decide(cluster, acts=True, publishes_first=first), failure)
    assert ready(step) == ("False", failure.reason, failure.message)
    assert step.after == after  # type: ignore[union-attr]
    assert [event.reason for event in step.events] == [failure.reason]  # type: ignore[union-attr]
    cluster = after_record(cluster, step)
    again = decide(cluster, acts=True, publishes_first=first)
    assert settle(cluster, again) == Act(("act",)), "it is tried again, and what people read does not flap"
    assert settle(cluster, again, failure) == Wait(failure.message, after), "and not told again"
    healed = settle(cluster, decide(cluster, publishes_first=first))
    assert ready(healed)[1] == VERDICT.reason


def test_a_failure_of_another_generation_does_not_stand() -> None:
    cluster = make_cluster()
    cluster = after_record(cluster, settle(cluster, decide(cluster, acts=True), REFUSED))
    edited = replace(cluster, metadata=cluster.metadata.model_copy(update={"generation": 2}))
    assert ready(settle(edited, decide(edited, acts=True, publishes_first=True)))[1] == VERDICT.reason


def test_what_has_to_be_mended_first_outranks_a_failure() -> None:
    cluster = make_cluster()
    grave = decide(cluster, acts=True, publishes_first=True, outranks_failures=True)
    assert ready(settle(cluster, grave, REFUSED))[1] == VERDICT.reason


@pytest.mark.parametrize("failure", [None, REFUSED, UNANSWERED])
def test_what_has_its_own_pace_keeps_it_whatever_fails(failure: Failure | None) -> None:
    cluster = make_cluster()
    step = settle(cluster, decide(cluster, acts=failure is not None, pace=3.0), failure)
    assert ready(step)
    assert step.after == 3.0  # type: ignore[union-attr]


@pytest.mark.parametrize(("at_latest", "after"), [(2.0, 2.0), (900.0, UNANSWERED_SECONDS), (None, UNANSWERED_SECONDS)])
def test_a_failure_delays_nothing_that_is_due(at_latest: float | None, after: float) -> None:
    cluster = make_cluster()
    step = settle(cluster, decide(cluster, acts=True, at_latest=at_latest), UNANSWERED)
    assert step.after == after  # type: ignore[union-attr]


def test_a_failure_that_another_controller_published_in_the_same_status_is_not_this_ones() -> None:
    cluster = make_cluster()
    cluster = after_record(cluster, settle(cluster, decide(cluster, acts=True, publishes_first=True), REFUSED))
    own = decide(cluster, acts=True, publishes_first=True, published_in=None)
    assert ready(settle(cluster, own))[1] == VERDICT.reason


def test_who_is_silent_acts_and_waits_and_writes_no_status() -> None:
    cluster = make_cluster()
    assert settle(cluster, silent(cluster, "over", 9.0)) == Wait("over", 9.0)
    assert settle(cluster, silent(cluster, "over", 9.0, "act")) == Act(("act",))
    assert settle(cluster, silent(cluster, "over", 9.0, "act"), REFUSED) == Wait("you may not", REFUSED_SECONDS)

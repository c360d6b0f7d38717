"""Deletion: topics go only with Delete, nothing waits for ever, and a person sees what is waited for."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.domain.cluster.actions import FinishDeletion, RemoveFinalizer
from seawall.domain.cluster.deletion import BATCH
from seawall.domain.cluster.observed import Observed
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Failure
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.step import Act, EventType, Record, Wait
from seawall.domain.topics.actions import DeleteTopics
from tests.domain.builders import (
    NOW,
    PINNED,
    make_cluster,
    make_kafka,
    make_spec,
    make_topic,
    next_step,
    observe,
    settle,
)

DELETE = make_spec({"deletionPolicy": "Delete"})
DOWN = NoKafka(Unreachable.NOT_ANSWERING, "down")
HELD = make_kafka(make_topic("wal_0"))


def deleted(spec: Any = DELETE, status: Any = PINNED, **metadata: Any) -> Any:
    return make_cluster(spec, status, deletionTimestamp=NOW, finalizers=[TOPICS_FINALIZER, "other"], **metadata)


def only_action(step: Act[Any] | Wait) -> Any:
    assert isinstance(step, Act), step
    (action,) = step.actions
    return action


def test_the_topics_of_the_pool_are_deleted_and_no_others() -> None:
    kafka = make_kafka(*(make_topic(name) for name in ("wal_0", "wal_1", "wal_2", "wal_x", "other")))
    _, step = settle(deleted(), observe(DELETE, kafka))
    assert step == Act((DeleteTopics(("wal_0", "wal_1")),))


def test_a_large_pool_is_deleted_in_batches() -> None:
    spec = make_spec({"deletionPolicy": "Delete", "count": BATCH + 5})
    kafka = make_kafka(*(make_topic(name) for name in spec.topics.topic_names()))
    _, step = settle(deleted(spec), observe(spec, kafka))
    assert len(only_action(step).names) == BATCH


def test_kafka_itself_has_the_last_word_on_what_is_left() -> None:
    """Metadata may be old or filtered by rights: the finalizer goes only after Kafka answered to a delete."""
    _, step = settle(deleted(), observe(DELETE, make_kafka(make_topic("wal_2"))))
    assert step == Act((FinishDeletion(("wal_0", "wal_1")),))


@pytest.mark.parametrize(
    ("cluster", "other"),
    [
        (deleted(make_spec()), {}),
        (deleted(annotations={PAUSED_ANNOTATION: "true"}), {}),
        (deleted(annotations={PAUSED_ANNOTATION: "True"}), {}),
        (deleted(), {"namespace_terminating": True}),
        (deleted(), {"conflicting_owner": Key("default", "older")}),
        (deleted(status=WALClusterStatus()), {}),
        (replace(deleted(), spec=InvalidSpec("no")), {}),
    ],
    ids=["Retain", "paused", "Paused", "namespace terminating", "owned by another", "never reached", "invalid spec"],
)
def test_the_finalizer_is_released_and_the_topics_stay(cluster: Any, other: dict[str, Any]) -> None:
    action = only_action(settle(cluster, observe(DELETE, HELD, **other))[1])
    assert isinstance(action, RemoveFinalizer)
    assert action.type is EventType.WARNING
    assert "the topics stay" in action.why


@pytest.mark.parametrize(
    "hindered",
    [
        Observed(NOW, kafka=DOWN),
        observe(DELETE, make_kafka(make_topic("wal_0"), cluster_id="stranger")),
        Observed(NOW, obstacle="403"),
    ],
    ids=["unreachable", "a strange Kafka", "not allowed"],
)
def test_what_hinders_is_told_and_waited_for_ten_minutes(hindered: Observed) -> None:
    step = next_step(deleted(), hindered)
    assert isinstance(step, Record)
    assert step.events
    reported = replace(deleted(), status=step.status)
    almost = replace(hindered, now=NOW + timedelta(minutes=9, seconds=59))
    assert isinstance(settle(reported, almost)[1], Wait)
    action = only_action(settle(reported, replace(hindered, now=NOW + timedelta(minutes=10)))[1])
    assert isinstance(action, RemoveFinalizer)


def test_ten_minutes_are_counted_from_the_first_failure_that_was_seen() -> None:
    """An operator that was away for an hour does not give up at its first failed look."""
    late = Observed(NOW + timedelta(hours=1), kafka=DOWN)
    cluster, step = settle(deleted(), late)
    assert isinstance(step, Wait)
    still = replace(late, now=late.now + timedelta(minutes=9))
    assert isinstance(settle(cluster, still)[1], Wait)


def test_a_reachable_kafka_is_not_given_up_on() -> None:
    late = replace(observe(DELETE, HELD), now=NOW + timedelta(hours=1))
    assert settle(deleted(), late)[1] == Act((DeleteTopics(("wal_0",)),))


def test_nothing_is_deleted_while_a_rival_cannot_be_ruled_out() -> None:
    cluster, step = settle(deleted(), observe(DELETE, HELD, unreadable=("gone",)))
    assert isinstance(step, Wait)
    ready = find_condition(cluster.status.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.message == "the WALClusters of namespace gone cannot be read, and one of them may own these topics"


@pytest.mark.parametrize(("final", "reason"), [(True, "ChangeRefused"), (False, "ChangeUnanswered")])
def test_a_failed_delete_is_told_and_waited_on(final: bool, reason: str) -> None:  # noqa: FBT001 - a parameter
    observed, failure = observe(DELETE, HELD), Failure("Topic authorization failed.", final=final)
    step = next_step(deleted(), observed, failure)
    assert isinstance(step, Record)
    ready = find_condition(step.status.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.reason, ready.message) == (reason, "Topic authorization failed.")
    assert isinstance(next_step(replace(deleted(), status=step.status), observed, failure), Wait)


def test_without_our_finalizer_there_is_nothing_to_do() -> None:
    cluster = make_cluster(DELETE, PINNED, deletionTimestamp=NOW, finalizers=["other"])
    assert isinstance(next_step(cluster, observe(DELETE, HELD)), Wait)

"""Deletion: topics go only with Delete, nothing waits for ever, and a person sees what is waited for."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, Condition, ConditionType, InvalidSpec, Key
from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.domain.clocks import ServerTime
from seawall.domain.cluster.actions import FinishDeletion, RemoveFinalizer
from seawall.domain.cluster.deletion import BATCH
from seawall.domain.cluster.observed import Needs, Observed
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Failure
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.step import Act, EventType, Record, Wait
from seawall.domain.times import CLUSTER_SILENT_SECONDS
from seawall.domain.topics.actions import DeleteTopics
from tests.domain.builders import (
    NOW,
    PINNED,
    make_cluster,
    make_kafka,
    make_pool,
    make_spec,
    make_topic,
    next_step,
    observe,
    settle,
)

DELETE = make_spec({"deletionPolicy": "Delete"})
DOWN = NoKafka(Unreachable.NOT_ANSWERING, "down")
HELD = make_kafka(make_topic("wal_0"))
MINUTE = timedelta(minutes=1)


def deleted(spec: Any = DELETE, status: Any = PINNED, **metadata: Any) -> Any:
    return make_cluster(spec, status, deletionTimestamp=NOW, finalizers=[TOPICS_FINALIZER, "other"], **metadata)


def asked_each_minute(cluster: Any, observed: Observed, since: Any, until: Any) -> tuple[Any, Any]:
    """The WALCluster, and the last step, when it is looked at once a minute."""
    step: Any = None
    for minute in range((until - since) // MINUTE + 1):
        cluster, step = settle(cluster, replace(observed, now=since + minute * MINUTE))
        if isinstance(step, Act):
            break
    return cluster, step


def unanswered(cluster: WALCluster) -> Stretch | None:
    """What is written down of the silence."""
    return None if cluster.status.kafka is None else cluster.status.kafka.unanswered


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
    reported, step = asked_each_minute(reported, hindered, NOW, NOW + timedelta(minutes=9))
    assert isinstance(step, Wait)
    almost = replace(hindered, now=NOW + timedelta(minutes=9, seconds=59))
    assert isinstance(settle(reported, almost)[1], Wait)
    action = only_action(settle(reported, replace(hindered, now=NOW + timedelta(minutes=10)))[1])
    assert isinstance(action, RemoveFinalizer)


UNREACHABLE = Condition(
    type=ConditionType.KAFKA_REACHABLE.value,
    status="False",
    reason="KafkaNotAnswering",
    last_transition_time=NOW - timedelta(hours=1),
)
FAILED_BEFORE = PINNED.model_copy(update={"conditions": (UNREACHABLE,)})


@pytest.mark.parametrize("status", [PINNED, FAILED_BEFORE], ids=["well", "not reachable an hour ago"])
def test_ten_minutes_are_counted_from_the_first_failure_that_was_seen(status: WALClusterStatus) -> None:
    """An operator that was away for an hour does not give up at its first failed look, whatever was written before."""
    began = NOW + timedelta(hours=1)
    cluster, step = asked_each_minute(deleted(status=status), Observed(NOW, kafka=DOWN), began, began + 9 * MINUTE)
    assert isinstance(step, Wait)
    _, step = settle(cluster, Observed(began + 10 * MINUTE, kafka=DOWN))
    assert isinstance(only_action(step), RemoveFinalizer)


def test_a_strange_kafka_is_asked_each_minute_however_long_the_resync_is() -> None:
    """Else each time would be the first."""
    _, step = settle(deleted(), observe(DELETE, make_kafka(make_topic("wal_0"), cluster_id="stranger")))
    assert isinstance(step, Wait)
    assert step.after == CLUSTER_SILENT_SECONDS


def test_a_time_in_which_nobody_asked_is_no_silence() -> None:
    cluster, _ = asked_each_minute(deleted(), Observed(NOW, kafka=DOWN), NOW, NOW + 5 * MINUTE)
    again = NOW + timedelta(hours=1)
    cluster, step = asked_each_minute(cluster, Observed(NOW, kafka=DOWN), again, again + 9 * MINUTE)
    assert isinstance(step, Wait)


@pytest.mark.parametrize("unreadable", [(), ("gone",)], ids=["all is well", "its rivals cannot be read"])
def test_an_answer_of_kafka_in_between_begins_them_anew(unreadable: tuple[str, ...]) -> None:
    cluster, _ = asked_each_minute(deleted(), Observed(NOW, kafka=DOWN), NOW, NOW + 9 * MINUTE)
    assert unanswered(cluster) is not None
    held = Needs(holds="they cannot be read", observation=None, pool=make_pool(["wal_0"]))
    answered = observe(DELETE, HELD, needs=held, unreadable=unreadable)
    cluster, step = settle(cluster, replace(answered, now=NOW + 10 * MINUTE))
    assert isinstance(step, Wait)
    assert unanswered(cluster) is None
    down = Observed(NOW, kafka=DOWN)
    _, step = asked_each_minute(cluster, down, NOW + 11 * MINUTE, NOW + 20 * MINUTE)
    assert isinstance(step, Wait)


def test_a_clock_that_is_ahead_gives_nobody_up_early() -> None:
    """An operator takes over whose clock is an hour ahead of the API server's."""
    cluster, _ = asked_each_minute(deleted(), Observed(NOW, kafka=DOWN), NOW, NOW + 5 * MINUTE)
    now, true = NOW + timedelta(hours=1), NOW + 6 * MINUTE
    ahead = Observed(now, kafka=DOWN, server=ServerTime(true, timedelta(0), timedelta(0)))
    cluster, step = settle(cluster, ahead)
    assert isinstance(step, Wait)
    silence = unanswered(cluster)
    assert silence is not None
    assert silence.from_time == NOW


def test_a_namespace_that_goes_is_not_kept_by_a_kafka_that_was_not_reachable() -> None:
    """Nothing but the namespace is read then."""
    _, step = settle(deleted(status=FAILED_BEFORE), Observed(NOW, namespace_terminating=True))
    assert isinstance(only_action(step), RemoveFinalizer)


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

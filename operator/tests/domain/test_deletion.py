"""The deletion of a WALCluster: topics go only with Delete, and nothing waits for ever."""

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, Key
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.step import Act, Wait
from seawall.domain.topics.actions import DeleteTopics
from seawall.domain.wal_cluster.actions import RemoveFinalizer
from seawall.domain.wal_cluster.next_step import next_step
from seawall.domain.wal_cluster.observed import Failure, Observed
from tests.domain.builders import NOW, PINNED, make_cluster, make_kafka, make_spec, make_topic, observe

DELETE = make_spec({"deletionPolicy": "Delete"})
DOWN = NoKafka(Unreachable.NOT_ANSWERING, "down")


def deleted(spec: Any = DELETE, status: Any = PINNED, **metadata: Any) -> Any:
    return make_cluster(spec, status, deletionTimestamp=NOW, finalizers=[TOPICS_FINALIZER, "other"], **metadata)


def test_the_topics_of_the_pool_are_deleted_and_no_others() -> None:
    kafka = make_kafka(*(make_topic(name) for name in ("wal_0", "wal_1", "wal_2", "wal_x", "other")))
    assert next_step(deleted(), observe(DELETE, kafka)) == Act((DeleteTopics(("wal_0", "wal_1")),))


def test_the_finalizer_goes_when_no_topic_of_the_pool_is_left() -> None:
    step = next_step(deleted(), observe(DELETE, make_kafka(make_topic("wal_2"))))
    assert isinstance(step, Act)
    assert isinstance(step.actions[0], RemoveFinalizer)


@pytest.mark.parametrize(
    ("cluster", "other"),
    [
        (deleted(make_spec()), {}),
        (deleted(annotations={PAUSED_ANNOTATION: "true"}), {}),
        (deleted(), {"namespace_terminating": True}),
        (deleted(), {"rival": Key("default", "older")}),
    ],
    ids=["Retain", "paused", "namespace terminating", "owned by another"],
)
def test_the_finalizer_is_released_and_the_topics_stay(cluster: Any, other: dict[str, Any]) -> None:
    step = next_step(cluster, observe(DELETE, make_kafka(make_topic("wal_0")), **other))
    assert isinstance(step, Act)
    (action,) = step.actions
    assert isinstance(action, RemoveFinalizer)
    assert "the topics stay" in action.why


@pytest.mark.parametrize("kafka", [DOWN, make_kafka(make_topic("wal_0"), cluster_id="stranger")])
def test_an_unreachable_or_strange_kafka_is_waited_for_ten_minutes(kafka: Any) -> None:
    early = Observed(NOW + timedelta(minutes=9, seconds=59), kafka=kafka)
    assert isinstance(next_step(deleted(), early), Wait)
    step = next_step(deleted(), Observed(NOW + timedelta(minutes=10), kafka=kafka))
    assert isinstance(step, Act)
    assert isinstance(step.actions[0], RemoveFinalizer)


def test_a_reachable_kafka_is_not_given_up_on() -> None:
    late = Observed(NOW + timedelta(hours=1), kafka=make_kafka(make_topic("wal_0")))
    step = next_step(deleted(), late)
    assert step == Act((DeleteTopics(("wal_0",)),))


def test_a_failed_delete_is_waited_on() -> None:
    observed = observe(DELETE, make_kafka(make_topic("wal_0")), failure=Failure("no answer", final=False))
    assert isinstance(next_step(deleted(), observed), Wait)


def test_without_our_finalizer_there_is_nothing_to_do() -> None:
    cluster = make_cluster(DELETE, PINNED, deletionTimestamp=NOW, finalizers=["other"])
    assert isinstance(next_step(cluster, observe(DELETE, make_kafka(make_topic("wal_0")))), Wait)

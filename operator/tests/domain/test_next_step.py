"""The gates of one tick, in their order."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import PAUSED_ANNOTATION, TOPICS_FINALIZER, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.domain.cluster.actions import AddFinalizer, RemoveFinalizer, WriteConfigMap
from seawall.domain.cluster.observed import Observed
from seawall.domain.conditions import find_condition
from seawall.domain.decision import Failure
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.step import Act, EventType, Record, Wait
from seawall.domain.topics.actions import CreateTopics, GuardRetention
from seawall.domain.walconfig.render import render_wal_config
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

POOL = (make_topic("wal_0"), make_topic("wal_1"))


def recorded(cluster: WALCluster, observed: Observed) -> WALClusterStatus:
    """The status that the tick records."""
    step = next_step(cluster, observed)
    assert isinstance(step, Record), step
    return step.status


def settled(cluster: WALCluster, observed: Observed) -> WALCluster:
    """The WALCluster after its tick recorded the truth."""
    return replace(cluster, status=recorded(cluster, observed))


def conditions(status: WALClusterStatus) -> dict[str, str]:
    return {condition.type: condition.status for condition in status.conditions}


def ready_reason(status: WALClusterStatus) -> str:
    ready = find_condition(status.conditions, ConditionType.READY)
    assert ready is not None
    return ready.reason


def test_an_invalid_spec_stalls_and_keeps_what_is_known() -> None:
    cluster = replace(make_cluster(status=PINNED), spec=InvalidSpec("spec.topics: no"))
    status = recorded(cluster, Observed(NOW))
    assert conditions(status) == {
        "Ready": "False",
        "Reconciling": "False",
        "Stalled": "True",
        "KafkaReachable": "Unknown",
        "TopicsReady": "Unknown",
    }
    assert status.kafka == PINNED.kafka


def test_first_contact_pins_the_cluster_before_anything_is_touched() -> None:
    cluster = make_cluster()
    status = recorded(cluster, observe(make_spec(), make_kafka()))
    assert status.kafka is not None
    assert status.kafka.cluster_id == "cluster-1"
    assert ready_reason(status) == "FirstContact"


@pytest.mark.parametrize(
    ("spec", "status"),
    [(make_spec(external={"clusterId": "other"}), WALClusterStatus()), (make_spec(), PINNED)],
    ids=["the spec's guard", "the pinned id"],
)
def test_another_kafka_is_never_touched(spec: WALClusterSpec, status: WALClusterStatus) -> None:
    observed = observe(spec, make_kafka(make_topic("wal_0"), cluster_id="stranger"), {"wal_0": {}})
    cluster = settled(make_cluster(spec, status), observed)
    assert ready_reason(cluster.status) == "WrongCluster"
    assert isinstance(next_step(cluster, observed), Wait)


def test_the_younger_of_two_claims_is_stalled() -> None:
    observed = observe(make_spec(), make_kafka(), conflicting_owner=Key("default", "older"))
    cluster = settled(make_cluster(status=PINNED), observed)
    assert ready_reason(cluster.status) == "PrefixClaimed"
    assert isinstance(next_step(cluster, observed), Wait)


@pytest.mark.parametrize(
    ("why", "stalled"),
    [
        (Unreachable.NOT_ANSWERING, "False"),
        (Unreachable.AUTHENTICATION_FAILED, "True"),
        (Unreachable.TLS_FAILED, "True"),
        (Unreachable.SECRET_MISSING, "True"),
    ],
)
def test_only_silence_is_waited_for(why: Unreachable, stalled: str) -> None:
    observed = Observed(NOW, kafka=NoKafka(why, "why"))
    cluster = settled(make_cluster(status=PINNED), observed)
    assert conditions(cluster.status)["Stalled"] == stalled
    assert conditions(cluster.status)["KafkaReachable"] == "False"
    assert cluster.status.kafka == PINNED.kafka
    assert next_step(cluster, observed) == Wait("why", 5.0 if why is Unreachable.NOT_ANSWERING else None)


def test_the_status_tells_what_will_be_done_before_it_is_done() -> None:
    observed = observe(make_spec(), make_kafka())
    cluster = settled(make_cluster(status=PINNED), observed)
    assert ready_reason(cluster.status) == "CreatingTopics"
    step = next_step(cluster, observed)
    assert isinstance(step, Act)
    assert [type(action) for action in step.actions] == [CreateTopics]


def test_all_as_declared_is_ready_and_waits_for_the_resync() -> None:
    observed = observe(make_spec(), make_kafka(*POOL))
    cluster = settled(make_cluster(status=PINNED), observed)
    assert conditions(cluster.status) == {
        "Ready": "True",
        "Reconciling": "False",
        "Stalled": "False",
        "KafkaReachable": "True",
        "TopicsReady": "True",
    }
    assert next_step(cluster, observed) == Wait("2 topics are ready", None)


@pytest.mark.parametrize(
    ("kafka", "reason", "stalled"),
    [
        (make_kafka(online=(1, 2)), "ReplicationFactorTooHigh", "True"),
        (make_kafka(*POOL, online=(1, 2)), "BrokersMissing", "False"),
        (make_kafka(POOL[0], make_topic("wal_1", partitions=3)), "PartitionsDiffer", "True"),
        (make_kafka(POOL[0], make_topic("wal_1", (1, 2))), "Reassigning", "False"),
        (make_kafka(POOL[0], make_topic("wal_1", leader=None)), "WaitingForLeaders", "False"),
        (make_kafka(POOL[0], make_topic("wal_1", isr=(1,))), "UnderMinISR", "False"),
    ],
)
def test_what_keeps_a_pool_from_being_ready(kafka: Any, reason: str, stalled: str) -> None:
    status = recorded(make_cluster(status=PINNED), observe(make_spec(), kafka))
    assert ready_reason(status) == reason
    assert conditions(status)["Stalled"] == stalled
    assert conditions(status)["Ready"] == "False"


def test_topics_are_not_created_on_too_few_brokers_but_are_guarded() -> None:
    observed = observe(make_spec(), make_kafka(make_topic("wal_0", online := (1, 2)), online=online), {"wal_0": {}})
    cluster = settled(make_cluster(status=PINNED), observed)
    step = next_step(cluster, observed)
    assert isinstance(step, Act)
    assert isinstance(step.actions[0], GuardRetention)
    assert not any(isinstance(action, CreateTopics) for action in step.actions)


def test_a_paused_object_is_observed_and_not_touched() -> None:
    observed = observe(make_spec(), make_kafka(POOL[0]))
    cluster = settled(make_cluster(status=PINNED, annotations={PAUSED_ANNOTATION: "true"}), observed)
    assert ready_reason(cluster.status) == "Paused"
    assert conditions(cluster.status)["Stalled"] == conditions(cluster.status)["Reconciling"] == "False"
    assert isinstance(next_step(cluster, observed), Wait)


def test_a_refusal_is_recorded_stands_while_it_is_retried_and_ends_with_an_edit() -> None:
    observed = observe(make_spec(), make_kafka())
    failure = Failure("Unknown topic config name: nonsense", final=True)
    refused = settle(make_cluster(status=PINNED), observed, failure)[0]
    assert ready_reason(refused.status) == "ChangeRefused"
    assert isinstance(next_step(refused, observed, failure), Wait), "a tick that failed must not act again"
    assert isinstance(next_step(refused, observed), Act), "the next tick tries again and the status does not flap"
    edited = replace(refused, metadata=refused.metadata.model_copy(update={"generation": 2}))
    assert ready_reason(recorded(edited, observed)) == "CreatingTopics"


def test_a_recorded_status_is_followed_at_once_only_where_there_is_something_to_do() -> None:
    cluster = make_cluster(status=PINNED)
    ready, missing = observe(make_spec(), make_kafka(*POOL)), observe(make_spec(), make_kafka())
    waiting = observe(make_spec(), make_kafka(*POOL, online=(1, 2)))
    steps = [next_step(cluster, observed) for observed in (ready, missing, waiting)]
    assert [step.after for step in steps if isinstance(step, Record)] == [None, 0.0, 5.0]


def test_the_wal_config_follows_its_topics() -> None:
    spec = make_spec(dataPlane={"walConfig": {"configMapName": "wal"}})
    missing = observe(spec, make_kafka(POOL[0]))
    step = next_step(settled(make_cluster(spec, PINNED), missing), missing)
    assert isinstance(step, Act)
    assert [type(action) for action in step.actions] == [CreateTopics]
    too_few = observe(spec, make_kafka(POOL[0], online=(1, 2)))
    step = next_step(settled(make_cluster(spec, PINNED), too_few), too_few)
    assert isinstance(step, Wait), "topics that cannot be created yet must not be named to the database"
    there = observe(spec, make_kafka(*POOL))
    step = next_step(settled(make_cluster(spec, PINNED), there), there)
    assert isinstance(step, Act)
    assert [type(action) for action in step.actions] == [WriteConfigMap]


@pytest.mark.parametrize(
    "found",
    [
        ConfigMap(Key("default", "wal"), {"metasrv.toml": "mine"}, "another-uid", "7"),
        ConfigMap(Key("default", "wal"), {"about": "a journal"}, "uid-1", "7", {"plan": b"moves"}),
    ],
)
def test_a_config_map_of_somebody_else_or_for_something_else_is_not_touched(found: ConfigMap) -> None:
    spec = make_spec(dataPlane={"walConfig": {"configMapName": "wal"}})
    observed = observe(spec, make_kafka(*POOL), config_map=found)
    cluster = settled(make_cluster(spec, PINNED), observed)
    assert ready_reason(cluster.status) == "ConfigMapTaken"
    assert isinstance(next_step(cluster, observed), Wait)


def test_an_edited_config_map_is_replaced_at_the_version_that_was_read() -> None:
    spec = make_spec(dataPlane={"walConfig": {"configMapName": "wal"}})
    edited = ConfigMap(Key("default", "wal"), {"metasrv.toml": "edited"}, "uid-1", "7")
    observed = observe(spec, make_kafka(*POOL), config_map=edited)
    step = next_step(settled(make_cluster(spec, PINNED), observed), observed)
    assert step == Act((WriteConfigMap(replace(edited, data=render_wal_config(Key("default", "db"), spec))),))


def test_the_finalizer_stands_before_topics_are_made_and_only_with_delete() -> None:
    delete = make_spec({"deletionPolicy": "Delete"})
    assert next_step(make_cluster(delete), observe(delete, make_kafka())) == Act((AddFinalizer(),))
    retained = make_cluster(finalizers=[TOPICS_FINALIZER])
    step = next_step(retained, observe(make_spec(), make_kafka()))
    assert isinstance(step, Act)
    assert isinstance(step.actions[0], RemoveFinalizer)


def test_losing_ready_is_a_warning_and_a_repeated_tick_posts_nothing() -> None:
    healthy = observe(make_spec(), make_kafka(*POOL))
    cluster = settled(make_cluster(status=PINNED), healthy)
    step = next_step(cluster, observe(make_spec(), make_kafka(*POOL, online=(1, 2))))
    assert isinstance(step, Record)
    assert [(event.type, event.reason) for event in step.events] == [(EventType.WARNING, "BrokersMissing")]
    again = next_step(replace(cluster, status=step.status), observe(make_spec(), make_kafka(*POOL, online=(1, 2))))
    assert isinstance(again, Wait)


def test_what_the_operator_may_not_look_at_is_said_and_stops_it() -> None:
    observed = Observed(NOW, obstacle="Topic authorization failed.")
    cluster = settled(make_cluster(status=PINNED), observed)
    assert ready_reason(cluster.status) == "NotAllowed"
    assert isinstance(next_step(cluster, observed), Wait)


def test_a_claim_that_was_seen_stands_while_not_all_claims_can_be_read() -> None:
    claimed, _ = settle(
        make_cluster(status=PINNED), observe(make_spec(), make_kafka(), conflicting_owner=Key("default", "older"))
    )
    unaware, step = settle(claimed, observe(make_spec(), make_kafka(), unreadable=("gone",)))
    assert ready_reason(unaware.status) == "PrefixClaimed"
    assert isinstance(step, Wait)
    free, step = settle(claimed, observe(make_spec(), make_kafka()))
    assert ready_reason(free.status) == "CreatingTopics"
    assert isinstance(step, Act)


def test_a_refused_guard_of_a_foreign_topic_neither_flaps_nor_hides() -> None:
    observed = observe(make_spec(), make_kafka(*POOL, make_topic("wal_9")), {"wal_9": {}})
    cluster, step = settle(make_cluster(status=PINNED), observed, Failure("Policy.", final=True))
    assert ready_reason(cluster.status) == "ChangeRefused"
    assert isinstance(step, Wait)
    assert isinstance(next_step(cluster, observed), Act), "it is tried again without a word in the status"


def test_a_refusal_ends_when_nothing_is_left_to_do() -> None:
    seen = observe(make_spec(), make_kafka(*POOL), {"wal_0": {}})
    refused, _ = settle(make_cluster(status=PINNED), seen, Failure("no", final=True))
    ready, _ = settle(refused, observe(make_spec(), make_kafka(*POOL)))
    assert ready_reason(ready.status) == "Ready"


def test_topics_are_created_on_online_brokers_only_though_more_are_known() -> None:
    seen = observe(make_spec(), make_kafka(make_topic("wal_0", isr=(1, 2)), online=(1, 2)))
    cluster, step = settle(make_cluster(status=PINNED), seen)
    assert ready_reason(cluster.status) == "BrokersMissing"
    assert isinstance(step, Wait)


def test_missing_brokers_are_told_before_an_old_refusal() -> None:
    seen = observe(make_spec(), make_kafka(POOL[0]))
    refused, _ = settle(make_cluster(status=PINNED), seen, Failure("no", final=True))
    later, _ = settle(refused, observe(make_spec(), make_kafka(POOL[0], online=(1,))))
    assert ready_reason(later.status) == "BrokersMissing"


def test_what_does_not_end_is_looked_at_less_often() -> None:
    leaderless = observe(make_spec(), make_kafka(*(make_topic(f"wal_{n}", leader=None) for n in range(2))))
    cluster, step = settle(make_cluster(status=PINNED), leaderless)
    assert step == Wait("2 of 2 topics have no leader", 0.5)
    later = replace(leaderless, now=NOW + timedelta(minutes=1))
    assert settle(cluster, later)[1] == Wait("2 of 2 topics have no leader", 5.0)

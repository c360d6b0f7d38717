"""What of a Kafka cluster is Strimzi's, what a WALCluster says of it, and that it is left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALClusterSpec
from seawall.domain.cluster.decide import decide, plan_actions
from seawall.domain.cluster.needed import why_needed
from seawall.domain.cluster.observed import Needs, Observed
from seawall.domain.cluster.verdict import Case
from seawall.domain.conditions import find_condition
from seawall.domain.kafka import KafkaView
from seawall.domain.sharing import (
    LET_GO,
    KafkaRebalance,
    KafkaTopic,
    Sharing,
    StrimziKafka,
    StrimziView,
    sharing_of,
)
from seawall.domain.topics.actions import CreateTopics, GuardRetention, RepairConfigs
from tests.domain.builders import (
    CLUSTER_ID,
    PINNED,
    good_configs,
    make_cluster,
    make_kafka,
    make_spec,
    make_topic,
    observe,
)

FIRST = Key("kafka", "wal-0")
OURS, OTHER = StrimziKafka(Key("kafka", "ours"), CLUSTER_ID), StrimziKafka(Key("kafka", "other"), "cluster-2")
UNKNOWN = StrimziKafka(Key("kafka", "new"), None)
MANAGED = Sharing({"wal_0": FIRST})
SPEC = make_spec()


# --- what is Strimzi's


@pytest.mark.parametrize(
    ("label", "is_ours"), [("ours", True), ("other", False), ("new", True), ("of-nobody", True), (None, True)]
)
def test_a_topic_of_another_cluster_is_not_ours_and_what_cannot_be_told_is(label: str | None, *, is_ours: bool) -> None:
    view = StrimziView((OURS, OTHER, UNKNOWN), (KafkaTopic(FIRST, "wal_0", label),))
    assert ("wal_0" in sharing_of(view, CLUSTER_ID).managed) is is_ours


def test_two_clusters_of_one_name_in_two_namespaces_may_both_be_meant() -> None:
    namesake = StrimziKafka(Key("elsewhere", "other"), CLUSTER_ID)
    view = StrimziView((OTHER, namesake), (KafkaTopic(FIRST, "wal_0", "other"),))
    assert sharing_of(view, CLUSTER_ID).managed == {"wal_0": FIRST}


def test_a_topic_that_is_not_managed_is_ours() -> None:
    view = StrimziView((), (KafkaTopic(FIRST, "wal_0", is_managed=False),))
    assert sharing_of(view, CLUSTER_ID).managed == {}


@pytest.mark.parametrize("state", ["", "New", "PendingProposal", "ProposalReady", "Stopped", "NotReady", "Ready"])
def test_only_a_rebalance_that_moves_counts(state: str) -> None:
    key = Key("kafka", "even")
    assert sharing_of(StrimziView((), (), (KafkaRebalance(key, "ours", state),)), CLUSTER_ID).rebalance is None
    view = StrimziView((OTHER,), (), (KafkaRebalance(key, "ours", "Rebalancing"),))
    assert sharing_of(view, CLUSTER_ID).rebalance == key
    elsewhere = StrimziView((OTHER,), (), (KafkaRebalance(key, "other", "Rebalancing"),))
    assert sharing_of(elsewhere, CLUSTER_ID).rebalance is None


# --- what is done


def case_of(kafka: KafkaView, sharing: Sharing | str | None, configs: dict[str, Any] | None = None) -> Case:
    observed = observe(SPEC, kafka, configs, sharing=sharing)
    assert observed.pool is not None
    return Case(make_cluster(SPEC, PINNED), SPEC, kafka, observed.pool, observed, None)


UNSAFE = good_configs(SPEC.topics, retention_ms="604800000", segment_bytes="1")
BOTH = make_kafka(make_topic("wal_0"), make_topic("wal_1"))


def test_a_managed_topic_is_neither_guarded_nor_repaired_and_the_others_are() -> None:
    actions = plan_actions(case_of(BOTH, MANAGED, {"wal_0": UNSAFE, "wal_1": UNSAFE}))
    guards, repairs = actions
    assert isinstance(guards, GuardRetention)
    assert isinstance(repairs, RepairConfigs)
    assert [change.topic for change in (*guards.changes, *repairs.changes)] == ["wal_1", "wal_1"]


def test_a_managed_topic_is_not_made() -> None:
    (action,) = plan_actions(case_of(make_kafka(), MANAGED))
    assert isinstance(action, CreateTopics)
    assert [topic.name for topic in action.topics] == ["wal_1"]


@pytest.mark.parametrize("sharing", [None, Sharing(), "it cannot be read"])
def test_else_all_topics_are_guarded(sharing: Sharing | str | None) -> None:
    """Who cannot look goes on: that Kafka removes records is worse than two who alter one topic."""
    (guards, _) = plan_actions(case_of(BOTH, sharing, {"wal_0": UNSAFE, "wal_1": UNSAFE}))
    assert isinstance(guards, GuardRetention)
    assert [change.topic for change in guards.changes] == ["wal_0", "wal_1"]


def test_topics_that_are_managed_are_not_deleted() -> None:
    verdict = why_needed(make_cluster(), ["wal_0", "wal_1"], Needs((), None, sharing=MANAGED))
    assert verdict is not None
    assert (verdict.reason, verdict.message) == (
        "TopicsManagedByStrimzi",
        f"KafkaTopic kafka/wal-0 manages topic wal_0: {LET_GO}, or set deletionPolicy: Retain to keep the topics",
    )


def test_nothing_is_deleted_while_nobody_knows_who_manages_it() -> None:
    verdict = why_needed(make_cluster(), ["wal_0"], Needs((), None, sharing="no right"))
    assert verdict is not None
    assert (verdict.reason, "no right" in verdict.message) == ("TopicUseUnknown", True)
    assert why_needed(make_cluster(), ["wal_0"], Needs((), None, sharing=Sharing())) is None


# --- what is said


def conditions_of(spec: WALClusterSpec, observed: Observed) -> dict[str, tuple[str, str, str]]:
    cluster = make_cluster(spec, PINNED)
    decision = decide(cluster, observed)
    assert decision.publish is not None
    found = decision.publish(decision.verdict).status.conditions
    return {each.type: (each.status, each.reason, each.message) for each in found}


def test_nothing_is_said_where_nobody_asks() -> None:
    assert "SharedWithStrimzi" not in conditions_of(SPEC, observe(SPEC, BOTH))


def test_a_managed_topic_that_is_as_declared_is_ready_and_told() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, sharing=MANAGED))
    assert found["Ready"][:2] == ("True", "Ready")
    assert found["SharedWithStrimzi"] == (
        "True",
        "TopicsManagedByStrimzi",
        f"KafkaTopic kafka/wal-0 manages topic wal_0, and who deletes that deletes the log: {LET_GO}",
    )


def test_a_managed_topic_of_which_kafka_may_remove_records_stalls() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, {"wal_0": UNSAFE}, sharing=MANAGED))
    assert found["Stalled"][:2] == ("True", "TopicsManagedByStrimzi")
    assert "manages topic wal_0, and Kafka may remove records by itself; it is left alone" in found["Ready"][2]


def test_a_managed_topic_with_another_replication_factor_stalls_and_waits_for_no_plan() -> None:
    kafka = make_kafka(make_topic("wal_0", replicas=(1, 2)), make_topic("wal_1"))
    found = conditions_of(SPEC, observe(SPEC, kafka, sharing=MANAGED))
    assert found["Stalled"][:2] == ("True", "TopicsManagedByStrimzi")
    assert "which is not as this WALCluster declares it" in found["Ready"][2]


def test_a_rebalance_is_told() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, sharing=Sharing({}, Key("kafka", "even"))))
    assert found["SharedWithStrimzi"] == (
        "True",
        "RebalanceRunning",
        "KafkaRebalance kafka/even moves replicas: no reassignment goes on until it is over",
    )


def test_both_are_told_in_one_condition() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, sharing=replace(MANAGED, rebalance=Key("kafka", "even"))))
    status, reason, message = found["SharedWithStrimzi"]
    assert (status, reason) == ("True", "TopicsManagedByStrimzi")
    assert "KafkaTopic kafka/wal-0 manages" in message
    assert "KafkaRebalance kafka/even moves replicas" in message


def test_a_topic_of_somebody_elses_pool_is_none_of_ours() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, sharing=Sharing({"orders": FIRST})))
    assert found["SharedWithStrimzi"][:2] == ("False", "NotShared")


def test_that_no_kafka_of_strimzis_is_this_one_is_told_too() -> None:
    for kafkas, where in (((OTHER,), "set strimzi.namespaces"), ((), "set strimzi.namespaces"), ((OURS, OTHER), None)):
        found = conditions_of(SPEC, observe(SPEC, BOTH, sharing=sharing_of(StrimziView(kafkas), CLUSTER_ID)))
        status, reason, message = found["SharedWithStrimzi"]
        assert (status, reason) == ("False", "NotShared")
        assert (where is not None) is ("none of the Kafkas that were found is this one" in message)


def test_what_cannot_be_read_is_told() -> None:
    found = conditions_of(SPEC, observe(SPEC, BOTH, sharing="it cannot be read"))
    assert found["SharedWithStrimzi"] == ("Unknown", "StrimziUnknown", "it cannot be read")


def test_what_was_known_stays_while_kafka_does_not_answer() -> None:
    cluster = make_cluster(SPEC, PINNED)
    decision = decide(cluster, observe(SPEC, BOTH, sharing=MANAGED))
    assert decision.publish is not None
    told = replace(cluster, status=decision.publish(decision.verdict).status)
    later = decide(told, Observed(observe(SPEC, BOTH).now, obstacle="Kafka refused"))
    assert later.publish is not None
    after = later.publish(later.verdict).status.conditions
    before = find_condition(told.status.conditions, ConditionType.SHARED_WITH_STRIMZI)
    assert find_condition(after, ConditionType.SHARED_WITH_STRIMZI) == before

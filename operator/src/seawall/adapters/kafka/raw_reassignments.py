"""Reassignments, elections, throttles and min.insync.replicas by kafka-python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError
from kafka.errors import ElectionNotNeededError, NoReassignmentInProgressError
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)

from seawall.adapters.kafka.errors import UNKNOWN_TOPIC, failure_of_partition, raise_error
from seawall.adapters.kafka.raw import RawKafka, answered
from seawall.adapters.kafka.raw_configs import (
    BROKER,
    DEFAULT,
    EVERY_BROKER,
    OWN,
    TOPIC,
    alter,
    alter_default_configs,
    configs_of_brokers,
    describe,
)
from seawall.adapters.kafka.topic_answers import failure_of, unanswered
from seawall.domain.kafka import MIN_ISR
from seawall.domain.kafka_log import TopicFailure
from seawall.domain.partitions import NO_RATES, PartitionId, Rates, Reassigning, Replica, ThrottledReplicas
from seawall.domain.throttles import FOLLOWER_RATE, LEADER_RATE

PREFERRED = 0
"""The election that ElectLeaders is asked for: never an unclean one."""


def ongoing(kafka: RawKafka, milliseconds: int) -> dict[PartitionId, Reassigning]:
    """Every reassignment of the cluster that is not done."""
    reported = answered(kafka.ask_any(ListPartitionReassignmentsRequest(timeout_ms=milliseconds, topics=None)))
    raise_error("to list reassignments", reported.error_code, reported.error_message)
    return {
        PartitionId(topic.name, partition.partition_index): Reassigning(
            tuple(partition.replicas), frozenset(partition.adding_replicas), frozenset(partition.removing_replicas)
        )
        for topic in reported.topics
        for partition in topic.partitions
    }


def reassign(
    kafka: RawKafka, targets: Mapping[PartitionId, tuple[int, ...] | None], milliseconds: int
) -> dict[PartitionId, TopicFailure]:
    """One request; what Kafka did not accept."""
    of_topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    of_partition = of_topic.ReassignablePartition
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for (topic, index), replicas in targets.items():
        wanted = None if replicas is None else list(replicas)
        by_topic[topic].append(of_partition(partition_index=index, replicas=wanted))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=milliseconds,
        allow_replication_factor_change=True,
        topics=[of_topic(name=topic, partitions=partitions) for topic, partitions in by_topic.items()],
    )
    reported = answered(kafka.ask_any(request))
    raise_error("to reassign partitions", reported.error_code, reported.error_message)
    return {
        partition: failure_of_partition(partition, answer.error_code, answer.error_message)
        for topic in reported.responses
        for answer in topic.partitions
        if answer.error_code
        and (partition := PartitionId(topic.name, answer.partition_index)) in targets
        and not (targets[partition] is None and answer.error_code == NoReassignmentInProgressError.errno)
    }


def elect_preferred_leaders(
    kafka: RawKafka, partitions: Collection[PartitionId], milliseconds: int
) -> dict[PartitionId, TopicFailure]:
    """One request; where the preferred leader does not lead."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, index in dict.fromkeys(partitions):
        by_topic[topic].append(index)
    asked = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[asked(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()],
        timeout_ms=milliseconds,
    )
    reported = answered(kafka.ask_any(request))
    raise_error("to elect preferred leaders", reported.error_code, None)
    return {
        partition: failure_of_partition(partition, answer.error_code, answer.error_message)
        for topic in reported.replica_election_results
        for answer in topic.partition_result
        if answer.error_code not in {0, ElectionNotNeededError.errno}
        and (partition := PartitionId(topic.topic, answer.partition_id))
    }


LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
EVERYTHING = "*"
NOTHING = ThrottledReplicas()


def rates(kafka: RawKafka) -> tuple[Rates, dict[int, Rates]]:
    """The cluster's default, and what single brokers that are alive have of their own."""
    reported = answered(kafka.ask_any(describe(BROKER, [EVERY_BROKER], [LEADER_RATE, FOLLOWER_RATE])))
    (default,) = reported.results
    raise_error("to describe throttles", default.error_code, default.error_message)
    answers = configs_of_brokers(kafka, [LEADER_RATE, FOLLOWER_RATE], "to describe throttles")
    own = {broker: _rates(configs, OWN) for broker, configs in answers.items()}
    return _rates(default.configs, DEFAULT), {broker: some for broker, some in own.items() if some != NO_RATES}


def set_rates(kafka: RawKafka, wanted: Rates) -> None:
    """Sets the rates of all brokers, or removes them."""
    values = {LEADER_RATE: _number(wanted.leader), FOLLOWER_RATE: _number(wanted.follower)}
    alter_default_configs(kafka, values, "the throttle")


def throttled(kafka: RawKafka, topics: Collection[str]) -> dict[str, ThrottledReplicas]:
    """What is throttled of topics; those that do not exist are left out."""
    found: dict[str, ThrottledReplicas] = {}
    for answer in answered(kafka.ask_any(describe(TOPIC, topics, [LEADERS, FOLLOWERS]))).results:
        if answer.error_code in UNKNOWN_TOPIC:
            continue
        raise_error(f"to describe topic {answer.resource_name}", answer.error_code, answer.error_message)
        values = {config.name: config.value or "" for config in answer.configs}
        leaders, followers = values.get(LEADERS, ""), values.get(FOLLOWERS, "")
        some = ThrottledReplicas(
            frozenset(_replicas(leaders)),
            frozenset(_replicas(followers)),
            every_leader=leaders == EVERYTHING,
            every_follower=followers == EVERYTHING,
        )
        if some != NOTHING:
            found[answer.resource_name] = some
    return found


def set_throttled(kafka: RawKafka, replicas: Mapping[str, ThrottledReplicas]) -> None:
    """Sets what of each topic is throttled; where that is nothing, it is no error that the topic is gone."""
    changes = {
        topic: {
            LEADERS: EVERYTHING if some.every_leader else _text(some.leaders),
            FOLLOWERS: EVERYTHING if some.every_follower else _text(some.followers),
        }
        for topic, some in replicas.items()
    }
    for answer in answered(kafka.ask_any(alter(TOPIC, changes))).responses:
        if replicas[answer.resource_name] != NOTHING or answer.error_code not in UNKNOWN_TOPIC:
            raise_error(f"the throttle of topic {answer.resource_name}", answer.error_code, answer.error_message)


def min_insync_replicas(kafka: RawKafka, topics: Collection[str]) -> dict[str, int | TopicFailure]:
    """What is in force for each topic."""
    found: dict[str, int | TopicFailure] = {}
    for answer in answered(kafka.ask_any(describe(TOPIC, topics, [MIN_ISR]))).results:
        topic = answer.resource_name
        if answer.error_code:
            found[topic] = failure_of(topic, KafkaError(answer.error_code))
        else:
            found.update((topic, int(config.value)) for config in answer.configs if config.name == MIN_ISR)
    return found | {topic: unanswered(topic, "Kafka left it out") for topic in topics if topic not in found}


def _rates(configs: Collection[Any], source: int) -> Rates:
    """The rates from this source: a broker's answer has the default as well."""
    own = {
        config.name: int(synonym.value)
        for config in configs
        for synonym in config.synonyms
        if synonym.source == source and synonym.value is not None
    }
    return Rates(own.get(LEADER_RATE), own.get(FOLLOWER_RATE))


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _replicas(text: str) -> Iterator[Replica]:
    """From "0:1,0:2"; what is something else ("*", "none") names no replica."""
    for item in text.split(","):
        partition, colon, broker = item.partition(":")
        if colon:
            yield Replica(int(partition), int(broker))


def _text(replicas: Collection[Replica]) -> str | None:
    return ",".join(f"{replica.partition}:{replica.broker}" for replica in sorted(replicas)) or None

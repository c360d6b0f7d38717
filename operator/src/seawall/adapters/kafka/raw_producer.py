"""Idempotent producers by kafka-python: confluent-kafka tells nobody its producer's id, and lets nobody choose it."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Collection
from typing import Any

from confluent_kafka import KafkaError
from kafka.protocol.admin import DescribeProducersRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from seawall.adapters.kafka.errors import raise_error
from seawall.adapters.kafka.raw import answered, connected
from seawall.adapters.kafka.raw_logs import WAL_PARTITION, ask_leaders, leaders_of
from seawall.adapters.kafka.topic_answers import failure_of
from seawall.adapters.times import NO_TRANSACTION_MS
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import Nulls, ProducerId, ProducerState, TopicFailure, TopicTrouble

ALL_IN_SYNC = -1
BATCH = 10_000
"""Records of null in a batch: about 80 kB."""
SEQUENCES = 2**31
"""After the last one comes 0."""
MAGIC, NO_COMPRESSION, LARGEST = 2, 0, 2**20


def take_producer_id(connection: KafkaConnection, seconds: float) -> ProducerId:
    """One that nobody else has; a young broker cannot say for a moment (COORDINATOR_LOAD_IN_PROGRESS).

    Raises:
        Refused: Kafka says no.
        OutsideUnavailable: it did not answer, or cannot say yet.
    """
    with connected(connection, seconds) as kafka:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=NO_TRANSACTION_MS)
        found = answered(kafka.ask_any(request))
    raise_error("to give a producer id", found.error_code, None)
    return ProducerId(int(found.producer_id), int(found.producer_epoch))


def describe_producer(
    connection: KafkaConnection, topics: Collection[str], producer_id: int, seconds: float
) -> dict[str, ProducerState | TopicFailure]:
    """By topic what its leader remembers of the producer."""

    def read(reported: Any) -> dict[str, ProducerState | TopicFailure]:
        return {topic.name: _state(topic.name, topic.partitions[0], producer_id) for topic in reported.topics}

    return ask_leaders(connection, topics, seconds, _producers_request, read)


def append_nulls(connection: KafkaConnection, nulls: Nulls, seconds: float) -> None:
    """Batch after batch, each when the one before is acknowledged by all replicas in sync.

    Raises:
        Refused: Kafka says no.
        OutsideUnavailable: it did not answer.
    """
    with connected(connection, seconds) as kafka:
        leader = leaders_of(kafka, [nulls.topic])[nulls.topic]
        if isinstance(leader, TopicFailure):
            code = KafkaError.UNKNOWN_TOPIC_OR_PART if leader.why is TopicTrouble.UNKNOWN_TOPIC else None
            raise_error(f"to append to {nulls.topic}", code or KafkaError.LEADER_NOT_AVAILABLE, leader.message)
            return
        for done in range(0, nulls.count, BATCH):
            request = _produce_request(nulls, done, min(BATCH, nulls.count - done), seconds)
            answer = answered(kafka.ask({leader: request})[leader])
            (partition,) = answer.responses[0].partition_responses
            raise_error(f"to append to {nulls.topic}", partition.error_code, partition.error_message)


def _producers_request(topics: Collection[str]) -> DescribeProducersRequest:
    of_topic = DescribeProducersRequest.TopicRequest
    return DescribeProducersRequest(topics=[of_topic(name=name, partition_indexes=[WAL_PARTITION]) for name in topics])


def _state(topic: str, partition: Any, producer_id: int) -> ProducerState | TopicFailure:
    if partition.error_code:
        return failure_of(topic, KafkaError(partition.error_code))
    known = next((each for each in partition.active_producers if int(each.producer_id) == producer_id), None)
    return ProducerState(None) if known is None else ProducerState(int(known.producer_epoch), int(known.last_sequence))


def _produce_request(nulls: Nulls, done: int, count: int, seconds: float) -> ProduceRequest:
    """By the topic's id, where the broker is new enough for that (Kafka 4.1); else by its name."""
    of_topic = ProduceRequest.TopicProduceData
    topic_id = uuid.UUID(bytes=base64.urlsafe_b64decode(f"{nulls.topic_id}=="))
    data = of_topic.PartitionProduceData(index=WAL_PARTITION, records=_batch(nulls, (nulls.sequence + done), count))
    topic = of_topic(name=nulls.topic, topic_id=topic_id, partition_data=[data])
    return ProduceRequest(transactional_id=None, acks=ALL_IN_SYNC, timeout_ms=int(seconds * 1000), topic_data=[topic])


def _batch(nulls: Nulls, sequence: int, count: int) -> bytes:
    """Of now: Kafka forgets a producer, and with it a fence, by the timestamp of its last batch.

    One of 1970 is forgotten by the next check, after ten minutes at most (ProducerStateManager.isProducerExpired).
    """
    producer, now = nulls.producer, time.time_ns() // 1_000_000
    builder = DefaultRecordBatchBuilder(
        MAGIC, NO_COMPRESSION, False, producer.id, producer.epoch, sequence % SEQUENCES, LARGEST
    )
    for offset in range(count):
        builder.append(offset, timestamp=now, key=None, value=None, headers=[])
    return bytes(builder.build())

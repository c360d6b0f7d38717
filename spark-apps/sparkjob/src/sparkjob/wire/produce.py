"""The request that appends one batch to one topic."""

from __future__ import annotations

from typing import Any

from kafka.protocol.producer import ProduceRequest

from sparkjob.wire.connection import ANSWER_SECONDS, PARTITION, uuid_of

_ALL_IN_SYNC = -1


def produce_request(topic: str, topic_id: str, records: bytes, answer_seconds: float = ANSWER_SECONDS) -> Any:
    """The topic is named by its id, too: since Kafka 4.1 none that was made again takes the batch."""
    of_topic = ProduceRequest.TopicProduceData
    partition = of_topic.PartitionProduceData(index=PARTITION, records=records)
    return ProduceRequest(
        transactional_id=None,
        acks=_ALL_IN_SYNC,
        timeout_ms=int(answer_seconds * 1000),
        topic_data=[of_topic(name=topic, topic_id=uuid_of(topic_id), partition_data=[partition])],
    )

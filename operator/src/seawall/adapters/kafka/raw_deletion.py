"""DeleteTopics by topic id by kafka-python: confluent-kafka has it by name only."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping

from confluent_kafka import KafkaError
from kafka.protocol.admin import DeleteTopicsRequest

from seawall.adapters.kafka.raw import RawKafka, answered


def delete_topics(kafka: RawKafka, ids: Mapping[str, str], seconds: float) -> dict[str, KafkaError]:
    """Deletes topics, by name; what Kafka says of those that it did not delete.

    Args:
        kafka: the cluster.
        ids: by name.
        seconds: until the connection gives up. The broker answers before that: its answer tells more.

    Raises:
        OutsideUnavailable: it did not answer; topics may be gone or not.
    """
    names = {_uuid(topic_id): name for name, topic_id in ids.items()}
    of_topic = DeleteTopicsRequest.DeleteTopicState
    request = DeleteTopicsRequest(
        topics=[of_topic(name=None, topic_id=topic_id) for topic_id in names], timeout_ms=int(seconds * 800)
    )
    reported = answered(kafka.ask_any(request))
    found = {answer.topic_id: answer.error_code for answer in reported.responses}
    return {names[topic_id]: KafkaError(code) for topic_id, code in found.items() if code and topic_id in names}


def _uuid(topic_id: str) -> uuid.UUID:
    """An id as Kafka prints it, 22 characters of URL-safe base64."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))

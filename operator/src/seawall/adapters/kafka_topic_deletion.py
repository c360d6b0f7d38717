"""DeleteTopics by topic id, by kafka-python: confluent-kafka knows only names, which may be other topics by now."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping

from confluent_kafka import KafkaError
from kafka.protocol.admin import DeleteTopicsRequest

from seawall.adapters.kafka_errors import UNKNOWN_TOPIC
from seawall.adapters.kafka_raw import Silence, answered, connect
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection

UNKNOWN_ID = UNKNOWN_TOPIC | {KafkaError.UNKNOWN_TOPIC_ID}


class RawTopicDeletion:
    """Deletes topics of one Kafka cluster; any number of threads may use it at once.

    Args:
        connection: the cluster.
        request_timeout: seconds that one call may take.
    """

    def __init__(self, connection: KafkaConnection, *, request_timeout: float) -> None:
        self._connection = connection
        self._request_timeout = request_timeout

    def delete(self, ids: Mapping[str, str]) -> dict[str, KafkaError]:
        """Deletes topics, by name; what Kafka says of those that it did not delete.

        Raises:
            OutsideUnavailable: it did not answer; topics may be gone or not.
        """
        names = {_uuid(topic_id): name for name, topic_id in ids.items()}
        of_topic = DeleteTopicsRequest.DeleteTopicState
        request = DeleteTopicsRequest(
            topics=[of_topic(name=None, topic_id=topic_id) for topic_id in names],
            # The broker answers before the connection gives up: its answer tells more.
            timeout_ms=int(self._request_timeout * 800),
        )
        kafka = connect(self._connection, self._request_timeout)
        if isinstance(kafka, Silence):
            raise OutsideUnavailable(f"Kafka did not answer: {kafka.why}")
        with kafka:
            reported = answered(kafka.ask_any(request))
        found = {answer.topic_id: answer.error_code for answer in reported.responses}
        return {names[topic_id]: KafkaError(code) for topic_id, code in found.items() if code and topic_id in names}


def _uuid(topic_id: str) -> uuid.UUID:
    """An id as Kafka prints it, 22 characters of URL-safe base64."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))

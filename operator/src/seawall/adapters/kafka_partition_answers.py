"""What Kafka says of one partition, or of a whole request, when it did not do as it was asked."""

from __future__ import annotations

from confluent_kafka import KafkaError

from seawall.adapters.kafka_errors import UNKNOWN_TOPIC, is_refusal
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.partitions import PartitionId

AUTHORIZATION = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED})
"""The controller's sentence for these is a dump of the request, another one each time."""


def failure_of_partition(partition: PartitionId, code: int, message: str | None) -> TopicFailure:
    """An error as a value, with Kafka's sentence if it gave one."""
    error, named = KafkaError(code), f"partition {partition.partition} of topic {partition.topic}"
    sentence = _sentence(error, message)
    if code in UNKNOWN_TOPIC:
        return TopicFailure(TopicTrouble.UNKNOWN_TOPIC, f"Kafka knows no {named}")
    if is_refusal(error):
        return TopicFailure(TopicTrouble.REFUSED, f"Kafka refused {named}: {sentence}")
    return TopicFailure(TopicTrouble.UNANSWERED, f"Kafka did not answer for {named}: {sentence}")


def raise_error(what: str, code: int, message: str | None) -> None:
    """Raises what Kafka said of a request as a whole; 0 is no error.

    Raises:
        Refused: it said no to `what`.
        OutsideUnavailable: it could not do it now.
    """
    if not code:
        return
    error = KafkaError(code)
    sentence = _sentence(error, message)
    if is_refusal(error):
        raise Refused(f"Kafka refused {what}: {sentence}")
    raise OutsideUnavailable(f"Kafka did not answer for {what}: {sentence}")


def _sentence(error: KafkaError, message: str | None) -> str:
    return message if message and error.code() not in AUTHORIZATION else error.str()

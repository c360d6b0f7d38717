"""What Kafka's errors mean."""

import pytest
from confluent_kafka import KafkaError

from seawall.adapters.kafka.errors import is_refusal


@pytest.mark.parametrize(
    "name",
    [
        "_TIMED_OUT",
        "_TRANSPORT",
        "FENCED_LEADER_EPOCH",
        "INCONSISTENT_TOPIC_ID",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_ID",
    ],
)
def test_what_a_change_of_leaders_brings_about_is_worth_another_try(name: str) -> None:
    """A client that knew an old leader epoch was told so for ever, because that was taken for a refusal."""
    assert not is_refusal(KafkaError(getattr(KafkaError, name)))


@pytest.mark.parametrize(
    "name",
    [
        "_UNSUPPORTED_FEATURE",
        "CLUSTER_AUTHORIZATION_FAILED",
        "OFFSET_OUT_OF_RANGE",
        "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNSUPPORTED_VERSION",
    ],
)
def test_what_will_be_said_again_is_a_refusal(name: str) -> None:
    assert is_refusal(KafkaError(getattr(KafkaError, name)))

"""What Kafka's errors mean."""

import pytest
from confluent_kafka import KafkaError

from seawall.adapters.kafka.errors import Failures, is_refusal, raise_error
from seawall.domain.decision import Failure
from seawall.domain.errors import Refused


@pytest.mark.parametrize(
    "name",
    [
        "_TIMED_OUT",
        "_TRANSPORT",
        "FENCED_LEADER_EPOCH",
        "INCONSISTENT_TOPIC_ID",
        "LEADER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "PREFERRED_LEADER_NOT_AVAILABLE",
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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("_UNSUPPORTED_FEATURE", "NotSupportedByKafka"),
        ("CLUSTER_AUTHORIZATION_FAILED", "NotSupportedByKafka"),
        ("POLICY_VIOLATION", "NotSupportedByKafka"),
        ("TOPIC_AUTHORIZATION_FAILED", "NotSupportedByKafka"),
        ("UNSUPPORTED_VERSION", "NotSupportedByKafka"),
        ("INVALID_CONFIG", "ChangeRefused"),
        ("INVALID_REPLICATION_FACTOR", "ChangeRefused"),
    ],
)
def test_what_kafka_does_for_nobody_is_told_apart_from_what_it_refuses_this_time(name: str, reason: str) -> None:
    error, failures = KafkaError(getattr(KafkaError, name)), Failures()
    failures.add({"wal_0": error})
    with pytest.raises(Refused) as refused:
        failures.raise_any()
    assert Failure.of(refused.value).reason == reason
    with pytest.raises(Refused) as refused:
        raise_error("to do it", error.code(), None) if error.code() > 0 else failures.raise_any()
    assert Failure.of(refused.value).reason == reason
    found = Failure.of(refused.value)
    assert Failure.with_reason(found.reason, found.message) == found, "as it is read again from a condition"

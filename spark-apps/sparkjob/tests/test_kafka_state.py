"""What passes while leaders change is asked again; anything else ends the question at once."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ListOffsetsResultInfo

from sparkjob.errors import Interrupted
from sparkjob.wire.kafka_state import answer, offset_of


class Kafka:
    """Answers with an error first."""

    def __init__(self, error: Exception) -> None:
        self._error, self.asked = error, 0

    def ask(self) -> str:
        self.asked += 1
        if self.asked == 1:
            raise self._error
        return "told"


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError._TIMED_OUT,
    ],
)
def test_a_change_of_leaders_passes(code: int) -> None:
    kafka = Kafka(KafkaException(KafkaError(code)))
    assert (answer(kafka.ask), kafka.asked) == ("told", 2)


def test_a_broker_that_does_not_answer_passes_as_another_one_may_lead_by_then() -> None:
    kafka = Kafka(TimeoutError())
    assert (answer(kafka.ask), kafka.asked) == ("told", 2)


def test_a_refusal_does_not() -> None:
    kafka = Kafka(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    with pytest.raises(Interrupted, match="Topic authorization failed"):
        answer(kafka.ask)
    assert kafka.asked == 1


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (7, 2)])
def test_an_offset_comes_with_its_leader_epoch(offset: int, epoch: int) -> None:
    assert offset_of(ListOffsetsResultInfo(offset, 0, epoch)) == (offset, epoch)


def test_what_is_told_of_a_leader_that_died_is_no_offset() -> None:
    told = iter((-1001, 7))
    assert answer(lambda: offset_of(ListOffsetsResultInfo(next(told), 0, 0))) == (7, 0)

"""What passes while leaders change is asked again; anything else ends the question at once."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from sparkjob.errors import Interrupted
from sparkjob.wire.kafka_state import answer


class Kafka:
    """Answers with an error first."""

    def __init__(self, code: int) -> None:
        self._code, self.asked = code, 0

    def ask(self) -> str:
        self.asked += 1
        if self.asked == 1:
            raise KafkaException(KafkaError(self._code))
        return "told"


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    ],
)
def test_a_change_of_leaders_passes(code: int) -> None:
    kafka = Kafka(code)
    assert (answer(kafka.ask), kafka.asked) == ("told", 2)


def test_a_refusal_does_not() -> None:
    kafka = Kafka(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(Interrupted, match="Topic authorization failed"):
        answer(kafka.ask)
    assert kafka.asked == 1

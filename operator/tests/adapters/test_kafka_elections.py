"""Topics whose leader was elected a moment ago are asked again a few times, and no others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from seawall.adapters.kafka.topic_answers import ask_topics
from seawall.adapters.times import KAFKA_ELECTION_SECONDS
from seawall.domain.kafka_log import TopicFailure, TopicTrouble

CLIENT = cast("AdminClient", None)
NOT_LEADER = KafkaError.NOT_LEADER_FOR_PARTITION


@dataclass
class Broker:
    """Answers for topics, after as many errors as each has; `asked`: of each request its topics."""

    errors: dict[str, list[int]]
    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, _: AdminClient, topics: Sequence[str], __: float) -> dict[str, Future[Any]]:
        self.asked.append(list(topics))
        return {topic: self._answer(topic) for topic in topics}

    def _answer(self, topic: str) -> Future[Any]:
        answer: Future[Any] = Future()
        left = self.errors.get(topic)
        if left:
            answer.set_exception(KafkaException(KafkaError(left.pop(0))))
        else:
            answer.set_result(f"offset of {topic}")
        return answer


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def asked_of(broker: Broker, *topics: str, seconds: float = 10.0) -> dict[str, Any]:
    return ask_topics(CLIENT, topics, broker, lambda _, value: value, seconds)


def test_only_those_are_asked_again_whose_leader_does_not_know_it_yet(pauses: list[float]) -> None:
    broker = Broker({"wal_1": [NOT_LEADER, KafkaError.UNKNOWN_LEADER_EPOCH], "wal_2": [NOT_LEADER]})
    assert asked_of(broker, "wal_0", "wal_1", "wal_2") == {
        name: f"offset of {name}" for name in ("wal_0", "wal_1", "wal_2")
    }
    assert broker.asked == [["wal_0", "wal_1", "wal_2"], ["wal_1", "wal_2"], ["wal_1"]]
    assert tuple(pauses) == KAFKA_ELECTION_SECONDS[:2]


def test_one_that_stays_without_an_answer_says_why(pauses: list[float]) -> None:
    broker = Broker({"wal_1": [NOT_LEADER] * 99})
    found = asked_of(broker, "wal_0", "wal_1")
    assert found["wal_0"] == "offset of wal_0"
    assert isinstance(found["wal_1"], TopicFailure)
    assert found["wal_1"].why is TopicTrouble.UNANSWERED
    assert "Not leader" in found["wal_1"].message
    assert tuple(pauses) == KAFKA_ELECTION_SECONDS


@pytest.mark.parametrize(
    "code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.REQUEST_TIMED_OUT]
)
def test_other_errors_are_answers(code: int, pauses: list[float]) -> None:
    broker = Broker({"wal_1": [code]})
    assert isinstance(asked_of(broker, "wal_0", "wal_1")["wal_1"], TopicFailure)
    assert (broker.asked, pauses) == ([["wal_0", "wal_1"]], [])


def test_an_error_after_an_election_is_the_answer(pauses: list[float]) -> None:
    gone = [KafkaError.NETWORK_EXCEPTION]
    broker = Broker({"wal_1": [NOT_LEADER, KafkaError.TOPIC_AUTHORIZATION_FAILED], "wal_2": gone})
    found = asked_of(broker, "wal_1", "wal_2")
    assert found["wal_1"].why is TopicTrouble.REFUSED
    assert found["wal_2"].why is TopicTrouble.UNANSWERED
    assert len(pauses) == 1


def test_nobody_is_asked_again_beyond_the_deadline(pauses: list[float]) -> None:
    broker = Broker({"wal_1": [NOT_LEADER]})
    began = time.monotonic()
    assert isinstance(asked_of(broker, "wal_1", seconds=KAFKA_ELECTION_SECONDS[0] / 2)["wal_1"], TopicFailure)
    assert (len(broker.asked), pauses) == (1, [])
    assert time.monotonic() - began < 1

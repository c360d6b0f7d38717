"""What is said of a Kafka that did not answer the second client: the same sentence each time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError, RequestTimedOutError, UnknownBrokerIdError
from kafka.future import Future

from seawall.adapters.kafka.raw import RawKafka, Silence, answered
from seawall.domain.errors import OutsideUnavailable

CONFIG = {"client_id": "seawall", "ssl_context": None, "proxy_url": "keeping://"}


@pytest.fixture
def kafka() -> Any:
    with RawKafka("127.0.0.1:1", CONFIG, time.monotonic() + 60) as raw:
        yield raw


def silence(kafka: RawKafka, milliseconds: float, fails: Callable[[float], KafkaError], patch: Any) -> str:
    """What is said where a request ends in this error."""

    async def wait_for(*_: Any) -> None:
        raise fails(milliseconds)

    patch.setattr(kafka._manager, "wait_for", wait_for)
    found = asyncio.run(kafka._answer(object(), milliseconds))
    assert isinstance(found, Silence)
    return found.why


def test_a_remainder_that_is_another_one_each_time_is_not_said(
    kafka: RawKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As kafka-python words it: by its own timer, and by that of the request."""
    said = {
        silence(kafka, remainder, fails, monkeypatch)
        for remainder in (14_999.718, 14_998.2)
        for fails in (
            lambda left: KafkaTimeoutError(f"Timed out after {left} ms"),
            lambda left: RequestTimedOutError(f"Request timed out after {left:.0f} ms"),
        )
    }
    assert said == {"nothing came in time"}


def test_the_library_itself_says_it_so(kafka: RawKafka) -> None:
    """Its own timer, and two remainders."""

    def unanswered(milliseconds: float) -> Any:
        async def ask() -> Any:
            return await kafka._answer(Future(), milliseconds)

        return kafka._manager.run(ask)

    assert {unanswered(10.25), unanswered(10.5)} == {Silence("nothing came in time")}
    with pytest.raises(OutsideUnavailable, match=r"^Kafka did not answer: nothing came in time$"):
        answered(unanswered(10.75))


def test_other_causes_are_told_apart_and_without_their_milliseconds(
    kafka: RawKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(error: KafkaError) -> str:
        return silence(kafka, 1.0, lambda _: error, monkeypatch)

    assert of(KafkaConnectionError("closed")) == "KafkaConnectionError: closed"
    assert of(KafkaConnectionError()) == "KafkaConnectionError"
    assert of(UnknownBrokerIdError(7)) == "UnknownBrokerIdError: 7"
    said = {of(KafkaConnectionError(f"Node 3 not ready after {left} ms")) for left in (1_500, 1_499.9)}
    assert said == {"KafkaConnectionError: Node 3 not ready after a while"}

"""Both Kafka clients connect alike: with TLS and passwords, and what hinders them takes no longer than allowed."""

from __future__ import annotations

import gc
import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from seawall.adapters.kafka.admin import ConfluentKafkaAdmin
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection, NewTopic
from seawall.domain.kafka_log import AskedEpoch, DeleteRefused, DeleteUnknown, LogOffsets, TopicFailure, TopicTrouble
from seawall.domain.partitions import PartitionId, Throttles
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.support.records import produce
from tests.support.secure_kafka import by_certificate, by_password

pytestmark = pytest.mark.integration

TOPIC = "secured"
TIMEOUT = 1.0
SLACK = 10.0
"""Seconds that a busy machine may add to a deadline, and that librdkafka sleeps after a name that nobody knows: 5."""


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A socket that nobody closed is an error here, not at a later test's."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def ways(sasl_kafka: KafkaProcesses) -> dict[str, KafkaConnection]:
    """Both ways to the secured broker, and a topic on it."""
    secure = sasl_kafka.secure
    password, mutual = by_password(secure), by_certificate(secure)
    ConfluentKafkaAdmin(password).create_topics([NewTopic(TOPIC, 1, {})])
    logs = ConfluentKafkaAdmin(password).logs
    wait_until(lambda: isinstance(logs.describe_offsets([TOPIC])[TOPIC], LogOffsets), "the topic is led")
    produce(sasl_kafka.bootstrap_servers, {TOPIC: 3})
    return {"password": password, "mutual tls": mutual}


def ask_everything(logs: ConfluentKafkaLogs) -> list[object]:
    return [
        logs.describe_topics([TOPIC])[TOPIC],
        logs.describe_offsets([TOPIC])[TOPIC],
        logs.describe_epoch_ends({TOPIC: AskedEpoch(0, 0)})[TOPIC],
        logs.describe_sizes([TOPIC])[TOPIC],
        logs.delete_records({TOPIC: 1})[TOPIC],
    ]


@pytest.mark.parametrize("way", ["password", "mutual tls"])
def test_both_clients_connect_and_log_no_secret(
    ways: dict[str, KafkaConnection], way: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        admin = ConfluentKafkaAdmin(ways[way])
        answers = ask_everything(admin.logs)
        assert [broker.id for broker in admin.reassigner.brokers()] == [admin.reassigner.quorum().leader] == [1]
        assert admin.reassigner.reassign({PartitionId(TOPIC, 0): (1,)}) == {}
        assert admin.reassigner.ongoing() == {}
        assert admin.reassigner.throttles([TOPIC]) == Throttles()
    assert not [answer for answer in answers if isinstance(answer, TopicFailure | DeleteRefused | DeleteUnknown)], (
        answers
    )
    for secret in (ways[way].password, ways[way].client_key_pem):
        assert not secret or secret not in caplog.text


MISTAKES: dict[str, dict[str, Any]] = {
    "wrong password": {"password": "not-it"},
    "no CA": {"ca_pem": None},
    "no TLS": {"tls": False},
    "another mechanism": {"sasl_mechanism": "PLAIN"},
    "no such host": {"bootstrap_servers": ("nowhere.invalid:9092",)},
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_connection_that_fails_leaves_every_topic_unanswered_in_time(
    ways: dict[str, KafkaConnection], mistake: dict[str, Any]
) -> None:
    logs = ConfluentKafkaAdmin(replace(ways["password"], **mistake), request_timeout=TIMEOUT).logs
    started = time.monotonic()
    *reported, deleted = ask_everything(logs)
    assert time.monotonic() - started < 5 * TIMEOUT + SLACK
    assert [answer.why for answer in reported if isinstance(answer, TopicFailure)] == [TopicTrouble.UNANSWERED] * 4
    assert isinstance(deleted, DeleteUnknown)
    assert "not-it" not in f"{reported} {deleted}"


@pytest.mark.parametrize("mistake", ["wrong password", "no such host"])
def test_a_connection_that_fails_is_unavailable_in_time_and_tells_no_secret(
    ways: dict[str, KafkaConnection], mistake: str
) -> None:
    connection = replace(ways["password"], **MISTAKES[mistake])
    started = time.monotonic()
    with pytest.raises(OutsideUnavailable) as silence:
        ConfluentKafkaAdmin(connection, request_timeout=TIMEOUT).reassigner.brokers()
    assert time.monotonic() - started < TIMEOUT + SLACK
    assert "not-it" not in str(silence.value)


@pytest.mark.parametrize("what", ["ca_pem", "client_cert_pem"])
def test_certificates_that_are_none_are_an_error_of_both_clients(ways: dict[str, KafkaConnection], what: str) -> None:
    nonsense: Any = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
    logs = ConfluentKafkaAdmin(replace(ways["mutual tls"], **{what: nonsense})).logs
    for ask in (logs.describe_offsets, logs.describe_sizes):
        with pytest.raises(OutsideUnavailable, match="cannot be read"):
            ask([TOPIC])


@pytest.mark.parametrize("tls", [False, True])
def test_a_listener_that_never_answers_is_waited_for_no_longer_than_allowed(tls: bool) -> None:  # noqa: FBT001
    """It accepts connections and says nothing, not even a TLS handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        logs = ConfluentKafkaAdmin(KafkaConnection((address,), tls=tls), request_timeout=TIMEOUT).logs
        started = time.monotonic()
        answers = [logs.describe_sizes([TOPIC])[TOPIC], logs.describe_topics([TOPIC])[TOPIC]]
        assert time.monotonic() - started < 2 * TIMEOUT + SLACK
        assert [answer.why for answer in answers if isinstance(answer, TopicFailure)] == [TopicTrouble.UNANSWERED] * 2


@pytest.mark.parametrize("way", ["password", "mutual tls"])
def test_a_server_that_never_answers_does_not_keep_from_asking_the_next(
    ways: dict[str, KafkaConnection], way: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        servers = (f"127.0.0.1:{listener.getsockname()[1]}", *ways[way].bootstrap_servers)
        logs = ConfluentKafkaAdmin(replace(ways[way], bootstrap_servers=servers), request_timeout=12 * TIMEOUT).logs
        answers = ask_everything(logs)
        assert not [answer for answer in answers if isinstance(answer, TopicFailure | DeleteRefused | DeleteUnknown)], (
            answers
        )

"""Requests to Kafka that no client of its own offers: raw ones, each to the broker that is meant."""

from __future__ import annotations

import base64
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from kafka.errors import KafkaError, for_code
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from sparkjob.wire.raw_options import raw_options

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # its debug messages have passwords in them

ANSWER_SECONDS = 30.0
PARTITION = 0
"""Of a WAL topic, which has one."""
PASSING = frozenset(
    {
        3,  # UNKNOWN_TOPIC_OR_PARTITION: a broker that has not heard of the topic yet
        5,  # LEADER_NOT_AVAILABLE
        6,  # NOT_LEADER_OR_FOLLOWER
        7,  # REQUEST_TIMED_OUT
        13,  # NETWORK_EXCEPTION
        14,  # COORDINATOR_LOAD_IN_PROGRESS
        15,  # COORDINATOR_NOT_AVAILABLE
        19,  # NOT_ENOUGH_REPLICAS
        20,  # NOT_ENOUGH_REPLICAS_AFTER_APPEND
        56,  # KAFKA_STORAGE_ERROR
        100,  # UNKNOWN_TOPIC_ID: as 3; a topic that was made again is found when its leader is asked for
    }
)
"""Errors that pass by themselves."""


class OtherTopic(Exception):  # noqa: N818 - what it is
    """The topic of this name has another id than was meant: it was made again."""


class Leadership(NamedTuple):
    """Who leads a topic, and in which epoch."""

    broker: int
    epoch: int


class Connection:
    """Connections to the brokers of one Kafka. Whoever does not answer is an error of kafka-python or an OSError."""

    def __init__(self, options: Mapping[str, str], answer_seconds: float = ANSWER_SECONDS) -> None:
        config = raw_options(options)
        self._milliseconds = int(answer_seconds * 1000)
        self._net = NetworkSelector(client_id=config["client_id"])
        self._manager = KafkaConnectionManager(
            self._net, receive_message_max_bytes=2**31 - 1, request_timeout_ms=self._milliseconds, **config
        )
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._manager.close()
        self._net.close()

    def ask(self, request: Any, broker: int | None = None) -> Any:
        """The answer of a broker, by default of any."""
        self._bootstrap()
        return self._run(lambda: self._manager.send(request, node_id=broker))

    def leader(self, topic: str, topic_id: str) -> int | str:
        """The broker that leads a topic, or why there is none now.

        Raises:
            OtherTopic: it has another id.
        """
        found = self.leadership(topic, topic_id)
        return found if isinstance(found, str) else found.broker

    def leadership(self, topic: str, topic_id: str) -> Leadership | str:
        """The same with its epoch, as the broker that is asked knows it: it may be the one that led before.

        Raises:
            OtherTopic: the topic has another id.
        """
        asked = MetadataRequest.MetadataRequestTopic(name=topic)
        (found,) = self.ask(MetadataRequest(topics=[asked], allow_auto_topic_creation=False)).topics
        if found.error_code:
            return name_of(found.error_code)
        if found.topic_id != uuid_of(topic_id):
            raise OtherTopic(topic)
        partition = found.partitions[PARTITION]
        leader = Leadership(int(partition.leader_id), int(partition.leader_epoch))
        return leader if leader.broker >= 0 else "there is no leader"

    def line(self, broker: int) -> Line:
        """A connection to a broker that is open now."""
        self._bootstrap()
        connection = self._manager.get_connection(broker)

        async def opened() -> Any:
            return await self._manager.wait_for(connection.init_future, self._milliseconds)

        run: Callable[[Callable[[], Awaitable[Any]]], Any] = self._manager.run
        run(opened)
        return Line(connection, self._run)

    def _bootstrap(self) -> None:
        if not self._is_ready:
            self._manager.bootstrap(self._milliseconds)
            self._is_ready = True

    def _run(self, send: Callable[[], Any]) -> Any:
        async def ask() -> Any:
            return await self._manager.wait_for(send(), self._milliseconds)

        run: Callable[[Callable[[], Awaitable[Any]]], Any] = self._manager.run
        return run(ask)


class Line:
    """One connection to one broker. Once it is closed, nothing that is sent on it arrives: none takes its place."""

    def __init__(self, connection: Any, run: Callable[[Callable[[], Any]], Any]) -> None:
        self._connection, self._run = connection, run

    def send(self, request: Any) -> Any:
        """Sends a request, and returns what `wait` waits for; brokers answer in this order."""
        return self._connection.send_request(request)

    def wait(self, sent: Any) -> Any:
        """The answer."""
        return self._run(lambda: sent)

    def ask(self, request: Any) -> Any:
        """Sends, and waits."""
        return self.wait(self.send(request))

    @property
    def is_open(self) -> bool:
        """Whether it was not closed, as far as is known."""
        return not self._connection.closed


NOT_AUTHORIZED = frozenset({29, 31})
"""TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED."""


def name_of(code: int) -> str:
    """Kafka's name of an error."""
    return str(for_code(code).__name__)


def uuid_of(topic_id: str) -> uuid.UUID:
    """A topic's id out of its text."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{topic_id}=="))


def sentence_of_error(error: KafkaError | OSError) -> str:
    """What it says."""
    return str(error) or type(error).__name__

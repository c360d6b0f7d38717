"""Requests by kafka-python, for what confluent-kafka lacks (docs/adr/0018-a-second-kafka-client.md).

Import it late: it costs 13 MB. Connections live for one question: nothing goes stale between questions, and no thread
waits for them. It says a lot while it connects, with requests and passwords in its debug messages: none of it is
logged, callers get sentences.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kafka.errors import KafkaError as RawError
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from seawall.adapters.kafka_connection import client_config
from seawall.adapters.tls import UnreadablePem, tls_context
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection

logging.getLogger("kafka").setLevel(logging.CRITICAL)

LARGEST_ANSWER = 100_000_000
"""Bytes. The default of 1 MB is less than the metadata of 10,000 topics."""
CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Silence:
    """A broker gave no answer, and why."""

    why: str


class RawKafka:
    """Connections to the brokers of one cluster, for one question and its deadline. Not for several threads."""

    def __init__(self, connection: KafkaConnection, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        config = _config(connection, seconds)
        self._net = NetworkSelector(client_id=config["client_id"])
        self._manager = KafkaConnectionManager(self._net, **config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.close()
        self._net.close()

    def connect(self) -> frozenset[int] | Silence:
        """Finds the brokers that are alive: their ids."""
        silence = self._run(lambda: self._manager.bootstrap_async(self._remaining_ms()))
        if isinstance(silence, Silence):
            return silence
        return frozenset(broker.node_id for broker in self._manager.cluster.brokers())

    def describe_topics(self, topics: Collection[str]) -> Any:
        """Any broker's MetadataResponse about the topics, or Silence."""
        asked = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        return self._run(lambda: self._manager.send(request))

    def ask(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """Sends each broker its request, all at once: their responses, or Silence."""

        async def ask_all() -> dict[int, Any]:
            sent = {broker: self._send(broker, request) for broker, request in requests.items()}
            return {broker: await self._answer(future) for broker, future in sent.items()}

        answers: dict[int, Any] = self._manager.run(ask_all)
        return answers

    def _send(self, broker: int, request: Any) -> Any:
        try:
            return self._manager.send(request, node_id=broker)
        except RawError as error:  # it knows no such broker, or was refused by it before
            return Silence(_text(error))

    async def _answer(self, future: Any) -> Any:
        if isinstance(future, Silence):
            return future
        try:
            return await self._manager.wait_for(future, self._remaining_ms())
        except (RawError, OSError) as error:
            return Silence(_text(error))

    def _run(self, start: Any) -> Any:
        async def run() -> Any:
            try:
                future = start()
            except (RawError, OSError) as error:
                return Silence(_text(error))
            return await self._answer(future)

        return self._manager.run(run)

    def _remaining_ms(self) -> float:
        return max(0.0, self._deadline - time.monotonic()) * 1000


def _config(connection: KafkaConnection, seconds: float) -> dict[str, Any]:
    """The connection in kafka-python's words."""
    config = client_config(connection)
    return {
        "bootstrap_servers": list(connection.bootstrap_servers),
        "client_id": config["client.id"],
        "security_protocol": config["security.protocol"],
        "ssl_context": _ssl_context(connection) if connection.tls else None,
        "sasl_mechanism": connection.sasl_mechanism,
        "sasl_plain_username": connection.username,
        "sasl_plain_password": connection.password,
        "request_timeout_ms": seconds * 1000,
        "socket_connection_setup_timeout_ms": min(seconds, CONNECT_SECONDS) * 1000,
        "receive_message_max_bytes": LARGEST_ANSWER,
    }


def _ssl_context(connection: KafkaConnection) -> ssl.SSLContext:
    """What librdkafka checks: the chain up to the given CA, or the system's, and the address in the certificate.

    Raises:
        OutsideUnavailable: a PEM text makes no sense.
    """
    try:
        return tls_context(connection.ca_pem, connection.client_cert_pem, connection.client_key_pem)
    except UnreadablePem as pem:
        raise OutsideUnavailable(f"The {pem.what} for Kafka cannot be read ({pem.why}): correct the Secret.") from pem


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}{f': {error.args[0]}' if error.args else ''}"

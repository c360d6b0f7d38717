"""Requests by kafka-python, for what confluent-kafka lacks (docs/adr/0018-a-second-kafka-client.md).

It leaves open whatever could not connect, could not agree on TLS, or was still about to when its loop ended: until the
garbage collector comes by.

Import it before threads begin: its modules import one another in circles, and of two threads that import at once one
may fail. Connections live for one question: nothing goes stale between questions, and no thread waits for them. It says
a lot while it connects, with requests and passwords in its debug messages: none of it is logged, callers get sentences.
"""

from __future__ import annotations

import logging
import re
import socket
import ssl
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from kafka.errors import KafkaError as RawError
from kafka.errors import KafkaTimeoutError, RequestTimedOutError
from kafka.net.inet import KafkaNetSocket
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from seawall.adapters.kafka.connection import client_config
from seawall.adapters.times import KAFKA_RAW_CONNECT_SECONDS
from seawall.adapters.tls import UnreadablePem, tls_context
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.kafka import KafkaConnection
from seawall.progress import request_ended

KEEPING = "keeping://"
"""As `proxy_url`, the library's way to have sockets made by somebody else: connections are direct all the same."""


class KeepingSelector(NetworkSelector):  # type: ignore[misc]  # kafka-python is not typed
    """An event loop that closes at its end every socket it ever knew."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._sockets: set[socket.socket] = set()

    def keep(self, one: socket.socket) -> None:
        """Closes it with the loop; closing twice does no harm."""
        self._sockets.add(one)

    def close(self) -> None:
        """Ends all tasks and closes all sockets."""
        super().close()
        for each in self._sockets:
            each.close()


@dataclass(frozen=True, slots=True)
class KeepingTls:
    """What the library asks a TLS context for; the loop keeps the sockets, since a handshake may fail at once."""

    context: ssl.SSLContext
    loop: KeepingSelector

    def wrap_socket(self, sock: socket.socket, **options: Any) -> ssl.SSLSocket:
        """TLS over a connection: a socket in the place of the given one."""
        wrapped = self.context.wrap_socket(sock, **options)
        self.loop.keep(wrapped)
        return wrapped


class _KeptSockets(KafkaNetSocket):  # type: ignore[misc]  # kafka-python is not typed; it registers the class by its scheme
    """Direct connections whose sockets the loop keeps, also those that are refused at once."""

    SCHEMES = (KEEPING.split(":", maxsplit=1)[0],)

    async def sock_connect(self, net: KeepingSelector, sock: socket.socket, *args: Any, **kwargs: Any) -> Any:
        net.keep(sock)
        return await super().sock_connect(net, sock, *args, **kwargs)


logging.getLogger("kafka").setLevel(logging.CRITICAL)

_ItemT = TypeVar("_ItemT")

LARGEST_ANSWER = 100_000_000
"""Bytes. The default of 1 MB is less than the metadata of 10,000 topics."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A broker gave no answer, and why."""

    why: str


def answered(answer: Any) -> Any:
    """The response, if it came.

    Raises:
        OutsideUnavailable: it did not; what was asked for may have happened.
    """
    if isinstance(answer, Silence):
        raise OutsideUnavailable(f"Kafka did not answer: {answer.why}")
    return answer


def connect(connection: KafkaConnection, seconds: float, first: str | None = None) -> RawKafka | Silence:
    """Finds a server that tells which brokers there are; all that is asked of them then must come within the seconds.

    Servers are asked one after another, each with its share of the time: kafka-python by itself would wait for one that
    hangs, or is down, until the deadline. Who asks often gives the server that answered before, to begin with.

    Raises:
        OutsideUnavailable: a PEM text makes no sense.
    """
    deadline = time.monotonic() + seconds
    config = _config(connection, seconds)
    silence = Silence("there is no bootstrap server")
    servers = sorted(connection.bootstrap_servers, key=lambda server: server != first)
    for left, server in _shares(servers):
        kafka = RawKafka(server, config, deadline)
        found = kafka.bootstrap((deadline - time.monotonic()) * 1000 / left)
        if found is None:
            return kafka
        kafka.close()
        silence = found
    return silence


def connected(connection: KafkaConnection, seconds: float, first: str | None = None) -> RawKafka:
    """The same, for those who have no other answer.

    Raises:
        OutsideUnavailable: nobody answered.
    """
    kafka = connect(connection, seconds, first)
    if isinstance(kafka, Silence):
        raise OutsideUnavailable(f"Kafka did not answer: {kafka.why}")
    return kafka


class RawKafka:
    """Connections to the brokers of one cluster, for one question and its deadline. Not for several threads.

    Attributes:
        server: what tells which brokers there are.
    """

    def __init__(self, server: str, config: Mapping[str, Any], deadline: float) -> None:
        self.server = server
        self._deadline = deadline
        self._net = KeepingSelector(client_id=config["client_id"])
        context = config["ssl_context"]
        tls = KeepingTls(context, self._net) if context is not None else None
        self._manager = KafkaConnectionManager(self._net, bootstrap_servers=[server], **{**config, "ssl_context": tls})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._manager.close()
        self._net.close()

    def bootstrap(self, milliseconds: float) -> Silence | None:
        """Asks the server for the brokers; what hinders it."""

        async def bootstrap() -> Any:
            return await self._answer(self._manager.bootstrap_async(milliseconds), milliseconds)

        answer = self._manager.run(bootstrap)
        request_ended()
        return answer if isinstance(answer, Silence) else None

    def brokers(self) -> list[int]:
        """The ids of those that are alive."""
        return [broker.node_id for broker in self._manager.cluster.brokers()]

    def describe_topics(self, topics: Collection[str] | None) -> Any:
        """Some broker's MetadataResponse about the topics, or about all, or Silence."""
        asked = topics if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
        return self.ask_any(MetadataRequest(topics=asked, allow_auto_topic_creation=False))

    def ask_any(self, request: Any) -> Any:
        """Some broker's response, or Silence; the request may have reached more than one.

        Brokers are asked one after another, each with its share of the time: the list of those that are alive has one
        that just died for some seconds.
        """
        answer: Any = Silence("there is no broker")
        for left, broker in _shares(self.brokers()):
            answer = self.ask({broker: request}, self._remaining_ms() / left)[broker]
            if not isinstance(answer, Silence):
                break
        return answer

    def ask(self, requests: Mapping[int, Any], milliseconds: float | None = None) -> dict[int, Any]:
        """Sends each broker its request, all at once: their responses, or Silence, within the time."""

        async def ask_all() -> dict[int, Any]:
            sent = {broker: self._send(broker, request) for broker, request in requests.items()}
            return {broker: await self._answer(future, milliseconds) for broker, future in sent.items()}

        answers: dict[int, Any] = self._manager.run(ask_all)
        request_ended()
        return answers

    def _send(self, broker: int, request: Any) -> Any:
        try:
            return self._manager.send(request, node_id=broker)
        except RawError as error:  # it knows no such broker, or was refused by it before
            return Silence(_text(error))

    async def _answer(self, future: Any, milliseconds: float | None = None) -> Any:
        if isinstance(future, Silence):
            return future
        remaining = self._remaining_ms()
        try:
            return await self._manager.wait_for(future, remaining if milliseconds is None else milliseconds)
        except (RawError, OSError) as error:
            return Silence(_text(error))

    def _remaining_ms(self) -> float:
        return max(0.0, self._deadline - time.monotonic()) * 1000


def _shares(items: Sequence[_ItemT]) -> Iterator[tuple[int, _ItemT]]:
    """Each item, after the number of those that are left with it."""
    return zip(range(len(items), 0, -1), items, strict=True)


def _config(connection: KafkaConnection, seconds: float) -> dict[str, Any]:
    """The connection in kafka-python's words."""
    config = client_config(connection)
    return {
        "client_id": config["client.id"],
        "proxy_url": KEEPING,
        "security_protocol": config["security.protocol"],
        "ssl_context": _ssl_context(connection) if connection.tls else None,
        "sasl_mechanism": connection.sasl_mechanism,
        "sasl_plain_username": connection.username,
        "sasl_plain_password": connection.password,
        "request_timeout_ms": seconds * 1000,
        "socket_connection_setup_timeout_ms": min(seconds, KAFKA_RAW_CONNECT_SECONDS) * 1000,
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


_MILLISECONDS = re.compile(r"\d+(\.\d+)? ?ms\b")


def _text(error: BaseException) -> str:
    """One sentence for one cause: what is another one each time is news each time, to people and in a status.

    Which of two timers ends a request is chance, and each says how many milliseconds were left to it.
    """
    if isinstance(error, KafkaTimeoutError | RequestTimedOutError):
        return "nothing came in time"
    said = f": {_MILLISECONDS.sub('a while', str(error.args[0]))}" if error.args else ""
    return f"{type(error).__name__}{said}"

"""Kafka by confluent-kafka: the ports `KafkaAdmin` and `KafkaClusters`."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.admin import NewTopic as ClientNewTopic

from seawall.adapters.kafka_batches import (
    DELETE_TOPICS,
    DESCRIBE_TOPICS,
    WRITE_RECORDS,
    batches,
    once,
    records_of_change,
    records_of_topic,
)
from seawall.adapters.kafka_connection import Trouble, explain, open_client
from seawall.adapters.kafka_errors import ALREADY_EXISTS, UNKNOWN_TOPIC, Failures, refuse_repeated, wait_for
from seawall.adapters.kafka_values import alteration_of, overrides_of, view_of
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NoKafka
from seawall.domain.topics.actions import ConfigChange, NewTopic

_ItemT = TypeVar("_ItemT")

VIEW_TIMEOUT = 10.0
REQUEST_TIMEOUT = 15.0
LED_TIMEOUT = 10.0
LED_POLL = 0.05
LED_SIGHTINGS = 2
"""Brokers learn of new topics one after another, and each metadata request asks any of them."""


class ConfluentKafkaAdmin:
    """One Kafka cluster.

    A client that could not connect is thrown away: librdkafka goes on trying, many times a second while it is asked,
    and what it says piles up in memory until somebody listens.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        *,
        view_timeout: float = VIEW_TIMEOUT,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        self.connection = connection
        self._view_timeout = view_timeout
        self._request_timeout = request_timeout
        self._trouble = Trouble()
        self._client: AdminClient | None = None

    def close(self) -> None:
        """Closes the connections; a call that is under way ends first."""
        self._client = None

    def view(self) -> KafkaView | NoKafka:
        """Asks for the cluster's metadata, which also finds the controller anew."""
        client = self._open()
        if isinstance(client, NoKafka):
            return client
        answer = self._ask_metadata(client)
        if isinstance(answer, NoKafka):
            self.close()
        return answer

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        """The configs set on the topics themselves."""
        configs: dict[str, Configs] = {}

        def describe(client: AdminClient, batch: Sequence[str]) -> dict[str, Future[Any]]:
            resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in batch]
            return _by_topic(client.describe_configs(resources, request_timeout=self._request_timeout))

        def keep(values: Mapping[str, dict[str, ConfigEntry]]) -> None:
            configs.update({topic: overrides_of(entries) for topic, entries in values.items()})

        self._in_batches(batches(once(topics), DESCRIBE_TOPICS), describe, fine=UNKNOWN_TOPIC, keep=keep)
        return configs

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Creates topics with one partition each; one that exists already is no error."""

        def create(client: AdminClient, batch: Sequence[NewTopic]) -> dict[str, Future[Any]]:
            new = [
                ClientNewTopic(
                    topic.name,
                    num_partitions=1,
                    replication_factor=topic.replication_factor,
                    config=dict(topic.configs),
                )
                for topic in batch
            ]
            return client.create_topics(new, **self._write_timeouts())

        refuse_repeated(topic.name for topic in topics)
        self._in_batches(batches(topics, WRITE_RECORDS, records_of_topic), create, fine=ALREADY_EXISTS)
        self._wait_until_led([topic.name for topic in topics])

    def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Sets and resets configs."""

        def alter(client: AdminClient, batch: Sequence[ConfigChange]) -> dict[str, Future[Any]]:
            resources = [alteration_of(change) for change in batch]
            return _by_topic(client.incremental_alter_configs(resources, request_timeout=self._request_timeout))

        refuse_repeated(change.topic for change in changes)
        # The client takes no resource without a change.
        needed = [change for change in changes if change.is_needed()]
        self._in_batches(batches(needed, WRITE_RECORDS, records_of_change), alter)

    def delete_topics(self, names: Sequence[str]) -> None:
        """Deletes topics; one that does not exist is no error."""

        def delete(client: AdminClient, batch: Sequence[str]) -> dict[str, Future[Any]]:
            return client.delete_topics(list(batch), **self._write_timeouts())

        self._in_batches(batches(once(names), DELETE_TOPICS), delete, fine=UNKNOWN_TOPIC)

    def _wait_until_led(self, names: Sequence[str]) -> None:
        """Waits, but not for long, until the brokers that happen to be asked show new topics with their leaders.

        A view that is too old would have them created once more.
        """
        deadline, sightings = time.monotonic() + LED_TIMEOUT, 0
        while sightings < LED_SIGHTINGS and time.monotonic() < deadline:
            view = self.view()
            if isinstance(view, NoKafka):
                return
            led = {name for name, topic in view.topics.items() if topic.leader is not None}
            sightings = sightings + 1 if led.issuperset(names) else 0
            time.sleep(LED_POLL)

    def _open(self) -> AdminClient | NoKafka:
        if self._client is None:
            self._trouble = Trouble()
            opened = open_client(self.connection, self._trouble)
            if isinstance(opened, NoKafka):
                return opened
            self._client = opened
        return self._client

    def _ask_metadata(self, client: AdminClient) -> KafkaView | NoKafka:
        """Asks in slices that grow: a wrong password is known after a moment, a slow answer gets its time."""
        deadline = time.monotonic() + self._view_timeout
        _drain(client)
        self._trouble.clear()
        slices = itertools.chain((0.5, 1.0, 2.0), itertools.repeat(self._view_timeout))
        for seconds in slices:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or self._trouble.is_final():
                break
            try:
                metadata = client.list_topics(timeout=min(seconds, remaining))
            except KafkaException:
                client.poll(0.1)  # it can also fail at once: do not spin
            else:
                return view_of(self.connection, metadata)
            finally:
                _drain(client)
        return explain(self.connection, self._trouble, self._view_timeout)

    def _write_timeouts(self) -> dict[str, float]:
        # The broker answers before the client gives up: its answer tells more.
        return {"request_timeout": self._request_timeout, "operation_timeout": self._request_timeout * 0.8}

    def _in_batches(
        self,
        requests: Iterable[Sequence[_ItemT]],
        ask: Callable[[AdminClient, Sequence[_ItemT]], Mapping[str, Future[Any]]],
        *,
        fine: frozenset[int] = frozenset(),
        keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:
        failures = Failures(fine)
        for batch in requests:
            client = self._open()
            if isinstance(client, NoKafka):
                raise OutsideUnavailable(client.message)
            try:
                futures = ask(client, batch)
            except KafkaException as failure:
                # The client refuses the request as a whole, before it is sent.
                raise Refused(f"Kafka's client refused the request: {failure.args[0].str()}") from None
            values, errors = wait_for(futures, self._request_timeout)
            _drain(client)
            keep(values)
            failures.add(errors)
            if failures.has_unanswered():
                break  # each further batch would wait for a deadline of its own
        failures.raise_any()


class ConfluentKafkaClusters:
    """One connection for each object; ticks of different objects run in different threads."""

    def __init__(self, *, view_timeout: float = VIEW_TIMEOUT, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self._view_timeout = view_timeout
        self._request_timeout = request_timeout
        self._lock = threading.Lock()
        self._admins: dict[Key, ConfluentKafkaAdmin] = {}

    def connect(self, key: Key, connection: KafkaConnection) -> ConfluentKafkaAdmin:
        """The connection of the object `key`; nothing is sent before its first call."""
        with self._lock:
            admin = self._admins.get(key)
            if admin is None or admin.connection != connection:
                if admin is not None:
                    admin.close()
                admin = self._admins[key] = ConfluentKafkaAdmin(
                    connection, view_timeout=self._view_timeout, request_timeout=self._request_timeout
                )
            return admin

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone."""
        with self._lock:
            admin = self._admins.pop(key, None)
        if admin is not None:
            admin.close()


def _by_topic(futures: Mapping[ConfigResource, Future[Any]]) -> dict[str, Future[Any]]:
    return {resource.name: future for resource, future in futures.items()}


def _drain(client: AdminClient) -> None:
    while client.poll(0):
        pass

"""The port `KafkaAdmin` by confluent-kafka; by kafka-python what that lacks: deletion by id, defaults of brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)
from confluent_kafka.admin import NewTopic as ClientNewTopic

from seawall.adapters.kafka.client import SharedClient
from seawall.adapters.kafka.errors import ALREADY_EXISTS, UNKNOWN_TOPIC, Failures, refusal_of, refuse_repeated
from seawall.adapters.kafka.kept import not_kept, refusal_of_unkept
from seawall.adapters.kafka.logs import ConfluentKafkaLogs
from seawall.adapters.kafka.raw import RawKafka, connected
from seawall.adapters.kafka.raw_configs import alter_default_configs, default_configs, own_configs
from seawall.adapters.kafka.raw_deletion import delete_topics
from seawall.adapters.kafka.reassigner import RawReassigner
from seawall.adapters.kafka.topic_answers import (
    DELETE_TOPICS,
    DESCRIBE_TOPICS,
    WRITE_RECORDS,
    batches,
    once,
    records_of_change,
    records_of_topic,
    require_described,
)
from seawall.adapters.kafka.users import ConfluentKafkaUsers
from seawall.adapters.kafka.values import alteration_of, overrides_of
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import ConfigChange, Configs, KafkaConnection, KafkaView, NewTopic, NoKafka

ENOUGH = frozenset({KafkaError.INVALID_PARTITIONS})
"""Kafka's word for a number that is not greater than what there is."""
UNKNOWN_ID = UNKNOWN_TOPIC | {KafkaError.UNKNOWN_TOPIC_ID}


_ItemT = TypeVar("_ItemT")

VIEW_TIMEOUT = 10.0
REQUEST_TIMEOUT = 15.0
LED_TIMEOUT = 10.0
LED_POLL = 0.05
LED_REPORTS = 2
"""Brokers learn of new topics one after another, and each metadata request asks any of them."""


class ConfluentKafkaAdmin:
    """One Kafka cluster; any number of threads may use it at once.

    Attributes:
        logs: the port `KafkaLogs` of the same cluster.
        reassigner: the port `PartitionReassigner` of the same cluster.
        users: the port `KafkaUsers` of the same cluster.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        *,
        view_timeout: float = VIEW_TIMEOUT,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        self._connection = connection
        self._client = SharedClient(connection, view_timeout)
        self._request_timeout = request_timeout
        self.logs = ConfluentKafkaLogs(self._client, request_timeout=request_timeout)
        self.reassigner = RawReassigner(connection, request_timeout=request_timeout)
        self.users = ConfluentKafkaUsers(self._client, request_timeout=request_timeout)

    def close(self) -> None:
        """Closes the connections; calls that are under way end first."""
        self._client.close()

    def view(self) -> KafkaView | NoKafka:
        """Asks for the cluster's metadata, which also finds the controller anew."""
        return self._client.view()

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

    def describe_broker_configs(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker that is online these configs as they are in force; one request to each, as only it knows."""
        view, configs = self.view(), dict[int, Configs]()
        if isinstance(view, NoKafka):
            raise OutsideUnavailable(view.message)

        def describe(client: AdminClient, brokers: Sequence[str]) -> dict[str, Future[Any]]:
            resources = [ConfigResource(ResourceType.BROKER, broker) for broker in brokers]
            return _by_topic(client.describe_configs(resources, request_timeout=self._request_timeout))

        def keep(values: Mapping[str, dict[str, ConfigEntry]]) -> None:
            for broker, entries in values.items():
                values_of = {key: entries[key].value for key in keys if key in entries}
                configs[int(broker)] = {key: value for key, value in values_of.items() if value is not None}

        self._in_batches([[str(broker)] for broker in sorted(view.online)], describe, keep=keep)
        return configs

    def describe_broker_overrides(self, keys: Collection[str]) -> Mapping[int, Configs]:
        """Of each broker that answers what of these configs was set on it alone."""
        with self._connected() as kafka:
            return own_configs(kafka, keys)

    def describe_default_configs(self) -> Configs:
        """What is set as the default of all brokers."""
        with self._connected() as kafka:
            return default_configs(kafka)

    def alter_default_configs(self, changes: Mapping[str, str | None]) -> None:
        """Sets defaults of all brokers, or takes them back."""
        if changes:
            with self._connected() as kafka:
                alter_default_configs(kafka, changes)

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Creates topics; one that exists already is no error."""

        def create(client: AdminClient, batch: Sequence[NewTopic]) -> dict[str, Future[Any]]:
            return client.create_topics([_new(topic) for topic in batch], **self._write_timeouts())

        refuse_repeated(topic.name for topic in topics)
        self._in_batches(batches(topics, WRITE_RECORDS, records_of_topic), create, fine=ALREADY_EXISTS)
        if missing := self._wait_until_led([topic.name for topic in topics]):
            require_described(self.logs.describe_topics(missing))

    def add_partitions(self, totals: Mapping[str, int]) -> None:
        """Gives topics more partitions, and waits until brokers show them."""

        def add(client: AdminClient, batch: Sequence[tuple[str, int]]) -> dict[str, Future[Any]]:
            return client.create_partitions([NewPartitions(*each) for each in batch], **self._write_timeouts())

        self._in_batches(batches(list(totals.items()), WRITE_RECORDS, lambda each: each[1]), add, fine=ENOUGH)
        self._wait_for_view(lambda view: all(_has_as_many(view, *each) for each in totals.items()))

    def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Sets and resets configs, and asks whether Kafka keeps them."""

        def alter(client: AdminClient, batch: Sequence[ConfigChange]) -> dict[str, Future[Any]]:
            resources = [alteration_of(change) for change in batch]
            return _by_topic(client.incremental_alter_configs(resources, request_timeout=self._request_timeout))

        refuse_repeated(change.topic for change in changes)
        # The client takes no resource without a change.
        needed = [change for change in changes if change.is_needed()]
        self._in_batches(batches(needed, WRITE_RECORDS, records_of_change), alter)
        self._require_kept([change for change in needed if change.set])

    def _require_kept(self, changes: Sequence[ConfigChange]) -> None:
        """Waits, but not for long, until the broker that happens to be asked shows what was set.

        Raises:
            NotSupported: Kafka took it, and keeps what it had.
        """
        deadline = time.monotonic() + LED_TIMEOUT
        while changes:
            try:
                unkept = not_kept(changes, self.describe_configs([change.topic for change in changes]))
            except (OutsideUnavailable, Refused):  # nobody knows, and the next look will
                return
            changes = [change for change in changes if change.topic in unkept]
            if changes and time.monotonic() > deadline:
                raise refusal_of_unkept(unkept)
            time.sleep(LED_POLL if changes else 0)

    def delete_topics(self, ids: Mapping[str, str]) -> None:
        """Deletes topics by their ids; one that does not exist is no error."""
        failures, gone = Failures(UNKNOWN_ID), set(ids)
        for batch in batches(sorted(ids), DELETE_TOPICS):
            with self._connected() as kafka:
                errors = delete_topics(kafka, {name: ids[name] for name in batch}, self._request_timeout)
            gone -= errors.keys()
            failures.add(errors)
            if failures.has_unanswered():
                break
        failures.raise_any()
        if gone:
            self._wait_until_gone(gone)

    def _wait_until_led(self, names: Sequence[str]) -> list[str]:
        """Waits, but not for long, until the brokers that happen to be asked show new topics with their leaders.

        A view that is too old would have them created once more.

        Returns:
            Those that were not shown at all when the time was over.
        """

        def are_led(view: KafkaView) -> bool:
            return {name for name, topic in view.topics.items() if topic.leader is not None}.issuperset(names)

        last = self._wait_for_view(are_led)
        return [] if last is None else [name for name in names if name not in last.topics]

    def _wait_for_view(self, is_so: Callable[[KafkaView], bool]) -> KafkaView | None:
        """The last view, if the time was over before it was so; None too where nobody answers."""
        deadline, reports_history = time.monotonic() + LED_TIMEOUT, 0
        last: KafkaView | None = None
        while time.monotonic() < deadline:
            view = self.view()
            if isinstance(view, NoKafka):
                return None
            last, reports_history = view, reports_history + 1 if is_so(view) else 0
            if reports_history == LED_REPORTS:
                return None
            time.sleep(LED_POLL)
        return last

    def _wait_until_gone(self, names: Collection[str]) -> None:
        """The same of topics that were deleted: a view that is too old shows them once more."""
        self._wait_for_view(lambda view: view.topics.keys().isdisjoint(names))

    def _connected(self) -> RawKafka:
        return connected(self._connection, self._request_timeout)

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
            client = self._client.get()
            if isinstance(client, NoKafka):
                raise OutsideUnavailable(client.message)
            try:
                futures = ask(client, batch)
            except KafkaException as failure:
                # The client refuses the request as a whole, before it is sent.
                error = failure.args[0]
                raise refusal_of(error, f"Kafka's client refused the request: {error.str()}") from None
            values, errors = self._client.wait_for(client, futures, self._request_timeout)
            keep(values)
            failures.add(errors)
            if failures.has_unanswered():
                break  # each further batch would wait for a deadline of its own
        failures.raise_any()


def _has_as_many(view: KafkaView, topic: str, partitions: int) -> bool:
    """One that is gone gets no more."""
    return topic not in view.topics or view.topics[topic].partitions >= partitions


def _new(topic: NewTopic) -> ClientNewTopic:
    """The client takes a replication factor or replicas, not both."""
    where: dict[str, Any] = (
        {"replica_assignment": [list(topic.replicas)]}
        if topic.replicas
        else {"replication_factor": topic.replication_factor}
    )
    return ClientNewTopic(topic.name, num_partitions=topic.partitions, config=dict(topic.configs), **where)


def _by_topic(futures: Mapping[ConfigResource, Future[Any]]) -> dict[str, Future[Any]]:
    return {resource.name: future for resource, future in futures.items()}

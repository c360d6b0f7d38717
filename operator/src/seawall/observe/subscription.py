"""What a subscription reads: the topics of its two Kafkas right now, and the names of tables; or why nobody can say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_targets import TargetKafka
from seawall.domain.cluster.identity import why_other_database
from seawall.domain.conditions import Outlook
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NoKafka, Unreachable
from seawall.domain.kafka_log import FirstSince, NewestRecord, Nulls, ProducerId, ProducerState, TopicFailure
from seawall.domain.subscription.brokers import CONFIGS, Brokers
from seawall.domain.subscription.case import Silent
from seawall.domain.subscription.logs import LogsNow
from seawall.domain.subscription.reasons import Reason
from seawall.observe.connections import kafka_of, required_kafka, resolve_kafka
from seawall.observe.opened_cluster import Blocked, ClusterOpener, pinned_view
from seawall.observe.topic_logs import describe_logs
from seawall.ports import DataPlaneParts, KafkaAdmin, KafkaClusters, KafkaLogs, Kube


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which Kafka is the target.

    Attributes:
        kafka: how it is reached.
        pinned: the cluster id that it had at first contact; None: there was none.
        source: the cluster id of the source, if the target must not be that; None: it may.
    """

    kafka: TargetKafka
    pinned: str | None
    source: str | None

    def why_not(self, view: KafkaView) -> Silent | None:
        """Why the Kafka that answers is not the target; None: it is."""
        name = self.kafka.name
        if self.source is not None and view.cluster_id == self.source:
            message = f"target {name} is the Kafka of the WALCluster itself ({view.cluster_id}): nothing is copied"
            return Silent(Outlook.STALLED, Reason.TARGET_IS_SOURCE, message)
        for expected in (self.pinned, self.kafka.kafka.cluster_id):
            if expected is not None and expected != view.cluster_id:
                message = f"the cluster id of target {name} is {view.cluster_id}, and {expected} is meant"
                return Silent(Outlook.STALLED, Reason.OTHER_TARGET, message)
        return None


@dataclass(frozen=True, slots=True)
class OpenSource:
    """The source as it was listed: its topics are asked after those of the target."""

    view: KafkaView
    logs: KafkaLogs

    def read(self, names: Sequence[str]) -> LogsNow | Silent:
        """Topics of it as they are right now."""
        try:
            return _read(self.view, self.logs, names)
        except SeawallError as error:
            return _no_source(str(error))


@dataclass(frozen=True, slots=True)
class SubscriptionObserver:
    """Reads both Kafkas, for the controller of subscriptions."""

    kube: Kube
    kafka_clusters: KafkaClusters
    databases: ClusterOpener

    def target(
        self, obj: WALSubscription, wanted: Wanted, names: Sequence[str], *, with_configs: bool
    ) -> LogsNow | Silent:
        """Topics of the target, and their configs if they are asked for."""
        connection = self._connection(obj, wanted)
        if not isinstance(connection, KafkaConnection):
            return _no_target(connection)
        try:
            admin = self.kafka_clusters.connect(key_of(obj), connection)
            view = admin.view()
            if isinstance(view, NoKafka):
                return _no_target(view)
            wrong = wanted.why_not(view)
            if wrong is not None:
                return wrong
            found = _read(view, self.kafka_clusters.logs(key_of(obj), connection), names)
            return _with_configs(found, admin) if with_configs else found
        except OutsideUnavailable as error:
            return Silent(Outlook.PROGRESSING, Reason.TARGET_UNREACHABLE, str(error))
        except Refused as error:
            return Silent(Outlook.STALLED, Reason.TARGET_ACCESS, str(error))

    def open_source(self, cluster: WALCluster) -> OpenSource | Silent:
        """The WALCluster's Kafka, if it is the pinned one, with the topics that it lists."""
        key = cluster.metadata.key
        connection = kafka_of(self.kube, cluster)
        if not isinstance(connection, KafkaConnection):
            return _no_source(connection.message)
        try:
            view = pinned_view(cluster, self.kafka_clusters.connect(key, connection))
            return OpenSource(view, self.kafka_clusters.logs(key, connection))
        except Blocked as blocked:
            return _no_source(blocked.found.message)
        except SeawallError as error:
            return _no_source(str(error))

    def admin(self, obj: WALSubscription, wanted: Wanted) -> KafkaAdmin:
        """The target, for who changes topics there.

        Raises:
            OutsideUnavailable: something is wrong with a Secret.
        """
        return self.kafka_clusters.connect(key_of(obj), self._required(obj, wanted))

    def take_producer_id(self, obj: WALSubscription, wanted: Wanted) -> ProducerId:
        """One of the target.

        Raises:
            Refused: it says no.
            OutsideUnavailable: it does not answer.
        """
        return self.kafka_clusters.logs(key_of(obj), self._required(obj, wanted)).take_producer_id()

    def describe_producer(
        self, obj: WALSubscription, wanted: Wanted, names: Collection[str], producer_id: int
    ) -> Mapping[str, ProducerState | TopicFailure]:
        """What the target remembers of the producer; a topic of which nobody says anything has no state.

        Raises:
            OutsideUnavailable: something is wrong with a Secret.
        """
        return self.kafka_clusters.logs(key_of(obj), self._required(obj, wanted)).describe_producer(names, producer_id)

    def append_nulls(self, obj: WALSubscription, wanted: Wanted, nulls: Iterable[Nulls]) -> None:
        """Appends records of null to topics of the target; one that refuses them keeps no other from them.

        Raises:
            Refused: it says no.
            OutsideUnavailable: it does not answer.
        """
        logs = self.kafka_clusters.logs(key_of(obj), self._required(obj, wanted))
        failures = [failure for each in nulls if (failure := _append(logs, each)) is not None]
        if failures:
            raise failures[0]

    def read_newest(
        self, obj: WALSubscription, wanted: Wanted, topic: str, partitions: Collection[int]
    ) -> Mapping[int, NewestRecord | TopicFailure | None]:
        """What a topic of the target says last, by partition.

        Raises:
            OutsideUnavailable: something is wrong with a Secret.
        """
        return self.kafka_clusters.logs(key_of(obj), self._required(obj, wanted)).read_newest(topic, partitions)

    def table_names(self, cluster: WALCluster) -> Mapping[int, str] | Silent:
        """The names of the tables of the WALCluster's database, if it is the pinned one."""
        try:
            parts = self.databases.open_database(cluster)
            if not isinstance(parts, DataPlaneParts):
                return _no_names("the spec names no database" if parts is None else parts.message)
            found = parts.metadata_store.table_names()
        except (SeawallError, PartUnavailable, PartRefused) as error:
            return _no_names(str(error))
        other = why_other_database(cluster, found.store_id, found.claims)
        return found.names if other is None else _no_names(other.message)

    def find_first_since(
        self, cluster: WALCluster, names: Collection[str], since: datetime
    ) -> Mapping[str, FirstSince]:
        """By topic of the source the first record that is as young; left out: nobody says."""
        connection = required_kafka(self.kube, cluster)
        found = self.kafka_clusters.logs(cluster.metadata.key, connection).find_first_since(names, since)
        return {name: each for name, each in found.items() if isinstance(each, FirstSince)}

    def forget(self, key: Key) -> None:
        """Closes the connection of a subscription that is gone."""
        self.kafka_clusters.forget(_target_key(key))

    def _required(self, obj: WALSubscription, wanted: Wanted) -> KafkaConnection:
        found = self._connection(obj, wanted)
        if isinstance(found, NoKafka):
            raise OutsideUnavailable(found.message)
        return found

    def _connection(self, obj: WALSubscription, wanted: Wanted) -> KafkaConnection | NoKafka:
        namespace = obj.metadata.namespace
        return resolve_kafka(wanted.kafka.kafka, lambda name: self.kube.get_secret(Key(namespace, name)))


def wanted_of(obj: WALSubscription, kafka: TargetKafka, source: str | None) -> Wanted:
    """Which Kafka a subscription copies to."""
    return Wanted(kafka, obj.status.target_cluster_id, source)


def key_of(obj: WALSubscription) -> Key:
    """Whose connection to the target it is; no WALCluster has this name."""
    return _target_key(obj.metadata.key)


def _target_key(key: Key) -> Key:
    return Key(key.namespace, f"{key.name}/target")


def _append(logs: KafkaLogs, nulls: Nulls) -> SeawallError | None:
    """Appends to one topic; or why not."""
    try:
        logs.append_nulls(nulls)
    except (Refused, OutsideUnavailable) as failure:
        return failure
    return None


def _no_names(message: str) -> Silent:
    return Silent(Outlook.PROGRESSING, Reason.NAMES_UNKNOWN, f"the names of tables are not known: {message}")


def _no_source(message: str) -> Silent:
    return Silent(Outlook.PROGRESSING, Reason.SOURCE_UNREACHABLE, message)


def _no_target(found: NoKafka) -> Silent:
    if found.why is Unreachable.NOT_ANSWERING:
        return Silent(Outlook.PROGRESSING, Reason.TARGET_UNREACHABLE, found.message)
    return Silent(Outlook.STALLED, Reason.TARGET_ACCESS, found.message)


def _read(view: KafkaView, logs: KafkaLogs, names: Sequence[str]) -> LogsNow:
    return LogsNow(view.cluster_id, len(view.online), *describe_logs(logs, names))


def _with_configs(found: LogsNow, admin: KafkaAdmin) -> LogsNow:
    there = [name for name in found.described if found.topic_id(name) is not None]
    configs: Mapping[str, Configs] = admin.describe_configs(there) if there else {}
    return replace(found, configs=configs, brokers=_brokers(admin))


def _brokers(admin: KafkaAdmin) -> Brokers:
    """What matters of them; one that lets nobody ask hinders nothing else."""
    try:
        return admin.describe_broker_configs(CONFIGS)
    except Refused as error:
        return str(error)

"""The WALCluster controller."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, assert_never

from seawall.api.meta import TOPICS_FINALIZER, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.log_records import Known, LogRecords
from seawall.controllers.topic_creation import CreatesIn, TopicCreation
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.cluster.actions import (
    AddFinalizer,
    ClusterAction,
    DecideDeletion,
    FinishDeletion,
    MarkRecords,
    RecordLogs,
    RemoveFinalizer,
    WriteConfigMap,
)
from seawall.domain.cluster.decide import decide
from seawall.domain.cluster.identity import why_wrong
from seawall.domain.cluster.lost import MissingTopics
from seawall.domain.cluster.observed import Observed
from seawall.domain.cluster.ownership import find_conflicting_owner, find_contender
from seawall.domain.cluster.recorded import Recorded, is_left_to_watch
from seawall.domain.cluster.status import ClusterDecision
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka import KafkaConnection, KafkaView, NoKafka, Unreachable
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.step import Event
from seawall.domain.topics.actions import CreateTopics, DeleteTopics, GuardRetention, RepairConfigs
from seawall.domain.topics.pool import Pool, TopicState, observe_pool, wal_topics
from seawall.observe.connections import required_kafka, resolve_kafka
from seawall.observe.declared_database import read_cluster
from seawall.observe.kafka_nodes import why_forming
from seawall.observe.reassignment_journal import observe_limits
from seawall.observe.sharing import observe_sharing
from seawall.ports import Clock, KafkaAdmin, KafkaClusters, KafkaLogs, Kube, Ledgers, TopicMeter


@dataclass(frozen=True, slots=True)
class WALClusterController(Controller[WALCluster, Observed, WALClusterStatus, ClusterAction]):
    """Observes and acts for WALClusters."""

    resource: ClassVar = WALCluster

    kube: Kube
    kafka_clusters: KafkaClusters
    ledgers: Ledgers
    clock: Clock
    meter: TopicMeter
    deletion: TopicDeletion
    kind: str = "WALCluster"
    _recorded: dict[Key, Known] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Drops the connections and the metrics of a WALCluster that is gone."""
        self.kafka_clusters.forget(key)
        self.meter.forget(key)
        self._records.forget(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Reads Secrets, Kafka, the data plane, rival WALClusters and the ConfigMap.

        An invalid spec leaves nothing to look at.
        """
        time = self.clock.trusted()
        now = time.now
        if isinstance(obj.spec, InvalidSpec):
            self.meter.forget(obj.metadata.key)  # what was measured last may be true no more
            return Observed(now)
        deleted = obj.metadata.deletion_timestamp is not None
        if deleted and self.kube.is_terminating(obj.metadata.namespace):
            # Secrets and Roles of the namespace may be gone already: nothing else must be read to let the object go.
            return Observed(now, namespace_terminating=True)
        data_plane, ledger = self.ledgers.latest_database(obj), self.ledgers.latest(obj.metadata.key, obj.metadata.uid)
        try:
            named = read_cluster(self.kube, obj)
            found = replace(
                self._observe(obj, obj.spec, now, ledger),
                data_plane=data_plane,
                ledger=ledger,
                server=time.server,
                named_cluster=named,
            )
            if not deleted or not isinstance(found.kafka, KafkaView):
                return found
            return replace(found, needs=self.deletion.needs(obj, found.kafka, self._logs(obj)))
        except Refused as error:
            self.meter.measure(obj.metadata.key, None)
            return Observed(now, obstacle=str(error), data_plane=data_plane, ledger=ledger, server=time.server)

    def decide(self, obj: WALCluster, observed: Observed) -> ClusterDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALCluster, action: ClusterAction) -> Event:
        """Does one action."""
        others = [name for name in obj.metadata.finalizers if name != TOPICS_FINALIZER]
        match action:
            case CreateTopics():
                return self._creation.create(obj, action, self._creates_in(obj)).event()
            case RecordLogs() | MarkRecords():
                return self._records.write(obj, action, self._logs(obj)).event()
            case GuardRetention():
                self._admin(obj).alter_configs(action.changes)
            case RepairConfigs():
                admin = self._admin(obj)
                # A run may have begun, whose replicas may go again: min.insync.replicas is not raised for them.
                self._require_unchanged(obj)
                admin.alter_configs(action.changes)
            case DecideDeletion():
                self.deletion.decide(obj, self._logs(obj))
            case DeleteTopics():
                self.deletion.delete(obj, action.names, self._admin(obj), self._logs(obj))
                with suppress(Conflict):  # they are gone, and people hear so; the end forgets them all
                    self.deletion.forget(obj, action.names, self._logs(obj))
            case FinishDeletion():
                self.deletion.finish(obj, action.names, self._admin(obj), self._logs(obj))
                self.kube.set_finalizers(obj, others)
            case WriteConfigMap():
                self.kube.write_config_map(obj, action.config_map)
            case AddFinalizer() | RemoveFinalizer():
                ours = [TOPICS_FINALIZER] if isinstance(action, AddFinalizer) else []
                self.kube.set_finalizers(obj, [*others, *ours])
            case _:
                assert_never(action)
        return action.event()

    def _observe_kafka(
        self, obj: WALCluster, spec: WALClusterSpec, connection: KafkaConnection | NoKafka
    ) -> tuple[KafkaView | NoKafka, Pool | None]:
        """Only topics with a leader are asked for their configs: the others are too new to answer, or down."""
        key = obj.metadata.key
        admin = connection if isinstance(connection, NoKafka) else self.kafka_clusters.connect(key, connection)
        view = admin if isinstance(admin, NoKafka) else admin.view()
        if isinstance(admin, NoKafka) or isinstance(view, NoKafka):
            return view, None
        led = [name for name in wal_topics(spec.topics, view) if view.topics[name].leader is not None]
        try:
            configs = admin.describe_configs(led) if led else {}
        except OutsideUnavailable as error:
            return NoKafka(Unreachable.NOT_ANSWERING, str(error)), None
        return view, observe_pool(spec.topics, view, configs, observe_limits(self.kube, obj))

    def _observe(
        self, obj: WALCluster, spec: WALClusterSpec, now: datetime, ledger: LedgerPage | Unavailable | None
    ) -> Observed:
        key = obj.metadata.key
        connection = resolve_kafka(spec.kafka.access(key), lambda name: self.kube.get_secret(Key(key.namespace, name)))
        kafka, pool = self._observe_kafka(obj, spec, connection)
        is_meant = isinstance(kafka, KafkaView) and why_wrong(obj, kafka) is None
        self.meter.measure(key, pool if is_meant else None)
        if isinstance(connection, NoKafka) or not isinstance(kafka, KafkaView):
            return Observed(now, kafka)
        claims = self.kube.list_claims(spec.topics.prefix)
        conflicting_owner, contender = (
            find_conflicting_owner(obj, kafka, claims.items),
            find_contender(obj, kafka, claims.items),
        )
        config_map = self._observe_config_map(key, spec)
        found = Observed(
            now, kafka, pool, conflicting_owner, claims.unreadable, config_map=config_map, contender=contender
        )
        if pool is not None and pool.in_state(TopicState.MISSING):
            found = replace(found, forming=why_forming(self.kube, obj))
        sharing = observe_sharing(self.deletion.strimzi, kafka.cluster_id)
        logs = self.kafka_clusters.logs(key, connection)
        missing, recorded = (
            self._observe_missing(obj, pool, logs),
            self._observe_recorded(obj, spec, found, ledger, logs),
        )
        return replace(found, missing=missing, recorded=recorded, sharing=sharing)

    def _observe_missing(self, obj: WALCluster, pool: Pool | None, logs: KafkaLogs) -> MissingTopics | None:
        """What is recorded of missing topics; a pool that is whole costs nothing, and one that goes misses nothing."""
        if pool is None or obj.metadata.deletion_timestamp is not None:
            return None
        names = pool.in_state(TopicState.MISSING)
        return self._creation.missing(obj, names, logs) if names else MissingTopics()

    def _observe_recorded(
        self,
        obj: WALCluster,
        spec: WALClusterSpec,
        found: Observed,
        ledger: LedgerPage | Unavailable | None,
        logs: KafkaLogs,
    ) -> Recorded | None:
        """What is recorded of the topics that there are, those beyond the count too; None: it is not ours to record."""
        kafka, metadata = found.kafka, obj.metadata
        is_ours = metadata.deletion_timestamp is None and not metadata.is_paused and found.conflicting_owner is None
        if not is_ours or not isinstance(kafka, KafkaView) or is_left_to_watch(obj, ledger):
            self._records.forget(metadata.key)
            return None
        topics = wal_topics(spec.topics, kafka)
        led = {name for name in topics if kafka.topics[name].leader is not None}
        return self._records.observe(obj, topics, led, logs)

    @property
    def _records(self) -> LogRecords:
        return LogRecords(self.kube, self.deletion.observer.intents, self.clock, self._recorded)

    @property
    def _creation(self) -> TopicCreation:
        return TopicCreation(self.kube, self.deletion.observer.intents, self.clock)

    def _observe_config_map(self, key: Key, spec: WALClusterSpec) -> ConfigMap | None:
        if spec.wal_config is None:
            return None
        return self.kube.get_config_map(Key(key.namespace, spec.wal_config.config_map_name))

    def _admin(self, obj: WALCluster) -> KafkaAdmin:
        return self.kafka_clusters.connect(obj.metadata.key, required_kafka(self.kube, obj))

    def _creates_in(self, obj: WALCluster) -> CreatesIn:
        reassigner = self.kafka_clusters.reassigner(obj.metadata.key, required_kafka(self.kube, obj))
        return CreatesIn(self._admin(obj), self._logs(obj), reassigner)

    def _logs(self, obj: WALCluster) -> KafkaLogs:
        return self.kafka_clusters.logs(obj.metadata.key, required_kafka(self.kube, obj))

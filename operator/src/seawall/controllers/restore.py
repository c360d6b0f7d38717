"""The WALRestore controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.restore import RestoreStage, WALRestore, WALRestoreStatus
from seawall.controllers.controller import Controller
from seawall.controllers.job_secrets import require_secrets
from seawall.controllers.topic_creation import with_brokers
from seawall.domain.cluster.identity import pinned_id, why_wrong
from seawall.domain.cluster_name import of_cluster
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict, Refused, SeawallError
from seawall.domain.kafka import KafkaConnection, KafkaView
from seawall.domain.kafka_log import DescribedTopic
from seawall.domain.ledger.observation import Observation, ReadShards, Unavailable, read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.domain.restore.actions import AdoptLogs, ClaimTopics, MakeTopics, RemoveTopics, RestoreAction
from seawall.domain.restore.case import DatabaseNow, Observed, PoolNow, RestoreDecision
from seawall.domain.restore.decide import decide
from seawall.domain.restore.needs import TopicNeeds, find_needs
from seawall.domain.restore.others import find_other
from seawall.domain.spark_job.actions import FreezeRequest, RemoveApplication, RemoveItself, Submit, attempt_key
from seawall.domain.step import Act, Event
from seawall.domain.times import RESTORE_SILENT_AFTER
from seawall.observe.connections import kafka_of, required_kafka
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import named_cluster
from seawall.ports import Clock, Datanodes, DataPlaneParts, KafkaClusters, Kube, SparkApplications

MAKES = frozenset({RestoreStage.PREPARING, RestoreStage.REMOVING, RestoreStage.ADOPTING})
"""The stages that look at topics."""
NEEDS_STOPPED = frozenset({RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING})
"""The stages that begin nothing while the database runs."""
RUNS = frozenset({RestoreStage.INSPECTING, RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING})
"""The stages with a request or an application."""


@dataclass(frozen=True, slots=True)
class WALRestoreController(Controller[WALRestore, Observed, WALRestoreStatus, RestoreAction]):
    """Observes and acts for WALRestores."""

    resource: ClassVar = WALRestore

    kube: Kube
    applications: SparkApplications
    kafka_clusters: KafkaClusters
    datanodes: Datanodes
    observer: LedgerObserver
    clock: Clock
    kind: str = WALRestore.KIND.kind

    def observe(self, obj: WALRestore) -> Observed:
        """What the stage needs."""
        if obj.metadata.deletion_timestamp is not None or obj.status.is_over:
            return Observed(self.clock.now())
        try:
            return self._read_parts(obj)
        except Refused as error:
            return Observed(self.clock.now(), obstacle=str(error))

    def _read_parts(self, obj: WALRestore) -> Observed:
        stage, key = obj.status.stage, attempt_key(obj.metadata.key, obj.status.attempt)
        application = self.applications.get(key) if stage in RUNS else None
        cluster = named_cluster(self.kube, obj)
        if cluster is None or isinstance(cluster.spec, InvalidSpec) or isinstance(obj.spec, InvalidSpec):
            return Observed(self.clock.now(), cluster, application=application)
        names = [name for name in cluster.spec.topics.topic_names() if obj.spec.selects(name)]
        begins = stage is RestoreStage.INSPECTING and not obj.status.topics
        is_to_be_made = application is None and stage in NEEDS_STOPPED
        return Observed(
            now=self.clock.now(),
            cluster=cluster,
            request=self.kube.get_config_map(key) if stage in RUNS else None,
            application=application,
            driver=None if application is None else self.applications.describe_driver(application),
            needs=self._needs(cluster, names) if begins else None,
            pool=self._pool(cluster, [row.name for row in obj.status.planned]) if stage in MAKES else None,
            database=self._database(cluster, cluster.spec) if is_to_be_made else None,
            other=self._other(obj) if stage is RestoreStage.PREPARING else None,
        )

    def _needs(self, cluster: WALCluster, names: list[str]) -> Mapping[str, TopicNeeds] | Unavailable:
        observation = self.observer.observe(cluster)
        if not isinstance(observation, Observation):
            return observation
        records = self._shards(cluster, names).of_topics(names)
        return find_needs(observation, names, records)

    def _pool(self, cluster: WALCluster, names: list[str]) -> PoolNow | str:
        """The topics as they are right now, of the Kafka that is pinned."""
        connection, pool = kafka_of(self.kube, cluster), _pool_id(cluster)
        if not isinstance(connection, KafkaConnection):
            return connection.message
        if pool is None:
            return f"WALCluster {cluster.metadata.name} has not met its Kafka cluster yet"
        key = cluster.metadata.key
        try:
            view = self.kafka_clusters.connect(key, connection).view()
            if not isinstance(view, KafkaView):
                return view.message
            if (wrong := why_wrong(cluster, view)) is not None:
                return wrong
            logs = self.kafka_clusters.logs(key, connection)
            described = logs.describe_topics(names)
            there = [name for name in names if isinstance(described.get(name), DescribedTopic)]
            offsets = logs.describe_offsets(there) if there else {}
        except SeawallError as error:
            return str(error)
        return PoolNow(pool, len(view.online), described, offsets, self._shards(cluster, names))

    def _shards(self, cluster: WALCluster, names: list[str]) -> ReadShards:
        pool, numbers = _pool_id(cluster), shards_of(names)
        try:
            return read_shards({} if pool is None else self.observer.intents.read(pool, numbers))
        except SeawallError as error:
            return ReadShards({}, {}, dict.fromkeys(numbers, str(error)))

    def _database(self, cluster: WALCluster, spec: WALClusterSpec) -> DatabaseNow:
        """By its pods, where they are declared; else by the age of its reports."""
        declared = None if spec.data_plane is None else spec.data_plane.datanodes
        if declared is not None:
            key = Key(cluster.metadata.namespace, declared.stateful_set_ref.name)
            found = self.datanodes.get(key)
            pods = () if found is None else self.datanodes.pods(found)
            if found is not None and (pods or found.replicas):
                what = ", ".join(pod.key.name for pod in pods[:3]) or f"StatefulSet {key.name}"
                return DatabaseNow(runs=True, message=f"{what} runs: scale StatefulSet {key.name} to 0")
            return DatabaseNow(False, "no pod runs", None if found is None else f"{found.uid}/{found.generation}")
        return self._database_by_reports(cluster)

    def _database_by_reports(self, cluster: WALCluster) -> DatabaseNow:
        try:
            parts = self.observer.clusters.open_database(cluster)
            if not isinstance(parts, DataPlaneParts):
                said = "the WALCluster names no database" if parts is None else parts.message
                return DatabaseNow(None, f"whether the database is stopped is not known: {said}")
            reports = parts.data_plane.reports()
        except (PartUnavailable, PartRefused, SeawallError) as error:
            return DatabaseNow(None, f"whether the database is stopped is not known: {error}")
        newest = max((report.reported_at for report in reports), default=None)
        if newest is None or self.clock.now() - newest > RESTORE_SILENT_AFTER:
            return DatabaseNow(runs=False, message="no datanode reports")
        return DatabaseNow(runs=True, message=f"a datanode reported at {newest:%H:%M:%SZ}: stop all of them")

    def _other(self, obj: WALRestore) -> str | None:
        return find_other(obj, of_cluster(self.kube.list(WALRestore, obj.metadata.namespace).items, _cluster_of(obj)))

    def decide(self, obj: WALRestore, observed: Observed) -> RestoreDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def perform(self, obj: WALRestore, action: RestoreAction) -> Event:
        """Does one action, if right now it would be decided again."""
        if not isinstance(action, RemoveItself | RemoveApplication):
            self._ask_again(obj, action)
        match action:
            case FreezeRequest():
                self.kube.write_config_map(obj, action.config_map)
            case Submit():
                require_secrets(self.kube, obj.metadata.namespace, action.secrets, "backup")
                self.applications.create(obj, action.key, action.spec, action.service_account)
            case ClaimTopics() | AdoptLogs():
                self.observer.write_shards(action.pool, action.shards)
            case MakeTopics():
                self._make(obj, action)
            case RemoveTopics():
                cluster = self._cluster(obj)
                connection = required_kafka(self.kube, cluster)
                self.kafka_clusters.connect(cluster.metadata.key, connection).delete_topics(action.ids)
            case RemoveApplication():
                self.applications.delete(action.application)
            case RemoveItself():
                self.kube.delete(obj)
            case _:
                assert_never(action)
        return action.event()

    def _make(self, obj: WALRestore, action: MakeTopics) -> None:
        cluster = self._cluster(obj)
        connection = required_kafka(self.kube, cluster)
        reassigner = self.kafka_clusters.reassigner(cluster.metadata.key, connection)
        topics, _ = with_brokers(cluster, action.topics, reassigner)
        self.kafka_clusters.connect(cluster.metadata.key, connection).create_topics(topics)

    def _cluster(self, obj: WALRestore) -> WALCluster:
        found = named_cluster(self.kube, obj)
        if found is None:
            raise Conflict(f"the WALCluster of WALRestore {obj.metadata.key} is gone")
        return found

    def _ask_again(self, obj: WALRestore, action: RestoreAction) -> None:
        """Reads all of it once more, right before something is made, written or removed.

        Raises:
            Conflict: it would not be decided any more.
        """
        found = self.read(obj.metadata.key)
        is_same = found is not None and found.metadata.uid == obj.metadata.uid
        step = settle(found, decide(found, self.observe(found))) if found is not None and is_same else None
        if not isinstance(step, Act) or action not in step.actions:
            raise Conflict(f"WALRestore {obj.metadata.key} or what it was decided by changed")


def _pool_id(cluster: WALCluster) -> PoolId | None:
    cluster_id, prefix = pinned_id(cluster), cluster.prefix
    return None if cluster_id is None or prefix is None else PoolId(cluster.metadata.namespace, cluster_id, prefix)


def _cluster_of(obj: WALRestore) -> str:
    return "" if isinstance(obj.spec, InvalidSpec) else obj.spec.cluster_ref.name

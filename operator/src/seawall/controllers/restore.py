"""The WALRestore controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, assert_never

from seawall.api.meta import SCRATCH_FINALIZER, InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.restore import WALRestore, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoreStage, WALRestoreStatus
from seawall.controllers.controller import Controller
from seawall.controllers.job_secrets import require_secrets
from seawall.controllers.made_applications import MadeApplications
from seawall.controllers.permission import require_soon, require_unmanaged
from seawall.controllers.topic_creation import with_brokers
from seawall.domain.backup.drills import is_drill
from seawall.domain.cluster.identity import pool_of
from seawall.domain.cluster_name import of_cluster
from seawall.domain.dataplane.connection import PartUnavailable
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.kafka import KafkaConnection
from seawall.domain.kafka_log import LogOffsets
from seawall.domain.restore.actions import (
    AdoptLogs,
    ClaimTopics,
    KeepForScratch,
    MakeTopics,
    ReleaseScratch,
    RemoveTopics,
    RestoreAction,
)
from seawall.domain.restore.case import DatabaseNow, Observed, PoolNow, RestoreDecision, ScratchNow
from seawall.domain.restore.cluster_pin import why_replaced
from seawall.domain.restore.database import (
    PODS_NEEDED,
    Silence,
    judge,
    judge_memory,
    judge_pods,
    judge_reports,
    judge_sets,
    newest_of,
)
from seawall.domain.restore.decide import decide
from seawall.domain.restore.others import find_other
from seawall.domain.restore.removal import made_topics
from seawall.domain.restore.scratch_removal import may_be_left
from seawall.domain.spark_job.actions import FreezeRequest, RemoveApplication, RemoveItself, Submit, attempt_key
from seawall.domain.step import Event
from seawall.observe.connections import kafka_of, required_kafka
from seawall.observe.declared_database import named_sets
from seawall.observe.kafka_nodes import why_forming
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import Blocked, named_cluster, own_pool, pinned_view
from seawall.observe.records import read_records
from seawall.observe.restore_parts import read_deleting, read_names, read_needs, read_why_it_stays
from seawall.observe.topic_logs import describe_logs, written_since
from seawall.ports import (
    Clock,
    DataPlaneParts,
    KafkaClusters,
    Kube,
    RestoreMeter,
    SparkApplications,
    Stopwatch,
    Strimzi,
    Workloads,
)

MAKES = frozenset({RestoreStage.PREPARING, RestoreStage.REMOVING, RestoreStage.ADOPTING})
"""The stages that look at topics."""
NEEDS_STOPPED = MAKES | {RestoreStage.WRITING}
"""The stages in which the database must not run."""
RUNS = frozenset({RestoreStage.INSPECTING, RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING})
"""The stages with a request or an application."""


@dataclass(frozen=True, slots=True)
class WALRestoreController(Controller[WALRestore, Observed, WALRestoreStatus, RestoreAction]):
    """Observes and acts for WALRestores."""

    resource: ClassVar = WALRestore

    kube: Kube
    applications: SparkApplications
    kafka_clusters: KafkaClusters
    workloads: Workloads
    observer: LedgerObserver
    clock: Clock
    stopwatch: Stopwatch
    meter: RestoreMeter
    silences: dict[Key, Silence] = field(default_factory=dict)
    """By WALCluster since when its datanodes have not reported; a process that starts anew waits again."""
    made: MadeApplications = field(default_factory=MadeApplications)
    strimzi: Strimzi | None = None
    """None: nobody asks what Strimzi has."""
    kind: str = WALRestore.KIND.kind

    def forget(self, key: Key) -> None:
        """Drops what is known of its applications."""
        self.made.forget(key)

    def observe(self, obj: WALRestore) -> Observed:
        """What the stage needs."""
        is_deleted = obj.metadata.deletion_timestamp is not None
        if obj.status.is_over or (is_deleted and SCRATCH_FINALIZER not in obj.metadata.finalizers):
            return Observed(self.clock.trusted().shared, outlives_ttl=read_why_it_stays(self.kube, obj))
        try:
            return self._read_left(obj) if is_deleted else self._read_parts(obj)
        except Refused as error:
            return Observed(self.clock.trusted().shared, obstacle=str(error))

    def _read_parts(self, obj: WALRestore) -> Observed:
        stage, key = obj.status.stage, attempt_key(obj.metadata.key, obj.status.attempt)
        application = self.applications.get(key) if stage in RUNS else None
        cluster = self._cluster(obj)
        if cluster is None or isinstance(cluster.spec, InvalidSpec) or isinstance(obj.spec, InvalidSpec):
            return Observed(self.clock.trusted().shared, cluster, application=application)
        is_scratch = obj.spec.scratch is not None
        begins = stage is RestoreStage.INSPECTING and not obj.status.topics
        names = read_names(self.kube, obj, obj.spec, cluster.spec) if begins else ()
        return Observed(
            now=self.clock.trusted().shared,
            cluster=cluster,
            request=self.kube.get_config_map(key) if stage in RUNS else None,
            application=application,
            made_uid=self.made.uid_of(obj, key),
            driver=None if application is None else self.applications.describe_driver(application),
            names=names,
            needs=read_needs(self.observer, obj.spec, cluster, names) if begins and not is_scratch else None,
            pool=self._pool(cluster, cluster.spec, obj.status) if stage in MAKES and not is_scratch else None,
            scratch=self._scratch(obj, cluster) if stage in MAKES and is_scratch else None,
            # After the topics: who starts it, writes and stops it in between has changed the StatefulSet by then.
            database=self._database(cluster, cluster.spec, obj.spec)
            if stage in NEEDS_STOPPED and not is_scratch
            else None,
            other=self._other(obj, obj.spec) if stage is RestoreStage.PREPARING else None,
            deleting=read_deleting(self.kube, obj, obj.spec)
            if stage is RestoreStage.INSPECTING and application is None
            else None,
        )

    def _cluster(self, obj: WALRestore) -> WALCluster | None:
        """The WALCluster; also one that is being deleted, while its Kafka may have scratch topics of this restore."""
        spec = obj.spec
        if isinstance(spec, InvalidSpec) or spec.scratch is None or not may_be_left(obj.status):
            return named_cluster(self.kube, obj)
        return self.kube.get(WALCluster, _cluster_key(obj, spec))

    def _read_left(self, obj: WALRestore) -> Observed:
        """What a deletion has to remove; the WALCluster may be going, too."""
        now, namespace = self.clock.trusted().shared, obj.metadata.namespace
        if self.kube.is_terminating(namespace) or isinstance(obj.spec, InvalidSpec):
            return Observed(now, terminating=True)
        cluster = self.kube.get(WALCluster, _cluster_key(obj, obj.spec))
        application = self.applications.get(attempt_key(obj.metadata.key, obj.status.attempt))
        return Observed(now, cluster, application=application, scratch=self._scratch(obj, cluster))

    def _scratch(self, obj: WALRestore, cluster: WALCluster | None) -> ScratchNow | str | None:
        """The scratch topics as they are right now, of the Kafka that is pinned."""
        if cluster is None:
            return None
        connection, names = kafka_of(self.kube, cluster), [row.into for row in obj.status.planned if row.into]
        if not isinstance(connection, KafkaConnection):
            return connection.message
        key = cluster.metadata.key
        try:
            view = pinned_view(cluster, self.kafka_clusters.connect(key, connection))
            return ScratchNow(len(view.online), *describe_logs(self.kafka_clusters.logs(key, connection), names))
        except Blocked as blocked:
            return blocked.found.message
        except SeawallError as error:
            return str(error)

    def _pool(self, cluster: WALCluster, spec: WALClusterSpec, status: WALRestoreStatus) -> PoolNow | str:
        """The topics as they are right now, of the Kafka that is pinned, if they are this WALCluster's alone."""
        connection, pool = kafka_of(self.kube, cluster), pool_of(cluster)
        names, began = [row.name for row in status.topics], status.made_time or status.start_time
        made = made_topics(status) if status.stage is RestoreStage.REMOVING else {}
        if not isinstance(connection, KafkaConnection):
            return connection.message
        key = cluster.metadata.key
        try:
            owned = own_pool(self.kube, cluster, self.kafka_clusters.connect(key, connection), spec.topics.prefix)
            logs = self.kafka_clusters.logs(key, connection)
            described, offsets = describe_logs(logs, names)
            led = {name for name in made if isinstance(offsets.get(name), LogOffsets)}
            younger = frozenset[str]() if began is None else written_since(logs, led, began)
        except Blocked as blocked:
            return blocked.found.message
        except SeawallError as error:
            return str(error)
        if owned.contender is not None or pool is None:
            return f"WALCluster {owned.contender} claims the same topics: delete one of the two"
        shards = read_records(self.observer.intents, pool, names)
        return PoolNow(pool, len(owned.view.online), described, offsets, shards, younger)

    def _database(self, cluster: WALCluster, spec: WALClusterSpec, asked: WALRestoreSpec) -> DatabaseNow:
        if spec.data_plane is None or not spec.data_plane.names_datanodes:
            return PODS_NEEDED if asked.goes_back else judge(None, self._by_reports(cluster, asked))
        named = named_sets(self.observer.clusters.kube, cluster)
        if isinstance(named, str):
            return DatabaseNow(None, f"whether the database runs is not known: {named}")
        pods = judge_sets(self._pods_of(each.key) for each in named)
        return judge(pods, self._by_reports(cluster, asked) if pods.runs is False else None)

    def _pods_of(self, key: Key) -> DatabaseNow:
        found = self.workloads.get(key)
        return judge_pods(key.name, found, () if found is None else self.workloads.pods(found))

    def _by_reports(self, cluster: WALCluster, asked: WALRestoreSpec) -> DatabaseNow | None:
        """None: nobody answers. Who is not let in, or has no Secret to ask with, does not know that."""
        try:
            parts = self.observer.clusters.open_database(cluster)
            if not isinstance(parts, DataPlaneParts):
                return None if parts is None else DatabaseNow(None, parts.message)
            newest = newest_of(parts.data_plane.reports())
        except PartUnavailable:
            return None
        except SeawallError as error:
            return DatabaseNow(None, str(error))
        before, now = self.silences.get(cluster.metadata.key), self.stopwatch.milliseconds()
        self.silences[cluster.metadata.key], found = judge_reports(before, newest, now)
        return found if found is None or not asked.goes_back else judge_memory(found)

    def _other(self, obj: WALRestore, asked: WALRestoreSpec) -> str | None:
        found = self.kube.list(WALRestore, obj.metadata.namespace).items
        return find_other(obj, of_cluster(found, asked.cluster_ref.name))

    def decide(self, obj: WALRestore, observed: Observed) -> RestoreDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def record(self, obj: WALRestore, status: WALRestoreStatus) -> None:
        """Replaces the status; one that ends by it, and that no policy made, is counted."""
        self.kube.replace_status(obj, status)
        if status.is_over and not obj.status.is_over and not is_drill(obj) and not isinstance(obj.spec, InvalidSpec):
            self.meter.count_restore(_cluster_key(obj, obj.spec), status)

    def perform(self, obj: WALRestore, action: RestoreAction) -> Event:
        """Does one action, if right now it would be decided again."""
        began = self.stopwatch.milliseconds()
        if not isinstance(action, RemoveItself | RemoveApplication):
            self._ask_again(obj, action, decide)
        match action:
            case FreezeRequest():
                self.kube.write_config_map(obj, action.config_map)
            case Submit():
                require_secrets(self.kube, obj.metadata.namespace, action.secrets, "backup")
                uid = self.applications.create(obj, action.key, action.spec, action.service_account)
                self.made.remember(obj, action.key, uid)
            case ClaimTopics() | AdoptLogs():
                self.observer.write_shards(action.pool, action.shards)
            case MakeTopics() | RemoveTopics():
                self._change_topics(obj, action, began)
            case KeepForScratch() | ReleaseScratch():
                self.kube.set_finalizers(obj, action.finalizers(obj.metadata.finalizers))
            case RemoveApplication():
                self.applications.delete(action.application)
            case RemoveItself():
                self.kube.delete(obj)
            case _:
                assert_never(action)
        return action.event()

    def _change_topics(self, obj: WALRestore, action: MakeTopics | RemoveTopics, began: int) -> None:
        cluster, connection = self._kafka(obj)
        admin = self.kafka_clusters.connect(cluster.metadata.key, connection)
        names = action.ids if isinstance(action, RemoveTopics) else (topic.name for topic in action.topics)
        require_unmanaged(self.strimzi, cluster, names)
        if isinstance(action, RemoveTopics):
            require_soon(self.stopwatch, began)
            admin.delete_topics(action.ids)
            return
        reassigner = self.kafka_clusters.reassigner(cluster.metadata.key, connection)
        topics, _ = with_brokers(cluster, action.topics, reassigner)
        if (forming := why_forming(self.kube, cluster)) is not None:
            raise OutsideUnavailable(forming)
        admin.create_topics(topics)

    def _kafka(self, obj: WALRestore) -> tuple[WALCluster, KafkaConnection]:
        """Also of a WALCluster that goes, but of no other: what it was decided by was asked again."""
        spec = obj.spec
        found = None if isinstance(spec, InvalidSpec) else self.kube.get(WALCluster, _cluster_key(obj, spec))
        if found is None:
            raise Conflict(f"the WALCluster of WALRestore {obj.metadata.key} is gone")
        if (replaced := why_replaced(obj.status, found)) is not None:
            raise Conflict(replaced)
        return found, required_kafka(self.kube, found)


def _cluster_key(obj: WALRestore, spec: WALRestoreSpec) -> Key:
    return Key(obj.metadata.namespace, spec.cluster_ref.name)

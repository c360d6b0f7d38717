"""One look at the datanodes of a WALCluster: what their restarts are decided from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.data_plane import Datanodes as DeclaredDatanodes
from seawall.api.v1alpha1.restart import RestartStatus
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.api.v1alpha1.wal_verification import WALVerification
from seawall.controllers.ledger_look import LedgerLooks
from seawall.controllers.opened_cluster import OpenedCluster
from seawall.controllers.partition_look import PartitionLooks
from seawall.controllers.record_scans import RecordScans
from seawall.domain.cluster_name import of_cluster
from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.kafka import NoKafka
from seawall.domain.ledger.looked import CannotLook, Looked
from seawall.domain.restart.gather import Beside, KafkaSeen, find_elder, with_ledger, with_people
from seawall.domain.restart.observed import Observed
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.maintenance import address_of
from seawall.domain.rollout.scans import suspicious_topics, with_scanned
from seawall.domain.rollout.workload import StatefulSet
from seawall.domain.walconfig.config_map import ConfigMap
from seawall.ports import Clock, Datanodes, DataPlanes, Kube, MaintenanceSwitch


@dataclass(frozen=True, slots=True)
class DatanodeLooks:
    """Looks at the ledger, Kafka and the database, and at the pods last: they change fastest."""

    kube: Kube
    datanodes: Datanodes
    data_planes: DataPlanes
    ledgers: LedgerLooks
    partitions: PartitionLooks
    clock: Clock
    scans: RecordScans = field(default_factory=RecordScans)

    def look(self, obj: WALCluster) -> Observed:
        """Everything anew. Where nothing is to be restarted any more, only whether the database is in maintenance."""
        spec, declared, now = obj.spec, declared_datanodes(obj.spec), self.clock.now()
        if isinstance(spec, InvalidSpec) or declared is None or obj.metadata.deletion_timestamp is not None:
            return self._look_at_maintenance(obj, Facts(now, None, metasrv=_declared_metasrv(spec)))
        looked = self.ledgers.look(obj)
        opened = self.ledgers.open(obj)
        kafka, beside = self._kafka(obj, opened), self._beside(obj)
        facts = self._with_maintenance(Facts(now, None, metasrv=_declared_metasrv(spec)), obj)
        facts = with_people(facts, self.clock.trusted(), obj, spec, self._config_map(obj, spec))
        elder = find_elder(obj, self.kube.list(WALCluster, obj.metadata.namespace).items)
        if elder is not None:
            name = declared.stateful_set_ref.name
            return Observed(
                replace(facts, statefulset_problem=f"the older WALCluster {elder} names StatefulSet {name}")
            )
        facts = self._with_pods(facts, Key(obj.metadata.namespace, declared.stateful_set_ref.name))
        facts = with_ledger(facts, obj, looked, kafka, beside)
        return Observed(facts if isinstance(looked, CannotLook) else self._with_scans(facts, obj, looked, opened))

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self.scans.forget(key)

    def _with_scans(self, facts: Facts, obj: WALCluster, looked: Looked, opened: OpenedCluster | CannotLook) -> Facts:
        """With the records at which a datanode ends that crashes again and again."""
        key, restart = obj.metadata.key, obj.status.restart
        starts = suspicious_topics(facts, None if restart is None else restart.last_replay)
        ids = {name: log.topic_id for name, log in looked.read.logs.items() if log.topic_id is not None}
        if starts and not isinstance(opened, CannotLook):
            self.scans.scan(key, opened.logs, starts, ids)
        return with_scanned(facts, self.scans.found(key, ids))

    def _look_at_maintenance(self, obj: WALCluster, facts: Facts) -> Observed:
        has_lease = obj.status.restart is not None and obj.status.restart.maintenance is not None
        is_declared = None if isinstance(obj.spec, InvalidSpec) else declared_datanodes(obj.spec) is not None
        if not has_lease:
            return Observed(facts, is_declared=is_declared)
        is_terminating = self.kube.is_terminating(obj.metadata.namespace)
        found = self._with_maintenance(facts, obj)
        return Observed(found, is_declared=is_declared, namespace_terminating=is_terminating)

    def _with_maintenance(self, facts: Facts, obj: WALCluster) -> Facts:
        """What the database says that the status remembers, or else the spec names."""
        metasrv = address_of(obj.status.restart or RestartStatus(), facts.metasrv)
        if metasrv is None:
            return facts
        try:
            return replace(facts, in_maintenance=self.maintenance_of(obj, metasrv).in_maintenance())
        except (OutsideUnavailable, Refused):
            return facts

    def maintenance_of(self, obj: WALCluster, metasrv: str) -> MaintenanceSwitch:
        """The maintenance of the database at this metasrv's URL."""
        return self.data_planes.maintenance_of(obj.metadata.key, metasrv)

    def open(self, obj: WALCluster) -> OpenedCluster:
        """The ports of a WALCluster, for who acts on what a look showed.

        Raises:
            OutsideUnavailable: they cannot be opened.
        """
        opened = self.ledgers.open(obj)
        if isinstance(opened, CannotLook):
            raise OutsideUnavailable(opened.message)
        return opened

    def _with_pods(self, facts: Facts, key: Key) -> Facts:
        """That the API server refuses is for people to mend; that it does not answer ends the tick."""
        try:
            found: StatefulSet | None = self.datanodes.get(key)
            pods = () if found is None else self.datanodes.pods(found)
        except Refused as refused:
            return replace(facts, statefulset_problem=f"StatefulSet {key.name} and its pods cannot be read: {refused}")
        return replace(facts, statefulset=found, pods=pods)

    def _kafka(self, obj: WALCluster, opened: OpenedCluster | CannotLook) -> KafkaSeen | str:
        """What moves is read first: a move that ends in between still counts."""
        if isinstance(opened, CannotLook):
            return opened.message
        try:
            ongoing = self.partitions.reassigner(obj).ongoing()
            view = opened.admin.view()
        except (OutsideUnavailable, Refused) as error:
            return str(error)
        if isinstance(view, NoKafka):
            return view.message
        return KafkaSeen(view.topics, frozenset(found.topic for found in ongoing))

    def _beside(self, obj: WALCluster) -> Beside:
        namespace, name = obj.metadata.namespace, obj.metadata.name
        return Beside(
            of_cluster(self.kube.list(WALPurge, namespace).items, name),
            of_cluster(self.kube.list(WALVerification, namespace).items, name),
        )

    def _config_map(self, obj: WALCluster, spec: WALClusterSpec) -> ConfigMap | None:
        if spec.wal_config is None:
            return None
        return self.kube.get_config_map(Key(obj.metadata.namespace, spec.wal_config.config_map_name))


def declared_datanodes(spec: WALClusterSpec | InvalidSpec) -> DeclaredDatanodes | None:
    """What the spec says of them; None: nothing, or it is invalid."""
    if isinstance(spec, InvalidSpec) or spec.data_plane is None:
        return None
    return spec.data_plane.datanodes


def _declared_metasrv(spec: WALClusterSpec | InvalidSpec) -> str | None:
    """As it is written into the status and compared with it; None: the spec names none, or it is invalid."""
    if isinstance(spec, InvalidSpec) or spec.greptimedb is None:
        return None
    return spec.greptimedb.metasrv.rstrip("/")

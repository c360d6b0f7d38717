"""One look at the datanodes of a WALCluster, and at maintenance: what their restarts are decided from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec
from seawall.api.v1alpha1.disruption import DisruptionKind, of_kind
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.rollout import Maintenance, RestartStatus
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.identity import Pin
from seawall.domain.cluster_name import of_cluster
from seawall.domain.datanodes.facts import Facts, LeftOver
from seawall.domain.datanodes.gather import Beside, ObservedKafka, find_older_owner, with_ledger, with_people
from seawall.domain.datanodes.maintenance import Answers, address_of, meant_by, why_other_database, with_witnesses
from seawall.domain.datanodes.observed import Observed
from seawall.domain.datanodes.scans import suspicious_topics, with_scanned
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable, contract_address
from seawall.domain.dataplane.declared import Database
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka import NoKafka
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.rollout.workload import Pod, StatefulSet
from seawall.observe.connections import required_access
from seawall.observe.database import DatabaseAnswers, read_database
from seawall.observe.declared_database import NamedSet, find_database, named_sets
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.observe.partitions import PartitionObserver
from seawall.observe.record_scans import RecordScans
from seawall.ports import Clock, DataPlanes, Kube, MaintenanceSwitch, Workloads

OTHER_DATABASE = frozenset(
    {UnavailableReason.CONTRADICTION, UnavailableReason.DATABASE_CHANGED, UnavailableReason.DATABASE_CLAIMED}
)
"""What a look finds of another database than the pinned one."""

BEFORE_THE_DATABASE = frozenset({UnavailableReason.POLICY_INVALID, UnavailableReason.KUBERNETES})
"""What may end a look before it has read the database."""


def lease_of(cluster: WALCluster) -> Maintenance | None:
    """The maintenance that the status remembers."""
    return None if cluster.status.restart is None else cluster.status.restart.maintenance


def witnesses(
    cluster: WALCluster, observation: Observation | Unavailable, opened: OpenedCluster | Unavailable, time: TrustedTime
) -> Answers:
    """What a look that began after the metasrv's answer, and the store, say of whose that was."""
    cannot = observation if isinstance(observation, Unavailable) else None
    if lease_of(cluster) is None:
        return Answers(contradiction=cannot.message if cannot is not None and cannot.why in OTHER_DATABASE else None)
    if cannot is not None and cannot.why in BEFORE_THE_DATABASE:
        return ask_again(cluster, opened, time)
    is_contradiction = cannot is not None and cannot.why is UnavailableReason.CONTRADICTION
    return _with_store(opened, cannot.message if cannot is not None and is_contradiction else None)


def ask_again(cluster: WALCluster, opened: OpenedCluster | Unavailable, time: TrustedTime) -> Answers:
    """Without a look: right before the switch is turned, and where the look ended before it came to the database."""
    return _with_store(opened, _contradiction(cluster, opened, time))


def _contradiction(cluster: WALCluster, opened: OpenedCluster | Unavailable, time: TrustedTime) -> str | None:
    """Why the parts at the spec's addresses are not of one database; None: nothing says so, or nobody answers."""
    if isinstance(opened, Unavailable):
        return None
    try:
        read_database(cluster, opened, DatabaseAnswers(opened.parts), time, readopts=False)
    except Blocked as blocked:
        return blocked.found.message if blocked.found.why is UnavailableReason.CONTRADICTION else None
    except (PartUnavailable, PartRefused):
        return None
    return None


def _with_store(opened: OpenedCluster | Unavailable, contradiction: str | None) -> Answers:
    """A role that may not read the switch leaves it to the metasrv's answer."""
    if isinstance(opened, Unavailable):
        return Answers(contradiction)
    try:
        return Answers(contradiction, opened.parts.metadata_store.maintenance())
    except PartRefused:
        return Answers(contradiction)
    except PartUnavailable:
        return Answers(contradiction, is_store_silent=True)


@dataclass(frozen=True, slots=True)
class DatanodeObserver:
    """Looks at the ledger, Kafka and the database, and at the pods last: they change fastest."""

    kube: Kube
    workloads: Workloads
    data_planes: DataPlanes
    ledgers: LedgerObserver
    partitions: PartitionObserver
    clock: Clock
    scans: RecordScans = field(default_factory=RecordScans)

    def observe(self, obj: WALCluster) -> Observed:
        """Everything anew. Where nothing is to be restarted any more, only whether the database is in maintenance."""
        spec, facts = obj.spec, self._no_facts(obj)
        if isinstance(spec, InvalidSpec) or not names_datanodes(spec) or obj.metadata.deletion_timestamp is not None:
            return self._observe_maintenance(obj, facts)
        facts = self._with_answer(facts, obj)
        observation = self.ledgers.observe(obj)
        opened = self.ledgers.open(obj)
        kafka, beside = self._kafka(obj, opened), self._beside(obj)
        facts = self._of_its_database(facts, obj, observation, opened)
        facts = with_people(facts, self.clock.trusted(), obj, spec, self._config_map(obj, spec))
        ahead = find_older_owner(obj, self.kube.list(WALCluster, obj.metadata.namespace).items)
        if ahead is not None:
            problem = f"the older WALCluster {ahead} names {described_datanodes(spec)}"
            return Observed(replace(facts, statefulset_problem=problem))
        facts = self._with_pods(facts, obj)
        facts = with_ledger(facts, obj, observation, kafka, beside)
        return Observed(
            facts if isinstance(observation, Unavailable) else self._with_scans(facts, obj, observation, opened)
        )

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        self.scans.forget(key)

    def _with_scans(
        self, facts: Facts, obj: WALCluster, observation: Observation, opened: OpenedCluster | Unavailable
    ) -> Facts:
        """With the records at which a datanode ends that crashes again and again."""
        key, restart = obj.metadata.key, obj.status.restart
        starts = suspicious_topics(facts, None if restart is None else restart.last_replay)
        ids = {name: log.topic_id for name, log in observation.read.logs.items() if log.topic_id is not None}
        if starts and not isinstance(opened, Unavailable):
            self.scans.scan(key, opened.logs, starts, ids)
        return with_scanned(facts, self.scans.found(key, ids))

    def _observe_maintenance(self, obj: WALCluster, facts: Facts) -> Observed:
        has_lease = obj.status.restart is not None and obj.status.restart.maintenance is not None
        is_declared = None if isinstance(obj.spec, InvalidSpec) else names_datanodes(obj.spec)
        if not has_lease:
            return Observed(facts, is_declared=is_declared)
        is_terminating = self.kube.is_terminating(obj.metadata.namespace)
        facts = self._with_answer(facts, obj)
        found = self._of_its_database(facts, obj, self.ledgers.observe(obj), self.ledgers.open(obj))
        return Observed(found, is_declared=is_declared, namespace_terminating=is_terminating)

    def _no_facts(self, obj: WALCluster) -> Facts:
        database = Pin.of(obj.status.data_plane).identity
        return Facts(self.clock.trusted().shared, metasrv=self._metasrv(obj), database=database)

    def _metasrv(self, obj: WALCluster) -> str | None:
        """As it is written into the status and compared with it; None: the spec names none, or leads to none."""
        found = find_database(self.kube, obj)
        if isinstance(found, HTTPDatabase):
            return contract_address(found.url)
        return found.metasrv.rstrip("/") if isinstance(found, Database) else None

    def _with_answer(self, facts: Facts, obj: WALCluster) -> Facts:
        """What whoever answers says where the status remembers maintenance, or else at the spec's address."""
        metasrv = address_of(obj.status.restart or RestartStatus(), facts.metasrv)
        return facts if metasrv is None else replace(facts, in_maintenance=self._ask_metasrv(obj, metasrv))

    def _ask_metasrv(self, obj: WALCluster, metasrv: str) -> bool | None:
        """Whether whoever answers there is in maintenance; None: nobody says."""
        try:
            return self.maintenance_of(obj, metasrv).in_maintenance()
        except (OutsideUnavailable, Refused):
            return None

    def _of_its_database(
        self, facts: Facts, obj: WALCluster, observation: Observation | Unavailable, opened: OpenedCluster | Unavailable
    ) -> Facts:
        """Without that answer, if a look that began after it shows that it is another database's."""
        return with_witnesses(facts, lease_of(obj), witnesses(obj, observation, opened, self.clock.trusted()))

    def require_own_database(self, obj: WALCluster) -> None:
        """Asks again, right before maintenance is turned on or off, who answers.

        Raises:
            Conflict: another database does.
        """
        answers = ask_again(obj, self.ledgers.open(obj), self.clock.trusted())
        other = why_other_database(self._no_facts(obj), lease_of(obj), answers)
        if other is not None:
            raise Conflict(f"another database answers: {other}")

    def maintenance_of(self, obj: WALCluster, metasrv: str) -> MaintenanceSwitch:
        """The maintenance of the database at this metasrv's URL, with the TLS that the spec declares now.

        The database that is meant is the one of which the status remembers maintenance, or else the pinned one.

        Raises:
            OutsideUnavailable: something is wrong with a Secret.
            PartRefused: a certificate or key makes no sense.
        """
        tls, user = required_access(self.kube, obj, metasrv)
        database = meant_by(lease_of(obj), Pin.of(obj.status.data_plane).identity)
        return self.data_planes.maintenance_of(obj.metadata.key, metasrv, tls, user, database)

    def open(self, obj: WALCluster) -> OpenedCluster:
        """The ports of a WALCluster, for who acts on what a look showed.

        Raises:
            OutsideUnavailable: they cannot be opened.
        """
        opened = self.ledgers.open(obj)
        if isinstance(opened, Unavailable):
            raise OutsideUnavailable(opened.message)
        return opened

    def _with_pods(self, facts: Facts, obj: WALCluster) -> Facts:
        """That the API server refuses is for people to mend; that it does not answer ends the tick."""
        named = self.named_sets(obj)
        if isinstance(named, str):
            return replace(facts, statefulset_problem=named)
        found: list[StatefulSet] = []
        pods: list[Pod] = []
        for each in named:
            try:
                statefulset = self.workloads.get(each.key)
                mine = () if statefulset is None else self.workloads.pods(statefulset)
            except Refused as refused:
                what = f"StatefulSet {each.key.name} and its pods cannot be read: {refused}"
                return replace(facts, statefulset_problem=what)
            if statefulset is None:
                missing = f"there is no StatefulSet {each.key.name}, which GreptimeDBCluster {each.cluster} should have"
                return facts if each.cluster is None else replace(facts, statefulset_problem=missing)
            found.append(each.gate(statefulset))
            pods.extend(mine)
        return self._with_left_over(replace(facts, statefulsets=tuple(found), pods=tuple(pods)), obj)

    def _with_left_over(self, facts: Facts, obj: WALCluster) -> Facts:
        """Of the pod that the journal has, when none of these StatefulSets makes it. What is refused is not known."""
        entry = of_kind(obj.status.disruption, DisruptionKind.DATANODE_RESTART)
        if entry is None or facts.expects(entry.name):
            return facts
        namespace, is_named = obj.metadata.namespace, facts.set_of(entry.name) is not None
        try:
            own = None if is_named else self.workloads.get(Key(namespace, entry.name.rpartition("-")[0]))
            left_over = LeftOver(entry.name, self.workloads.has_pod(Key(namespace, entry.name)), own)
        except Refused:
            return facts
        return replace(facts, left_over=left_over)

    def named_sets(self, obj: WALCluster) -> tuple[NamedSet, ...] | str:
        """The StatefulSets of the datanodes, by the newest spec; a sentence: why nobody knows them."""
        return named_sets(self.kube, obj)

    def _kafka(self, obj: WALCluster, opened: OpenedCluster | Unavailable) -> ObservedKafka | str:
        """What moves is read first: a move that ends in between still counts."""
        if isinstance(opened, Unavailable):
            return opened.message
        try:
            ongoing = self.partitions.reassigner(obj).ongoing()
            view = opened.admin.view()
        except (OutsideUnavailable, Refused) as error:
            return str(error)
        if isinstance(view, NoKafka):
            return view.message
        return ObservedKafka(view.topics, frozenset(found.topic for found in ongoing))

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


def described_datanodes(spec: WALClusterSpec) -> str:
    """As the spec names them, which names some."""
    plane = spec.data_plane
    if plane is not None and plane.datanodes is not None:
        return f"StatefulSet {plane.datanodes.stateful_set_ref.name}"
    return "" if plane is None or plane.cluster_ref is None else f"GreptimeDBCluster {plane.cluster_ref.name}"


def names_datanodes(spec: WALClusterSpec | InvalidSpec) -> bool:
    """Whether the spec says who the datanodes are; an invalid one does not."""
    return not isinstance(spec, InvalidSpec) and spec.data_plane is not None and spec.data_plane.names_datanodes

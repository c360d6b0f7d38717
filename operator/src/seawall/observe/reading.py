"""Reads everything that the ledger decides from, once, in the order that `domain/ledger/read.py` demands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.api.v1alpha1.purge import FrozenTargets, WALPurge
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.identity import claim_on
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.columns import Ids
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import newest_ids
from seawall.domain.frozen_targets import Target, TargetsLost, parts_of, thaw
from seawall.domain.ledger.fence import as_met
from seawall.domain.ledger.held import Hold
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.observation import Observation, ObservedCluster, ReadShards
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.restarts import claims_of
from seawall.domain.ledger.shards import PoolId
from seawall.domain.ledger.tables import TopicLog
from seawall.observe.claims import (
    Declarations,
    Verifications,
    current_licence,
    read_declarations,
    read_holds,
    read_policies,
    read_verifications,
    why_not_readopted,
    without_restored,
)
from seawall.observe.database import DatabaseAnswers, DatabaseState, newest_head, read_database
from seawall.observe.memory import Remembered
from seawall.observe.opened_cluster import ClusterOpener, OpenedCluster, OwnedPool
from seawall.observe.records import read_records
from seawall.observe.topic_logs import read_cuts, read_epoch_ends, read_logs
from seawall.ports import Clock, IntentStore, Kube, Stopwatch


def read_targets(kube: Kube, run: WALPurge) -> Mapping[str, Target]:
    """What the run's status says that it froze; nothing before it says so.

    Raises:
        TargetsLost: it is gone, or was changed.
    """
    frozen = run.status.frozen
    return {} if frozen is None else read_frozen(kube, run, frozen)


def read_frozen(kube: Kube, run: WALPurge, frozen: FrozenTargets) -> Mapping[str, Target]:
    """What is in the ConfigMaps that have these digests.

    Raises:
        TargetsLost: it is gone, or was changed.
    """
    return thaw(frozen, [kube.get_config_map(key) for key in parts_of(run, frozen)])


@dataclass(slots=True)
class Asked:
    """What is to be observed, and for whom.

    Attributes:
        run: as which run; None: for nobody in particular.
        readopts: who asks follows seawall.dev/readopt.
        answers: those of the database, once it was asked; None: the reading ended before it came to it.
        answered_at: when it had answered: how old a report is counts from then, however long Kafka takes afterwards.
    """

    cluster: WALCluster
    run: WALPurge | None = None
    readopts: bool = False
    answers: DatabaseAnswers | None = None
    answered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """What was read, part by part."""

    began: int
    database: DatabaseState
    owned: OwnedPool
    pool: PoolId
    logs: Mapping[str, TopicLog]
    epoch_ends: Mapping[str, int]
    cut: Mapping[str, int]
    shards: ReadShards
    earlier: Mapping[str, FenceRecord]
    verifications: Verifications
    holds: list[Hold] | str
    frozen: Mapping[str, Target] | TargetsLost
    time: TrustedTime
    said: Declarations
    went_back: bool
    """Its metadata had gone back when a person readopted it."""

    @property
    def records(self) -> Mapping[str, FenceRecord]:
        """Those of the topics that there are, as they count for a database that was asked."""
        found = self.shards.of_topics(self.logs)
        return {
            name: as_met(record, self.logs[name].topic_id, self.logs[name].log_start) for name, record in found.items()
        }

    def lost(self, cluster: WALCluster) -> frozenset[str]:
        """Topics whose records were there once, and are gone."""
        return self.shards.lost_topics(self.logs, cluster.status.recorded_shards)


@dataclass(frozen=True, slots=True)
class LedgerReader:
    """Reads, and has what was read assessed; it remembers only by what it is given."""

    clusters: ClusterOpener
    intents: IntentStore
    clock: Clock
    stopwatch: Stopwatch

    def read(self, remembered: Remembered, asked: Asked) -> Observation:
        """One observation.

        Raises:
            Blocked: something forbids it.
            SeawallError: somebody did not answer, or refused.
        """
        opened = self.clusters.open(asked.cluster)
        policies = read_policies(self.clusters.kube, asked.cluster, asked.run)
        parts = self._read_parts(remembered, asked, opened, policies.declared)
        read = self._read_of(asked, opened, parts)
        found = remembered.decide(read, parts.database.prune_mode, policies.declared, asked.run)
        if asked.run is not None:
            found = remembered.witnesses.ask(opened.logs, found, read)
        cluster, snapshot = asked.cluster, parts.database.snapshot
        announces = parts.database.prune_mode.may_announce
        return Observation(
            ObservedCluster(
                cluster.metadata.uid,
                cluster.metadata.generation,
                current_licence(cluster, self.clock, follows_readopt=asked.readopts),
                snapshot.issued_revision,
                parts.database.wal,
                policies.versions,
                parts.verifications.found_bad,
            ),
            parts.pool,
            frozenset(parts.logs),
            found,
            read,
            parts.shards,
            parts.frozen,
            readopt_problem=parts.said.readoption.problem,
            unused_problem=parts.said.unused_problem,
            dead_problem=parts.said.dead_problem,
            holds_problem=parts.holds if isinstance(parts.holds, str) else None,
            verifying=parts.verifications.verifying,
            lost=parts.lost(cluster),
            contender=None if parts.owned.contender is None else str(parts.owned.contender),
            to_claim=announces and claim_on(cluster, snapshot.claims) != cluster.metadata.uid,
        )

    def _read_parts(
        self, remembered: Remembered, asked: Asked, opened: OpenedCluster, policies: Sequence[Policy]
    ) -> _Parts:
        """The order is `read.Read`'s, and matters."""
        cluster, kube = asked.cluster, self.clusters.kube
        began = self.stopwatch.milliseconds()
        earlier = self._earlier_records(remembered, cluster, opened)
        went_back = self._begin_anew(remembered, asked, opened)
        asked.answers = DatabaseAnswers(opened.parts)
        database = read_database(cluster, opened, asked.answers, self.clock.trusted(), readopts=asked.readopts)
        asked.answered_at = self.clock.now()
        owned = self.clusters.view(cluster, opened)
        logs = read_logs(opened, owned.view, remembered.topics, began)
        pool = PoolId(cluster.metadata.namespace, owned.view.cluster_id, opened.topics.prefix)
        shards = read_records(self.intents, pool, logs)
        records = shards.of_topics(logs)
        logs = remembered.replaced.left_out(logs, records, remembered.memory.logs, began)
        epoch_ends, logs = read_epoch_ends(opened.logs, records, logs)
        cut, logs = read_cuts(opened.logs, remembered.memory.logs, logs)
        verifications = read_verifications(kube, cluster, policies)
        holds = read_holds(kube, cluster)
        frozen = self._read_targets(asked.run)
        time = self.clock.trusted()
        return _Parts(
            began=began,
            database=database,
            owned=owned,
            pool=pool,
            logs=logs,
            epoch_ends=epoch_ends,
            cut=cut,
            shards=shards,
            earlier=earlier,
            verifications=verifications,
            holds=holds,
            frozen=frozen,
            time=time,
            said=self._read_declarations(asked, time),
            went_back=went_back,
        )

    def _read_of(self, asked: Asked, opened: OpenedCluster, parts: _Parts) -> Read:
        """What the ledger is assessed from."""
        cluster, database, said, records = asked.cluster, parts.database, parts.said, parts.records
        begins_anew = asked.readopts and said.readoption.unused is not None
        return Read(
            began=parts.began,
            reports=region_reports(database.reports),
            snapshot=database.snapshot,
            logs=parts.logs,
            epoch_ends=parts.epoch_ends,
            records=records,
            holds=None if isinstance(parts.holds, str) else parts.holds,
            recorded=_announced(parts.frozen, database.prune_mode, database.snapshot),
            ended=self.stopwatch.milliseconds(),
            now=parts.time.now,
            shared_now=parts.time.shared,
            unreadable_records=parts.shards.unreadable_topics(parts.logs),
            verified=parts.verifications.verified,
            stopped=cluster.metadata.stops_deletes,
            readoption=said.readoption.standing if asked.readopts else None,
            unused=said.unused,
            dead=said.dead,
            lapsed=said.lapsed,
            restarts=claims_of(cluster.status),
            processes={datanode.datanode_id: datanode.node_epoch for datanode in database.reports},
            lost_records=frozenset() if begins_anew else parts.lost(cluster),
            begun_anew=parts.lost(cluster) if begins_anew else frozenset(),
            contested=parts.owned.contender is not None,
            newest_head=newest_head(opened, database.snapshot, records),
            newest_ids=newest_ids(database.reports),
            newest_of={datanode.datanode_id: datanode.newest_ids for datanode in database.reports},
            earlier=parts.earlier,
            cut=parts.cut,
            went_back=parts.went_back,
        )

    def _begin_anew(self, remembered: Remembered, asked: Asked, opened: OpenedCluster) -> bool:
        """Whether the readoption that is followed is of metadata that had gone back.

        A database by the contract whose metadata went back gives no answer that counts, until a person says that they
        are right: then what was read before counts no more, once for each readoption. A readoption while a restore
        makes logs is followed later. One that the status has as used may not have come to all records yet.
        """
        cluster, found = asked.cluster, read_readoption(asked.cluster, self.clock.trusted())
        adoption = found.standing if asked.readopts else None
        if adoption is None or not isinstance(opened.database, HTTPDatabase):
            return False
        if remembered.begun_anew is None or remembered.begun_anew[0] != adoption.token:
            if found.unused is None or why_not_readopted(self.clusters.kube, cluster) is not None:
                return False
            remembered.begun_anew = adoption.token, opened.parts.metadata_store.begin_anew()
        return remembered.begun_anew[1]

    def _read_declarations(self, asked: Asked, time: TrustedTime) -> Declarations:
        said = read_declarations(asked.cluster, time)
        if not asked.readopts:
            return said
        return replace(said, readoption=without_restored(self.clusters.kube, asked.cluster, said.readoption))

    def _earlier_records(
        self, remembered: Remembered, cluster: WALCluster, opened: OpenedCluster
    ) -> Mapping[str, FenceRecord]:
        """The records before the reports are read, of a process that remembers none of an observation before."""
        if remembered.memory.records is not None or cluster.status.kafka is None:
            return {}
        pool = PoolId(cluster.metadata.namespace, cluster.status.kafka.cluster_id, opened.topics.prefix)
        names = opened.topics.topic_names()
        return read_records(self.intents, pool, names).of_topics(names)

    def _read_targets(self, run: WALPurge | None) -> Mapping[str, Target] | TargetsLost:
        try:
            return {} if run is None else read_targets(self.clusters.kube, run)
        except TargetsLost as lost:
            return lost


def _announced(
    frozen: Mapping[str, Target] | TargetsLost, prune_mode: PruneMode, snapshot: MetadataSnapshot
) -> dict[str, int]:
    """The values that the run has recorded; where regions read the marker when they open, once it is there."""
    if isinstance(frozen, TargetsLost):
        return {}
    recorded = {name: target.recorded for name, target in frozen.items()}
    if prune_mode.mode is Mode.C:
        return recorded
    markers = Ids.of(marker.pruned_entry_id if (marker := snapshot.topics.get(name)) else None for name in recorded)
    reached = ~Ids.of(recorded.values()).above(markers) & markers.known
    return {name: value for (name, value), is_there in zip(recorded.items(), reached, strict=True) if is_there}

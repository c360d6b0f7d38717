"""One look at everything that the ledger decides from, shared by all who need it.

It reads in the order that `domain/ledger/read.py` demands, everything anew, and one look at a time of each WALCluster.
What is remembered between looks is memory: an operator that starts anew begins with nothing, and waits again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge
from seawall.domain.cluster.database import claim_on, usable_readoption
from seawall.domain.dataplane.connection import NoDataPlane, PartRefused, PartUnavailable
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.reports import newest_ids, region_reports
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.errors import SeawallError
from seawall.domain.frozen_targets import Target, TargetsLost
from seawall.domain.ledger.columns import Ids
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.observation import (
    Observation,
    ObservedCluster,
    ReadShards,
    Unavailable,
    UnavailableReason,
    read_shards,
)
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.rollout_claims import claims_of
from seawall.domain.ledger.shards import IntentShard, PoolId, shards_of
from seawall.observe.claims import read_holds, read_policies, read_verifications
from seawall.observe.database import DatabaseAnswers, newest_revision, read_database
from seawall.observe.declarations import current_licence, read_declarations
from seawall.observe.memory import Remembered, Shared
from seawall.observe.opened_cluster import Blocked, ClusterOpener, OpenedCluster
from seawall.observe.targets import read_targets
from seawall.observe.topic_logs import read_cuts, read_epoch_ends, read_logs
from seawall.ports import Clock, IntentStore, Stopwatch


@dataclass(slots=True)
class _Heard:
    """The answers of the database in one look; None: the look ended before it came to it."""

    database: DatabaseAnswers | None = None


@dataclass(frozen=True, slots=True)
class LedgerObserver:
    """Looks at the ledgers of WALClusters, for all controllers of one process."""

    clusters: ClusterOpener
    intents: IntentStore
    clock: Clock
    stopwatch: Stopwatch
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _remembered: dict[Key, Remembered] = field(default_factory=dict)

    def observe(
        self, cluster: WALCluster, run: WALPurge | None = None, *, readopts: bool = False
    ) -> Observation | Unavailable:
        """Looks; with a run, as that run: by its safety too, and with evidence for what it has seen.

        `readopts`: who looks follows seawall.dev/readopt, and tells of it. Only one does, so that there is one event.
        Blocks for as long as the database, Kafka and the API server take, and while another looks at the same cluster.
        Who waits meanwhile shares the next look, which begins after all of them asked: a hundred holds take two looks.
        """
        return self._in_turn(cluster, run, _Heard(), readopts=readopts)

    def observe_all(
        self, cluster: WALCluster, *, readopts: bool
    ) -> tuple[Observation | Unavailable, DataPlaneView | NoDataPlane | None]:
        """The same, and what people see of the database: what the look did not come to is asked afterwards.

        None: the spec names no database, is invalid, or the API server does not answer.
        """
        heard = _Heard()
        observation = self._in_turn(cluster, None, heard, readopts=readopts, alone=True)
        try:
            parts = self.clusters.open_database(cluster) if heard.database is None else None
        except PartRefused as trouble:
            return observation, NoDataPlane(trouble.why, str(trouble))
        except SeawallError:  # the API server's, which the look tells
            return observation, None
        if isinstance(parts, NoDataPlane):
            return observation, parts
        answers = heard.database if parts is None else DatabaseAnswers(parts)
        return observation, None if answers is None else answers.view(self.clock.now())

    def _in_turn(
        self, cluster: WALCluster, run: WALPurge | None, heard: _Heard, *, readopts: bool, alone: bool = False
    ) -> Observation | Unavailable:
        remembered = self._remember(cluster)
        with self._lock:
            remembered.waiting += 1
            asked = remembered.begun
        try:
            with remembered.lock:
                if alone or run is not None or readopts:
                    return self._observe_alone(remembered, cluster, run, heard, readopts=readopts)
                return self._observe_or_share(remembered, asked, cluster, heard)
        finally:
            with self._lock:
                remembered.waiting -= 1
                if not remembered.waiting:
                    remembered.shared = None

    def _observe_or_share(
        self, remembered: Remembered, asked: int, cluster: WALCluster, heard: _Heard
    ) -> Observation | Unavailable:
        shared = remembered.shared
        if shared is not None and shared.serves(asked, cluster):
            return shared.found
        found = self._observe_alone(remembered, cluster, None, heard, readopts=False)
        remembered.shared = Shared(remembered.begun, cluster.metadata.resource_version, found)
        return found

    def _observe_alone(
        self, remembered: Remembered, cluster: WALCluster, run: WALPurge | None, heard: _Heard, *, readopts: bool
    ) -> Observation | Unavailable:
        with self._lock:
            remembered.begun += 1
        return self._try_to_observe(remembered, cluster, run, heard, readopts=readopts)

    def preview(self, cluster: WALCluster, run: WALPurge) -> Observation | Unavailable | None:
        """Looks as a run would that begins now and that nobody made, and remembers nothing of it.

        None: nobody has looked at this WALCluster yet. Looking must not begin with a preview, which is not repeated.
        """
        with self._lock:
            remembered = self._remembered.get(cluster.metadata.key)
        if remembered is None or remembered.uid != cluster.metadata.uid:
            return None
        # A copy, and not the lock: whoever looks for a purge or a hold does not wait for a person who asks.
        copy = Remembered(remembered.uid, remembered.memory, remembered.topics.copy())
        return self._try_to_observe(copy, cluster, run, _Heard(), readopts=False)

    def open(self, cluster: WALCluster) -> OpenedCluster | Unavailable:
        """The ports of a WALCluster, for those who act on what a look showed."""
        try:
            return self.clusters.open(cluster)
        except Blocked as blocked:
            return blocked.found
        except PartRefused as error:
            return Unavailable(UnavailableReason.DATA_PLANE, str(error))

    def write_shards(self, pool: PoolId, shards: Mapping[int, IntentShard]) -> None:
        """Writes intents and records by compare-and-swap, shard after shard.

        Raises:
            Conflict: somebody else wrote one: look again. Those before it are written.
        """
        for number, shard in shards.items():
            self.intents.write(pool, number, shard)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._remembered.pop(key, None)
        self.clusters.data_planes.forget(key)

    def _remember(self, cluster: WALCluster) -> Remembered:
        with self._lock:
            found = self._remembered.get(cluster.metadata.key)
            if found is None or found.uid != cluster.metadata.uid:
                found = Remembered(cluster.metadata.uid, Memory.at_start(self.stopwatch.milliseconds()))
                self._remembered[cluster.metadata.key] = found
            return found

    def _try_to_observe(
        self, remembered: Remembered, cluster: WALCluster, run: WALPurge | None, heard: _Heard, *, readopts: bool
    ) -> Observation | Unavailable:
        try:
            return self._observe(remembered, cluster, run, heard, readopts=readopts)
        except Blocked as blocked:
            return blocked.found
        except (PartUnavailable, PartRefused) as error:
            return Unavailable(UnavailableReason.DATA_PLANE, str(error))
        except SeawallError as error:
            return Unavailable(UnavailableReason.KUBERNETES, str(error))

    def _observe(
        self, remembered: Remembered, cluster: WALCluster, run: WALPurge | None, heard: _Heard, *, readopts: bool
    ) -> Observation:
        """The order of the reads is `read.Read`'s, and matters."""
        opened = self.clusters.open(cluster)
        policies = read_policies(self.clusters.kube, cluster, run)
        began = self.stopwatch.milliseconds()
        earlier = self._earlier_records(remembered, cluster, opened)
        heard.database = DatabaseAnswers(opened.parts)
        database = read_database(cluster, opened, heard.database, self.clock.trusted(), readopts=readopts)
        prune_mode, snapshot = database.prune_mode, database.snapshot
        owned = self.clusters.view(cluster, opened)
        logs = read_logs(opened, owned.view, remembered.topics, began)
        pool = PoolId(cluster.metadata.namespace, owned.view.cluster_id, opened.topics.prefix)
        shards = self._read_shards(pool, logs)
        records = shards.of_topics(logs)
        ends, logs = read_epoch_ends(opened.logs, records, logs)
        cut, logs = read_cuts(opened.logs, remembered.memory.logs, logs)
        verifications = read_verifications(self.clusters.kube, cluster, policies)
        holds = read_holds(self.clusters.kube, cluster)
        frozen = self._read_targets(run)
        time = self.clock.trusted()
        said = read_declarations(cluster, time)
        lost = shards.lost_topics(logs, cluster.status.wal.record_shards if cluster.status.wal is not None else ())
        begins_anew = readopts and usable_readoption(cluster, time) is not None
        read = Read(
            began=began,
            reports=region_reports(database.reports),
            snapshot=snapshot,
            logs=logs,
            epoch_ends=ends,
            records=records,
            holds=None if isinstance(holds, str) else holds,
            recorded=_announced(frozen, prune_mode, snapshot),
            ended=self.stopwatch.milliseconds(),
            now=time.now,
            unreadable_records=shards.unreadable_topics(logs),
            verified=verifications.verified,
            stopped=cluster.metadata.stops_deletes,
            readoption=said.readoption if readopts else None,
            unused=said.unused,
            dead=said.dead,
            restarts=claims_of(cluster.status.restart),
            processes={datanode.datanode_id: datanode.node_epoch for datanode in database.reports},
            lost_records=frozenset() if begins_anew else lost,
            contested=owned.contender is not None,
            newest_revision=newest_revision(opened, snapshot, records),
            newest_ids=newest_ids(database.reports),
            earlier=earlier,
            cut=cut,
        )
        found = remembered.decide(read, prune_mode, policies, run)
        if run is not None:
            found = remembered.witnesses.ask(opened.logs, found, read)
        return Observation(
            ObservedCluster(
                cluster.metadata.uid,
                cluster.metadata.generation,
                current_licence(cluster, self.clock, follows_readopt=readopts),
                snapshot.revision,
            ),
            pool,
            frozenset(logs),
            found,
            read,
            shards,
            frozen,
            readopt_problem=said.readopt_problem,
            unused_problem=said.unused_problem,
            dead_problem=said.dead_problem,
            holds_problem=holds if isinstance(holds, str) else None,
            verifying=verifications.verifying,
            lost=lost,
            contender=None if owned.contender is None else str(owned.contender),
            to_claim=prune_mode == PruneMode(Mode.B) and claim_on(cluster, snapshot.claims) != cluster.metadata.uid,
        )

    def _earlier_records(
        self, remembered: Remembered, cluster: WALCluster, opened: OpenedCluster
    ) -> Mapping[str, FenceRecord]:
        """The records before the reports are read, of a process that remembers none of an observation before."""
        if remembered.memory.records is not None or cluster.status.kafka is None:
            return {}
        pool = PoolId(cluster.metadata.namespace, cluster.status.kafka.cluster_id, opened.topics.prefix)
        names = opened.topics.topic_names()
        return self._read_shards(pool, names).of_topics(names)

    def _read_targets(self, run: WALPurge | None) -> Mapping[str, Target] | TargetsLost:
        try:
            return {} if run is None else read_targets(self.clusters.kube, run)
        except TargetsLost as lost:
            return lost

    def _read_shards(self, pool: PoolId, topics: Iterable[str]) -> ReadShards:
        """The intents; one that cannot be read leaves its topics alone."""
        numbers = shards_of(topics)
        try:
            found = self.intents.read(pool, numbers)
        except SeawallError as error:
            return ReadShards({}, {}, dict.fromkeys(numbers, str(error)))
        return read_shards(found)


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

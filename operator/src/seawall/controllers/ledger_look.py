"""One look at everything that the ledger decides from, shared by all who need it.

It reads in the order that `domain/ledger/look.py` demands, everything anew, and one look at a time of each WALCluster.
What is remembered between looks is memory: an operator that starts anew begins with nothing, and waits again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.controllers.claims import read_holds, read_policies, read_verifications
from seawall.controllers.declarations import read_declarations
from seawall.controllers.opened_cluster import Blocked, ClusterOpener, OpenedCluster
from seawall.controllers.permission import current_licence
from seawall.controllers.recent_topics import RecentTopics
from seawall.controllers.targets import read_targets
from seawall.controllers.topic_logs import read_cuts, read_epoch_ends, read_logs
from seawall.domain.dataplane.connection import PartRefused, PartUnavailable
from seawall.domain.dataplane.identity import Node, find_contradiction
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.reports import DatanodeReport, newest_ids, region_reports
from seawall.domain.dataplane.version import weakest_version
from seawall.domain.errors import Conflict, OutsideUnavailable, SeawallError
from seawall.domain.frozen_targets import Target, TargetsLost
from seawall.domain.intent_shards import IntentShard, PoolId, shards_of
from seawall.domain.kafka_log import Keys
from seawall.domain.ledger.actions import ClaimDatabase
from seawall.domain.ledger.columns import Ids
from seawall.domain.ledger.declared import regime_of
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.ledger import plan
from seawall.domain.ledger.look import Look, Memory, Read, look
from seawall.domain.ledger.looked import CannotLook, ClusterSeen, Looked, Obstacle, ReadShards, read_shards
from seawall.domain.ledger.mode import Mode, Regime
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.witness import Question, find_strangers, questions
from seawall.domain.rollout.claims import claims_of
from seawall.domain.wal_cluster.database import claim_on, is_about_the_claim, usable_readoption, why_other_database
from seawall.ports import Clock, IntentStore, Stopwatch

RUNS_REMEMBERED = 8
"""Runs of one WALCluster whose evidence is kept; a run that is forgotten waits again."""


@dataclass(slots=True)
class _Remembered:
    """What the process knows of one WALCluster; `seen_since` is the part of the memory that belongs to a run."""

    uid: str
    memory: Memory
    topics: RecentTopics = field(default_factory=RecentTopics)
    lock: threading.Lock = field(default_factory=threading.Lock)
    seen_since: OrderedDict[str, Mapping[tuple[str, int], int]] = field(default_factory=OrderedDict)
    begun: int = 0
    """How many looks have begun."""
    waiting: int = 0
    """How many callers are in a look, or wait for it."""
    witnessed: dict[str, tuple[Question, tuple[int, ...]]] = field(default_factory=dict)
    """By topic what its log was asked last, and which regions it contradicted."""
    shared: _Shared | None = None
    """The newest look for nobody in particular, kept only while others wait."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """A look that others may share who asked before it began, for the same version of the WALCluster."""

    number: int
    version: str
    found: Looked | CannotLook

    def serves(self, asked: int, cluster: WALCluster) -> bool:
        """Whether it began after so many others, which had begun when somebody asked."""
        return self.number > asked and self.version == cluster.metadata.resource_version


@dataclass(frozen=True, slots=True)
class _Database:
    """What was read of the database, and what it means for deletes."""

    reports: Sequence[DatanodeReport]
    snapshot: MetadataSnapshot
    regime: Regime


@dataclass(frozen=True, slots=True)
class LedgerLooks:
    """Looks at the ledgers of WALClusters, for all controllers of one process."""

    clusters: ClusterOpener
    intents: IntentStore
    clock: Clock
    stopwatch: Stopwatch
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _remembered: dict[Key, _Remembered] = field(default_factory=dict)

    def look(self, cluster: WALCluster, run: WALPurge | None = None, *, readopts: bool = False) -> Looked | CannotLook:
        """Looks; with a run, as that run: by its safety too, and with evidence for what it has seen.

        `readopts`: who looks follows seawall.dev/readopt, and tells of it. Only one does, so that there is one event.
        Blocks for as long as the database, Kafka and the API server take, and while another looks at the same cluster.
        Who waits meanwhile shares the next look, which begins after all of them asked: a hundred holds take two looks.
        """
        remembered = self._remember(cluster)
        with self._lock:
            remembered.waiting += 1
            asked = remembered.begun
        try:
            with remembered.lock:
                if run is not None or readopts:
                    return self._look_alone(remembered, cluster, run, readopts=readopts)
                return self._look_or_share(remembered, asked, cluster)
        finally:
            with self._lock:
                remembered.waiting -= 1
                if not remembered.waiting:
                    remembered.shared = None

    def _look_or_share(self, remembered: _Remembered, asked: int, cluster: WALCluster) -> Looked | CannotLook:
        shared = remembered.shared
        if shared is not None and shared.serves(asked, cluster):
            return shared.found
        found = self._look_alone(remembered, cluster, None, readopts=False)
        remembered.shared = _Shared(remembered.begun, cluster.metadata.resource_version, found)
        return found

    def _look_alone(
        self, remembered: _Remembered, cluster: WALCluster, run: WALPurge | None, *, readopts: bool
    ) -> Looked | CannotLook:
        with self._lock:
            remembered.begun += 1
        return self._try_look(remembered, cluster, run, readopts=readopts)

    def preview(self, cluster: WALCluster, run: WALPurge) -> Looked | CannotLook | None:
        """Looks as a run would that begins now and that nobody made, and remembers nothing of it.

        None: nobody has looked at this WALCluster yet. Looking must not begin with a preview, which is not repeated.
        """
        with self._lock:
            remembered = self._remembered.get(cluster.metadata.key)
        if remembered is None or remembered.uid != cluster.metadata.uid:
            return None
        # A copy, and not the lock: whoever looks for a purge or a hold does not wait for a person who asks.
        copy = _Remembered(remembered.uid, remembered.memory, remembered.topics.copy())
        return self._try_look(copy, cluster, run)

    def open(self, cluster: WALCluster) -> OpenedCluster | CannotLook:
        """The ports of a WALCluster, for those who act on what a look showed."""
        try:
            return self.clusters.open(cluster)
        except Blocked as blocked:
            return blocked.found
        except PartRefused as error:
            return CannotLook(Obstacle.DATA_PLANE, str(error))

    def write_shards(self, pool: PoolId, shards: Mapping[int, IntentShard]) -> None:
        """Writes intents and records by compare-and-swap, shard after shard.

        Raises:
            Conflict: somebody else wrote one: look again. Those before it are written.
        """
        for number, shard in shards.items():
            self.intents.write(pool, number, shard)

    def claim(self, cluster: WALCluster, action: ClaimDatabase) -> None:
        """Claims the database, if the claim is still as it was read, in the store that is pinned.

        Raises:
            Conflict: it is not: observe again.
            OutsideUnavailable: the metadata store did not answer; it may have happened.
        """
        opened = self.require_open(cluster)
        head = opened.parts.metadata_store.head()
        is_pinned = is_about_the_claim(cluster, head.store_id)
        if not is_pinned or not opened.parts.metadata_store.claim(
            opened.topics.prefix, cluster.metadata.uid, action.before
        ):
            raise Conflict(f"the metadata store of WALCluster {cluster.metadata.key}, or its claim, changed")

    def require_open(self, cluster: WALCluster) -> OpenedCluster:
        """The ports of a WALCluster, for those who cannot go on without them.

        Raises:
            OutsideUnavailable: the spec or a Secret does not lead to a connection.
        """
        opened = self.open(cluster)
        if isinstance(opened, CannotLook):
            raise OutsideUnavailable(opened.message)
        return opened

    def require_same(self, cluster: WALCluster) -> OpenedCluster:
        """The ports, if right now Kafka, the claims on the topics, and the database are those that are meant.

        Raises:
            Conflict: one of them is not.
            OutsideUnavailable: somebody did not answer.
        """
        opened = self.require_open(cluster)
        try:
            self.clusters.require_same(cluster, opened)
        except Blocked as blocked:
            raise Conflict(blocked.found.message) from blocked
        return opened

    def require_intents(self, pool: PoolId, before: Mapping[str, int], topic_ids: Mapping[str, str]) -> None:
        """Reads the intents again: who grants a hold now reads the same, and must find at least these.

        Raises:
            Conflict: one is lower, of another log, broken, or gone.
            SeawallError: the API server did not answer, or refused.
        """
        records = read_shards(self.intents.read(pool, shards_of(before))).of_topics(before)
        for topic, offset in before.items():
            record = records.get(topic)
            is_good = record is not None and record.topic_id == topic_ids[topic] and not record.broken
            if record is None or not is_good or record.intent < offset:
                raise Conflict(f"the intent of topic {topic} is not the one that was written for this delete")

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._remembered.pop(key, None)
        self.clusters.data_planes.forget(key)

    def _remember(self, cluster: WALCluster) -> _Remembered:
        with self._lock:
            found = self._remembered.get(cluster.metadata.key)
            if found is None or found.uid != cluster.metadata.uid:
                found = _Remembered(cluster.metadata.uid, Memory.at_start(self.stopwatch.milliseconds()))
                self._remembered[cluster.metadata.key] = found
            return found

    def _try_look(
        self, remembered: _Remembered, cluster: WALCluster, run: WALPurge | None, *, readopts: bool = False
    ) -> Looked | CannotLook:
        try:
            return self._look(remembered, cluster, run, readopts=readopts)
        except Blocked as blocked:
            return blocked.found
        except (PartUnavailable, PartRefused) as error:
            return CannotLook(Obstacle.DATA_PLANE, str(error))
        except SeawallError as error:
            return CannotLook(Obstacle.KUBERNETES, str(error))

    def _look(self, remembered: _Remembered, cluster: WALCluster, run: WALPurge | None, *, readopts: bool) -> Looked:
        """The order of the reads is `look.Read`'s, and matters."""
        opened = self.clusters.open(cluster)
        policies = read_policies(self.clusters.kube, cluster, run)
        began = self.stopwatch.milliseconds()
        earlier = self._earlier_records(remembered, cluster, opened)
        database = self._read_database(cluster, opened, readopts=readopts)
        regime, snapshot = database.regime, database.snapshot
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
            seen=_announced(frozen, regime, snapshot),
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
            newest_revision=_newest_revision(opened, snapshot, records),
            newest_ids=newest_ids(database.reports),
            earlier=earlier,
            cut=cut,
        )
        found = _decide(remembered, read, regime, policies, run)
        if run is not None:
            found = _with_witness(remembered, opened, found, read)
        return Looked(
            ClusterSeen(
                cluster.metadata.uid,
                cluster.metadata.generation,
                current_licence(cluster, self.clock, follows_readopt=readopts),
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
            to_claim=regime == Regime(Mode.B) and claim_on(cluster, snapshot.claims) != cluster.metadata.uid,
        )

    def _read_database(self, cluster: WALCluster, opened: OpenedCluster, *, readopts: bool) -> _Database:
        """Reports, what runs, and the metadata, in this order; if they are of the pinned database, and of one.

        Raises:
            Blocked: they are not.
            PartUnavailable, PartRefused: metasrv or metadata store did not answer.
        """
        reports = opened.parts.data_plane.reports()
        nodes = _nodes_or_none(opened)
        snapshot = opened.parts.metadata_store.snapshot()
        contradiction = find_contradiction(reports, snapshot, nodes)
        if contradiction is not None:
            raise Blocked(Obstacle.CONTRADICTION, contradiction)
        other = why_other_database(cluster, snapshot.store_id, snapshot.claims)
        may_claim = readopts and usable_readoption(cluster, self.clock.trusted()) is not None
        if other is not None and not (may_claim and is_about_the_claim(cluster, snapshot.store_id)):
            raise Blocked(other.why, other.message)
        return _Database(reports, snapshot, regime_of(opened.greptimedb, weakest_version(nodes)))

    def _earlier_records(
        self, remembered: _Remembered, cluster: WALCluster, opened: OpenedCluster
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


def _with_witness(remembered: _Remembered, opened: OpenedCluster, found: Look, read: Read) -> Look:
    """Asks the logs whose records would be deleted, or skipped at a restart, whether these regions wrote them.

    A log that answered the same question is not read again.
    """
    planned = plan(found.inputs)
    wanted = {planned.topics.names[row] for row in np.flatnonzero(planned.purge_to.known)}
    ids = {name: log.topic_id for name, log in read.logs.items()}
    asked = questions(planned.case.regions, planned.topics, ids, wanted | read.seen.keys())
    known = remembered.witnessed
    new = {name: one for name, one in asked.items() if name not in known or known[name][0] != one}
    answers = opened.logs.read_keys({name: (one.start, one.end) for name, one in new.items()}) if new else {}
    for name, keys in answers.items():
        if isinstance(keys, Keys):
            known[name] = new[name], find_strangers(new[name], keys.by_offset)
    strangers = {name for name, one in asked.items() if name in known and known[name][0] == one and known[name][1]}
    return found.with_records_of_others(strangers)


def _nodes_or_none(opened: OpenedCluster) -> Sequence[Node] | None:
    """What runs; a frontend that is away hides no disaster, but nothing is deleted then."""
    try:
        return opened.parts.data_plane.nodes()
    except (PartUnavailable, PartRefused):
        return None


def _newest_revision(opened: OpenedCluster, snapshot: MetadataSnapshot, records: Mapping[str, FenceRecord]) -> int:
    """The store's revision now, where a record is newer than the snapshot: another operator may have written it."""
    newest = max((record.revision or 0 for record in records.values()), default=0)
    return opened.parts.metadata_store.head().revision if newest > snapshot.revision else snapshot.revision


def _decide(
    remembered: _Remembered, read: Read, regime: Regime, policies: Sequence[Policy], run: WALPurge | None
) -> Look:
    """Looks with the memory of all looks, and of this run's evidence only."""
    uid = None if run is None else run.metadata.uid
    since = {} if uid is None else remembered.seen_since.get(uid, {})
    found = look(replace(remembered.memory, seen_since=since), read, regime, policies)
    remembered.memory = replace(found.memory, seen_since={})
    if uid is not None:
        remembered.seen_since[uid] = found.memory.seen_since
        remembered.seen_since.move_to_end(uid)
        while len(remembered.seen_since) > RUNS_REMEMBERED:
            remembered.seen_since.popitem(last=False)
    return found


def _announced(
    frozen: Mapping[str, Target] | TargetsLost, regime: Regime, snapshot: MetadataSnapshot
) -> dict[str, int]:
    """The values that the run has recorded; where regions read the marker when they open, once it is there."""
    if isinstance(frozen, TargetsLost):
        return {}
    seen = {name: target.seen for name, target in frozen.items()}
    if regime.mode is Mode.C:
        return seen
    markers = Ids.of(marker.pruned_entry_id if (marker := snapshot.topics.get(name)) else None for name in seen)
    reached = ~Ids.of(seen.values()).above(markers) & markers.known
    return {name: value for (name, value), is_there in zip(seen.items(), reached, strict=True) if is_there}

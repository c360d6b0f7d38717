"""Records logs where no watch of a ledger does (`domain/cluster/recorded.py`), each topic's once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.permission import require_managed
from seawall.domain.cluster.actions import MarkRecords, RecordLogs
from seawall.domain.cluster.going import make_pool_now
from seawall.domain.cluster.identity import pool_of
from seawall.domain.cluster.readoption import ReadoptionNow
from seawall.domain.cluster.recorded import Recorded, find_recorded, has_database, records_to_begin
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.ledger.shards import PoolId
from seawall.observe.claims import current_readoption, why_restoring
from seawall.observe.records import read_records
from seawall.observe.topic_logs import describe_logs, ids_of, topic_ids
from seawall.ports import Clock, IntentStore, KafkaLogs, Kube


@dataclass(frozen=True, slots=True)
class Known:
    """What this process knows to be recorded, and of which WALCluster, pool and readoption."""

    about: object
    found: Recorded
    others: Mapping[str, tuple[str, str]]
    """Of topics whose log is another one the id that is recorded, and the one that Kafka told last."""

    def other_ids(self, records: Mapping[str, FenceRecord]) -> dict[str, str]:
        """The ids that Kafka told of logs that are not those of these records: silence does not take them back."""
        known = {name: ids for name, ids in self.others.items() if name in records}
        return {name: other for name, (recorded, other) in known.items() if records[name].topic_id == recorded}


@dataclass(frozen=True, slots=True)
class LogRecords:
    """The records of logs, for the controller of WALClusters."""

    kube: Kube
    intents: IntentStore
    clock: Clock
    known: dict[Key, Known]
    """Memory only, so that a calm tick reads no record: another process reads them once."""

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone, or whose logs are not recorded here meanwhile."""
        self.known.pop(key, None)

    def observe(self, cluster: WALCluster, topics: Sequence[str], led: Collection[str], logs: KafkaLogs) -> Recorded:
        """What is recorded of these topics, which Kafka shows; read anew if there may be anything to write.

        A topic is known to be recorded by its id: one that was made anew under its name is not.
        Those without a leader are not recorded yet: where they end is not known.
        """
        pool, key = pool_of(cluster), cluster.metadata.key
        if pool is None or not topics:
            self.forget(key)
            return Recorded()
        readoption = current_readoption(self.kube, cluster, self.clock)
        about = (cluster.metadata.uid, pool, readoption, has_database(cluster))
        known = self.known.get(key)
        ids: dict[str, str] | None = None
        if known is not None and known.about == about and known.found.ids.keys() >= set(topics):
            ids = topic_ids(logs, topics)
            if all(ids.get(name) == known.found.ids[name] for name in topics):
                return known.found
        shards = read_records(self.intents, pool, topics)
        records = shards.of_topics(topics)
        ids = topic_ids(logs, list(records)) if ids is None else ids
        ids = ids if known is None else {**known.other_ids(records), **ids}
        found = _find(cluster, topics, shards, readoption, ids)
        others = {name: (records[name].topic_id, ids[name]) for name in found.remade}
        self.known[key] = Known(about, Recorded(found.ids, shards=found.shards), others)
        unrecorded, adopted = ([name for name in names if name in led] for names in (found.unrecorded, found.adopted))
        if (unrecorded or found.remade) and why_restoring(self.kube, cluster) is not None:
            return replace(found, unrecorded=(), remade={}, adopted=())
        return replace(found, unrecorded=tuple(unrecorded), adopted=tuple(adopted))

    def write(self, cluster: WALCluster, action: RecordLogs | MarkRecords, logs: KafkaLogs) -> RecordLogs | MarkRecords:
        """Writes records as they are to be right now, of these topics.

        Returns:
            The action with the topics of which they were written.

        Raises:
            Conflict: the WALCluster or a record changed, or a restore makes logs: decide again.
            Refused: Kafka, or the API server, said no.
            OutsideUnavailable: one of them did not answer; what is written is not lost.
        """
        return self._mark(cluster, action) if isinstance(action, MarkRecords) else self._begin(cluster, action, logs)

    def _mark(self, cluster: WALCluster, action: MarkRecords) -> MarkRecords:
        current = require_managed(self.kube, cluster)
        pool, readoption = _require_pool(current), current_readoption(self.kube, current, self.clock)
        if readoption.standing is None or readoption.standing.token != action.token:
            raise Conflict("the readoption changed since it was decided which records it has met")
        shards = read_records(self.intents, pool, action.names)
        found = _find(current, action.names, shards, readoption, {})
        if not found.unmarked:
            raise Conflict("there is nothing to mark any more")
        self._write(pool, shards, found.unmarked)
        return replace(action, names=tuple(found.unmarked))

    def _begin(self, cluster: WALCluster, action: RecordLogs, logs: KafkaLogs) -> RecordLogs:
        current = require_managed(self.kube, cluster)
        pool, readoption = _require_pool(current), current_readoption(self.kube, current, self.clock)
        shards = read_records(self.intents, pool, action.names)
        described, offsets = describe_logs(logs, action.names)
        found = _find(current, action.names, shards, readoption, ids_of(described))
        if found.to_begin and (restoring := why_restoring(self.kube, current)) is not None:
            raise Conflict(restoring)
        now = make_pool_now(found.to_begin, described, offsets, ReadShards({}, {}))
        gone = shards.lost_topics(action.names, current.status.recorded_shards)
        records = records_to_begin(found, now, readoption, gone, self.clock.trusted().shared)
        self._write(pool, shards, records)
        answers = (answer.get(name) for name in found.to_begin for answer in (described, offsets))
        _require_answers(answers, is_progress=bool(records))
        if not records:
            raise Conflict("there is nothing to record any more")
        adopted = tuple(name for name in found.adopted if name in records)
        reason = "" if readoption.followed is None else readoption.followed.reason
        return replace(action, names=tuple(records), readopted=adopted, reason=reason)

    def _write(self, pool: PoolId, shards: ReadShards, records: Mapping[str, FenceRecord]) -> None:
        for number, shard in shards.changed(records).items():
            self.intents.write(pool, number, shard)


def _find(
    cluster: WALCluster,
    topics: Sequence[str],
    shards: ReadShards,
    readoption: ReadoptionNow,
    ids: Mapping[str, str],
) -> Recorded:
    once = frozenset[int]() if readoption.unused is not None else cluster.status.recorded_shards
    return find_recorded(topics, shards, once, readoption, marks=not has_database(cluster), ids=ids)


def _require_pool(cluster: WALCluster) -> PoolId:
    pool = pool_of(cluster)
    if pool is None:
        raise Conflict("the Kafka cluster is not known yet")
    return pool


def _require_answers(answers: Iterable[object], *, is_progress: bool) -> None:
    """That Kafka told of all topics: what it does not tell is not recorded, and has to be heard of.

    While topics get their first leaders some do not answer yet: as long as others do, the next tick asks again.
    """
    failures = [answer for answer in answers if isinstance(answer, TopicFailure)]
    for failure in failures:
        if failure.why is TopicTrouble.REFUSED:
            raise Refused(failure.message)
    if failures and not is_progress:
        raise OutsideUnavailable(failures[0].message)

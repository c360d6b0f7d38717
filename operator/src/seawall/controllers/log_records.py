"""Records logs where no watch of a ledger does (`domain/cluster/recorded.py`), each topic's once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.topic_creation import require_managed
from seawall.domain.cluster.actions import MarkRecords, RecordLogs
from seawall.domain.cluster.going import make_pool_now
from seawall.domain.cluster.identity import is_used, pool_of
from seawall.domain.cluster.recorded import Recorded, find_recorded, has_database, records_to_begin
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused
from seawall.domain.kafka_log import TopicFailure, TopicTrouble
from seawall.domain.ledger.fence import Readoption
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import ReadShards
from seawall.domain.ledger.shards import PoolId
from seawall.observe.claims import read_declarations, why_restoring, without_restored
from seawall.observe.records import read_records
from seawall.observe.topic_logs import describe_logs, ids_of, topic_ids
from seawall.ports import Clock, IntentStore, KafkaLogs, Kube


@dataclass(frozen=True, slots=True)
class Known:
    """What this process knows to be recorded, and of which WALCluster, pool and readoption."""

    about: object
    found: Recorded


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
        readopt = self._readoption(cluster)
        about = (cluster.metadata.uid, pool, None if readopt is None else readopt.token, has_database(cluster))
        known = self.known.get(key)
        ids: dict[str, str] | None = None
        if known is not None and known.about == about and known.found.ids.keys() >= set(topics):
            ids = topic_ids(logs, topics)
            if all(ids.get(name) == known.found.ids[name] for name in topics):
                return known.found
        shards = read_records(self.intents, pool, topics)
        ids = topic_ids(logs, list(shards.of_topics(topics))) if ids is None else ids
        found = self._find(cluster, topics, shards, readopt, ids)
        self.known[key] = Known(about, Recorded(found.ids, shards=found.shards))
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
        pool, readopt = _require_pool(current), self._readoption(current)
        shards = read_records(self.intents, pool, action.names)
        found = self._find(current, action.names, shards, readopt, {})
        if not found.unmarked:
            raise Conflict("there is nothing to mark any more")
        self._write(pool, shards, found.unmarked)
        return replace(action, names=tuple(found.unmarked))

    def _begin(self, cluster: WALCluster, action: RecordLogs, logs: KafkaLogs) -> RecordLogs:
        current = require_managed(self.kube, cluster)
        pool, readopt = _require_pool(current), self._readoption(current)
        shards = read_records(self.intents, pool, action.names)
        described, offsets = describe_logs(logs, action.names)
        found = self._find(current, action.names, shards, readopt, ids_of(described))
        if found.to_begin and (restoring := why_restoring(self.kube, current)) is not None:
            raise Conflict(restoring)
        now = make_pool_now(found.to_begin, described, offsets, ReadShards({}, {}))
        records = records_to_begin(found, now, readopt)
        self._write(pool, shards, records)
        answers = (answer.get(name) for name in found.to_begin for answer in (described, offsets))
        _require_answers(answers, is_progress=bool(records))
        if not records:
            raise Conflict("there is nothing to record any more")
        adopted = tuple(name for name in found.adopted if name in records)
        reason = "" if readopt is None else readopt.reason
        return replace(action, names=tuple(records), readopted=adopted, reason=reason)

    def _write(self, pool: PoolId, shards: ReadShards, records: Mapping[str, FenceRecord]) -> None:
        for number, shard in shards.changed(records).items():
            self.intents.write(pool, number, shard)

    def _find(
        self,
        cluster: WALCluster,
        topics: Sequence[str],
        shards: ReadShards,
        readopt: Readoption | None,
        ids: Mapping[str, str],
    ) -> Recorded:
        wal = cluster.status.wal
        begins_anew = readopt is not None and not is_used(cluster, readopt)
        once = () if wal is None or begins_anew else wal.record_shards
        return find_recorded(topics, shards, once, readopt, marks=not has_database(cluster), ids=ids)

    def _readoption(self, cluster: WALCluster) -> Readoption | None:
        """What a person declares, if it counts now."""
        said = without_restored(self.kube, cluster, read_declarations(cluster, self.clock.trusted()))
        return said.readoption if said.readopt_problem is None else None


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

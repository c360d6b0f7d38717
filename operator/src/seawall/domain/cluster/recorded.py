"""Which topics have a record of their log: one that is lost without any would be made again as if it had been new.

The watch of a ledger records the logs of a database that it can look at (`ledger/watch.py`). Where none is declared, or
nobody can look, databases write all the same: then a log is recorded as soon as Kafka shows its topic with a leader,
once. A topic that is lost before that was made a moment ago, or while the WALCluster was paused.

A readoption marks the records that it meets, so that what is lost while the annotation lingers is not made again by it;
where the log is another one than is recorded, which somebody else made, a new record begins. Where a database is
declared, both is left to its watch: it would not adopt what is marked already. A readoption that never will be followed
marks all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from seawall.api.meta import READOPT_ANNOTATION, InvalidSpec
from seawall.api.v1alpha1.cluster import WALCluster, WALStatus
from seawall.domain.cluster.going import PoolNow, first_record_of
from seawall.domain.cluster.readoption import ReadoptionNow
from seawall.domain.ledger.fence import BEFORE_ANY_DATABASE
from seawall.domain.ledger.intents import FenceRecord, in_seconds
from seawall.domain.ledger.observation import ReadShards, Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.text import listed


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of the topics that Kafka shows."""

    ids: Mapping[str, str] = field(default_factory=dict)
    """By topic the id of its log, of those whose record is as it should be."""
    unrecorded: tuple[str, ...] = ()
    """Those that have none and may have one."""
    unmarked: Mapping[str, FenceRecord] = field(default_factory=dict)
    """Records that a readoption has not met yet, with its mark."""
    remade: Mapping[str, str] = field(default_factory=dict)
    """Those whose log is another one than is recorded, by name; and what shows it, as a clause."""
    adopted: tuple[str, ...] = ()
    """Those of them that a person says are right."""
    shards: frozenset[int] = frozenset()
    """The shards that there are."""
    readopt_problem: str | None = None
    """Why the annotation that is set does not help those that were made anew, in one sentence."""
    unknown: frozenset[str] = frozenset()
    """Those without any record that can be read, be they with a leader or not."""

    @property
    def to_begin(self) -> tuple[str, ...]:
        """The topics whose records are to begin."""
        return (*self.unrecorded, *self.adopted)

    def remade_sentence(self) -> str:
        """Which were made anew, and what to do."""
        said = "" if self.readopt_problem is None else f" ({self.readopt_problem})"
        return (
            f"somebody made {listed(list(self.remade))} anew: {next(iter(self.remade.values()))}; the next replay "
            "skips rows that are written there, up to the ids that the database knows of the log before; when that is "
            f"mended, begin a new record by {READOPT_ANNOTATION}: <reason>@<expiry>, set after the topic was made{said}"
        )


def has_database(cluster: WALCluster) -> bool:
    """Whether a database is declared."""
    return not isinstance(cluster.spec, InvalidSpec) and cluster.spec.database is not None


def is_left_to_watch(cluster: WALCluster, ledger: LedgerPage | Unavailable | None) -> bool:
    """Whether the watch of the ledger records the logs: not without a database, and not while nobody can look at it."""
    return has_database(cluster) and not isinstance(ledger, Unavailable)


def find_recorded(
    topics: Sequence[str],
    shards: ReadShards,
    once: Collection[int],
    readoption: ReadoptionNow,
    *,
    marks: bool,
    ids: Mapping[str, str],
) -> Recorded:
    """Sorts the topics that Kafka shows.

    Args:
        topics: their names.
        shards: their records.
        once: the shards that there were once, unless a person begins them anew: nobody else begins records in one that
            is gone.
        readoption: what a person declares.
        marks: whether records are marked that it has not met, or begin anew. If it never will be followed, they are
            marked all the same.
        ids: of the topics that Kafka tells them of; the others count as those that are recorded.
    """
    records, standing, is_refused = shards.of_topics(topics), readoption.standing, readoption.refused is not None
    kept = shards.unreadable_topics(topics) | shards.lost_topics(topics, once)
    remade = {
        name: f"the id of {name} is {ids[name]} and was {record.topic_id}"
        for name, record in records.items()
        if ids.get(name, record.topic_id) != record.topic_id
    }
    met = {
        name: replace(record, readopted=standing.token)
        for name, record in records.items()
        if (marks or is_refused) and standing is not None and record.readopted != standing.token
    }
    unmarked = {name: record for name, record in met.items() if is_refused or not (name in remade or record.broken)}
    right = {name: record.topic_id for name, record in records.items() if name not in unmarked and name not in remade}
    return Recorded(
        right,
        tuple(name for name in topics if name not in records and name not in kept),
        unmarked,
        remade,
        tuple(name for name in remade if name in met and not is_refused),
        shards.written(),
        readoption.problem if remade else None,
        frozenset(topics) - records.keys(),
    )


def records_to_begin(
    found: Recorded, pool: PoolNow, readoption: ReadoptionNow, gone: Collection[str], now: datetime
) -> dict[str, FenceRecord]:
    """The records that begin; without those of logs that Kafka did not tell of. They have the readoption's mark.

    Of topics whose records are gone nobody can see what was cut off meanwhile: what was verified before counts no more.
    """
    mark, at = None if readoption.standing is None else readoption.standing.token, in_seconds(now)
    return {
        name: first_record_of(pool.logs[name], mark, BEFORE_ANY_DATABASE, at if name in gone else None)
        for name in found.to_begin
        if name in pool.logs
    }


def with_shards(before: WALStatus | None, shards: frozenset[int]) -> WALStatus | None:
    """The same, with records that are there, too: who has never looked says nothing else."""
    known = () if before is None else before.record_shards
    if shards <= set(known):
        return before
    found = WALStatus(topics=0, purgeable=0, held_back=0) if before is None else before
    return found.model_copy(update={"record_shards": tuple(sorted({*known, *shards}))})


def only_shards(before: WALStatus | None) -> WALStatus | None:
    """Which records there are outlives the declaration of the database: they guard the logs, whoever writes them."""
    if before is None or not before.record_shards:
        return None
    return WALStatus(topics=0, purgeable=0, held_back=0, record_shards=before.record_shards)

"""What one shared look at a WALCluster gives to all who decide from it, or why nobody can look.

With it what a person declared, as an action relied on it when it was decided.

Declarations are annotations: they change neither uid nor generation of their object, and they expire. So an action
carries those under which it was decided, and right before the act they are read again and judged by the clock anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seawall.api.v1alpha1.purge_template import matches_any
from seawall.domain.dataplane.wal_settings import WALSettings
from seawall.domain.frozen_targets import Target, TargetsLost
from seawall.domain.ledger.assess import Assessment
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.declarations import DeadRegions, Unused
from seawall.domain.ledger.fence import Readoption
from seawall.domain.ledger.intents import (
    FenceRecord,
    UnreadableRecord,
    decode_shard,
    encode_shard,
    name_hash,
    raise_intent,
)
from seawall.domain.ledger.policy import Level, Requirement
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.shards import IntentShard, PoolId, UnreadableShard, shard_of
from seawall.domain.ledger.unlogged import unlogged_problem


@dataclass(frozen=True, slots=True)
class Licence:
    """The declarations that count; None: nothing is declared, or it does not count (any more)."""

    unused: Unused | None = None
    dead: DeadRegions | None = None
    readoption: Readoption | None = None
    """Only of who follows it."""


class UnavailableReason(StrEnum):
    """Why nobody can look at the ledger now; each member says what ends it."""

    INVALID_SPEC = "InvalidSpec"
    """The WALCluster's spec does not fit the models: mend it, or upgrade the CRDs."""
    NO_DATA_PLANE = "NoDataPlane"
    """The WALCluster names no database: set dataPlane.greptimedb, or http."""
    NOT_FIRST_CONTACT = "NoFirstContact"
    """The WALCluster has not met its Kafka cluster yet: its conditions say why."""
    NO_DATABASE_YET = "NoDatabaseYet"
    """The WALCluster has not met its database yet: DataPlaneReachable says why."""
    DATABASE_CHANGED = "DatabaseChanged"
    """Another metadata store answers than the one that was pinned: correct the addresses, or seawall.dev/readopt."""
    DATABASE_CLAIMED = "DatabaseClaimed"
    """Another WALCluster announces markers in this metadata store: delete one of the two, or seawall.dev/readopt."""
    CONTRADICTION = "DatabaseContradictsItself"
    """Metasrv, metadata store and frontend are not of one database: correct the address that is another one's."""
    OTHER_KAFKA = "ClusterIdChanged"
    """Another Kafka cluster answers than the one that was pinned: correct the addresses."""
    POOL_OWNED = "PoolOwnedByOther"
    """An older WALCluster tends the same topics: delete one of the two."""
    NAMESPACE_UNREADABLE = "NamespaceUnreadable"
    """A served namespace cannot be read, and a WALCluster there may own the topics: if it is gone, take it out of the
    chart's scope.namespaces, else give its Role back. Delete no WALCluster for it."""
    POLICY_INVALID = "PolicyInvalid"
    """A WALPurgePolicy cannot be read, and may be stricter than the others: mend or delete it."""
    KAFKA = "KafkaUnreachable"
    """Kafka did not answer: the WALCluster's conditions say more."""
    DATA_PLANE = "DataPlaneUnreachable"
    """The database or its metadata store did not answer: the WALCluster's conditions say more."""
    KUBERNETES = "KubernetesUnreachable"
    """The API server did not answer, or refused."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why, in one word and one sentence. Nothing is known then: it is a reason for all topics, never an empty list."""

    why: UnavailableReason
    message: str


@dataclass(frozen=True, slots=True)
class ReadShards:
    """The shards of intents as one look read them: what they hold, and what a write must find."""

    versions: Mapping[int, str | None]
    records: Mapping[int, Mapping[bytes, FenceRecord]]
    unreadable: Mapping[int, str] = field(default_factory=dict)
    """By shard, why it cannot be trusted."""

    def written(self) -> frozenset[int]:
        """The shards that there are."""
        return frozenset(number for number, version in self.versions.items() if version is not None)

    def lost_topics(self, topics: Iterable[str], recorded: Collection[int]) -> frozenset[str]:
        """Those of these topics whose shard was there before (`recorded`) and is gone."""
        lost = {number for number in recorded if number in self.versions and self.versions[number] is None}
        return frozenset(name for name in topics if shard_of(name) in lost)

    def of_topics(self, topics: Iterable[str]) -> dict[str, FenceRecord]:
        """The records of these topics; one that has none, or whose shard is unreadable, is left out."""
        found = ((name, self.records.get(shard_of(name), {}).get(name_hash(name))) for name in topics)
        return {name: record for name, record in found if record is not None}

    def unreadable_topics(self, topics: Iterable[str]) -> frozenset[str]:
        """Those of these topics whose shard cannot be trusted."""
        return frozenset(name for name in topics if shard_of(name) in self.unreadable)

    def why_unreadable(self, topics: Iterable[str]) -> dict[str, str]:
        """Those of these topics whose shard cannot be trusted, each with why."""
        return {name: self.unreadable[shard_of(name)] for name in topics if shard_of(name) in self.unreadable}

    def changed(self, records: Mapping[str, FenceRecord]) -> dict[int, IntentShard]:
        """The shards to write so that these records are in them; those of unreadable shards are left out.

        An intent never falls: a record of the same log keeps the higher one.
        """
        new: dict[int, dict[bytes, FenceRecord]] = {}
        for name, record in records.items():
            shard = shard_of(name)
            if shard in self.versions and shard not in self.unreadable:
                before = self.records[shard].get(name_hash(name))
                is_same_log = before is not None and before.topic_id == record.topic_id
                kept = raise_intent(record, before.intent) if before is not None and is_same_log else record
                new.setdefault(shard, {})[name_hash(name)] = kept
        return {
            shard: IntentShard(encode_shard({**self.records[shard], **found}), self.versions[shard])
            for shard, found in sorted(new.items())
            if any(self.records[shard].get(key) != record for key, record in found.items())
        }

    def without(self, topics: Iterable[str]) -> dict[int, IntentShard]:
        """The shards to write so that no record of these topics is in them: their logs are gone."""
        gone: dict[int, set[bytes]] = {}
        for name in topics:
            gone.setdefault(shard_of(name), set()).add(name_hash(name))
        return {
            shard: IntentShard(
                encode_shard({key: kept for key, kept in self.records[shard].items() if key not in keys}),
                self.versions[shard],
            )
            for shard, keys in sorted(gone.items())
            if not keys.isdisjoint(self.records.get(shard, {}))
        }


def read_shards(found: Mapping[int, IntentShard | UnreadableShard]) -> ReadShards:
    """What shards hold, and why some cannot be trusted."""
    versions: dict[int, str | None] = {}
    records: dict[int, Mapping[bytes, FenceRecord]] = {}
    unreadable: dict[int, str] = {}
    for number, shard in found.items():
        if isinstance(shard, UnreadableShard):
            unreadable[number] = shard.message
            continue
        try:
            records[number] = {} if shard.version is None else decode_shard(shard.data)
        except UnreadableRecord as error:
            unreadable[number] = str(error)
        else:
            versions[number] = shard.version
    return ReadShards(versions, records, unreadable)


PolicyVersions = frozenset[tuple[str, int]]
"""Of each WALPurgePolicy of a WALCluster its uid and the generation of its spec."""


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """Which WALCluster was looked at, by which spec and declarations: before a change it must still be so.

    `revision` is the metadata store's at that time: one that is lower since was restored from an older copy.
    """

    uid: str
    generation: int
    licence: Licence
    revision: int
    wal: WALSettings | None
    """What the metasrv ran with; None: it did not say, and nothing is deleted."""
    policies: PolicyVersions = frozenset()
    found_bad: frozenset[Verified] | None = None
    """Of logs that do not replay; None: no policy requires that any does."""


@dataclass(frozen=True, slots=True)
class Verifying:
    """A verification that is not over, and what it is about."""

    name: str
    topics: tuple[str, ...]
    """Globs on topic names."""
    level: Level

    def may_satisfy(self, topic: str, required: Requirement) -> bool:
        """Whether its verdict may be what a policy waits for."""
        return self.level >= required.level and matches_any(topic, self.topics)


@dataclass(frozen=True, slots=True)
class Observation:
    """One look, and what a write needs that is decided from it."""

    cluster: ObservedCluster
    pool: PoolId
    topics: frozenset[str]
    """The topics of the pool that exist, those beyond its count too. Metadata may name others: they are nobody's."""
    assessment: Assessment
    read: Read
    shards: ReadShards
    frozen: Mapping[str, Target] | TargetsLost = field(default_factory=dict)
    """What the run that looks has frozen, by topic; empty: it has not yet, or nobody in particular looks."""
    readopt_problem: str | None = None
    """What is wrong with the annotation seawall.dev/readopt, in one sentence."""
    unused_problem: str | None = None
    """Why the annotation seawall.dev/purge-unused-topics declares nothing, in one sentence."""
    dead_problem: str | None = None
    """Why the annotation seawall.dev/dead-regions declares nothing, in one sentence."""
    holds_problem: str | None = None
    """Why the holds could not be read, in one sentence; None: they were."""
    verifying: tuple[Verifying, ...] = ()
    """Verifications that are not over; only read where a policy requires one."""
    lost: frozenset[str] = frozenset()
    """Topics whose records are gone, although they were written once: also while a readoption begins them anew."""
    contender: str | None = None
    """Another WALCluster that claims the same topics, as namespace/name."""
    to_claim: bool = False
    """The metadata store is to be claimed before a marker is announced."""

    def urgent_records(self) -> dict[str, FenceRecord]:
        """Records to write at once, by anybody who looked: first contacts, verdicts, new leader epochs, readoptions."""
        found = {
            name: found.record
            for name, found in self.assessment.identities.items()
            if found.is_urgent and found.record is not None
        }
        return {name: record for name, record in {**self.assessment.marked, **found}.items() if name in self.topics}

    def problems(self) -> tuple[str, ...]:
        """What is wrong with what a person declared, of a table too, one sentence each."""
        unlogged = unlogged_problem(self.assessment.table, self.read.snapshot.unlogged, self.topics)
        whole = (problem for problem in (self.unused_problem, self.dead_problem, unlogged) if problem is not None)
        return (*whole, *self.assessment.dead_problems)

    def readopted(self) -> tuple[str, ...]:
        """The topics that a person's annotation adopted in this look."""
        return tuple(
            name for name, found in self.assessment.identities.items() if found.is_readopted and name in self.topics
        )

"""The database's metadata at one revision of its store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class LeaderState(StrEnum):
    """What a route says of a region's leader beside its name."""

    NORMAL = "Normal"
    DOWNGRADING = "Downgrading"
    """Nobody may write: the region is being moved, or its leader is taken for dead."""
    STAGING = "Staging"
    """The region's changes are not visible yet."""
    UNKNOWN = "Unknown"
    """A state that this version does not know: the region must be left alone."""


@dataclass(frozen=True, slots=True)
class TopicMarker:
    """The pruned marker of a topic: the database needs nothing at and below it when it opens a region.

    But for a region of a table that was dropped and is undropped: it reads from its flushed ids on (ADR 81).

    0 is a value (nothing is pruned); None: the key is there and holds no marker.
    """

    pruned_entry_id: int | None
    mod_revision: int


@dataclass(frozen=True, slots=True)
class MarkerMove:
    """A pruned marker to move up, if it is as it was seen and no region of the topic is newer than the snapshot.

    Raises:
        ValueError: it would not rise.
    """

    topic: str
    marker: int
    recorded: TopicMarker
    revision: int
    """The snapshot's: a region that was born after it would open above rows that it needs."""

    def __post_init__(self) -> None:
        if self.marker <= max(self.recorded.pruned_entry_id or 0, 0):
            raise ValueError(
                f"the pruned marker of {self.topic} only rises: {self.recorded.pruned_entry_id} → {self.marker}"
            )


@dataclass(frozen=True, slots=True)
class StoreHead:
    """Which metadata store answers, its newest revision, and who has claimed what, as in `MetadataSnapshot`."""

    store_id: str
    revision: int
    claims: Mapping[str, str]
    issued: int | None = None

    @property
    def issued_revision(self) -> int:
        """As in `MetadataSnapshot`."""
        return self.revision if self.issued is None else self.issued


@dataclass(frozen=True, slots=True)
class TableNames:
    """The tables that there are, and whose they are.

    Attributes:
        store_id, claims: as in `MetadataSnapshot`.
        names: by table id `schema.table`.
    """

    store_id: str
    claims: Mapping[str, str]
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class StoredMaintenance:
    """The switch of maintenance where the database keeps it: whichever metasrv answers, this is the store's own word.

    Attributes:
        store_id: which metadata store answers, as in `MetadataSnapshot`.
        is_on: whether the database of this store is in maintenance.
    """

    store_id: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class RegionKey:
    """That a region writes to a topic, with the checkpoint from which its replay may start.

    `metadata_entry_id` is the metric engine's second checkpoint. None: none is stored.
    """

    checkpoint_entry_id: int | None
    metadata_entry_id: int | None
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Route:
    """Who leads a region. `leader` is the id of a datanode; None: nobody."""

    leader: int | None
    state: LeaderState
    mod_revision: int
    followers: tuple[int, ...] = ()
    """The datanodes that have a read replica or a hot standby of it, each once, in rising order."""
    may_have_staged: bool = True
    """A process may have taken its changes to where no restart finds them, and have an empty memtable for it: what it
    saw idle is then no proof that anything is durable. False only where the metadata, or the contract, exclude it."""


@dataclass(frozen=True, slots=True)
class MetadataSnapshot:
    """Everything the ledger needs to know of the metadata, as it was at `revision`.

    `wal_topics` and `tombstoned_topics` are sets because two datanodes may contradict each other.
    """

    revision: int
    topics: Mapping[str, TopicMarker]
    region_keys: Mapping[tuple[str, int], RegionKey]
    """By topic and region id."""
    wal_topics: Mapping[int, frozenset[str]]
    """By region id: the topics that the datanodes' tables name in their WAL options."""
    tombstoned_topics: Mapping[int, frozenset[str]]
    """By region id: the topics that copies of deleted keys name. A drop may be rolled back or undone."""
    without_topic: frozenset[int]
    """Regions whose WAL options name no topic: their WAL is local, or they have none."""
    routes: Mapping[int, Route]
    """By region id."""
    datanodes: Mapping[int, str]
    """The address of each datanode by its id."""
    store_id: str
    """Which metadata store this is, by its own word, as `etcd/<cluster id>/<prefix>`. Another id is another
    database."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """By prefix of topics the UID of the WALCluster that announces their markers here."""
    issued: int | None = None
    """It only rises, unless the store was restored; None: `revision` does. Where writes or views overlap, what is newer
    than `revision` may be in this snapshot."""

    unlogged: frozenset[int] = frozenset()
    """Regions whose rows are written to no log: to their topic no more, or they never had one (`skip_wal`). What was
    written before is needed as ever, and what is written since is nowhere but in memory until they flush."""

    logged_again: frozenset[int] = frozenset()
    """Regions of which that was so once: what is in memory may be of then."""

    kept_dropped: Mapping[int, datetime | None] = field(default_factory=dict)
    """By id the tables that were dropped and may be undropped, until then (None: nobody says until when)."""

    answer_used: float = field(default=0.0, compare=False)
    """Of the longest answer that is read, how much these took, from 0 to 1; 0: they are read in parts, as a store's."""

    @property
    def issued_revision(self) -> int:
        """`issued`, whether it differs or not."""
        return self.revision if self.issued is None else self.issued

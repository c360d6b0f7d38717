"""The database's metadata at one revision of its store, and which regions write to which topic by it.

    topic→region keys + WAL options of the datanodes' tables + tombstoned copies of either

Where the first two contradict each other, the topic has a disagreement and must be left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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

    @property
    def issued_revision(self) -> int:
        """`issued`, whether it differs or not."""
        return self.revision if self.issued is None else self.issued


class Disagreement(StrEnum):
    """How the metadata contradict themselves about a region."""

    KEY_WITHOUT_OPTIONS = "KeyWithoutOptions"
    """The topic→region key is there, and no datanode's table gives the region this topic."""
    OPTIONS_WITHOUT_KEY = "OptionsWithoutKey"
    """A datanode's table gives the region this topic, and the topic→region key is missing."""
    TWO_TOPICS = "TwoTopics"
    """The region is said to write to more than one topic."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A region about which the metadata disagree."""

    region_id: int
    what: Disagreement


@dataclass(frozen=True, slots=True)
class TopicRegions:
    """The regions of one topic, each of which may need its log."""

    regions: frozenset[int]
    tombstoned: frozenset[int] = frozenset()
    """Those of `regions` that only tombstones name: dropped, and perhaps to come back."""
    contradictions: tuple[Contradiction, ...] = ()
    """By region id; any of them means that the topic must be left alone."""


def regions_of_topics(snapshot: MetadataSnapshot) -> Mapping[str, TopicRegions]:
    """The regions of every topic that anything in the snapshot names; a topic without regions has an empty set."""
    keyed = _by_topic((region, topic) for topic, region in snapshot.region_keys)
    optioned = _by_topic((region, topic) for region, topics in snapshot.wal_topics.items() for topic in topics)
    buried = _by_topic((region, topic) for region, topics in snapshot.tombstoned_topics.items() for topic in topics)
    first: dict[int, str] = {}
    torn = frozenset(
        region
        for claims in (keyed, optioned, buried)
        for topic, regions in claims.items()
        for region in regions
        if first.setdefault(region, topic) != topic
    )
    names = {*snapshot.topics, *keyed, *optioned, *buried}
    return {
        name: _topic_regions(keyed.get(name, _NONE), optioned.get(name, _NONE), buried.get(name, _NONE), torn)
        for name in sorted(names)
    }


_NONE: frozenset[int] = frozenset()


def _by_topic(pairs: Iterable[tuple[int, str]]) -> dict[str, frozenset[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for region, topic in pairs:
        found[topic].add(region)
    return {topic: frozenset(regions) for topic, regions in found.items()}


def _topic_regions(
    keyed: frozenset[int], optioned: frozenset[int], buried: frozenset[int], torn: frozenset[int]
) -> TopicRegions:
    living = keyed | optioned
    found = {
        **dict.fromkeys(keyed - optioned, Disagreement.KEY_WITHOUT_OPTIONS),
        **dict.fromkeys(optioned - keyed, Disagreement.OPTIONS_WITHOUT_KEY),
        **dict.fromkeys((living | buried) & torn, Disagreement.TWO_TOPICS),
    }
    contradictions = tuple(Contradiction(region, found[region]) for region in sorted(found))
    return TopicRegions(living | buried, buried - living, contradictions)

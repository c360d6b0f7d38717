"""GreptimeDB's metadata in a store of keys: the MetadataStore port."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from seawall.adapters.greptimedb import metadata_values as values
from seawall.adapters.greptimedb.keys import (
    MAX_OPERATIONS,
    Comparison,
    HasValue,
    KeyStore,
    KeyValue,
    NothingNewer,
    Unchanged,
    View,
)
from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.dataplane.metadata import (
    MarkerMove,
    MetadataSnapshot,
    RegionKey,
    Route,
    StoredMaintenance,
    StoreHead,
    TableNames,
    TopicMarker,
)
from seawall.domain.dataplane.metadata_tables import RegionKeys, RegionTopics, Routes

MARKERS_AT_ONCE = MAX_OPERATIONS // 3 - 1
"""Three comparisons each, and one of the claim."""

CLAIMS = "seawall/claim/"
"""A key for each prefix of topics, beside the database's keys, which all begin with two underscores."""


class GreptimeMetadata:
    """Reads everything at one revision. One key that makes no sense fails it all: a region may hide behind it."""

    def __init__(self, keys: KeyStore, *, markers_at_once: int = MARKERS_AT_ONCE) -> None:
        self._keys, self._markers_at_once = keys, markers_at_once

    def head(self) -> StoreHead:
        """Which store this is, its newest revision, and who has claimed what."""
        with self._keys.view() as view:
            return StoreHead(view.store_id, view.revision, _claims_in(view), view.issued)

    def maintenance(self) -> StoredMaintenance:
        """Which store this is, and whether either key is there (`src/common/meta/src/key/runtime_switch.rs`)."""
        with self._keys.view() as view:
            is_on = any(view.get(key) is not None for key in values.MAINTENANCE)
            return StoredMaintenance(view.store_id, is_on)

    def begin_anew(self) -> bool:
        """Nothing is remembered: records of logs tell whether a store went back."""
        return False

    def table_names(self) -> TableNames:
        """The names of all tables."""
        with self._keys.view() as view:
            return TableNames(view.store_id, _claims_in(view), dict(_names(_pairs(view, values.TABLE_NAMES))))

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision."""
        with self._keys.view() as view:
            tables = _Tables()
            wal_topics = RegionTopics.of(tables.read(_pairs(view, values.DATANODE_TABLES)))
            dropped = _Tables()
            buried = list(dropped.read(_pairs(view, values.TOMBSTONES + values.DATANODE_TABLES)))
            external = wal_topics.without(tables.external | dropped.external)
            buried_keys = _region_keys(_pairs(view, values.TOMBSTONES + values.TOPIC_REGIONS), external)
            return MetadataSnapshot(
                revision=view.revision,
                store_id=view.store_id,
                claims=_claims_in(view),
                topics=_markers(_pairs(view, values.TOPIC_NAMES)),
                region_keys=RegionKeys.of(_region_keys(_pairs(view, values.TOPIC_REGIONS), external)),
                wal_topics=wal_topics,
                tombstoned_topics=RegionTopics.of(
                    chain(buried, ((region, topic) for (topic, region), _ in buried_keys))
                ),
                without_topic=wal_topics.without(tables.without | external),
                routes=Routes.of(_routes(_pairs(view, values.TABLE_ROUTES))),
                datanodes=_addresses(_pairs(view, values.DATANODE_ADDRESSES)),
                issued=view.issued,
                unlogged=frozenset(tables.unlogged),
                logged_again=frozenset(tables.logged_again),
                kept_dropped=_kept_dropped(view) if buried else {},
            )

    def claim(self, prefix: str, owner: str, before: str | None) -> bool:
        """Writes the claim, if it is as it was read."""
        return self._keys.write({CLAIMS + prefix: owner}, [HasValue(CLAIMS + prefix, before)])

    def advance_markers(self, moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        """Moves markers up, if nothing happened since they and their topics' regions were read.

        Only what may succeed is tried: each write locks a table of PostgreSQL, and each that fails is two more.
        """
        if not moves:
            return {}
        with self._keys.view() as view:
            held = dict(_pairs(view, values.TOPIC_NAMES))
            # Where a comparison fails for hours, it is not tried by halves; else it is no reason to read all regions.
            newest = _newest_regions(_pairs(view, values.TOPIC_REGIONS)) if self._keys.doubt else {}
            claimed = view.get(CLAIMS + prefix)
        if claimed is None or claimed.value != owner:
            return {move.topic: f"the claim of the topics {prefix} is somebody else's" for move in moves}
        claim = HasValue(CLAIMS + prefix, owner)
        current: list[MarkerMove] = []
        changed: dict[str, str] = {}
        for move in moves:
            if move.topic not in held or not _is_as_recorded(held[move.topic], move):
                changed[move.topic] = f"the pruned marker of {move.topic} is not the one that was read"
            elif newest.get(move.topic, 0) > move.revision:
                changed[move.topic] = f"a region of {move.topic} changed since it was read{self._keys.doubt}"
            else:
                current.append(move)
        for first in range(0, len(current), self._markers_at_once):
            changed |= self._advance(current[first : first + self._markers_at_once], held, claim)
        return changed

    def _advance(self, moves: Sequence[MarkerMove], held: Mapping[str, KeyValue], claim: HasValue) -> Mapping[str, str]:
        """One transaction; where a comparison fails, halves of it, until it is known whose."""
        written: dict[str, str] = {}
        compare: list[Comparison] = [claim]
        for move in moves:
            pair = held[move.topic]
            with _sense_of(pair):
                written[pair.key] = values.marker_with(pair.value, move.marker)
            compare += [
                Unchanged(pair.key, move.recorded.mod_revision),
                HasValue(pair.key, pair.value),
                NothingNewer(values.topic_regions(move.topic), move.revision),
            ]
        if self._keys.write(written, compare):
            return {}
        if len(moves) == 1:
            topic = moves[0].topic
            what = f"the pruned marker or a region of {topic} changed since they were read, or the claim did"
            return {topic: what + self._keys.doubt}
        half = len(moves) // 2
        return {**self._advance(moves[:half], held, claim), **self._advance(moves[half:], held, claim)}


Pairs = Iterable[tuple[str, KeyValue]]


def _is_as_recorded(pair: KeyValue, move: MarkerMove) -> bool:
    """Of a store that was restored meanwhile, another write may have the same revision."""
    with _sense_of(pair):
        marker = values.read_marker(pair.value)
    return (pair.mod_revision, marker) == (move.recorded.mod_revision, move.recorded.pruned_entry_id)


def _pairs(view: View, start: str) -> Pairs:
    """What follows `start` in each key, and the pair."""
    return ((pair.key.removeprefix(start), pair) for pair in view.range(start))


def _names(pairs: Pairs) -> Iterator[tuple[int, str]]:
    for rest, pair in pairs:
        with _sense_of(pair):
            yield values.read_table_name(rest, pair.value)


def _claims_in(view: View) -> Mapping[str, str]:
    return {prefix: pair.value for prefix, pair in _pairs(view, CLAIMS)}


def _markers(pairs: Pairs) -> Mapping[str, TopicMarker]:
    found = {}
    for topic, pair in pairs:
        with _sense_of(pair):
            found[topic] = TopicMarker(values.read_marker(pair.value), pair.mod_revision)
    return found


def _newest_regions(pairs: Pairs) -> Mapping[str, int]:
    """By topic: the greatest revision of its regions' keys."""
    found: defaultdict[str, int] = defaultdict(int)
    for rest, pair in pairs:
        topic, _, _ = rest.rpartition("/")
        found[topic] = max(found[topic], pair.mod_revision)
    return found


def _region_keys(pairs: Pairs, external: Container[int]) -> Iterator[tuple[tuple[str, int], RegionKey]]:
    """Those of regions that write a log: of an external table a key says nothing."""
    for rest, pair in pairs:
        with _sense_of(pair):
            topic, region, key = values.read_region_key(rest, pair.value, pair.mod_revision)
        if region not in external:
            yield (topic, region), key


@dataclass(slots=True)
class _Tables:
    """What the datanodes' tables say of regions, beside their topics."""

    without: set[int] = field(default_factory=set)
    """Those that write to no topic."""
    external: set[int] = field(default_factory=set)
    """Those of external tables, which are without a topic whatever their options say."""
    unlogged: set[int] = field(default_factory=set)
    """Those whose rows are written to no log, or to none any more."""
    logged_again: set[int] = field(default_factory=set)
    """Those of which that was so once."""

    def read(self, pairs: Pairs) -> Iterator[tuple[int, str]]:
        """Regions and their topics."""
        for rest, pair in pairs:
            with _sense_of(pair):
                table = values.read_datanode_table(rest, pair.value)
            if table.is_external:
                self.external.update(table.topics)
            self.unlogged |= table.unlogged
            self.logged_again |= table.logged_again
            for region, topic in table.topics.items():
                if topic is None:
                    self.without.add(region)
                else:
                    yield region, topic


def _routes(pairs: Pairs) -> Iterator[tuple[int, Route]]:
    for _, pair in pairs:
        with _sense_of(pair):
            routes = list(values.read_table_route(pair.value, pair.mod_revision))
        yield from routes


def _kept_dropped(view: View) -> Mapping[int, datetime | None]:
    """The tables that were dropped softly, and until when each can be undropped."""
    until = {rest: values.read_time(pair.value) for rest, pair in _pairs(view, values.KEPT_UNTIL)}
    found: dict[int, datetime | None] = {}
    for rest, pair in _pairs(view, values.DROPPED_AT):
        with _sense_of(pair):
            found[int(rest)] = until.get(rest)
    return found


def _addresses(pairs: Pairs) -> Mapping[int, str]:
    found = {}
    for rest, pair in pairs:
        with _sense_of(pair):
            datanode, address = values.read_address(rest, pair.value)
            found[datanode] = address
    return found


@contextmanager
def _sense_of(pair: KeyValue) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"the metadata key {pair.key} makes no sense ({error}): is its GreptimeDB newer than this Seawall?"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error

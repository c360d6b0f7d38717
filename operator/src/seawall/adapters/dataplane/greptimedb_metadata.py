"""GreptimeDB's metadata in etcd: the MetadataStore port."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

from seawall.adapters.dataplane import greptimedb_values as values
from seawall.adapters.dataplane.etcd import Etcd, KeyValue, NothingNewer, Unchanged
from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.dataplane.metadata import MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.errors import Conflict


class GreptimeMetadata:
    """Reads everything at one revision. One key that makes no sense fails it all: a region may hide behind it."""

    def __init__(self, etcd: Etcd) -> None:
        self._etcd = etcd

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision."""
        revision = self._etcd.revision(values.TOPIC_NAMES)
        wal_topics, without = _wal_options(self._pairs(values.DATANODE_TABLES, revision))
        buried, _ = _wal_options(self._pairs(values.TOMBSTONES + values.DATANODE_TABLES, revision))
        dropped = _region_keys(self._pairs(values.TOMBSTONES + values.TOPIC_REGIONS, revision))
        return MetadataSnapshot(
            revision=revision,
            topics=_markers(self._pairs(values.TOPIC_NAMES, revision)),
            region_keys=_region_keys(self._pairs(values.TOPIC_REGIONS, revision)),
            wal_topics=_frozen(_claims(wal_topics)),
            tombstoned_topics=_frozen(chain(_claims(buried), ((region, topic) for topic, region in dropped))),
            without_topic=without - wal_topics.keys(),
            routes=_routes(self._pairs(values.TABLE_ROUTES, revision)),
            datanodes=_addresses(self._pairs(values.DATANODE_ADDRESSES, revision)),
        )

    def advance_marker(self, topic: str, pruned_entry_id: int, *, seen: TopicMarker, revision: int) -> None:
        """Moves a marker up, if nothing happened since it and the topic's regions were read."""
        if pruned_entry_id <= max(seen.pruned_entry_id or 0, 0):
            raise ValueError(f"the pruned marker of {topic} only rises: {seen.pruned_entry_id} → {pruned_entry_id}")
        key = values.TOPIC_NAMES + topic
        held = self._etcd.get(key)
        if held is None or held.mod_revision != seen.mod_revision:
            raise Conflict(f"the pruned marker of {topic} is not the one that was read")
        with _sense_of(held):
            value = values.marker_with(held.value, pruned_entry_id)
        compare = (Unchanged(key, seen.mod_revision), NothingNewer(values.topic_regions(topic), revision))
        if not self._etcd.write(key, value, compare):
            raise Conflict(f"the pruned marker or a region of {topic} changed since they were read")

    def _pairs(self, start: str, revision: int) -> Iterator[tuple[str, KeyValue]]:
        """What follows `start` in each key, and the pair."""
        return ((pair.key.removeprefix(start), pair) for pair in self._etcd.range(start, revision))


Pairs = Iterable[tuple[str, KeyValue]]


def _markers(pairs: Pairs) -> Mapping[str, TopicMarker]:
    found = {}
    for topic, pair in pairs:
        with _sense_of(pair):
            found[topic] = TopicMarker(values.read_marker(pair.value), pair.mod_revision)
    return found


def _region_keys(pairs: Pairs) -> Mapping[tuple[str, int], RegionKey]:
    found = {}
    for rest, pair in pairs:
        with _sense_of(pair):
            topic, region, key = values.read_region_key(rest, pair.value, pair.mod_revision)
            found[topic, region] = key
    return found


def _wal_options(pairs: Pairs) -> tuple[Mapping[int, set[str]], frozenset[int]]:
    """The topics of each region, and the regions that have none."""
    topics: defaultdict[int, set[str]] = defaultdict(set)
    without = set()
    for rest, pair in pairs:
        with _sense_of(pair):
            for region, topic in values.read_datanode_table(rest, pair.value):
                if topic is None:
                    without.add(region)
                else:
                    topics[region].add(topic)
    return topics, frozenset(without)


def _routes(pairs: Pairs) -> Mapping[int, Route]:
    found: dict[int, Route] = {}
    for _, pair in pairs:
        with _sense_of(pair):
            found.update(values.read_table_route(pair.value, pair.mod_revision))
    return found


def _addresses(pairs: Pairs) -> Mapping[int, str]:
    found = {}
    for rest, pair in pairs:
        with _sense_of(pair):
            datanode, address = values.read_address(rest, pair.value)
            found[datanode] = address
    return found


def _claims(topics: Mapping[int, Iterable[str]]) -> Iterator[tuple[int, str]]:
    return ((region, topic) for region, names in topics.items() for topic in names)


def _frozen(claims: Iterable[tuple[int, str]]) -> Mapping[int, frozenset[str]]:
    found: defaultdict[int, set[str]] = defaultdict(set)
    for region, topic in claims:
        found[region].add(topic)
    return {region: frozenset(topics) for region, topics in found.items()}


@contextmanager
def _sense_of(pair: KeyValue) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"the metadata key {pair.key} makes no sense ({error}): is its GreptimeDB newer than this Seawall?"
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, message) from error

"""Which regions write to which topic: the union of all that is known, because a forgotten region is lost data.

    topic→region keys + WAL options of the datanodes' tables + tombstoned copies of either

Where the first two contradict each other, the topic has a disagreement and must be left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from seawall.domain.dataplane.metadata import MetadataSnapshot


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

"""Which regions write to which topic, and what the metadata contradict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.dataplane.mapped_regions import Disagreement, map_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot, RegionKey, TopicMarker
from tests.domain import plain_regions
from tests.domain.plain_regions import Contradiction, TopicRegions, topics_of

KEY = RegionKey(None, None, 1)


def snapshot(
    keys: set[tuple[str, int]] | None = None,
    options: dict[int, set[str]] | None = None,
    tombstones: dict[int, set[str]] | None = None,
    topics: tuple[str, ...] = ("t_0", "t_1"),
) -> MetadataSnapshot:
    return MetadataSnapshot(
        revision=9,
        topics=dict.fromkeys(topics, TopicMarker(0, 1)),
        region_keys=dict.fromkeys(keys or (), KEY),
        wal_topics={region: frozenset(names) for region, names in (options or {}).items()},
        tombstoned_topics={region: frozenset(names) for region, names in (tombstones or {}).items()},
        without_topic=frozenset(),
        routes={},
        datanodes={},
        store_id="etcd/1/",
    )


def regions_of_topics(given: MetadataSnapshot) -> dict[str, TopicRegions]:
    return topics_of(map_regions(given))


def test_what_all_agree_on_is_a_region_without_contradiction() -> None:
    found = regions_of_topics(snapshot({("t_0", 1), ("t_0", 2), ("t_1", 3)}, {1: {"t_0"}, 2: {"t_0"}, 3: {"t_1"}}))
    assert found == {"t_0": TopicRegions(frozenset({1, 2})), "t_1": TopicRegions(frozenset({3}))}


def test_a_topic_without_regions_is_there_with_none() -> None:
    assert regions_of_topics(snapshot(topics=("t_0",))) == {"t_0": TopicRegions(frozenset())}


def test_a_topic_that_has_no_marker_is_found_by_its_regions() -> None:
    found = regions_of_topics(snapshot({("old_3", 1)}, {1: {"old_3"}, 2: {"old_4"}}, {3: {"old_5"}}, topics=()))
    assert {name: topic.regions for name, topic in found.items()} == {
        "old_3": frozenset({1}),
        "old_4": frozenset({2}),
        "old_5": frozenset({3}),
    }


@pytest.mark.parametrize(
    ("given_snapshot", "what"),
    [
        ({"keys": {("t_0", 1)}}, Disagreement.KEY_WITHOUT_OPTIONS),
        ({"options": {1: {"t_0"}}}, Disagreement.OPTIONS_WITHOUT_KEY),
        ({"options": {1: {"t_0"}}, "tombstones": {1: {"t_0"}}}, Disagreement.OPTIONS_WITHOUT_KEY),
        ({"keys": {("t_0", 1)}, "options": {1: {"t_0", "t_1"}}}, Disagreement.TWO_TOPICS),
        ({"keys": {("t_0", 1), ("t_1", 1)}, "options": {1: {"t_0"}}}, Disagreement.TWO_TOPICS),
        ({"keys": {("t_0", 1)}, "options": {1: {"t_0"}}, "tombstones": {1: {"t_1"}}}, Disagreement.TWO_TOPICS),
    ],
)
def test_a_contradiction_is_named_and_the_region_is_kept(given_snapshot: dict[str, Any], what: Disagreement) -> None:
    topic = regions_of_topics(snapshot(**given_snapshot))["t_0"]
    assert topic.regions == frozenset({1})
    assert topic.contradictions == (Contradiction(1, what),)


def test_a_region_of_two_topics_is_contradicted_in_both() -> None:
    found = regions_of_topics(snapshot({("t_0", 1)}, {1: {"t_1"}}))
    assert [found[name].contradictions for name in ("t_0", "t_1")] == [(Contradiction(1, Disagreement.TWO_TOPICS),)] * 2


def test_a_dropped_region_is_kept_and_told_apart() -> None:
    found = regions_of_topics(snapshot({("t_0", 1)}, {1: {"t_0"}}, {2: {"t_0"}}))
    assert found["t_0"] == TopicRegions(frozenset({1, 2}), tombstoned=frozenset({2}))


def test_a_restored_region_whose_tombstone_is_still_there_is_not_dropped() -> None:
    found = regions_of_topics(snapshot({("t_0", 1)}, {1: {"t_0"}}, {1: {"t_0"}}))
    assert found["t_0"] == TopicRegions(frozenset({1}))


NAMES, IDS = st.sampled_from(["t_0", "t_1", "t_2"]), st.integers(1, 4)
CLAIMS = st.dictionaries(IDS, st.sets(NAMES, min_size=1))


@given(st.sets(st.tuples(NAMES, IDS)), CLAIMS, CLAIMS)
def test_no_claim_is_ever_forgotten(
    keys: set[tuple[str, int]], options: dict[int, set[str]], tombstones: dict[int, set[str]]
) -> None:
    found = regions_of_topics(snapshot(keys, options, tombstones))
    assert found == plain_regions.regions_of_topics(snapshot(keys, options, tombstones))
    claims = {(topic, region) for claim in (options, tombstones) for region, names in claim.items() for topic in names}
    assert {(topic, region) for topic, regions in found.items() for region in regions.regions} == claims | keys
    agreed = {(topic, region) for topic, region in keys if topic in options.get(region, ())}
    for topic, regions in found.items():
        torn = {item.region_id for item in regions.contradictions}
        assert {region for region in regions.regions - regions.tombstoned if (topic, region) not in agreed} <= torn

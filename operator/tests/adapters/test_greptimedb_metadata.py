"""What GreptimeDB's keys mean together, over a store of keys in memory: the stores themselves have contract tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from seawall.adapters.greptimedb.keys import Comparison, KeyStore, KeyValue, View
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.metadata_values import region_of
from seawall.domain.dataplane.mapped_regions import map_regions
from seawall.domain.dataplane.metadata import MetadataSnapshot
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.regions import build_regions
from tests.domain.builders import NOW

TOPIC, MITO, EXTERNAL, OTHER = "t_0", region_of(1024, 1), region_of(1025, 1), region_of(1026, 1)


class Keys(KeyStore):
    """These keys at revision 9."""

    doubt = ""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self.pairs = pairs

    def close(self) -> None:
        """Nothing is open."""

    @contextmanager
    def view(self) -> Iterator[View]:
        yield KeysNow(self.pairs)

    def write(self, values: Mapping[str, str], compare: Sequence[Comparison]) -> bool:
        raise AssertionError(values, compare)


class KeysNow(View):
    """One view of them."""

    store_id, revision, issued = "memory", 9, None

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self.pairs = pairs

    def range(self, start: str) -> Iterator[KeyValue]:
        return (KeyValue(key, value, 9) for key, value in sorted(self.pairs.items()) if key.startswith(start))

    def get(self, key: str) -> KeyValue | None:
        return KeyValue(key, self.pairs[key], 9) if key in self.pairs else None


def table(region: int, datanode: int = 0, **more: object) -> dict[str, str]:
    """A datanode's table of one region, and its key beside the topic."""
    number, options = region & 0xFFFFFFFF, json.dumps({"wal.provider": "kafka", "wal.kafka.topic": TOPIC})
    value = {"table_id": region >> 32, "regions": [number], "region_wal_options": {str(number): options}, "version": 0}
    pairs = {f"__dn_table/{datanode}/{region >> 32}": json.dumps(value | {"engine": "mito"} | more)}
    return {**pairs, f"__topic_region/{TOPIC}/{region}": "{}"}


def buried(pairs: Mapping[str, str]) -> dict[str, str]:
    return {f"__tombstone/{key}": value for key, value in pairs.items()}


def snapshot(*tables: Mapping[str, str]) -> MetadataSnapshot:
    pairs = {f"__topic_name/kafka/{TOPIC}": "{}"}
    for each in tables:
        pairs |= each
    return GreptimeMetadata(Keys(pairs)).snapshot()


def report(region: int) -> RegionReport:
    return RegionReport(region, 0, 1, RegionRole.LEADER, NOW, "file", 0, InnerReport(0, None))


def test_an_external_table_holds_no_topic() -> None:
    """It is given a topic and a key, writes nothing, and says for ever that it has flushed nothing."""
    found = snapshot(table(MITO), table(EXTERNAL, engine="file"))
    assert set(found.region_keys) == {(TOPIC, MITO)}
    assert found.wal_topics == {MITO: {TOPIC}}
    assert found.without_topic == {EXTERNAL}
    assert not map_regions(found).torn
    regions = build_regions(RegionReports.of([report(EXTERNAL)]), found)
    assert regions.regions.region.tolist() == [MITO]
    assert not regions.unplaced, "it is known, and so its report is no riddle"


def test_a_dropped_external_table_holds_none_either() -> None:
    found = snapshot(table(MITO), buried(table(EXTERNAL, engine="file")))
    assert not found.tombstoned_topics
    assert found.without_topic == {EXTERNAL}


def test_while_it_is_dropped_half_of_it_is_buried() -> None:
    whole = table(EXTERNAL, engine="file")
    key = next(key for key in whole if key.startswith("__topic_region/"))
    half = {name: value for name, value in whole.items() if name != key}
    for found in (snapshot({key: "{}"}, buried(half)), snapshot(half, buried({key: "{}"}))):
        assert not found.region_keys
        assert not found.tombstoned_topics
        assert not map_regions(found).torn


def test_a_region_that_one_table_calls_external_and_another_not_keeps_its_topic() -> None:
    found = snapshot(table(MITO, 0), table(MITO, 1, engine="file"))
    assert set(found.region_keys) == {(TOPIC, MITO)}
    assert found.wal_topics == {MITO: {TOPIC}}
    assert not found.without_topic


def test_a_key_of_a_region_with_another_wal_is_still_a_contradiction() -> None:
    found = snapshot(table(MITO, region_wal_options={}))
    assert map_regions(found).torn


def test_a_table_that_skips_its_log_keeps_its_topic_and_is_known_for_it() -> None:
    found = snapshot(table(MITO, region_options={"skip_wal": "true"}), table(OTHER))
    assert found.unlogged == {MITO}
    assert set(found.region_keys) == {(TOPIC, MITO), (TOPIC, OTHER)}
    assert found.wal_topics == {MITO: {TOPIC}, OTHER: {TOPIC}}


@pytest.mark.parametrize("provider", ["noop", "raft_engine"])
def test_a_table_that_skips_its_log_is_known_for_it_without_a_topic_too(provider: str) -> None:
    options = {"1": json.dumps({"wal.provider": provider})}
    found = snapshot(table(MITO, region_options={"skip_wal": "true"}, region_wal_options=options))
    assert found.unlogged == found.without_topic == {MITO}


def test_a_table_that_skipped_its_log_once_is_known_for_it_when_that_was_taken_back() -> None:
    """What is in memory may be of then; and nobody is told that its rows are in no log."""
    found = snapshot(table(MITO, region_options={"skip_wal": "false"}), table(OTHER))
    assert (found.unlogged, found.logged_again) == (frozenset(), frozenset({MITO}))


def test_a_table_that_was_made_without_a_log_is_known_by_its_provider() -> None:
    """Whatever its options say: no version writes to a log that is none."""
    assert snapshot(table(MITO, region_wal_options={"1": json.dumps({"wal.provider": "noop"})})).unlogged == {MITO}
    assert not snapshot(table(MITO, region_wal_options={"1": json.dumps({"wal.provider": "raft_engine"})})).unlogged
    assert not snapshot(table(MITO, engine="file", region_options={"skip_wal": "true"})).unlogged


def test_a_table_that_was_dropped_softly_is_known_with_its_end() -> None:
    """Its tombstones keep its topic, as those of any table that is being dropped."""
    markers = {
        "__tombstone/__dropped_at/1024": "1790000000000",
        "__tombstone/__retention_expires_at/1024": "1790604800000",
        "__tombstone/__dropped_at/1026": "1790000000000",
        "__tombstone/__drop_generation/1024": "a",
    }
    found = snapshot(buried(table(MITO)), buried(table(OTHER)), buried(table(region_of(1027, 1))), markers)
    assert found.kept_dropped == {1024: datetime(2026, 9, 28, 14, 13, 20, tzinfo=UTC), 1026: None}
    regions = build_regions([], found).regions
    dropped = dict(zip(regions.region.tolist(), regions.dropped.tolist(), strict=True))
    assert dropped == {MITO: True, OTHER: True, region_of(1027, 1): False}


@pytest.mark.parametrize("value", ["", "soon", "99999999999999999999", "-1e3"])
def test_an_end_that_is_no_time_stops_nobody(value: str) -> None:
    markers = {"__tombstone/__dropped_at/1024": "1", "__tombstone/__retention_expires_at/1024": value}
    assert snapshot(buried(table(MITO)), markers).kept_dropped == {1024: None}


def test_what_was_undropped_is_no_dropped_table() -> None:
    """Its keys are back; of a marker that is left nobody speaks."""
    found = snapshot(table(MITO), buried(table(OTHER)), {"__tombstone/__dropped_at/1024": "1"})
    regions = build_regions([], found).regions
    assert not regions.dropped.any()

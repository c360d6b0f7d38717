"""Faults in logs on a real Kafka: each is found by the level that can find it, with the first offset that is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from verifications import Answer, verify
from wal_logs import DATA, OTHER, Log, Record, clean_log
from wal_topics import Topics, request_of

from seawall_e2e.loopback import KafkaProcesses

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

Harmed = tuple[list[Record], list[tuple[str, int | None, int | None]]]
"""The records of a log with a fault, and what is to be found: kind, offset, region."""
Fault = Callable[[Log], Harmed]


def _clean(log: Log) -> Harmed:
    return log.records, []


def _dropped_entry(log: Log) -> Harmed:
    lost = next(
        entry for entry in log.entries if entry.region == DATA and entry.sequence > 1 and entry.first == entry.last
    )
    later = next(entry for entry in log.entries if entry.region == DATA and entry.sequence > lost.sequence)
    return _without(log, lost.first), [("SequenceGap", later.last - 1, DATA)]


def _parts(log: Log) -> tuple[int, int]:
    """The first and last offset of the first entry in parts, of which there are more than four."""
    entry = next(entry for entry in log.entries if entry.last > entry.first)
    assert entry.last - entry.first >= 3
    return entry.first, entry.last


def _dropped_middle(log: Log) -> Harmed:
    first, _ = _parts(log)
    gap = ("SequenceGap", _next_of(log, first) - 1, DATA)
    return _without(log, first + 1), [("IllegalSequence", first + 1, None), gap]


def _dropped_last_middle(log: Log) -> Harmed:
    first, last = _parts(log)
    gap = ("SequenceGap", _next_of(log, first) - 1, DATA)
    return _without(log, last - 1), [("PartsDoNotJoin", last - 1, DATA), gap]


def _dropped_first(log: Log) -> Harmed:
    first, last = _parts(log)
    orphans = [("OrphanPart", offset, DATA) for offset in range(first, last)]
    return _without(log, first), [*orphans, ("SequenceGap", _next_of(log, first) - 1, DATA)]


def _dropped_last(log: Log) -> Harmed:
    first, last = _parts(log)
    gap = ("SequenceGap", _next_of(log, first) - 1, DATA)
    return _without(log, last), [("UnfinishedEntry", first, DATA), gap]


def _flipped_payload(log: Log) -> Harmed:
    entry = next(entry for entry in log.entries if entry.region == OTHER)
    key, value = log.records[entry.first]
    assert value is not None
    log.records[entry.first] = (key, bytes([value[0] ^ 0x04]) + value[1:])  # another wire type
    return log.records, [("UndecodableEntry", entry.first, OTHER)]


def _flipped_key(log: Log) -> Harmed:
    entry = [entry for entry in log.entries if entry.region == OTHER][1]
    key, value = log.records[entry.first]
    assert key is not None
    log.records[entry.first] = (bytes([key[0] ^ 0x01]) + key[1:], value)
    later = [entry for entry in log.entries if entry.region == OTHER][2]
    return log.records, [("UndecodableKey", entry.first, None), ("SequenceGap", later.first, OTHER)]


def _flipped_region(log: Log) -> Harmed:
    entry = [entry for entry in log.entries if entry.region == OTHER][1]
    key, value = log.records[entry.first]
    assert key is not None
    log.records[entry.first] = (key.replace(str(OTHER).encode(), b"77"), value)
    later = [entry for entry in log.entries if entry.region == OTHER][2]
    return log.records, [("UnknownRegion", entry.first, 77), ("SequenceGap", later.first, OTHER)]


def _duplicate_part(log: Log) -> Harmed:
    first, _ = _parts(log)
    log.records.insert(first + 2, log.records[first + 1])
    return log.records, [("RepeatedPart", first + 2, DATA)]


def _duplicate_entry(log: Log) -> Harmed:
    entry = log.entries[0]
    log.records.insert(entry.first + 1, log.records[entry.first])
    return log.records, [("RepeatedSequence", entry.first + 1, DATA)]


def _swapped_entries(log: Log) -> Harmed:
    one, two = [entry for entry in log.entries if entry.region == OTHER][2:4]
    log.records[one.first], log.records[two.first] = log.records[two.first], log.records[one.first]
    return log.records, [("SequenceOrder", one.first, OTHER)]


def _keyless(log: Log) -> Harmed:
    log.records.append((None, b"canary"))
    return log.records, [("MissingKey", log.end - 1, None)]


def _open_at_the_end(log: Log) -> Harmed:
    _, last = _parts(log)
    return log.records[:last], []


FAULTS: dict[str, Fault] = {
    "clean": _clean,
    "dropped-entry": _dropped_entry,
    "dropped-first": _dropped_first,
    "dropped-middle": _dropped_middle,
    "dropped-last-middle": _dropped_last_middle,
    "dropped-last": _dropped_last,
    "flipped-payload": _flipped_payload,
    "flipped-key": _flipped_key,
    "flipped-region": _flipped_region,
    "duplicate-part": _duplicate_part,
    "duplicate-entry": _duplicate_entry,
    "swapped-entries": _swapped_entries,
    "keyless": _keyless,
    "open-at-the-end": _open_at_the_end,
}
HARMLESS = {"clean", "duplicate-part", "duplicate-entry", "open-at-the-end"}
ONLY_WARNED = HARMLESS | {"dropped-entry", "dropped-last", "flipped-region"}
CUT, RECREATED = "purged-too-far", "recreated"


@pytest.fixture(scope="module")
def topics(kafka: KafkaProcesses) -> Topics:
    """Every log with its fault, each in a topic of its own."""
    made = Topics(kafka.bootstrap_servers)
    made.fill({name: fault(clean_log())[0] for name, fault in FAULTS.items()} | {CUT: clean_log().records})
    made.delete_records(CUT, 7)
    return made


@pytest.fixture(scope="module")
def at_integrity(spark: SparkSession, topics: Topics, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """One application over all of them."""
    asked = [topics.topic(name, len(fault(clean_log())[0])) for name, fault in FAULTS.items()]
    asked.append(topics.topic(CUT, clean_log().end))
    return verify(spark, tmp_path_factory.mktemp("integrity"), request_of(topics.servers, "Integrity", asked))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_first_offset(at_integrity: Answer, name: str) -> None:
    _, expected = FAULTS[name](clean_log())
    assert sorted(at_integrity.found(name)) == sorted(expected)


def test_only_topics_without_errors_are_verified(at_integrity: Answer) -> None:
    assert at_integrity.code == 1
    assert at_integrity.verified() == ONLY_WARNED
    assert set(at_integrity.summary["topicsNotVerified"]) == {*FAULTS, CUT} - ONLY_WARNED


def test_a_log_that_was_purged_too_far_is_found_although_the_others_are_read(at_integrity: Answer) -> None:
    assert at_integrity.found(CUT) == [("LogStartBeyondReplay", 0, DATA), ("LogStartBeyondReplay", 0, OTHER)]


def test_each_region_has_its_counts(at_integrity: Answer) -> None:
    assert at_integrity.report is not None
    log = clean_log()
    for region in (DATA, OTHER):
        entries = [entry for entry in log.entries if entry.region == region]
        row = next(row for row in at_integrity.report["regions"] if row["topic"] == "clean" and row["id"] == region)
        assert (row["entries"], row["rows"], row["lastEntryId"]) == (len(entries), 2 * len(entries), entries[-1].last)


def test_the_page_shows_the_first_bad_offset(at_integrity: Answer) -> None:
    assert '<tr class="first"><td class="n">0</td>' in at_integrity.page
    assert "http" not in at_integrity.page.replace("http-equiv", "")


def _without(log: Log, place: int) -> list[Record]:
    return log.records[:place] + log.records[place + 1 :]


def _next_of(log: Log, first: int) -> int:
    """The offset of the entry of DATA after the one that begins there."""
    return next(entry.last for entry in log.entries if entry.region == DATA and entry.first > first)

"""Faults by level and by version of the database, on a real Kafka, with what the database's reader does beside each.

The reader's answers are written from GreptimeDB's source; `spark-apps/walrecord/tests/database_reader.py` has its rule
for parts in our words. Files, where nothing else is said at v1.1.3 and the same at v1.0.2:

* record.rs: src/log-store/src/kafka/util/record.rs
* consumer.rs: src/log-store/src/kafka/consumer.rs · log_store.rs beside it
* entry_reader.rs: src/mito2/src/wal/entry_reader.rs · key_values.rs: src/mito-codec/src/key_values.rs
* partition.rs: GreptimeTeam/rskafka f5688f83, src/client/partition.rs, the client of all these versions

Two rules hold for every row: what the database does not open is not verified by the level that can know, and what it
opens with all rows has no error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from snapshots import Snapshot, rows_at
from spark_marks import WITH_SPARK
from verifications import Answer, verify
from wal_logs import NOOP, Log, Record, TableRow, Written, clean_log, payload, records_of
from wal_topics import Topics, request_of

from seawall_e2e.loopback import KafkaProcesses
from walrecord import decode_entry, drops_repeated_middle, encode_entry
from walrecord.pb.wal_pb2 import Row, WalEntry

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

Found = set[tuple[str, int | None]]
"""Kind and offset."""


class Reader(StrEnum):
    """What the database does with the log."""

    OPENS = "opens, with all rows that were acknowledged"
    LOSES = "opens, and rows are missing or replaced"
    REFUSES = "does not open the region, or crashes"
    WAITS = "waits for ever"


class Version(StrEnum):
    """A release of each sort; None in a request counts as the strictest."""

    BEFORE = "1.0.2"
    LAST_BEFORE = "1.1.2"
    SINCE = "1.1.3"
    NEWEST = "1.2"


STRICT = (Version.BEFORE, Version.LAST_BEFORE)


@dataclass(frozen=True)
class Harmed:
    """A log with a fault, and what is to be said of it."""

    records: list[Record]
    integrity: Found
    coverage: Found = field(default_factory=set)
    before: Found | None = None
    """By Integrity of versions before 1.1.3, if it is something else."""
    rows: dict[int, list[TableRow]] = field(default_factory=dict)
    """Rows that were acknowledged beside those of the clean log, by the place of their region."""


@dataclass(frozen=True)
class Fault:
    """A row of the matrix."""

    harm: Callable[[Log], Harmed]
    reader: Reader
    source: str
    until: Reader | None = None
    """The answer of versions before 1.1.3, if it is another one."""

    def answer(self, version: Version) -> Reader:
        """The database's."""
        return self.reader if self.until is None or version not in STRICT else self.until


def _parts(log: Log) -> Written:
    """The first entry in parts: First, Middle(1), …, Last."""
    return next(entry for entry in log.entries if entry.last - entry.first >= 4)


def _single(log: Log, nth: int) -> Written:
    """An entry of one record."""
    return [entry for entry in log.entries if entry.first == entry.last][nth]


def _clean(log: Log) -> Harmed:
    return Harmed(log.records, set())


def _middle_again(log: Log) -> Harmed:
    at = _parts(log).first + 1
    log.records.insert(at + 1, log.records[at])
    before: Found = {("IllegalSequence", at + 1), _gap_after(log, at, 1)}
    return Harmed(log.records, {("RepeatedPart", at + 1)}, before=before)


def _gap_after(log: Log, at: int, shift: int = 0) -> tuple[str, int]:
    """An entry in parts that is not applied leaves a gap, at the next entry of the region."""
    entry = _parts(log)
    after = next(other for other in log.entries if other.region == entry.region and other.first > at + 3)
    return "SequenceGap", after.last + shift


def _first_again(log: Log) -> Harmed:
    at = _parts(log).first
    log.records.insert(at + 1, log.records[at])
    return Harmed(log.records, {("RepeatedPart", at + 1)})


def _block_again(log: Log) -> Harmed:
    at = _parts(log).first + 1
    log.records[at + 2 : at + 2] = log.records[at : at + 2]
    return Harmed(log.records, {("IllegalSequence", at + 2), _gap_after(log, at, 2)})


def _middles_swapped(log: Log) -> Harmed:
    at = _parts(log).first + 1
    log.records[at], log.records[at + 1] = log.records[at + 1], log.records[at]
    return Harmed(log.records, {("IllegalSequence", at), _gap_after(log, at)})


def _of_nobody(log: Log) -> Harmed:
    """Middles in another order, of a region that was dropped: it is the topic that is read."""
    parts = records_of(77 << 32, payload(1, *(TableRow("host", 1, number) for number in range(4))), in_parts=True)
    end = log.end
    log.records += [parts[0], parts[2]]
    return Harmed(log.records, {("IllegalSequence", end + 1), ("UnknownRegion", end)})


def _last_middle_lost(log: Log) -> Harmed:
    entry = _parts(log)
    del log.records[entry.last - 1]
    return Harmed(log.records, {("PartsDoNotJoin", entry.last - 1), _gap_after(log, entry.first, -1)})


def _first_lost(log: Log) -> Harmed:
    entry = _parts(log)
    del log.records[entry.first]
    orphans = {("OrphanPart", offset) for offset in range(entry.first, entry.last)}
    return Harmed(log.records, {*orphans, _gap_after(log, entry.first, -1)})


def _entry_again(log: Log) -> Harmed:
    entry = _single(log, 3)
    log.records.append(log.records[entry.first])
    return Harmed(log.records, {("RepeatedSequence", log.end - 1)})


def _other_rows(log: Log) -> Harmed:
    entry = _single(log, 3)
    rows = [row._replace(load=12345) for row in entry.rows]
    log.records += records_of(entry.region, payload(entry.sequence, *rows))
    return Harmed(log.records, {("SequenceReused", log.end - 1)})


def _lower_sequence(log: Log) -> Harmed:
    """A flipped bit."""
    entry = _last_of(log, 0)
    lower = entry.sequence & ~(1 << entry.sequence.bit_length() - 1)
    log.records[entry.first] = records_of(entry.region, payload(lower, *entry.rows))[0]
    return Harmed(log.records, {("SequenceReused", entry.first)})


def _last_of(log: Log, place: int) -> Written:
    """The last entry of one record of the nth region."""
    region = sorted({entry.region for entry in log.entries})[place]
    return next(e for e in reversed(log.entries) if e.region == region and e.first == e.last)


def _wrong_region(log: Log) -> Harmed:
    """An entry of one region under the key of the other, whose numbers are higher by then."""
    entry = _last_of(log, 1)
    ahead = payload(entry.sequence + len(entry.rows), TableRow("more", 1, 1))
    log.records += records_of(entry.region, ahead)
    stray = _single(log, 2)
    log.records += records_of(entry.region, payload(stray.sequence, *stray.rows[:1]))
    rows = {1: [TableRow("more", 1, 1)]}
    return Harmed(log.records, {("SequenceReused", log.end - 1)}, rows=rows)


def _changed(change: Callable[[WalEntry], None]) -> Callable[[Log], Harmed]:
    def harm(log: Log) -> Harmed:
        place = _single(log, 3).first
        key, value = log.records[place]
        entry = decode_entry(value or b"")
        change(entry)
        log.records[place] = (key, encode_entry(entry))
        return Harmed(log.records, {("MalformedEntry", place)})

    return harm


def _fewer_values(entry: WalEntry) -> None:
    row = entry.mutations[0].rows.rows[1]
    row.CopyFrom(Row(values=row.values[:2]))


def _unknown_operation(entry: WalEntry) -> None:
    entry.mutations[0].op_type = 7  # type: ignore[assignment]


def _other_type(log: Log) -> Harmed:
    """A field of the right number with another wire type: Python takes it for unknown, prost for an error."""
    place = _single(log, 3).first
    key, value = log.records[place]
    log.records[place] = (key, (value or b"") + b"\x08\x01")
    return Harmed(log.records, {("MalformedEntry", place)})


def _new_field(log: Log) -> Harmed:
    place = _single(log, 3).first
    key, value = log.records[place]
    log.records[place] = (key, (value or b"") + b"\x78\x01")
    return Harmed(log.records, {("UnknownFields", place)})


def _tombstone(log: Log) -> Harmed:
    place = _single(log, 3).first
    log.records[place] = (log.records[place][0], None)
    region = _single(log, 3).region
    after = next(entry for entry in log.entries if entry.region == region and entry.first > place)
    return Harmed(log.records, {("Tombstone", place), ("SequenceGap", after.last)}, {("Tombstone", place)})


def _keyless(log: Log) -> Harmed:
    log.records.append((None, b"canary"))
    return Harmed(log.records, {("MissingKey", log.end - 1)}, {("MissingKey", log.end - 1)})


def _garbage(log: Log) -> Harmed:
    place = _single(log, 3).first
    log.records[place] = (log.records[place][0], b"\xff\xff")
    region = _single(log, 3).region
    after = next(entry for entry in log.entries if entry.region == region and entry.first > place)
    return Harmed(log.records, {("UndecodableEntry", place), ("SequenceGap", after.last)})


def _noops(log: Log) -> Harmed:
    """The beginning of the range, away: no number tells where the sequences began."""
    log.records[:5] = [NOOP] * 5
    return Harmed(log.records, {("Noops", 1)}, {("Noops", 1)})


RECORD, VALUES = "record.rs maybe_emit_entry", "key_values.rs KeyValue"
FAULTS: dict[str, Fault] = {
    "clean": Fault(_clean, Reader.OPENS, "log_store.rs read"),
    "middle-again": Fault(_middle_again, Reader.OPENS, f"{RECORD}; #8514 is in v1.1.3", until=Reader.REFUSES),
    "first-again": Fault(_first_again, Reader.OPENS, RECORD),
    "block-again": Fault(_block_again, Reader.REFUSES, RECORD),
    "middles-swapped": Fault(_middles_swapped, Reader.REFUSES, RECORD),
    "of-nobody": Fault(_of_nobody, Reader.REFUSES, f"{RECORD}: one reader for all regions of a topic"),
    "last-middle-lost": Fault(_last_middle_lost, Reader.REFUSES, "entry_reader.rs decode_raw_entry"),
    "first-lost": Fault(_first_lost, Reader.LOSES, f"{RECORD}; entry.rs is_complete: passed over"),
    "entry-again": Fault(_entry_again, Reader.OPENS, "mito2/src/region/opener.rs replay_memtable"),
    "other-rows": Fault(_other_rows, Reader.LOSES, "opener.rs replay_memtable: the sequence of the log counts"),
    "lower-sequence": Fault(_lower_sequence, Reader.LOSES, "opener.rs replay_memtable: the sequence of the log counts"),
    "wrong-region": Fault(_wrong_region, Reader.LOSES, "opener.rs replay_memtable: the region is that of the key"),
    "fewer-values": Fault(_changed(_fewer_values), Reader.REFUSES, f"{VALUES}: row.values[i] panics"),
    "unknown-operation": Fault(_changed(_unknown_operation), Reader.REFUSES, f"{VALUES}: OpType::try_from().unwrap()"),
    "other-type": Fault(_other_type, Reader.REFUSES, "entry_reader.rs decode_raw_entry: prost"),
    "new-field": Fault(_new_field, Reader.OPENS, "entry_reader.rs decode_raw_entry: prost skips it"),
    "tombstone": Fault(_tombstone, Reader.LOSES, "log_store.rs read: no value is a noop"),
    "keyless": Fault(_keyless, Reader.REFUSES, "record.rs MissingKey"),
    "garbage": Fault(_garbage, Reader.REFUSES, "entry_reader.rs decode_raw_entry"),
    "noops": Fault(_noops, Reader.LOSES, "log_store.rs read: no value is a noop"),
}
ONLY_SAID = {"noops"}
"""That these records were entries once cannot be known from the log alone: Integrity warns, Equivalence finds it."""
HOLED, PARTITIONED, LATE = "matrix-hole", "matrix-partitions", "matrix-timestamp"


def _regions(name: str) -> tuple[int, int]:
    table = 3000 + list(FAULTS).index(name)
    return table << 32, table << 32 | 1


def _topic(name: str) -> str:
    return f"matrix-{name}"


def _clean_log(name: str) -> Log:
    return clean_log(regions=_regions(name))


def _harmed(name: str) -> Harmed:
    return FAULTS[name].harm(_clean_log(name))


@pytest.fixture(scope="module")
def topics(kafka: KafkaProcesses) -> Topics:
    """Each fault's log in a topic of its own, and the faults that are of a topic."""
    made = Topics(kafka.bootstrap_servers)
    made.fill({_topic(name): _harmed(name).records for name in FAULTS})
    records = clean_log().records
    made.fill({HOLED: records[:8]})
    made.append_in_transaction(HOLED, records[8:9])  # the marker of its end is at 9
    made.append({HOLED: records[9:]})
    made.create(PARTITIONED, partitions=2)
    made.append({PARTITIONED: records})
    made.create(LATE, config={"message.timestamp.after.max.ms": str(2**63 - 1)})
    made.append({LATE: records[:7]})
    made.append({LATE: records[7:8]}, timestamp=2**63 - 1)
    made.append({LATE: records[8:]})
    return made


@pytest.fixture(scope="module")
def answers(
    spark: SparkSession, topics: Topics, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Answer]:
    """Level, version → one application over all topics; versions whose reader has the same rule share one."""
    folder = tmp_path_factory.mktemp("matrix")
    snapshot = _snapshot(folder / "snapshot")
    asked = [
        topics.topic(_topic(name), len(_harmed(name).records), reads_from=dict.fromkeys(_regions(name), 0))
        for name in FAULTS
    ]
    end = clean_log().end
    of_topics = [topics.topic(HOLED, end + 1), topics.topic(PARTITIONED, end), topics.topic(LATE, end)]

    @cache
    def run(level: str, drops_repeats: bool) -> Answer:  # noqa: FBT001 - what differs between versions
        named = [*asked, *(of_topics if level != "Equivalence" else [])]
        version = Version.SINCE if drops_repeats else Version.BEFORE
        request = request_of(topics.servers, level, named, snapshot.uri, version)
        return verify(spark, folder / f"{level}-{version}", request)

    return lambda level, version: run(level, drops_repeated_middle(version))


def _snapshot(folder: Path) -> Snapshot:
    """What the database holds: all rows that were acknowledged, and none before the log."""
    snapshot = Snapshot(folder)
    for name in FAULTS:
        log, harmed = _clean_log(name), _harmed(name)
        for place, region in enumerate(_regions(name)):
            rows = [*rows_at(log, region, log.end), *harmed.rows.get(place, [])]
            snapshot.add(region, _topic(name), {0: [], len(harmed.records) - 1: rows})
    snapshot.write()
    return snapshot


def _is_verified(answer: Answer, name: str) -> bool:
    return _topic(name) in answer.verified()


def _found(answer: Answer, topic: str) -> Found:
    return {(kind, offset) for kind, offset, _ in answer.found(topic)}


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("name", FAULTS)
def test_integrity_says_of_each_version_what_its_reader_does(
    answers: Callable[[str, str], Answer], name: str, version: Version
) -> None:
    answer, harmed, fault = answers("Integrity", version), _harmed(name), FAULTS[name]
    expected = harmed.before if harmed.before is not None and version in STRICT else harmed.integrity
    assert _found(answer, _topic(name)) == expected
    opens = fault.answer(version) is Reader.OPENS
    assert _is_verified(answer, name) == (opens or name in ONLY_SAID), fault.source


@pytest.mark.parametrize("name", FAULTS)
def test_coverage_finds_what_shows_without_decoding_and_no_more(
    answers: Callable[[str, str], Answer], name: str
) -> None:
    answer, harmed = answers("Coverage", Version.BEFORE), _harmed(name)
    assert _found(answer, _topic(name)) == harmed.coverage
    assert _is_verified(answer, name) == (not harmed.coverage or name in ONLY_SAID)


@pytest.mark.parametrize("name", FAULTS)
def test_equivalence_verifies_exactly_what_opens_with_all_rows(
    answers: Callable[[str, str], Answer], name: str
) -> None:
    answer = answers("Equivalence", Version.SINCE)
    assert _is_verified(answer, name) == (FAULTS[name].reader is Reader.OPENS), answer.found(_topic(name))


@pytest.mark.parametrize("level", ["Coverage", "Integrity"])
def test_faults_of_a_topic_are_found_by_every_level_and_stop_no_other(
    answers: Callable[[str, str], Answer], level: str
) -> None:
    answer = answers(level, Version.BEFORE)
    assert _found(answer, HOLED) == {("OffsetsMissing", 9)}  # consumer.rs RecordsBuffer::pop_front: it waits
    assert _found(answer, LATE) == {("TimestampOutOfRange", 7)}  # partition.rs extract_records: an error
    assert _found(answer, PARTITIONED) == {("MorePartitions", None)}  # it reads partition 0 alone
    assert answer.verified() >= {_topic("clean"), PARTITIONED}
    assert not answer.verified() & {HOLED, LATE}

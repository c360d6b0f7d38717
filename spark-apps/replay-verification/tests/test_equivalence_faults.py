"""What only a comparison with the database's rows can find, on a real Kafka."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from snapshots import Snapshot, rows_at
from spark_marks import WITH_SPARK
from verifications import Answer, verify
from wal_logs import DATA, OTHER, Log, Record, TableRow, Written, clean_log, payload, records_of
from wal_topics import Topics, request_of

from seawall_e2e.loopback import KafkaProcesses
from walrecord import encode_entry
from walrecord.pb.wal_pb2 import ArrowIpc, BulkMutation, WalEntry

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

LOG = clean_log()
OLDER, NEWER = 12, LOG.end - 1
LAST_ROW = next(entry for entry in reversed(LOG.entries) if entry.region == OTHER)
CHANGED = LAST_ROW.rows[1]
LOST = next(entry for entry in LOG.entries if entry.region == OTHER and entry.first > OLDER)


def regions_of(name: str) -> tuple[int, int]:
    """The regions that write to a topic; as in a database, no other topic has them."""
    table = list(HARMED).index(name) + 2000
    return table << 32, table << 32 | 1


def log_of(name: str) -> Log:
    """The topic's log, before anything happens to it."""
    return clean_log(regions=regions_of(name))


def _clean(log: Log) -> list[Record]:
    return log.records


def _flipped_value(log: Log) -> list[Record]:
    """Still an entry, of another row."""
    key, value = log.records[LOST.first]
    assert value is not None
    log.records[LOST.first] = (key, value.replace(b"host-", b"hosT-"))
    return log.records


def _dropped(log: Log) -> list[Record]:
    """One entry is missing; a noop stands for it, so that all offsets are as they were."""
    log.records[LOST.first] = (None, None)
    return log.records


def _lost_tail(log: Log) -> list[Record]:
    return log.records[: LAST_ROW.first]


def _bulk(log: Log) -> list[Record]:
    """Rows as an Arrow batch, of which the log does not say how many there are."""
    bulk = BulkMutation(sequence=LOST.sequence, arrow_ipc=ArrowIpc(payload=b"rows"))
    log.records[LOST.first] = records_of(regions_of("bulk")[1], encode_entry(WalEntry(bulk_entries=[bulk])))[0]
    return log.records


def _deleted(log: Log) -> list[Record]:
    """The last entry deletes the row that the entry before it put."""
    return [*log.records, *records_of(regions_of("deleted")[1], payload(31, CHANGED, delete=True))]


def _late(log: Log) -> list[Record]:
    """An entry of before the older cut comes again after it; its row was replaced before the cut."""
    again = log.records[_early(log).first]
    return [*log.records[: OLDER + 1], again, *log.records[OLDER + 1 :]]


def _early(log: Log) -> Written:
    return next(entry for entry in log.entries if entry.region == regions_of("late")[1] and entry.first == entry.last)


def _late_cuts(log: Log, region: int) -> tuple[dict[int, list[TableRow]], dict[int, int]]:
    """What the database holds: at the older cut, all early keys were written once more; and its highest sequence."""
    of_region = [entry for entry in log.entries if entry.region == region and entry.last <= OLDER]
    older = {row[:2]: row._replace(load=777) for entry in of_region for row in entry.rows}
    newer = older | {row[:2]: row for e in log.entries if e.region == region and e.last > OLDER for row in e.rows}
    highest = of_region[-1].sequence + len(of_region[-1].rows) - 1
    return {OLDER: list(older.values()), NEWER + 1: list(newer.values())}, {OLDER: highest}


HARMED: dict[str, Callable[[Log], list[Record]]] = {
    "same": _clean,
    "live-row": _clean,
    "older-lost": _clean,
    "flipped-value": _flipped_value,
    "dropped": _dropped,
    "lost-tail": _lost_tail,
    "bulk": _bulk,
    "deleted": _deleted,
    "one-cut": _clean,
    "no-snapshot": _clean,
    "purged": _clean,
    "key-twice": _clean,
    "append-mode": _clean,
    "late": _late,
    "old-snapshot": _clean,
}


def _snapshot(folder: Snapshot) -> None:
    for name in HARMED.keys() - {"no-snapshot"}:
        for nth, region in enumerate(regions_of(name)):
            if name == "late":
                cuts, sequences = _late_cuts(log_of(name), region)
                folder.add(region, name, cuts, sequences=sequences)
                continue
            cuts = {entry_id: rows_at(log_of(name), region, entry_id) for entry_id in (OLDER, 30, NEWER)}
            if nth == 1:
                _change(name, cuts)
            folder.add(region, name, cuts, append_mode=name == "append-mode")
    folder.write()


def _change(name: str, cuts: dict[int, list[TableRow]]) -> None:
    """The snapshot's own part in a fault."""
    match name:
        case "live-row":
            cuts[NEWER] = [row._replace(load=-1) if row == CHANGED else row for row in cuts[NEWER]]
        case "older-lost":
            cuts[NEWER] = [*cuts[NEWER], TableRow("host-x", 1, None)]
        case "deleted":
            cuts[NEWER + 1] = cuts[NEWER]
        case "key-twice":
            cuts[NEWER] = [cuts[NEWER][0]._replace(load=-1), *cuts[NEWER]]  # the right one comes last
        case "one-cut":
            del cuts[OLDER], cuts[30]
        case "old-snapshot":
            del cuts[NEWER]


@pytest.fixture(scope="module")
def answer(spark: SparkSession, kafka: KafkaProcesses, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """One application over all of them."""
    folder = tmp_path_factory.mktemp("equivalence")
    topics, snapshot = Topics(kafka.bootstrap_servers), Snapshot(folder / "snapshot")
    logs = {name: harm(log_of(name)) for name, harm in HARMED.items()}
    topics.fill(logs)
    topics.delete_records("purged", 32)
    _snapshot(snapshot)
    asked = []
    for name, log in logs.items():
        start = 32 if name == "purged" else 0
        first = LAST_ROW.first if name == "old-snapshot" else start
        asked.append(topics.topic(name, len(log), start=start, reads_from=dict.fromkeys(regions_of(name), first)))
    return verify(spark, folder, request_of(topics.servers, "Equivalence", asked, snapshot.uri))


def _found(answer: Answer, topic: str) -> list[tuple[str, int | None]]:
    """Kind and offset; it must be the topic's second region where something was found."""
    found = [each for each in answer.found(topic) if each[0] != "Noops"]
    assert {region for _, _, region in found} <= {regions_of(topic)[1]}
    return [(kind, offset) for kind, offset, _ in found]


def _comparisons(answer: Answer, topic: str) -> dict[int, tuple[str, str | None]]:
    """By the region's place: DATA or OTHER in all topics."""
    assert answer.report is not None, answer.summary
    rows = [row for row in answer.report["regions"] if row["topic"] == topic]
    return {DATA + (row["id"] & 1): (row["comparison"]["outcome"], row["comparison"]["reason"]) for row in rows}


def test_a_clean_log_gives_the_rows_of_the_database(answer: Answer) -> None:
    assert answer.found("same") == []
    assert _comparisons(answer, "same") == {DATA: ("Equal", None), OTHER: ("Equal", None)}
    assert answer.report is not None
    row = next(row for row in answer.report["regions"] if row["id"] == regions_of("same")[0])
    cuts = row["comparison"]["cuts"]
    assert [(cut["older"], cut["newer"], cut["differingKeys"]) for cut in cuts] == [(OLDER, 30, 0), (30, NEWER, 0)]
    assert [cut["expected"]["rows"] for cut in cuts] == [len(rows_at(LOG, DATA, cut)) for cut in (30, NEWER)]
    assert all(cut["expected"] == cut["found"] for cut in cuts)


def test_only_what_is_equal_is_verified(answer: Answer) -> None:
    assert answer.code == 1
    assert answer.verified() == {"same", "late"}


def test_a_changed_live_row_is_found_where_the_log_wrote_it_last(answer: Answer) -> None:
    assert _found(answer, "live-row") == [("RowsDiffer", LAST_ROW.first)]


def test_a_row_that_only_the_database_has_is_found(answer: Answer) -> None:
    assert _found(answer, "older-lost") == [("RowsDiffer", None)]


def test_a_flipped_value_that_still_decodes_is_found_where_it_stands(answer: Answer) -> None:
    found = _found(answer, "flipped-value")
    assert {kind for kind, _ in found} == {"RowsDiffer"}
    assert LOST.first in {offset for _, offset in found}


def test_a_dropped_entry_is_an_error_at_the_gap_that_it_left(answer: Answer) -> None:
    assert ("Noops", LOST.first, None) in answer.found("dropped")
    found = _found(answer, "dropped")
    gap = next(offset for kind, offset in found if kind == "SequenceGap")
    assert gap == next(entry.first for entry in LOG.entries if entry.region == OTHER and entry.first > LOST.first)
    assert ("RowsDiffer", gap) in found


def test_a_lost_tail_is_found_at_the_end_of_the_log(answer: Answer) -> None:
    assert answer.found("lost-tail") == [
        ("LogEndsBeforeCut", LAST_ROW.first, region) for region in regions_of("lost-tail")
    ]


def test_an_entry_that_is_sent_again_late_changes_no_row(answer: Answer) -> None:
    assert {kind for kind, _ in _found(answer, "late")} == {"RepeatedSequence"}
    assert _comparisons(answer, "late") == {DATA: ("Equal", None), OTHER: ("Equal", None)}


def test_a_key_that_a_file_has_twice_is_found_and_nothing_is_compared(answer: Answer) -> None:
    assert _found(answer, "key-twice") == [("SnapshotKeyTwice", None)]
    outcome, reason = _comparisons(answer, "key-twice")[OTHER]
    assert outcome == "NotCompared"
    assert "twice: which counts is not known" in str(reason)


def test_a_table_in_append_mode_is_not_compared_and_says_so(answer: Answer) -> None:
    for outcome, reason in _comparisons(answer, "append-mode").values():
        assert outcome == "NotCompared"
        assert str(reason).startswith("its table is in append_mode")


def test_bulk_entries_are_not_compared_and_say_so(answer: Answer) -> None:
    compared = _comparisons(answer, "bulk")
    said = f"the entry {LOST.first} is a bulk entry, which this program does not read"
    assert compared == {DATA: ("Equal", None), OTHER: ("NotCompared", said)}
    assert answer.found("bulk") == []


def test_a_deletion_in_the_log_is_a_row_less(answer: Answer) -> None:
    assert _found(answer, "deleted") == [("RowsDiffer", NEWER + 1)]  # the snapshot still has the row


def test_what_cannot_be_compared_says_why(answer: Answer) -> None:
    assert _comparisons(answer, "one-cut")[OTHER] == ("NotCompared", "the snapshot has fewer than two cuts of it")
    purged = "the log starts at 32, after what follows the cut at entry 30"
    assert _comparisons(answer, "purged") == {DATA: ("NotCompared", purged), OTHER: ("NotCompared", purged)}
    absent = "the snapshot does not have it"
    assert _comparisons(answer, "no-snapshot") == {DATA: ("NotCompared", absent), OTHER: ("NotCompared", absent)}
    old = "its newest cut, at entry 30, lies before what it would read, from 45 on: take the snapshot anew"
    assert _comparisons(answer, "old-snapshot") == {DATA: ("Equal", None), OTHER: ("NotCompared", old)}

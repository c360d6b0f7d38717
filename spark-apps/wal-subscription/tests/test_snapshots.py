"""What of a snapshot concerns a topic, its rows as records, and what a micro-batch hands on of it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from decoders import ALL, REGION, SINK, decoder, known_in, log_of, selecting
from record_logs import CPU, MEM, Written

from sparkjob.errors import Refused
from sparkjob.wire.kafka_state import TopicState
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records.decoder import Decoder
from wal_subscription.records.encoding import Encoder, Placed
from wal_subscription.records.jobs import Copied, Job
from wal_subscription.records.planner import Planner
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.request import Output, Topic
from wal_subscription.records.snapshot import END, Base, File, read_snapshot
from wal_subscription.records.snapshot_rows import PLACED, encoded, placed, type_of
from walrecord.region import metadata_region, region_id

FOLDER = "file:///snapshot"
OTHER = region_id(MEM, 0)


def region(number: int, topic: str = "wal_0", **other: Any) -> dict[str, Any]:
    """Of a snapshot, with two cuts."""
    cuts = [{"entryId": 5, "files": ["a"]}, {"entryId": 9, "files": ["a", f"{number}.parquet"], "sequence": 40}]
    return {"id": number, "topic": topic, "columns": ["host", "ts"], "key": ["ts", "host"], "cuts": cuts, **other}


def snapshot_with(*regions: dict[str, Any]) -> bytes:
    """As it is written."""
    return json.dumps({"version": 1, "regions": regions}).encode()


def test_a_topic_begins_with_the_newest_cut_of_each_of_its_regions() -> None:
    content = snapshot_with(
        region(REGION),
        region(7, "wal_1"),
        region(OTHER, types={"ts": "TIMESTAMP_SECOND"}),
        region(metadata_region(REGION)),
        region(region_id(MEM, 1), cuts=[]),
    )
    found = read_snapshot(content, FOLDER, f"{FOLDER}/snapshot.json")
    base = found.of("wal_0")
    assert [(file.name, file.number, file.region, file.entry_id, file.sequence) for file in base.files] == [
        ("a", 0, REGION, 9, 40),
        (f"{REGION}.parquet", 1, REGION, 9, 40),
        ("a", 2, OTHER, 9, 40),
        (f"{OTHER}.parquet", 3, OTHER, 9, 40),
    ]
    assert base.cuts == {REGION: 9, OTHER: 9}
    assert base.files[2].types == {"ts": "TIMESTAMP_SECOND"}
    assert (base.is_over(3, 10), base.is_over(4, 9), base.is_over(4, 10)) == (False, False, True)
    assert found.of("wal_2") == Base(FOLDER, found.digest)
    assert found.of("wal_2").is_over(0, 0)
    assert read_snapshot(content + b" ", FOLDER, "uri").digest != found.digest


def test_types_are_of_columns_that_there_are() -> None:
    with pytest.raises(Refused, match=r"regions\[0\].types: load is none of the columns"):
        read_snapshot(snapshot_with(region(REGION, types={"load": "INT64"})), FOLDER, "uri")


FILE = File(
    "x/a.parquet", "wal_0", 3, REGION, 9, ("ts", "host", "load"), ("ts", "host"), {"ts": "TIMESTAMP_SECOND"}, 40
)


def batch(*rows: tuple[int, int | None, str, float]) -> pa.RecordBatch:
    """Of a file."""
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    names = ["file_path", "row_index", "ts", "host", "load"]
    return pa.RecordBatch.from_arrays([pa.array(["file:/s/x/a.parquet"] * len(rows)), *map(pa.array, columns)], names)


def test_a_row_of_a_file_is_a_record_that_says_so() -> None:
    encoder = Encoder("wal_0", SINK, ALL)
    read = encoded([FILE], {"wal_0": encoder}, {"wal_0": (3, 1)})
    (made,) = read([batch((0, 1, "a", 0.5), (1, 2, "é", float("nan")))])
    ((topic, row),) = placed([made])
    assert (topic, row.file, row.row) == ("wal_0", 3, 1)
    assert row.record is not None
    assert json.loads(row.record.key) == {"tableId": CPU, "key": {"host": "é", "ts": 2}}
    assert json.loads(row.record.value) == {
        "op": "put",
        "tableId": CPU,
        "table": "public.cpu",
        "region": REGION,
        "topic": "wal_0",
        "offset": 9,
        "row": 1,
        "sequence": 40,
        "values": {"ts": 2, "host": "é", "load": "NaN"},
        "types": {"ts": "TIMESTAMP_SECOND", "host": "STRING", "load": "FLOAT64"},
        "snapshot": True,
        "file": "x/a.parquet",
    }
    log = Written()
    log.entry(CPU)
    (of_log,) = decoder().rows(log_of(log.records)[0])
    assert row.record.partition == of_log.partition, "a reader has both in one order"
    again = encoder.row_of_file(FILE, 0, {"ts": 1, "host": "host-1", "load": 7}, {})
    assert again.key == of_log.key, "a compacted topic keeps the newer one"


def test_the_end_of_a_file_has_no_record_and_a_file_may_be_of_two_regions() -> None:
    ends = pa.RecordBatch.from_pylist([{"topic": "wal_0", "file": 3, "row": END}], PLACED)
    assert list(placed([ends])) == [("wal_0", Placed(3, END, None))]
    files = [FILE, replace(FILE, number=4, region=OTHER)]
    (made,) = encoded(files, {"wal_0": Encoder("wal_0", SINK, ALL)}, {"wal_0": (0, 0)})([batch((0, 1, "a", 0.5))])
    assert [(row.file, row.row) for _, row in placed([made])] == [(3, 0), (4, 0)]


TYPES = [
    (pa.string(), "STRING"),
    (pa.int64(), "INT64"),
    (pa.uint16(), "UINT16"),
    (pa.decimal128(20, 0), "UINT64"),
    (pa.float32(), "FLOAT32"),
    (pa.float64(), "FLOAT64"),
    (pa.bool_(), "BOOLEAN"),
    (pa.binary(), "BINARY"),
]


@pytest.mark.parametrize(("arrow", "name"), TYPES)
def test_types_have_the_names_that_the_log_gives_them(arrow: Any, name: str) -> None:
    assert type_of(arrow) == name


def test_values_are_as_json_has_those_of_the_log() -> None:
    file = replace(FILE, columns=("ts", "raw", "big"), key=("ts",), types={})
    made = pa.RecordBatch.from_arrays(
        [
            pa.array([FILE.name]),
            pa.array([0]),
            pa.array([1]),
            pa.array([b"\xff"]),
            pa.array([Decimal(2**64 - 1)], pa.decimal128(20, 0)),
        ],
        ["file_path", "row_index", "ts", "raw", "big"],
    )
    named = made.set_column(0, "file_path", pa.array([f"s3a://b/{FILE.name}"]))
    (out,) = encoded([file], {"wal_0": Encoder("wal_0", SINK, ALL)}, {"wal_0": (0, 0)})([named])
    ((_, row),) = placed([out])
    assert row.record is not None
    assert json.loads(row.record.value)["values"] == {"ts": 1, "raw": {"hex": "ff"}, "big": 2**64 - 1}


def test_entries_that_a_snapshot_has_give_no_rows_and_need_no_name() -> None:
    log = Written()
    for table in (MEM, CPU, MEM, CPU):
        log.entry(table)
    entry = log.begin(CPU, 3)
    log.write(entry)
    cut = len(log.records) - 2
    made = Decoder(
        Encoder("wal_0", SINK, selecting(CPU)), 0, drops_repeats=True, names_known_to=0, cuts={REGION: cut, OTHER: 2}
    )
    assert known_in(made, log_of(log.records)) == ([row for at, row in log.rows if at > cut], None)


TOPIC = Topic("wal_0", "source", 0, 0)
SOURCE, TARGETS = TopicState("source", 10, 50, 3), {"rows": TopicState("r", 0, 0)}


def jobs_of(planner: Planner) -> list[Job]:
    """Of the next plan."""
    return list(planner.plan({"wal_0": SOURCE}, TARGETS, 0.0).jobs)


def test_a_topic_is_given_its_snapshot_when_it_asks_and_its_files_until_they_are_through() -> None:
    made = Planner([TOPIC], [Output("rows", "r")])
    assert jobs_of(made) == [Job(TOPIC, 50, 10, 3)]
    assert not made.needs_snapshot
    made.note(Copied("wal_0", needs_snapshot=True), 0.0)
    assert made.needs_snapshot
    made.snapshot = read_snapshot(snapshot_with(region(REGION)), FOLDER, "uri")
    base = made.snapshot.of("wal_0")
    assert not made.needs_snapshot
    assert jobs_of(made) == [Job(TOPIC, 50, 10, 3, base)], "it says where it is"
    for row in (0, 7):
        made.note(Copied("wal_0", 10, 10, 10, snapshot=FilePlace(base.digest, 0, row)), 0.0)
        assert jobs_of(made) == [Job(TOPIC, 50, 10, 3, base, base.files, (0, row))]
    made.note(Copied("wal_0", 50, 50, 50, snapshot=FilePlace(base.digest, 1, 0)), 0.0)
    assert jobs_of(made) == [Job(TOPIC, 50, 10, 3, base, base.files[1:], (1, 0))], "though the log has nothing new"
    made.note(Copied("wal_0", 10, 10, 10, snapshot=FilePlace(base.digest, 2, 0)), 0.0)
    assert jobs_of(made) == [Job(TOPIC, 50, 10, 3, base, (), (2, 0))], "the log, with its cuts"
    made.note(Copied("wal_0", 10, 40, 40), 0.0)
    assert jobs_of(made) == [Job(TOPIC, 50, 10, 3)]


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(Decoder, "rows", "not is_in_snapshot and", ""),
        test_entries_that_a_snapshot_has_give_no_rows_and_need_no_name,
    ),
    (
        rewritten(Planner, "plan", "or bool(self._files_of(name, place))", ""),
        test_a_topic_is_given_its_snapshot_when_it_asks_and_its_files_until_they_are_through,
    ),
    (
        rewritten(Base, "is_over", "number >= len(self.files) and", ""),
        test_a_topic_begins_with_the_newest_cut_of_each_of_its_regions,
    ),
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []

"""The examples of `contract/` are what the sink of records reads and writes; bad requests are told their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from record_logs import CPU

from sparkjob.errors import Refused
from wal_subscription.records.encoding import Encoder
from wal_subscription.records.progress import parse_progress
from wal_subscription.records.request import By, Output, RecordsRequest, Topic, parse_records_request
from wal_subscription.records.selection import Selection
from wal_subscription.records.snapshot import File
from wal_subscription.request import Request
from wal_subscription.requests import parse_any

CONTRACT = Path(__file__).parents[1] / "contract"


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_bytes())


def changed(path: str, value: Any) -> bytes:
    """The example with one member that is another one."""
    request = example("records-request.json")
    *folders, name = path.split(".")
    inner = request
    for folder in folders:
        inner = inner[folder]
    inner[name] = value
    return json.dumps(request).encode()


def test_a_request_is_read() -> None:
    content = (CONTRACT / "records-request.json").read_bytes()
    request = parse_any(content)
    assert isinstance(request, RecordsRequest)
    assert (request.whom, request.run, request.milliseconds, request.drops_repeats) == ("db/changes", 3, 500, True)
    assert request.topics[0] == Topic("wal_0", "vPeOCWypqUOSepEvx0cbog", 12, 0, 1, 4800)
    assert request.sink.by is By.TOPIC
    assert request.sink.rows == Output("wal_changes", "6h5pFq2vQ0yFZ8mJ1rT3bw", 3, 1048588)
    assert request.sink.transactional_id("wal_0") == "seawall.db.changes.0d3f8c1e.wal_0"
    assert [request.selection.has(table) for table in (1024, 1025, 1026, 1027)] == [True, False, False, None]
    assert request.snapshot_uri == "file:///snapshot/2026-11-25"
    assert isinstance(parse_any((CONTRACT / "request.json").read_bytes()), Request)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("version", 2, "request has version 2"),
        ("source.clusterId", None, "request.source.clusterId is missing"),
        ("records.writer", "a b", "request.records.writer is 'a b': letters, digits"),
        ("records.by", "Row", "request.records.by is Row, and neither Topic nor Table"),
        ("records.rows.partitions", 0, "request.records.rows.partitions is 0"),
        ("records.progress.partitions", 1, "each topic needs a partition of the 1 of the progress for itself"),
        ("records.progress.topic", "wal_changes", "rows, progress and dead letters need a topic each"),
        ("tables.include", None, "request.tables.include is missing"),
        ("tables.known", [{"id": -1, "name": "a"}], r"request.tables.known\[0\].id is -1"),
        ("tables.known", [{"id": 1, "name": None}], r"request.tables.known\[0\].name is missing"),
        ("tables.notSelected", [-1], "request.tables.notSelected is not a list of numbers from 0 to 4294967295"),
        ("tables.notSelected", [1024], "request.tables has table 1024 in known and in notSelected"),
        ("records.progress.maxMessageBytes", 131071, "maxMessageBytes is 131071: a record of progress may have 131072"),
        ("snapshot", {"uri": ""}, "request.snapshot.uri is empty"),
        ("topics", [], "the request has no topics"),
        ("topics", example("records-request.json")["topics"] * 2, "the request names a topic twice"),
    ],
)
def test_a_bad_request_is_refused_with_its_place(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_records_request(changed(path, value))


@pytest.mark.parametrize("name", ["generation", "namesKnownTo"])
def test_a_topic_says_how_often_it_began_and_up_to_where_tables_are_known(name: str) -> None:
    topics = example("records-request.json")["topics"]
    del topics[1][name]
    with pytest.raises(Refused, match=rf"request.topics\[1\].{name} is missing"):
        parse_records_request(changed("topics", topics))


def test_ids_of_tables_that_are_not_selected_may_be_left_out() -> None:
    tables = example("records-request.json")["tables"]
    del tables["notSelected"]
    assert parse_records_request(changed("tables", tables)).selection.has(1025) is None


def test_two_topics_never_share_a_partition_of_the_progress() -> None:
    topics = example("records-request.json")["topics"]
    topics[1]["progressPartition"] = 0
    with pytest.raises(Refused, match="each topic needs a partition"):
        parse_records_request(changed("topics", topics))


def test_a_topic_does_not_get_what_is_read_from_it() -> None:
    request = example("records-request.json")
    request["target"] = request["source"]
    parse_records_request(json.dumps(request).encode())
    request["records"]["rows"]["topic"] = "wal_1"
    with pytest.raises(Refused, match="topic wal_1 would get what is read from it"):
        parse_records_request(json.dumps(request).encode())


def test_a_sink_that_this_program_does_not_have_is_refused() -> None:
    with pytest.raises(Refused, match=r"sink is Cloud, and neither Records nor Table; without it the log is mirrored"):
        parse_any(changed("sink", "Cloud"))


def test_progress_is_read_as_it_is_written_and_anything_else_is_none() -> None:
    progress = parse_progress(json.dumps(example("progress.json")).encode())
    assert progress is not None
    assert json.loads(progress.to_json()) == example("progress.json")
    assert parse_progress(progress.to_json().replace(b'{"digest"', b'{"Digest"')) is None
    for content in (None, b"", b"{", b"[]", b'{"version":2}', b'{"version":1}', b"\xff"):
        assert parse_progress(content) is None


def test_a_row_of_a_snapshot_is_as_its_example() -> None:
    found = example("row-of-snapshot.json")
    value, request = found["value"], parse_records_request((CONTRACT / "records-request.json").read_bytes())
    place = value["file"], value["topic"], 0, value["region"], value["offset"]
    file = File(*place, tuple(value["values"]), ("ts", "host"), {"ts": value["types"]["ts"]}, value["sequence"])
    encoder = Encoder(value["topic"], request.sink, request.selection)
    row = encoder.row_of_file(file, value["row"], value["values"], value["types"] | {"ts": "INT64"})
    assert [json.loads(part) for part in (row.key, row.value)] == [found["key"], value]


SELECTIONS: list[tuple[Selection, bool | None]] = [
    (Selection(("*",), (), {}), True),
    (Selection(("*",), (), {}, frozenset((CPU,))), True),
    (Selection(("*",), ("a.b",), {}), None),
    (Selection(("a.*",), (), {}), None),
    (Selection((), (), {CPU: "a.b"}), True),
    (Selection(("a.*",), (), {}, frozenset((CPU,))), False),
]


@pytest.mark.parametrize(("selection", "has"), SELECTIONS)
def test_a_table_is_selected_as_the_operator_found(selection: Selection, *, has: bool | None) -> None:
    assert selection.has(CPU) is has


def test_the_digest_of_a_selection_is_that_of_its_globs_and_not_of_names() -> None:
    one = Selection(("a", "b"), ("c",), {})
    assert one.digest == Selection(("b", "a"), ("c",), {CPU: "x"}, frozenset((1,))).digest
    assert len({one.digest, Selection(("a",), ("b", "c"), {}).digest, Selection(("a", "b"), (), {}).digest}) == 3

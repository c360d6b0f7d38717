"""Rows out of records: the same wherever it is cut, and what gives none is told with its place."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from decoders import REGION, SINK, decoder, known_in, log_of, logs, rows_in, selecting
from hypothesis import given, settings
from hypothesis import strategies as st
from record_logs import CPU, MEM, NAMES, NET, Expected, Record, Written

from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records.decoder import Decoder, Poison
from wal_subscription.records.encoding import value_of
from wal_subscription.records.request import By, Output, Sink
from wal_subscription.records.selection import Selection
from walrecord import Full, RecordKey, encode_entry, encode_key, split
from walrecord.pb.wal_pb2 import (
    BulkMutation,
    ColumnSchema,
    Decimal128,
    IntervalMonthDayNano,
    JsonArray,
    JsonObject,
    JsonValue,
    ListValue,
    Mutation,
    Row,
    Rows,
    StructValue,
    Value,
    WalEntry,
)
from walrecord.region import metadata_region, region_id


@given(logs(), st.data())
@settings(max_examples=80, deadline=None)
def test_a_log_gives_the_same_rows_wherever_it_is_cut_and_each_of_them_once(log: Written, data: st.DataObject) -> None:
    records, selection = log_of(log.records), selecting(CPU, MEM)
    cuts = sorted({0, len(records), *data.draw(st.sets(st.integers(0, len(records)), max_size=5))})
    found, read_from = list[Expected](), 0
    for start, end in pairwise(cuts):
        new = decoder(start, selection)
        found += rows_in(new, records[read_from:end])
        read_from = new.read_from(end)
        assert read_from <= end
    assert found == log.of(CPU, MEM)


def test_what_lies_on_both_sides_of_a_cut_is_whole_and_what_lies_between_comes_once() -> None:
    log = Written()
    entry = log.begin(CPU, 4)
    log.write(entry, 2)
    log.entry(MEM)
    log.write(entry)
    records, before = log_of(log.records), decoder()
    found = rows_in(before, records[:3])
    found += rows_in(decoder(3), records[before.read_from(3) :])
    assert found == log.of(CPU, MEM)


@given(logs(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_table_that_an_edit_selects_is_whole_from_there_on(log: Written, data: st.DataObject) -> None:
    records = log_of(log.records)
    cut = data.draw(st.integers(0, len(records)))
    before = decoder(0, selecting(CPU))
    found = rows_in(before, records[:cut])
    after = decoder(cut, selecting(CPU, NET))
    found += rows_in(after, records[before.read_from(cut) :])
    assert found == [row for offset, row in log.rows if row.table == CPU or (row.table == NET and offset >= cut)]


def test_the_metric_engine_s_own_notes_are_no_rows() -> None:
    log = Written()
    log.entry(CPU)
    (key, value), note = log.records[0], encode_key(RecordKey(region_id=metadata_region(REGION), type=Full()))
    assert key is not None
    assert rows_in(decoder(), log_of([(note, value), (key, value)])) == log.of(CPU)


def test_a_table_that_is_none_of_those_that_were_known_is_told_unless_all_are_selected() -> None:
    log = Written()
    for table in (MEM, NET, CPU, NET):
        log.entry(table)
    records = log_of(log.records)
    for selection in (selecting(CPU), Selection(("*",), ("public.mem",), {CPU: NAMES[CPU]})):
        assert known_in(decoder(selection=selection, known_to=3), records) == (log.of(CPU), (3, region_id(NET, 0)))
    others = selecting(CPU, others=[MEM, NET])
    assert known_in(decoder(selection=others, known_to=0), records) == (log.of(CPU), None)
    everything = Selection(("*",), (), {})
    assert known_in(decoder(selection=everything, known_to=0), records) == (log.of(CPU, MEM, NET), None)


def entry_record(entry: WalEntry, region: int = REGION) -> Record:
    """An entry in one record."""
    (record,) = split(region, encode_entry(entry), 1 << 20)
    return record.key, record.value


def mutation(**other: Any) -> Mutation:
    """With one column and one row."""
    schema = [ColumnSchema(column_name="host", datatype=ColumnSchema.STRING)]
    rows = Rows(schema=schema, rows=[Row(values=[Value(text="a")])])
    return Mutation(**{"op_type": Mutation.PUT, "sequence": 1, "rows": rows, **other})


def parts_of(number: int) -> list[Record]:
    """Of an entry."""
    log = Written()
    log.entry(CPU, number, in_parts=True)
    return log.records


TWO_VALUES = Rows(schema=[ColumnSchema(column_name="host")], rows=[Row(values=[Value(text="a"), Value(text="b")])])
POISON: dict[str, tuple[list[Record], int, int, int | None, str]] = {
    "no key": ([(None, b"v")], 0, 0, None, "a value but no key"),
    "bad key": ([(b"{", b"v")], 0, 0, None, "the key is not JSON"),
    "bad value": ([(encode_key(RecordKey(region_id=REGION, type=Full())), b"\xff")], 0, 0, REGION, "no.. a whole"),
    "bulk": ([entry_record(WalEntry(bulk_entries=[BulkMutation(sequence=1)]))], 0, 0, REGION, "is a bulk entry"),
    "operation": ([entry_record(WalEntry(mutations=[mutation(op_type=7)]))], 0, 0, REGION, "the unknown operation 7"),
    "width": ([entry_record(WalEntry(mutations=[mutation(rows=TWO_VALUES)]))], 0, 0, REGION, "a row has 2 values"),
    "a part is missing": (parts_of(5)[:2] + parts_of(5)[3:], 2, 0, REGION, "does not follow"),
    "the last but one is missing": (parts_of(5)[:-2] + parts_of(5)[-1:], -1, 0, REGION, "parts from offset 0 on"),
}


@pytest.mark.parametrize("case", POISON)
def test_a_record_that_gives_no_rows_is_told_with_its_place(case: str) -> None:
    records, at, begins, region, said = POISON[case]
    at %= len(records)
    found = decoder()
    rows_in(found, log_of(records)[:at])
    with pytest.raises(Poison, match=said.replace("no..", "not")) as told:
        rows_in(found, log_of(records)[at:])
    assert (told.value.offset, told.value.region, told.value.begins) == (at, region, begins)
    log = Written()
    log.entry(MEM)
    assert rows_in(found, [log_of(log.records)[0]._replace(offset=len(records))]) == log.of(MEM), "the next may follow"
    again = decoder(at)
    with pytest.raises(Poison):
        rows_in(again, log_of(records)[begins:])
    assert rows_in(decoder(at + 1), log_of(records)[begins : at + 1]) == [], "it was dealt with"


@pytest.mark.parametrize("case", [case for case in POISON if POISON[case][3] is not None])
def test_what_is_not_selected_is_not_told(case: str) -> None:
    assert rows_in(decoder(selection=selecting(MEM)), log_of(POISON[case][0])) == []


def test_a_row_that_is_larger_than_the_target_takes_is_told() -> None:
    log = Written()
    log.entry(CPU)
    small = Sink("w", By.TOPIC, Output("rows", "r", 1, 256), SINK.progress, None)
    with pytest.raises(Poison, match="has a row that is larger than topic rows takes"):
        rows_in(decoder(sink=small), log_of(log.records))


def test_a_row_says_what_it_is_and_where_it_stands() -> None:
    log = Written()
    log.entry(CPU, 2, delete=True)
    first, second = decoder(sink=Sink("w", By.TABLE, Output("rows", "r", 3), SINK.progress, None)).rows(
        log_of(log.records)[0]._replace(offset=41)
    )
    assert (first.partition, second.partition) == (CPU % 3, CPU % 3)
    assert json.loads(second.key) == {"tableId": CPU, "key": {"host": "host-2", "ts": 2}}
    assert json.loads(second.value) == {
        "op": "delete",
        "tableId": CPU,
        "table": "public.cpu",
        "region": REGION,
        "topic": "wal_0",
        "offset": 41,
        "row": 1,
        "sequence": 2,
        "values": {"host": "host-2", "ts": 2, "load": 14},
        "types": {"host": "STRING", "ts": "TIMESTAMP_MILLISECOND", "load": "INT64"},
    }


VALUES: list[tuple[Value, object]] = [
    (Value(), None),
    (Value(i64=-(2**63)), -(2**63)),
    (Value(u64=2**64 - 1), 2**64 - 1),
    (Value(boolean=False), False),
    (Value(text="é"), "é"),
    (Value(binary=b"\x00\xff"), {"hex": "00ff"}),
    (Value(f64=0.1), 0.1),
    (Value(f64=float("nan")), "NaN"),
    (Value(f32=float("-inf")), "-Infinity"),
    (Value(ts_ns=5), 5),
    (Value(decimal128=Decimal128(hi=-1, lo=-1)), {"unscaled": -1}),
    (Value(decimal128=Decimal128(hi=1, lo=2)), {"unscaled": 2**64 + 2}),
    (
        Value(interval_month_day_nano=IntervalMonthDayNano(months=1, days=2, nanoseconds=3)),
        {"months": 1, "days": 2, "nanoseconds": 3},
    ),
    (Value(array=ListValue(items=[Value(i8=1), Value()])), [1, None]),
    (Value(struct=StructValue(items=[Value(text="a")])), ["a"]),
    (
        Value(
            json=JsonValue(
                object=JsonObject(
                    members=[
                        JsonObject.Member(key="a", value=JsonValue(array=JsonArray(items=[JsonValue(u64=2)]))),
                        JsonObject.Member(key="b", value=JsonValue()),
                        JsonObject.Member(key="c", value=JsonValue(f64=float("inf"))),
                    ]
                )
            )
        ),
        {"a": [2], "b": None, "c": "Infinity"},
    ),
]


@pytest.mark.parametrize(("value", "as_json"), VALUES)
def test_every_kind_of_value_has_its_json(value: Value, as_json: object) -> None:
    assert value_of(value) == as_json
    assert json.loads(json.dumps(value_of(value), allow_nan=False)) == as_json


def test_every_kind_of_value_that_the_format_has_is_read() -> None:
    for name in (field.name for field in Value.DESCRIPTOR.oneofs_by_name["data"].fields):
        value = Value()
        kind = Value.DESCRIPTOR.fields_by_name[name]
        if kind.message_type is None:
            setattr(value, name, kind.default_value)
        else:
            getattr(value, name).SetInParent()
        value_of(value)


MUTANTS: tuple[Mutant, ...] = tuple(
    (mutant, test_what_lies_on_both_sides_of_a_cut_is_whole_and_what_lies_between_comes_once)
    for mutant in (
        rewritten(Decoder, "read_from", "begun.items() if", "() if"),
        rewritten(Decoder, "rows", "record.offset >= self._position", "True"),
    )
) + tuple(
    (mutant, test_a_table_that_is_none_of_those_that_were_known_is_told_unless_all_are_selected)
    for mutant in (
        rewritten(Decoder, "_is_selected", "offset >= self._names_known_to", "True"),
        rewritten(Decoder, "_is_selected", "offset >= self._names_known_to", "False"),
        rewritten(Selection, "has", "table in self.others", "False"),
        rewritten(Selection, "has", "self.is_everything or", ""),
    )
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []

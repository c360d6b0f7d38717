"""Decoders without a Kafka, and logs for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from record_logs import CPU, NAMES, Expected, Record, Written

from sparkjob.wire.records import Record as LogRecord
from wal_subscription.records.decoder import Decoder, UnknownTable
from wal_subscription.records.encoding import Encoder, Row
from wal_subscription.records.progress import GivenUp
from wal_subscription.records.request import By, Output, Sink
from wal_subscription.records.selection import Selection
from walrecord.region import region_id

ALL = Selection(("*",), (), NAMES)
SINK = Sink("w", By.TOPIC, Output("rows", "r", 3), Output("progress", "p"), None)
REGION = region_id(CPU, 0)


def selecting(*tables: int, others: Iterable[int] = ()) -> Selection:
    """Of these tables."""
    return Selection(("public.*",), (), {table: NAMES[table] for table in tables}, frozenset(others))


def decoder(
    position: int = 0,
    selection: Selection = ALL,
    sink: Sink = SINK,
    *,
    known_to: int = 1 << 40,
    given_up: Iterable[GivenUp] = (),
) -> Decoder[Row]:
    """Of a topic; all that is in a test's log is before its tables' names were read."""
    encoder = Encoder("wal_0", sink, selection)
    return Decoder(encoder, position, drops_repeats=True, names_known_to=known_to, given_up=given_up)


def log_of(records: Sequence[Record], time: int = 1_000) -> list[LogRecord]:
    """At their offsets."""
    return [LogRecord(offset, time, 1, key, value, None) for offset, (key, value) in enumerate(records)]


def rows_in(found: Decoder[Row], records: Sequence[LogRecord]) -> list[Expected]:
    """What it gives."""
    rows = [json.loads(row.value) for record in records for row in found.rows(record)]
    return [
        Expected(row["tableId"], row["sequence"], row["values"]["host"], row["values"]["load"], row["op"])
        for row in rows
    ]


def known_in(found: Decoder[Row], records: Sequence[LogRecord]) -> tuple[list[Expected], tuple[int, int] | None]:
    """The rows until a table is not known, and which record that is."""
    rows = list[Expected]()
    try:
        for record in records:
            rows += rows_in(found, [record])
    except UnknownTable as unknown:
        return rows, (unknown.offset, unknown.region)
    return rows, None


@st.composite
def logs(draw: st.DrawFn) -> Written:
    """Entries of three tables, large and small ones, whose parts interleave; some are never ended."""
    log, is_open = Written(), list[Any]()
    for _ in range(draw(st.integers(1, 25))):
        match draw(st.sampled_from(["whole", "begin", "go on", "nothing"])):
            case "whole":
                log.entry(draw(st.sampled_from(list(NAMES))), draw(st.integers(1, 3)))
            case "begin":
                # Of a region one entry is open at a time, as its database writes.
                table, number = draw(st.sampled_from(list(NAMES))), len(is_open) + 1
                entry = log.begin(table, draw(st.integers(1, 4)), number=number)
                is_open.append(entry)
                log.write(entry, 1)
            case "go on" if is_open:
                entry = draw(st.sampled_from(is_open))
                if entry.parts:
                    log.write(entry, draw(st.integers(1, len(entry.parts))))
            case _:
                log.records.append((None, None))
    return log

"""However a log is cut into stretches, the verdict is that on the whole of it: Spark cuts where it likes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wal_logs import DATA, OTHER, Record, clean_log, payload, records_of

from sparkjob.integrity.judge import judge_region
from sparkjob.integrity.scan import Stretch, start_of
from sparkjob.integrity.schemas import unsigned
from walrecord.region import metadata_region

STARTS = {DATA: 3, OTHER: 0}
Row = dict[str, Any]


def verdicts(records: Sequence[Record], cuts: Sequence[int], *, drops_repeats: bool = True) -> list[list[Row]]:
    """The verdicts on a log whose offsets begin at 0, read in stretches that begin at the cuts."""
    pieces: list[Row] = []
    borders = sorted({0, *(cut for cut in cuts if cut < len(records)), len(records)})
    for begin, end in pairwise(borders):
        stretch = Stretch("wal", STARTS)
        stretch.read((offset, *records[offset]) for offset in range(begin, end))
        pieces += stretch.end()
    judged = []
    for region in sorted(
        {piece.get("region") for piece in pieces}, key=lambda region: -1 if region is None else region
    ):
        own = [piece for piece in pieces if piece.get("region") == region]
        own.sort(key=lambda piece: (piece.get("offset", -1), piece["place"]))
        region_id = None if region is None else unsigned(region)
        reads_from = 0 if region_id is None else start_of(region_id, STARTS)
        judged.append(judge_region("wal", region_id, reads_from, own, drops_repeats=drops_repeats))
    return judged


@st.composite
def harmed_logs(draw: st.DrawFn) -> list[Record]:
    """A log from which records were taken, in which some come again or are swapped."""
    records = list(clean_log(20).records)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(records) - 2))
        match draw(st.sampled_from(("take", "repeat", "swap"))):
            case "take":
                del records[place]
            case "repeat":
                records.insert(draw(st.integers(place, len(records))), records[place])
            case _:
                records[place], records[place + 1] = records[place + 1], records[place]
    return records


@given(harmed_logs(), st.lists(st.integers(1, 60), max_size=6))
def test_cuts_change_no_verdict(records: list[Record], cuts: list[int]) -> None:
    assert verdicts(records, cuts) == verdicts(records, ())


def test_a_clean_log_has_no_findings_wherever_it_is_cut() -> None:
    records = clean_log().records
    found = [row for region in verdicts(records, range(0, 60, 2)) for row in region if row["kind"] == "finding"]
    assert found == []


def test_what_lies_before_the_start_of_a_region_is_neither_found_nor_counted() -> None:
    broken = (records_of(DATA, b"")[0][0], b"\xff\xff")
    records: list[Record] = [broken, broken, broken, *records_of(DATA, payload(9))]
    _, of_data = verdicts(records, ())
    assert [row["kind"] for row in of_data] == ["tally"]
    assert of_data[0]["entries"] == 1


@pytest.mark.parametrize(("before", "found"), [(1, []), (2, [("UndecodableEntry", 2)])])
def test_an_entry_that_ends_beyond_the_start_of_its_region_is_read_wherever_it_begins(
    before: int, found: list[tuple[str, int]]
) -> None:
    """The region reads from 3: with two noops before them the parts are 2 and 3."""
    parts = records_of(DATA, b"\x0a\x16" + b"\xff" * 22, in_parts=True)
    noops: list[Record] = [(None, None)] * before
    assert len(parts) == 2
    _, of_data = verdicts([*noops, *parts], ())
    assert [(row["finding"], row["offset"]) for row in of_data[:-1]] == found
    assert (of_data[-1]["errors"], of_data[-1]["entries"]) == (len(found), 0)


def test_parts_that_were_cut_off_by_the_beginning_are_no_finding() -> None:
    parts = records_of(OTHER, payload(5, *clean_log(1).entries[0].rows), in_parts=True)
    _, of_other = verdicts([*parts[2:], *records_of(OTHER, payload(7))], ())
    assert [row["kind"] for row in of_other] == ["tally"]


def test_a_metadata_region_reads_with_its_data_region() -> None:
    hidden = metadata_region(DATA)
    records = [(None, None)] * 2 + records_of(hidden, payload(1)) * 3
    rows = next(region for region in verdicts(records, ()) if region[-1].get("region") == hidden)
    assert (rows[-1]["kind"], rows[-1]["entries"]) == ("tally", 2)  # offset 2 is before the start


def test_mutations_of_one_entry_keep_their_order() -> None:
    rows = clean_log(1).entries[0].rows
    joined = payload(1, *rows) + payload(3, *rows) + payload(9, *rows)  # protobuf: mutations of one entry
    _, of_other = verdicts(records_of(OTHER, joined), ())
    assert [(row["kind"], row.get("finding")) for row in of_other] == [("finding", "SequenceGap"), ("tally", None)]

"""Rows of the log: which count between two cuts, and in which order."""

from __future__ import annotations

from wal_logs import TableRow, payload

from replay_verification.rows import Bounds, LogRegion, entry_rows

ABOUT = LogRegion(("host", "ts", "load"), ("host", "ts"), (Bounds(9, 20, 100), Bounds(20, 30)))
ROWS = [TableRow(f"h-{number}", 1, number) for number in range(3)]


def counted(entry_id: int, sequence: int) -> list[tuple[int, int, int]]:
    """Cut, position and place."""
    rows = entry_rows("wal", 1, ABOUT, entry_id, payload(sequence, *ROWS))
    return [(row["cut"], row["position"], row["place"]) for row in rows]


def test_rows_are_ordered_by_their_sequence_and_not_by_their_place_in_the_log() -> None:
    assert counted(15, 200) == [(20, 200, 15), (20, 201, 15), (20, 202, 15)]
    assert counted(25, 7) == [(30, 7, 25), (30, 8, 25), (30, 9, 25)]


def test_what_the_older_cut_has_already_does_not_count_again() -> None:
    assert counted(15, 99) == [(20, 101, 15)]
    assert counted(15, 50) == []


def test_what_lies_outside_of_the_cuts_does_not_count() -> None:
    assert counted(9, 200) == counted(31, 200) == []


def test_a_sequence_beyond_what_spark_has_is_the_highest() -> None:
    assert counted(15, 2**64 - 1)[0] == (20, 2**63 - 1, 15)

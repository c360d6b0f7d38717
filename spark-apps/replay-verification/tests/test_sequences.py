"""Sequence numbers: what is legal, what is a hint, what is an error."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkjob.integrity.findings import Kind
from sparkjob.integrity.sequences import MOST_GAPS, Run, Seen, Sequences


def judge(*runs: tuple[int, int | None]) -> list[tuple[Kind, int]]:
    """Kinds and offsets of what is found; the first run is at offset 0, the next at 10."""
    sequences, seen = Sequences(), list[Seen]()
    for place, (first, after) in enumerate(runs):
        seen += sequences.add(Run(first, after, place * 10, place * 10 + 5))
    seen += sequences.end()
    return [(found.kind, found.offset) for found in seen]


def test_what_follows_without_a_gap_is_as_it_should_be() -> None:
    assert judge((7, 9), (9, 10), (10, 20)) == []


def test_a_gap_is_told_at_the_offset_after_it() -> None:
    assert judge((1, 5), (6, 7), (7, 8)) == [(Kind.SEQUENCE_GAP, 10)]


def test_a_batch_that_was_sent_again_is_legal() -> None:
    assert judge((1, 4), (2, 4), (4, 6)) == [(Kind.REPEATED_SEQUENCE, 10)]


def test_a_repeat_that_goes_on_beyond_what_was_there_leaves_no_gap() -> None:
    assert judge((1, 4), (3, 6), (6, 7)) == [(Kind.REPEATED_SEQUENCE, 10)]


def test_what_comes_too_late_is_an_error_where_it_should_have_been() -> None:
    assert judge((1, 4), (5, 6), (4, 5), (6, 7)) == [(Kind.SEQUENCE_ORDER, 10)]


def test_a_gap_that_is_filled_in_part_leaves_its_ends() -> None:
    found = judge((1, 2), (10, 11), (4, 6))
    assert found == [(Kind.SEQUENCE_ORDER, 10), (Kind.SEQUENCE_GAP, 10), (Kind.SEQUENCE_GAP, 10)]


def test_after_an_entry_of_unknown_length_numbers_may_be_higher_and_not_lower() -> None:
    assert judge((1, 4), (4, None), (30, 31), (31, 32)) == []
    assert judge((1, 4), (9, None), (30, 31)) == [(Kind.SEQUENCE_GAP, 10)]
    assert judge((1, 4), (9, None), (9, 10), (30, 31)) == [
        (Kind.REPEATED_SEQUENCE, 20),
        (Kind.SEQUENCE_GAP, 10),
    ]


def test_an_entry_of_unknown_length_that_comes_again_is_a_repeat() -> None:
    assert judge((1, 4), (4, None), (4, None), (9, 10)) == [(Kind.REPEATED_SEQUENCE, 20)]


def test_gaps_without_end_take_no_memory_without_end() -> None:
    found = judge(*((2 * number, 2 * number + 1) for number in range(MOST_GAPS + 50)))
    assert found == [(Kind.SEQUENCE_GAP, 10 * number) for number in range(1, MOST_GAPS + 50)]


@given(st.permutations(range(1, 8)))
def test_a_log_in_another_order_never_passes(order: list[int]) -> None:
    found = judge((0, 1), *((number, number + 1) for number in order))
    assert bool(found) == (order != sorted(order))
    assert all(kind is Kind.SEQUENCE_ORDER for kind, _ in found)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=12))
def test_numbers_that_were_never_there_and_only_those_end_as_gaps(runs: list[tuple[int, int]]) -> None:
    sequences = Sequences()
    seen = [
        found
        for place, (first, rows) in enumerate(runs)
        for found in sequences.add(Run(first, first + rows, place, place))
    ]
    there = {number for first, rows in runs for number in range(first, first + rows)}
    begin = runs[0][0]
    missing = {number for number in range(begin, max(there)) if number not in there}
    gaps = list(sequences.end())
    assert bool(gaps) == bool(missing)
    assert all(found.kind is not Kind.SEQUENCE_GAP for found in seen)

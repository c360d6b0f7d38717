"""Columns in which some rows are unknown: no number stands for "none"."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.columns import (
    Ids,
    Words,
    choose,
    distinct,
    first_by,
    first_rows,
    found_at,
    greatest,
    least,
    least_of_all,
    rows_of,
)

ROWS = st.lists(st.tuples(st.none() | st.integers(0, 2**63 - 1), st.none() | st.integers(0, 2**63 - 1)), max_size=8)


def known(*values: int | None) -> list[int]:
    return [value for value in values if value is not None]


@given(ROWS)
def test_pairs_are_compared_and_combined_as_optional_numbers(rows: list[tuple[int | None, int | None]]) -> None:
    left, right = Ids.of(row[0] for row in rows), Ids.of(row[1] for row in rows)
    assert greatest(left, right).listed() == [max(known(*row), default=None) for row in rows]
    assert least(left, right).listed() == [min(known(*row), default=None) for row in rows]
    assert least_of_all(left, right).listed() == [min(known(*row)) if len(known(*row)) == 2 else None for row in rows]
    both = [(a, b) if a is not None and b is not None else None for a, b in rows]
    assert left.above(right).tolist() == [pair is not None and pair[0] > pair[1] for pair in both]
    assert left.equals(right).tolist() == [pair is not None and pair[0] == pair[1] for pair in both]
    mask = np.array([a is None for a, _ in rows], np.bool_)
    assert choose(mask, right, left).listed() == [b if a is None else a for a, b in rows]


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9)), max_size=12))
def test_groups_are_reduced_as_optional_numbers(rows: list[tuple[int, int | None]]) -> None:
    groups, column = np.array([group for group, _ in rows], np.int64), Ids.of(value for _, value in rows)
    members = [[value for group, value in rows if group == number] for number in range(4)]
    assert column.least_by(groups, 4).listed() == [min(known(*values), default=None) for values in members]
    assert column.greatest_by(groups, 4).listed() == [max(known(*values), default=None) for values in members]
    all_known = [values if values and None not in values else None for values in members]
    expected = [None if values is None else min(known(*values)) for values in all_known]
    assert column.least_of_all_by(groups, 4).listed() == expected
    firsts = [next((n for n, (g, v) in enumerate(rows) if g == number and v is not None), None) for number in range(4)]
    assert first_by(column.known, groups, 4).listed() == firsts


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=8), st.lists(st.integers(0, 2**64 - 1), max_size=8))
def test_region_ids_are_u64_and_are_found(there: list[int], others: list[int]) -> None:
    keys = np.array(sorted(there), np.uint64)
    wanted = there + others
    rows = rows_of(keys, np.array(wanted, np.uint64))
    assert [None if row is None else int(keys[row]) for row in rows.listed()] == [
        one if one in there else None for one in wanted
    ]


@given(st.lists(st.integers(0, 5), max_size=8) | st.sets(st.integers(0, 2**64 - 1), max_size=8).map(sorted))
def test_values_are_found_once_whether_they_come_in_their_order_or_not(values: list[int]) -> None:
    column = np.array(values, np.uint64)
    found, first, place = first_rows(column)
    assert found.tolist() == distinct(column).tolist() == sorted(set(values))
    assert first.tolist() == [values.index(value) for value in sorted(set(values))]
    assert found[place].tolist() == values


def test_what_no_offset_can_be_is_unknown() -> None:
    assert Ids.of([-1, None]).listed() == [None, None]
    values = [-(2**70), -1, 0, 2**63 - 1, 2**63, 2**64 - 1, None]
    assert Ids.of(values).listed() == [None, None, 0, 2**63 - 1, None, None, None]
    assert Ids.of([-1, 0]).listed() == [None, 0]  # where all fit


def test_a_word_beyond_i64_is_no_offset() -> None:
    words = Words.of([0, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, None])
    assert [words.at(row) for row in range(7)] == [0, 2**63 - 1, 2**63, 2**64 - 1, None, None, None]
    assert words.ids().listed() == [0, 2**63 - 1, None, None, None, None, None]


@given(st.sets(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_what_is_found_is_where_it_was(there: set[int], asked: list[int]) -> None:
    keys = np.array(sorted(there), np.uint64)
    at = rows_of(keys, np.array(asked, np.uint64))
    expected = [sorted(there).index(each) if each in there else None for each in asked]
    assert at.listed() == expected
    column = Ids.of([None if key % 3 == 0 else key for key in sorted(there)])
    assert found_at(column, at).listed() == [each if each in there and each % 3 else None for each in asked]

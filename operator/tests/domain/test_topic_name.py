"""The order of topics for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.kafka import by_number

NAMES = st.text(alphabet="ab_.-0179", min_size=1, max_size=12)


@pytest.mark.parametrize(
    "ordered",
    [
        ["wal_2", "wal_10", "wal_100"],
        ["a_9", "a_10", "b_1"],
        ["wal", "wal_", "wal_0", "wal_a"],
        ["01", "1", "2"],
        ["7_1", "10_0", "wal"],
        ["wal_2.9x", "wal_2.10", "wal_10"],
    ],
)
def test_names_are_in_the_order_of_their_numbers(ordered: list[str]) -> None:
    assert sorted(set(ordered), key=by_number) == ordered


@given(st.lists(NAMES, unique=True).flatmap(lambda names: st.tuples(st.just(names), st.permutations(names))))
def test_any_names_have_one_order_whatever_order_they_come_in(names: tuple[list[str], list[str]]) -> None:
    one, other = names
    assert sorted(one, key=by_number) == sorted(other, key=by_number)

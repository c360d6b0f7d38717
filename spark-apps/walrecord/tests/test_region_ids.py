"""Region ids, with the vectors of the metric engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wal_entries import U64

from walrecord import region

U32 = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("table", "number", "expected"),
    [(1024, 1, 4398046511105), (1024, 1 << 24 | 1, 4398063288321), (0, 0, 0), (2**32 - 1, 2**32 - 1, 2**64 - 1)],
)
def test_vectors(table: int, number: int, expected: int) -> None:
    assert region.region_id(table, number) == expected
    assert (region.table_id(expected), region.region_number(expected)) == (table, number)


def test_the_metadata_region_of_a_data_region() -> None:
    assert region.metadata_region(4398046511105) == 4398063288321
    assert region.data_region(4398063288321) == 4398046511105
    assert region.region_group(4398063288321) == region.METADATA_GROUP
    assert region.region_sequence(4398063288321) == 1


@given(U32, U32)
def test_round_trip(table: int, number: int) -> None:
    made = region.region_id(table, number)
    assert (region.table_id(made), region.region_number(made)) == (table, number)


@given(U64)
def test_the_parts_make_the_whole(made: int) -> None:
    group, sequence = region.region_group(made), region.region_sequence(made)
    assert region.region_id(region.table_id(made), group << 24 | sequence) == made
    metadata = region.metadata_region(made)
    assert region.data_region(metadata) == region.data_region(made)
    assert region.table_id(metadata) == region.table_id(made)


@pytest.mark.parametrize("bad", [-1, 2**64])
def test_what_is_no_region_id_is_refused(bad: int) -> None:
    for part in (region.table_id, region.region_number, region.region_group, region.region_sequence):
        with pytest.raises(ValueError, match="64 unsigned bits"):
            part(bad)


@pytest.mark.parametrize(("table", "number"), [(-1, 0), (2**32, 0), (0, -1), (0, 2**32)])
def test_what_does_not_fit_is_refused(table: int, number: int) -> None:
    with pytest.raises(ValueError, match="32 unsigned bits"):
        region.region_id(table, number)

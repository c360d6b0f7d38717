"""How ranges of offsets are split over Spark's tasks: each offset is read once, in the order of the log."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replay_verification.source import split
from sparkjob.wire.reader import Range

SIZES = st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**6)), min_size=1, max_size=30)


def ranges_of(sizes: list[tuple[int, int]]) -> list[Range]:
    return [Range(f"wal_{number}", start, start + size) for number, (start, size) in enumerate(sizes)]


@given(SIZES, st.integers(1, 12))
def test_each_offset_is_in_one_partition_in_the_order_of_the_log(sizes: list[tuple[int, int]], most: int) -> None:
    ranges = ranges_of(sizes)
    partitions = split(ranges, most, 1_000)
    pieces = [piece for partition in partitions for piece in partition]
    joined: list[Range] = []
    for piece in pieces:
        assert piece.start < piece.end
        if joined and joined[-1].topic == piece.topic and joined[-1].end == piece.start:
            joined[-1] = joined[-1]._replace(end=piece.end)
        else:
            joined.append(piece)
    assert joined == ranges


@given(SIZES, st.integers(1, 12))
def test_no_partition_is_larger_than_its_share_and_few_offsets_are_in_one(
    sizes: list[tuple[int, int]], most: int
) -> None:
    partitions = [sum(piece.end - piece.start for piece in each) for each in split(ranges_of(sizes), most, 1_000)]
    assert len(partitions) <= most or partitions[0] == 1_000_000
    assert all(one == other for one, other in pairwise(partitions[:-1]))
    assert partitions[-1] <= partitions[0]
    assert len(partitions) == 1 or partitions[0] >= 1_000


def test_many_small_topics_share_a_task() -> None:
    assert [len(each) for each in split(ranges_of([(5, 10)] * 250), 6, 1_000)] == [100, 100, 50]

"""What is decided without Kafka and without a store."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from sparkjob.wire.reader import Range
from wal_backup.check import first_uncovered
from wal_backup.gaps import merge, width
from wal_backup.manifest import TopicBackup
from wal_backup.parquet import Section
from wal_backup.plan import LEAST_OFFSETS, MOST_OFFSETS, plan_tasks

RANGES = some.lists(some.tuples(some.integers(0, 10**7), some.integers(0, 3 * 10**6)), max_size=20)


@given(RANGES, some.integers(1, 64))
def test_tasks_have_every_offset_once_in_order_and_none_is_large(ranges: list[tuple[int, int]], cores: int) -> None:
    wanted = [Range(f"t_{number}", start, start + count) for number, (start, count) in enumerate(ranges)]
    tasks = plan_tasks(wanted, cores)
    for topic, start, end in wanted:
        parts = [each for task in tasks for each in task if each.topic == topic]
        ends = [start, *(each.end for each in parts)]
        assert [each.start for each in parts] == ends[:-1]
        assert ends[-1] == end
    sizes = [sum(each.end - each.start for each in task) for task in tasks]
    assert all(0 < size <= MOST_OFFSETS for size in sizes)
    assert all(size >= LEAST_OFFSETS for size in sizes[:-1])


@given(some.lists(some.tuples(some.integers(0, 50), some.integers(1, 9)), max_size=9))
def test_merged_gaps_are_the_same_offsets(gaps: list[tuple[int, int]]) -> None:
    pairs = [(first, first + count) for first, count in gaps]
    offsets = {offset for first, end in pairs for offset in range(first, end)}
    merged = merge(pairs)
    assert {offset for first, end in merged for offset in range(first, end)} == offsets
    assert width(merged) == len(offsets)
    assert all(one[1] < other[0] for one, other in pairwise(merged))


def topic(sections: list[tuple[int, int, int]], gaps: list[tuple[int, int]]) -> TopicBackup:
    """Offsets [0, 20)."""
    found = tuple(
        Section("o", number, first, last, count, 0, 0, 0, "d") for number, (first, last, count) in enumerate(sections)
    )
    return TopicBackup("t", "id", 0, 0, 20, {}, (), (), tuple(gaps), found)


def test_offsets_that_nobody_has_are_found() -> None:
    assert first_uncovered(topic([(0, 19, 20)], [])) is None
    assert first_uncovered(topic([(0, 9, 10), (10, 19, 10)], [])) is None
    assert first_uncovered(topic([(2, 9, 7), (10, 17, 8)], [(0, 2), (5, 6), (18, 20)])) is None
    assert first_uncovered(topic([], [(0, 20)])) is None
    assert first_uncovered(topic([], [])) == 0
    assert first_uncovered(topic([(0, 9, 10)], [])) == 10
    assert first_uncovered(topic([(0, 9, 10), (11, 19, 9)], [])) == 10
    assert first_uncovered(topic([(0, 9, 9), (10, 19, 10)], [])) == 0
    assert first_uncovered(topic([(0, 9, 10), (9, 19, 11)], [])) == 9

"""What records take, of a log from which Kafka frees segments late: what is left never looks larger than it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.ledger import record_sizes
from seawall.domain.ledger.record_sizes import RecordSize, measured
from seawall.domain.ledger.tables import TopicLog
from seawall.domain.times import TOPICS_FREED_AFTER_MS
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

SEGMENT = 1_000
"""Bytes; the records are smaller."""
MINUTE = 60_000


@dataclass
class Log:
    """A log whose closed segments are freed when somebody says so, or when Kafka must have done it.

    Attributes:
        sizes: of all records that there ever were.
        first: the first record on disk, where a segment begins.
    """

    sizes: list[int] = field(default_factory=list)
    start: int = 0
    first: int = 0
    now: int = 0
    starts_since: int = 0
    known: RecordSize | None = None

    @property
    def live(self) -> int:
        """Bytes of the records that are left."""
        return sum(self.sizes[self.start :])

    def append(self, count: int, size: int) -> None:
        self.sizes += [size] * count

    def delete(self, share: float) -> None:
        """Up to this part of what is left."""
        to = self.start + int((len(self.sizes) - self.start) * share)
        if to > self.start:
            self.start, self.starts_since = to, self.now

    def free(self) -> None:
        """The closed segments of which no record is left."""
        size = 0
        for offset in range(self.first, min(self.start + 1, len(self.sizes))):
            if size + self.sizes[offset] > SEGMENT:
                self.first, size = offset, 0
            size += self.sizes[offset]

    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE
        if self.now - self.starts_since >= 7 * MINUTE:
            self.free()

    def restart(self) -> None:
        """The operator knows nothing any more."""
        self.known = None

    def observe(self) -> float | None:
        log = TopicLog("id", 0, self.start, len(self.sizes), size_bytes=sum(self.sizes[self.first :]))
        self.known = measured(self.known, log, SEGMENT, self.now)
        return None if self.known is None else self.known.mean


Deed = tuple[str, int]
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40)),
        st.tuples(st.just("delete"), st.integers(1, 100)),
        st.tuples(st.just("wait"), st.integers(1, 15)),
        st.tuples(st.sampled_from(["free", "restart"]), st.just(0)),
    ),
    max_size=25,
)


def lived(size: int, deeds: Sequence[Deed]) -> Log:
    """Records of one size, and an observation after each deed, which never finds more than there is."""
    log = Log()
    for deed, number in deeds:
        match deed:
            case "append":
                log.append(number, size)
            case "delete":
                log.delete(number / 100)
            case "wait":
                log.wait(number)
            case "free":
                log.free()
            case _:
                log.restart()
        mean = log.observe()
        assert mean is None or mean * (len(log.sizes) - log.start) <= log.live + 1e-6, (deed, mean)
    return log


@given(st.integers(1, 300), DEEDS)
def test_what_is_left_never_looks_larger_than_it_is(size: int, deeds: Sequence[Deed]) -> None:
    lived(size, deeds)


def test_a_purge_changes_nothing_of_what_is_known_of_a_record() -> None:
    log = Log()
    log.append(100, 50)
    assert log.observe() == 50
    log.delete(0.99)
    assert log.observe() == 50, "all of it is on disk still"
    log.wait(20)
    assert log.observe() == 50, "a part of a segment is"


def test_records_that_grow_or_shrink_are_noticed() -> None:
    log = Log()
    log.append(10, 10)
    log.observe()
    log.delete(0.9)
    log.observe()
    log.append(1_000, 100)
    log.wait(11)
    log.observe()
    log.wait(11)
    assert log.observe() == pytest.approx(99, abs=1)
    log.append(9_000, 10)
    assert log.observe() == pytest.approx(19, abs=1)


def test_who_begins_knows_nothing_until_kafka_has_freed_what_was_deleted_and_then_the_least() -> None:
    log = Log()
    log.append(100, 50)
    log.delete(0.5)
    assert log.observe() is None
    log.wait(9)
    assert log.observe() is None
    log.wait(1)
    assert log.observe() == (log.live + 500 - SEGMENT) / 50, "half a segment of deleted records is on disk"


def test_another_log_of_the_name_is_another_one() -> None:
    before, now = RecordSize("old", 5, 0, 2.0), TOPICS_FREED_AFTER_MS
    found = measured(before, TopicLog("new", 0, 5, 10, size_bytes=100), SEGMENT, now)
    assert found == RecordSize("new", 5, now, None)


@pytest.mark.parametrize(
    "log", [TopicLog(None, None, None, None), TopicLog("id", 0, 5, 5, size_bytes=70), TopicLog("id", 0, 5, 9)]
)
def test_what_kafka_does_not_tell_leaves_what_is_known(log: TopicLog) -> None:
    before = RecordSize("id", 5, 0, 12.0)
    assert measured(before, log, SEGMENT, TOPICS_FREED_AFTER_MS) == before


def deletes_and_waits() -> None:
    """A purge, and an observation right after it."""
    lived(50, [("append", 40), ("append", 40), ("delete", 95), ("wait", 1), ("wait", 15)])


def begins_late() -> None:
    """A process that begins after a purge."""
    lived(50, [("append", 40), ("delete", 90), ("restart", 0), ("wait", 1), ("wait", 15)])


HERE = sys.modules[__name__]


def life(*deeds: Deed) -> Callable[[], None]:
    """The life of a log with records of 50 bytes."""

    def tell() -> None:
        lived(50, deeds)

    return tell


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(record_sizes, "_mean", "before if least is None else max(before, least)", "size"), deletes_and_waits),
    (rewritten(record_sizes, "_mean", "return least", "return size / entries"), begins_late),
    (
        rewritten(record_sizes, "_deleted_at_most", "if stood >= TOPICS_FREED_AFTER_MS else None", ""),
        life(("append", 40), ("append", 40), ("delete", 90), ("restart", 0)),
    ),
    (rewritten(record_sizes, "_deleted_at_most", "return segment_bytes", "return 0"), begins_late),
    (
        rewritten(record_sizes, "measured", "before.topic_id == log.topic_id", "True", HERE),
        test_another_log_of_the_name_is_another_one,
    ),
    (
        rewritten(record_sizes, "measured", "same.log_start == log.log_start", "True", HERE),
        life(
            ("append", 40),
            ("wait", 15),
            ("append", 40),
            ("restart", 0),
            ("delete", 50),
            ("wait", 11),
            ("append", 40),
            ("delete", 90),
        ),
    ),
    (
        rewritten(record_sizes, "_mean", "before if least is None else max(before, least)", "before"),
        test_records_that_grow_or_shrink_are_noticed,
    ),
)


def test_each_rule_is_needed() -> None:
    assert find_survivors(MUTANTS) == []

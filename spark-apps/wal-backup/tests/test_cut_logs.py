"""A log that is cut off while it is backed up, and longer than before when it is asked again."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sparkjob.errors import Interrupted
from sparkjob.wire.epochs import Piece
from sparkjob.wire.kafka_state import TopicState
from sparkjob.wire.reader import Range, RangeGone
from sparkjob.wire.records import Record
from tests.support.log_readers import reader_of
from wal_backup import task
from wal_backup.backup import _require_last_record, pieces_of
from wal_backup.manifest import LastRecord
from wal_backup.request import TopicRange
from wal_backup.store import Folder
from wal_backup.task import RangeRead, TaskResult, write_objects
from wal_backup.trouble import find_cut, find_trouble

WANTED = TopicRange("t", "id", 0, 0, 100, {}, ())
FIRST, LAST = Range("t", 0, 50), Range("t", 50, 100)
OLD, NEW = 3, 4
UNCUT, CUT = {2: 0, OLD: 120}, {2: 0, OLD: 90, NEW: 120}
"""Where epochs end."""


def reader_by(log: list[int]) -> type:
    """The reader of a log that has the epoch of each of its records."""
    return reader_of(lambda _, offset: Record(offset, 0, 1, b"k", b"under %d" % log[offset], None), log.__getitem__)


def backed_up(*order: Range, is_cut: bool = True) -> dict[str, list[Piece]]:
    """What two tasks have read; between them the log is cut to 90, and grows to 120 under another leader."""
    log, results = [OLD] * 100, list[TaskResult]()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "Reader", reader_by(log))
        for number, wanted in enumerate(order):
            results.append(write_objects([wanted], {}, Folder(folder), "chain", f"{number}.parquet"))
            if is_cut:
                log[90:] = [NEW] * 30
    return pieces_of(results)


def test_a_log_that_is_cut_off_between_two_tasks_is_told_though_it_is_longer_then() -> None:
    assert find_trouble([WANTED], {"t": TopicState("id", 0, 120)}) is None, "its id and its ends are as they may be"
    told = find_cut(backed_up(LAST, FIRST), {"t": CUT})
    assert told == "topic t lost its records from offset 90 on while it was read, whatever it has by now"


def test_a_log_that_was_read_as_it_is_now_is_one_log() -> None:
    """What was lost had not been read; or nothing was lost when another leader came."""
    assert find_cut(backed_up(FIRST, LAST), {"t": CUT}) is None
    assert find_cut(backed_up(LAST, FIRST, is_cut=False), {"t": UNCUT}) is None
    assert find_cut(backed_up(LAST, FIRST, is_cut=False), {"t": {**CUT, OLD: 100}}) is None


def test_a_topic_of_which_nothing_is_known_is_told() -> None:
    assert find_cut(backed_up(FIRST, LAST), {}) is not None


def test_what_was_read_is_told_by_epochs() -> None:
    """A gap before an epoch is of any: a marker, or a record that was aborted."""
    last = LastRecord(97, "digest")
    read = RangeRead("t", 50, ((60, 62), (80, 85), (98, 100)), ((3, 50), (4, 85), (5, 90)), last)
    none = RangeRead("t", 100, ((100, 120),), (), None)
    pieces = pieces_of([TaskResult((read, none), (), ())])
    assert pieces == {"t": [Piece(3, 50, 80), Piece(4, 85, 90), Piece(5, 90, 98)]}


class Gone:
    """A log that has moved on from what is read, and what it is by then."""

    def __init__(self, state: TopicState | None) -> None:
        self._state = state

    def read(self, wanted: Range) -> None:
        raise RangeGone(f"topic {wanted.topic} does not have offset {wanted.start} any more")

    def topics(self, names: list[str]) -> dict[str, TopicState]:
        return {} if self._state is None else dict.fromkeys(names, self._state)


def last_record_is_asked_for(state: TopicState | None) -> None:
    gone: Any = Gone(state)
    _require_last_record(gone, gone, WANTED, LastRecord(97, "digest"))


def test_the_last_record_of_the_parent_may_be_purged() -> None:
    last_record_is_asked_for(TopicState("id", 98, 120))


@pytest.mark.parametrize("state", [TopicState("id", 97, 120), TopicState("id", 0, 90), None])
def test_the_last_record_of_the_parent_is_not_taken_for_purged_where_the_log_was_cut(state: TopicState | None) -> None:
    with pytest.raises(Interrupted, match="did not give its record at offset 97"):
        last_record_is_asked_for(state)

"""What the sink of tables plans: a topic is read when its commit is due, and at once where there is more."""

from __future__ import annotations

import json

from sparkjob.wire.kafka_state import TopicState
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.snapshot import Base, File, read_snapshot
from wal_subscription.stops import Reason
from wal_subscription.table.jobs import Copied, Job
from wal_subscription.table.planner import Planner
from wal_subscription.table.request import Topic

TOPIC, SECONDS = Topic("wal_0", "source", 0, 0), 30.0
SOURCE = TopicState("source", 10, 50, 3)
CUTS = [{"entryId": 20, "files": ["a", "b"]}]


def job(end: int, known: int | None, base: Base | None = None, files: tuple[File, ...] = (), epoch: int = 3) -> Job:
    """As it is planned."""
    return Job(TOPIC, end, 10, known, base, files, epoch)


def planned(with_: Planner, source: TopicState | None = SOURCE, now: float = 0.0) -> list[object]:
    """Jobs and stops of one plan."""
    found = with_.plan({} if source is None else {TOPIC.name: source}, now)
    return [*found.jobs, *found.stops]


def begun(copied: Copied) -> Planner:
    """A planner whose first job went so."""
    made = Planner([TOPIC], SECONDS)
    assert planned(made) == [job(50, None)]
    made.note(copied, 0.0)
    return made


def test_a_topic_is_read_again_when_its_commit_is_due_and_there_is_something_new() -> None:
    made, more = begun(Copied("wal_0", 10, 50, 40, 7)), TopicState("source", 10, 51, 3)
    assert planned(made, more, SECONDS - 1) == []
    assert planned(made, SOURCE, SECONDS) == []
    assert planned(made, more, SECONDS) == [job(51, 7)]


def test_a_job_that_did_not_come_to_its_end_goes_on_at_once() -> None:
    assert planned(begun(Copied("wal_0", 10, 49, 40, 7))) == [job(50, 7)]


def test_another_leader_of_the_source_is_asked_at_once_whether_its_log_is_the_same() -> None:
    made = begun(Copied("wal_0", 10, 50, 50, 7))
    assert planned(made, TopicState("source", 10, 50, 4)) == [job(50, 7, epoch=4)]


def test_what_came_to_nothing_waits_and_is_due_still() -> None:
    made = begun(Copied("wal_0", 10, 50, 40, 7))
    more = TopicState("source", 10, 60, 3)
    assert planned(made, more, SECONDS) == [job(60, 7)]
    made.note(Copied("wal_0", known=7, trouble="later"), SECONDS)
    assert planned(made, more, SECONDS + 0.4) == []
    assert planned(made, more, SECONDS + 0.6) == [job(60, 7)]


def test_a_gap_stops_a_topic_when_it_is_certain() -> None:
    made = begun(Copied("wal_0", 10, 50, 40, 7))
    gone = TopicState("source", 41, 60, 3)
    assert planned(made, gone, 1.0) == [Job(TOPIC, 60, 41, 7, epoch=3)], "it says once more where it is"
    made.note(Copied("wal_0", 50, 50, 40, 7, trouble="a gap"), 1.0)
    assert planned(made, gone, 1.0) == []
    (stop,) = made.plan({TOPIC.name: gone}, 1.0 + CERTAIN_SECONDS[Reason.SOURCE_GAP]).stops
    assert (stop.reason, stop.offset) == (Reason.SOURCE_GAP, 40)
    assert made.names == []


def test_a_gap_below_a_commit_whose_answer_was_lost_is_none() -> None:
    """The store has it, and so the hold moved on, and a purge after it."""
    made, gap = begun(Copied("wal_0", 10, 50, 40, 7)), TopicState("source", 45, 60, 3)
    for now in (1.0, 20.0):
        assert planned(made, gap, now) == [Job(TOPIC, 60, 45, 7, epoch=3)]
        made.note(Copied("wal_0", known=7, trouble="the store is away"), now)
    assert planned(made, gap, 40.0) == [Job(TOPIC, 60, 45, 7, epoch=3)]
    made.note(Copied("wal_0", 55, 60, 45, 8), 40.0)
    assert planned(made, gap, 41.0 + CERTAIN_SECONDS[Reason.SOURCE_GAP]) == []
    assert made.names == ["wal_0"]


def test_a_topic_is_given_its_snapshot_when_it_asks_and_its_files_are_due_at_once() -> None:
    made = begun(Copied("wal_0", needs_snapshot=True))
    assert made.needs_snapshot
    content = {"version": 1, "regions": [{"id": 1, "topic": "wal_0", "columns": ["k"], "key": ["k"], "cuts": CUTS}]}
    made.snapshot = read_snapshot(json.dumps(content).encode(), "file:///s", "uri")
    base = made.snapshot.of("wal_0")
    assert planned(made) == [job(50, None, base)], "it says where it is"
    for file in (0, 1):
        made.note(Copied("wal_0", 10, 10, 10, file, snapshot=FilePlace(base.digest, file, 0)), 0.0)
        assert planned(made) == [job(50, file, base, base.files[file:])]
    made.note(Copied("wal_0", 10, 10, 10, 2, snapshot=FilePlace(base.digest, 2, 0)), 0.0)
    assert planned(made) == [job(50, 2, base)], "the log, with its cuts"
    made.note(Copied("wal_0", 10, 50, 50, 3), 0.0)
    assert planned(made, TopicState("source", 10, 51, 3), SECONDS) == [job(51, 3)]

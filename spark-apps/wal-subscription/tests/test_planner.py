"""What is planned, and what must be found for how long before it counts."""

from __future__ import annotations

import pytest

from sparkjob.wire.batches import Producer
from sparkjob.wire.kafka_state import TopicState
from wal_subscription.copier import Copied, Job
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.planner import Planner
from wal_subscription.request import Topic
from wal_subscription.stops import MustStop, Reason, Stop
from wal_subscription.stream import grouped
from wal_subscription.target import Known, require_ours

TOPIC = Topic("wal_0", "source", "target", 10)
SOURCE, TARGET = TopicState("source", 10, 50, 3), TopicState("target", 0, 40, 1)
US = Producer(7, 1)
SEQUENCES = 2**31


def planned(
    source: TopicState | None, target: TopicState | None, *, planner: Planner, now: float = 0.0
) -> list[object]:
    """Jobs and stops of one plan."""
    found = planner.plan(
        {} if source is None else {TOPIC.name: source}, {} if target is None else {TOPIC.name: target}, now
    )
    return [*found.jobs, *found.stops]


def test_what_the_target_lacks_is_planned_and_a_topic_is_compared_first() -> None:
    planner = Planner([TOPIC])
    assert planned(SOURCE, TARGET, planner=planner) == [Job(TOPIC, 50, compares=True, source_start=10, epoch=3)]
    planner.note(Copied("wal_0", 40, 50, compared=True), 0.0)
    assert planned(SOURCE, TopicState("target", 0, 50), planner=planner) == []
    assert planned(TopicState("source", 10, 51, 3), TopicState("target", 0, 50), planner=planner) == [
        Job(TOPIC, 51, compares=False, source_start=10, epoch=3)
    ]


def test_a_topic_is_compared_again_when_its_leader_changed() -> None:
    """Only then may a log have lost its end, and grown again since."""
    planner = Planner([TOPIC])
    planned(SOURCE, TARGET, planner=planner)
    planner.note(Copied("wal_0", 40, 50, compared=True), 0.0)
    changed = TopicState("source", 10, 50, 4)
    assert planned(changed, TopicState("target", 0, 50), planner=planner) == [Job(TOPIC, 50, True, 10, 4)]


def test_padding_alone_is_work() -> None:
    planner = Planner([TOPIC])
    planner.note(Copied("wal_0", compared=True), 0.0)
    planner._compared["wal_0"] = 3
    empty = TopicState("source", 10, 10, 3)
    assert planned(empty, TopicState("target", 0, 0), planner=planner) == [Job(TOPIC, 10, False, 10, 3)]
    assert planned(empty, TopicState("target", 0, 10), planner=planner) == []


Found = tuple[TopicState | None, TopicState | None, Reason, int | None]
STOPS: tuple[Found, ...] = (
    (None, TARGET, Reason.IDENTITY_FENCE_BROKEN, 40),
    (TopicState("other", 0, 99), TARGET, Reason.IDENTITY_FENCE_BROKEN, 40),
    (SOURCE, None, Reason.TARGET_LOST, None),
    (SOURCE, TopicState("other", 0, 0), Reason.TARGET_LOST, None),
    (TopicState("source", 41, 50), TARGET, Reason.SOURCE_GAP, 40),
    (TopicState("source", 11, 50), TopicState("target", 0, 0), Reason.SOURCE_GAP, 10),
    (TopicState("source", 10, 39), TARGET, Reason.DIVERGED, 39),
)


@pytest.mark.parametrize("found", STOPS)
def test_what_must_stop_is_found_for_long_before_it_counts(found: Found) -> None:
    source, target, reason, offset = found
    planner, certain = Planner([TOPIC]), CERTAIN_SECONDS[reason]
    planned(SOURCE, TARGET, planner=planner)  # the target's end of 40 is known from here
    assert planned(source, target, planner=planner, now=1.0) == []
    assert planned(SOURCE, TARGET, planner=planner, now=2.0) != [], "it passed"
    assert planned(source, target, planner=planner, now=3.0) == []
    assert planned(source, target, planner=planner, now=3.0 + certain - 0.1) == []
    (stop,) = planned(source, target, planner=planner, now=3.0 + certain) or [None]
    assert isinstance(stop, Stop)
    assert (stop.topic, stop.reason, stop.offset) == ("wal_0", reason, offset)
    assert planner.names == []


def test_a_log_that_begins_where_the_target_ends_has_no_gap() -> None:
    planner = Planner([TOPIC])
    assert planned(TopicState("source", 40, 50, 3), TARGET, planner=planner) == [Job(TOPIC, 50, True, 40, 3)]


def test_another_driver_that_is_ahead_of_what_was_read_is_no_lost_end() -> None:
    """The source is asked first: records that come in between are in the target, and not in what the source said."""
    planner = Planner([TOPIC])
    for look in range(100):
        source, target = TopicState("source", 10, 50 + look, 3), TopicState("target", 0, 51 + look)
        assert all(isinstance(each, Job) for each in planned(source, target, planner=planner, now=float(look)))
    assert planner.names == ["wal_0"]


def test_a_topic_in_trouble_is_tried_less_and_less_and_one_that_goes_on_is_not() -> None:
    planner = Planner([TOPIC])
    tried = 0
    for tick in range(600):
        now = tick / 10
        if planned(SOURCE, TARGET, planner=planner, now=now):
            tried += 1
            planner.note(Copied("wal_0", 40, 40, trouble="no leader"), now)
    assert 8 <= tried <= 14
    assert planner.in_trouble("wal_0")
    planner.note(Copied("wal_0", 40, 41, trouble="no leader"), 60.0)
    assert planned(SOURCE, TARGET, planner=planner, now=60.0) != []


def test_jobs_in_trouble_are_tasks_of_their_own() -> None:
    jobs = [Job(Topic(f"wal_{number}", "", "", 0), 1, False) for number in range(5)]
    groups = grouped(jobs, 2, lambda name: name == "wal_1")
    assert [[job.topic.name for job in group] for group in groups] == [
        ["wal_0", "wal_3"],
        ["wal_2", "wal_4"],
        ["wal_1"],
    ]
    assert grouped(jobs[:1], 4, lambda _: False) == [jobs[:1]]


OURS = (
    (0, None),
    (40, None),
    (40, Known(1, 39)),
    (40, Known(0, 39)),
    (40, Known(1, 45)),  # not replicated yet
    (SEQUENCES, Known(1, SEQUENCES - 1)),
    (SEQUENCES + 3, Known(1, 2)),
    (SEQUENCES - 2, Known(1, 1)),  # not replicated yet, and round
)
NOT_OURS = (
    (42, Known(1, 39), Reason.DIVERGED, 40),
    (SEQUENCES + 1, Known(1, SEQUENCES - 2), Reason.DIVERGED, SEQUENCES - 1),
    (41, Known(2, 0), Reason.FENCED, 41),
)


@pytest.mark.parametrize(("end", "known"), OURS)
def test_a_log_that_only_the_mirror_wrote_to(end: int, known: Known | None) -> None:
    try:
        require_ours("wal_0", end, known, US)
    except MustStop as stopped:
        pytest.fail(str(stopped.stop))


@pytest.mark.parametrize(("end", "known", "reason", "offset"), NOT_OURS)
def test_a_log_that_somebody_else_wrote_to(end: int, known: Known, reason: Reason, offset: int) -> None:
    with pytest.raises(MustStop) as stopped:
        require_ours("wal_0", end, known, US)
    assert (stopped.value.stop.reason, stopped.value.stop.offset) == (reason, offset)

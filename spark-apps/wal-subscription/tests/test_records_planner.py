"""What the sink of records plans, and what must be found for how long before it counts."""

from __future__ import annotations

import pytest

from sparkjob.wire.kafka_state import TopicState
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription import plan
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.records import planner
from wal_subscription.records.checks import is_current
from wal_subscription.records.jobs import Copied, Job
from wal_subscription.records.planner import Planner
from wal_subscription.records.progress import Progress
from wal_subscription.records.request import Output, Topic
from wal_subscription.stops import Reason, Stop

TOPIC, ROWS = Topic("wal_0", "source", 0, 0), Output("rows", "r")
SOURCE, TARGETS = TopicState("source", 10, 50, 3), {"rows": TopicState("r", 0, 0)}


def planned(with_: Planner, source: TopicState | None = SOURCE, now: float = 0.0) -> list[object]:
    """Jobs and stops of one plan."""
    found = with_.plan({} if source is None else {TOPIC.name: source}, TARGETS, now)
    return [*found.jobs, *found.stops]


def at(position: int, read_from: int) -> Planner:
    """A planner that was told where its topic is."""
    made = Planner([TOPIC], [ROWS])
    planned(made)
    made.note(Copied("wal_0", 0, position, read_from), 0.0)
    return made


def test_a_start_asks_the_target_where_a_topic_is_and_then_only_what_is_new_is_planned() -> None:
    made = Planner([TOPIC], [ROWS])
    assert planned(made) == [Job(TOPIC, 50, 10, 3)]
    made.note(Copied("wal_0", 10, 50, 40), 0.0)
    assert planned(made) == []
    assert planned(made, TopicState("source", 40, 51, 3)) == [Job(TOPIC, 51, 40, 3)]


def test_another_leader_of_the_source_is_asked_at_once_whether_its_log_is_the_same() -> None:
    assert planned(at(50, 50), TopicState("source", 10, 50, 4)) == [Job(TOPIC, 50, 10, 4)]


def test_what_came_to_nothing_waits_and_what_did_not_goes_on() -> None:
    made = at(40, 40)
    made.note(Copied("wal_0", trouble="later"), 0.0)
    assert made.in_trouble("wal_0")
    assert planned(made, now=0.4) == []
    assert planned(made, now=0.6) == [Job(TOPIC, 50, 10, 3)]
    made.note(Copied("wal_0", 40, 45, 45, trouble="later"), 0.6)
    assert not made.in_trouble("wal_0")


STOPS: list[tuple[TopicState | None, Reason, int]] = [
    (None, Reason.IDENTITY_FENCE_BROKEN, 50),
    (TopicState("other", 0, 60), Reason.IDENTITY_FENCE_BROKEN, 50),
    (TopicState("source", 45, 60, 3), Reason.SOURCE_GAP, 44),
    (TopicState("source", 10, 49), Reason.DIVERGED, 49),
]


def seen(made: Planner, source: TopicState | None, now: float = 0.0) -> list[object]:
    """The same plan; of a gap a job says first that the topic still is where it was."""
    found = planned(made, source, now)
    if found and isinstance(found[0], Job):
        made.note(Copied("wal_0", 50, 50, 44, trouble="a gap"), now)
        return planned(made, source, now)
    return found


@pytest.mark.parametrize(("source", "reason", "offset"), STOPS)
def test_what_must_stop_is_found_for_long_before_it_counts(
    source: TopicState | None, reason: Reason, offset: int
) -> None:
    made, certain = at(50, 44), CERTAIN_SECONDS[reason]
    assert seen(made, source) == []
    assert planned(made, TopicState("source", 44, 50, 3), certain) == [], "it was not so"
    assert seen(made, source, certain) == []
    assert planned(made, source, 2 * certain - 0.1) == []
    (stop,) = planned(made, source, 2 * certain)
    assert isinstance(stop, Stop)
    assert (stop.topic, stop.reason, stop.offset) == ("wal_0", reason, offset)
    assert planned(made, source, 3 * certain) == []


def test_a_gap_below_a_commit_whose_answer_was_lost_is_none() -> None:
    """The target has it, and so the hold moved on, and a purge after it: a job says where the topic is."""
    made, gap = at(50, 44), TopicState("source", 48, 60, 3)
    made.note(Copied("wal_0", trouble="the answer was lost"), 0.0)
    assert planned(made, gap, 0.4) == [], "what came to nothing waits"
    for now in (1.0, 20.0, 60.0):
        assert planned(made, gap, now) == [Job(TOPIC, 60, 48, 3)], "until a job has said it, nothing stops"
        made.note(Copied("wal_0", trouble="the target is away"), now)
    assert planned(made, gap, 80.0) == [Job(TOPIC, 60, 48, 3)]
    made.note(Copied("wal_0", 55, 60, 48), 80.0)
    assert planned(made, gap, 90.0) == []
    assert planned(made, gap, 90.0 + CERTAIN_SECONDS[Reason.SOURCE_GAP]) == []
    assert made.names == ["wal_0"]


def test_each_gap_is_asked_about() -> None:
    made = at(50, 44)
    assert seen(made, TopicState("source", 45, 60, 3)) == []
    made.note(Copied("wal_0", 50, 60, 60), 1.0)
    assert planned(made, TopicState("source", 45, 60, 3), 1.0) == []
    assert planned(made, TopicState("source", 61, 70, 3), 2.0) == [Job(TOPIC, 70, 61, 3)]


def test_who_wrote_last_asks_anew_beyond_a_gap() -> None:
    """It may be a process that has not had the topic for long."""
    progress = Progress("w", 1, "wal_0", "source", 0, 0, 50, 44, 0, 0, 0, "", None)
    assert is_current(None, Job(TOPIC, 50, 10, 3)), "it asks, as it begins"
    assert is_current(progress, Job(TOPIC, 50, 44, 3))
    assert not is_current(progress, Job(TOPIC, 50, 45, 3))


def test_a_topic_of_the_target_that_is_gone_stops_all() -> None:
    for targets in ({}, {"rows": TopicState("other", 0, 0)}):
        made = at(50, 44)
        made.plan({TOPIC.name: SOURCE}, targets, 0.0)
        found = made.plan({TOPIC.name: SOURCE}, targets, CERTAIN_SECONDS[Reason.TARGET_LOST])
        assert [(stop.reason, stop.offset) for stop in found.stops] == [(Reason.TARGET_LOST, 50)]
        assert not found.jobs


def every_stop() -> None:
    """All that a plan stops."""
    for found in STOPS:
        test_what_must_stop_is_found_for_long_before_it_counts(*found)


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(planner, "find_stop", "source.start > place.read_from", "source.start > place.position"), every_stop),
    (rewritten(planner, "find_stop", "source.end < place.position", "False"), every_stop),
    (rewritten(plan, "why_other", "state.topic_id != topic_id", "False", planner), every_stop),
    (
        rewritten(plan, "why_other", "state.topic_id != topic_id", "False", planner),
        test_a_topic_of_the_target_that_is_gone_stops_all,
    ),
    (
        rewritten(Planner, "_place_of", "elif name not in self._gaps", "elif False"),
        test_a_gap_below_a_commit_whose_answer_was_lost_is_none,
    ),
    (rewritten(Planner, "_place_of", "elif name not in self._gaps", "elif True"), every_stop),
    (rewritten(Planner, "_place_of", "self._gaps.discard(name)", "pass"), test_each_gap_is_asked_about),
    (
        rewritten(Planner, "plan", "or is_other", ""),
        test_another_leader_of_the_source_is_asked_at_once_whether_its_log_is_the_same,
    ),
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []

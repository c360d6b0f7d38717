"""Conditions keep their transition time and stay within what the API server takes."""

from datetime import timedelta

from seawall.api.meta import ConditionType
from seawall.domain.conditions import MAX_MESSAGE, build_condition
from tests.domain.builders import NOW

LATER = NOW + timedelta(days=1)


def test_a_transition_time_moves_only_with_the_status() -> None:
    first = build_condition((), ConditionType.READY, "False", "A", "a", generation=1, now=NOW)
    later = build_condition((first,), ConditionType.READY, "False", "B", "b", generation=2, now=LATER)
    assert later.last_transition_time == NOW
    ended = build_condition((later,), ConditionType.READY, "True", "C", "c", generation=2, now=LATER)
    assert ended.last_transition_time == LATER


def test_a_sentence_of_any_length_can_be_written() -> None:
    long = build_condition((), ConditionType.READY, "False", "A", "x" * 50_000, generation=1, now=NOW)
    assert len(long.message) == MAX_MESSAGE

"""Whether a frozen plan is what is declared now, whatever a broker shows that has not heard of the end of a move."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from seawall.domain.partitions import Partition, PartitionId
from seawall.domain.reassignment import planning
from seawall.domain.reassignment.journal import Journal, PlannedMove
from tests.domain.builders import make_spec
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
OFFSETS = "__consumer_offsets"


def is_still_wanted(
    topic: str, declared: int, now: Iterable[int], planned: int, internal: int | None = None, **spec: Any
) -> bool:
    """Of partitions that have so many replicas now, and a plan for the first that was for so many."""
    some = tuple(
        Partition(PartitionId(topic, number), tuple(range(1, count + 1)), frozenset({1}), 1)
        for number, count in enumerate(now)
    )
    own = {"repair": True} if internal is None else {"repair": True, "replicationFactor": internal}
    wants = make_spec({"replicationFactor": declared}, internalTopics=own, **spec)
    move = PlannedMove(PartitionId(topic, 0), (9,), tuple(range(1, planned + 1)))
    demand = planning.demand_of(wants, some)
    return planning.is_still_wanted(Journal(NOW, ("Raise",), frozenset(), (move,)), wants, demand)


@pytest.mark.parametrize(
    ("declared", "now", "planned", "wanted"),
    [
        (3, (1, 3), 3, True),
        (3, (4, 1), 3, True),  # the first has arrived, and is shown with those that went
        (3, (4, 3), 3, True),
        (3, (4, 4), 3, True),
        (2, (1, 3), 3, True),  # the second keeps its three, so the first gets as many
        (2, (1, 1), 3, False),  # declared anew
        (4, (1, 3), 3, False),
        (4, (5, 3), 3, False),
        (3, (1, 1), 4, False),  # planned when the second was shown with those that went
    ],
)
def test_kafkas_own_topics_get_as_many_as_declared_or_as_one_partition_has(
    declared: int, now: tuple[int, ...], planned: int, *, wanted: bool
) -> None:
    assert is_still_wanted(OFFSETS, declared, now, planned) is wanted


@pytest.mark.parametrize(("planned", "wanted"), [(2, False), (3, True), (4, False)])
def test_topics_of_the_pool_get_as_many_as_declared(planned: int, *, wanted: bool) -> None:
    assert is_still_wanted("wal_0", 3, (4,), planned, internal=2) is wanted


def test_other_excluded_brokers_are_another_plan() -> None:
    assert not is_still_wanted("wal_0", 3, (3,), 3, reassignment={"excludeBrokers": [4]})


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(planning, "_is_wanted", "min(asked, _internal_factor(spec)) if topic in INTERNAL_TOPICS else ", ""),
        partial(test_kafkas_own_topics_get_as_many_as_declared_or_as_one_partition_has, 3, (4, 1), 3, wanted=True),
    ),
    (
        rewritten(planning, "_is_wanted", "<= replicas <= asked", "<= replicas"),
        partial(test_kafkas_own_topics_get_as_many_as_declared_or_as_one_partition_has, 3, (1, 1), 4, wanted=False),
    ),
    (
        rewritten(planning, "_is_wanted", "if topic in INTERNAL_TOPICS else asked", ""),
        partial(test_topics_of_the_pool_get_as_many_as_declared, 2, wanted=False),
    ),
)


def test_each_guard_is_missed_by_a_table() -> None:
    assert not find_survivors(MUTANTS)

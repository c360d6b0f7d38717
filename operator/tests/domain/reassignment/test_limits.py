"""What a run lets min.insync.replicas of each topic be, by its journal and the status."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seawall.api.v1alpha1.reassignment import AbortCause, ReassignmentStage, ReassignmentStatus
from seawall.domain.min_isr import NO_LIMITS, Limit, Limits
from seawall.domain.partitions import PartitionId
from seawall.domain.reassignment import limits
from seawall.domain.reassignment.journal import Journal, PlannedMove
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
ONE, TWO, THREE, OTHERS, FOUR = (1,), (1, 2), (1, 2, 3), (2, 3, 4), (1, 2, 3, 4)
Row = tuple[str, int, tuple[int, ...], tuple[int, ...]]


def a_journal(*rows: Row) -> Journal:
    moves = (PlannedMove(PartitionId(topic, number), before, after) for topic, number, before, after in rows)
    return Journal(NOW, ("Raise",), frozenset(), tuple(moves))


JOURNAL = a_journal(
    ("__consumer_offsets", 0, TWO, THREE),
    ("__consumer_offsets", 1, ONE, THREE),
    ("__consumer_offsets", 2, FOUR, THREE),
    ("wal_0", 0, ONE, THREE),
    ("wal_1", 0, THREE, TWO),
    ("wal_2", 0, THREE, OTHERS),
    ("wal_3", 0, TWO, FOUR),
    ("wal_4", 0, FOUR, THREE),
)


def a_run(stage: ReassignmentStage, cause: AbortCause | None = None) -> ReassignmentStatus:
    return ReassignmentStatus(stage=stage, abort_cause=cause, digest=JOURNAL.digest, most_min_in_sync_replicas=1)


ABORTED = a_run(ReassignmentStage.ABORTING, AbortCause.BY_PERSON)


@pytest.mark.parametrize(
    ("run", "is_lowered"),
    [
        (a_run(ReassignmentStage.ONGOING), False),
        (a_run(ReassignmentStage.VERIFYING), False),
        (a_run(ReassignmentStage.ABORTING, AbortCause.SUPERSEDED), False),
        (ABORTED, True),
    ],
)
def test_only_topics_that_get_another_number_of_replicas_are_limited_and_lowered_if_they_had_fewer(
    run: ReassignmentStatus, *, is_lowered: bool
) -> None:
    found = limits.limits_of(run, JOURNAL)
    assert found == Limits(
        {
            "__consumer_offsets": Limit(1, is_lowered),
            "wal_0": Limit(1, is_lowered),
            "wal_1": Limit(1, is_lowered=False),
            "wal_3": Limit(1, is_lowered),
            "wal_4": Limit(2, is_lowered=False),
        }
    )
    assert found.of("wal_2") is None
    assert found.of("wal_9") is None


@pytest.mark.parametrize(
    "run",
    [
        None,
        ReassignmentStatus(),
        a_run(ReassignmentStage.COMPLETED),
        a_run(ReassignmentStage.ABORTED, AbortCause.BY_PERSON),
        a_run(ReassignmentStage.ONGOING).model_copy(update={"most_min_in_sync_replicas": None}),
    ],
)
def test_without_a_run_that_takes_replicas_nothing_is_limited(run: ReassignmentStatus | None) -> None:
    assert limits.limits_of(run, JOURNAL) == NO_LIMITS


@pytest.mark.parametrize("journal", [None, a_journal(("wal_7", 0, ONE, THREE))])
def test_without_the_journal_of_the_run_nothing_is_raised_beyond_the_lowest_and_nothing_lowered(
    journal: Journal | None,
) -> None:
    assert limits.limits_of(ABORTED, journal) == Limits(others=Limit(1, is_lowered=False))


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(limits, "limits_of", " or journal.digest != run.digest", ""),
        lambda: test_without_the_journal_of_the_run_nothing_is_raised_beyond_the_lowest_and_nothing_lowered(
            a_journal(("wal_7", 0, ONE, THREE))
        ),
    ),
    (
        rewritten(limits, "limits_of", "replace(widest, is_lowered=False)", "widest"),
        lambda: test_without_the_journal_of_the_run_nothing_is_raised_beyond_the_lowest_and_nothing_lowered(None),
    ),
    *(
        (
            rewritten(limits, "_by_topic", guard, instead),
            lambda: test_only_topics_that_get_another_number_of_replicas_are_limited_and_lowered_if_they_had_fewer(
                ABORTED, is_lowered=True
            ),
        )
        for guard, instead in (
            ("if before == after", "if False"),
            (" and before < after", ""),
            ("known.is_lowered or ", ""),
            ("min(known.most, most_min_isr(min(before, after)))", "most_min_isr(min(before, after))"),
        )
    ),
)


def test_each_guard_is_missed_by_a_table() -> None:
    assert not find_survivors(MUTANTS)

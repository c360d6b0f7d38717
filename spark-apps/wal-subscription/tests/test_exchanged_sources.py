"""A source that loses its tail and grows again after a mirror was planned: its last record alone tells nothing then."""

from __future__ import annotations

import pytest
from exchanged_logs import OLD, OWN_TIME, Exchanged, Side, reads_under

from sparkjob.wire.reader import RangeGone
from wal_subscription.copier import Copied
from wal_subscription.log_batches import LogBatch
from wal_subscription.overlap import first_difference
from wal_subscription.stops import Reason


def stops_at(copied: Copied, offset: int) -> bool:
    """Whether a job found another log there."""
    return copied.stop is not None and (copied.stop.reason, copied.stop.offset) == (Reason.DIVERGED, offset)


def test_a_source_that_was_exchanged_between_plan_and_copy_is_told() -> None:
    """It ended at 105 when it was planned, was cut to 90, and is longer now."""
    mirror = Exchanged()
    job = mirror.plan()
    assert not job.compares
    mirror.elect(120, OLD + 1, cut=90)
    assert stops_at(mirror.run(job), 90)
    assert mirror.target.end == 100, "nothing of the other log was appended"


def test_a_source_that_is_exchanged_between_two_fetches_is_told() -> None:
    mirror, fetches = Exchanged(to=130), list[int]()
    job, honest = mirror.plan(), Side.fetch

    def fetch(side: Side, offset: int) -> list[LogBatch]:
        fetches.append(offset)
        if fetches == [100, 105]:
            mirror.elect(130, OLD + 1, cut=95)
        return honest(side, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Side, "fetch", fetch)
        assert stops_at(mirror.run(job), 95)
    assert mirror.target.end == 105


def test_a_log_that_was_purged_when_it_was_planned_and_is_longer_at_both_ends_is_told() -> None:
    """The plan knew of no record that both have."""
    mirror = Exchanged()
    mirror.source.purge(100)
    job = mirror.plan()
    mirror.elect(120, OLD + 1, cut=90)
    assert stops_at(mirror.run(job), 90)


@pytest.mark.parametrize("first", [0, 1, 37, 98, 99])
def test_the_first_offset_that_differs_is_found_with_few_comparisons(first: int) -> None:
    asked = list[int]()

    def is_same(offset: int) -> bool:
        asked.append(offset)
        return offset < first

    assert first_difference(is_same, 0, 99) == first
    assert len(asked) <= 14


def test_where_it_cannot_be_compared_what_is_known_counts() -> None:
    def is_same(offset: int) -> bool:
        if offset < 90:
            raise RangeGone("it is purged")
        return False

    assert first_difference(is_same, 0, 99) == 92


def test_a_clean_election_is_compared_once_and_the_mirror_goes_on() -> None:
    mirror = Exchanged(to=130)
    job = mirror.plan()
    mirror.elect(130, OLD + 1, cut=102)
    copied = mirror.run(job)
    assert (copied.end, copied.stop, copied.trouble) == (130, None, None)
    assert mirror.compared == [99]


def test_a_log_that_has_no_record_before_goes_on_after_a_clean_election() -> None:
    mirror = Exchanged()
    mirror.source.purge(100)
    job = mirror.plan()
    mirror.elect(120, OLD + 1, cut=102)
    assert mirror.run(job).end == 105
    assert mirror.compared == []


def test_the_leader_that_was_planned_with_is_not_compared() -> None:
    mirror = Exchanged(to=130)
    assert mirror.run(mirror.plan()).end == 130
    assert mirror.compared == []


def test_who_does_not_say_its_epoch_is_compared_with_each_job() -> None:
    mirror = Exchanged(to=130, epoch=None)
    assert mirror.run(mirror.plan()).end == 130
    assert mirror.compared == [99]


def test_records_that_are_read_once_more_are_of_the_same_leader() -> None:
    mirror = Exchanged()
    mirror.source.write(110, OLD, OWN_TIME)
    job = mirror.plan()
    copied = mirror.run(job, reads_under(OLD + 1))
    assert copied.trouble == "topic wal_0 of the source has another leader since it was fetched"
    assert mirror.target.end == 105
    assert mirror.run(mirror.plan(), reads_under(OLD)).end == 110
